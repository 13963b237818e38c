"""The files of a fit, in two folders side by side: `public` may be published, and `private` may not."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import privrep
from privrep.estimator import PrivateRepresentation
from privrep.estimator.private_representation import LocalHeads
from privrep.estimator.shared_prior import VERSION, SharedPrior
from privrep.estimator.statement import LABEL, statement, strength
from privrep.users.table_files import naming
from privrep.users.whole_files import in_one_move, write_whole

PUBLIC, PRIVATE = "public", "private"
PARTS = ("privacy", "advice", "shared", "files")
RELEASE, LEDGER, REPORT, HEADS = "release.json", "ledger.csv", "report.html", "heads.parquet"
DO_NOT_PUBLISH = (
    "heads.parquet contains a model of each user, fitted on that user's rows alone with the published prior.\n"
    "It is not private: do not publish it. Give each user their own row, or keep the file as you keep the table.\n"
    "The column check shows that a row belongs to the release and is complete; files may be split and joined.\n"
)
TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("privrep.estimator.commands"), autoescape=True, undefined=jinja2.StrictUndefined
)


def sha256(value: object) -> str:
    """Hash a JSON value."""
    return hashed(json.dumps(value, sort_keys=True).encode())


def hashed(content: bytes) -> str:
    """Hash the content of a file."""
    return hashlib.sha256(content).hexdigest()


def hashes(contents: dict) -> dict[str, str]:
    """Hash all entries of a release, by name. This detects accidental changes; an editor can renew them."""
    return {f"{part}: {name}": sha256(value) for part in PARTS for name, value in contents[part].items()}


def read_release(path: Path) -> tuple[SharedPrior, dict]:
    """Return the prior of a release and all contents of its file, with the statement rebuilt from its numbers; raise
    ValueError that names the file, and the entry that was changed."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        for name in PARTS:
            if not isinstance(read.get(name), dict):
                raise ValueError(f"it has no {name!r}")
        actual, written = hashes(read), dict(read.get("sha256", ()))
        wrong = sorted(name for name in actual | written if actual.get(name) != written.get(name))
        if wrong and read["shared"].get("version") == VERSION:
            raise ValueError(f"{wrong[0]} was changed after it was written")
        shared = SharedPrior.from_dict(read["shared"])
        stated = {name: read["privacy"][name] for name in signature(statement).parameters}
        return shared, read | {"privacy": statement(**stated)}
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is no release of privrep fit, or was edited: {error}") from None


def read_heads(path: Path, shared: SharedPrior, release: dict) -> LocalHeads:
    """Return all or some of the heads that `write_heads` wrote for the release with these hashes; raise ValueError that
    names the file, and the row."""
    with naming(path):
        read = parquet.read_table(path)
    if read.column_names != head_columns(shared) or not all(map(pa.types.is_floating, read.schema.types[1:-1])):
        raise ValueError(f"{path} has other columns than heads of this release with {shared.schema.dim} numbers each")
    users, *columns, written = (column.to_numpy() for column in read.columns)
    heads = LocalHeads(users, *np.split(np.stack(columns, axis=1), [shared.schema.dim], axis=1))
    if not pd.Index(users).is_unique:
        raise ValueError(f"{path} has a user twice")
    if not (same := checks(heads, release) == written).all():
        raise ValueError(f"{path}: row {np.argmin(same) + 1} belongs to another release, or was edited")
    return heads


def write(fitted: PrivateRepresentation, folder: Path) -> None:
    """Write all files of a fit into an empty folder."""
    public, private = folder / PUBLIC, folder / PRIVATE
    contents = {"privacy": fitted.privacy_, "advice": fitted.advice_, "shared": fitted.shared_.to_dict()}
    texts = {LEDGER: ledger_table(fitted.privacy_["releases"]), REPORT: page(fitted)}
    contents["files"] = {name: hashed(text.encode()) for name, text in texts.items()}
    contents["sha256"] = hashes(contents)
    private.mkdir(mode=0o700)
    write_whole(private / "README", DO_NOT_PUBLISH)
    write_heads(fitted.local_, fitted.shared_, contents["sha256"], private / HEADS)
    for name, text in (texts | {RELEASE: json.dumps(contents, indent=1)}).items():
        write_whole(public / name, text)


