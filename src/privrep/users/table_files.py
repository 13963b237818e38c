"""Rows of a table on disk, in any order: of a Parquet or CSV file, or of a folder of Parquet files."""

from __future__ import annotations

import csv as plain_csv
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import csv, parquet, types

from privrep.users.identity import DATES, MISSING, UNUSUAL, check_finite, numbers, of_each, people, person, spell
from privrep.users.schema import Category, Number, Schema

pc: Any = pyarrow.compute  # its functions are made on import, unseen by type checkers
ROWS = 2**16  # rows that are read at once
READ_AHEAD = 2**16  # bytes of a column in Parquet. Without a limit, memory holds a whole row group of the file.
SUFFIXES = (".parquet", ".csv")
NUMBER_TYPES = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
CELL_TYPES = (*NUMBER_TYPES, types.is_string, types.is_large_string, types.is_string_view)
SAFE = re.compile(r"Empty CSV file|[Ii]nvalid UTF-?8|[Mm]agic bytes")
"""Parts of Arrow's messages that quote no row of a file."""
FORMATS = re.compile(
    rb"(?P<Parquet>PAR1)|(?P<Excel>PK|\xd0\xcf\x11\xe0)|(?P<gzip>\x1f\x8b)|(?P<UTF_16>\xff\xfe|\xfe\xff|[^\0]\0|\0)|"
    rb"(?P<Feather>ARROW1)|(?P<HDF5>\x89HDF)|(?P<JSON>[{[])|(?P<HTML><)"
)
"""First bytes of a file, by format."""


def files_of(path: Path) -> list[Path]:
    """Return the file, or the files of a folder; a ValueError names an entry of the folder that would be ignored."""
    if not path.is_dir():
        if path.suffix.lower() not in SUFFIXES:
            raise ValueError(f"{path} must end in .parquet or .csv, or be a folder of files that end in .parquet")
        return [path]
    entries = sorted(path.iterdir())
    files = [entry for entry in entries if entry.suffix.lower() == ".parquet" and entry.is_file()]
    for entry in entries:
        if entry not in files and entry.name[0] not in "._":  # marks of other programs, such as _SUCCESS, hold no rows
            raise ValueError(f"{path} has {entry.name!r}; all in a folder must be files that end in .parquet")
    if not files:
        raise ValueError(f"{path} has no files; it must have some that end in .parquet")
    return files


def is_csv(path: Path) -> bool:
    """Whether a file is CSV, by its name."""
    return path.suffix.lower() == ".csv"


def columns_of(path: Path) -> pa.Schema:
    """Return names and types of a file's columns; those of CSV are guessed from its first rows."""
    with naming(path):
        look_at(path)
        columns = csv.open_csv(path).schema if is_csv(path) else parquet.read_schema(path)
        names = columns.names  # an error here if a name is not valid text
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{path} has the column {name!r} twice")
    return columns


def look_at(path: Path) -> None:
    """Raise ValueError if the first bytes contradict the file's suffix, or the columns of CSV have no commas."""
    with open(path, "rb") as file:
        head = file.read(2**16)
    line, known = re.sub(rb'"[^"]*"', b"", head.partition(b"\n")[0]), FORMATS.match(head)
    guess = str(known.lastgroup) if known else "text" if head.isascii() else "another format"
    marks = [] if b"," in line else [mark for mark in ";\t|" if mark.encode() in line]
    if head and (known if is_csv(path) else guess != "Parquet"):
        raise ValueError(f"{path} cannot be read: its first bytes are those of {guess.replace('_', '-')}")
    if is_csv(path) and marks:
        raise ValueError(f"{path} cannot be read: its columns are separated by {marks[0]!r}; they must be by commas")


def fault_of(path: Path) -> str:
    """Return the error of a CSV file and its row, which Arrow names only with a quote of the row; "" for no error."""
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = filter(None, plain_csv.reader(file))
        header = next(rows, [])
        for number, row in enumerate(rows, 1):
            if len(row) != len(header):
                hint = "; its first line seems to be a comment" * header[0].startswith("#")
                return f"row {number} has {len(row)} values, and the header {len(header)}{hint}"
            if "\ufffd" in "".join(row):
                return f"row {number} is no text in UTF-8; save the file in this encoding"
    return ""


