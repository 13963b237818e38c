"""Norms of updates against slow loops and their laws; the study's rule for clipping bounds; its quantities."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import gather, make_task
from made_up_cells import analyse, made_up

from privrep.methods import pmtl
from privrep.methods.centaur import representation_gradients
from privrep.methods.dp_fedavg import model_steps, start_model
from privrep.methods.general_centaur import representation_steps
from privrep.methods.running.columns import own_columns
from privrep.methods.running.runner import fit
from privrep.users.blocks import Block
from privrep.users.passes import rows
from privrep.users.rng import stream
from privrep.users.simulated import Problem, Users
from replication.experiments import update_norms
from replication.run.config import read_config, read_study
from replication.run.grids import expand
from replication.run.registry import options_class
from replication.studies.heterogeneity.analysis import CENTAUR, TUNED, bounds_tried, two_models_drift

FACTORS = (0.25, 1.0, 4.0)
"""Bounds that were run, in units of the rule's."""
RULE_TOLERANCE = 0.03
"""Bounds are written with two digits, and the median is that of a finite number of users."""
MESSAGES = ("general_centaur", "dp_fedavg", "ppsgd", "pmtl", "centaur", "power_method")
"""Algorithms whose users' first messages are measured."""
PUBLIC_SEED, PUBLIC_USERS, PUBLIC_STARTS = 999_999, 500, 20
"""Users and starts from which the rule takes its medians."""


def first_messages(problem: Problem, samples: int, steps: int, step: float, penalty: float) -> dict[str, float]:
    """Return the clipping bounds of the rule: median norms of a user's first message, from random starts.

    Users and truth are drawn from the public law of the data for this; those of the study are not looked at.
    samples : of a mini-batch, for heads and for gradients; the power method takes all. penalty : lambda of PMTL.
    """
    users = Users(replace(problem, users=PUBLIC_USERS, seed=PUBLIC_SEED))
    rng = stream(0, "public", users.problem.axes)
    norms: dict[str, list[np.ndarray]] = {}

    def norm(*factors: np.ndarray) -> np.ndarray:
        return np.prod([np.linalg.norm(factor.reshape(len(factor), -1), axis=1) for factor in factors], axis=0)

    for _ in range(PUBLIC_STARTS):
        model = start_model(problem.known, rng)
        basis, order = model[:-1], rng.permutation(problem.samples)
        batches = [rng.permutation(problem.samples)[:samples] for _ in range(steps)]

        def of_block(block: Block, model=model, basis=basis, order=order, batches=batches) -> tuple[np.ndarray, ...]:
            nothing = np.zeros((block.users, problem.rank))
            weighted = block.features * block.labels[:, :, None]
            return (
                norm(*representation_steps(block, batches, basis, step)),
                norm(model_steps(block, batches, model, nothing, step, 0.0)[0]),
                norm(model_steps(block, batches, model, nothing, step, step)[0]),
                norm(pmtl.displacements(block, np.zeros(problem.dim), penalty)),
                norm(*representation_gradients(block, order[:samples], order[samples : 2 * samples], basis)),
                norm(np.einsum("mbd,mbk->bdk", weighted, weighted @ basis) / problem.samples),
            )

        for name, part in zip(MESSAGES, rows(users, of_block), strict=True):
            norms.setdefault(name, []).append(part)
    return {name: float(np.median(np.concatenate(parts))) for name, parts in norms.items()}


def scores(problem: Problem, sine: float, samples: int) -> dict[str, float]:
    algorithm = update_norms.update_norms(start_sine=sine, batch_samples=samples)
    algorithm.experiment(problem)
    return fit(algorithm, make_task(Users(problem))).log


def test_updates_against_a_loop(rng):
    """Each kind of update, user by user from its definition, at a distance and with unequal signs."""
    users = Users(Problem(15, 12, 6, 2, head_law="sphere", head_bias=0.6, label_noise_sd=0.1))
    found, basis = update_norms.updates(users, 0.3, 6, np.random.default_rng(3))
    features, labels, heads = gather(users)
    truth, again = users.truth.basis, np.random.default_rng(3)
    again.standard_normal(truth.shape)
    aside = again.standard_normal(6)
    centre = truth @ heads.mean(axis=0)
    model = centre + 0.3 * np.sqrt(2) * aside / np.linalg.norm(aside)
    assert np.linalg.norm(model - centre) == pytest.approx(0.3 * np.sqrt(2))
    for j in range(15):
        x, y, fresh, new = features[:6, j], labels[:6, j], features[6:, j], labels[6:, j]
        head = np.linalg.lstsq(x @ basis, y, rcond=None)[0]

        def slope(theta, fresh=fresh, new=new):
            return fresh.T @ (fresh @ theta - new) / 6

        shared = basis.T @ centre
        both = -np.vstack([np.outer(slope(basis @ shared), shared), basis.T @ slope(basis @ shared)])
        expectations = {"representation": np.outer(slope(basis @ head), head), "full": slope(model), "shared": both}
        for name, expected in expectations.items():
            np.testing.assert_allclose(found[name][j], expected.ravel(), rtol=1e-3, atol=1e-5)


