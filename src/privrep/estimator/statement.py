"""The privacy statement of a fit, as one sentence and as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal

from scipy.special import ndtr

from privrep.privacy.accounting import gdp_epsilon, gdp_mu

PUBLIC = (
    "how many users there are, and that these users are among them",
    "names, kinds and ranges of the columns, and the range of the label",
    "the estimator's parameters",
)
NOT_COVERED = (
    "heads, their predictions and the score on users who took part: they are local and not private",
    "the duration of a fit, and its errors and warnings, which count rows: they are for whoever has the table",
    "ranges, kinds and other parameters that were chosen after a look at the data, and analyses before a fit",
    "further fits of the same people: a journal on the machine counts those that it knows",
    "people who have several ids, and what the rows of others say of a person",
    "what stays on the machine and on workers that see the rows: the table, temporary files, memory, the journal",
)
SURE, MANY_ROWS = 0.9, 1000
"""An attacker's advantage, and max_samples, above which `doubts` warns."""
SAFE, HARMFUL = 150.0, 75.0
"""Limits of users times mu: of 1,084 mixed models on real and simulated tables that nothing was tuned on, less than 1 %
above the first limit were worse than the best of own data by .02 of the label's variance, 4 % between, 21 % below."""
DELTA_POWER = 2.0
"""Default delta is 1/n to this power: small beside 1/n, where one user may be exposed entirely."""
SEEDED = "noise from a seed: it holds only against those who do not know the seed, and equal seeds share their noise"


def doubts(mu: float, delta: float, users: int, max_samples: int) -> list[str]:
    """Return warnings to show before a fit spends budget: a weak guarantee, or a poor result to expect."""
    texts, advantage = [], advantage_of(mu)
    if delta > 1 / users:
        texts.append(
            f"delta is {delta:g}, more than 1/n = {1 / users:.3g}: a mechanism with this delta may expose one user in "
            f"{users} entirely"
        )
    if users * mu < SAFE:
        epsilon, more = enough(delta, users, mu)
        texts.append(
            f"{strength(users, mu)}; epsilon {upward(epsilon, 2)} would reach {SAFE:g}, and so would {more:,} users"
        )
    if advantage > SURE:
        texts.append(
            f"this budget protects nobody: an attack may tell what a user's rows are with an advantage of "
            f"{upward(advantage, 3)}, where 1 is certainty"
        )
    if max_samples > MANY_ROWS:
        texts.append(f"max_samples is {max_samples}: users are padded to this many rows, and a fit slows in proportion")
    return texts


def strength(users: int, mu: float) -> str:
    """Describe users times mu by the limits `SAFE` and `HARMFUL`."""
    product = users * mu
    if product >= SAFE:
        meaning = f"from {SAFE:g} on a mixed model is hardly ever clearly worse than users' own data"
    elif product >= HARMFUL:
        meaning = f"below {SAFE:g} one mixed model in 25 is clearly worse than users' own data"
    else:
        meaning = f"below {HARMFUL:g} one mixed model in five is clearly worse than users' own data"
    return f"users times mu is {math.floor(product):,}; {meaning}"


def enough(delta: float, users: int, mu: float) -> tuple[float, int]:
    """Return the epsilon, or the number of users at the present epsilon, with which users times mu reaches `SAFE`."""
    epsilon, default, more = gdp_epsilon(mu, delta), math.isclose(delta, users**-DELTA_POWER), users
    while more * mu < SAFE:
        more = math.ceil(1.02 * more)
        mu = gdp_mu(epsilon, more**-DELTA_POWER) if default else mu
    return gdp_epsilon(SAFE / users, delta), more


def advantage_of(mu: float) -> float:
    """Return the largest advantage of an attack on a mu-GDP release."""
    return 2 * float(ndtr(mu / 2)) - 1


def upward(value: float, digits: int) -> str:
    """Round a value up to this number of significant digits, with a tolerance for rounding errors in the value.

    >>> upward(0.00137208, 3), upward(1.0000000000001, 4), upward(2.3451, 4)
    ('0.00138', '1', '2.346')
    """
    return f"{float(Decimal(value * (1 - 1e-9)).normalize(Context(digits, ROUND_CEILING))):.{digits}g}"


STATED = ("mu", "delta", "users", "unit", "seeded", "releases", "assumed_public")
"""Numbers and texts from which a statement is written."""


class PrivacyStatement(dict):
    """Numbers of a privacy statement by name; as text, its sentence and exceptions. All of it may be published."""

    def __str__(self) -> str:
        said = f"{self['statement']}\nStrength: {strength(self['users'], self['mu'])}."
        return f"{said}\nNot covered: {'; '.join(self['not_covered'])}."


def statement(
    mu: float,
    delta: float,
    users: int,
    unit: str,
    seeded: bool,
    releases: Sequence[str],
    assumed_public: Sequence[str] = PUBLIC,
) -> PrivacyStatement:
    """Write the privacy statement of a fit that is mu-GDP, with names of its releases. `unit` is the protected unit,
    "user" or "row"."""
    epsilon, advantage, printed = gdp_epsilon(mu, delta), advantage_of(mu), upward(delta, 3)
    who = "all rows of one user are" if unit == "user" else "one row is"
    text = (
        f"What is shared is ({upward(epsilon, 4)}, {printed})-differentially private where {who} replaced "
        f"({upward(mu, 4)}-GDP over {len(releases)} Gaussian releases about {users:,} {unit}s): no attack "
        f"distinguishes two such tables with an advantage over {upward(advantage, 3)}."
    )
    if seeded:
        text += f" It has {SEEDED}."
    return PrivacyStatement(
        statement=text,
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        neighbours=f"{who} replaced",
        unit=unit,
        users=users,
        releases=list(releases),
        seeded=seeded,
        attack_advantage=advantage,
        assumed_public=list(assumed_public),
        not_covered=list(NOT_COVERED),
    )
