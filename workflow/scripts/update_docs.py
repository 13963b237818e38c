"""Bring the README's picture, its table of verdicts and its differences up to date with the default run: `make docs`."""

import argparse
import re
import shutil
from collections import Counter
from pathlib import Path

from privrep.evidence.confirmation import agreement, changed, revised_since, spelled
from privrep.evidence.verdicts import ACCUSING, SEVERITIES
from privrep.run.csv_tables import read_rows

BLOCK = re.compile(r"(<!-- measured: [^\n]*-->\n).*?(<!-- end of measured -->)", flags=re.DOTALL)


def number(text: str) -> str:
    """Three significant digits."""
    return f"{float(text):.3g}" if text else ""


def cell(text: str) -> str:
    """Text that may stand in a Markdown table."""
    return text.replace("|", "\\|")


def measured_block(claims: list[dict]) -> str:
    """The verdicts on the papers' own statements, counted by claim, and every statement that does not hold as printed, as two Markdown tables."""
    own = [
        row for row in claims if row["whose"] == "paper" and row["basis"] != "definition" and row["rule"] != "all_hold"
    ]
    counts: dict[str, Counter] = {}
    for row in own:
        counts.setdefault(row["id"], Counter())[row["verdict"]] += 1
    places = {row["id"]: row["place"] for row in claims}
    lines = ["| claim | place | verdicts on its quantities |", "|---|---|---|"]
    for claim, words in counts.items():
        lines.append(f"| {claim} | {places[claim]} | {', '.join(f'{count} {word}' for word, count in words.items())} |")
    letters = "; ".join(f"{letter} {meaning}" for letter, meaning in SEVERITIES.items())
    lines += [
        "",
        f"Not counted are corrections, laws and limits of this project, and what holds by construction. Where a statement does not hold as printed ({letters}):",
        "",
        "| claim | severity | printed | measured | what to do |",
        "|---|---|---|---|---|",
    ]
    accused = [row for row in claims if row["verdict"] in ACCUSING]
    for row in sorted(accused, key=lambda row: [*SEVERITIES, ""].index(row["severity"])):
        found = f"{row['quantity']}: {spelled(row)}, claimed {row['claimed']}; {row['verdict']}"
        lines.append(
            f"| {row['id']} | {row['severity']} | {cell(row['printed'])} | {cell(found)} | {cell(row['advice'])} |"
        )
    return "\n".join(lines)


def repaired(value: dict[str, float]) -> str:
    """What a free rule of ours in place of the missing minimiser gains at epsilon = 1; nothing when it gains nothing."""
    rules = {
        name.removesuffix(" over solve at 1"): ratio
        for name, ratio in value.items()
        if name.endswith(" over solve at 1")
    }
    best = min(rules, key=rules.get, default="")
    if not best or rules[best] >= 1:
        return ""
    return f" Of our two rules for that case {best} makes the MSE {number(rules[best])} times as large, at no cost in privacy."


def differences(claims: list[dict], measures: list[dict]) -> str:
    """Where the paper's text and the measurement differ, one line each; a line whose condition fails is left out."""
    value = {row["quantity"]: float(row["measured"]) for row in measures}
    ours, reference = value["deciding reading at 5"], value["nonprivate"]
    exact = {row["id"]: row["measured"] for row in claims if row["quantity"] == "exact epsilon where 1 is claimed"}
    kept = {name.rsplit(" ", 1)[1]: share for name, share in value.items() if name.startswith("positive definite at 1")}
    lost = [epochs for epochs, share in kept.items() if share == 0]
    single = min(share for name, share in value.items() if name.startswith("single at"))
    lines = {
        f"At epsilon = 5 the MSE is {number(ours)}, without privacy {number(reference)}: a factor of {number(ours / reference)}. "
        f"The two are comparable on a linear axis alone, where the gap is {100 * value['i']:.1f} % of the height.": ours
        > 2 * reference,
        f"The noise that Lemma 4.3 asks for at epsilon = 1 gives epsilon = {number(exact['A-L4.3'])} by exact accounting. "
        "The printed zCDP values are the cost of that noise, not the zCDP that corresponds to epsilon (E9).": float(
            exact["A-L4.3"]
        )
        < 1,
        f"At epsilon = 1 the noisy matrix of Algorithm 2 is not positive definite in any run with {', '.join(lost)} epochs, so the "
        f"printed minimiser does not exist there.{repaired(value)}": bool(lost),
        f"Own data (MSE {number(value['own'])}) beats every private single model ({number(single)}); "
        f"predicting zero has {number(value['zero'])}.": value["own"] < single,
        "The reading on which the verdict rests was chosen after a pilot had shown which readings give the published shape.": True,
        "The number of epochs is selected on the score, as the paper's appears to be. That selection is not private.": True,
    }
    return "\n".join(f"- {line}" for line, applies in lines.items() if applies)


