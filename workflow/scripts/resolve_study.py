"""Write the settings that the run resolved for one purpose of a study to the file that its jobs read."""

import argparse
import json
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True, type=json.loads, help="resolved settings as JSON")
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(args.settings, indent=1) + "\n")


if __name__ == "__main__":
    main()