@dataclass(frozen=True)
class TableFile:
    """A table with one row per sample, in .parquet, .csv or a folder of Parquet files; `label` is None without labels.
    ValueErrors name the file, the column and the row, and quote no value."""

    path: Path
    user: str
    label: str | None
    schema: Schema
    at_once: int | None = None  # rows read at once; of CSV, 8 times as many bytes

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
        """Type of user ids: the integer type that all files share, else text."""
        id_types = {pa.string() if is_csv(path) else _plain(columns_of(path), self.user) for path in self.files}
        return id_types.pop() if len(id_types) == 1 and all(map(types.is_integer, id_types)) else pa.string()

    def batches(self) -> Iterator[pa.RecordBatch]:
        for path in self.files:
            before = 0
            with naming(path):
                for batch in self._read_csv(path) if is_csv(path) else self._read_parquet(path):
                    read = [self._column(path, batch[column.name], column, before) for column in self.columns]
                    yield pa.record_batch(read, self.columns)
                    before += len(batch)

    def _column(self, path: Path, read: pa.Array, column: pa.Field, before: int) -> pa.Array:
        """Return a column of a batch as numbers or texts, as `privrep.users.identity` reads them; `before` counts rows
        of earlier batches."""
        where = f"{path}: column {column.name!r}"
        if types.is_floating(column.type):
            if any(is_kind(read.type) for is_kind in NUMBER_TYPES):
                read = read.cast(column.type, safe=False)
            else:
                read = pa.array(numbers(read.to_pandas(), where, before))
            if column.name == self.label:
                check_finite(read.to_numpy(zero_copy_only=False), where, before)
            return read
        encoded = types.is_dictionary(read.type)
        different, spelling = read.dictionary if encoded else read, person if column.name == self.user else spell
        if types.is_integer(different.type):
            texts = different.cast(column.type)  # already normalised
        elif isinstance(different, pa.StringArray | pa.LargeStringArray | pa.StringViewArray):
            texts = spelled_texts(different.cast(column.type), spelling)
        else:
            texts = pa.array(of_each(different.to_pandas(), spelling, None, where), column.type)
        cells = texts.take(read.indices) if encoded else texts
        if column.name == self.user and (cells.null_count or pc.any(pc.is_in(texts, pa.array(MISSING))).as_py()):
            people(read.to_pandas(), where, before)  # raises an error with the row
        return cells

    def _read_csv(self, path: Path) -> Iterator[pa.RecordBatch]:
        done = 0
        try:
            for batch in self._csv(path, pa.float64()):
                yield batch
                done += len(batch)
        except pa.ArrowInvalid:  # then `privrep.users.identity` reads the numbers, and names the row of an error
            for batch in self._csv(path, pa.string()):
                yield batch.slice(min(done, len(batch)))
                done -= min(done, len(batch))

    def _csv(self, path: Path, number: pa.DataType) -> Iterator[pa.RecordBatch]:
        # Types are not guessed from the first rows: a user 007 is not 7, and a flag may be 1 or TRUE.
        numbers = [self.label, *(name for name, kind in self.schema.features.items() if isinstance(kind, Number))]
        options = csv.ConvertOptions(
            column_types={name: number if name in numbers else pa.string() for name in self.columns.names},
            include_columns=self.columns.names,
            null_values=sorted(MISSING),
        )
        block = csv.ReadOptions(block_size=max(8 * self.at_once, 2**17) if self.at_once else None)
        with csv.open_csv(path, block, convert_options=options) as reader:
            yield from reader

    def _read_parquet(self, path: Path) -> Iterator[pa.RecordBatch]:
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=READ_AHEAD) as file:
            yield from file.iter_batches(self.at_once or ROWS, columns=self.columns.names)

    def _check(self, path: Path, present: pa.Schema) -> None:
        for column in self.columns:
            if column.name not in present.names:
                raise ValueError(f"{path} has no column {column.name!r}; it has {', '.join(map(repr, present.names))}")
            if is_csv(path):
                continue  # types guessed from the first rows do not count
            type_, number = _plain(present, column.name), types.is_floating(column.type)
            if number and types.is_temporal(type_):
                raise ValueError(f"{path}: column {column.name!r} {DATES}")
            wrong = (number or column.name == self.user) and not any(is_kind(type_) for is_kind in CELL_TYPES)
            if wrong or types.is_nested(type_):
                wanted = "numbers or text" if wrong else "single values"
                raise ValueError(f"{path} has {type_} in column {column.name!r}; it must have {wanted}")


def spelled_texts(texts: pa.Array, spelling: Callable[[object], str | None]) -> pa.Array:
    """Apply `spell` or `person` to texts, called only for those that it may change."""
    texts.validate(full=True)
    odd = pc.match_substring_regex(texts, UNUSUAL).fill_null(False)
    return pc.replace_with_mask(texts, odd, pa.array([*map(spelling, texts.filter(odd).to_pylist())], texts.type))


def _plain(columns: pa.Schema, name: str) -> pa.DataType:
    """Return the type of a column's entries, also where they are dictionary-encoded."""
    type_ = columns.field(name).type
    return type_.value_type if types.is_dictionary(type_) else type_


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn errors of reading a file into ValueErrors that name the file and the place of the error but, unlike Arrow's,
    quote none of its values."""
    try:
        yield
    except OSError as error:
        fault = os.strerror(error.errno) if error.errno else "it is broken"
    except UnicodeDecodeError:
        fault = "the name of a column is not valid text"
    except pa.ArrowException as error:
        safe = SAFE.search(str(error))
        fault = (is_csv(path) and fault_of(path)) or (safe[0] if safe else "it is broken")
    else:
        return
    raise ValueError(f"{path} cannot be read: {fault}")
