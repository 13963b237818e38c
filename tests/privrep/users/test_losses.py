"""Lipschitz losses: slopes, the quadratics above them, their limit |r|, and their mean over a Gaussian residual."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import integrate, stats

from privrep.users.losses import LOSSES, Loss

SMOOTH = ("huber", "pseudo-huber")
every_smooth = pytest.mark.parametrize("name", SMOOTH)
widths = pytest.mark.parametrize("width", [0.01, 1.0, 30.0])
RESIDUALS = np.array([-400.0, -3.0, -1.1, -0.7, -0.02, 0.3, 0.95, 1.2, 8.0, 1e3])
"""In widths; none at the kink of Huber's slope, and none at 0."""


def printed(name: str, width: float, r: float) -> float:
    """The loss as its formula stands."""
    if name == "absolute":
        return abs(r)
    if name == "huber":
        return r * r / (2 * width) if abs(r) <= width else abs(r) - width / 2
    return math.sqrt(r * r + width * width) - width


@pytest.mark.parametrize("name", LOSSES)
@widths
def test_the_value_is_the_formula(name, width):
    loss = Loss(name, 0.0 if name == "absolute" else width)
    residuals = width * np.array([0.0, 1.0, *RESIDUALS])
    assert loss.value(residuals) == pytest.approx([printed(name, width, r) for r in residuals], rel=1e-12, abs=1e-12)
    assert loss.value(-residuals) == pytest.approx(loss.value(residuals))


def test_a_residual_far_below_the_width_keeps_its_digits():
    """sqrt(r^2 + h^2) - h as it stands is 0 for r = 1e-9 h."""
    assert Loss("pseudo-huber", 2.0).value(np.array([2e-9])) == pytest.approx([1e-18], rel=1e-12)
    assert printed("pseudo-huber", 2.0, 2e-9) == 0


@every_smooth
@widths
def test_weights_are_the_slope_over_the_residual_and_the_curvature(name, width):
    """Central differences of step 1e-4 widths: of the value for the slope, and of the slope for the curvature."""
    loss, residuals, step = Loss(name, width), width * RESIDUALS, 1e-4 * width
    above, below = residuals + step, residuals - step
    weight, curvature = loss.weights(residuals)
    slopes = [loss.weights(at)[0] * at for at in (above, below)]
    assert weight * residuals == pytest.approx((loss.value(above) - loss.value(below)) / (2 * step), rel=1e-6, abs=1e-7)
    assert curvature * width == pytest.approx((slopes[0] - slopes[1]) / (2 * step) * width, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@every_smooth
def test_the_dtype_of_residuals_is_kept(name, dtype):
    """Users' samples are float32, and twice the memory would take twice the time."""
    residuals = RESIDUALS.astype(dtype)
    for width in (1.0, 0.3):
        loss = Loss(name, width)
        assert {part.dtype for part in (loss.value(residuals), *loss.weights(residuals))} == {np.dtype(dtype)}


residual = st.floats(-1e4, 1e4)


def by_quadrature(loss: Loss, sd: float) -> float:
    """E l(sd Z), by adaptive quadrature between points at which the integrand changes its shape."""
    knots = sorted({0.0, 1.0, 3.0, 12.0, *(z for z in loss.width / sd * np.array([0.1, 1.0, 10.0]) if 0 < z < 12)})

    def integrand(z):
        return printed(loss.name, loss.width, sd * z) * stats.norm.pdf(z)

    parts = [integrate.quad(integrand, *ends, epsabs=0, epsrel=1e-9)[0] for ends in itertools.pairwise(knots)]
    return 2 * sum(parts)


SDS = (1e-3, 0.1, 0.8, 1.0, 10.0, 1e2)


@every_smooth
@pytest.mark.parametrize("width", [0.1, 1.0, 10.0])
def test_the_mean_over_a_gaussian_against_quadrature(name, width):
    """1e-3 to 1e2, from 1e-4 to 1e3 widths. For sd far below the width the printed pseudo-Huber has no digits left."""
    loss = Loss(name, width)
    for sd in SDS:
        if name == "huber" or sd >= 0.01 * width:
            assert float(loss.gaussian_mean(np.asarray(sd))) == pytest.approx(by_quadrature(loss, sd), rel=2e-6)


def huber_mean(sd: np.ndarray) -> np.ndarray:
    """E of Huber's loss of width 1 in closed form."""
    t = 1 / sd
    inside = stats.norm.cdf(t) - 0.5 - t * stats.norm.pdf(t)
    return sd**2 * inside + 2 * sd * stats.norm.pdf(t) - stats.norm.sf(t)


def test_the_mean_over_a_gaussian_against_closed_forms():
    """Huber to 2e-6 over six decades, kink included; absolute to rounding; the limits of few and of many widths."""
    sds = np.geomspace(1e-3, 1e3, 3000).reshape(2, -1)
    assert Loss("huber", 1.0).gaussian_mean(sds) == pytest.approx(huber_mean(sds), rel=2e-6)
    assert Loss("huber", 3.0).gaussian_mean(3 * sds) == pytest.approx(3 * huber_mean(sds), rel=2e-6)
    assert Loss("absolute", 0.0).gaussian_mean(sds) == pytest.approx(sds * math.sqrt(2 / math.pi), rel=1e-14)
    small = np.array([1e-8, 1e-4])
    for name in ("huber", "pseudo-huber"):
        assert not Loss(name, 1.0).gaussian_mean(np.zeros((2, 3))).any()
        assert Loss(name, 1.0).gaussian_mean(small) == pytest.approx(small**2 / 2, rel=1e-7)
        assert Loss(name, 1e-3).gaussian_mean(np.array([1.0])) == pytest.approx([math.sqrt(2 / math.pi)], abs=1e-3)


@pytest.mark.parametrize(
    ("name", "width", "message"),
    [
        ("logistic", 1.0, r"^loss is 'logistic'; it must be one of absolute, huber, pseudo-huber$"),
        ("absolute", 1.0, r"^loss_width is 1\.0; the absolute loss has width 0"),
        ("huber", 0.0, r"^loss_width is 0\.0; it must be positive and finite"),
        ("pseudo-huber", -1.0, r"^loss_width is -1\.0"),
        ("huber", math.inf, "^loss_width is inf"),
        ("pseudo-huber", math.nan, "^loss_width is nan"),
    ],
)
def test_bad_losses_are_named(name, width, message):
    with pytest.raises(ValueError, match=message):
        Loss(name, width)
