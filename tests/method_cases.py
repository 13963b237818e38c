"""Options with which each method and experiment is run on a tiny problem, and what is known of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from conftest import fixed_noise, gather, make_task

from privrep.methods.running.registry import method_files as of_library
from privrep.methods.running.runner import is_private, open_release, prepared
from privrep.users.given_users import GivenUsers
from privrep.users.simulated import Problem, Users
from privrep.users.splits import count, split_samples
from replication.experiments.auditing.mechanisms import example_options
from replication.experiments.unit_steps_ablations import ABLATIONS
from replication.run.registry import load_options

PROBLEM = Problem(60, 16, 16, 2, label_noise_sd=0.1)
DELTA = 1e-6

Audit = Callable[[dict, dict[str, list[float]]], list[float] | None]
"""Options and sds drawn per role -> mu^2 of each release that touches one user, or None where nobody has counted."""


def absolute(options: dict) -> dict:
    """The options with the three thresholds in absolute terms: c sqrt(dk) and c sqrt(k) + sigma_F, here with c = 1."""
    units = {"absolute": (1.0, 1.0), "data": (32**0.5, 2**0.5 + 0.1)}[options.get("clip_scale", "absolute")]
    names = {"clip_feature": units[0], "clip_label": units[1], "init_label_clip": units[1]}
    return options | {name: options[name] * unit for name, unit in names.items() if name in options}


def start_cost(options: dict, samples: slice, label_clip: float, sds: list[float]) -> list[float]:
    """Algorithm 3, (sensitivity / sd)^2: 2 P zeta^2 of P disjoint pairs; 2 zeta^2 sqrt(P) of all P, clipped by user;
    sqrt(2) of squares of norm one."""
    (sd,), q = sds, count(samples)
    moved = {
        "disjoint": 2 * (q // 2) * label_clip**2,
        "all": 2 * math.comb(q, 2) ** 0.5 * label_clip**2,
        "models": 2**0.5,
    }
    return [(moved[options.get("init_pairs", "disjoint")] / sd) ** 2]


def sample_moments_cost(q: int, eta: float, zeta: float, sds: list[float]) -> float:
    """Algorithm 2: the largest of ||dA||^2/sA^2 + ||db||^2/sb^2 over s = |<w, w'>| in [0, 1], on a grid."""
    s = np.linspace(0, 1, 10_001)
    second = (q * eta**2) ** 2 * (2 - 2 * s**2) / sds[0] ** 2
    first = (q * eta * zeta) ** 2 * (2 + 2 * s) / sds[1] ** 2
    return float((second + first).max())


def moments_audit(options, sds, per_user: int) -> list[float]:
    """A and b are drawn in turn; a user is in one batch per epoch, and all batches have the same noise."""
    noise = sds["noise"]
    steps = [noise[i : i + 2] for i in range(0, len(noise), 2)]
    batches = options.get("batches", 1)
    assert len(steps) == per_user * batches
    costs = []
    for epoch in range(per_user):
        batch_costs = []
        for step in steps[epoch * batches : (epoch + 1) * batches]:
            if options.get("clip_unit") == "user":
                second, first = options["clip_feature"], options["clip_label"]
                batch_costs.append(2 * (second / step[0]) ** 2 + (2 * first / step[1]) ** 2)
            else:
                split = options.get("split")
                q = count(split_samples(split, PROBLEM.samples).subspace) if split else PROBLEM.samples
                batch_costs.append(sample_moments_cost(q, options["clip_feature"], options["clip_label"], step))
        costs.append(max(batch_costs))
    return costs


def altmin_audit(options, sds) -> list[float]:
    options = absolute({"init_label_clip": 2.0} | options)
    costs = moments_audit(options, sds, options.get("epochs", 1))
    if options["init"] == "spectral":
        split = split_samples(options["split"], PROBLEM.samples)
        costs += start_cost(options, split.init, options["init_label_clip"], sds["init_noise"])
    return costs


