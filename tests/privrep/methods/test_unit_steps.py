"""Unit steps: what a user can move, what is known beforehand and learned on the way, and how well it ends.

Statistical checks hold at `conftest.FALSE_ALARM` or within a stated share, and each comes with a wrong target that is
rejected.
"""

import math
from functools import cache

import numpy as np
import pytest
from conftest import fake_users, handle, make_task
from hypothesis import given
from hypothesis import strategies as st
from pieces import clipped_moments, log_scales, plain, round_sums, start_moments
from scipy import stats
from scipy.special import gammaincinv, polygamma

from privrep.methods.running.runner import fit
from privrep.methods.spectral_init import OwnModels
from privrep.methods.unit_steps import schedule as plan
from privrep.methods.unit_steps.method import (
    QUANTILES,
    RESIDUAL_WIDTH,
    HeadMoments,
    Round,
    UnitSteps,
    UnitStepsOptions,
    learned_scale,
    unit,
)
from privrep.methods.unit_steps.tracking import ENERGY_SD, MODEL_SD, FilterState, log_chi
from privrep.methods.unit_steps.whitening import Whitening
from privrep.privacy.accounting import Budget
from privrep.privacy.ledger import Ledger
from privrep.users.blocks import Block
from privrep.users.known import Known
from privrep.users.passes import total
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import dist_frobenius, orthonormalise, planted_subspace, random_subspace

PENALTY, OUTSIDE, NOISE2, SCALE = 0.4, 0.05, 0.1, 0.7


# What a user can move


def test_units():
    """Of length 1 from 1e-90 to 1e150 and never above; 0 where there is no length."""
    rows = np.random.default_rng(0).standard_normal((400, 3))
    for size in (1e-90, 1e-12, 1.0, 1e12, 1e150):
        found = np.linalg.norm(unit(size * rows), axis=1)
        assert found.max() <= 1
        np.testing.assert_allclose(found, 1, rtol=1e-11)
    for size in (0.0, 1e-120, 1e200, math.inf, math.nan):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(unit(size * rows), 0)
    assert not unit(np.array([[math.inf, 1.0], [math.nan, 0.0]])).any()


def test_the_start_is_that_of_ridge_directions(rng):
    """theta = X^T (X X^T + penalty)^-1 y of each user by numpy, m below and above d; another penalty is rejected. Other
    methods that start from users' models have the same."""
    for samples in (3, 9):
        features, labels = rng.standard_normal((samples, 12, 5)), rng.standard_normal((samples, 12))
        (block,) = fake_users(features, labels, np.ones((12, 1))).blocks()
        for penalty, same in ((PENALTY, True), (2 * PENALTY, False)):
            expected = np.zeros((5, 5))
            for x, y in zip(features.transpose(1, 0, 2), labels.T, strict=True):
                theta = np.linalg.solve(x.T @ x + penalty * np.eye(5), x.T @ y)
                expected += np.outer(theta, theta) / (theta @ theta)
            of_others = OwnModels(slice(None), PENALTY)(block).clipped(1.0)[0]
            for found in (start_moments(block, plain(5), PENALTY), of_others):
                assert np.allclose(found, expected, rtol=0, atol=2e-4) == same


