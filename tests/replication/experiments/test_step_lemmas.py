"""One step step by step (eq. 27 of jain2021), against loops in float64."""

import numpy as np
import pytest
import scipy.linalg
from conftest import fixed_noise, gather, make_task
from pieces import shortened, vec

from privrep.methods.running.runner import fit
from privrep.users.heads import FittedHeads
from privrep.users.simulated import Problem, Users
from privrep.users.splits import split_samples
from privrep.users.subspace import dist2, orthonormalise, planted_subspace, random_subspace
from replication.experiments.step_lemmas import head_errors, step_lemmas

PROBLEM = Problem(60, 24, 7, 3, label_noise_sd=0.3)
QUIET = Problem(60, 24, 7, 3)


def algorithm(**options) -> step_lemmas:
    return step_lemmas(**{"split": "text", "clip_feature": 2.0, "clip_label": 2.0, "start_sine": 0.4} | options)


class ByHand:
    """All parts of eq. 27 by their definitions, with the noise that the stream of the task gives."""

    def __init__(self, users, task, sine, multiplier, eta, zeta, preset="text"):
        features, labels, true = gather(users)
        samples, n, d = features.shape
        k = true.shape[1]
        split = split_samples(preset, samples)
        truth = users.truth.basis
        start = planted_subspace(truth, sine, task.stream("init"))
        overlap = truth.T @ start
        self.second, self.first, moment = np.zeros((d * k, d * k)), np.zeros(d * k), np.zeros((k, k))
        cross, errors, heads, used = np.zeros((k, k)), [], [], range(split.subspace.start, split.subspace.stop)
        for j in range(n):
            v = np.linalg.lstsq(features[split.heads, j] @ start, labels[split.heads, j], rcond=None)[0]
            error = np.linalg.inv(overlap) @ true[j] - v
            for i in used:
                w, y = shortened(vec(np.outer(features[i, j], v)), eta), np.clip(labels[i, j], -zeta, zeta)
                self.second += np.outer(w, w)
                self.first += y * w
            moment += np.outer(v, v)
            cross += np.outer(error, v)
            errors.append(np.linalg.norm(error))
            heads.append(np.linalg.norm(v))
        noise, q = task.stream("noise"), len(used)
        upper = np.triu(noise.normal(0, 2 * q * eta**2 * multiplier, (d * k, d * k)))
        gram_noise = upper + np.triu(upper, 1).T
        label_noise = noise.normal(0, 2 * q * eta * zeta * multiplier, d * k)
        noisy = self.second + gram_noise
        self.target = vec(truth @ overlap)
        self.iterate = np.linalg.solve(noisy, self.first + label_noise)
        self.along = vec(truth @ overlap @ cross @ np.linalg.inv(moment))
        self.private = np.linalg.solve(noisy, label_noise - gram_noise @ self.target)
        self.rest = np.linalg.solve(noisy, self.first - self.second @ self.target) - self.along
        self.subspace = self.iterate.reshape(k, d).T
        root = scipy.linalg.inv(scipy.linalg.sqrtm(q * np.kron(moment, np.eye(d))))
        sampled, total = (root @ matrix @ root - np.eye(d * k) for matrix in (self.second, noisy))
        self.log = {
            "head_error_rms": np.sqrt(np.mean(np.square(errors))),
            "head_error_max": max(errors),
            "head_norm_max": max(heads),
            "gram_deviation_2": np.linalg.norm(sampled, 2),
            "gram_deviation_F": np.linalg.norm(sampled),
            "noise_deviation_2": np.linalg.norm(root @ gram_noise @ root, 2),
            "total_deviation_2": np.linalg.norm(total, 2),
            "along_F": np.linalg.norm(self.along),
            "residual_F": np.linalg.norm(self.rest),
            "private_F": np.linalg.norm(self.private),
            "noise_multiplier": multiplier,
            "eta": eta,
            "zeta": zeta,
        }


@pytest.mark.parametrize("problem", [PROBLEM, QUIET, Problem(60, 24, 7, 1, label_noise_sd=1.0)], ids=str)
@pytest.mark.parametrize("eta", [2.5, 60.0])
@pytest.mark.parametrize("multiplier", [0.0, 0.02])
def test_the_parts_of_the_iterate(problem, eta, multiplier):
    """U* Q + M + F + F~ is the iterate; each norm in the log is that of the part as the docstring defines it."""
    users = Users(problem)
    task = make_task(users, fixed_noise(multiplier))
    chosen = algorithm(clip_scale="absolute", clip_feature=eta, clip_label=0.5 * eta)
    outcome = fit(chosen, task)
    parts = ByHand(users, task, 0.4, multiplier, eta, 0.5 * eta)
    np.testing.assert_allclose(parts.target + parts.along + parts.rest + parts.private, parts.iterate, atol=1e-9)
    assert set(outcome.log) == set(parts.log)
    assert outcome.log == pytest.approx(parts.log, rel=2e-3, abs=1e-12)
    assert dist2(outcome.subspace, orthonormalise(parts.subspace)) < 1e-3
    assert (outcome.log["private_F"] == 0) == (multiplier == 0)


@pytest.mark.parametrize("problem", [PROBLEM, QUIET], ids=["label noise", "no label noise"])
@pytest.mark.parametrize("sine", [0.0, 0.3])
def test_head_errors(problem, sine):
    """v_j - Q^{-1} v_j* by loops; zero from the truth without label noise, and only then."""
    users = Users(problem)
    features, labels, true = gather(users)
    # A rotated start, so that Q is no multiple of the identity.
    turn = random_subspace(3, 3, np.random.default_rng(2))
    start = planted_subspace(users.truth.basis, sine, np.random.default_rng(1)) @ turn
    overlap = users.truth.basis.T @ start
    fitted = [np.linalg.lstsq(features[:6, j] @ start, labels[:6, j], rcond=None)[0] for j in range(60)]
    errors = np.array(fitted) - true @ np.linalg.inv(overlap).T
    second, cross, heads = head_errors(users, FittedHeads(start, slice(0, 6)), overlap)
    np.testing.assert_allclose(second, np.transpose(fitted) @ fitted, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(cross, errors.T @ fitted, rtol=1e-3, atol=2e-3)
    norms = np.linalg.norm(errors, axis=1)
    assert heads["head_error_rms"] == pytest.approx(np.sqrt(np.mean(norms**2)), rel=1e-3, abs=1e-4)
    assert heads["head_error_max"] == pytest.approx(norms.max(), rel=1e-3, abs=1e-4)
    assert heads["head_norm_max"] == pytest.approx(np.linalg.norm(fitted, axis=1).max(), rel=1e-3)
    assert (heads["head_error_max"] < 1e-3) == (sine == 0 and problem is QUIET)