def audited(folder: Path) -> tuple[dict, int]:
    """Return the contents of a release and the number of heads beside it; raise ValueError that names the file if these
    are not the files of one fit, and the entry if the statement does not follow from the releases."""
    path, heads = folder / PUBLIC / RELEASE, folder / PRIVATE / HEADS
    shared, contents = read_release(path)
    written = json.loads(path.read_text(encoding="utf-8"))["privacy"]
    for name, value in contents["privacy"].items():
        if rounded(written.get(name)) != rounded(value):
            raise ValueError(f"{path}: {name!r} is not what privrep {privrep.__version__} states of these releases")
    files = contents["files"] | {LEDGER: hashed(ledger_table(contents["privacy"]["releases"]).encode())}
    for file in sorted({*path.parent.iterdir(), *(path.parent / name for name in files)} - {path}):
        if hashed(file.read_bytes()) != files.get(file.name):
            raise ValueError(f"{file} is no file of this release, or was edited")
    return contents, len(read_heads(heads, shared, contents["sha256"]).ids) if heads.exists() else 0


def rounded(value: object) -> object:
    """Return a value as other versions of numerical libraries find it, too."""
    return f"{value:.9g}" if isinstance(value, float) else value


def head_columns(shared: SharedPrior) -> list[str]:
    """Return the names of the columns of a file of heads."""
    dim = shared.schema.dim
    return ["user", *map("head_{}".format, range(dim)), *map("doubt_{}".format, range(dim + 2)), "check"]


def checks(heads: LocalHeads, release: dict) -> np.ndarray:
    """Hash each user's row together with the hashes of its release, (n,) uint64."""
    ids = pa.array(heads.ids).cast(pa.string()).fill_null("").to_numpy(zero_copy_only=False)
    hashed = pd.util.hash_array(ids, hash_key=sha256(release)[:16], categorize=False)
    for column in (*heads.vectors.T, *heads.doubts.T):
        hashed = pd.util.hash_array(hashed + pd.util.hash_array(column.astype(np.float64)))
    return hashed


def write_heads(heads: LocalHeads, shared: SharedPrior, release: dict, path: Path) -> None:
    """Write ids, vectors and doubts of heads, and their checks, as Parquet that only the owner may read."""
    columns = [heads.ids, *heads.vectors.T, *heads.doubts.T, checks(heads, release)]
    table = pa.table([*map(pa.array, columns)], head_columns(shared))
    write_private(table.schema, [table], path)


def write_private(schema: pa.Schema, parts: Iterable[pa.Table], path: Path) -> None:
    """Write the parts of a table, one after another, as one Parquet file that only the owner may read."""
    with in_one_move(path) as temporary:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        with parquet.ParquetWriter(temporary, schema) as writer:
            for part in parts:
                writer.write_table(part)


def ledger_table(releases: Sequence[Mapping]) -> str:
    """Return the releases of a statement as CSV."""
    rows = pd.DataFrame(releases).rename(columns={"name": "release"})
    return rows.assign(mu=rows.sensitivity / rows.noise_sd).to_csv(index=False)


def page(fitted: PrivateRepresentation) -> str:
    """Return the text of report.html."""
    spectrum = fitted.shared_.spectrum
    return TEMPLATES.get_template("report.html.jinja").render(
        privacy=fitted.privacy_,
        label=LABEL,
        strength=strength,
        advice=fitted.advice_,
        spectrum=[(value, 100 * value / spectrum[0] if spectrum[0] else 0.0) for value in spectrum[:20]],
    )
