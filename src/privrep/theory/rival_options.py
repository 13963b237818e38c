"""Candidate options of the published methods for the laws of the guide: one grid for all settings.

All start from users' models, which the law predicts to be better everywhere than sample pairs and the power method.
"""

from __future__ import annotations

import itertools

STARTED = {"init": "spectral", "init_pairs": "models"}
SHARES = (0.1, 0.3, 0.5)
ROUNDS = [
    {"clip": clip, "last_clip": float(f"{clip * fall:.3g}"), "rounds": rounds, "init_share": share}
    for clip, fall, rounds, share in itertools.product((0.003, 0.01, 0.03, 0.1, 0.3), (0.1, 1.0), (16, 40), SHARES)
]
"""Options of CENTAUR and private FedRep, with step 1 and the subspace averaged over the last quarter of rounds."""
PASSES = [
    {"clip_feature": clip, "clip_label": clip, "init_share": share, **solved}
    for clip, share, solved in itertools.product(
        (0.0625, 0.125, 0.25, 0.5), SHARES, ({"epochs": 1, "fallback": "solve"}, {"epochs": 3, "fallback": "eigclip"})
    )
]
"""Options of alternating minimisation: one clip in units of the data; one pass, or three with raised eigenvalues."""
