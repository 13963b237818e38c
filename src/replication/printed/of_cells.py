"""Values of the laws for each row of a results table: for the steps of Algorithm 1 and the noise of CENTAUR."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from privrep.theory import jain2021, shen2023
from privrep.theory.shared import Values
from privrep.users.splits import count, split_samples


@dataclass(frozen=True)
class StepSizes:
    """Sizes of a step of alternating minimisation, one entry per row."""

    batch: np.ndarray  # users in a step, n / T
    heads: np.ndarray  # samples for the head step: infinite where heads are given, NaN where the fit has no variance
    used: np.ndarray  # samples per user for the subspace step
    final: np.ndarray  # samples per user for the final fit
    lams: list[np.ndarray]  # eigenvalues of E v v^T


def step_sizes(cells: pd.DataFrame) -> StepSizes:
    """Read the sizes of a step from the rows; rows of other algorithms must have a value in `split`, too."""
    splits = [split_samples(preset, samples) for preset, samples in zip(cells["split"], cells["samples"], strict=True)]
    heads, used, final = (
        np.array([count(getattr(split, step)) for split in splits], dtype=float)
        for step in ("heads", "subspace", "final")
    )
    given = (cells.reindex(columns=["heads"])["heads"] == "true").to_numpy()  # an ablation is given the true heads
    few = (heads <= cells["rank"] + 1).to_numpy()  # with so few samples a head's error has no finite variance
    conditions = zip(cells["head_condition"], cells["rank"], strict=True)
    return StepSizes(
        batch=(cells["users"] / cells["batches"].fillna(1)).to_numpy(),
        heads=np.where(given, np.inf, np.where(few, np.nan, heads)),
        used=used,
        final=final,
        lams=[np.geomspace(condition, 1, rank) ** 2 for condition, rank in conditions],
    )


def privacy_distance(cells: pd.DataFrame, sizes: StepSizes, power: float = 2) -> Values:
    """Return distF of the last step due to privacy noise (F3), or at power 1 its square as the risk weighs it."""
    return jain2021.step_privacy(
        sizes.batch,
        cells["dim"],
        cells["rank"],
        cells["noise_multiplier"],
        cells["eta"],
        cells["zeta"],
        np.array([(lam**-power).sum() for lam in sizes.lams]),
    )


def step_log_factor(cells: pd.DataFrame) -> np.ndarray:
    """Return the factor of a step's privacy error that O~ hides: the logarithms in the thresholds of the proofs."""
    heads, rank = _head_unit(cells), cells["rank"]
    eta, zeta = cells["clip_feature"] * heads * np.sqrt(cells["dim"]), cells["clip_label"] * _label_unit(cells)
    with_logs = cells["eta"] * np.sqrt(rank * cells["eta"] ** 2 + cells["zeta"] ** 2)
    return _where_printed(cells, with_logs / (eta * np.sqrt(rank * eta**2 + zeta**2)))


def init_log_factor(cells: pd.DataFrame) -> np.ndarray:
    """Return the factor that O~ hides for Algorithm 3, whose privacy error grows with zeta^2 (F1)."""
    return _where_printed(cells, (cells["zeta"] / (cells["init_label_clip"] * _label_unit(cells))) ** 2)


def _head_unit(cells: pd.DataFrame) -> pd.Series:
    return cells["head_condition"] * np.sqrt(cells["rank"])


def _label_unit(cells: pd.DataFrame) -> pd.Series:
    return _head_unit(cells) + cells["label_noise_sd"]


def _where_printed(cells: pd.DataFrame, factor: pd.Series) -> np.ndarray:
    return np.where(cells["clip_scale"] == "printed", factor, 1.0)


def floor_distance(cells: pd.DataFrame, sizes: StepSizes) -> Values:
    """Return distF of the last step due to label noise (F5)."""
    d, k, noise = (cells[name] for name in ("dim", "rank", "label_noise_sd"))
    return jain2021.step_floor(sizes.batch * sizes.used, d, k, sizes.heads, noise)


def centaur_floors(cells: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return distF and dist2 of CENTAUR's steady state (F9), the latter at condition number 1, else NaN."""
    condition, d, k = (cells[name] for name in ("head_condition", "dim", "rank"))
    noise = shen2023.centaur_noise(
        cells["users"] * cells["participation"], cells["noise_multiplier"], cells["zeta"], cells["step"], condition**2
    )
    # Each direction has its own gain, by its ratio lam_i / lam_1.
    ratios = [np.geomspace(1, kappa**-2.0, rank) for kappa, rank in zip(condition, k, strict=True)]
    each = zip(np.asarray(noise), d, ratios, cells["step"].to_numpy(), strict=True)
    frobenius = [shen2023.centaur_frobenius(g, dim, ratio, step) for g, dim, ratio, step in each]
    spectral = shen2023.centaur_spectral(noise, d, k, cells["step"])
    return np.array(frobenius), np.where(condition == 1, spectral, np.nan)
