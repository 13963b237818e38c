"""Bad input gets one clear message that names the file, the key, the value and what it may be."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication.evidence import quantities
from replication.evidence.catalogue import DeviationsFile, ErrataFile, check_errata
from replication.run.config import (
    ROOT,
    at_scale,
    check_config,
    layers,
    merge,
    read_config,
    read_papers,
    read_study,
    read_yaml,
    study_names,
)
from replication.run.grids import expand, points
from replication.run.models import ConfigError, Model, checked
from replication.run.resolved import resolved
from replication.run.settings import (
    SCALES,
    MeasureSettings,
    PlotSettings,
    ShardSettings,
    Simulation,
    Study,
    settings_of,
)

FIT = {"series": "random-s2-a", "axis": "users", "response": "distF"}
ON_ONE = {"series": {"random-s2-a": {"grid": "one"}}}


def full(**axes) -> dict:
    """Other axes for the grid of the study."""
    return {"grids": {"full": axes}}


BAD = {
    "negative epsilon": (full(epsilon=[-1]), ["grids.full.epsilon.0", "-1", "greater than 0"]),
    "delta of one": ({"delta": 1.0}, ["delta", "1.0", "less than 1"]),
    "rank over dim": ({"problem": {"rank": 60}}, ["rank is 60", "dim, which is 50"]),
    "unknown split": ({"series": {"random-s2-a": {"options": {"split": "thirds"}}}}, ["'thirds'", "halves-then-all"]),
    "endless noise": ({"grids": {"one": {"noise_multiplier": [float("inf")]}}, **ON_ONE}, ["noise_multiplier is inf"]),
    "one number for noise": (full(noise_multiplier=0.1), ["full.noise_multiplier", "0.1", "a list"]),
    "too many users in a grid": ({"grids": {"one": {"users": [10**30]}}, **ON_ONE}, ["users is 10", "at most 1000"]),
    "no redraws": (full(redraw=0), ["grids.full.redraw", "0", "at least 1"]),
    "empty point together": (full(together=[{}]), ["grids.full.together.0", "empty"]),
    "axes together": (full(together={"users": [1]}), ["grids.full.together", "a list"]),
    "list in a point": (full(together=[{"users": [1, 2]}]), ["full.together.0.users", "[1, 2]", "number or a text"]),
    "power of a fit": ({"fits": {"a": FIT | {"power": 3}}}, ["fits.a.power", "3", "1, 2"]),
    "window of a fit": ({"fits": {"a": FIT | {"window": {"span": 0.5}}}}, ["fits.a.window.span", "0.5", "at least 1"]),
}


def figure2(override: dict) -> Study:
    """The study with other entries in its file."""
    source = "src/replication/studies/figure2/settings.yaml"
    content = at_scale(read_yaml(ROOT / source), "default", {}, "") | {"study": "figure2", "paper": "jain2021"}
    return checked(Study, merge(content, override), source)


@pytest.mark.parametrize("name", BAD)
def test_bad_study_is_named(name):
    """The message names the file and everything in the second entry."""
    override, words = BAD[name]
    with pytest.raises(ConfigError) as caught:
        expand(figure2(override))
    message = str(caught.value)
    assert message.startswith("src/replication/studies/figure2/settings.yaml: ")
    assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("override", "word"),
    [
        ({"shards": 3}, "'shards' is not a known key; the nearest is 'studies'"),
        ({"counts": {"seeds": 1}}, "'seeds' must be one of shards, seed, redraw"),
        ({"studies": []}, "empty"),
        ({"studies": ["figur2"]}, "studies: 'figur2' is no study; the nearest is 'figure2'"),
        ({"overrides": {"risks": {}}}, "overrides: 'risks' is no study; the nearest is 'risk'"),
    ],
)
def test_bad_config_is_named(override, word):
    """The top level file is checked too, and so is what --config says on the command line."""
    with pytest.raises(ConfigError, match=r"^config/config\.yaml( or --config \(scale |, line)") as caught:
        check_config(merge(read_yaml(ROOT / "config" / "config.yaml"), override))
    assert word in str(caught.value)


def test_missing_and_broken_files_are_named(tmp_path):
    """A file that is missing, not YAML, no mapping, or has a key twice."""
    with pytest.raises(ConfigError, match=r"nosuch/settings\.yaml: there is no such file"):
        read_study(read_config(), "nosuch")
    for text, word in (
        ("a: [1", "not valid YAML"),
        ("- 1", "must be a mapping"),
        ("a: {b: 1, c: 2, b: 3}", "'b' stands twice"),
    ):
        path = tmp_path / "broken.yaml"
        path.write_text(text)
        with pytest.raises(ConfigError, match=word):
            read_yaml(path)


def test_a_scale_changes_only_what_it_names():
    """A mapping merges key by key; a list is replaced."""
    overrides = {"figure2": {"grids": {"full": {"seed": 1}}, "quantities": ["i"]}}
    plain, small = (
        read_study(read_config(), "figure2"),
        read_study(read_config().model_copy(update={"overrides": overrides}), "figure2"),
    )
    assert small.grids["full"] == plain.grids["full"] | {"seed": 1}
    assert small.quantities == ("i",) and small.series == plain.series


def entries(part: dict, keys: tuple = ()):
    """Each entry of nested mappings that is none itself, with the keys that lead to it."""
    for key, value in part.items():
        if isinstance(value, dict) and value:
            yield from entries(value, (*keys, key))
        else:
            yield (*keys, key), value


def test_an_override_of_nothing_is_named():
    """In each kind of mapping that studies have, whatever is typed there: nothing would change, or something be added
    that nobody asked for. One line has the possible names."""
    found, config = {}, read_config()
    for study in study_names():
        for keys, _ in entries(at_scale(read_yaml(ROOT / settings_of(study)), "default", {}, "")):
            for depth in range(len(keys)):
                found.setdefault((depth, keys[:1], keys[2:depth]), (study, keys[:depth]))
    for study, keys in found.values():
        messages = []
        for override in ({}, {"x": 1}, [3], 3, "x"):
            for key in ("nosuch", *reversed(keys)):
                override = {key: override}
            with pytest.raises(ConfigError) as caught:
                expand(read_study(config.model_copy(update={"overrides": {study: override}}), study))
            messages.append(str(caught.value))
            assert "nosuch" in messages[-1] and "\n" not in messages[-1], f"{study}: {keys}"
        assert any("the nearest is" in message for message in messages), messages


def without(part: dict, keys: tuple) -> dict:
    """Nested mappings without an entry."""
    first, *rest = keys
    return part | {first: without(part[first], rest)} if rest else {k: v for k, v in part.items() if k != first}


COUNTS = {scale: read_config([ROOT / "config" / "scales" / f"{scale}.yaml"]).counts for scale in SCALES}


def read_of(content: dict, scale: str) -> tuple:
    """All that jobs read of a study at a scale: the settings of each cell, and what stands beside its grids.
    Cells are compared as settings: building them all, once for each entry, would take minutes."""
    content, cells = at_scale(content, scale, COUNTS[scale], ""), {}
    for name, series in content.get("series", {}).items():
        below = content["problem"] | series.get("problem", {}) | series.get("options", {})
        alike = {key: value for key, value in series.items() if key not in ("grid", "problem", "options")}
        grid = series["grid"] if isinstance(series["grid"], dict) else content["grids"][series["grid"]]
        cells[name] = alike, [{"redraw": 0} | below | point for point in points(grid)]
    return cells, {key: value for key, value in content.items() if key not in ("grids", "series", "problem")}


@pytest.mark.parametrize("study", study_names())
def test_every_entry_of_a_scale_is_read(study):
    """None leaves all as it is, for instance since it repeats what stands there anyway."""
    content = read_yaml(ROOT / settings_of(study))
    whole = {scale: read_of(content, scale) for scale in SCALES}
    for keys, _ in entries(content):
        for scale in set(keys) & set(SCALES):
            assert read_of(without(content, keys), scale) != whole[scale], keys


@pytest.mark.parametrize("study", study_names())
def test_a_grid_that_is_named_has_several_series(study):
    """One that a single series has stands in it."""
    content = read_yaml(ROOT / settings_of(study))
    named = [one["grid"] for one in content.get("series", {}).values() if isinstance(one["grid"], str)]
    assert set(named) == content.get("grids", {}).keys()
    assert [grid for grid in set(named) if named.count(grid) == 1] == []


def test_what_a_scale_says_goes_before_its_counts():
    """In any mapping; a list of seeds is no number of them, and another scale is left out."""
    grid = {"seed": 8, "redraw": 2, "dim": [1, 2], "quick": {"dim": [1], "redraw": 3}, "record": {"seed": 20}}
    content = {"shards": 3, "grids": {"a": grid, "b": {"seed": [0], "redraw": 2}}, "quick": {"problem": {"users": 4}}}
    quick = at_scale(content, "quick", {"shards": 1, "seed": 1, "redraw": 1}, "")
    assert quick["grids"] == {"a": {"seed": 1, "redraw": 3, "dim": [1]}, "b": {"seed": [0], "redraw": 1}}
    assert (quick["shards"], quick["problem"]) == (1, {"users": 4})
    record = at_scale(content, "record", {}, "")
    assert record["grids"]["a"] == {"seed": 20, "redraw": 2, "dim": [1, 2]} and "problem" not in record


def test_a_shared_grid_is_not_overridden_in_one_series():
    """The series would have a grid of its own with nothing but what is overridden."""
    config = read_config().model_copy(update={"overrides": {"risk": {"series": {"n": {"grid": {"seed": 1}}}}}})
    with pytest.raises(ConfigError, match=r"overrides\.risk: series\.n\.grid: the grid is shared; override grids\.n$"):
        read_study(config, "risk")


QUICK = "config/scales/quick.yaml"
FIGURE2, INIT = settings_of("figure2"), settings_of("init_rates")
ERRATA = "src/replication/errata/errata.yaml"
DEVIATIONS = "src/replication/studies/deviations.yaml"
FULL = "overrides:\n  figure2:\n    grids: {"
OVER = "overrides:\n  figure2:\n    problem: {users: x}\n"
REQUIRED = {
    "Series": "grid",
    "Simulation Analysis": "study",
    "Study": "study paper figures",
    "Spec StudyRate": "name series axis",
    "AnalysisSettings": "study figures",
    "MeasureSettings": "study figures quantities complete",
    "PlotSettings": "study figures claimed",
    "Sweeps": "panels ylabel",
    "Figure": "label caption",
    "Paper": "authors title venue chapters claims",
    "RunSettings": "master_seed memory_budget_mb",
    "ShardSettings": "master_seed memory_budget_mb study",
    "RunConfig": "master_seed memory_budget_mb scale studies overrides",
    "Quantity Comparison": "quantity measured value",
    "OneSided": "quantity measured rule value",
    "Rate Equals": "quantity measured tolerance rule value",
    "Claim": "whose id place statement",
    "Whole": "quantity other_readings",
    "Erratum": "id paper place severity changes claims printed correct demonstration measured",
    "Candidate": "id paper place suspected why",
    "ErrataFile": "errata",
    "Deviation": "id kind where what why effect",
    "DeviationsFile": "deviations",
}
"""Models -> their keys without a default; all other models have none."""
JOBS = {"shards": ShardSettings, "measure": MeasureSettings, "plot": PlotSettings}


def inside(value: object) -> Iterator[Model]:
    """The entries of the configuration in a value."""
    if isinstance(value, Model):
        yield value
        value = vars(value)
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from inside(part)


def kinds(model: type[Model]) -> Iterator[type[Model]]:
    for kind in model.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_a_key_that_is_left_out_is_named():
    """Each that has no default, of each model, in an entry as the files have it."""
    required = {name: set(keys.split()) for names, keys in REQUIRED.items() for name in names.split()}
    fields = {kind.__name__: kind.model_fields.items() for kind in kinds(Model)}
    found = {name: {key for key, about in of_kind if about.is_required()} for name, of_kind in fields.items()}
    assert {name: keys for name, keys in found.items() if keys} == required
    config, risk = read_config(), read_study(read_config(), "risk")
    jobs, files = resolved(risk, config, ["i"], {}), {ErrataFile: ERRATA, DeviationsFile: DEVIATIONS}
    read = [config, read_papers(), quantities.checked_claims(), *(read_study(config, name) for name in study_names())]
    read += [checked(kind, read_yaml(ROOT / path), path) for kind, path in files.items()]
    read += [checked(kind, jobs[job], job) for job, kind in JOBS.items()]
    samples = {type(one): one for one in inside(read)}
    abstract = {"Analysis", "AnalysisSettings", "RunSettings", "Quantity", "Comparison"}
    assert {kind.__name__ for kind in samples} >= required.keys() - abstract
    for kind, sample in samples.items():
        content = sample.model_dump(exclude_unset=True)
        for key in required.get(kind.__name__, ()):
            with pytest.raises(ConfigError, match=f"^file: the key {key!r} is missing$"):
                checked(kind, {name: value for name, value in content.items() if name != key}, "file")


def test_a_run_says_whether_a_study_is_as_it_stands():
    """Then none of its quantities may be missing; a scale or an override may leave some out."""
    config = read_config()
    overridden = (({"overrides": {name: {}}}, name != "figure2") for name in ("figure2", "risk"))
    for changes, complete in (({}, True), ({"scale": "tiny"}, False), ({"scale": "record"}, True), *overridden):
        changed = config.model_copy(update=changes)
        part = resolved(read_study(changed, "figure2"), changed, ["i"], {})["measure"]
        assert part["complete"] is complete and part["quantities"] == ["i"]


TYPED = [
    (FIGURE2, "clip_label: 1.0e-4", "clip_label: 1e-4", "'1e-4', a text; it must be a number; YAML reads"),
    (FIGURE2, "  rank: 2 ", "  # ", "rank is missing; problem needs dimension of the shared subspace"),
    (FIGURE2, "users: 50000", "users: 0", "problem: users is 0; it must be an integer of at least 1"),
    (FIGURE2, "users: 50000", "users: 050000", "YAML reads 050000 as 20480; write 20480, or '050000' for a text"),
    (FIGURE2, "shards: 16", "shards: 1:30", "YAML reads 1:30 as 90; write 90, or '1:30' for a text"),
    (FIGURE2, "shards: 16", "shards: 1000000", "shards: 1000000 must be at most 1000"),
    (FIGURE2, "figures:\n", "study: risk\nfigures:\n", "'study' is no key of a study's file, its place says so"),
    (FIGURE2, "tiny: {problem", "tiny: 3\nothers: {problem", "settings.yaml: tiny: 3 must be a mapping"),
    (FIGURE2, "quick: {epsilon", "quick: 3, others: {epsilon", "settings.yaml: grids.full.quick: 3 must be a mapping"),
    (INIT, "series:\n", "series: null\nothers:\n", "series: None is a NoneType, it must be a mapping"),
    (INIT, "algorithm: spectral_init", "algorithm: spectral_inti", "spectral_inti.py, the nearest is spectral_init"),
    (
        INIT,
        "  spectral_init: {",
        "  spectral_inti: {",
        "options: 'spectral_inti' is no algorithm of a series; the near",
    ),
    (INIT, "grid: n}", "grid: nn}", "'nn' is no grid; the nearest is 'n'"),
    (
        INIT,
        "{grid: n}",
        "{grid: n, without: [user]}",
        "series.n.without: 'user' is no axis of its grid; the nearest is",
    ),
    (INIT, "{users: [2500, 5000", "{users: [], rank: [1", "series.plain-n.grid.users: this is empty"),
    (INIT, "series: n, axis: users", "series: nn, axis: users", "series: 'nn' is no series of this study; the nea"),
    (INIT, "axis: users", "axis: user", "fits.privacy n dist2.axis: 'user' is no column of the results nor of this"),
    (
        INIT,
        "figure: jain2021/init_pri",
        "figure: jain2021/init_pr",
        "'jain2021/init_prvacy' is no figure of this study",
    ),
    (INIT, "claim: A-L4.6,", "claim: A-L4.7,", "claim: 'A-L4.7' is no claim of this study; the nearest is 'A-L4.6'"),
    (INIT, "tolerance: 0.15", "tolerance: -0.15", "every_fit.tolerance: -0.15 must be at least 0"),
    (INIT, ", tolerance: 0.15", "", "fits.privacy n dist2: the key 'tolerance' is missing"),
    (INIT, "    ylabel: error by privacy\n", "", "the key 'ylabel' is missing, which the fit 'privacy n dist2' needs"),
    (INIT, "init_norms:\n", "init_norms:\n    ylabel: x\n", "init_norms.ylabel: no fit has a panel in this figure"),
    (QUICK, "scale: quick\n", "scale: quik\n", "scale: 'quik' must be one of default, tiny, quick, record"),
    (QUICK, "quick\n", f"quick\n{OVER}", "quick.yaml, line 6: problem: users is 'x', a text; it must be a number"),
    (QUICK, "quick\n", "quick\nstudies: [risk, risk]\n", "quick.yaml, line 4: studies: 'risk' stands twice"),
    (QUICK, "quick\n", "quick\nstudies: [rsik]\n", "quick.yaml, line 4: studies: 'rsik' is no study; the near"),
    (QUICK, "quick\n", "quick\nmaster_sede: 0\n", "quick.yaml, line 4: 'master_sede' is not a known key; the n"),
    (QUICK, "quick\n", "quick\nmaster_seed: x\n", "quick.yaml, line 4: master_seed: 'x' is a str"),
    (QUICK, "quick\n", f"quick\n{FULL}nul: {{}}}}\n", "quick.yaml, line 6: grids: 'nul' is not in grids of"),
    (QUICK, "quick\n", f"quick\n{FULL}full: {{seed: 0}}}}\n", "quick.yaml, line 6: grids.full.seed: 0 must be at l"),
    (INIT, "axis: users", "axis: dim", "fits.privacy n dist2.axis: 'dim' is no axis of the series 'n'; the nearest is"),
    (
        INIT,
        "grid: {samples: [4",
        f"grid: {{rank: {[*range(9000)]}, samples: [4",
        "series.m: its grid of 54,000 cells is too large",
    ),
    (ERRATA, "claims: [A-T5.1, A-T5.2]", "claims: [A-T5.1, A-T5.3]", "'A-T5.3' is no claim; the nearest is 'A-T5.2'"),
]
"""A text in a file, what is typed in its place, and what is said."""


@pytest.fixture(scope="module")
def settings_folder(tmp_path_factory) -> Path:
    """A copy of all settings."""
    folder = tmp_path_factory.mktemp("settings")
    shutil.copytree(ROOT / "config", folder / "config")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return folder


@pytest.mark.parametrize(("name", "old", "new", "says"), TYPED, ids=[case[3][:40] for case in TYPED])
def test_a_slip_in_a_file_is_named(name, old, new, says, settings_folder, monkeypatch):
    """In one line with the file, by what a run checks before any job."""
    path, overlays = settings_folder / name, [settings_folder / QUICK]
    text = path.read_text()
    assert old in text
    monkeypatch.setattr("replication.run.config.ROOT", settings_folder)
    path.write_text(text.replace(old, new, 1))
    try:
        with pytest.raises(ConfigError) as caught:
            config = read_config(overlays, root=settings_folder)
            for study in ("figure2", "init_rates"):
                resolved = read_study(config, study, settings_folder, overlays)
                quantities.check_columns(resolved)
                expand(resolved, layers(config, study, overlays, settings_folder))
            claims = quantities.checked_claims(settings_folder)
            check_errata([claim.id for paper in claims.values() for claim in paper], settings_folder)
    finally:
        path.write_text(text)
    assert says in str(caught.value) and "\n" not in str(caught.value)
    assert path.name in str(caught.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("config/papers/jain2021 (copy).yaml", "this is no name of a file that is read here"),
        (settings_of("figure2 (copy)"), "a study is named by small letters, digits and _; rename it"),
    ],
)
def test_a_copy_is_named(name, says, settings_folder):
    """What editors leave beside a file is not read."""
    path = settings_folder / name
    path.parent.mkdir(exist_ok=True)
    for left in (".#figure2.yaml", "figure2.yaml~", ".figure2.yaml.swp"):
        path.with_name(left).write_text("no: study")
    assert study_names(settings_folder) == study_names()
    path.write_text("study: figure2")
    with pytest.raises(ConfigError, match=says):
        read_config(root=settings_folder)
    path.unlink()


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 100_000), st.floats(), st.text(max_size=5), st.just([]), st.just({})
)
ALTMIN = {"init": "random", "split": "halves-then-all", "clip_feature": 1.0, "clip_label": 1.0, "epochs": 1}
SMALL = {
    "study": "figure2",
    "delta": 1.0e-6,
    "shards": 2,
    "cells_per_draw": 8,
    "problem": {"users": 60, "samples": 8, "dim": 6, "rank": 2, "label_noise_sd": 0.1},
    "grids": {"one": {"epsilon": [1.0], "seed": 1}},
    "series": {"a": {"algorithm": "altmin", "grid": "one", "options": ALTMIN}},
}


@settings(max_examples=300)
@given(st.sampled_from([keys for keys, _ in entries(SMALL)]), VALUES)
def test_a_changed_setting_is_refused_or_runs_as_it_says(place, value):
    """Any value in the place of any other: one message, or cells that have it."""
    changed = json.loads(json.dumps(SMALL))
    inside = changed
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    try:
        cells = expand(checked(Simulation, changed, "src/replication/studies/figure2/settings.yaml"))
    except ConfigError as error:
        assert "\n" not in str(error) and len(str(error)) < 700
        return
    assert cells or place[0] == "series"
    for cell in cells:
        if place[0] == "problem":
            assert getattr(cell.problem, place[1]) == value
        if place[:3] == ("series", "a", "options"):
            assert getattr(cell.options, place[3]) == value
        if place[0] == "delta":
            assert cell.budget.delta == value
