"""Write the list of every rule, window and exclusion, or say what is not as listed.

    python workflow/scripts/list_rules.py
    python workflow/scripts/list_rules.py --write tests/reference/rules.csv --reason "grid moved to a smaller share"
    python workflow/scripts/list_rules.py --write tests/reference/rules.csv --where risk --reason "..."

A row that changes, comes or goes gets the reason; without one nothing is written. --where brings up to date only rows with this
text in their kind, place or name, so that each change can have a reason of its own. The first form exits with 1
when something differs.
"""

import argparse
import sys
from pathlib import Path

from privrep.report.rule_list import RULE_COLUMNS, RulesError, differences, rules, updated
from privrep.run.config import ROOT, ConfigError
from privrep.run.csv_tables import read_rows, write_rows

LISTED = ROOT / "tests" / "reference" / "rules.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="list to bring up to date")
    parser.add_argument("--reason", default="", help="why the rules changed")
    parser.add_argument("--where", default="", help="change only rows with this text in kind, place or name")
    args = parser.parse_args()
    path = args.write or LISTED
    listed = read_rows(path) if path.exists() else []
    try:
        current = rules()
        if not args.write:
            lines = differences(listed, current)
            print("\n".join(lines) or "All rules are as listed.")
            sys.exit(bool(lines))
        write_rows(path, updated(listed, current, args.reason, args.where), RULE_COLUMNS)
    except (ConfigError, RulesError) as error:
        sys.exit(f"list_rules.py: {error}")


if __name__ == "__main__":
    main()
