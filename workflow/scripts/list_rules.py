"""Write every rule, window and exclusion, or say what is not as listed.

    python workflow/scripts/list_rules.py
    python workflow/scripts/list_rules.py --write tests/reference/rules.csv --reason "grid moved to a smaller share"
    python workflow/scripts/list_rules.py --write tests/reference/rules.csv --where "grid risk" --reason "..."

The text of the rules stands beside their table, in rules.txt; both are written. A rule that changes, comes or goes gets
the reason; without one nothing is written. --where brings up to date only rules with these words in their title, so
that each change can have a reason of its own. The first form prints the old and the new lines of what changed, and
exits with 1 when there are any.
"""

import argparse
import sys
from pathlib import Path

from privrep.report.rule_list import RULE_COLUMNS, RulesError, differences, partly, read_text, rules, text_of, updated
from privrep.run.cli_errors import one_line_errors
from privrep.run.config import ROOT, ConfigError
from privrep.run.csv_tables import read_rows, write_rows

LISTED = ROOT / "tests" / "reference" / "rules.csv"


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="table to bring up to date, with the text beside it")
    parser.add_argument("--reason", default="", help="why the rules changed")
    parser.add_argument("--where", default="", help="change only rules with these words in their title")
    args = parser.parse_args()
    path = args.write or LISTED
    text = path.with_suffix(".txt")
    rows = read_rows(path) if path.exists() else []
    listed = read_text(text.read_text().splitlines()) if text.exists() else {}
    try:
        current = rules()
        if not args.write:
            lines = differences(rows, listed, current)
            print("\n".join(lines) or "All rules are as listed.")
            sys.exit(bool(lines))
        current = partly(listed, current, args.where)
        rows = updated(rows, current, args.reason)
    except (ConfigError, RulesError) as error:
        sys.exit(f"list_rules.py: {error}")
    text.write_text(text_of(current))
    write_rows(path, rows, RULE_COLUMNS)


if __name__ == "__main__":
    main()
