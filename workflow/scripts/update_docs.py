"""Bring the README's picture and its table of verdicts up to date with the default run: `make docs`."""

import argparse
import re
import shutil
from pathlib import Path

from privrep.tables import read_rows

BLOCK = re.compile(r"(<!-- measured: [^\n]*-->\n).*?(<!-- end of measured -->)", flags=re.DOTALL)


def number(text: str) -> str:
    """Three significant digits."""
    return f"{float(text):.3g}" if text else ""


def measured_block(claims: list[dict]) -> str:
    """The claims as a Markdown table."""
    lines = ["| claim | quantity | claimed | measured | verdict |", "|---|---|---|---|---|"]
    for row in claims:
        interval = f" [{number(row['ci_low'])}, {number(row['ci_high'])}]" if row["ci_low"] != row["ci_high"] else ""
        quantity = row["quantity"].replace("|", "\\|")
        lines.append(
            f"| {row['id']} | {quantity} | {row['claimed']} | {number(row['measured'])}{interval} | {row['verdict']} |"
        )
    return "\n".join(lines)


def with_block(readme: str, claims: list[dict]) -> str:
    """The README with its table replaced."""
    return BLOCK.sub(lambda match: f"{match[1]}\n{measured_block(claims)}\n\n{match[2]}", readme)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=Path, default=Path("reports/claims.csv"))
    parser.add_argument("--figure", type=Path, default=Path("figures/jain2021/figure2.svg"))
    args = parser.parse_args()
    docs, readme = Path("docs"), Path("README.md")
    shutil.copy(args.figure, docs / "figure2.svg")
    shutil.copy(args.claims, docs / "claims.csv")
    readme.write_text(with_block(readme.read_text(), read_rows(docs / "claims.csv")))


if __name__ == "__main__":
    main()
