"""Users of a table on disk, Parquet or CSV, read piece by piece: memory is set by a piece and not by the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from privrep.data.given_users import held_out_rows, laid_out
from privrep.data.known import Known
from privrep.data.problem import Block

ROWS = 2**16
"""Rows that are read at once."""


@dataclass(frozen=True)
class Table:
    """A table with one row a sample, in which the rows of a user stand together.

    Attributes
    ----------
    path : a file that ends in .parquet or .csv.
    user, label, features : names of its columns.
    """

    path: Path
    user: str
    label: str
    features: tuple[str, ...]

    def pieces(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        """Some columns, `ROWS` rows at a time.

        Parameters
        ----------
        columns : their names.

        Raises
        ------
        ValueError
            If the file is of another kind, or lacks a column.
        """
        kind = Path(self.path).suffix
        if kind == ".parquet":
            from pyarrow import parquet

            file = parquet.ParquetFile(self.path)
            self._check(columns, file.schema_arrow.names)
            yield from (batch.to_pandas() for batch in file.iter_batches(ROWS, columns=columns))
        elif kind == ".csv":
            self._check(columns, list(pd.read_csv(self.path, nrows=0).columns))
            yield from pd.read_csv(self.path, usecols=columns, chunksize=ROWS)
        else:
            raise ValueError(f"{self.path} ends in {kind!r}; it must end in .parquet or .csv")

    def _check(self, columns: list[str], there: list[str]) -> None:
        missing = [name for name in columns if name not in there]
        if missing:
            raise ValueError(f"{self.path} has no column {missing[0]!r}; it has {', '.join(map(repr, there))}")

    @cached_property
    def counts(self) -> np.ndarray:
        """Rows of each user, in the order in which users stand in the table, (n,).

        Raises
        ------
        ValueError
            If the rows of a user do not stand together.
        """
        names, counts = [], []
        for piece in self.pieces([self.user]):
            user = piece[self.user].to_numpy()
            first = np.flatnonzero(np.concatenate([[True], user[1:] != user[:-1]]))
            rows = np.diff([*first, len(user)])
            if names and names[-1][-1] == user[0]:
                counts[-1][-1] += rows[0]
                first, rows = first[1:], rows[1:]
            names.append(user[first]) if len(first) else None
            counts.append(rows) if len(first) else None
        index = pd.Index(np.concatenate(names) if names else [])
        if not len(index):
            raise ValueError(f"{self.path} has no rows")
        if not index.is_unique:
            raise ValueError(
                f"{self.path} has rows of user {index[index.duplicated()][0]!r} in several places; sort it by "
                f"{self.user!r}"
            )
        return np.concatenate(counts)


@dataclass(frozen=True)
class TableUsers:
    """The users of a table.

    Attributes
    ----------
    known : what is public, with the sizes of the table: see `of`.
    held_out_share : of each user's rows, the last ones, which no fit sees.
    shown : whether the blocks have the held-out rows, in place of the others.
    """

    table: Table
    known: Known
    held_out_share: float = 0.0
    shown: bool = False

    truth = block_size = None

    @classmethod
    def of(cls, table: Table, *, rank: int, held_out: float = 0.0, **known) -> TableUsers:
        """The users of a table, whose sizes are counted. Parameters and errors as in `GivenUsers.from_rows`."""
        if not 0 <= held_out < 1:
            raise ValueError(f"held_out is {held_out!r}; it must be at least 0 and less than 1")
        counts = table.counts
        most = int((counts - np.floor(held_out * counts)).max())
        return cls(table, Known(len(counts), most, len(table.features), rank, **known), held_out)

    @property
    def held_out(self) -> TableUsers | None:
        """The same users with the rows that no fit sees."""
        most = int(np.floor(self.held_out_share * self.table.counts).max())
        return replace(self, known=replace(self.known, samples=most), shown=True) if most else None

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """The users numbered start, ..., stop - 1, from one reading of the table.
        Parameters as in `privrep.data.problem.Users.blocks`."""
        stop = self.known.users if stop is None else stop
        first = 0
        for rows, number in self._whole_users():
            users = int(number[-1]) + 1
            if first < stop and start < first + users:
                yield self._block(rows, number, users, first).take(start, stop)
            first += users

    def _whole_users(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Labels and features, (N, 1 + d), and numbers from 0 on, (N,), of a few users at a time, with all of their
        rows."""
        ends, read, before = np.cumsum(self.table.counts), 0, np.empty((0, 1 + len(self.table.features)))
        for piece in self.table.pieces([self.table.label, *self.table.features]):
            rows = np.concatenate([before, piece[[self.table.label, *self.table.features]].to_numpy(np.float64)])
            begun, read = read - len(before), read + len(piece)
            users = slice(*np.searchsorted(ends, [begun, read], side="right"))
            whole = int(ends[users][-1] - begun) if users.stop > users.start else 0
            if whole:
                yield rows[:whole], np.repeat(np.arange(users.stop - users.start), self.table.counts[users])
            before = rows[whole:]

    def _block(self, rows: np.ndarray, number: np.ndarray, users: int, first: int) -> Block:
        shown = held_out_rows(number, self.held_out_share) == self.shown
        labels, features = rows[shown, 0] / self.known.label_scale, rows[shown, 1:] / self.known.feature_scale
        return Block(first, *laid_out(features, labels, number[shown], self.known.samples, users))
