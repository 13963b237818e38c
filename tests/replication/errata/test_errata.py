"""Every erratum has a text and a demonstration that confirms it, and would not if the print were right."""

import re
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
import yaml
from workflow_helpers import patience

from privrep.methods.steps.candidate_selection import Selection
from privrep.privacy.contributions import Contribution
from privrep.users.rng import stream
from privrep.users.subspace import dist2
from replication.errata.centaur import corrected_cap
from replication.errata.demonstrations import DEMONSTRATIONS
from replication.errata.exponential import proved_exponent
from replication.errata.finding import Finding, decides, demonstrates
from replication.errata.privacy_shen2023 import removal_divergence
from replication.errata.tools import subspace_risk
from replication.evidence.catalogue import check_errata, read_errata
from replication.evidence.quantities import checked_claims
from replication.printed.prescribed_powers import assumed_samples, utility_cap
from replication.run.config import ROOT, read_yaml
from replication.run.csv_tables import read_rows
from replication.run.models import ConfigError

TEXTS = read_errata(ROOT / "src/replication/errata/errata.yaml")["errata"]
CLAIMS = checked_claims()
IDS = [claim.id for claims in CLAIMS.values() for claim in claims]


def test_texts_and_demonstrations_have_the_same_ids():
    ids = [text["id"] for text in TEXTS]
    assert ids == list(DEMONSTRATIONS)
    assert ids == sorted(ids, key=lambda name: int(name[1:]))


def test_errata_touch_claims_that_exist():
    """In the order of the table of all verdicts."""
    check_errata(IDS)
    for text in TEXTS:
        assert text["claims"] == sorted(text["claims"], key=IDS.index), text["id"]


def changed(folder, old: str, new: str) -> None:
    """Write the texts to a folder with one change."""
    text = (ROOT / "src/replication/errata/errata.yaml").read_text()
    assert old in text
    (folder / "src/replication/errata").mkdir(parents=True)
    (folder / "src/replication/errata/errata.yaml").write_text(text.replace(old, new, 1))


LISTED = "    claims: [A-T5.1, A-T5.2]\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (LISTED, "    claims: [A-T5.1, A-T5.1]\n", "'A-T5.1' appears twice"),
        (LISTED, "    claims: A-T5.1\n", "errata.0.claims: 'A-T5.1' is a str, it must be a list"),
        ("same_as: E10", "same_as: E13", "E13.same_as: 'E13' is no erratum that counts"),
    ],
)
def test_a_wrong_text_is_named(tmp_path, old, new, words):
    changed(tmp_path, old, new)
    with pytest.raises(ConfigError, match=rf"^src/replication/errata/errata\.yaml: .*{re.escape(words)}"):
        check_errata(IDS, tmp_path)


NUMBER = r"(?:[A-Z]\.)?\d+(?:\.\d+)*(?: \(i\))?"
STATEMENT = re.compile(rf"(Theorem|Lemma|Corollary|Remark)s? ({NUMBER}(?:(?:, | and ){NUMBER})*)")


def statements_at(place: str) -> set[str]:
    """Theorem 1.1 and Theorem 4.2 of "Theorems 1.1 and 4.2, eq. (24)"."""
    found = STATEMENT.findall(place)
    return {f"{kind} {number}" for kind, numbers in found for number in re.split(", | and ", numbers)}


NOT_TOUCHED = {
    "A-L4.6": {"E16": "the lemma is right; what is drawn from it is A-L4.6-F"},
    "A-L4.4": {"E16": "the lemma is right; what is drawn from Lemma 4.6 for it is A-L4.6-F"},
    "A-L4.4-start": dict.fromkeys(("E7", "E20", "E24", "E29"), "noise, users and rounds are not the start"),
    "A-T4.2": dict.fromkeys(("E32", "E33"), "the comparison says what Theorem 5.2 needs"),
    "B-T5.1": {"E12": "its exponents have no E0"},
    "B-T5.1 rate": {"E42": "one round without noise has no cap"},
    "B-T5.1 noise": {"E46": "the cap of (18) has no batch size"},
}
"""Claims of a statement that an erratum names without touching them."""


def test_errata_touch_the_claims_at_their_places():
    """An erratum that names a theorem touches the claims that begin with it, or the reason stands above."""
    apart = {
        (claim.id, text["id"])
        for text in TEXTS
        for claim in CLAIMS[text["paper"]]
        if (found := STATEMENT.match(claim.place))
        and statements_at(found[0]) & statements_at(text["place"])
        and claim.id not in text["claims"]
    }
    assert apart == {(claim, erratum) for claim, reasons in NOT_TOUCHED.items() for erratum in reasons}


