"""Bad input gets one clear message that names the file, the key, the value and what it may be."""

from __future__ import annotations

import pytest

from privrep.config import ConfigError, check_config, merge, read_config, read_study, read_yaml
from privrep.grids import expand

BAD = {
    "unknown key": ({"problem": {"rnak": 2}}, ["problem", "'rnak' is not a known key", "rank"]),
    "text for a number": ({"delta": "1e-6"}, ["delta", "'1e-6'", "write 1.0e-6"]),
    "negative epsilon": ({"grids": {"full": {"epsilon": [-1]}}}, ["grids.full.epsilon.0", "-1", "greater than 0"]),
    "delta of one": ({"delta": 1.0}, ["delta", "1.0", "less than 1"]),
    "delta of zero": ({"delta": 0.0}, ["delta", "0.0", "greater than 0"]),
    "rank over dim": ({"problem": {"rank": 60}}, ["rank is 60", "dim, which is 50"]),
    "odd samples": ({"problem": {"samples": 9}}, ["samples is 9", "needs a multiple of 2"]),
    "too few samples": ({"problem": {"samples": 2}}, ["samples is 2", "at least rank = 2"]),
    "empty grid": ({"grids": {"full": {"epsilon": []}}}, ["grids.full.epsilon", "empty"]),
    "no seeds": ({"grids": {"full": {"seed": 0}}}, ["grids.full.seed"]),
    "unknown grid": ({"series": {"random-s2-a": {"grid": "whole"}}}, ["series.random-s2-a", "'whole'", "full"]),
    "unknown algorithm": (
        {"series": {"random-s2-a": {"algorithm": "altmn"}}},
        ["'altmn'", "src/privrep/algorithms/altmn.py"],
    ),
    "a step as algorithm": (
        {"series": {"random-s2-a": {"algorithm": "moment_step"}}},
        ["'moment_step'", "cannot run alone"],
    ),
    "unknown option": ({"series": {"random-s2-a": {"options": {"clip": 1}}}}, ["clip is no option", "clip_feature"]),
    "clip of zero": ({"series": {"random-s2-a": {"options": {"clip_label": 0}}}}, ["clip_label is 0", "positive"]),
    "unknown split": ({"series": {"random-s2-a": {"options": {"split": "thirds"}}}}, ["'thirds'", "halves-then-all"]),
    "no budget": ({"series": {"random-s2-a": {"grid": "no_budget"}}}, ["'no_budget' has no epsilon", "altmin"]),
    "needless budget": ({"series": {"zero-model": {"grid": "one_pass"}}}, ["'one_pass' has an epsilon"]),
    "same cell twice": ({"grids": {"full": {"epsilon": [1, 1.0]}}}, ["same cell twice"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_study_is_named(name):
    """The message names the file and everything in the second entry."""
    override, words = BAD[name]
    config = read_config()
    config["overrides"] = {"figure2": override}
    with pytest.raises(ConfigError) as caught:
        expand(read_study(config, "figure2"))
    message = str(caught.value)
    assert message.startswith("config/studies/figure2.yaml: ")
    assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("override", "word"),
    [
        ({"scale": "huge"}, "'huge'"),
        ({"master_seed": -1}, "-1"),
        ({"shards": 3}, "'shards'"),
        ({"studies": []}, "empty"),
    ],
)
def test_bad_config_is_named(override, word):
    """The top level file is checked too."""
    with pytest.raises(ConfigError, match=r"config/config\.yaml") as caught:
        check_config(merge(read_config(), override))
    assert word in str(caught.value)


def test_missing_and_broken_files_are_named(tmp_path):
    """A file that is missing, not YAML, or no mapping."""
    with pytest.raises(ConfigError, match=r"nosuch\.yaml: there is no such file"):
        read_study(read_config(), "nosuch")
    for text, word in (("a: [1", "not valid YAML"), ("- 1", "must be a mapping")):
        path = tmp_path / "broken.yaml"
        path.write_text(text)
        with pytest.raises(ConfigError, match=word):
            read_yaml(path)


@pytest.mark.parametrize("scale", ["tiny", "quick", "paper"])
def test_every_scale_expands(scale):
    """The overlays that ship are valid."""
    from privrep.config import ROOT

    config = read_config([ROOT / "config" / "scales" / f"{scale}.yaml"])
    for study in config["studies"]:
        expand(read_study(config, study))
