"""A demonstration for every erratum: a few lines that would give another answer if the printed version were right.

The texts stand in config/claims/errata.yaml under the same ids.
"""

from __future__ import annotations

from collections.abc import Callable

from privrep.errata import initialisation, local_convergence, privacy, risk, statements
from privrep.errata.finding import Finding

DEMONSTRATIONS: dict[str, Callable[[], Finding]] = {
    "E2": risk.e2,
    "E3": risk.e3,
    "E4": statements.e4,
    "E5": initialisation.e5,
    "E6": initialisation.e6,
    "E7": privacy.e7,
    "E8": risk.e8,
    "E9": privacy.e9,
    "E15": initialisation.e15,
    "E16": initialisation.e16,
    "E17": initialisation.e17,
    "E18": initialisation.e18,
    "E19": initialisation.e19,
    "E20": local_convergence.e20,
    "E21": local_convergence.e21,
    "E22": risk.e22,
    "E23": statements.e23,
    "E24": local_convergence.e24,
    "E25": local_convergence.e25,
    "E26": local_convergence.e26,
    "E27": local_convergence.e27,
    "E28": local_convergence.e28,
    "E29": privacy.e29,
    "E35": privacy.e35,
    "E36": statements.e36,
    "E37": statements.e37,
    "E39": initialisation.e39,
    "E60": risk.e60,
    "E61": privacy.e61,
}