def test_the_table_has_the_claims(tmp_path):
    """Joined; nothing without a touched claim or a demonstration; what the published version mends is marked."""
    content = read_yaml(ROOT / "src/replication/errata/errata.yaml")
    content["errata"] = [text for text in content["errata"] if text["id"] in ("E2", "E5")]
    few, table = tmp_path / "errata.yaml", tmp_path / "errata.csv"
    few.write_text(yaml.safe_dump(content))
    words = [str(ROOT / "workflow/scripts/check_errata.py"), "--texts", str(few), "--output", str(table)]
    subprocess.run([sys.executable, *words], check=True, timeout=patience())
    rows = {row["id"]: (row["claims"], row["confirmed"]) for row in read_rows(table)}
    found = [rows[name] for name in ("E2", "E5", "C1", "E3")]
    assert found == [("A-T4.2; A-R1; A-CMP", "yes"), ("", "yes"), ("", "set aside"), ("", "mended")]


def test_an_erratum_has_one_demonstration_which_draws_the_same_again(monkeypatch):
    monkeypatch.setattr("replication.errata.finding.ENTERED", {})
    drawn = demonstrates("E34")(lambda rng: Finding(True, rng.random()))
    assert drawn().numbers == drawn().numbers == (stream(0, "erratum", {"erratum": 34}).random(),)
    with pytest.raises(ValueError, match=r"E34 is demonstrated by <lambda>"):
        demonstrates("E34")(drawn)


DIGITS = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?")


def alike(sentence: str, other: str) -> bool:
    """Return whether two sentences have the same words and, nearly, the same numbers."""
    numbers, others = ([float(one) for one in DIGITS.findall(text)] for text in (sentence, other))
    return DIGITS.sub("", sentence) == DIGITS.sub("", other) and numbers == pytest.approx(others, rel=0.1, abs=1e-9)


@pytest.mark.parametrize("erratum", DEMONSTRATIONS)
def test_demonstration_confirms(erratum, file_regression):
    """In the words of the reference, each number at its place."""
    finding, path = DEMONSTRATIONS[erratum](), ROOT / "tests" / "reference" / "errata" / f"{erratum}.txt"
    (text,) = [text["measured"] for text in TEXTS if text["id"] == erratum]
    assert finding.confirmed, finding.numbers
    assert len(finding.numbers) == text.count("{")
    said, held = f"{finding.said(text)}\n", path.read_text() if path.exists() else ""
    file_regression.check(held if alike(said, held) else said, fullpath=path)


def test_decides_tells_the_corrected_value_from_the_printed_one():
    assert decides(1.9, printed=1, correct=2, within=0.2)
    for found, within in ((1.0, 0.2), (1.5, 0.2), (1.5, 0.6), (float("nan"), 0.2)):
        assert not decides(found, printed=1, correct=2, within=within)


@dataclass(frozen=True)
class Shorter:
    """A contribution that is `factor` times another once it is clipped."""

    kind: Contribution
    factor: float

    def clipped(self, clip):
        return tuple(self.factor * total for total in self.kind.clipped(clip))


def reversed_signs(gradient):
    return replace(gradient, left=-gradient.left)


def equation_22(users, basis, samples):
    """The risk that (22) prints, in the subspace and in U*."""
    problem = users.problem
    return subspace_risk(users, basis) + problem.label_noise_sd**2 * problem.rank / problem.samples


def far(first, second):
    """Scores that a user moves by up to 4 xi L_f C in either direction."""
    return first, first + 4 * (second - first)


def fewer_rounds(problem, rounds, *, noise, **options):
    """A path that ends after a number of rounds that falls with the noise, as the printed T_g does."""
    return np.where(np.arange(rounds) < 20 + np.log(noise), 1.0, 1e-9)


