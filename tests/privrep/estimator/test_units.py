"""Units, orders and names: a table in other units, in another order or with other names gives what the first one gives,
each number by its own law, from both estimators and the commands."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from privrep.estimator import PrivateRepresentation, PrivateRepresentationClassifier
from privrep.estimator.commands.main import app
from privrep.privacy.noise import Noise

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@dataclass(frozen=True)
class World:
    """A table with what is stated of it, and how its numbers follow from those of the first table."""

    rows: pd.DataFrame
    kinds: dict = field(default_factory=lambda: {"c": ["u", "v", "w"], "f": "flag"})
    bounds: dict = field(default_factory=lambda: {"x": (-1.0, 2.0), "z": (0.0, 3.0)})
    factor: float = 1.0  # of labels
    shift: float = 0.0  # of labels, after the factor
    factors: dict = field(default_factory=dict)  # of columns
    names: dict = field(default_factory=dict)  # of columns and levels
    turned: bool = False  # whether coordinates are others, which have other draws of noise: then there is none
    hashed: bool = False  # whether users or scaled rows are others, by whose hashes a table on disk is sorted

    def label(self, *values: float) -> list[float]:
        """Return values of the first table's label in the unit of this one, in ascending order."""
        return sorted(self.factor * value + self.shift for value in values)


def of_label(factor: float, shift: float) -> Callable[[World], World]:
    return lambda world: replace(
        world, rows=world.rows.assign(y=factor * world.rows.y + shift), factor=factor, shift=shift, turned=factor < 0
    )


def of_feature(factor: float, shift: float) -> Callable[[World], World]:
    """Another unit of x; intercepts are at the middle of ranges, and stay."""

    def changed(world: World) -> World:
        low, high = (factor * end + shift for end in world.bounds["x"])
        rows = world.rows.assign(x=factor * world.rows.x + shift)
        return replace(world, rows=rows, bounds=world.bounds | {"x": (low, high)}, factors={"x": factor})

    return changed


def renamed(world: World) -> World:
    """Columns and levels, in their order."""
    names = dict(zip("xzcfuvw", "abdgpqr", strict=True))
    rows = world.rows.assign(c=world.rows.c.map(names)).rename(columns={name: names[name] for name in "xzcf"})
    kinds, bounds = {"d": ["p", "q", "r"], "g": "flag"}, {"a": (-1.0, 2.0), "b": (0.0, 3.0)}
    return replace(world, rows=rows, kinds=kinds, bounds=bounds, names=names)


def of_rows(change: Callable[[pd.DataFrame], pd.DataFrame], **facts: bool) -> Callable[[World], World]:
    return lambda world: replace(world, rows=change(world.rows), **facts)


CHANGES = {
    "labels times 10": of_label(10, 0),
    "labels plus 3": of_label(1, 3),
    "labels of the other sign": of_label(-1, 0),
    "a feature times 10": of_feature(10, 0),
    "a feature plus 3": of_feature(1, 3),
    "rows permuted": of_rows(lambda rows: rows.sort_values("who", ascending=False, kind="stable")),
    "columns permuted": of_rows(lambda rows: rows[["f", "y", "z", "who", "c", "x"]], turned=True),
    "levels permuted": lambda world: replace(world, kinds=world.kinds | {"c": ["w", "u", "v"]}, turned=True),
    "columns and levels renamed": renamed,
    "users renamed": of_rows(lambda rows: rows.assign(who="user " + rows.who.astype(str)), hashed=True),
}


def first() -> World:
    """Users 10 to 79, the last eight of whom take no part in a fit. Numbers are on a grid, so that no change of their
    unit rounds them."""
    rng = np.random.default_rng(0)
    who = rng.permutation(np.repeat(np.arange(10, 80), 5))
    rows = pd.DataFrame({"who": who, "x": rng.uniform(-1, 2, 350), "z": rng.uniform(0, 3, 350)})
    rows = rows.assign(c=rng.choice(["u", "v", "w"], 350), f=rng.choice([0, 1], 350))
    own = rng.standard_normal((80, 2))[who]
    label = 0.4 + own[:, 0] + (0.5 + 0.5 * own[:, 1]) * rows.x + 0.3 * rows.f + 0.3 * rng.standard_normal(350)
    rows["y"] = label.clip(-4, 4)
    rows[["x", "z", "y"]] = (rows[["x", "z", "y"]] * 1024).round() / 1024
    return World(rows)


PART, EXACT = first().rows.who < 72, 2e-5


def predicted(model: PrivateRepresentation, X: pd.DataFrame) -> pd.DataFrame:
    """Predictions with their standard deviations by row; of a classifier, probabilities of the second class."""
    return pd.DataFrame(np.transpose(PrivateRepresentation.predict(model, X, return_std=True)), X.index, ["mean", "sd"])


def given(world: World, kind: str) -> tuple[PrivateRepresentation, World, pd.Series]:
    """An estimator of numbers, or of classes that are in the unit of the label, with its labels."""
    if kind == "numbers":
        return PrivateRepresentation(8.0, label_bounds=world.label(-4, 4)), world, world.rows.y
    ones = (world.rows.y - world.shift) / world.factor > 0.5
    return PrivateRepresentationClassifier(8.0, classes=world.label(0, 1)), world, ones * world.factor + world.shift


