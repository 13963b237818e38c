"""Sensitivities, noise and accounting."""

from __future__ import annotations

import math
from collections import Counter

from privrep.audits.worst_users import largest, moment_change, spectral_change
from privrep.data.rng import stream
from privrep.data.splits import count, split_samples
from privrep.errata.finding import Finding, spell
from privrep.privacy.accounting import gdp_epsilon, zcdp_epsilon, zcdp_rho
from privrep.privacy.regression_moments import SampleClip


def e7() -> Finding:
    m, clip = 4, SampleClip(1.0, 1.0)
    shape = {"dim": 2, "rank": 1, "starts": 3, "rng": stream(0, "adversary", {"erratum": 7})}
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

    rounds = all(round(own[eps], 3 if eps == 1 else 2) == value for eps, value in printed.items())
    differs = all(rho > 1.4 * value for rho, value in zip(corresponding, own.values(), strict=True))
    return Finding(
        f"the printed values give epsilon {spell(chain)} (conversion of the paper), {spell(precise)} (exact); "
        f"the stated epsilons correspond to {spell(corresponding)}-zCDP",
        rounds and differs,
    )


def e29() -> Finding:
    eta, zeta, q = 3.0, 1.0, 1
    rng = stream(0, "adversary", {"erratum": 29})

    def change(statistic: str) -> float:
        def measure(user, other) -> float:
            return getattr(moment_change(user, other, slice(0, q), SampleClip(eta, zeta)), statistic)

        return largest(measure, samples=q, dim=2, rank=1, starts=3, rng=rng)

    # The proof divides both statistics by q. Noise of sd s Delta is enough for a change of at most s.
    second, first = change("second") * eta**2, change("first") * eta * zeta
    printed = eta * zeta
    return Finding(
        f"at eta = {eta:g}, zeta = {zeta:g} a user moves b by {first:.2f} and A by {second:.2f}; eta zeta is {printed:g}",
        math.isclose(first, 2 * eta * zeta, rel_tol=0.01) and math.isclose(second, 2**0.5 * eta**2, rel_tol=0.01),
    )


def e35() -> Finding:
    one, other = Counter("abcd"), Counter("abce")
    difference = ((one - other) + (other - one)).total()
    return Finding(f"{difference} records", difference == 2)


def e61() -> Finding:
    clip, samples = SampleClip(1.0, 1.0), slice(0, 2)
    rng = stream(0, "adversary", {"erratum": 61})
    found = largest(lambda a, b: moment_change(a, b, samples, clip).joint, samples=2, dim=3, rank=1, rng=rng, starts=12)
    return Finding(
        f"{found:.4f} of 8, ratio {found / 8:.4f}; 9/16 = {9 / 16}", math.isclose(found / 8, 9 / 16, rel_tol=1e-3)
    )