AS_PRINTED = {
    # The box and the proof have the same beta.
    "E1": ("printed_exponent", lambda f: proved_exponent),
    # The privacy term of the risk is proportional to Delta.
    "E2": ("noisy_steps", lambda f: lambda users, multiplier, *args: f(users, multiplier**0.5, *args)),
    "E5": ("signal_scale", lambda f: lambda d: 2 * np.sqrt(1 / d)),
    "E8": ("personalised_risk", lambda f: equation_22),
    # Projections are as long as the features.
    "E14": ("longest_projection", lambda f: lambda users, bases: f(users, np.eye(bases.shape[1])[None])),
    # The gap within G is never the larger side.
    "E15": ("sine_theorem", lambda f: lambda *args: (f(*args)[1], *f(*args)[1:])),
    "E16": ("dist_frobenius", lambda f: dist2),
    "E18": ("spectral_matrix", lambda f: lambda *args: f(*args) @ f(*args).T),
    "E25": ("fit_heads", lambda f: lambda features, *args: f(features, *args) / features.shape[1]),
    "E29": ("moved", lambda f: lambda *args: f(*args) / 2),
    # The true heads turn with the basis.
    "E30": ("true_heads", lambda f: lambda block: -f(block)),
    # A bound on the features alone, whatever the rank.
    "E31": ("largest_correlation", lambda f: np.linalg.norm),
    "E32": ("expected_risk", lambda f: lambda *args: 1.0),
    "E33": ("samples_exponential", lambda f: lambda k, risk: k**0.5),
    "E34": ("neighbouring_scores", lambda f: lambda *args: far(*f(*args))),
    # Replacing a user moves the sum as far as removing one.
    "E10": ("Rows", lambda f: lambda updates: Shorter(f(updates), 0.5)),
    # Clients send where they move to, as in the general CENTAUR.
    "E11": ("RepresentationGradients", lambda f: lambda *args: lambda block: reversed_signs(f(*args)(block))),
    # The squared least singular value is sqrt(1 - s^2).
    "E12": ("planted_subspace", lambda f: lambda b, s, rng: f(b, (1 - (1 - s**2) ** 0.5) ** 0.5, rng)),
    "E13": ("Products", lambda f: lambda *args: lambda block: tuple(Shorter(run, 2**-0.5) for run in f(*args)(block))),
    "E40": ("distances", lambda f: fewer_rounds),
    # Only Theorem 5.1 limits the noise.
    "E41": ("privacy_cap", lambda f: utility_cap),
    "E42": ("printed_cap", lambda f: corrected_cap),
    # Long heads do no harm.
    "E43": ("gradient_parts", lambda f: lambda problem, s: f(replace(problem, head_factor=1.0), s)),
    "E44": ("moment_threshold", lambda f: lambda *args: f(*args) / args[-1].rank ** 0.5),
    "E45": ("printed_normal_matrix", lambda f: lambda users, *args: users.known.users * f(users, *args)),
    "E46": ("least_batch", lambda f: lambda n, d, k, kappa: kappa**2 * k**2 * np.log(n)),
    "E47": ("largest_labels", lambda f: lambda sets, users, *args: np.ones((sets, users))),
    "E48": ("select", lambda f: lambda candidates, accuracy: Selection(len(candidates) - 1, True)),
    "E49": ("sixth_moment", lambda f: lambda d: (5 * d + 90, 3 * d + 15)),
    "E50": ("printed_divergence", lambda f: removal_divergence),
    # The number of participants says nothing.
    "E51": ("mean_divergence", lambda f: lambda alpha, n, rate, sd, replaced: removal_divergence(alpha, rate, sd)),
    "E52": ("fresh_samples", lambda f: assumed_samples),
    "E56": ("experiments_epsilon", lambda f: lambda epsilon, shift: f(epsilon, 1.0)),
    # Noise of different rounds adds up, not its square.
    "E57": ("steady", lambda f: lambda problem, *args, noise, **options: noise * problem.head_condition**2),
    # A variable of norm 1: its square exponential is 2 at s = 1.
    "E63": ("gaussian_square_exponential", lambda f: lambda s: 2 ** (1 / s**2)),
    # Heads of any length.
    "E38": ("predicts", lambda f: lambda basis, numbers: True),
    # The constant is one.
    "E58": ("gradient_clip", lambda f: lambda size: 1.0),
    # The risk does not exceed its expectation.
    "E60": ("fit_heads", lambda f: lambda *args: 0.5 * f(*args) / np.abs(f(*args)).max()),
}
"""Erratum -> what its demonstration uses, and what stands there if the print is right, made from what does."""


@pytest.mark.parametrize("erratum", AS_PRINTED)
def test_demonstration_would_find_otherwise(erratum, monkeypatch):
    name, printed = AS_PRINTED[erratum]
    module = sys.modules[DEMONSTRATIONS[erratum].__module__]
    monkeypatch.setattr(module, name, printed(getattr(module, name)))
    finding = DEMONSTRATIONS[erratum]()
    assert not finding.confirmed, finding.numbers
