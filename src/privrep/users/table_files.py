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

pc: Any = pyarrow.compute  # makes its functions when it is imported
ROWS = 2**16  # rows that are read at once
READ_AHEAD = 2**16  # bytes of a column in Parquet. Without a limit, memory holds a whole row group of the file.
SUFFIXES = (".parquet", ".csv")
NUMBER_TYPES = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
CELL_TYPES = (*NUMBER_TYPES, types.is_string, types.is_large_string, types.is_string_view)
SAFE = re.compile(r"Empty CSV file|[Ii]nvalid UTF-?8|[Mm]agic bytes")
"""What Arrow says of a file without quoting a row of it."""
FORMATS = re.compile(
    rb"(?P<Parquet>PAR1)|(?P<Excel>PK|\xd0\xcf\x11\xe0)|(?P<gzip>\x1f\x8b)|(?P<UTF_16>\xff\xfe|\xfe\xff|[^\0]\0|\0)|"
    rb"(?P<Feather>ARROW1)|(?P<HDF5>\x89HDF)|(?P<JSON>[{[])|(?P<HTML><)"
)
"""First bytes of a file, and what they are of."""


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
        look_at(path)
        found = csv.open_csv(path).schema if is_csv(path) else parquet.read_schema(path)
        names = found.names  # an error here if a name is not valid text
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{path} has the column {name!r} twice")
    return found


def look_at(path: Path) -> None:
    """Raise ValueError where a file does not begin as its name says, with a guess of what it is."""
    with open(path, "rb") as file:
        head = file.read(ROWS)
    line, known = re.sub(rb'"[^"]*"', b"", head.partition(b"\n")[0]), FORMATS.match(head)
    found = str(known.lastgroup) if known else "text" if head.isascii() else "another format"
    marks = [] if b"," in line else [mark for mark in ";\t|" if mark.encode() in line]
    if head and (known if is_csv(path) else found != "Parquet"):
        raise ValueError(f"{path} cannot be read: its first bytes are those of {found.replace('_', '-')}")
    if is_csv(path) and marks:
        raise ValueError(f"{path} cannot be read: its columns are separated by {marks[0]!r}; they must be by commas")


def fault_of(path: Path) -> str:
    """Return what is wrong with a CSV file, and in which row, where Arrow says neither without a quote."""
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
    """A table, a row a sample, in .parquet, .csv or a folder of Parquet files, with a column of labels or None;
    ValueErrors name the file, the column and the row, and quote no value."""

    path: Path
    user: str
    label: str | None
    schema: Schema
    at_once: int | None = None  # rows that are read at once, and of CSV as many bytes times 8

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
                read = read.cast(column.type, safe=False)
            else:
                read = pa.array(numbers(read.to_pandas(), where, before))
            if column.name == self.label:
                check_finite(read.to_numpy(zero_copy_only=False), where, before)
            return read
        encoded = types.is_dictionary(read.type)
        different, one = read.dictionary if encoded else read, person if column.name == self.user else spell
        if types.is_integer(different.type):
            texts = different.cast(column.type)  # as they are spelled
        elif isinstance(different, pa.StringArray | pa.LargeStringArray | pa.StringViewArray):
            texts = spelled_texts(different.cast(column.type), one)
        else:
            texts = pa.array(of_each(different.to_pandas(), one, None, where), column.type)
        found = texts.take(read.indices) if encoded else texts
        if column.name == self.user and (found.null_count or pc.any(pc.is_in(texts, pa.array(MISSING))).as_py()):
            people(read.to_pandas(), where, before)  # an error that says the row
        return found

    def _read_csv(self, path: Path) -> Iterator[pa.RecordBatch]:
        done = 0
        try:
            for batch in self._csv(path, pa.float64()):
                yield batch
                done += len(batch)
        except pa.ArrowInvalid:  # what a number is, `privrep.users.identity` decides, and says where there is none
            for batch in self._csv(path, pa.string()):
                yield batch.slice(min(done, len(batch)))
                done -= min(done, len(batch))

    def _csv(self, path: Path, number: pa.DataType) -> Iterator[pa.RecordBatch]:
        # The first rows may look otherwise than later ones; a user 007 is not 7, and a flag may be 1 or TRUE.
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
                continue  # what the first rows look like does not decide
            found, number = _plain(present, column.name), types.is_floating(column.type)
            if number and types.is_temporal(found):
                raise ValueError(f"{path}: column {column.name!r} {DATES}")
            wrong = (number or column.name == self.user) and not any(is_kind(found) for is_kind in CELL_TYPES)
            if wrong or types.is_nested(found):
                wanted = "numbers or text" if wrong else "single values"
                raise ValueError(f"{path} has {found} in column {column.name!r}; it must have {wanted}")


def spelled_texts(texts: pa.Array, one: Callable[[object], str | None]) -> pa.Array:
    """Return texts as `spell`, or `person`, has them; most are so already, and are not looked at one by one."""
    texts.validate(full=True)
    odd = pc.match_substring_regex(texts, UNUSUAL).fill_null(False)
    return pc.replace_with_mask(texts, odd, pa.array([*map(one, texts.filter(odd).to_pylist())], texts.type))


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
        found = (is_csv(path) and fault_of(path)) or (safe[0] if safe else "it is broken")
    else:
        return
    raise ValueError(f"{path} cannot be read: {found}")
