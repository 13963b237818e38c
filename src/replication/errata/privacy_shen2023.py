"""Errata on neighbours, random participation and the conversion to (epsilon, delta) in shen2023."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

from privrep.methods.steps.server import Server
from privrep.privacy.accounting import UNLIMITED, gdp_delta
from privrep.privacy.contributions import Rows
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release
from privrep.users.simulated import Problem, Users
from replication.errata.finding import Finding, decides, demonstrates
from replication.printed.accounting_shen2023 import (
    DELTA,
    EPSILONS,
    WHOLE,
    achieved,
    experiments_epsilon,
    printed_divergence,
    printed_order,
    removal_divergence,
    replacement_divergence,
)
from replication.printed.prescribed_powers import least_epsilon, power, privacy_cap, utility, utility_cap
from replication.printed.renyi import Mixture, renyi_divergence


def moved(users: np.ndarray, others: np.ndarray) -> float:
    """Return the distance between sums of clipped updates of two sets of users, (B, d), in units of the threshold."""
    return float(np.linalg.norm(Rows(users).clipped(1.0)[0] - Rows(others).clipped(1.0)[0]))


@demonstrates("E10")
def replacing_costs_four_times_removing() -> Finding:
    update = 100 * np.eye(3)[:1]
    removed, replaced = moved(update, np.empty((0, 3))), moved(update, -update)
    # With the theorem's sigma_g, T / sigma_g^2 is eps^2 / (4 L), and the start may cost as much as the rounds.
    mu = math.sqrt(2 * replaced**2 / (4 * math.log(1 / DELTA)))
    ratio, delta = achieved(WHOLE, 1.0, DELTA), gdp_delta(1.0, mu)
    confirmed = decides(replaced**2, printed=1, correct=4, within=0.01) and ratio > 2 and delta > 10 * DELTA
    return Finding(confirmed, removed, replaced, replaced**2, ratio, delta)


@demonstrates("E41")
def start_sets_the_least_epsilon() -> Finding:
    symbols = ("k", "kappa", "mu", "d", "n")
    printed, right = ({name: power(least_epsilon(cap), name) for name in symbols} for cap in (utility_cap, privacy_cap))
    reached = power(utility(privacy_cap), "k")
    correct = {"k": 4, "kappa": 1}
    confirmed = all(decides(right[name], printed=printed[name], correct=correct[name], within=0.01) for name in correct)
    confirmed &= decides(reached, printed=0, correct=-2.5, within=0.01)
    return Finding(confirmed, [*right.values()], [*printed.values()], reached)


@demonstrates("E50")
def printed_divergence_is_negative() -> Finding:
    alpha, rate, sd = 8, 0.1, 1.0
    full = alpha / (2 * sd**2)
    at_one = printed_divergence(alpha, 1.0, sd) / full
    kinds = printed_divergence, printed_order, removal_divergence, replacement_divergence
    printed, order, removed, replaced = (divergence(alpha, rate, sd) for divergence in kinds)
    confirmed = at_one < 0 and printed < 0 and order < 0.1 * removed
    return Finding(confirmed, at_one, alpha, rate, sd, printed, order, removed, replaced)


def mean_of_present(others: int, rate: float, own_rate: float, update: float, sd: float) -> tuple[Mixture, float]:
    """Return the distribution of a noisy mean over C_t of one user's update and all others' zeros, and P(|C_t| = 0)."""
    present = binom.pmf(np.arange(others + 1), others, rate)
    parts = [((1 - own_rate) * weight, 0.0, sd / count) for count, weight in enumerate(present) if count]
    parts += [(own_rate * weight, update / (count + 1), sd / (count + 1)) for count, weight in enumerate(present)]
    return Mixture(*zip(*parts, strict=True)), float((1 - own_rate) * present[0])


def mean_divergence(alpha: float, others: int, rate: float, sd: float, *, replaced: bool) -> float:
    """Return the RDP of `mean_of_present` if a user of update 0 is removed or update 1 becomes -1; C_t may be empty."""
    own_rate, update = (rate, 1.0) if replaced else (0.0, 0.0)
    seen, empty = mean_of_present(others, rate, own_rate, update, sd)
    other, other_empty = mean_of_present(others, rate, rate, -update, sd)
    total = math.exp((alpha - 1) * renyi_divergence(alpha, seen, other)) + empty**alpha * other_empty ** (1 - alpha)
    return math.log(total) / (alpha - 1)


def empty_round_fails(rng: np.random.Generator) -> bool:
    """Return whether SERVER as printed stops when nobody takes part."""
    users = Users(Problem(users=3, samples=1, dim=2, rank=1))
    server = Server(rounds=1, clip=1.0, participation=1e-6, divide_by="realised")
    release = Release(1.0, Ledger(), range(3), {"participants": rng}, UNLIMITED)
    try:
        server.mean("erratum", users, lambda block: Rows(np.zeros((block.users, 2))), release)
    except ArithmeticError:
        return True
    return False


@demonstrates("E51")
def dividing_by_participants_reveals_them(rng: np.random.Generator) -> Finding:
    alpha, others, sds, empty_fails = 4, 4, [2.0, 8.0, 32.0], empty_round_fails(rng)
    cases = (0.5, False), (0.1, True)
    removed, replaced = ([mean_divergence(alpha, others, p, sd, replaced=swap) for sd in sds] for p, swap in cases)
    half = [removal_divergence(alpha, 0.5, sd) for sd in sds]
    tenth = [replacement_divergence(alpha, 0.1, sd) for sd in sds]
    confirmed = removed[-1] > 10 * half[-1] and replaced[-1] > 1.5 * tenth[-1] and empty_fails
    over = np.divide(removed, half), np.divide(replaced, tenth)
    return Finding(confirmed, others + 1, alpha, sds, *over, "not defined" if empty_fails else "defined")


@demonstrates("E56")
def stated_epsilons_are_for_removal() -> Finding:
    removed, replaced = ([experiments_epsilon(epsilon, shift) for epsilon in EPSILONS] for shift in (1.0, 2.0))
    covered = all(spent <= stated for spent, stated in zip(removed, EPSILONS, strict=True))
    confirmed = covered and decides(replaced[EPSILONS.index(1.0)], printed=1, correct=1.97, within=0.01)
    return Finding(confirmed, replaced, EPSILONS, removed)
