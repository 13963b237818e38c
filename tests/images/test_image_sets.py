"""Image sets: what their files hold comes back in place, and what is wrong with a file is said."""

import gzip
import re
from dataclasses import replace

import numpy as np
import pytest

from images import sets
from images.sets import SETS, read

COUNTS = {"mnist": (7, 4), "emnist": (7, 4), "cifar10": (2, 4), "cifar100": (7, 4)}
"""Records of each file of the two parts, in place of thousands."""


@pytest.fixture
def few(monkeypatch):
    """Sets of a few images."""
    for name, counts in COUNTS.items():
        made = {}
        for part, count in zip(("training", "test"), counts, strict=True):
            files = getattr(SETS[name], part)
            if "mnist" in name:
                made[part] = sets._pair(*(file.name for file in files), count)
            else:
                made[part] = tuple(replace(file, count=count) for file in files)
        monkeypatch.setitem(SETS, name, replace(SETS[name], **made))


def idx(array):
    """The content of an idx file."""
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.tobytes()


def contents(name, seed=0):
    """Random images and labels of a set, and the contents of files that hold them."""
    images, rng, parts, files = SETS[name], np.random.default_rng(seed), [], {}
    for names in (images.training, images.test):
        found = []
        for file in names[: 1 if "mnist" in name else None]:
            pixels = rng.integers(0, 256, (file.count, images.side, images.side, images.channels), np.uint8)
            labels = rng.integers(0, images.classes, file.count, np.uint8)
            found.append((pixels, labels))
            if "mnist" in name:
                columns_first = name == "emnist"
                files[file.name] = idx(pixels[..., 0].transpose(0, 2, 1) if columns_first else pixels[..., 0])
                files[names[1].name] = idx(labels)
            else:
                coarse = [] if name == "cifar10" else [99]
                files[file.name] = b"".join(
                    bytes([*coarse, label]) + b"".join(one[..., channel].tobytes() for channel in range(3))
                    for one, label in zip(pixels, labels, strict=True)
                )
        parts.append([np.concatenate(each) for each in zip(*found, strict=True)])
    return parts, files


def write(folder, files, packed=False):
    for name, content in files.items():
        path = folder / (f"{name}.gz" if packed else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content) if packed else content)


@pytest.mark.parametrize("name", COUNTS)
def test_images_come_back_in_place(tmp_path, few, name):
    """Upright, red, green, blue, with the fine label; packed or not, with one checksum, which a pixel changes."""
    parts, files = contents(name)
    write(tmp_path / "plain", files)
    write(tmp_path / "packed", files, packed=True)
    *plain, checksum = read(name, tmp_path / "plain")
    *packed, same = read(name, tmp_path / "packed")
    for part, *found in zip(parts, plain, packed, strict=True):
        for one in found:
            np.testing.assert_array_equal(one.pixels, part[0])
            np.testing.assert_array_equal(one.labels, part[1])
            assert one.pixels.dtype == one.labels.dtype == np.uint8
    last = SETS[name].test[0].name
    files[last] = files[last][:-1] + bytes([files[last][-1] ^ 1])
    write(tmp_path / "plain", files)
    assert checksum == same != read(name, tmp_path / "plain")[2]


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_wrong_with_a_file_is_said(tmp_path, few, name):
    """In one line: which file, what it should be, and where it comes from."""
    _, files = contents(name)
    first, (pixels, *_) = SETS[name], SETS[name].training
    labels = first.training[-1].name  # of CIFAR the same file, or another of its kind
    whole, size = files[pixels.name], f"{len(files[pixels.name]):,} bytes"
    packed = gzip.compress(whole)
    cases = {
        "cut": (pixels.name, whole[:-1], f"{len(whole) - 1:,} bytes; it must be {size}"),
        "too long": (pixels.name, whole + b"0", f"{len(whole) + 1:,} bytes; it must be {size}"),
        "of another part": (pixels.name, files[first.test[0].name], f"; it must be {size}"),
        "half a .gz": (f"{pixels.name}.gz", packed[:-9], "not a whole .gz file ("),
        "no .gz": (f"{pixels.name}.gz", whole, "not a whole .gz file ("),
        "a damaged .gz": (f"{pixels.name}.gz", packed[:10] + b"\xff" + packed[11:], "not a whole .gz"),
        "label": (labels, None, f"a label is 200; labels must lie in 0..{first.classes - 1}"),
    }
    if "mnist" in name:
        cases["header"] = (pixels.name, b"\0\0\x09" + whole[3:], "header 0x00000903")
    for case, (file, content, words) in cases.items():
        folder = tmp_path / case
        write(folder, files)
        (folder / file.removesuffix(".gz")).unlink()
        if content is None:
            content = bytearray(files[labels])
            content[len(first.training[-1].header) + first.training[-1].labels - 1] = 200
        write(folder, {file: bytes(content)})
        refused(name, folder, ValueError, f"{folder / file}: ", words)
    write(folder, files)
    (folder / labels).unlink()
    refused(name, folder, FileNotFoundError, f"{folder / labels}: no such file", "")


def refused(name, folder, error, begin, words):
    with pytest.raises(error) as raised:
        read(name, folder)
    said = str(raised.value)
    assert said.startswith(begin) and words in said and "\n" not in said
    assert said.endswith(f"; it comes from {SETS[name].origin}, see docs/images.md")


def test_files_have_the_sizes_of_the_real_sets():
    """As they are listed by those who have them."""
    sizes = {
        name: [len(file.header) + file.count * (file.labels + file.pixels) for file in (*images.training, *images.test)]
        for name, images in SETS.items()
    }
    assert sizes == {
        "digits": [],
        "mnist": [47_040_016, 60_008, 7_840_016, 10_008],
        "emnist": [188_160_016, 240_008, 31_360_016, 40_008],
        "cifar10": 6 * [30_730_000],
        "cifar100": [153_700_000, 30_740_000],
    }
    assert {name: images.dim for name, images in SETS.items()} == {
        "digits": 64, "mnist": 784, "emnist": 784, "cifar10": 3072, "cifar100": 3072
    }  # fmt: skip


def test_digits_need_no_files(tmp_path):
    """1,797 in all, a fifth of each class for testing; values up to 255."""
    training, test, checksum = read("digits", tmp_path)
    assert len(training.labels) + len(test.labels) == 1797
    for part in (training, test):
        assert part.pixels.shape == (len(part.labels), 8, 8, 1) and part.pixels.dtype == np.uint8
        assert (part.pixels.min(), part.pixels.max(), *np.unique(part.labels)) == (0, 255, *range(10))
    both = np.bincount(training.labels) + np.bincount(test.labels)
    np.testing.assert_array_equal(np.bincount(test.labels), np.rint(0.2 * both))
    assert re.fullmatch(r"[0-9a-f]{64}", checksum)
    images = SETS["digits"]
    whole = training.pixels / 255
    assert abs(whole.mean() - images.mean[0]) < 0.01 and abs(whole.std() - images.sd[0]) < 0.01
