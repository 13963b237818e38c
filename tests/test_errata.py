"""Every erratum has a text and a demonstration that confirms it, and would not if the print were right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privrep.config import ROOT, check_schema, read_yaml
from privrep.errata import initialisation, local_convergence, privacy, risk, statements
from privrep.errata.demonstrations import DEMONSTRATIONS
from privrep.errata.finding import decides
from privrep.errata.tools import subspace_risk

TEXTS = read_yaml(ROOT / "config" / "claims" / "errata.yaml")


def test_texts_and_demonstrations_have_the_same_ids():
    check_schema(TEXTS, "errata", "config/claims/errata.yaml")
    ids = [text["id"] for text in TEXTS["errata"]]
    assert ids == list(DEMONSTRATIONS)
    assert ids == sorted(ids, key=lambda name: int(name[1:]))


@pytest.mark.parametrize("erratum", DEMONSTRATIONS)
def test_demonstration_confirms(erratum):
    finding = DEMONSTRATIONS[erratum]()
    assert finding.confirmed, finding.measured
    assert finding.measured
    assert "nan" not in finding.measured


def test_decides_tells_the_corrected_value_from_the_printed_one():
    assert decides(1.9, printed=1, correct=2, within=0.2)
    assert not decides(1.0, printed=1, correct=2, within=0.2)
    assert not decides(1.5, printed=1, correct=2, within=0.2)
    assert not decides(1.5, printed=1, correct=2, within=0.6)
    assert not decides(float("nan"), printed=1, correct=2, within=0.2)


def root_noise(statistics, clip, samples, noise_multiplier, rng):
    return RELEASE(statistics, clip, samples, noise_multiplier**0.5, rng)


RELEASE = risk.noisy_moments
FIT, MATRIX, CHANGE, SIDES = (
    risk.fit_heads,
    initialisation.spectral_matrix,
    privacy.moment_change,
    initialisation.sine_theorem,
)


def half_change(*args):
    change = CHANGE(*args)
    return replace(change, second=change.second / 2, first=change.first / 2)


def equation_22(users, basis, samples):
    """The risk that (22) prints, in the subspace and in U*."""
    problem = users.problem
    return subspace_risk(users, basis) + problem.label_noise_sd**2 * problem.rank / problem.samples


AS_PRINTED = {
    # The privacy term of the risk is proportional to Delta.
    "E2": (risk, "noisy_moments", root_noise),
    # Both versions have the same degree.
    "E4": (statements, "second_term_submission", statements.second_term_camera_ready),
    "E5": (initialisation, "signal_scale", lambda d: 2 * np.sqrt(1 / d)),
    "E6": (initialisation, "spectral_matrix", lambda *args: 2 * MATRIX(*args)),
    "E8": (risk, "personalised_risk", equation_22),
    # The gap within G is never the larger side.
    "E15": (initialisation, "sine_theorem", lambda *args: (SIDES(*args)[1], *SIDES(*args)[1:])),
    "E16": (initialisation, "dist_frobenius", initialisation.dist2),
    "E18": (initialisation, "spectral_matrix", lambda *args: MATRIX(*args) @ MATRIX(*args).T),
    # Positive definite whatever the noise.
    "E21": (
        local_convergence,
        "noisy_moments",
        lambda statistics, clip, samples, noise_multiplier, rng: RELEASE(statistics, clip, samples, 0.0, rng),
    ),
    "E25": (local_convergence, "fit_heads", lambda features, *args: FIT(features, *args) / features.shape[1]),
    "E29": (privacy, "moment_change", half_change),
    # The risk does not exceed its expectation.
    "E60": (risk, "fit_heads", lambda *args: 0.5 * FIT(*args) / np.abs(FIT(*args)).max()),
}


@pytest.mark.parametrize("erratum", AS_PRINTED)
def test_demonstration_would_find_otherwise(erratum, monkeypatch):
    monkeypatch.setattr(*AS_PRINTED[erratum])
    finding = DEMONSTRATIONS[erratum]()
    assert not finding.confirmed, finding.measured
