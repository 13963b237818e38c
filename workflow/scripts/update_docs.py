"""Bring docs/ and the findings in the README up to date with the default run: `make docs`."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd

from privrep.report.documents import Documented, results_page, with_findings
from privrep.report.run_tables import read_text
from privrep.run.config import chapters
from privrep.run.plainly import plainly

COPIES = {
    "claims.csv": "reports/claims.csv",
    "figure2.svg": "figures/beyond/figure2.svg",
    "settings.svg": "figures/comparison/settings.svg",
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


@plainly
def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, source in COPIES.items():
        shutil.copy(source, Path("docs") / name)
    tables = [read_text(f"results/default/{study}/measures.csv").assign(study=study) for study in chapters()]
    pd.concat(tables).to_csv("docs/measures.csv", index=False)
    picture(Path("reports/index.html"), Path("docs/report.png"))
    Path("docs/results.md").write_text(results_page())
    readme = Path("README.md")
    readme.write_text(with_findings(readme.read_text(), Documented()))


if __name__ == "__main__":
    main()
