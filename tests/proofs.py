"""What is proved of each release, where, and which test attains its sensitivity: `python tests/proofs.py` finds all
releases by running every method and the estimator on tiny problems, and writes docs/proofs.md.

Kinds of contributions and their sensitivities are those of `contribution_cases`, proofs are docstrings of the code.
"""

import inspect
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import jinja2
import pytest
from contribution_cases import CASES, CHOICE, Case, user
from estimator_cases import CONFIGURATIONS, Fit, called, others
from method_cases import ONE, PROBLEM, REPLAYED

from privrep.estimator.statement import NOT_COVERED
from privrep.methods.running.registry import METHODS, method_files
from privrep.privacy import contributions
from privrep.privacy.accounting import UNLIMITED
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release
from privrep.users.whole_files import write_whole
from replication.experiments.auditing.replay import streams
from replication.run.registry import load_options

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "proofs.md"
PARTS = (
    (
        "how far one user moves a sum",
        "the kind of contribution, below",
        "`tests/privrep/privacy/test_contributions.py`",
    ),
    ("rounding, and discrete noise", "`privrep.privacy.lattice`", "`tests/privrep/privacy/test_lattice.py`"),
    (
        "a choice",
        "`privrep.privacy.mechanisms.Release.temperature`",
        "`tests/privrep/methods/test_candidate_selection.py`",
    ),
    ("releases add up", "`privrep.privacy.ledger`, `accounting`", "`tests/privrep/privacy/test_accounting.py`"),
    (
        "nothing else leaves",
        "by replay, not by proof",
        "`tests/replication/experiments/test_replay.py`, `tests/privrep/estimator/test_estimator_replay.py`",
    ),
)
"""Parts of a proof that a release is private: where they are proved and tested."""
FILES = method_files([*METHODS, "replication.methods"])
EXPERIMENTS = method_files(["replication.experiments"])
LITTLE = 1e-3
"""Noise multiplier at which no release is left out for its noise."""
Releases = dict[str, list[tuple[str, str]]]
"""Names of releases, each with the name of its kind, by method."""


def kind_of(contribution: object, clip: object) -> str:
    """Name the kind of a contribution, with that of its clip where this is no number."""
    of_clip = "" if isinstance(clip, float) else f" with {type(clip).__name__}"
    return type(contribution).__name__ + of_clip


@contextmanager
def listening() -> Iterator[list[tuple[str, str]]]:
    """Yield the names and kinds of the releases that are made meanwhile, each pair once."""
    found, sums, temperature = [], Release.sums, Release.temperature

    def enter(name: str, kind: str) -> None:
        if (name, kind) not in found:
            found.append((name, kind))

    def summed(self, users, contribution, *parts):
        returned = contribution(next(iter(users.blocks(self.users.start, self.users.stop))))
        for part, kind in zip(parts, returned if isinstance(returned, tuple) else (returned,), strict=False):
            enter(part.name, kind_of(kind, part.clip))
        return sums(self, users, contribution, *parts)

    def chosen(self, name, **settings):
        enter(name, "Scores")
        return temperature(self, name, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Release, "sums", summed)
        patch.setattr(Release, "temperature", chosen)
        yield found


def of_methods() -> Releases:
    """Return the releases of each method, with all options of its cases."""
    with_fit: Releases = {}
    for case in REPLAYED:
        method = load_options(case.name, case.options).build(PROBLEM.known)
        release = Release(LITTLE, Ledger(), range(PROBLEM.users), streams(0, 5), UNLIMITED)
        with listening() as found:
            for _ in method.fit(replace(ONE), release):
                pass
        known = with_fit.setdefault(case.name, [])
        known += [pair for pair in found if pair not in known]
    return {name: pairs for name, pairs in with_fit.items() if name in FILES}


