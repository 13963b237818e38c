"""Users of a table on disk whose rows stand in any order: its rows are scattered to buckets by user, once, and each
bucket is sorted in memory; passes then read a file of scaled rows, block by block.

What comes out depends on what rows a user has and on no order of them in the table: users stand in the order of a hash
of their ids, and a user's rows in that of a hash of the row, of which of several equal ones it is, of the id and of a
public seed. As far as values go, this is a random order: the first rows are kept where there are more than the cap,
and any fixed positions, such as every second one, are a random choice.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import pyarrow as pa

from privrep.users.given_users import laid_out, positions
from privrep.users.known import Known
from privrep.users.problem import STREAMS_PER_BLOCK, Block, UserData, users_of_a_stream
from privrep.users.schema import Schema
from privrep.users.table_files import TableFile

BUCKET_BITS = 6
"""Of 64 buckets. Memory holds about five copies of one: 150 MB each at 10^8 rows of 12 columns."""


@dataclass(frozen=True, eq=False)
class ScatteredUsers(UserData):
    """The users of a table, with features and labels as `privrep.users.schema.Schema` scales them, padded block by
    block to a cap that is public.

    `ids` (n,) name the users in the order of the blocks, as in the table, text from CSV; `counts` (n,) are rows kept of
    each, 0 for a user without labels. `file` has labels and features of the rows, (N, 1 + d) float32, user by user. It
    is deleted with this object, and if it has no name also with its process.
    """

    known: Known
    counts: np.ndarray
    ids: pa.Array
    file: IO[bytes]

    memory_budget = 0

    def __post_init__(self):
        weakref.finalize(self, self.file.close)

    @classmethod
    def of(
        cls,
        path: str | Path,
        *,
        user: str,
        label: str,
        schema: Schema,
        max_samples: int = 64,
        seed: int = 0,
        rank: int | None = None,
        elsewhere: bool = False,
        **known,
    ) -> ScatteredUsers:
        """The users of a file that ends in .parquet or .csv, or of a folder of Parquet files.

        Rows without a label are dropped; their user counts. While this runs, the folder for temporary files (TMPDIR)
        holds the rows twice.

        Parameters
        ----------
        path : of the file or folder.
        user : name of the column that says whose a row is.
        label : name of the column of labels.
        schema : kinds and ranges of the features.
        max_samples : the most rows that a user keeps, at least 1. A pass takes the longer the further it is above what
            users have.
        seed : public, chooses and orders a user's rows.
        rank : of the subspace that is sought, by default d.
        elsewhere : other processes read the rows, too: their file has a name, and those must see its folder (TMPDIR).
        **known : further fields of `Known`.

        Raises
        ------
        ValueError
            As `TableFile`, and if max_samples is less than 1, a row has no user, or none has a label.
        """
        if max_samples < 1:
            raise ValueError(f"max_samples is {max_samples!r}; it must be at least 1")
        table = TableFile(Path(path), user, label, schema)
        ids, counts = [], []
        with tempfile.TemporaryDirectory(prefix="privrep-") as folder, ExitStack() as unless_done:
            make = tempfile.NamedTemporaryFile if elsewhere else tempfile.TemporaryFile
            file = unless_done.enter_context(make(prefix="privrep-", buffering=0))
            for bucket in scattered(table, Path(folder)):
                of_bucket, number, rows = sorted_rows(table, bucket, seed)
                own = np.bincount(number, minlength=len(of_bucket))
                rows[positions(number) < max_samples].tofile(file)
                ids.append(of_bucket)
                counts.append(np.minimum(own, max_samples))
            if not sum(map(np.sum, counts)):
                raise ValueError(f"{path} has no row with a number in column {label!r}")
            unless_done.pop_all()
        counts = np.concatenate(counts)
        public = Known(len(counts), max_samples, schema.dim, schema.dim if rank is None else rank, **known)
        return cls(public, counts, pa.concat_arrays(ids).cast(table.id_type), file)

    @cached_property
    def _ends(self) -> np.ndarray:
        """Rows of the users before each one, and of all, (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def _stream_users(self) -> int:
        return users_of_a_stream(self.known.samples, self.known.dim)

    @property
    def block_size(self) -> int:
        return STREAMS_PER_BLOCK * self._stream_users

    def read(self, first: int, last: int) -> Block:
        begin, end = self._ends[first], self._ends[last]
        rows = np.empty((end - begin, 1 + self.known.dim), np.float32)
        read = os.preadv(self.file.fileno(), [rows], int(begin) * rows.strides[0])  # each thread at its own place
        if read < rows.nbytes:
            raise OSError(f"the file of the users' rows ends after {read} of {rows.nbytes} bytes of a block")
        arrays = laid_out(rows[:, 1:], rows[:, 0], self.counts[first:last], self.known.samples)
        return Block(first, *arrays, stream_users=self._stream_users)

    def __reduce__(self) -> tuple:
        """Pickle for a process that can open the file."""
        if not isinstance(self.file.name, str):
            raise ValueError("the rows lie in a file without a name, which no other process can read; see `elsewhere`")
        return _seen, (self.known, self.counts, self.ids[:0], self.file.name)


def _seen(known: Known, counts: np.ndarray, ids: pa.Array, name: str) -> ScatteredUsers:
    return ScatteredUsers(known, counts, ids, open(name, "rb", buffering=0))


def scattered(table: TableFile, folder: Path) -> list[Path]:
    """Write the rows to files, each with users of a range of hashes, and return their ascending paths."""
    writers: dict[int, pa.ipc.RecordBatchStreamWriter] = {}
    with ExitStack() as files:
        for batch in table.batches():
            buckets = hashes(batch[table.user]) >> np.uint64(64 - BUCKET_BITS)
            order = np.argsort(buckets, kind="stable")
            found, first = np.unique(buckets[order], return_index=True)
            batch = batch.take(pa.array(order))
            for bucket, begin, end in zip(found, first, [*first[1:], len(order)], strict=True):
                if bucket not in writers:
                    path = folder / f"{bucket:04d}"
                    writers[bucket] = files.enter_context(pa.ipc.new_stream(path, batch.schema))
                writers[bucket].write_batch(batch.slice(begin, end - begin))
    return sorted(folder.iterdir())


def sorted_rows(table: TableFile, bucket: Path, seed: int) -> tuple[pa.Array, np.ndarray, np.ndarray]:
    """Return a bucket's ids (B,), ascending user numbers (N,) and rows (N, 1 + d); the public seed orders them."""
    with pa.OSFile(str(bucket)) as file:
        read = pa.ipc.open_stream(file).read_all()
    users = read[table.user].combine_chunks().dictionary_encode()
    of_ids = hashes(users.dictionary)
    order = np.argsort(of_ids)
    number = np.argsort(order)[users.indices.to_numpy()]
    frame = read.drop_columns(table.user).to_pandas()
    rows = np.column_stack([table.schema.scaled_labels(frame[table.label]), table.schema.scaled(frame)])
    labelled = ~np.isnan(rows[:, 0])
    rows, number = rows[labelled].astype(np.float32), number[labelled]
    turn = np.lexsort((_keys(rows, of_ids[order][number], seed), number))
    return users.dictionary.take(pa.array(order)), number[turn], rows[turn]


def hashes(ids: pa.Array) -> np.ndarray:
    """Hash text to uint64, (N,), the same on every machine."""
    return pd.util.hash_array(ids.to_numpy(zero_copy_only=False), categorize=False)


def _keys(rows: np.ndarray, users: np.ndarray, seed: int) -> np.ndarray:
    """Return uint64 keys (N,) by which a user's rows are sorted, from the rows and the hashes (N,) of the users' ids.

    Equal rows of a user are numbered: a hash of the row alone would keep or drop them together, and one without the id
    would favour the same rows of all users.
    """
    content = pd.util.hash_pandas_object(pd.DataFrame(rows), index=False).to_numpy()
    again = pd.Series(content).groupby([users, content], sort=False).cumcount()
    keyed = pd.DataFrame({"seed": seed, "user": users, "content": content, "again": again})
    return pd.util.hash_pandas_object(keyed, index=False).to_numpy()
