"""Cells, keys and shards."""

from __future__ import annotations

import copy

import pytest

from privrep.config import read_config, read_study
from privrep.grids import expand, groups, shard


@pytest.fixture(scope="module")
def study():
    return read_study(read_config(), "figure2")


def test_shards_cover_every_cell_once(study):
    """Whatever the number of shards."""
    everything = sorted((cell.series, cell.key) for cell in expand(study))
    for shards in (1, 3, study["shards"]):
        parts = [shard(study | {"shards": shards}, index) for index in range(shards)]
        assert sorted((cell.series, cell.key) for part in parts for group in part for cell in group) == everything


def test_a_group_shares_one_draw(study):
    """And holds at most the stated number of cells."""
    for group in groups(expand(study), 7):
        assert len({cell.problem for cell in group}) == 1
        assert len(group) <= 7


def test_keys_do_not_depend_on_the_grid_around(study):
    """A new grid value and a new series keep all old keys."""
    wider = copy.deepcopy(study)
    wider["grids"]["full"]["epsilon"].append(4)
    wider["series"]["new"] = {"algorithm": "reference_model", "grid": "no_budget", "options": {"kind": "zero"}}
    assert {cell.key for cell in expand(study)} < {cell.key for cell in expand(wider)}


def test_key_ignores_the_label_and_defaults_but_no_value(study):
    """The label of a series and an option written out at its default change nothing; any other value does."""

    def key(**options):
        small = copy.deepcopy(study)
        base = {"init": "random", "split": "halves-then-all", "clip_feature": 1.0, "clip_label": 1.0}
        small["series"] = {options.pop("label", "a"): {"algorithm": "altmin", "grid": "one", "options": base | options}}
        small["grids"] = {"one": {"epsilon": [1], "seed": [0]}}
        return expand(small)[0].key

    assert key() == key(label="b") == key(batches=1) == key(clip_feature=1)
    assert len({key(), key(batches=2), key(clip_label=2.0), key(init="spectral")}) == 4


def test_data_draw_is_shared_by_methods_and_budgets(study):
    """The draw is keyed by the problem alone: one for each repetition and problem."""
    cells = expand(study)
    draws = {cell.problem for cell in cells}
    assert len(draws) < len(cells) / 40
    budgets = {cell.budget.epsilon for cell in cells if cell.budget and cell.problem == cells[0].problem}
    assert budgets == {1.0, 2.0, 3.0, 5.0, 7.0, 10.0}
