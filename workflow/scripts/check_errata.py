"""Run the demonstration of every erratum and write reports/errata.csv, with the candidates that were set aside."""

from pathlib import Path

from replication.errata.demonstrations import DEMONSTRATIONS
from replication.evidence.catalogue import MENDED, SET_ASIDE, Erratum, read_errata
from replication.run.cli_errors import arguments, one_line_errors
from replication.run.csv_tables import write_rows


@one_line_errors
def main() -> None:
    args = arguments(__doc__, texts=Path, output=Path)
    rows, texts = [], read_errata(args.texts)
    for text in texts["errata"]:
        finding = DEMONSTRATIONS[text["id"]]()
        outcome = {"measured": finding.said(text["measured"]), "confirmed": "yes" if finding.confirmed else "no"}
        rows.append(text | {"claims": "; ".join(text["claims"])} | outcome)
    for text in texts["candidates"]:
        known = {name: text[name] for name in ("id", "paper", "place")}
        outcome = {"confirmed": MENDED if text.get("mended") else SET_ASIDE}
        rows.append(known | {"printed": text["suspected"], "correct": text["why"]} | outcome)
    write_rows(args.output, rows, (*Erratum.model_fields, "confirmed"))


if __name__ == "__main__":
    main()
