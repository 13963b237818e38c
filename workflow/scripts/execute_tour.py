"""Execute the tour of the results in the folder of a run's tables, and write it as a notebook with its outputs."""

import os
import re
import sys
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from privrep.users.whole_files import write_whole
from replication.run.cli_errors import arguments, one_line_errors

SECONDS = 600
"""Time limit of one cell."""


@one_line_errors
def main() -> None:
    args = arguments(__doc__, source=Path, output=Path)
    notebook = jupytext.read(args.source)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # otherwise drawn at random each time
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"IPYTHONDIR": scratch, "JUPYTER_RUNTIME_DIR": scratch, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        place = {"metadata": {"path": str(args.output.parent)}}
        try:
            NotebookClient(notebook, timeout=SECONDS, resources=place, record_timing=False).execute()
        except CellExecutionError as error:
            traceback = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
            sys.exit(f"execute_tour.py: a cell of {args.source} failed\n{traceback}")
    write_whole(args.output, nbformat.writes(notebook))


if __name__ == "__main__":
    main()