@pytest.mark.parametrize("samples", [4, 7])
def test_the_sums_of_a_round_are_those_of_a_loop(rng, samples):
    """Heads, steps and log residuals of each user in float64, users with samples out of the domain among them, and
    posterior means; fewer samples than coordinates and more, and a direction of heads that is less than the rest."""
    features, labels = rng.standard_normal((samples, 12, 5)), rng.standard_normal((samples, 12))
    features[2:, 3] = math.nan
    labels[1:, 4] = math.inf
    (block,) = fake_users(features, labels, np.ones((12, 1))).blocks()
    basis, root, whitening = random_subspace(5, 2, rng), np.diag([1.3, 0.1]), Whitening(np.geomspace(0.5, 2, 5))
    prior = basis @ root @ root @ basis.T + OUTSIDE * np.eye(5)
    residual = 3 * OUTSIDE + NOISE2
    step, second, logs, models = np.zeros((5, 2)), np.zeros((2, 2)), 0.0, []
    for j in range(12):
        sound = np.isfinite(features[:, j]).all(axis=1) & np.isfinite(labels[:, j])
        x, y = features[sound, j] * whitening.matrix, labels[sound, j] / SCALE
        found = x.T @ np.linalg.solve(x @ prior @ x.T + NOISE2 * np.eye(len(y)), y)
        models.append(SCALE * whitening.matrix * (prior @ found))
        w, g = root @ basis.T @ found, found - basis @ (basis.T @ found)
        step += np.outer(g / np.linalg.norm(g), w / np.linalg.norm(w))
        second += np.outer(w, w) / (w @ w)
        freedom = sound.sum() - 2
        if freedom > 0:
            z = x @ basis
            left = y - z @ np.linalg.lstsq(z, y, rcond=None)[0]
            log = math.log(left @ left / freedom / residual) - log_chi(np.asarray(freedom))
            logs += min(max(log, -RESIDUAL_WIDTH), RESIDUAL_WIDTH)
    given = whitening, basis, root, OUTSIDE, NOISE2, SCALE
    for got, expected in zip(round_sums(block, *given), (step, second, logs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-4)
    # Labels this small are all near what a user's others predict of them, and count in full.
    near = fake_users(features, 0.1 * labels, np.ones((12, 1)))
    np.testing.assert_allclose(10 * Round(*given).models(next(near.blocks())), models, rtol=0, atol=2e-4)


@pytest.mark.parametrize(("samples", "dim"), [(10, 20), (10, 4), (40, 6)])
@pytest.mark.parametrize("outside", [1e-6, OUTSIDE])
def test_a_label_that_is_far_off_moves_its_user_by_a_bounded_amount(rng, samples, dim, outside):
    """Users follow the model. Of every second one label is multiplied by 1e2 to 1e6: it counts as one 4 standard
    deviations from what the others predict, by dense algebra. Of every tenth two are far off: however far, a model is
    no longer than a sum of what labels may count for. The rest lose less than 1 % in squared error."""
    users, basis = 400, random_subspace(dim, 2, rng)
    given = Round(plain(dim), basis, np.diag([1.2, 0.8]), outside, NOISE2, SCALE)
    prior = basis @ given.root @ given.root @ basis.T + outside * np.eye(dim)
    heads = SCALE * rng.standard_normal((users, dim)) @ np.linalg.cholesky(prior).T
    features = rng.standard_normal((samples, users, dim))
    labels = np.einsum("mbd,bd->mb", features, heads) + SCALE * math.sqrt(NOISE2) * rng.standard_normal(
        (samples, users)
    )
    exact, near, most = posterior_means(features, labels, prior), labels.copy(), []
    labels[0, ::2], labels[:2, 1::10] = 1e2 * 1e4 ** rng.random(users // 2), 1e6
    for user in range(users):
        inverse = np.linalg.inv(features[:, user] @ prior @ features[:, user].T + NOISE2 * np.eye(samples))
        widths = 4 * SCALE / np.sqrt(np.diag(inverse))
        if user % 2 == 0:
            near[0, user] = widths[0] - inverse[0, 1:] @ labels[1:, user] / inverse[0, 0]
        most.append((np.linalg.norm(features[:, user] @ prior, axis=1) * np.diag(inverse) * widths).sum())
    block = Block(0, features.astype(np.float32), labels.astype(np.float32))
    found, expected = given.models(block), posterior_means(features, near, prior)
    assert (np.linalg.norm(found, axis=1) < 1.1 * np.array(most)).all()
    # A label stands up to 0.05 standard deviations off, and others may be 4 off by that of their user.
    differs = np.linalg.norm(found - expected, axis=1)[::2]
    assert np.quantile(differs, 0.9) < 0.05 * SCALE
    rest = [user for user in range(1, users, 2) if user % 10 != 1]
    lost = [((one - heads)[rest] ** 2).sum() for one in (found, exact)]
    assert lost[0] == pytest.approx(lost[1], rel=0.01)
    np.testing.assert_allclose(given.models(block.take(40, 60)), found[40:60], rtol=1e-9, atol=1e-12)


def posterior_means(features: np.ndarray, labels: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Means of the heads (B, d) by dense algebra, where all labels count in full."""
    pairs = zip(features.transpose(1, 0, 2), labels.T, strict=True)
    return np.array([prior @ x.T @ np.linalg.solve(x @ prior @ x.T + NOISE2 * np.eye(len(y)), y) for x, y in pairs])


def test_log_scales_by_hand():
    """Only samples that are not zero count; users without samples or labels add nothing; clips on both sides."""
    features, labels = np.ones((4, 5, 3)), np.full((4, 5), 2.0)
    features[2:, 1], features[:, 2], labels[:, 3] = 0, 0, 0
    (block,) = fake_users(features, labels, np.ones((5, 1))).blocks()
    each = [log_scales(block.take(j, j + 1), math.log(3), 9.0) for j in range(5)]
    log = math.log(4 / 3)
    expected = [log - log_chi(np.asarray(count)) for count in (4, 2, 4)]
    np.testing.assert_allclose(each, [expected[0], expected[1], 0, 0, expected[2]], rtol=1e-12)
    assert log_scales(block, math.log(3), 9.0) == pytest.approx(sum(each), rel=1e-12)
    assert log_scales(block, math.log(3), 0.1) == pytest.approx(0.1 * np.sign(each).sum(), rel=1e-12)


def test_log_chi():
    """Mean of log(chi^2 / f) by quadrature."""
    for freedom in (1, 2, 7, 40):
        quantiles = stats.chi2.ppf((np.arange(200_000) + 0.5) / 200_000, freedom)
        assert log_chi(np.asarray(freedom)) == pytest.approx(np.log(quantiles / freedom).mean(), abs=1e-4)


# A run with the releases of another


@pytest.mark.parametrize(("multiplier", "covariances"), [(0.02, 3), (0.3, 1), (0.8, 0), (30.0, 0)])
def test_the_ledger_adds_up(multiplier, covariances, monkeypatch):
    """Sizes, a scale, a start and three releases in a round, of all users; mu^2 is that of the noise multiplier. No
    covariance where noise would hide it, one where it hides that of few samples, three where it does not, and what is
    not spent on them is left for the descent. The tracker is told the noise that the releases have."""
    told, measured = [], FilterState.measured
    monkeypatch.setattr(FilterState, "measured", lambda known, *of: told.append(of) or measured(known, *of))
    users, ledger = Users(Problem(50, 6, 5, 2, label_noise_sd=0.3)), Ledger()
    *_, last = UnitSteps(2, 1.0, 0.3).fit(users, handle(users, multiplier, ledger=ledger))
    assert last.log["rounds"] in plan.ROUNDS
    expected = (
        ["unit_level", "unit_coordinates"]
        + ["unit_covariance"] * covariances
        + ["unit_scale", "unit_start"]
        + ["unit_residual", "unit_heads", "unit_step"] * last.log["rounds"]
    )
    assert [entry.name for entry in ledger.entries] == expected
    assert {(entry.start, entry.stop, entry.rate) for entry in ledger.entries} == {(0, 50, 1.0)}
    assert ledger.mu**2 == pytest.approx(1 / multiplier**2, rel=1e-9)
    shares = [entry.mu**2 / ledger.mu**2 for entry in ledger.entries]
    before = [plan.LEVEL, plan.COORDINATES] + [plan.COVARIANCE] * covariances + [plan.SCALE]
    left = 1 - sum(before)
    assert left == pytest.approx(0.9825 - 0.05 * covariances, rel=1e-12)
    assert shares[: len(before) + 1] == pytest.approx([*before, left * 0.1], rel=1e-9)
    assert sum(shares[len(before) + 1 :]) == pytest.approx(left * 0.9, rel=1e-9)
    # Log residuals of the first round are clipped further out, at the same share of a round.
    residuals = [entry for entry in ledger.entries if entry.name == "unit_residual"]
    assert [entry.sensitivity for entry in residuals] == [18.4] + [4.0] * (len(residuals) - 1)
    steps = [entry for entry in ledger.entries if entry.name == "unit_step"]
    assert [sd for _, sd, _, _ in told] == pytest.approx([entry.noise_sd / 50 for entry in residuals])
    assert [variance for *_, variance in told] == pytest.approx([(entry.noise_sd / 50) ** 2 for entry in steps])


# What is known beforehand


@pytest.mark.parametrize("noise", [0.05, 0.3, 1.0])
@pytest.mark.parametrize(("m", "d", "k"), [(8, 20, 2), (12, 16, 3), (20, 20, 2), (5, 20, 2)])
def test_the_gain_of_a_step(m, d, k, noise):
    """<R, E> / |E|^2 / n over 12 000 users at sine 0.2 is 0.9 to 1.15 kappa, standard error 1 to 2 %; 1.5 kappa is
    rejected."""
    users = Users(Problem(12_000, m, d, k, label_noise_sd=noise, head_law="sphere"))
    basis = planted_subspace(users.truth.basis, 0.2, np.random.default_rng(3))
    error = users.truth.basis - basis @ (basis.T @ users.truth.basis)
    error2 = (error**2).sum() / ((d - k) * k)
    sizes = plan.Sizes(12_000, m, d, k)
    given = plain(d), basis, np.eye(k), k * error2, noise**2, 1.0
    step, _, logs = total(users, lambda block: round_sums(block, *given))
    found = (step * error).sum() / (error**2).sum() / 12_000
    expected = sizes.gain(error2, noise**2)
    assert 0.9 < found / expected < 1.15
    assert not 0.9 < found / (1.5 * expected) < 1.15
    # A residual twice as large would move its logarithm by 0.7.
    assert abs(logs / 12_000) < 0.1


def test_moments_of_a_step_are_those_of_gaussian_samples(rng):
    """The trace solves its equation; X^T r has the mean square of 100 000 draws, standard error 0.4 %."""
    sizes, error2, noise2 = plan.Sizes(1000, 6, 5, 2), 0.05, 0.3
    gradient2, t = sizes.lengths2(error2, noise2)[0], sizes.rank * error2
    trace = gradient2 / (sizes.outside - t * gradient2)
    assert noise2 * trace + t * gradient2 == pytest.approx(sizes.freedom)
    rows = rng.standard_normal((100_000, sizes.freedom, sizes.outside))
    residuals = math.sqrt(sizes.dist2(error2)) * rows[..., 0] + math.sqrt(noise2) * rng.standard_normal(rows.shape[:2])
    measured = np.square(np.einsum("nmd,nm->nd", rows, residuals)).sum(axis=1).mean()
    head2 = 2 * (1 - 3 * error2 + sizes.residual(error2, noise2) / 3)
    assert sizes.step_noise2(2 / 4000, error2, noise2) == pytest.approx(measured * head2, rel=0.02)


def test_what_is_taken_of_heads():
    """Their scale, of the rank that is assumed; and quantiles, by which their squared length is 1 on average."""
    built = UnitStepsOptions(scale_guess=3.0, assumed_rank=5).build(Known(10, 4, 8, 2, head_condition=3.0))
    assert built.head_scale == pytest.approx(3 * math.sqrt(2))
    assert gammaincinv(1.0, QUANTILES).mean() == pytest.approx(1, rel=0.01)


problems = st.builds(
    lambda users, samples, rank, extra: plan.Sizes(users, samples, rank + extra, rank),
    st.integers(1, 10**7),
    st.integers(1, 200),
    st.integers(1, 8),
    st.integers(1, 300),
)
mus = st.one_of(st.floats(1e-3, 1e3), st.just(math.inf))
noises = st.floats(1e-6, 1e2)


@given(problems, mus, noises)
def test_the_schedule(sizes, mu, noise2):
    """Shares add up to one; errors fall, from at most that of a subspace at random; no round is without a share."""
    found = plan.schedule(sizes, mu, noise2)
    assert found.start + found.rounds.sum() == pytest.approx(1, rel=1e-12)
    assert (found.rounds > 0).all() and found.start == 0.1
    assert len(found.rounds) in plan.ROUNDS and len(found.path) == len(found.rounds) + 1
    assert found.path[0] <= 1 / sizes.dim
    assert (np.diff(found.path) <= 0).all() and found.path[-1] >= plan.SMALLEST
    assert found.path == sizes.path(found.path[0], noise2, np.sqrt(plan.STEPS * found.rounds) * mu)
    if mu == math.inf:
        assert found.path[-1] <= 1e-18


@pytest.mark.parametrize("cosine", [0.05, 0.4, 0.9])
def test_a_weak_subspace_turns_and_does_not_contract(cosine):
    """e^2 after a step with noise, as measured; what a step eta takes off (1 - eta)^2 of the error is rejected."""
    rng, sizes, eta, sd = np.random.default_rng(5), plan.Sizes(1000, 8, 4000, 2), 0.3, 0.5 / math.sqrt(4000)
    truth = random_subspace(4000, 2, rng)
    basis = planted_subspace(truth, math.sqrt(1 - cosine**2), rng)
    error = truth - basis @ (basis.T @ truth)
    turned = orthonormalise(basis + eta * error @ (truth.T @ basis) + sd * rng.standard_normal((4000, 2)))
    found = dist_frobenius(turned, truth) ** 2 / sizes.entries
    before = (error**2).sum() / sizes.entries
    margin = 1.001 + (1 - plan.CONTRACTION) * eta * cosine**2 * before / found
    assert 0.97 < sizes.turned(before, eta, sd**2) / found < margin
    contracted = (1 - eta) ** 2 * before + sd**2
    assert not 0.97 < contracted / found < margin


def test_a_large_block_keeps_the_sensitivity_of_the_covariance(rng):
    """Among 60,000 users of a block, as among none: what float32 sums would add to sqrt(2) is seen here."""
    features = rng.standard_normal((2, 60_000, 2), dtype=np.float32)
    labels = np.zeros((2, 60_000), dtype=np.float32)
    moved = []
    for axis in range(2):
        features[:, 0] = 3 * np.eye(2, dtype=np.float32)[axis]
        moved.append(clipped_moments(Block(0, features.copy(), labels), plain(2)))
    assert math.sqrt(2) * 0.999 < np.linalg.norm(moved[0] - moved[1]) <= math.sqrt(2)


def test_a_scale_that_noise_decides_stays_within_its_clip():
    """With a hundred users and a tiny epsilon the released log scale is noise; h is a number all the same."""
    problem = Problem(100, 8, 20, 2, label_noise_sd=0.05)
    for seed in range(10):
        outcome = fit(UnitStepsOptions(), make_task(Users(problem), Budget(0.01, 1e-6, "exact"), noise_seed=seed))
        assert 1e-3 < outcome.log["learned_scale"] < 1e3


@pytest.mark.parametrize("signal", [0.2, 0.5, 0.9])
def test_the_scale_of_heads_is_right_whatever_the_share_of_signal(signal):
    """Midway between heads of one length and Gaussian ones, which a correction as if labels had no noise misses by
    more than 4 %."""
    scales = []
    for law in ("sphere", "gauss"):
        problem = Problem(20_000, 8, 12, 2, math.sqrt(2 * (1 - signal) / signal), law)
        users = Users(problem)
        scales.append(learned_scale(users, handle(users, 1e-3), 2, 1.0, problem.label_noise_sd))
    assert math.sqrt(scales[0] * scales[1]) == pytest.approx(1, rel=0.03)


# What is learned on the way

SIZE = plan.Sizes(5000, 8, 20, 2)


def log_means(known: FilterState) -> tuple[float, float]:
    """Means of log e^2 and log s^2."""
    return known.log_moments(known.errors2)[0], known.log_moments(known.noises2)[0]


def measured(known: FilterState, error2: float, noise2: float, sd: float) -> FilterState:
    """What is known after the residual of this e^2 and s^2, and a step that tells nothing."""
    return known.measured(math.log(SIZE.residual(error2, noise2) / SIZE.residual(known.error2, known.noise2)), sd, 1, 1)


def test_a_measurement_counts_by_its_precision():
    """Of the noise alone: the mean of guess and measurement with their precisions, where the guess may be right."""
    known = FilterState.guessed(SIZE, 1e-12, 1.0)
    for sd in (0.1, 0.5, 1e9):
        found = log_means(measured(known, 1e-12, math.exp(0.4), sd))[1]
        assert found == pytest.approx(0.4 / (1 + (sd**2 + MODEL_SD**2) / 0.5**2), abs=0.08)


def test_a_start_that_failed_is_found_and_one_that_did_better_is_not_made_of_noise():
    """A first residual far above expectation is laid to the error; one as far below moves it by no more than the
    guess lets: the check has one side."""
    known = FilterState.guessed(SIZE, 1e-4, 1e-6)
    up, down = (log_means(measured(known, 1e-4 * size, 1e-6 * size, 0.5))[0] for size in (math.exp(4), math.exp(-4)))
    assert 3 < up - math.log(1e-4) < 5 and -4 < down - math.log(1e-4) < -2


def test_an_energy_counts_by_its_chi_square():
    """Its logarithm has the variance of that of a chi-square of as many degrees of freedom, and that of the model."""
    known = FilterState.guessed(SIZE, 1e-4, 1e-6)
    found = known.measured(0.0, 1e9, 1e-5, 1e-12)
    gain = SIZE.gain(known.errors2, known.noises2)
    moved = np.log(1e-5 / (gain**2 * known.errors2 * SIZE.cosine2(known.errors2) + 1e-12))
    near = abs(moved) < 2
    fallen = -2 * np.log(found.weights / known.weights)
    slope = np.polyfit(moved[near] ** 2, fallen[near], 1)[0]
    assert 1 / slope == pytest.approx(polygamma(1, SIZE.entries / 2) + ENERGY_SD**2, rel=0.05)


def test_the_energy_of_a_step_tells_of_the_error():
    """Steps that are noise alone lower e^2 where an error of that size would be seen, ones with its energy do not."""
    known = FilterState.guessed(SIZE, 1e-3, 0.5)
    signal = SIZE.gain(1e-3, 0.5) ** 2 * 1e-3
    still, moved = (log_means(known.measured(0, 1e9, signal * (part + 1 / 3), signal / 3))[0] for part in (0, 1))
    assert still < math.log(1e-3) - 0.5 < math.log(1e-3) - 0.1 < moved


@given(
    st.floats(-8, -1.5),
    st.floats(-8, 1),
    st.lists(st.tuples(st.floats(-9, 9), st.floats(0, 3), st.floats(-300, 2), st.floats(-40, 2)), max_size=40),
)
def test_what_is_known_stays_a_law(error, noise, rounds):
    """Probabilities, whatever is released; e^2 and s^2 are positive and finite, and no subspace is worse than one that
    has nothing of the true one."""
    known = FilterState.guessed(SIZE, 10**error, 10**noise)
    for ratio, sd, energy, variance in rounds:
        known = known.measured(ratio, sd, 10**energy, 10**variance)
        length = known.step_length(10**variance)
        known = known.stepped(length, 10**variance)
        assert 0 < length < math.inf and (known.weights >= 0).all()
        assert known.weights.sum() == pytest.approx(1)
        assert 0 < known.error2 <= (1 + 1e-9) / SIZE.outside and 0 < known.noise2 < math.inf


@pytest.mark.parametrize("factor", [3.0, 1 / 3])
def test_a_misjudged_noise_level_is_found(factor):
    """A noise off by 3 is known within 5 % after 40 exact measurements on the way down; without any it stays off."""
    true_noise2, error2 = 0.04, 0.01
    length = 0.5 / SIZE.gain(error2, true_noise2)
    known = [FilterState.guessed(SIZE, error2, true_noise2 * factor**2) for _ in range(2)]
    for _ in range(40):
        known = [one.stepped(length, 0.0) for one in (measured(known[0], error2, true_noise2, 1e-3), known[1])]
        error2 *= (1 - 0.5) ** 2 + 0.1 * 0.5
    assert math.sqrt(known[0].noise2 / true_noise2) == pytest.approx(1, rel=0.05)
    assert math.sqrt(known[1].noise2 / true_noise2) == pytest.approx(factor, rel=0.1)


@pytest.mark.parametrize("eta", [0.0, 0.3, 1.0])
def test_a_step_lowers_what_is_known_of_the_error(eta):
    """e^2 to (1 - eta)^2 of it, a margin and the noise of the step; s^2 stays."""
    known = measured(FilterState.guessed(SIZE, 1e-4, 0.3), 1e-4, 0.3, 1e-3)
    mean, noise = log_means(known)
    gain = SIZE.gain(math.exp(mean), math.exp(noise))
    variance = 0.25 * gain**2 * math.exp(mean)
    after = log_means(known.stepped(eta / gain, variance))
    assert after[0] - mean == pytest.approx(math.log((1 - eta) ** 2 + 0.1 * eta + 0.25 * eta**2), abs=0.35)
    assert after[1] == pytest.approx(noise, abs=0.02)


# Second moments of the heads


def learned_roots(heads: np.ndarray, basis: np.ndarray, mu2: float, rounds: int = 20) -> tuple[HeadMoments, np.ndarray]:
    """H^1/2 after some rounds that are given the exact sums of these heads (n, k)."""
    count, rank = heads.shape
    found, root = HeadMoments(count, rank), np.eye(rank)
    for _ in range(rounds):
        turned = unit(np.linalg.solve(root, heads.T).T)
        found.add(basis @ root, turned.T @ turned, mu2)
        root = found.within(basis, 0.0)[0]
    return found, root


@pytest.mark.parametrize("rank", [2, 3])
def test_heads_of_several_scales_are_found(rank):
    """Condition 3, 20 000 users, little noise: scales within 10 % of the true ones; those of one round are not."""
    problem = Problem(20_000, 1, 6, rank, head_law="aniso", head_condition=3.0)
    heads = np.concatenate([block.heads for block in Users(problem).blocks()]).astype(float)
    basis = random_subspace(6, rank, np.random.default_rng(2))
    scales = problem.known.head_scales / np.sqrt((problem.known.head_scales**2).mean())
    for rounds, same in ((1, False), (20, True)):
        _, root = learned_roots(heads, basis, 1.0, rounds)
        assert np.allclose(root @ root, np.diag(scales**2), rtol=0.1, atol=0.05) == same
        assert np.trace(root @ root) == pytest.approx(rank, rel=1e-12)


def test_releases_count_by_their_precision(rng):
    """The average of two rounds with mu^2 of 1 and 3 is that of one round at 4 with the weighted sum."""
    basis = random_subspace(5, 2, rng)
    first, second = np.diag([900.0, 100.0]), np.diag([300.0, 700.0])
    two, one = HeadMoments(1000, 2), HeadMoments(1000, 2)
    two.add(basis, first, 100.0)
    two.add(basis, second, 300.0)
    one.add(basis, (first + 3 * second) / 4, 400.0)
    np.testing.assert_allclose(two.within(basis, 0.0), one.within(basis, 0.0), rtol=0, atol=1e-12)
    assert abs(one.within(basis, 0.0)[0][0, 0] - 1) > 0.03


def test_moments_say_nothing_of_a_direction_that_is_missing(rng):
    """H is I while as much is missing as a whole direction has, and half of the way to it at half as much."""
    basis, moments = random_subspace(5, 2, rng), HeadMoments(1000, 2)
    moments.add(basis, 1000 * np.diag([0.9, 0.1]), 1e6)
    whole, half, nothing = (moments.within(basis, missing)[0] ** 2 for missing in (1.5, 0.5, 0.0))
    np.testing.assert_allclose(whole, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(half, (nothing + np.eye(2)) / 2, atol=1e-12)
    assert nothing[1, 1] < 0.21


def test_heads_of_one_scale_are_left_alone(rng):
    """Deviations within the noise, k (k + 1) / 2 times its variance, give I exactly; three times as large do not."""
    basis, users, mu2 = random_subspace(5, 2, rng), 1000, 0.01
    sd = math.sqrt(2 / mu2)
    for size, same in ((0.99, True), (3.0, False)):
        off = size * sd * math.sqrt(3 / 2) * np.array([[1.0, 0.0], [0.0, -1.0]])
        moments = HeadMoments(users, 2)
        moments.add(basis, users / 2 * np.eye(2) + off, mu2)
        root, inverse = moments.within(basis, 0.0)
        assert (np.array_equal(root, np.eye(2)) and np.array_equal(inverse, np.eye(2))) == same


@given(st.integers(1, 4), st.integers(0, 999), st.floats(1e-6, 1e6), st.integers(1, 10**6))
def test_roots_are_inverse_to_each_other(rank, seed, mu2, users):
    """Symmetric, positive, H of trace k, whatever noise is in the sums; no eigenvalue of H that the noise could have
    made stays below it."""
    rng = np.random.default_rng(seed)
    basis, moments = random_subspace(rank + 2, rank, rng), HeadMoments(users, rank)
    for _ in range(3):
        noise = rng.standard_normal((rank, rank)) * math.sqrt(2 / mu2)
        moments.add(basis, users / rank * np.eye(rank) + (noise + noise.T) / 2, mu2)
    root, inverse = moments.within(basis, 0.0)
    np.testing.assert_allclose(root @ inverse, np.eye(rank), rtol=0, atol=1e-9)
    np.testing.assert_allclose(root, root.T, rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(root).min() > 0
    assert np.trace(root @ root) == pytest.approx(rank, rel=1e-9)


# From the start to the end

SMALL = Problem(5000, 8, 20, 2, label_noise_sd=0.05, head_law="sphere")
FLOOR = 0.05**2 * 2 / (8 - 2 - 1)
EXACT = Budget(1.0, 1e-6, "exact")


@cache
def small_users() -> Users:
    return Users(SMALL)


@pytest.mark.parametrize(
    ("guesses", "allowed"),
    [
        ({}, 1.2),
        ({"scale_guess": 3.0}, 1.5),
        ({"scale_guess": 1 / 3}, 1.5),
        ({"noise_guess": 3.0}, 1.5),
        ({"noise_guess": 1 / 3}, 1.5),
        ({"scale_guess": 3.0, "noise_guess": 1 / 3}, 1.5),
        ({"scale_guess": 1 / 3, "noise_guess": 3.0}, 1.5),
    ],
)
def test_the_risk_comes_near_the_floor_at_epsilon_one(guesses, allowed):
    """Within 1.2 of sigma^2 k / (m - k - 1), and 1.5 with guesses off by 3; noise level and scale are learned."""
    outcome = fit(UnitStepsOptions(**guesses), make_task(small_users(), EXACT))
    assert outcome.excess_risk < allowed * FLOOR
    # Heads of one length are taken for ones midway to Gaussian; the noise moves the scale by 0.06.
    midway = math.exp(-log_chi(np.asarray(2)) / 4)
    assert outcome.log["learned_scale"] == pytest.approx(midway, rel=0.2)
    assert outcome.log["learned_noise"] == pytest.approx(0.05, rel=0.1)
    found = dist_frobenius(outcome.subspace, small_users().truth.basis)
    assert 1 / 3 < outcome.log["expected_distF"] / found < 3
