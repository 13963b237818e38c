"""The privacy statement of a fit, as one sentence and as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal

from scipy.special import ndtr

import privrep
from privrep.privacy.accounting import gdp_epsilon, gdp_mu
from privrep.privacy.ledger import GaussianRelease, Ledger

PUBLIC = (
    "how many users there are, and that these users are among them",
    "names, kinds and ranges of the columns, and the range of the label",
    "the estimator's parameters",
)
NOT_COVERED = (
    "heads, their predictions and the score on users who took part: they are local and not private",
    "side channels: the time of a fit and of a draw, and errors and warnings, which count rows",
    "floating point where noise is from a seed: other noise lies on a lattice, and sensitivities count rounding",
    "choices made by looking at the data: ranges, kinds and other parameters, and analyses before a fit",
    "repeated fits of the same people: a journal on the machine counts those that it knows",
    "people who have several ids, and what the rows of others say of a person",
    "what stays on the machine and on workers that see the rows: the table, temporary files, memory, the journal",
)
TRUST = "central, since who fits has the rows of all users, and so do workers; everybody else sees releases alone"
ACCOUNTING = "squares of mu of all releases add, exactly, in Gaussian differential privacy; epsilon follows from delta"
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


LABEL = ("unit_of_privacy", "neighbours", "trust_model", "mechanism", "implementation", "accounting")
"""Entries of a statement that are printed besides its sentence, as in privacy labels (NIST SP 800-226; Dibia et al.,
arXiv 2507.15997)."""


class PrivacyStatement(dict):
    """Privacy statement by the names of its entries; as text, all that a privacy label says. It may be published."""

    def __str__(self) -> str:
        label = "".join(f"{name.replace('_', ' ').capitalize()}: {self[name]}.\n" for name in LABEL)
        said = f"{self['statement']}\nStrength: {strength(self['users'], self['mu'])}.\n{label}"
        return f"{said}Not covered: {'; '.join(self['not_covered'])}."


def releases_of(ledger: Ledger) -> list[dict]:
    """Return the releases of a ledger, all of which are of all users, as a statement has them."""
    return [{name: vars(one)[name] for name in ("name", "sensitivity", "noise_sd")} for one in ledger.entries]


def statement(
    releases: Sequence[Mapping],
    delta: float,
    users: int,
    unit_of_privacy: str,
    seeded: bool,
    assumed_public: Sequence[str] = PUBLIC,
    implementation: str = f"privrep {privrep.__version__}; its docs/proofs.md says what is proved and where",
) -> PrivacyStatement:
    """Write the privacy statement of a fit, by an accountant who adds up its releases.

    Parameters
    ----------
    releases : `releases_of` the ledger.
    delta : of the guarantee, strictly between 0 and 1.
    users : number of users, or of rows.
    unit_of_privacy : "user" or "row".
    seeded : whether noise is from a seed.
    assumed_public : what the guarantee takes as public.
    implementation : name and version of the software.
    """
    ledger = Ledger([GaussianRelease(**one, start=0, stop=users) for one in releases])
    mu, epsilon, advantage = ledger.mu, ledger.epsilon(delta), advantage_of(ledger.mu)
    who = "all rows of one user are" if unit_of_privacy == "user" else "one row is"
    text = (
        f"What is shared is ({upward(epsilon, 4)}, {upward(delta, 3)})-differentially private where {who} replaced "
        f"({upward(mu, 4)}-GDP over {len(releases)} Gaussian releases about {users:,} {unit_of_privacy}s): no attack "
        f"distinguishes two such tables with an advantage over {upward(advantage, 3)}."
    )
    if seeded:
        text += f" It has {SEEDED}."
    return PrivacyStatement(
        statement=text,
        unit_of_privacy=unit_of_privacy,
        neighbours=f"{who} replaced",
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        trust_model=TRUST,
        mechanism=f"{'' if seeded else 'discrete '}Gaussian noise on sums of what {unit_of_privacy}s add, each clipped",
        implementation=implementation,
        accounting=ACCOUNTING,
        users=users,
        releases=list(releases),
        seeded=bool(seeded),
        attack_advantage=advantage,
        assumed_public=list(assumed_public),
        not_covered=list(NOT_COVERED),
    )
