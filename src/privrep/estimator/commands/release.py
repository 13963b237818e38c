"""The files of a fit: a release that may be published, and the folder `local`, which may not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jinja2
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import privrep
from privrep.estimator import PrivateRepresentation
from privrep.estimator.private_representation import LocalHeads
from privrep.estimator.shared_prior import SharedPrior
from privrep.users.whole_files import in_one_move, write_whole

RELEASE, LEDGER, REPORT, LOCAL, HEADS = "release.json", "ledger.csv", "report.html", "local", "heads.parquet"
DO_NOT_PUBLISH = (
    "heads.parquet has a model of each user, fitted on that user's rows alone with the published prior.\n"
    "It is not private: do not publish it. Give each user their own row, or keep the file as you keep the table.\n"
)
TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("privrep.estimator.commands"), autoescape=True, undefined=jinja2.StrictUndefined
)


def published(fitted: PrivateRepresentation) -> dict:
    """Return the contents of release.json."""
    return {
        "privrep": privrep.__version__,
        "privacy": fitted.privacy_.public,
        "advice": fitted.advice_,
        "shared": fitted.shared_.to_dict(),
    }


def read_release(path: Path) -> tuple[SharedPrior, dict]:
    """Return the prior of a release and all contents of its file, or raise ValueError that names the file."""
    try:
        read = json.loads(path.read_text())
        missing = [name for name in ("privacy", "advice", "shared") if name not in read]
        if missing:
            raise ValueError(f"it has no {missing[0]!r}")
        return SharedPrior.from_dict(read["shared"]), read
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is no release of privrep fit: {error}") from error


def write(fitted: PrivateRepresentation, folder: Path) -> None:
    """Write all files of a fit into an empty folder."""
    write_whole(folder / LOCAL / "README", DO_NOT_PUBLISH)
    write_heads(fitted.local_, fitted.shared_, folder / LOCAL / HEADS)
    write_whole(folder / LEDGER, ledger_table(fitted))
    write_whole(folder / REPORT, page(fitted))
    write_whole(folder / RELEASE, json.dumps(published(fitted), indent=1))


def write_heads(heads: LocalHeads, shared: SharedPrior, path: Path) -> None:
    """Write ids and vectors of heads as Parquet that only the owner may read."""
    names = [f"head_{number}" for number in range(shared.schema.dim)]
    table = pa.table([pa.array(heads.ids), *map(pa.array, heads.vectors.T)], ["user", *names])
    with in_one_move(path) as temporary:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        parquet.write_table(table, temporary)


def ledger_table(fitted: PrivateRepresentation) -> str:
    """Return all releases as CSV."""
    rows = [(one.name, one.sensitivity, one.noise_sd, one.mu) for one in fitted.ledger_.entries]
    return pd.DataFrame(rows, columns=["release", "sensitivity", "noise_sd", "mu"]).to_csv(index=False)


def page(fitted: PrivateRepresentation) -> str:
    """Return report.html."""
    spectrum = fitted.shared_.spectrum
    return TEMPLATES.get_template("report.html.jinja").render(
        privacy=fitted.privacy_,
        advice=fitted.advice_,
        spectrum=[(value, 100 * value / spectrum[0] if spectrum[0] else 0.0) for value in spectrum[:20]],
        entries=fitted.ledger_.entries,
        version=privrep.__version__,
    )
