"""Write the chapters of the report from stub tables, to find names of unknown quantities, claims or series without
running a study."""

import argparse

from replication.report.chapters import TEXTS
from replication.report.stub_run import check
from replication.run.cli_errors import one_line_errors


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*")
    args = parser.parse_args()
    for name in [*sorted(path.stem for path in TEXTS.glob("*.md")), *args.studies]:
        check(name)


if __name__ == "__main__":
    main()
