"""A demonstration for every erratum: a few lines that would give another answer if the printed version were right.

The texts stand in config/errata.yaml under the same ids.
"""

from __future__ import annotations

from collections.abc import Callable

from privrep.errata import (
    centaur,
    exponential,
    initialisation,
    local_convergence,
    power_method,
    privacy,
    privacy_shen2023,
    risk,
    statements,
)
from privrep.errata.finding import Finding

DEMONSTRATIONS: dict[str, Callable[[], Finding]] = {
    "E1": exponential.e1,
    "E2": risk.e2,
    "E5": initialisation.e5,
    "E7": privacy.e7,
    "E8": risk.e8,
    "E9": privacy.e9,
    "E10": privacy_shen2023.e10,
    "E11": centaur.e11,
    "E12": centaur.e12,
    "E13": power_method.e13,
    "E14": exponential.e14,
    "E15": initialisation.e15,
    "E16": initialisation.e16,
    "E17": initialisation.e17,
    "E18": initialisation.e18,
    "E19": initialisation.e19,
    "E20": local_convergence.e20,
    "E22": risk.e22,
    "E23": statements.e23,
    "E24": local_convergence.e24,
    "E25": local_convergence.e25,
    "E26": local_convergence.e26,
    "E27": local_convergence.e27,
    "E28": local_convergence.e28,
    "E29": privacy.e29,
    "E30": exponential.e30,
    "E31": exponential.e31,
    "E32": exponential.e32,
    "E33": exponential.e33,
    "E34": exponential.e34,
    "E35": privacy.e35,
    "E36": statements.e36,
    "E37": statements.e37,
    "E38": statements.e38,
    "E39": initialisation.e39,
    "E40": centaur.e40,
    "E41": privacy_shen2023.e41,
    "E42": centaur.e42,
    "E43": centaur.e43,
    "E44": power_method.e44,
    "E45": centaur.e45,
    "E46": centaur.e46,
    "E47": centaur.e47,
    "E48": power_method.e48,
    "E49": power_method.e49,
    "E50": privacy_shen2023.e50,
    "E51": privacy_shen2023.e51,
    "E52": power_method.e52,
    "E56": privacy_shen2023.e56,
    "E57": centaur.e57,
    "E58": power_method.e58,
    "E60": risk.e60,
    "E61": privacy.e61,
    "E63": centaur.e63,
}
