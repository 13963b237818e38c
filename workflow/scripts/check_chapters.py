"""Write the chapters of the report on stub tables, so that a name of no quantity, claim or series is found without a
run."""

import argparse

from replication.report.stub_run import check_chapter, check_page
from replication.run.cli_errors import one_line_errors


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*")
    args = parser.parse_args()
    check_page()
    for study in args.studies:
        check_chapter(study)


if __name__ == "__main__":
    main()