def as_measured(row: dict) -> str:
    """A measured number with its interval, an exponent with what its finite grid adds."""
    low, high = (float(row[end] or "nan") for end in ("ci_low", "ci_high"))
    return number(row["measured"]) + (f" [{number(str(low))}, {number(str(high))}]" if low < high else "")


def plain(row: dict) -> str:
    """A measured number alone."""
    return number(row["measured"])


def comparison(measures: list[dict]) -> str:
    """Both papers at one budget, one line each."""
    rows = {row["quantity"]: row for row in measures if row["measured"] not in ("", "nan")}

    def at(prefix: str, say=as_measured) -> str:
        found = [name for name in rows if name.startswith(f"{prefix} at d = ")]
        return ", ".join(f"{say(rows[name])} at d = {name.split('= ')[1]}" for name in found)

    def between(method: str) -> str:
        ends = [rows[f"{word} exponent of d over settings, {method}"] for word in ("least", "largest")]
        return " to ".join(f"{as_measured(end)} ({end['note']})" for end in ends)

    lines = [
        f"Error against d over all settings of clips, label noise, rank, condition and epsilon: exponent {between('jain2021')} for jain2021, {between('shen2023')} "
        "for shen2023.",
        f"With the clips that public simulation prefers for each method: exponent {as_measured(rows['exponent A dist2'])} and {as_measured(rows['exponent B dist2'])}; "
        f"error of jain2021's Algorithms 1 to 3 over that of shen2023, on the same users, {at('A over B')}.",
        f"That factor is a property of the clips. Over all pairs of clips it is at least {at('least factor over clips', plain)} and at most "
        f"{at('largest factor over clips', plain)}.",
        f"With label noise of sd 1, which shen2023's theorem does not have, the factor is {at('A over B, label noise 1')}.",
        f"To reach one risk jain2021's method needs {at('users of A over B')} users for each one of shen2023's, an exponent of "
        f"{as_measured(rows['exponent of the ratio of users'])}.",
        f"With one clip for all d the exponent of shen2023 is {as_measured(rows['exponent B-fixed dist2'])}.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def confirmation(rows: list[dict], claims: list[dict]) -> str:
    """Whether a second master seed says the same, each quantity of which it does not, and what was revised since."""
    lines = [
        f"- {row['id']}, {row['quantity']}: {spelled(row)}, {row['verdict']}; then {spelled(row, 'confirmed_')}, {row['confirmed_verdict']}."
        for row in changed(rows)
    ]
    return "\n".join([agreement(rows), "", *lines, "", revised_since(rows, claims)]).rstrip()


def with_block(
    readme: str, claims: list[dict], measures: list[dict], tradeoff: list[dict], confirmed: list[dict]
) -> str:
    """The README with its comparison, its table, its differences and its confirmation replaced."""
    text = "\n\n".join(
        [
            "Both complete methods on the same users at the same exact budget:",
            comparison(tradeoff),
            "What became of each claim:",
            measured_block(claims),
            "Where the text on Figure 2 and the measurement differ:",
            differences(claims, measures),
            "The whole once more, on a master seed never used ([docs/confirmation.md](docs/confirmation.md)):",
            confirmation(confirmed, claims),
        ]
    )
    return BLOCK.sub(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", readme)


DOCS = {
    "claims.csv": "reports/claims.csv",
    "figure2_measures.csv": "results/default/figure2/measures.csv",
    "tradeoff_measures.csv": "results/default/tradeoff/measures.csv",
    "figure2.svg": "figures/jain2021/figure2.svg",
    "settings.svg": "figures/comparison/settings.svg",
}
"""File under docs/ -> file of the default run."""
TABLES = ("claims.csv", "figure2_measures.csv", "tradeoff_measures.csv", "confirmation.csv")
"""What the README's block is made of; the last is written by `make confirmation`."""


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, source in DOCS.items():
        shutil.copy(source, Path("docs") / name)
    readme = Path("README.md")
    tables = (read_rows(Path("docs") / name) for name in TABLES)
    readme.write_text(with_block(readme.read_text(), *tables))


if __name__ == "__main__":
    main()
