"""What the chapter of unit_figure2 needs beside its quantities: the constants of the method."""

from __future__ import annotations

from privrep.algorithms import full_prior, unit_steps
from privrep.algorithms.parts import error_tracking, whitening
from privrep.laws import unit_steps as law
from privrep.report.run_tables import Run


def parts(run: Run) -> dict[str, float]:
    """Constants of unit steps by short names."""
    return {
        "scale": law.SCALE,
        "level": law.LEVEL,
        "coordinates": law.COORDINATES,
        "covariance": law.COVARIANCE,
        "whitenings": law.WHITENINGS,
        "start_signal": law.START_SIGNAL,
        "least_start": law.START_SHARES[0],
        "most_start": law.START_SHARES[1],
        "start_noise": law.START_NOISE,
        "start_error": law.START_ERROR,
        "steps": law.STEPS,
        "scalars": law.SCALARS,
        "metrics": law.METRICS,
        "contraction": law.CONTRACTION,
        "worth": 1 - law.WORTH,
        "scale_width": unit_steps.SCALE_WIDTH,
        "level_width": whitening.LEVEL_WIDTH,
        "sure": whitening.SURE,
        "log_length": whitening.LOG_LENGTH,
        "least_square": whitening.LEAST_SQUARE,
        "start_width": unit_steps.START_WIDTH,
        "residual_width": unit_steps.RESIDUAL_WIDTH,
        "least_noise": unit_steps.LEAST_NOISE,
        "floor": unit_steps.FLOOR,
        "model_sd": error_tracking.MODEL_SD,
        "step_sd": error_tracking.STEP_SD,
        "drift_sd": error_tracking.DRIFT_SD,
        "error_sd": error_tracking.GUESS_SD[0],
        "noise_sd": error_tracking.GUESS_SD[1],
        "surprise": error_tracking.SURPRISE,
        "failed_sd": error_tracking.FAILED_SD[0],
        "raised": full_prior.RAISED,
    }


def rounds(run: Run) -> list[int]:
    """Numbers of rounds among which the schedule chooses."""
    return list(law.ROUNDS)


def growths(run: Run) -> list[float]:
    """Ratios of successive rounds' budgets among which it chooses."""
    return list(law.GROWTHS)
