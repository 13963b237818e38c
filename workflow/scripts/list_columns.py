"""Write docs/columns.md, the dictionary of all columns of cells.csv, from what the algorithms say of theirs."""

import argparse
from pathlib import Path

from privrep.run.cli_errors import one_line_errors
from privrep.run.columns import dictionary


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs/columns.md"))
    parser.parse_args().output.write_text(dictionary())


if __name__ == "__main__":
    main()