def spectral_audit(options, sds) -> list[float]:
    options = absolute({"split": "all-samples-reused"} | options)
    split = split_samples(options["split"], PROBLEM.samples)
    return start_cost(options, split.init, options["init_label_clip"], sds["init_noise"])


def step_lemmas_audit(options, sds) -> list[float]:
    return moments_audit(absolute({"clip_scale": "data"} | options), sds, 1)


def gradient_audit(options, sds) -> list[float]:
    assert len(sds["noise"]) == options.get("epochs", 1)
    costs = [(2 * options["clip_feature"] / sd) ** 2 for sd in sds["noise"]]
    if options.get("init") == "spectral":
        costs += start_cost(options, split_samples(options["split"], PROBLEM.samples).init, 2.0, sds["init_noise"])
    return costs


def power_method_audit(options, sds, role="noise") -> list[float]:
    """Each run and iteration: a user's product is at most zeta_0 = c sqrt(d) k^1.5, or c."""
    unit = 1.0 if options.get("clip_scale") == "absolute" else 16**0.5 * 2**1.5
    assert len(sds[role]) == options.get("starts", 1) * options["iterations"]
    return [(2 * options["init_clip"] * unit / sd) ** 2 for sd in sds[role]]


def centaur_audit(options, sds) -> list[float]:
    """A round's clip lies between that of the first and that of the last, in equal ratios. A start takes its share;
    where it is Algorithm 3, labels are clipped at zeta = c (sqrt(k) + sigma_F), or c. Lemmas on one round are from a
    planted start."""
    options = {"rounds": 1, "init": "planted"} | options
    unit, label_unit = (1.0, 1.0) if options.get("clip_scale") == "absolute" else (16**0.5 * 2**1.5, 2**0.5 + 0.1)
    clips = np.geomspace(options["clip"], options.get("last_clip", options["clip"]), options["rounds"])
    costs = [(2 * clip * unit / sd) ** 2 for clip, sd in zip(clips, sds["noise"], strict=True)]
    if options["init"] in ("power_method", "spectral"):
        if options["init"] == "spectral":
            label_clip = options.get("init_label_clip", 0.5) * label_unit
            start = start_cost(options, slice(0, PROBLEM.samples), label_clip, sds["init_noise"])
        else:
            start = power_method_audit({"init_clip": 1.0} | options, sds, "init_noise")
        assert sum(start) == pytest.approx(options.get("init_share", 0.5) * (sum(start) + sum(costs)), rel=1e-9)
        costs += start
    return costs


def federated_audit(options, sds) -> list[float]:
    """Each round: a user's update is at most zeta, in absolute terms or in units of sqrt(d) k^1.5."""
    unit = 16**0.5 * 2**1.5 if options.get("clip_scale") == "practical" else 1.0
    assert len(sds["noise"]) == options["rounds"]
    return [(2 * options["clip"] * unit / sd) ** 2 for sd in sds["noise"]]


def whitening_cost(sds: list[float]) -> list[float]:
    """A log size of width 9.2, log scales of norm 2 sqrt(d), and up to three semidefinite covariances of trace one."""
    return [(most / sd) ** 2 for most, sd in zip([9.2, 4 * PROBLEM.dim**0.5, *[2**0.5] * 3], sds, strict=False)]


def private_fedrep_audit(options, sds) -> list[float]:
    options = {"rounds": 5, "clip": 0.5, "init": "spectral"} | options
    first, rounds = np.split(sds["noise"], [-options["rounds"]])
    return whitening_cost(first) + centaur_audit(options, sds | {"noise": rounds})


def unit_steps_audit(options, sds) -> list[float]:
    """Whitening, with three covariances where they are released; a log scale of width 9.2; then a start and second
    moments of semidefinite units, log residuals of width 18.4 at first and then 4, and steps of norm one."""
    noise, starts = sds["noise"], [] if options.get("without") == "start" else sds["init_noise"]
    whitened = 5 if len(noise) > 5 and len(set(noise[2:5])) == 1 else 2
    residuals, heads, steps = (noise[whitened + i :: 3] for i in (1, 2, 3))
    assert len(steps) == len(heads) == len(residuals)
    costs = [*whitening_cost(noise[:whitened]), (9.2 / noise[whitened]) ** 2, (18.4 / residuals[0]) ** 2]
    costs += [2 / sd**2 for sd in [*starts, *heads]] + [(4 / sd) ** 2 for sd in residuals[1:]]
    return costs + [(2 / sd) ** 2 for sd in steps]


