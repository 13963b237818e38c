"""Cells, keys and shards."""

import pytest

from privrep.privacy.accounting import Budget, FixedNoise
from privrep.simulate import run_cell
from privrep.users.simulated import Users
from replication.run.config import ROOT, at_scale, read_config, read_study, read_yaml
from replication.run.grids import expand, groups, shards
from replication.run.models import ConfigError, checked
from replication.run.rivals import REALS, SIZES
from replication.run.settings import Series, Study, settings_of


@pytest.fixture(scope="module")
def study():
    return read_study(read_config(), "figure2")


def as_written() -> dict:
    """The file of the study, to be changed."""
    content = at_scale(read_yaml(ROOT / settings_of("figure2")), "default", {}, "")
    return content | {"study": "figure2", "paper": "jain2021", "options": {}}


def test_a_group_shares_one_draw(study):
    """And holds at most the stated number of cells."""
    for group in groups(expand(study), 7):
        assert len({cell.problem for cell in group}) == 1
        assert len(group) <= 7


def test_keys_do_not_depend_on_the_grid_around(study):
    """A new grid value and a new series keep all old keys."""
    wider = as_written() | {"options": read_yaml(ROOT / settings_of("figure2"))["options"]}
    wider["grids"]["full"]["epsilon"].append(4)
    wider["series"]["new"] = {"algorithm": "reference_model", "grid": "no_budget", "options": {"kind": "zero"}}
    assert {cell.key for cell in expand(study)} < {cell.key for cell in expand(checked(Study, wider, "test"))}


def test_key_ignores_the_label_and_defaults_but_no_value(study):
    """The label of a series and an option written out at its default change nothing; any other value does."""

    def key(name="altmin", **options):
        small = as_written()
        base = {"init": "random", "split": "halves-then-all", "clip_feature": 1.0, "clip_label": 1.0}
        small["series"] = {options.pop("label", "a"): {"algorithm": name, "grid": "one", "options": base | options}}
        small["grids"] = {"one": {"epsilon": [1], "seed": [0]}}
        return expand(checked(Study, small, "test"))[0].key

    assert key() == key(label="b") == key(batches=1) == key(clip_feature=1)
    assert key() == key(fallback="solve") == key(clip_scale="absolute") == key(start_sine=0.1)
    assert key() == key("altmin_ablations", heads="fitted", symmetry="copied")
    changes = [{"batches": 2}, {"clip_label": 2.0}, {"init": "spectral"}, {"init": "planted"}, {"start_sine": 0.2}]
    changes += [{"fallback": "ridge"}, {"fallback": "eigclip"}, {"clip_scale": "data"}]
    changes += [{"name": "altmin_ablations", "heads": "true"}]
    assert len({key(), *(key(**change) for change in changes)}) == len(changes) + 1


SMALL = {"users": 60, "samples": 8, "dim": 6, "rank": 2}


def small_study(grid: dict, algorithm: str = "altmin", **series) -> Study:
    """One small series on a grid, after the models have accepted it."""
    options = {"altmin": {"init": "random", "split": "text", "clip_feature": 1.0, "clip_label": 1.0}}
    small = as_written() | {"problem": SMALL, "grids": {"one": grid}}
    small["series"] = {"a": {"algorithm": algorithm, "grid": "one", "options": options.get(algorithm, {})} | series}
    return checked(Study, small, "test")


def cells_of(*given, **series) -> list:
    """The cells of a small study."""
    return expand(small_study(*given, **series))


