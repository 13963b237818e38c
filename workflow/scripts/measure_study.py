"""Merge the rows of a study's shards into one table, and write the results that follow from it: the quantities of
claims, the numbers of the figures, and further facts of the page.

The study's folder of a run holds the settings (replication.run.resolved) and the shards; cells.csv, timings.csv,
sizes.csv, measures.csv and facts.json are written there.
"""

import importlib
from dataclasses import asdict
from pathlib import Path

from replication.evidence.cells import read_cells, sizes_of
from replication.evidence.facts import Quantities, facts_json
from replication.evidence.findings import write_numbers
from replication.evidence.measured import MEASURE_COLUMNS, check_names
from replication.run.cli_errors import arguments, one_line_errors
from replication.run.columns import settings_columns
from replication.run.csv_tables import write_rows
from replication.run.grids import merge_study
from replication.run.resolved import write_if_changed
from replication.run.settings import MeasureSettings, ShardSettings, read_settings


@one_line_errors
def main() -> None:
    args = arguments(__doc__, folder=Path, figures=Path)
    folder = args.folder
    study = read_settings(MeasureSettings, folder / "measure.json")
    simulation = read_settings(ShardSettings, folder / "shards.json").study
    if simulation.series:
        merge_study(simulation, folder)
    cells = read_cells(folder / "cells.csv" if simulation.series else None)
    if cells is not None:
        write_numbers(folder / "sizes.csv", sizes_of(cells, settings_columns(simulation)))
    analysis = importlib.import_module(f"replication.studies.{study.study}.analysis")
    findings = analysis.analyse(cells, study)
    check_names(findings.quantities, study)
    tables = findings.numbers(study)
    facts = facts_json(getattr(analysis, "FACTS", {}), cells, Quantities(findings.quantities))
    write_rows(folder / "measures.csv", [asdict(measure) for measure in findings.quantities], MEASURE_COLUMNS)
    write_if_changed(folder / "facts.json", facts)
    for figure, numbers in tables.items():
        write_numbers(args.figures / f"{figure}.csv", numbers)


if __name__ == "__main__":
    main()
