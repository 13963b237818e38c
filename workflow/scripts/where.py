"""Say where the report of a run is, and what its verdicts are."""

import argparse
from collections import Counter
from pathlib import Path

from privrep.config import read_config, run_name
from privrep.tables import read_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configfile", type=Path, nargs="*", default=[], help="scale overlays")
    parser.add_argument("--master-seed", type=int)
    args = parser.parse_args()
    config = read_config(args.configfile)
    if args.master_seed is not None:
        config["master_seed"] = args.master_seed
    run = run_name(config)
    reports = Path("reports") if run == "default" else Path("results") / run / "reports"
    verdicts = Counter(row["verdict"] for row in read_rows(reports / "claims.csv"))
    print("Verdicts: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    print(f"Report: {reports / 'index.html'}")


if __name__ == "__main__":
    main()
