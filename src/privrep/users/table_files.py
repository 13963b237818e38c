"""Rows of a table on disk, in any order: of a Parquet or CSV file, or of a folder of Parquet files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import csv, parquet, types

from privrep.users.identity import MISSING, UNUSUAL, numbers, people, spell, spelled
from privrep.users.schema import Category, Number, Schema

pc: Any = pyarrow.compute  # makes its functions when it is imported
ROWS = 2**16  # rows that are read at once
READ_AHEAD = 2**16  # bytes of a column in Parquet. Without a limit, memory holds a whole row group of the file.
SUFFIXES = (".parquet", ".csv")
NUMBER_TYPES = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
ID_TYPES = (*NUMBER_TYPES, types.is_string, types.is_large_string, types.is_string_view)
SAFE = re.compile(r"(Row #\d+: )?Expected \d+ columns, got \d+|Empty CSV file|[Ii]nvalid UTF-?8|[Mm]agic bytes")
"""What Arrow says of a file without quoting a row of it."""


def files_of(path: Path) -> list[Path]:
    """Return the file, or those of a folder; a ValueError names what is in the folder and would be passed over."""
    if not path.is_dir():
        if path.suffix.lower() not in SUFFIXES:
            raise ValueError(f"{path} must end in .parquet or .csv, or be a folder of files that end in .parquet")
        return [path]
    found = sorted(path.iterdir())
    files = [one for one in found if one.suffix.lower() == ".parquet" and one.is_file()]
    for one in found:
        if one not in files and one.name[0] not in "._":  # marks of other programs, such as _SUCCESS, hold no rows
            raise ValueError(f"{path} has {one.name!r}; all in a folder must be files that end in .parquet")
    if not files:
        raise ValueError(f"{path} has no files; it must have some that end in .parquet")
    return files


def is_csv(path: Path) -> bool:
    """Whether a file is CSV, as its name says."""
    return path.suffix.lower() == ".csv"


def columns_of(path: Path) -> pa.Schema:
    """Return names and types of a file's columns; of CSV as its first rows suggest."""
    with naming(path):
        found = csv.open_csv(path).schema if is_csv(path) else parquet.read_schema(path)
        names = found.names  # an error here if a name is not valid text
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{path} has the column {name!r} twice")
    return found