def full_prior_audit(options, sds) -> list[float]:
    """Log scales of width 9.2, and products of halves of norm one."""
    scale, products = sds["noise"]
    return [(9.2 / scale) ** 2, (2 / products) ** 2]


def oracle_step_audit(options, sds) -> list[float]:
    (step,) = sds["noise"]
    return [(2 / step) ** 2]


def unit_steps_plain_audit(options, sds) -> list[float]:
    """Rounds on disjoint users: the dearest counts."""
    assert len(sds["noise"]) == options["rounds"]
    return [max((2 / sd) ** 2 for sd in sds["noise"])]


def single_model_audit(options, sds) -> list[float]:
    return moments_audit(options, sds, 1) if options["method"] == "moments" else gradient_audit(options, sds)


@dataclass(frozen=True)
class Case:
    """Options to run with. `audit` None: the algorithm takes no budget; `releases` says whether it releases anything.

    `reads_truth`: an instrument of analysis, whose released subspace depends on the truth or on true heads by intent.
    `scored` False: a step that personalises nothing and has no risk. `paper_holds` False: the printed privacy statement
    falls short (E10, E13), so that the noise which it prescribes costs more than it says. `printed` False: no privacy
    statement of the papers covers it. `pure`: an exponential mechanism, whose privacy is audited in
    tests/replication/experiments/test_exponential_law.py. `rank`: dimension of the released subspace.
    """

    name: str
    options: dict = field(default_factory=dict)
    audit: Audit | None = None
    releases: bool = True
    reads_truth: bool = False
    scored: bool = True
    paper_holds: bool = True
    printed: bool = True
    pure: bool = False
    rank: int = PROBLEM.rank

    @property
    def budgeted(self) -> bool:
        return self.audit is not None or self.pure

    def __str__(self):
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in self.options.items())})"


