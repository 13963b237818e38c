"""Grid from which the laws of the guide choose options of the published methods: one for all settings."""

from __future__ import annotations

import itertools

SHARES = (0.1, 0.3, 0.5)
CLIPS = (0.0025, 0.005, 0.01, 0.02, 0.05, 0.125)
ROUNDS = [
    {"clip": clip, "rounds": rounds, "step": step, "init_share": share}
    for clip, rounds, step, share in itertools.product(CLIPS, (12, 24, 48), (0.25, 1.0), SHARES)
]
"""Options of CENTAUR and private FedRep. 1/4 is the step of shen2023's theorem, 1 a whole step."""
PASSES = [
    {"clip_feature": clip, "clip_label": clip, "init_label_clip": clip, "init_share": share, **solved}
    for clip, share, solved in itertools.product(
        (0.0625, 0.125, 0.25, 0.5), SHARES, ({"epochs": 1, "fallback": "solve"}, {"epochs": 3, "fallback": "eigclip"})
    )
]
"""Options of alternating minimisation: one clip in units of the data, and one pass or three with raised eigenvalues."""
