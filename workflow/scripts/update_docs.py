"""Bring the README's picture, its table of verdicts and its differences up to date with the default run: `make docs`."""

import argparse
import re
import shutil
from collections import Counter
from pathlib import Path

from privrep.tables import read_rows

BLOCK = re.compile(r"(<!-- measured: [^\n]*-->\n).*?(<!-- end of measured -->)", flags=re.DOTALL)


def number(text: str) -> str:
    """Three significant digits."""
    return f"{float(text):.3g}" if text else ""


BAD = ("VIOLATED", "FALSE-AS-PRINTED", "NOT-REPRODUCED")
"""Verdicts that contradict a paper."""


def interval(row: dict) -> str:
    """A measured number with its interval; an exponent without what its finite grid adds."""
    low, high = (float(row[end] or "nan") for end in ("ci_low", "ci_high"))
    shift = float(row["corrected"]) - float(row["measured"]) if row["corrected"] else 0.0
    ends = f" [{number(str(low + shift))}, {number(str(high + shift))}]" if low < high else ""
    return number(row["corrected"] or row["measured"]) + ends


def measured_block(claims: list[dict]) -> str:
    """The verdicts on each claim, counted, and every quantity that contradicts its paper, as two Markdown tables."""
    counts: dict[str, Counter] = {}
    for row in claims:
        counts.setdefault(row["id"], Counter())[row["verdict"]] += 1
    places = {row["id"]: row["place"] for row in claims}
    lines = ["| claim | place | verdicts on its quantities |", "|---|---|---|"]
    for claim, words in counts.items():
        lines.append(f"| {claim} | {places[claim]} | {', '.join(f'{count} {word}' for word, count in words.items())} |")
    lines += [
        "",
        "Where a statement fails:",
        "",
        "| claim | quantity | claimed | measured | verdict |",
        "|---|---|---|---|---|",
    ]
    for row in claims:
        if row["verdict"] in BAD:
            quantity = row["quantity"].replace("|", "\\|")
            lines.append(f"| {row['id']} | {quantity} | {row['claimed']} | {interval(row)} | {row['verdict']} |")
    return "\n".join(lines)


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
        f"The two are comparable on the paper's linear axis alone, where the gap is {100 * (ours - reference) / value['random']:.1f} % "
        "of the height.": ours > 2 * reference,
        f"The noise that Lemma 4.3 asks for at epsilon = 1 gives epsilon = {number(exact['A-L4.3'])} by exact accounting. "
        "The printed zCDP values are the cost of that noise, not the zCDP that corresponds to epsilon (E9).": float(
            exact["A-L4.3"]
        )
        < 1,
        f"At epsilon = 1 the noisy matrix of Algorithm 2 is not positive definite in any run with {', '.join(lost)} epochs, so the "
        "printed minimiser does not exist there.": bool(lost),
        f"Own data (MSE {number(value['own'])}) beats every private single model ({number(single)}); "
        f"predicting zero has {number(value['zero'])}.": value["own"] < single,
        "The number of epochs is selected on the score, as the paper's appears to be. That selection is not private.": True,
    }
    return "\n".join(f"- {line}" for line, applies in lines.items() if applies)


def with_block(readme: str, claims: list[dict], measures: list[dict]) -> str:
    """The README with its table and its differences replaced."""
    text = f"{measured_block(claims)}\n\nWhere the text on Figure 2 and the measurement differ:\n\n{differences(claims, measures)}"
    return BLOCK.sub(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", readme)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=Path, default=Path("reports/claims.csv"))
    parser.add_argument("--measures", type=Path, default=Path("results/default/figure2/measures.csv"))
    parser.add_argument("--figure", type=Path, default=Path("figures/jain2021/figure2.svg"))
    args = parser.parse_args()
    docs, readme = Path("docs"), Path("README.md")
    shutil.copy(args.figure, docs / "figure2.svg")
    shutil.copy(args.claims, docs / "claims.csv")
    shutil.copy(args.measures, docs / "figure2_measures.csv")
    tables = read_rows(docs / "claims.csv"), read_rows(docs / "figure2_measures.csv")
    readme.write_text(with_block(readme.read_text(), *tables))


if __name__ == "__main__":
    main()
