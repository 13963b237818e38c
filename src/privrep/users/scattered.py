"""Users of a table on disk, with rows in any order. Rows are distributed to buckets by user, once, and each bucket is
sorted in memory; passes then read a file of scaled rows, block by block.

The order of the table does not change the users: they are sorted by a hash of their ids, and a user's rows by a hash of
the row, its number among equal rows, the id and a public seed. With respect to values, this order is random: a user
with more rows than the cap keeps the first ones, and any fixed positions, such as every second one, are a random
choice.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import pyarrow as pa

from privrep.options import check_count, ensure
from privrep.users.blocks import STREAMS_PER_BLOCK, Block, UserData, users_of_a_stream
from privrep.users.given_users import laid_out, positions
from privrep.users.identity import hashed_numbers, sketch
from privrep.users.known import Known
from privrep.users.schema import Oddities, Schema
from privrep.users.table_files import TableFile

ROWS_PREFIX = "privrep-rows-"
"""Prefix of the names of row files that other processes read."""
BUCKET_BITS = 6
"""Bits of a bucket's number. Memory holds about five copies of one bucket: 150 MB each at 10^8 rows of 12 columns."""


@dataclass(frozen=True, eq=False)
class ScatteredUsers(UserData):
    """The users of a table, with features and labels scaled by `privrep.users.schema.Schema`, padded block by block to
    a public cap.

    `ids` (n,) are the users' ids in the order of the blocks, integers if the table has integers, else text; `counts`
    (n,) are the rows kept per user, 0 without labels; `label_sketch` holds the smallest hashes of unscaled labels.
    `file` holds labels and features of the rows, (N, 1 + d) float32, sorted by user. It is deleted with this object; a
    file without a name is also deleted however its process ends.
    """

    known: Known
    counts: np.ndarray
    ids: pa.Array
    file: IO[bytes]
    label_sketch: np.ndarray

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
        strict: bool = False,
        **known,
    ) -> ScatteredUsers:
        """Read the users of a file that ends in .parquet or .csv, or of a folder of Parquet files.

        Rows without a label are dropped, but their users count. While this runs, the folder for temporary files
        (TMPDIR) holds the rows twice, in files without a name. A warning counts odd rows, such as those out of range.

        Parameters
        ----------
        path : path of the file or folder.
        user : name of the column of user ids.
        label : name of the column of labels.
        schema : kinds and ranges of the features.
        max_samples : largest number of rows kept per user, at least 1. The further it exceeds the users' numbers of
            rows, the longer a pass takes.
        seed : public seed that selects and orders each user's rows.
        rank : rank of the subspace to estimate, by default d.
        elsewhere : whether other processes read the rows, from a named file in a folder (TMPDIR) that all see.
        strict : whether to refuse a feature that has an unlisted level in most rows.
        **known : further fields of `Known`.

        Raises
        ------
        ValueError
            As `TableFile`; if max_samples is less than 1, a row has no user id, or no row has a label.
        """
        check_count("max_samples", max_samples)
        table, odd = TableFile(Path(path), user, label, schema), Oddities()
        ids, counts, labels = [], [], np.empty(0, np.uint64)
        check_room()
        with ExitStack() as buckets, ExitStack() as unless_done:
            file = unless_done.enter_context(named_file() if elsewhere else tempfile.TemporaryFile(buffering=0))  # noqa: SIM115
            for bucket in scattered(table, buckets):
                of_bucket, number, rows, hashed = sorted_rows(table, bucket, seed, odd)
                own = np.bincount(number, minlength=len(of_bucket))
                labels = sketch(np.concatenate([labels, hashed]))
                rows[positions(number) < max_samples].tofile(file)
                ids.append(of_bucket)
                counts.append(np.minimum(own, max_samples))
            if not sum(map(np.sum, counts)):
                raise ValueError(f"{path} has no row with a number in column {label!r}")
            odd.tell(strict)
            unless_done.pop_all()
        counts = np.concatenate(counts)
        public = Known(len(counts), max_samples, schema.dim, schema.dim if rank is None else rank, **known)
        return cls(public, counts, pa.concat_arrays(ids).cast(table.id_type), file, labels)

    @cached_property
    def _ends(self) -> np.ndarray:
        """Number of rows before each user, and of all users, (n + 1,)."""
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
        read = os.preadv(self.file.fileno(), [rows.data], int(begin) * rows.strides[0])  # threads share no position
        if read < rows.nbytes:
            raise OSError(f"the file of the users' rows ends after {read} of {rows.nbytes} bytes of a block")
        arrays = laid_out(rows[:, 1:], rows[:, 0], self.counts[first:last], self.known.samples)
        return Block(first, *arrays, stream_users=self._stream_users)

    def __reduce__(self) -> tuple:
        """Pickle for a process that can open the file."""
        if not isinstance(self.file.name, str):
            raise ValueError("the rows lie in a file without a name, which no other process can read; set `elsewhere`")
        return _seen, (self.known, self.counts, self.ids[:0], self.file.name)