ABOUT = {
    **{key: {"audit": altmin_audit} for key in ("altmin", "altmin_ablations")},
    "spectral_init": {"audit": spectral_audit, "scored": False},
    "step_lemmas": {"audit": step_lemmas_audit, "reads_truth": True, "scored": False},
    "gradient_descent": {"audit": gradient_audit},
    "power_method": {"audit": power_method_audit, "scored": False, "paper_holds": False},
    "centaur": {"audit": centaur_audit, "paper_holds": False},
    "private_fedrep": {"audit": private_fedrep_audit, "printed": False},
    **{key: {"audit": unit_steps_audit, "printed": False} for key in ("unit_steps", "unit_steps_ablations")},
    "full_prior": {"audit": full_prior_audit, "printed": False},
    "oracle_step": {"audit": oracle_step_audit, "reads_truth": True, "printed": False},
    "unit_steps_plain": {"audit": unit_steps_plain_audit, "reads_truth": True, "scored": False, "printed": False},
    **{
        key: {"audit": federated_audit, "paper_holds": False}
        for key in ("general_centaur", "dp_fedavg", "ppsgd", "pmtl")
    },
    "update_norms": {"releases": False, "reads_truth": True, "scored": False},
    "client_lemmas": {"audit": centaur_audit, "reads_truth": True, "scored": False, "paper_holds": False},
    "single_model": {"audit": single_model_audit},
    "nonprivate_altmin": {},
    **{key: {"pure": True} for key in ("exponential", "exponential_chain", "exponential_staged")},
    **{key: {"releases": False} for key in ("own_data", "reference_model")},
}
"""What holds of an algorithm with any options, but that some options read the truth: see `reads_truth`."""
CLIPS = {"clip_feature": 2.0, "clip_label": 1.5}
SCALED = {"clip_feature": 0.9, "clip_label": 1.2}
CENTAUR = {"rounds": 3, "clip": 0.5, "batch_samples": 4}
FEDERATED = {"rounds": 3, "clip": 0.5, "batch_samples": 6}
RUNS = {"init": "power_method", "starts": 2, "iterations": 2}
OPTIONS = {
    "altmin": [
        {"init": "random", "split": "text", **CLIPS},
        {"init": "spectral", "split": "text", "batches": 3, **CLIPS},
        {"init": "spectral", "split": "proof-halves", "epochs": 2, "batches": 2, **CLIPS},
        {"init": "random", "split": "all-samples-reused", "epochs": 3, **CLIPS},
        {"init": "spectral", "split": "halves-then-all", "clip_unit": "user", "init_pairs": "all", **CLIPS},
        {"init": "random", "split": "text", "fallback": "ridge", **CLIPS},
        {"init": "spectral", "split": "text", "fallback": "eigclip", "epochs": 2, **CLIPS},
        {"init": "spectral", "split": "text", "batches": 2, "clip_scale": "data", "init_label_clip": 0.7, **SCALED},
        {"init": "planted", "start_sine": 0.3, "split": "text", "batches": 2, "fallback": "ridge", **CLIPS},
    ],
    "altmin_ablations": [
        {"init": "random", "split": "text", "symmetry": "averaged", "epochs": 2, **CLIPS},
        {"init": "random", "split": "text", "heads": "true", **CLIPS},
        {"init": "spectral", "split": "text", "heads": "true", "clip_scale": "data", "init_label_clip": 0.7, **SCALED},
    ],
    "spectral_init": [{"init_label_clip": 1.5}, {"init_label_clip": 0.7, "clip_scale": "data", "init_pairs": "all"}],
    "step_lemmas": [
        {"split": "text", **SCALED},
        {"split": "halves-then-all", "clip_scale": "absolute", "start_sine": 0.3, **CLIPS},
    ],
    "gradient_descent": [
        {"init": "random", "split": "text", "clip_feature": 0.5, "step": 1.0},
        {"init": "spectral", "split": "proof-halves", "init_pairs": "models", "clip_feature": 0.5, "step": 1.0},
    ],
    "power_method": [
        {"iterations": 3, "init_clip": 0.7, "starts": 2},
        {"iterations": 4, "init_clip": 5.0, "init_samples": 4, "clip_scale": "absolute", "sample_use": "fresh"},
        {"iterations": 2, "init_clip": 0.7, "starts": 2, "init": "planted"},
    ],
    "centaur": [
        CENTAUR | {"init": "planted"},
        CENTAUR | {"init": "random", "clip_scale": "absolute", "step": 0.1},
        CENTAUR | {"init": "random", "participation": 0.7, "divide_by": "realised"},
        CENTAUR | RUNS | {"starts": 3, "init_samples": 4, "last_clip": 0.02, "average_last": 1.0},
        CENTAUR | {"init": "spectral", "init_pairs": "models", "last_clip": 2.0},
        {
            "rounds": 2,
            "clip": 0.5,
            "batch_samples": 3,
            **RUNS,
            "init_samples": 2,
            "sample_use": "fresh",
            "init_share": 0.2,
        },
    ],
    "private_fedrep": [
        {},
        {"init": "random", "clip_scale": "absolute", "clip": 3.0, "step": 0.5},
        {"rounds": 2, "clip_scale": "absolute", "clip": 2.0, "init_label_clip": 0.7, "init_share": 0.2},
        {"init_pairs": "all", "last_clip": 0.02, "average_last": 0.6, "features": "whitened"},
        {"init": "planted", "rounds": 3, "start_sine": 0.3},
    ],
    "unit_steps": [{}, {"scale_guess": 3.0, "noise_guess": 0.3}, {"assumed_rank": 3}],
    "unit_steps_ablations": [{"without": part} for part in list(ABLATIONS)[1:]],
    "full_prior": [{}, {"scale_guess": 0.5, "noise_guess": 2.0}],
    "oracle_step": [{}],
    "unit_steps_plain": [{"rounds": 3, "start_sine": 0.3}],
    "general_centaur": [
        FEDERATED | {"local_steps": 2},
        {"rounds": 2, "clip": 0.1, "batch_samples": 16, "feasible": "orthonormal", "clip_scale": "practical"},
    ],
    "dp_fedavg": [FEDERATED | {"local_steps": 3, "local_step": 0.1}],
    "ppsgd": [FEDERATED | {"local_step": 0.1, "personal_step": 0.1}],
    "pmtl": [{"rounds": 3, "clip": 0.5}, {"rounds": 2, "clip": 0.1, "clip_scale": "practical", "penalty": 0.1}],
    "update_norms": [{"start_sine": 0.3, "batch_samples": 6}],
    "client_lemmas": [
        {"clip": 0.5, "batch_samples": 4},
        {"clip": 5.0, "batch_samples": 8, "clip_scale": "absolute", "step": 0.1, "start_sine": 0.4},
    ],
    "single_model": [{"method": "moments", **CLIPS}, {"method": "gradient", "clip_feature": 0.5, "epochs": 3}],
    "nonprivate_altmin": [{"max_epochs": 4}, {"init": "spectral", "split": "halves-then-all", "max_epochs": 2}],
    "exponential": [{"count": 40}, {"loss": "huber", "clip_scale": "prescribed", "count": 5}],
    "exponential_chain": [{"burn_in": 20, "steps": 20}],
    "exponential_staged": [{"around": 4}, {"first": "centaur", "runs": 2, "rounds": 2, "around": 0}],
    "own_data": [{}, {"penalty": 1.0}],
    "reference_model": [
        *({"kind": kind} for kind in ("random", "random-subspace", "zero")),
        {"kind": "planted-subspace", "start_sine": 0.3},
    ],
}


