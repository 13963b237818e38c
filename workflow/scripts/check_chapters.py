"""Write the named chapters and texts of the report from stub tables, all without a name, to find names of unknown
quantities, claims or series without running a study."""

import argparse

from replication.report.chapters import TEXTS
from replication.report.stub_run import check
from replication.run.cli_errors import one_line_errors
from replication.run.config import study_names


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    for name in parser.parse_args().names or [*sorted(path.stem for path in TEXTS.glob("*.md")), *study_names()]:
        check(name)


if __name__ == "__main__":
    main()
