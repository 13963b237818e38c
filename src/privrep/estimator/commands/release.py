"""The files of a fit, in two folders side by side: `public` may be published, and `private` may not."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import privrep
from privrep.estimator import PrivateRepresentation
from privrep.estimator.private_representation import LocalHeads
from privrep.estimator.shared_prior import SharedPrior
from privrep.estimator.statement import strength
from privrep.options import check_count
from privrep.users.problem import Block
from privrep.users.table_files import naming
from privrep.users.whole_files import in_one_move, write_whole

PUBLIC, PRIVATE = "public", "private"
RELEASE, LEDGER, REPORT, HEADS = "release.json", "ledger.csv", "report.html", "heads.parquet"
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


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of the contents of a file into ValueErrors that name it."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ValueError(f"{path} is no release of privrep fit, or was edited: {error}") from None


def read_release(path: Path) -> tuple[SharedPrior, dict]:
    """Return the prior of a release and all contents of its file, or raise ValueError that names the file."""
    with reading(path):
        read = json.loads(path.read_text(encoding="utf-8"))
        missing = [name for name in ("privacy", "advice", "shared") if name not in read]
        if missing:
            raise ValueError(f"it has no {missing[0]!r}")
        shared = SharedPrior.from_dict(read["shared"])
        dim = shared.schema.dim
        if shared.mean.shape != (dim,) or not np.isfinite(shared.mean).all():
            raise ValueError(f"mean must have {dim} finite numbers")
        check_count("max_samples", shared.max_samples)
        nobody = Block(0, np.zeros((1, 1, dim), np.float32), np.zeros((1, 1), np.float32))
        shared.labels(shared.heads.heads(nobody)[:, 0])  # an error where lengths do not fit
        return shared, read


def read_heads(path: Path, shared: SharedPrior) -> LocalHeads:
    """Return the heads that `write_heads` has written, or raise ValueError that names the file."""
    with naming(path):
        read = parquet.read_table(path)
    if read.column_names != head_columns(shared):
        raise ValueError(f"{path} has other columns than heads of this release, user and {shared.schema.dim} numbers")
    users, *columns = (column.to_numpy() for column in read.columns)
    return LocalHeads(users, *np.split(np.stack(columns, axis=1), [shared.schema.dim], axis=1))


def write(fitted: PrivateRepresentation, folder: Path) -> None:
    """Write all files of a fit into an empty folder."""
    public, private = folder / PUBLIC, folder / PRIVATE
    private.mkdir(mode=0o700)
    write_whole(private / "README", DO_NOT_PUBLISH)
    write_heads(fitted.local_, fitted.shared_, private / HEADS)
    write_whole(public / LEDGER, ledger_table(fitted))
    write_whole(public / REPORT, page(fitted))
    write_whole(public / RELEASE, json.dumps(published(fitted), indent=1))


def head_columns(shared: SharedPrior) -> list[str]:
    """Return the names of the columns of a file of heads."""
    dim = shared.schema.dim
    return ["user", *map("head_{}".format, range(dim)), *map("doubt_{}".format, range(dim + 2))]


def write_heads(heads: LocalHeads, shared: SharedPrior, path: Path) -> None:
    """Write ids, vectors and doubts of heads as Parquet that only the owner may read."""
    columns = [heads.ids, *heads.vectors.T, *heads.doubts.T]
    write_private(pa.table([*map(pa.array, columns)], head_columns(shared)), path)


def write_private(table: pa.Table, path: Path) -> None:
    """Write a table as Parquet that only the owner may read."""
    with in_one_move(path) as temporary:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        parquet.write_table(table, temporary)


def ledger_table(fitted: PrivateRepresentation) -> str:
    """Return all releases as CSV."""
    rows = pd.DataFrame([vars(one) | {"release": one.name, "mu": one.mu} for one in fitted.ledger_.entries])
    return rows[["release", "sensitivity", "noise_sd", "mu"]].to_csv(index=False)


def page(fitted: PrivateRepresentation) -> str:
    """Return report.html."""
    spectrum = fitted.shared_.spectrum
    return TEMPLATES.get_template("report.html.jinja").render(
        privacy=fitted.privacy_,
        strength=strength,
        advice=fitted.advice_,
        spectrum=[(value, 100 * value / spectrum[0] if spectrum[0] else 0.0) for value in spectrum[:20]],
        entries=fitted.ledger_.entries,
        version=privrep.__version__,
    )
