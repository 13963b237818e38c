"""A page rendered from stub tables: three studies of one number throughout, and figures of a few points."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from workflow_helpers import patience

from privrep.users.whole_files import write_whole
from replication.drawing import ENDS, Look, Picture
from replication.drawing.style import save
from replication.evidence.claims import CLAIM_COLUMNS, judge
from replication.evidence.facts import facts_json
from replication.evidence.findings import write_numbers
from replication.evidence.quantities import checked_claims
from replication.report.page import page
from replication.report.run_tables import Run
from replication.report.stub_run import StubRun, facts_of, planned_sizes, quantities, stub_rows
from replication.run.config import read_yaml
from replication.run.settings import settings_of

ROOT = Path(__file__).resolve().parents[1]
STUDIES = ("accounting", "figure2", "guide")
"""Those of the stub run."""
SIMULATED = ("figure2", "guide")
"""Those that have cells."""
NUMBER = 0.5
"""What all of its quantities are."""
DRAWN = "jain2021/figure2"
"""The figure that is drawn; the others are `SVG`."""
SVG = """<?xml version="1.0"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="90pt" height="60pt" viewBox="0 0 90 60"
 xmlns="http://www.w3.org/2000/svg" version="1.1">
 <metadata><about href="https://example.org/"/></metadata>
 <defs><style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style>
 <clipPath id="p1"><rect width="90" height="60"/></clipPath><path id="mark" d="M 0 0 L 1 1"/></defs>
 <g id="axes_1" clip-path="url(#p1)"><use xlink:href="#mark" x="3"/><text>costs $5 and $6</text></g>
</svg>
"""


def drawn_figure() -> Picture:
    """Two panels on logarithmic axes: a line with intervals, and another without."""
    figure = Picture()
    left, right = figure.panels(6, 3, ncols=2)
    table = pd.DataFrame({"x": [1, 10, 100], "y": [0.5, 0.05, 0.005], "other": [0.3, 0.2, 0.1], "two": [1, 3, np.nan]})
    table = table.assign(low=0.8 * table["y"], high=1.2 * table["y"], n=[2, 4, 6])
    left.series(table, "x", "y", Look(r"private $\sigma_F$", "#0072B2"), ends=ENDS)
    left.series(table, "x", "other", Look("other", "#E69F00", "s", ""))
    right.series(table, "n", "two", Look("", "#0072B2"))
    left.label("epsilon", "error", "left", "xy")
    right.label("n", title="right")
    figure.finish()
    return figure


FIGURES = [figure for study in STUDIES for figure in read_yaml(ROOT / settings_of(study))["figures"]]


def guide_cells() -> pd.DataFrame:
    """Cells of the guide with a risk of its own for each method, setting and repetition."""
    cells = StubRun(NUMBER).cells("guide")
    number = cells["series"].astype("category").cat.codes
    factor = 1.05**number * (1.2 + 0.2 * np.sin(cells["users"] + number)) * (1 + cells["seed"])
    return cells.assign(excess_risk=0.02 * cells["rank"] * factor)


def write_run(folder: Path, **changes: float) -> Path:
    """A run of three studies in a folder: tables of one number throughout, and pictures.
    Keywords, with _ for blanks, give quantities of figure2 another number."""
    changes = {name.replace("_", " "): str(value) for name, value in changes.items()}
    measures = {study: {row["quantity"]: row for row in stub_rows(study, NUMBER)} for study in STUDIES}
    for name, value in changes.items():
        measures["figure2"][name] |= dict.fromkeys(("measured", "ci_low", "ci_high"), value)
    for study, rows in measures.items():
        (folder / "results" / study).mkdir(parents=True)
        pd.DataFrame(rows.values()).to_csv(folder / "results" / study / "measures.csv", index=False)
        run = StubRun(NUMBER)
        cells = guide_cells() if study == "guide" else run.cells(study)
        facts = facts_json(facts_of(study), cells, quantities(run.measures(study)))
        (folder / "results" / study / "facts.json").write_text(facts)
    for study in SIMULATED:
        planned_sizes(study).to_csv(folder / "results" / study / "sizes.csv", index=False)
    judged = (judge(claims, paper, measures, "quick", "figures") for paper, claims in checked_claims().items())
    table = pd.DataFrame([row for rows in judged for row in rows], columns=list(CLAIM_COLUMNS))
    table.to_csv(folder / "claims.csv", index=False)
    erratum = {"id": "E9", "paper": "jain2021", "place": "Section 6", "severity": "T", "changes": "nothing"}
    erratum |= {"same_as": "", "claims": "A-F2; A-zCDP", "printed": "sigma_F^2", "correct": "2 sigma_F^2"}
    erratum |= {"demonstration": "Arithmetic.", "measured": "2", "confirmed": "yes"}
    pd.DataFrame([erratum]).to_csv(folder / "errata.csv", index=False)
    record = {"commit": "0123456789abcdef", "dirty": True, "config_sha256": "f" * 64, "python": "3.11"}
    record |= {"config": {"scale": "quick", "master_seed": 7, "studies": list(STUDIES)}, "packages": {"numpy": "2.4"}}
    record |= {"platform": "Linux", "cpu": "abacus", "blas": {}, "finished": "2021-12-06T00:00:00+00:00"}
    record |= {"jobs": 11, "job_seconds": 754.0, "share_of_job_time_inside_cells": 0.5}
    (folder / "provenance.json").write_text(json.dumps(record))
    for figure in FIGURES:
        path = folder / "figures" / f"{figure}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        if figure == DRAWN:
            save(drawn_figure(), path.with_suffix(""))
            write_numbers(path.with_suffix(".csv"), pd.DataFrame({"epsilon": [1, 10], "mse": [0.5, 0.05]}))
        else:
            path.write_text(SVG)
            path.with_suffix(".csv").write_text("epsilon,mse\n1,0.5\n")
    return folder


def rendered_run(folder: Path, **changes: float) -> Path:
    """A run with its page; keywords as for `write_run`."""
    run = Run.read(write_run(folder, **changes), folder / "results", folder / "figures")
    write_whole(folder / "reports/index.html", page(run))
    return folder


def write_differences(docs: Path, *entries: dict) -> None:
    """Why rows of the default run have another verdict than those of the run of record."""
    (docs / "record").mkdir(parents=True, exist_ok=True)
    (docs / "record" / "differences.yaml").write_text(yaml.safe_dump({"differences": list(entries)}))


def unpacked(text: str) -> dict:
    """What a figure of the page holds: its points and its numbers."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


def render(folder: Path, *more: str) -> subprocess.CompletedProcess:
    """Run the script on the tables of a folder; `more` are words after the others."""
    places = {"reports": "", "results": "results", "figures": "figures", "output": "reports/index.html"}
    words = [sys.executable, str(ROOT / "workflow/scripts/render_report.py")]
    words += [word for name, place in places.items() for word in (f"--{name}", str(folder / place))]
    return subprocess.run([*words, *more], capture_output=True, text=True, timeout=patience())
