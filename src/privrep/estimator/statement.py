"""The privacy statement of a fit, as one sentence and as numbers."""

from __future__ import annotations

from scipy.special import ndtr

from privrep.privacy.accounting import gdp_epsilon
from privrep.privacy.ledger import Ledger

PUBLIC = (
    "how many users there are, and that these users are among them",
    "names, kinds and ranges of the columns, and the range of the label",
    "max_samples, method, rank, epsilon and delta",
)
NOT_COVERED = (
    "heads, their predictions and the score on users who took part: they are local and not private",
    "the duration of a fit",
    "further fits, unless they stand in the journal",
)
SEEDED = "noise from a seed: it holds only against those who do not know the seed, and equal seeds share their noise"


class PrivacyStatement(dict):
    """Numbers by name; as text, the sentence, and the journal's addition to it, which is not published."""

    def __str__(self) -> str:
        return self["statement"] + self["on_record"]

    @property
    def public(self) -> dict:
        """The statement without the local journal's numbers on other fits."""
        return {name: value for name, value in self.items() if not name.endswith("on_record")}


def statement(
    ledger: Ledger, delta: float, users: int, unit: str, seeded: bool, on_record: tuple[int, float]
) -> PrivacyStatement:
    """Write the privacy statement of a fit from its ledger. `unit` is protected, "user" or "row"; `on_record` counts
    the fits that share users, this one included, and sums their mu^2."""
    mu, epsilon = ledger.mu, ledger.epsilon(delta)
    fits, all_mu = on_record[0], max(on_record[1], mu**2) ** 0.5
    who = "all rows of one user are" if unit == "user" else "one row is"
    advantage = 2 * float(ndtr(mu / 2)) - 1
    text = (
        f"What is shared is ({epsilon:.4g}, {delta:.3g})-differentially private where {who} replaced "
        f"({mu:.4g}-GDP over {len(ledger.entries)} Gaussian releases about {users:,} {unit}s): no attack "
        f"distinguishes two such tables with an advantage over {advantage:.3f}."
    )
    if seeded:
        text += f" It has {SEEDED}."
    record = ""
    if fits > 1:
        record = (
            f" With {fits} fits on record that share users it is {all_mu:.4g}-GDP, "
            f"({gdp_epsilon(all_mu, delta):.4g}, {delta:.3g})-differentially private."
        )
    return PrivacyStatement(
        statement=text,
        on_record=record,
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        neighbours=f"{who} replaced",
        unit=unit,
        users=users,
        releases=[entry.name for entry in ledger.entries],
        seeded=seeded,
        attack_advantage=advantage,
        fits_on_record=fits,
        mu_on_record=all_mu,
        epsilon_on_record=gdp_epsilon(all_mu, delta),
        assumed_public=list(PUBLIC),
        not_covered=list(NOT_COVERED),
    )
