"""Write the chapters of the report on made-up tables, so that a name of no quantity, claim or series is found without a run."""

import argparse
import sys

from privrep.report.rehearsal import rehearse, rehearse_page
from privrep.run.settings import ConfigError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*")
    args = parser.parse_args()
    try:
        rehearse_page()
        for study in args.studies:
            rehearse(study)
    except ConfigError as error:
        sys.exit(f"rehearse_chapters.py: {error}")


if __name__ == "__main__":
    main()
