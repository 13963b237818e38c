"""Errata on sensitivities, noise and accounting (jain2021)."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from privrep.privacy.accounting import gdp_epsilon, zcdp_epsilon, zcdp_rho
from privrep.privacy.regression_moments import SampleClip
from privrep.users.splits import count, split_samples
from replication.errata.finding import Finding, demonstrates
from replication.experiments.auditing.worst_users import matrix_moved, moved


@demonstrates("E7", role="adversary")
def printed_noise_fits_one_split_alone(rng: np.random.Generator) -> Finding:
    m, ratios = 4, []
    for preset in ("text", "proof-halves", "all-samples-reused"):
        split = split_samples(preset, m)
        q, used = count(split.subspace), count(split.init)
        change, spectral = moved("first", q, rng), matrix_moved(used, rng)
        # The printed sensitivities are m eta zeta / 2 and m zeta^2; changes are in units of q eta zeta and P zeta^2.
        ratios += [change * q / (m / 2), spectral * (used / 2) / m]
    return Finding(np.allclose(ratios, [1, 0.5, 2, 0.5, 4, 1], rtol=0.01, atol=0), *ratios)


@demonstrates("E64")
def noise_is_too_small_for_large_epsilons() -> Finding:
    delta, times = 1e-6, np.array([1, 2, 4, 10])
    log = math.log(1 / delta)
    # The zCDP costs in the proofs of the two lemmas at Delta = sqrt(8 L)/eps: 1/Delta^2 and half of it.
    costs = [(times * log) ** 2 / (8 * log), (times * log) ** 2 / (16 * log)]
    chain = [np.array([zcdp_epsilon(rho, delta) for rho in of]) / (times * log) for of in costs]
    precise = [np.array([gdp_epsilon(math.sqrt(2 * rho), delta) for rho in of]) / (times * log) for of in costs]
    right = all(ratios[0] <= 1 < ratios[-1] for ratios in chain + precise)
    return Finding(right and chain[0][1] <= 1 < chain[0][2], chain[0], precise[0], chain[1], precise[1])


@demonstrates("E9")
def printed_budgets_are_not_those_of_the_epsilons() -> Finding:
    delta, printed = 1e-6, {1: 0.009, 2: 0.04, 5: 0.23, 10: 0.90}
    own = {eps: eps**2 / (8 * math.log(1 / delta)) for eps in printed}
    chain = [zcdp_epsilon(rho, delta) for rho in own.values()]
    precise = [gdp_epsilon(math.sqrt(2 * rho), delta) for rho in own.values()]
    corresponding = [zcdp_rho(eps, delta) for eps in printed]

    rounds = all(round(own[eps], 3 if eps == 1 else 2) == value for eps, value in printed.items())
    differs = all(rho > 1.4 * value for rho, value in zip(corresponding, own.values(), strict=True))
    return Finding(rounds and differs, chain, precise, corresponding)


@demonstrates("E29", role="adversary")
def proof_has_less_noise_than_a_user_moves(rng: np.random.Generator) -> Finding:
    eta, zeta = 3.0, 1.0
    # The proof divides both statistics by q, which is 1 here. Noise of sd s Delta is enough for a change of at most s.
    bounds, clip = {"second": eta**2, "first": eta * zeta}, SampleClip(eta, zeta)
    second, first = (moved(statistic, 1, rng, clip) * bound for statistic, bound in bounds.items())
    moves = math.isclose(first, 2 * eta * zeta, rel_tol=0.01), math.isclose(second, 2**0.5 * eta**2, rel_tol=0.01)
    return Finding(all(moves), eta, zeta, first, second, eta * zeta)


@demonstrates("E35")
def replacing_changes_two_records() -> Finding:
    first, second = Counter("abcd"), Counter("abce")
    difference = ((first - second) + (second - first)).total()
    return Finding(difference == 2, difference)


@demonstrates("E61", role="adversary")
def joint_change_is_nine_sixteenths(rng: np.random.Generator) -> Finding:
    ratio = moved("joint", 2, rng, dim=3) / 8
    return Finding(math.isclose(ratio, 9 / 16, rel_tol=1e-3), 8 * ratio, ratio, 9 / 16)