def _seen(known: Known, counts: np.ndarray, ids: pa.Array, name: str) -> ScatteredUsers:
    return ScatteredUsers(known, counts, ids, open(name, "rb", buffering=0), np.empty(0))


def check_room() -> None:
    """Raise ValueError if TMPDIR is not a folder, since Python would silently take another one, or if the system lacks
    `os.preadv`, which `ScatteredUsers` reads with."""
    if not hasattr(os, "preadv"):
        raise ValueError("this system reads no tables on disk (it has no preadv); fit them in memory")
    room = os.environ.get("TMPDIR")
    ensure(not room or os.path.isdir(room), "TMPDIR", room, "it must be a folder that exists")


def named_file() -> IO[bytes]:
    """Make a locked file that other processes can open, and delete the unlocked ones, left behind by processes that
    were killed."""
    import fcntl  # here, since some systems have neither fcntl nor workers

    for left in Path(tempfile.gettempdir()).glob(f"{ROWS_PREFIX}*"):
        with suppress(OSError), open(left, "rb") as file:  # fails if locked, or owned by somebody else
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()
    file = tempfile.NamedTemporaryFile(prefix=ROWS_PREFIX, buffering=0)  # noqa: SIM115
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def scattered(table: TableFile, files: ExitStack) -> list[IO[bytes]]:
    """Write the rows to unnamed files, one per range of user hashes, and return these in ascending order of hashes."""
    writers: dict[int, pa.ipc.RecordBatchStreamWriter] = {}
    by_bucket: dict[int, IO[bytes]] = {}
    with ExitStack() as open_writers:
        for batch in table.batches():
            buckets = hashes(batch[table.user]) >> np.uint64(64 - BUCKET_BITS)
            order = np.argsort(buckets, kind="stable")
            present, first = np.unique(buckets[order], return_index=True)
            batch = batch.take(pa.array(order))
            for bucket, begin, end in zip(present, first, [*first[1:], len(order)], strict=True):
                if bucket not in writers:
                    by_bucket[bucket] = files.enter_context(tempfile.TemporaryFile())
                    writers[bucket] = open_writers.enter_context(pa.ipc.new_stream(by_bucket[bucket], batch.schema))
                writers[bucket].write_batch(batch.slice(begin, end - begin))
    return [by_bucket[bucket] for bucket in sorted(by_bucket)]


def sorted_rows(
    table: TableFile, bucket: IO[bytes], seed: int, odd: Oddities
) -> tuple[pa.Array, np.ndarray, np.ndarray, np.ndarray]:
    """Return a bucket's ids (B,), ascending user numbers (N,), rows (N, 1 + d) and a sketch of the labels; the public
    seed orders the rows, and `odd` counts the odd ones."""
    bucket.seek(0)
    with pa.ipc.open_stream(bucket) as stream:
        read = stream.read_all()
    bucket.truncate(0)
    users = read[table.user].combine_chunks().dictionary_encode()
    of_ids = hashes(users.dictionary)
    order = np.argsort(of_ids)
    number = np.argsort(order)[users.indices.to_numpy()]
    frame = read.drop_columns(table.user).to_pandas()
    odd.rows += len(frame)
    labels = table.schema.scaled_labels(frame[table.label], odd)
    rows = np.column_stack([labels, table.schema.scaled(frame, odd)])
    labelled = ~np.isnan(rows[:, 0])
    rows, number = rows[labelled].astype(np.float32), number[labelled]
    turn = np.lexsort((_keys(rows, of_ids[order][number], seed), number))
    of_labels = sketch(hashed_numbers(frame[table.label].to_numpy()))
    return users.dictionary.take(pa.array(order)), number[turn], rows[turn], of_labels


def hashes(ids: pa.Array) -> np.ndarray:
    """Hash text to uint64, (N,), the same on every machine."""
    return pd.util.hash_array(ids.to_numpy(zero_copy_only=False), categorize=False)


def _keys(rows: np.ndarray, users: np.ndarray, seed: int) -> np.ndarray:
    """Return sort keys (N,) uint64 of the users' rows, from the rows and the hashes (N,) of the users' ids.

    Equal rows of a user are numbered: a hash of the row alone would keep or drop them together, and one without the id
    would favour the same rows of all users.
    """
    content = pd.util.hash_pandas_object(pd.DataFrame(rows), index=False).to_numpy()
    again = pd.Series(content).groupby([users, content], sort=False).cumcount()
    keyed = pd.DataFrame({"seed": seed, "user": users, "content": content, "again": again})
    return pd.util.hash_pandas_object(keyed, index=False).to_numpy()
