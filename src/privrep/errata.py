"""A demonstration for every erratum: a few lines that would give another answer if the printed version were right.

The texts stand in config/claims/errata.yaml under the same ids.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from privrep.algorithms.moment_step import SampleClip
from privrep.algorithms.nonprivate_altmin import Algorithm as NonprivateAltMin
from privrep.privacy.accounting import gdp_epsilon, zcdp_epsilon, zcdp_rho
from privrep.privacy.audit import largest, moment_change, spectral_change
from privrep.privacy.ledger import Ledger
from privrep.problem import Problem, Users
from privrep.rng import stream
from privrep.splits import count, split_samples
from privrep.task import Task

ERRATA_COLUMNS = ("id", "paper", "place", "printed", "correct", "demonstration", "measured", "confirmed")


@dataclass(frozen=True)
class Finding:
    """What a demonstration found, in words with numbers, and whether it confirms the erratum."""

    measured: str
    confirmed: bool


def e3() -> Finding:
    problem = Problem(users=4000, samples=128, dim=10, rank=2, label_noise_sd=1.0)
    task = Task(Users(problem), None, lambda role: stream(0, role, problem.axes), Ledger())
    outcome = NonprivateAltMin(init="spectral", split="proof-halves").fit(task)
    per_sample = problem.rank / (problem.samples // 2)
    return Finding(
        f"excess risk {outcome.excess_risk:.3f} sigma_F^2; k over the m/2 samples of the final fit is {per_sample:.3f}",
        outcome.excess_risk < 0.2,
    )


def e7() -> Finding:
    m, clip = 4, SampleClip(1.0, 1.0)
    shape = {"dim": 2, "rank": 1, "starts": 6, "rng": stream(0, "adversary", {"erratum": 7})}
    parts, ratios = [], {}
    for preset in ("text", "proof-halves", "all-samples-reused"):
        split = split_samples(preset, m)
        q, used = count(split.subspace), count(split.init)
        change = largest(lambda a, b, q=q: moment_change(a, b, slice(0, q), clip).first, samples=q, **shape)
        spectral = largest(lambda a, b, used=used: spectral_change(a, b, slice(0, used), 1.0), samples=used, **shape)
        # The printed sensitivities are m eta zeta / 2 and m zeta^2; changes are found per q eta zeta and P zeta^2.
        ratios[preset] = (change * q / (m / 2), spectral * (used / 2) / m)
        parts.append(f"{preset}: b {ratios[preset][0]:.2f}, M {ratios[preset][1]:.2f}")
    expected = {"text": (1, 0.5), "proof-halves": (2, 0.5), "all-samples-reused": (4, 1)}
    agree = all(math.isclose(a, b, rel_tol=0.01) for p in expected for a, b in zip(ratios[p], expected[p], strict=True))
    return Finding("; ".join(parts), agree)


def e9() -> Finding:
    delta, printed = 1e-6, {1: 0.009, 2: 0.04, 5: 0.23, 10: 0.90}
    own = {eps: eps**2 / (8 * math.log(1 / delta)) for eps in printed}
    chain = [zcdp_epsilon(rho, delta) for rho in own.values()]
    precise = [gdp_epsilon(math.sqrt(2 * rho), delta) for rho in own.values()]
    corresponding = [zcdp_rho(eps, delta) for eps in printed]

    def spell(values: list[float]) -> str:
        return ", ".join(f"{value:.3g}" for value in values)

    rounds = all(round(own[eps], 3 if eps == 1 else 2) == value for eps, value in printed.items())
    differs = all(rho > 1.4 * value for rho, value in zip(corresponding, own.values(), strict=True))
    return Finding(
        f"the printed values give epsilon {spell(chain)} (conversion of the paper), {spell(precise)} (exact); "
        f"the stated epsilons correspond to {spell(corresponding)}-zCDP",
        rounds and differs,
    )


def e19() -> Finding:
    m = 10
    printed = {index for i in range(1, m // 2 + 1) for index in (2 * i, 2 * i + 1)}
    outside, unused = sorted(printed - set(range(1, m + 1))), sorted(set(range(1, m + 1)) - printed)
    return Finding(f"reads sample {outside}, never sample {unused}", outside == [m + 1] and unused == [1])


def e35() -> Finding:
    one, other = Counter("abcd"), Counter("abce")
    difference = ((one - other) + (other - one)).total()
    return Finding(f"{difference} records", difference == 2)


def e36() -> Finding:
    m, k = 10, 2
    return Finding(f"m mod 4 = {m % 4}; m/4 = {m / 4:g} against k + 2 = {k + 2}", m % 4 != 0 and m / 4 < k + 2)


def e61() -> Finding:
    clip, samples = SampleClip(1.0, 1.0), slice(0, 2)
    rng = stream(0, "adversary", {"erratum": 61})
    found = largest(lambda a, b: moment_change(a, b, samples, clip).joint, samples=2, dim=3, rank=1, rng=rng)
    return Finding(
        f"{found:.4f} of 8, ratio {found / 8:.4f}; 9/16 = {9 / 16}", math.isclose(found / 8, 9 / 16, rel_tol=1e-3)
    )


DEMONSTRATIONS: dict[str, Callable[[], Finding]] = {
    "E3": e3,
    "E7": e7,
    "E9": e9,
    "E19": e19,
    "E35": e35,
    "E36": e36,
    "E61": e61,
}