def test_scores_are_quantiles_of_the_norms():
    """Median, 99 %, largest and root mean square; the drift is the mean of clipped rows over the bound."""
    users = Users(Problem(300, 12, 8, 2))
    algorithm = update_norms.update_norms(start_sine=0.2, batch_samples=6, drift_bound=0.5)
    task = make_task(users)
    told = fit(algorithm, task).log
    found, _ = update_norms.updates(users, 0.2, 6, task.stream("init"))
    norms = np.linalg.norm(found["full"], axis=1)
    expected = {"median": np.median(norms), "q99": np.quantile(norms, 0.99), "max": norms.max()}
    expected["rms"] = np.sqrt((norms**2).mean())
    assert {name: told[f"full_{name}"] for name in expected} == pytest.approx(expected)
    bound = 0.5 * np.median(norms)
    clipped = found["full"] * np.minimum(1, bound / norms)[:, None]
    assert told["full_drift"] == pytest.approx(np.linalg.norm(clipped.mean(axis=0)) / bound)
    assert not task.ledger.entries
    assert set(told) <= set(own_columns(options_class("update_norms")))


def test_drift_of_two_models():
    """Within 10 % of the law for k = 1, and none beyond the noise of 4000 users where heads are symmetric."""
    for bias in (0.0, 0.5, 0.75):
        told = scores(Problem(4000, 32, 24, 1, head_law="sphere", head_bias=bias), 0.0, 16)
        law = two_models_drift(bias, 24, 16)
        assert told["full_drift"] == pytest.approx(law, rel=0.1, abs=5 / 4000**0.5 * (bias == 0))
        assert told["heterogeneity"] == pytest.approx(1 - bias**2, abs=0.05)


STUDY = read_study(read_config(), "heterogeneity")


def options(series: str) -> dict:
    return STUDY.series[series].options


@pytest.mark.parametrize(("rank", "suffix"), [(2, ""), (1, "-common")])
def test_clipping_bounds_are_those_of_the_rule(rank, suffix):
    """The median norm of first messages under the public law; no method's bound is that of another."""
    names = [name for name in (*TUNED, "pmtl") if name + suffix in STUDY.series]
    problem = Problem(**STUDY.problem | {"rank": rank})
    steps = options(CENTAUR)
    rule = first_messages(problem, steps["batch_samples"], steps["local_steps"], steps["local_step"], penalty=1.0)
    for name in names:
        assert options(name + suffix)["clip"] == pytest.approx(rule[name], rel=RULE_TOLERANCE), name
    if not suffix:
        assert options("centaur")["init_clip"] == pytest.approx(rule["power_method"], rel=RULE_TOLERANCE)


def test_methods_differ_in_their_bounds_alone():
    """Rounds, batches and steps are the same for the methods with local steps, but in the longer run."""
    shared = ("rounds", "batch_samples", "local_steps", "local_step")
    settings = {
        tuple(entry.options[name] for name in shared)
        for name, entry in STUDY.series.items()
        if entry.algorithm in (CENTAUR, "dp_fedavg", "ppsgd") and name != "dp_fedavg-long"
    }
    assert len(settings) == 1


def test_other_bounds_are_the_stated_factors():
    """A quarter, once and four times the rule's, for both bounds of CENTAUR."""
    rows = pd.DataFrame([{"series": cell.series, **vars(cell.options)} for cell in expand(STUDY)])
    for method in TUNED:
        tried = bounds_tried(rows, method)
        assert [series for series, _ in tried] == [f"{method}-clips", method, f"{method}-clips"]
        np.testing.assert_allclose([clip / tried[1][1] for _, clip in tried], FACTORS)
    ends = [point["init_clip"] for point in STUDY.grid_of("centaur-clips")["together"]]
    np.testing.assert_allclose(np.divide(ends, options("centaur")["init_clip"]), (FACTORS[0], FACTORS[-1]))


def test_a_failed_fit_counts_as_lost():
    """The risk of a method with a failed fit is infinite."""
    cells = made_up("heterogeneity").copy()
    where = (cells["series"] == "ppsgd") & (cells["epsilon"] == 5) & (cells["seed"] == 0)
    assert where.sum() == 1
    cells.loc[where, "excess_risk"] = np.nan
    measures = {one.quantity: one.measured for one in analyse("heterogeneity", cells).quantities}
    assert measures["ppsgd over own data"] == measures["ppsgd over own data, worst run"] == np.inf
    assert measures[f"{CENTAUR} over ppsgd"] > 0