def of_estimator() -> Releases:
    """Return the releases of each configuration of the estimator, at a budget at which shapes are released, too."""
    releases = {}
    for configuration in CONFIGURATIONS:
        with listening() as found:
            Fit(configuration | {"epsilon": 1e4}, others())
        releases[called(configuration)] = found
    return releases


def root(value: float) -> str:
    """Write a number as the root of a fraction, or as an integer."""
    square = Fraction(value**2).limit_denominator(99)
    whole = math.isqrt(square.numerator) ** 2 == square.numerator and square.denominator == 1
    return str(math.isqrt(square.numerator)) if whole else f"√({square})" if square.denominator > 1 else f"√{square}"


def described(name: str, case: Case, test: str) -> dict:
    """Return what the page says of a kind, by a case that a test attains."""
    made, law, texts = case.make(user(1.0)), case.law, []
    for one in (made, case.clip)[: 1 if isinstance(case.clip, float) else 2]:
        if not vars(type(one)).get("__doc__"):
            raise ValueError(f"{type(one).__name__} has no docstring, and so no proof")
        texts.append(inspect.getdoc(type(one)))
    bounds = (case.clip,) if law is None else law.bounds
    unit = bounds[0] if len(bounds) == 1 else 1.0  # the sensitivity of several sums is in units of their noise
    return {
        "kind": kind_of(made, case.clip),
        "file": Path(inspect.getfile(type(made))).relative_to(ROOT),
        "texts": texts,
        "most": [root(made.sensitivity(case.clip, one) / unit) for one in ("replaced", "added or removed")],
        "exact": law is not None and law.terms is not None,
        "share": case.share,
        "test": f"{test}[{name}]" if law else test,
    }


def page(methods: Releases, estimator: Releases) -> str:
    """Return the page on these releases; ValueError where no two users are known who attain the sensitivity."""
    cases = [described(name, case, "test_the_sensitivity_is_attained") for name, case in CASES.items()]
    cases.append(described("scores", CHOICE, "test_differences_of_scores_move_by_twice_the_width"))
    kinds = {one["kind"]: [other for other in cases if other["kind"] == one["kind"]] for one in cases}
    for name, pairs in (methods | estimator).items():
        for release, kind in pairs:
            if kind not in kinds:
                raise ValueError(f"{name} releases {release}, a sum of {kind}: add it to tests/contribution_cases.py")
    printed: dict[str, set[str]] = {name: set() for name in methods}
    for case in REPLAYED:
        statement = load_options(case.name, case.options).build(PROBLEM.known).theorem
        if statement and case.name in printed:
            printed[case.name].add(statement.id)
    frame = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    return frame.from_string((ROOT / "tests/proofs.md.jinja").read_text()).render(
        parts=PARTS,
        rule=str(contributions.__doc__).split("\n\n")[-1].strip(),
        kinds=kinds,
        methods=methods,
        estimator=estimator,
        files=FILES,
        printed={name: sorted(ids) for name, ids in printed.items()},
        not_covered=NOT_COVERED,
    )


def listed() -> tuple[Releases, Releases]:
    """Return the releases that the page in docs/ lists, of methods and of the estimator."""
    lists: list[Releases] = []
    for section in PAGE.read_text().split("\n## Releases of ")[1:]:
        rows = re.findall(r"^\| `(.+?)` \|.*?(`[^|]*) \|$", section, re.MULTILINE)
        lists.append({name: re.findall(r"`(\w+)`: ([\w ]+)", pairs) for name, pairs in rows})
    methods, estimator = lists
    return methods, estimator


def unlisted(name: str, found: list[tuple[str, str]]) -> list[str]:
    """Return a line for each release of a method or a configuration that the page in docs/ lacks; experiments are not
    listed there."""
    methods, estimator = listed()
    known = (methods | estimator).get(name, found if name in EXPERIMENTS else [])
    return [
        f"{name}: {release}, {kind}; python tests/proofs.py adds it"
        for release, kind in found
        if (release, kind) not in known
    ]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_whole(PAGE, page(of_methods(), of_estimator()))