@dataclass(frozen=True)
class TableFile:
    """A table, a row a sample, in .parquet, .csv or a folder of Parquet files, with a column of labels or None;
    ValueErrors name the file, the column and the row, and quote no value."""

    path: Path
    user: str
    label: str | None
    schema: Schema

    def __post_init__(self):
        names = self.columns.names
        if len(set(names)) < len(names):
            raise ValueError(f"user, label and features are {', '.join(map(repr, names))}; they must all differ")
        for path in self.files:
            self._check(path, columns_of(path))

    @cached_property
    def files(self) -> list[Path]:
        return files_of(self.path)

    @cached_property
    def columns(self) -> pa.Schema:
        """Types of a row's values: users and levels as text, all else as numbers."""
        label = {} if self.label is None else {self.label: pa.float64()}
        features = {
            name: pa.string() if isinstance(kind, Category) else pa.float64()
            for name, kind in self.schema.features.items()
        }
        return pa.schema([(self.user, pa.string()), *label.items(), *features.items()])

    @cached_property
    def id_type(self) -> pa.DataType:
        """Type in which users are named: integers where all files have the same, else text."""
        found = {pa.string() if is_csv(path) else _plain(columns_of(path), self.user) for path in self.files}
        return found.pop() if len(found) == 1 and all(map(types.is_integer, found)) else pa.string()

    def batches(self) -> Iterator[pa.RecordBatch]:
        for path in self.files:
            before = 0
            with naming(path):
                for batch in self._read_csv(path) if is_csv(path) else self._read_parquet(path):
                    read = [self._column(path, batch[one.name], one, before) for one in self.columns]
                    yield pa.record_batch(read, self.columns)
                    before += len(batch)

    def _column(self, path: Path, read: pa.Array, column: pa.Field, before: int) -> pa.Array:
        """Return a column of a batch as numbers or texts, which `privrep.users.identity` decides; `before` counts rows
        of earlier batches."""
        where = f"{path}: column {column.name!r}"
        if types.is_floating(column.type):
            if any(is_kind(read.type) for is_kind in NUMBER_TYPES):
                return read.cast(column.type, safe=False)
            return pa.array(numbers(read.to_pandas(), where, before))
        encoded = types.is_dictionary(read.type)
        different = read.dictionary if encoded else read
        if types.is_integer(different.type):
            texts = different.cast(column.type)  # as they are spelled
        elif isinstance(different, pa.StringArray | pa.LargeStringArray | pa.StringViewArray):
            texts = spelled_texts(different.cast(column.type))
        else:
            texts = pa.array(spelled(different.to_pandas(), where), column.type)
        found = texts.take(read.indices) if encoded else texts
        if column.name == self.user and (found.null_count or pc.any(pc.is_in(texts, pa.array(MISSING))).as_py()):
            people(found.to_pandas(), where, before)  # an error that says the row
        return found

    def _read_csv(self, path: Path) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._csv(path, pa.float64())
        except pa.ArrowInvalid:  # it quotes a value, and says no row
            before = 0
            for batch in self._csv(path, pa.string()):
                for one in self.columns:
                    self._column(path, batch[one.name], one, before)
                before += len(batch)
            raise

    def _csv(self, path: Path, number: pa.DataType) -> Iterator[pa.RecordBatch]:
        # The first rows may look otherwise than later ones; a user 007 is not 7, and a flag may be 1 or TRUE.
        numbers = [self.label, *(name for name, kind in self.schema.features.items() if isinstance(kind, Number))]
        options = csv.ConvertOptions(
            column_types={name: number if name in numbers else pa.string() for name in self.columns.names},
            include_columns=self.columns.names,
            null_values=sorted(MISSING),
        )
        with csv.open_csv(path, convert_options=options) as reader:
            yield from reader

    def _read_parquet(self, path: Path) -> Iterator[pa.RecordBatch]:
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=READ_AHEAD) as file:
            yield from file.iter_batches(ROWS, columns=self.columns.names)

    def _check(self, path: Path, present: pa.Schema) -> None:
        for column in self.columns:
            if column.name not in present.names:
                raise ValueError(f"{path} has no column {column.name!r}; it has {', '.join(map(repr, present.names))}")
            found = _plain(present, column.name)
            number = types.is_floating(column.type)
            if number and is_csv(path):
                continue  # what the first rows look like does not decide
            if number and not any(is_kind(found) for is_kind in NUMBER_TYPES):
                raise ValueError(f"{path} has {found} in column {column.name!r}; it must have numbers")
            if column.name == self.user and not (is_csv(path) or any(is_kind(found) for is_kind in ID_TYPES)):
                raise ValueError(f"{path} has {found} in column {column.name!r}; it must have numbers or text")
            if types.is_nested(found):
                raise ValueError(f"{path} has {found} in column {column.name!r}; it must have single values")


def spelled_texts(texts: pa.Array) -> pa.Array:
    """Return texts as `spell` has them; most are so already, and are not looked at one by one."""
    texts.validate(full=True)
    odd = pc.match_substring_regex(texts, UNUSUAL).fill_null(False)
    return pc.replace_with_mask(texts, odd, pa.array([*map(spell, texts.filter(odd).to_pylist())], texts.type))


def _plain(columns: pa.Schema, name: str) -> pa.DataType:
    """Return the type of a column's entries, also where they are dictionary-encoded."""
    found = columns.field(name).type
    return found.value_type if types.is_dictionary(found) else found


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn errors of reading a file into ValueErrors that name it, and the place of the fault, and quote none of its
    values, as those of Arrow do."""
    try:
        yield
    except OSError as error:
        found = os.strerror(error.errno) if error.errno else "it is broken"
    except UnicodeDecodeError:
        found = "a name of a column is no valid text"
    except pa.ArrowException as error:
        safe = SAFE.search(str(error))
        found = safe[0] if safe else "it is broken, or of another kind than its name says"
    else:
        return
    raise ValueError(f"{path} cannot be read: {found}")