def test_cells_are_the_same_in_shards_and_groups_of_any_size():
    """Every cell once, and each as on users of its own."""
    grid = {"noise_multiplier": [0, 0.5], "clip_label": [1.0, 2.0], "init": ["random", "spectral"], "dim": [5, 6]}
    study = small_study(grid | {"seed": 2}, options={"split": "text", "clip_feature": 1.0, "init_label_clip": 2.0})
    plain = {cell.key: run_cell(cell, Users(cell.problem))[0] for cell in expand(study)}
    for size in (1, 3, 50):
        parts, rows = shards(study.model_copy(update={"shards": size, "cells_per_draw": size})), []
        assert len(parts) == size
        for groups_of_shard in parts:
            users = {cell.problem: Users(cell.problem) for group in groups_of_shard for cell in group}
            rows += [(cell.key, run_cell(cell, users[cell.problem])[0]) for group in groups_of_shard for cell in group]
        assert len(rows) == len(plain) and str(dict(sorted(rows))) == str(dict(sorted(plain.items())))


def test_axes_under_together_vary_as_one(study):
    """Their points are joined, and multiplied with the other axes; options, problem and noise may all stand there."""
    joint = [{"users": 100, "samples": 16}, {"users": 200, "samples": 8, "epochs": 2}]
    cells = cells_of({"together": joint, "noise_multiplier": [0.5, 1], "seed": 3})
    points = [
        (c.problem.users, c.problem.samples, c.options.epochs, c.budget.multiplier, c.problem.seed) for c in cells
    ]
    expected = [
        (*point, noise, seed) for point in ((100, 16, 1), (200, 8, 2)) for noise in (0.5, 1) for seed in range(3)
    ]
    assert points == expected
    cells = cells_of({"together": [{"noise_multiplier": 0.5, "dim": 6}, {"noise_multiplier": 0.1, "dim": 8}]})
    assert [(cell.budget.multiplier, cell.problem.dim) for cell in cells] == [(0.5, 6), (0.1, 8)]


def test_a_point_under_together_is_no_other_cell(study):
    """Written as a product or jointly, the same values are the same cell."""
    joint = cells_of({"together": [{"users": 100, "noise_multiplier": 0.5}], "seed": 2})
    assert [c.key for c in joint] == [c.key for c in cells_of({"users": [100], "noise_multiplier": [0.5], "seed": 2})]


def test_redraws_are_numbered_and_skipped_without_noise(study):
    """Noise of multiplier 0 is drawn once; a number of redraws stands for 0, 1, ..."""
    cells = cells_of({"noise_multiplier": [0, 0.5], "redraw": 3, "seed": [4]})
    assert [(cell.budget.multiplier, cell.budget.redraw) for cell in cells] == [(0, 0), (0.5, 0), (0.5, 1), (0.5, 2)]
    assert [c.key for c in cells[2:]] == [
        c.key for c in cells_of({"noise_multiplier": [0.5], "redraw": [1, 2], "seed": [4]})
    ]
    for axis in ("noise_multiplier", "epsilon"):
        draws = [cell.stream("noise", 0).random() for cell in cells_of({axis: [0.5], "redraw": 3, "seed": [4]})]
        assert len({*draws}) == 3, f"redraws share their noise where {axis} is given"


def test_budgets_of_a_grid(study):
    """epsilon makes a Budget, noise_multiplier a FixedNoise with the study's delta, or a power of the users."""
    (by_epsilon,) = cells_of({"epsilon": [2], "seed": [0]}, calibration="exact")
    (by_noise,) = cells_of({"noise_multiplier": [2], "seed": [0]})
    assert by_epsilon.budget == Budget(2.0, study.delta, "exact")
    assert by_noise.budget == FixedNoise(2.0, study.delta)
    assert by_epsilon.key != by_noise.key
    powers = cells_of({"epsilon": [2], "users": [100, 400], "delta_power": [1.1, 2]})
    assert [cell.budget.delta for cell in powers] == [n**-power for n in (100, 400) for power in (1.1, 2)]