def fitted(model: PrivateRepresentation, world: World, labels: pd.Series) -> dict:
    """All that comes out of a fit, and out of a fit to users who took no part."""
    part, X = PART[world.rows.index], world.rows.drop(columns="y")
    model.set_params(feature_bounds=world.bounds, kinds=world.kinds, users="who", random_state=0)
    model.fit(X[part], labels[part])
    privacy = dict(model.privacy_)
    found = {"releases": pd.DataFrame(privacy.pop("releases")).drop(columns="name"), "privacy": privacy}
    found |= {"advice": model.advice_, "coefficients": model.summary().coefficients}
    found |= {"components": model.summary().components, "own": predicted(model, X[part])}
    found |= {"score": model.score(X[part], labels[part]), "strangers": predicted(model, X[~part])}
    return found | {"new": predicted(model.personalise(X[~part], labels[~part]), X[~part])}


def commanded(world: World) -> dict:
    """What the commands give of a world, in the present folder: predictions and advice."""
    part, low, high = PART[world.rows.index], *world.label(-4, 4)
    lines = [f"[label]\nlow = {low}\nhigh = {high}"]
    for name in world.rows.columns.drop(["who", "y"]):
        kind = world.kinds.get(name)
        ends = f"low = {world.bounds[name][0]}\nhigh = {world.bounds[name][1]}" if kind is None else 'kind = "flag"'
        lines.append(
            f"[features.{name}]\n" + (f'kind = "category"\nlevels = {kind}' if isinstance(kind, list) else ends)
        )
    Path("bounds.toml").write_text("\n".join(lines))
    for name, rows in (("seen", world.rows[part]), ("unseen", world.rows[~part])):
        rows.to_parquet(f"{name}.parquet", index=False)
    public, labelled = "out/public/release.json", "--user who --label y"
    for command in (
        f"fit seen.parquet {labelled} --bounds bounds.toml --epsilon 8 --seed 0 --out out",
        f"predict {public} seen.parquet --user who --out own",
        f"predict {public} unseen.parquet --user who --out strangers",
        f"personalise {public} unseen.parquet {labelled} --out heads",
        f"predict {public} unseen.parquet --user who --heads heads --out new",
        "audit out",
    ):
        assert CliRunner().invoke(app, command.split()).exit_code == 0, command
    found = {"advice": json.loads(Path(public).read_text())["advice"]}
    for name, rows in {"own": part, "strangers": ~part, "new": ~part}.items():
        table = pd.read_parquet(name).set_index(world.rows.index[rows])
        found[name] = table.rename(columns={"prediction": "mean"})[["mean", "sd"]]
    return found


def by_law(found: dict, world: World, factor: float, shift: float) -> dict:
    """What the first table's outputs become in this world, where labels have this factor and shift."""
    size, lawful = abs(factor), dict(found)
    powers = {"gain": 2, "gain_low": 2, "gain_high": 2, "typical_error": 1, "typical_error_noise": 1}
    lawful["advice"] = {
        key: size ** powers[key] * one if key in powers else one for key, one in found["advice"].items()
    }
    for name in {"own", "strangers", "new"} & found.keys():
        lawful[name] = pd.DataFrame({"mean": factor * found[name]["mean"] + shift, "sd": size * found[name].sd})
    for name in {"coefficients", "components"} & found.keys():
        table = found[name].div([world.factors.get(one, 1) for one in found[name].index], axis=0)
        names = [re.sub(r"\w+", lambda word: world.names.get(word[0], word[0]), one) for one in table.index]
        lawful[name] = table = table.set_axis(names).mul([factor if one == "estimate" else size for one in table])
        if name == "coefficients":
            table.loc["Intercept", "estimate"] += shift
        else:
            table["variance"] = table.sd**2
    return lawful


def check(found: dict, expected: dict) -> None:
    """Each number is the expected one, up to rounding in single precision, over the largest in its column."""
    assert found.keys() == expected.keys()
    for name, one in found.items():
        if isinstance(one, pd.DataFrame):
            other = expected[name].reindex(one.index)
            np.testing.assert_allclose(one, other, rtol=0, atol=EXACT * np.nanmax(np.abs(other)), err_msg=name)
            continue
        for key, value in one.items() if isinstance(one, dict) else [(name, one)]:
            other = expected[name][key] if isinstance(one, dict) else expected[name]
            assert value == (pytest.approx(other, EXACT) if isinstance(value, float) else other), (name, key)


def outputs(world: World, folder: Path) -> dict[str, dict]:
    """What both estimators give of a world, and the commands where a table on disk has the same order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        if world.turned:
            patch.setattr(Noise, "added", lambda self, exact, multiplier, rng: exact)
        found = {kind: fitted(*given(world, kind)) for kind in ("numbers", "classes")}
        return found | ({} if world.turned or world.hashed else {"commands": commanded(world)})


@pytest.fixture(scope="module")
def known(tmp_path_factory) -> dict[bool, dict]:
    """The first table's outputs with noise, and without."""
    return {turned: outputs(replace(first(), turned=turned), tmp_path_factory.mktemp("first")) for turned in (0, 1)}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_number_follows_its_law(change, known, tmp_path):
    world = change(first())
    laws = {"classes": (1, 0) if world.factor > 0 else (-1, 1)}  # of the second class, which is the other one
    for name, found in outputs(world, tmp_path).items():
        law = laws.get(name, (world.factor, world.shift))
        check(found, by_law(known[world.turned][name], world, *law))
