"""Bring docs/ and the findings in the README up to date: `make docs`.

    python workflow/scripts/update_docs.py
    python workflow/scripts/update_docs.py --record record

With --record a finished run of a clean tree becomes the run of record first: its tables go to docs/record, its page to
docs/index.html. The documents are made of the run of record, and of the default run in docs/confirmation.csv.
"""

import argparse
import hashlib
import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

from privrep.users.whole_files import write_whole
from replication.report.chapters import MARK, chapter, text
from replication.report.documents import Documented, pages, with_findings
from replication.report.page import page
from replication.report.run_tables import Run, read_text
from replication.run.cli_errors import one_line_errors
from replication.run.config import chapters
from replication.run.provenance import clean_record

RECORD, SECONDS = Path("docs/record"), Path("workflow/seconds.csv")


def write_record(name: str) -> None:
    """Write the tables, the page and one picture of a run as those of record, if its chapters' statements hold."""
    results = Path("results") / name
    reports, figures = ((Path() if name == "default" else results) / kind for kind in ("reports", "figures"))
    clean_record(reports)
    run = Run.read(reports, results, figures, alone=True)
    texts = [text("opening", run), *(chapter(study, run) for study in chapters())]
    if (against := re.findall(rf"<span {MARK}>(.*)", "\n".join(texts))) and not run.small:
        lines = "\n".join(re.sub("<[^>]+>", "", line) for line in against)
        sys.exit(f"update_docs.py: statements of chapters fail in the run of record; correct them:\n{lines}")
    RECORD.mkdir(exist_ok=True)
    for file in ("claims.csv", "errata.csv", "provenance.json"):
        shutil.copy(reports / file, RECORD)
    tables = [read_text(results / study / "measures.csv").assign(study=study) for study in chapters()]
    pd.concat(tables).to_csv(RECORD / "measures.csv", index=False)
    shutil.copy(results / "audits" / "cells.csv", RECORD / "audits.csv")
    kept = sorted(set(RECORD.glob("*.[cj]s*")) - {RECORD / "images.csv", RECORD / "discrepancies.csv"})
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in kept]
    (RECORD / "SHA256SUMS").write_text("".join(sums))
    write_whole(Path("docs/index.html"), page(run))
    shutil.copy(figures / "comparison" / "promise.svg", "docs/promise.svg")


def write_seconds() -> None:
    """Write what each job took at the scales that ran here, by which a run foretells its end and starts the longest
    jobs first."""
    table = pd.read_csv(SECONDS, index_col="job")
    for scale in table:
        folder, taken = Path("benchmarks", str(scale)), defaultdict(list)
        for path in folder.rglob("*.tsv"):
            job = re.sub(r"-\d+$", "", path.relative_to(folder).with_suffix("").as_posix())
            taken[job].append(pd.read_csv(path, sep="\t")["cpu_time"][0])
        for job, seconds in taken.items():
            table.loc[job, scale] = float(f"{np.mean(seconds):.2g}")
    table.sort_index().to_csv(SECONDS)


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", metavar="RUN", help="folder below results/ of the new run of record")
    args = parser.parse_args()
    if args.record:
        write_record(args.record)
    write_seconds()
    for name, document in pages().items():
        write_whole(Path("docs") / name, document)
    Path("README.md").write_text(with_findings(Path("README.md").read_text(), Documented()))


if __name__ == "__main__":
    main()