@pytest.mark.parametrize(
    ("grid", "algorithm", "message"),
    [
        ({"epsilon": [1], "noise_multiplier": [1]}, "altmin", "both epsilon and noise_multiplier"),
        ({"epsilon": [1], "together": [{"noise_multiplier": 1}]}, "altmin", "both epsilon and noise_multiplier"),
        ({"seed": 2}, "altmin", "its grid has no epsilon or noise_multiplier; altmin is private"),
        ({"seed": 2}, "spectral_init", "its grid has no epsilon or noise_multiplier; spectral_init is private"),
        ({"noise_multiplier": [0]}, "reference_model", "an epsilon or noise_multiplier; reference_model takes none"),
        ({"redraw": 2}, "reference_model", "redraw without noise_multiplier or epsilon"),
        ({"noise_multiplier": [1], "together": [{"clip": 1}]}, "altmin", "clip is no option of altmin"),
        ({"noise_multiplier": [1], "together": [{"dim": 3, "init": "planted"}]}, "altmin", "dim is 3; a planted"),
        ({"noise_multiplier": [1], "together": [{"users": 9}, {"users": 9.0}]}, "altmin", "users is 9.0"),
        ({"noise_multiplier": [1], "together": [{"users": 9}, {"users": 9}]}, "altmin", "the same cell twice"),
    ],
)
def test_bad_grids_are_named(study, grid, algorithm, message):
    """In one line that begins with the file and the series."""
    options = {"spectral_init": {"init_label_clip": 1.0}, "reference_model": {"kind": "zero"}}
    series = {"options": options[algorithm]} if algorithm in options else {}
    with pytest.raises(ConfigError, match=r"^src/replication/studies/figure2/settings\.yaml: series\.a: ") as caught:
        cells_of(grid, algorithm, **series)
    assert message in str(caught.value)


def test_data_draw_is_shared_by_methods_and_budgets(study):
    """The draw is keyed by the problem alone: one for each repetition and problem."""
    cells = expand(study)
    draws = {cell.problem for cell in cells}
    assert len(draws) < len(cells) / 40
    budgets = {cell.budget.epsilon for cell in cells if cell.budget and cell.problem == cells[0].problem}
    assert budgets == {1.0, 2.0, 3.0, 5.0, 7.0, 10.0}


def test_a_series_has_what_it_does_not_say_itself(study):
    """Algorithm, calibration and options are the study's; a value in the series, its grid or a scale goes first, for
    every key that a series can have."""
    shared = as_written() | {"algorithm": "altmin", "calibration": "exact", "problem": SMALL}
    shared["options"] = {
        "altmin": {"init": "random", "split": "text", "clip_feature": 1.0, "clip_label": 2.0},
        "spectral_init": {"init_label_clip": 1.0},
    }
    shared["series"] = {
        "own": {"grid": {"epsilon": [1], "seed": 1, "clip_label": [3.0]}, "options": {"clip_feature": 4.0}},
        "none": {"algorithm": "reference_model", "grid": "one", "without": ["epsilon"], "options": {"kind": "zero"}},
    }
    shared["grids"] = {"one": {"together": [{"epsilon": 1, "dim": 6}, {"epsilon": 2, "dim": 6}], "seed": 2}}
    own, *none = expand(checked(Study, shared, "test"))
    assert (own.options.clip_feature, own.options.clip_label, own.options.split) == (4.0, 3.0, "text")
    assert own.budget == Budget(1.0, study.delta, "exact")
    assert [(cell.algorithm, cell.budget, cell.problem.seed) for cell in none] == [
        ("reference_model", None, 0),
        ("reference_model", None, 1),
    ]
    own = {"algorithm": "spectral_init", "without": ["dim"], "calibration": "paper", "delta": 1e-3, "tuned": True}
    own |= {"problem": {"rank": 1}, "options": {"clip_label": 3.0}}
    assert own.keys() == {name for name, key in Series.model_fields.items() if not key.is_required()}
    setting = dict.fromkeys((*SIZES, *REALS), 1)
    shared |= {"grids": {"one": {"epsilon": [1], "dim": [5]}}, "choices": [{"series": "own"} | setting]}
    shared["choices"][0]["options"] = {"clip_label": 4.0}
    for name, value in own.items():
        shared["series"] = {"plain": {"grid": "one"}, "own": {"grid": "one", name: value}}
        plain, one = expand(checked(Study, shared, "test"))
        assert one.key != plain.key
