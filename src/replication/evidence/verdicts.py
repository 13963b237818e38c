# ruff: noqa: RUF001  (typographic signs are meant)
"""Verdicts: meaning and appearance of each, and the verdicts of each kind of claim."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """A verdict; its value is the word that is shown.

    level   : good (agrees), fair (in part), open, bad (contradicts) or none, for colour.
    sign    : one character, read without colour.
    meaning : one sentence.
    """

    level: str
    sign: str
    meaning: str

    def __new__(cls, word: str, level: str, sign: str, meaning: str) -> Verdict:
        verdict = str.__new__(cls, word)
        verdict._value_ = word
        verdict.level, verdict.sign, verdict.meaning = level, sign, meaning
        return verdict

    RATE_AGREES = (
        "RATE-AGREES",
        "good",
        "✓",
        "The exponent's interval lies within the tolerance of the claimed one: ± 0.15, for squared errors ± 0.30.",
    )
    LOOSE = "LOOSE", "fair", "↓", "The error grows more slowly than the upper bound allows."
    VIOLATED = "VIOLATED", "bad", "✗", "The error grows faster than the upper bound allows."
    INCONCLUSIVE = "INCONCLUSIVE", "open", "?", "The interval lies on both sides of the limit, or there is none."
    HOLDS = "HOLDS", "good", "✓", "The identity, inequality or arithmetic is right as printed."
    FALSE_AS_PRINTED = "FALSE-AS-PRINTED", "bad", "✗", "It is wrong as printed; a corrected statement is given."
    PROOF_GAP = "PROOF-GAP", "open", "∅", "A step does not follow as printed; the statement may hold."
    REPRODUCED = "REPRODUCED", "good", "✓", "The experiment gives what the paper says."
    PARTIAL = "PARTIAL", "fair", "~", "Some of it, or only in another reading of the set-up."
    NOT_REPRODUCED = "NOT-REPRODUCED", "bad", "✗", "The result differs, in every reading that was tried."
    SURROGATE = "SURROGATE", "none", "≈", "A stand-in for the paper's experiment: it decides nothing about that."
    LIMIT = "LIMIT", "none", "⊣", "Beyond what the paper states: there it ends. No fault of the paper."
    NOT_MET = "NOT-MET", "bad", "✗", "This project states or corrects it, and it fails, by the papers' own rule."
    NOT_TESTED = "NOT-TESTED", "none", "–", "Not run, at too small a scale, or without its data; the reason is given."


NEGATIVE = (Verdict.VIOLATED, Verdict.FALSE_AS_PRINTED, Verdict.PROOF_GAP, Verdict.NOT_REPRODUCED, Verdict.PARTIAL)
"""Verdicts that say that a paper has an error."""

OUTCOMES = {
    "experiment": (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED),
    "identity": (Verdict.HOLDS, Verdict.FALSE_AS_PRINTED),
    "proof": (Verdict.HOLDS, Verdict.PROOF_GAP),
    "limit": (Verdict.HOLDS, Verdict.LIMIT),
    "surrogate": (Verdict.SURROGATE, Verdict.SURROGATE),
    "ours": (Verdict.HOLDS, Verdict.NOT_MET),
}
"""Kind of a claim -> verdict when it holds and when it does not. A `limit` is measured where the paper states nothing;
a `surrogate` is a stand-in for the paper's experiment, which decides nothing about it. A statement or correction of
this project is `ours`, whatever the kind of its claim."""

GROUPS = {
    "Rates": (Verdict.RATE_AGREES, Verdict.LOOSE, Verdict.VIOLATED, Verdict.INCONCLUSIVE),
    "Statements": (Verdict.HOLDS, Verdict.FALSE_AS_PRINTED, Verdict.PROOF_GAP),
    "Experiments": (Verdict.REPRODUCED, Verdict.PARTIAL, Verdict.NOT_REPRODUCED, Verdict.SURROGATE),
    "Any claim": (Verdict.NOT_MET, Verdict.LIMIT, Verdict.NOT_TESTED),
}
"""Kind of statement -> its verdicts, in the order of their explanation."""

SEVERITIES = {
    "P": "a privacy guarantee",
    "R": "a rate, an assumption or a number",
    "G": "a gap in a proof; the statement may hold",
    "C": "a constant is missing",
    "T": "a typo or an index slip",
    "L": "loose: what is printed holds",
}
"""Severity of an error -> its effect; L is not an error and occurs among the errata alone."""
