"""The laws at the settings of each row of a results table: sizes of a step of alternating minimisation,
noise of CENTAUR."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from privrep.data.splits import count, split_samples
from privrep.laws import jain2021, shen2023


@dataclass(frozen=True)
class StepSizes:
    """One entry per row.

    Attributes
    ----------
    batch : users in a step, n / T.
    heads, used, final : samples per user for the head step, the subspace step and the final fit.
        Where heads are given, `heads` is infinite: there is no head error; NaN where the fit has no variance.
    lams : eigenvalues of E v v^T.
    """

    batch: np.ndarray
    heads: np.ndarray
    used: np.ndarray
    final: np.ndarray
    lams: list[np.ndarray]

    def inverse_lams(self, power: float) -> np.ndarray:
        """sum_i lam_i^-power.

        Parameters
        ----------
        power : of the sum.
        """
        return np.array([(lam**-power).sum() for lam in self.lams])


def step_sizes(cells: pd.DataFrame) -> StepSizes:
    """Read the sizes; rows of other algorithms must have a split, too.

    Parameters
    ----------
    cells : rows of a results table.
    """
    splits = [split_samples(preset, samples) for preset, samples in zip(cells["split"], cells["samples"], strict=True)]
    heads, used, final = (
        np.array([count(getattr(split, step)) for split in splits], dtype=float)
        for step in ("heads", "subspace", "final")
    )
    given = (cells["heads"] == "true").to_numpy()
    few = (heads <= cells["rank"] + 1).to_numpy()  # a head's error has no variance
    conditions = zip(cells["head_condition"], cells["rank"], strict=True)
    return StepSizes(
        batch=(cells["users"] / cells["batches"].fillna(1)).to_numpy(),
        heads=np.where(given, np.inf, np.where(few, np.nan, heads)),
        used=used,
        final=final,
        lams=[np.geomspace(condition, 1, rank) ** 2 for condition, rank in conditions],
    )


def privacy_distance(cells: pd.DataFrame, sizes: StepSizes, power: float = 2) -> np.ndarray:
    """distF of the last step by privacy noise (F3).

    Parameters
    ----------
    cells : rows of a results table.
    sizes : of the same rows.
    power : of 1 / lam_i in the square: 2, or 1 for the square weighted by lam_i, as the risk weighs it.
    """
    return jain2021.step_privacy(
        sizes.batch,
        *(cells[name] for name in ("dim", "rank", "noise_multiplier", "eta", "zeta")),
        sizes.inverse_lams(power),
    )


def step_log_factor(cells: pd.DataFrame) -> np.ndarray:
    """How many times larger the logarithms of the proofs' thresholds make the privacy error of a step (F3), 1 for other
    thresholds.

    A claimed O~ leaves them out: an error over this factor is the one that the same thresholds give without their
    logarithms.

    Parameters
    ----------
    cells : rows of a results table.
    """
    heads, rank = _head_unit(cells), cells["rank"]
    eta, zeta = cells["clip_feature"] * heads * np.sqrt(cells["dim"]), cells["clip_label"] * _label_unit(cells)
    with_logs = cells["eta"] * np.sqrt(rank * cells["eta"] ** 2 + cells["zeta"] ** 2)
    return _where_printed(cells, with_logs / (eta * np.sqrt(rank * eta**2 + zeta**2)))


def init_log_factor(cells: pd.DataFrame) -> np.ndarray:
    """The same of Algorithm 3, whose privacy error grows with zeta^2 (F1).

    Parameters
    ----------
    cells : rows of a results table.
    """
    return _where_printed(cells, (cells["zeta"] / (cells["init_label_clip"] * _label_unit(cells))) ** 2)


def _head_unit(cells: pd.DataFrame) -> pd.Series:
    return cells["head_condition"] * np.sqrt(cells["rank"])


def _label_unit(cells: pd.DataFrame) -> pd.Series:
    return _head_unit(cells) + cells["label_noise_sd"]


def _where_printed(cells: pd.DataFrame, factor: pd.Series) -> np.ndarray:
    return np.where(cells["clip_scale"] == "printed", factor, 1.0)


def floor_distance(cells: pd.DataFrame, sizes: StepSizes) -> np.ndarray:
    """distF that label noise leaves (F5).

    Parameters
    ----------
    cells : rows of a results table.
    sizes : of the same rows.
    """
    return jain2021.step_floor(
        sizes.batch * sizes.used, cells["dim"], cells["rank"], sizes.heads, cells["label_noise_sd"]
    )


def centaur_floors(cells: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """distF and dist2 of CENTAUR's steady state (F9), the latter for heads of condition number 1 alone (NaN otherwise).

    Of rows of other algorithms, without `step`, both are NaN.

    Parameters
    ----------
    cells : rows of a results table.
    """
    condition, d, k = (cells[name] for name in ("head_condition", "dim", "rank"))
    noise = shen2023.centaur_noise(
        cells["users"] * cells["participation"], cells["noise_multiplier"], cells["zeta"], cells["step"], condition**2
    )
    # Of all directions, the one with lam_i / lam_1 = ratio keeps its own gain.
    ratios = [np.geomspace(1, one**-2.0, rank) for one, rank in zip(condition, k, strict=True)]
    steps = cells["step"].to_numpy()
    frobenius = [
        shen2023.centaur_frobenius(g, dim, ratio, step)
        for g, dim, ratio, step in zip(noise, d, ratios, steps, strict=True)
    ]
    spectral = shen2023.centaur_spectral(noise, d, k, cells["step"])
    return np.array(frobenius), np.where(condition == 1, spectral, np.nan)
