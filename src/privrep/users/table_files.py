"""Rows of a table on disk, in any order: of a Parquet or CSV file, or of a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet, types

from privrep.users.schema import Category, Flag, Schema

ROWS = 2**16  # rows that are read at once
READ_AHEAD = 2**16  # bytes of a column in Parquet. Without a limit, memory holds a whole row group of the file.
TRUE, FALSE = ["1", "1.0", "true", "True", "TRUE"], ["0", "0.0", "false", "False", "FALSE"]  # of a flag in CSV
ID_TYPES = (types.is_integer, types.is_string, types.is_large_string)
NUMBER_TYPES = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)


@dataclass(frozen=True)
class TableFile:
    """A table, a row a sample, in .parquet, .csv or a folder of Parquet files; ValueErrors name the file."""

    path: Path
    user: str
    label: str
    schema: Schema

    def __post_init__(self):
        names = [self.user, self.label, *self.schema.features]
        if len(set(names)) < len(names):
            raise ValueError(f"user, label and features are {', '.join(map(repr, names))}; they must all differ")
        if not self.files:
            raise ValueError(f"{self.path} must end in .parquet or .csv, or be a folder of files that end in .parquet")

    @cached_property
    def files(self) -> list[Path]:
        if self.path.is_dir():
            return sorted(self.path.glob("*.parquet"))
        return [self.path] if self.path.suffix in (".csv", ".parquet") else []

    @cached_property
    def columns(self) -> pa.Schema:
        """Types of a row's values: users as text, categories as their levels, all else as numbers."""
        features = [
            (name, pa.array(kind.levels).type if isinstance(kind, Category) else pa.float64())
            for name, kind in self.schema.features.items()
        ]
        return pa.schema([(self.user, pa.string()), (self.label, pa.float64()), *features])

    @cached_property
    def id_type(self) -> pa.DataType:
        """Type of the user column in the table; text in CSV."""
        first = self.files[0]
        return pa.string() if first.suffix == ".csv" else _plain(parquet.read_schema(first), self.user)

    def batches(self) -> Iterator[pa.RecordBatch]:
        for path in self.files:
            with naming(path):
                for batch in self._read_csv(path) if path.suffix == ".csv" else self._read_parquet(path):
                    batch = batch.select(self.columns.names).cast(self.columns)
                    users = batch[self.user]
                    if users.null_count or pc.any(pc.equal(users, "")).as_py():
                        raise ValueError(f"{path} has a row without a user in column {self.user!r}")
                    yield batch

    def _read_csv(self, path: Path) -> Iterator[pa.RecordBatch]:
        # The first rows may look otherwise than later ones; a user 007 is not 7.
        stated = {column.name: column.type for column in self.columns}
        stated |= {name: pa.bool_() for name, kind in self.schema.features.items() if isinstance(kind, Flag)}
        options = csv.ConvertOptions(column_types=stated, true_values=TRUE, false_values=FALSE)
        with csv.open_csv(path, convert_options=options) as reader:
            self._check(path, reader.schema)
        options.include_columns = self.columns.names
        with csv.open_csv(path, convert_options=options) as reader:
            yield from reader

    def _read_parquet(self, path: Path) -> Iterator[pa.RecordBatch]:
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=READ_AHEAD) as file:
            self._check(path, file.schema_arrow)
            yield from file.iter_batches(ROWS, columns=self.columns.names)

    def _check(self, path: Path, present: pa.Schema) -> None:
        for column in self.columns:
            if column.name not in present.names:
                raise ValueError(f"{path} has no column {column.name!r}; it has {', '.join(map(repr, present.names))}")
            found = _plain(present, column.name)
            kinds, what = (NUMBER_TYPES, "numbers") if types.is_floating(column.type) else ((), "")
            if column.name == self.user:
                kinds, what = ID_TYPES, "integers or text"
            if kinds and not any(is_kind(found) for is_kind in kinds):
                raise ValueError(f"{path} has {found} in column {column.name!r}; it must have {what}")


def _plain(columns: pa.Schema, name: str) -> pa.DataType:
    """Return the type of a column's entries, also where they are dictionary-encoded."""
    found = columns.field(name).type
    return found.value_type if types.is_dictionary(found) else found


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn errors of reading a file into ValueErrors that name it."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
