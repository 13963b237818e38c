"""Bring docs/ and the findings in the README up to date with the default run: `make docs`."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd

from privrep.report.documents import Documented, results_page, with_findings
from privrep.report.run_tables import read_text
from privrep.run.cli_errors import one_line_errors
from privrep.run.config import chapters
from privrep.run.costs import COLUMNS, TABLE, measured
from privrep.run.csv_tables import read_rows, write_rows
from privrep.run.provenance import cpu_model

COPIES = {
    "claims.csv": "reports/claims.csv",
    "promise.svg": "figures/comparison/promise.svg",
}
"""File under docs/ -> file of the default run."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def picture(page: Path, target: Path) -> None:
    """The first screen of the report as a PNG, where there is a browser; the last picture stays otherwise."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"{target} stays as it is: none of {', '.join(BROWSERS)} is installed", file=sys.stderr)
        return
    words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,1000"]
    subprocess.run(
        [browser, *words, f"--screenshot={target}", page.resolve().as_uri()], check=True, capture_output=True
    )


def job_costs() -> list[dict]:
    """What jobs cost, scale by scale: as finished runs in this folder measured it, and else as it stood."""
    rows = read_rows(TABLE)
    for results in Path("results").iterdir():
        scale, reports = results.name, Path("reports") if results.name == "default" else results / "reports"
        if "-seed" not in scale and (reports / "index.html").exists():
            rows = [row for row in rows if row["scale"] != scale]
            rows += [dict(zip(COLUMNS, (scale, *cost, cpu_model()), strict=True)) for cost in measured(scale).items()]
    return sorted(rows, key=lambda row: (row["scale"], row["job"]))


@one_line_errors
def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, source in COPIES.items():
        shutil.copy(source, Path("docs") / name)
    tables = [read_text(f"results/default/{study}/measures.csv").assign(study=study) for study in chapters()]
    pd.concat(tables).to_csv("docs/measures.csv", index=False)
    write_rows(TABLE, job_costs(), COLUMNS)
    picture(Path("reports/index.html"), Path("docs/report.png"))
    Path("docs/results.md").write_text(results_page())
    readme = Path("README.md")
    readme.write_text(with_findings(readme.read_text(), Documented()))


if __name__ == "__main__":
    main()