def about(name: str, options: dict) -> dict:
    """What holds of an algorithm with these options."""
    reading = options.get("init") == "planted" or options.get("heads") == "true" or "planted" in options.get("kind", "")
    return ABOUT[name] | ({"reads_truth": True} if reading else {})


def undeclared(name: str) -> Case:
    """A method that has no entry above: the options of the example in its file, and what holds of it by itself."""
    method = prepared(load_options(name, example_options(name)), PROBLEM)
    *_, last = method.fit(Users(PROBLEM), open_release(method, make_task(Users(PROBLEM), fixed_noise(1.0))))
    return Case(
        name,
        example_options(name),
        audit=(lambda options, sds: None) if is_private(method) and not method.cost.pure else None,
        scored=last.personal is not None,
        rank=PROBLEM.rank if last.subspace is None else last.subspace.shape[1],
        printed=getattr(method, "theorem", None) is not None,
        pure=is_private(method) and method.cost.pure > 0,
    )


CASES = [Case(name, options, **about(name, options)) for name, several in OPTIONS.items() for options in several]
CASES += [undeclared(name) for name in of_library() if name not in OPTIONS]
CASES.append(Case("oracle_step", {"kind": "floor"}, releases=False, reads_truth=True))
PRIVATE = [case for case in CASES if case.audit]


OTHER_USERS = ((100.0, -100.0), (1.0, -10.0))
"""Factors on features and labels of the first user in the other worlds.
A user far beyond a clip may be left out whole, one near it is not."""


def world(features: float = 1.0, labels: float = 1.0) -> GivenUsers:
    """The users of the tiny problem, of whom the first is another: its samples in reverse, longer by these factors."""
    all_features, all_labels = (array.copy() for array in gather(Users(PROBLEM))[:2])
    if (features, labels) != (1.0, 1.0):
        all_features[:, 0] = features * all_features[::-1, 0]
        all_labels[:, 0] *= labels
    return GivenUsers(PROBLEM.known, all_features, all_labels)


ONE, OTHERS = world(), [world(*factors) for factors in OTHER_USERS]


REPLAYED = [case for case in CASES if case.budgeted and not case.reads_truth]
REPLAYED = [
    case for case in REPLAYED if hasattr(prepared(load_options(case.name, case.options), PROBLEM), "fit")
]  # what has no `fit` is an experiment
