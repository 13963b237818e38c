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
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import pyarrow as pa

from privrep.users.blocks import STREAMS_PER_BLOCK, Block, UserData, users_of_a_stream
from privrep.users.given_users import laid_out, positions
from privrep.users.identity import hashed_numbers, sketch
from privrep.users.known import Known
from privrep.users.schema import Oddities, Schema
from privrep.users.table_files import TableFile

ROWS_PREFIX = "privrep-rows-"
"""Of files that other processes read."""
BUCKET_BITS = 6
"""Of 64 buckets. Memory holds about five copies of one: 150 MB each at 10^8 rows of 12 columns."""


@dataclass(frozen=True, eq=False)
class ScatteredUsers(UserData):
    """The users of a table, with features and labels as `privrep.users.schema.Schema` scales them, padded block by
    block to a cap that is public.

    `ids` (n,) name the users in the order of the blocks, integers where the table has these, else text; `counts` (n,)
    are rows kept of each, 0 for a user without labels; `label_sketch` are the smallest hashes of labels in their own
    unit. `file` has labels and features of the rows, (N, 1 + d) float32, user by user. It is deleted with this object,
    and if it has no name, also with its process, however that ends.
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
        """The users of a file that ends in .parquet or .csv, or of a folder of Parquet files.

        Rows without a label are dropped; their user counts. While this runs, the folder for temporary files (TMPDIR)
        holds the rows twice, in files without a name. What is odd in the rows is told as a warning.

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
        strict : levels that most rows lack are refused.
        **known : further fields of `Known`.

        Raises
        ------
        ValueError
            As `TableFile`, and if max_samples is less than 1, a row has no user, or none has a label.
        """
        if max_samples < 1:
            raise ValueError(f"max_samples is {max_samples!r}; it must be at least 1")
        table, odd = TableFile(Path(path), user, label, schema), Oddities()
        ids, counts, labels = [], [], np.empty(0, np.uint64)
        check_room()
        with ExitStack() as buckets, ExitStack() as unless_done:
            file = unless_done.enter_context(named_file() if elsewhere else tempfile.TemporaryFile(buffering=0))  # noqa: SIM115
            for bucket in scattered(table, buckets):
                of_bucket, number, rows, found = sorted_rows(table, bucket, seed, odd)
                own = np.bincount(number, minlength=len(of_bucket))
                labels = sketch(np.concatenate([labels, found]))
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
        read = os.preadv(self.file.fileno(), [rows.data], int(begin) * rows.strides[0])  # each thread at its own place
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
    return ScatteredUsers(known, counts, ids, open(name, "rb", buffering=0), np.empty(0))


def check_room() -> None:
    """Raise ValueError where TMPDIR is no folder: Python would take another one without a word. So where a system
    cannot read files as `ScatteredUsers` does."""
    if not hasattr(os, "preadv"):
        raise ValueError("this system reads no tables on disk (it has no preadv); fit them in memory")
    room = os.environ.get("TMPDIR")
    if room and not os.path.isdir(room):
        raise ValueError(f"TMPDIR is {room!r}; it must be a folder that exists")


def named_file() -> IO[bytes]:
    """Make a file that other processes can open, which this one locks, and delete those of processes that were killed,
    whose lock is gone."""
    import fcntl  # not everywhere, as little as the workers

    for left in Path(tempfile.gettempdir()).glob(f"{ROWS_PREFIX}*"):
        with suppress(OSError), open(left, "rb") as file:  # locked, or somebody else's
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()
    file = tempfile.NamedTemporaryFile(prefix=ROWS_PREFIX, buffering=0)  # noqa: SIM115
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def scattered(table: TableFile, files: ExitStack) -> list[IO[bytes]]:
    """Write the rows to `files` without a name, each with users of a range of hashes, and return them ascending."""
    writers: dict[int, pa.ipc.RecordBatchStreamWriter] = {}
    found: dict[int, IO[bytes]] = {}
    with ExitStack() as open_writers:
        for batch in table.batches():
            buckets = hashes(batch[table.user]) >> np.uint64(64 - BUCKET_BITS)
            order = np.argsort(buckets, kind="stable")
            present, first = np.unique(buckets[order], return_index=True)
            batch = batch.take(pa.array(order))
            for bucket, begin, end in zip(present, first, [*first[1:], len(order)], strict=True):
                if bucket not in writers:
                    found[bucket] = files.enter_context(tempfile.TemporaryFile())
                    writers[bucket] = open_writers.enter_context(pa.ipc.new_stream(found[bucket], batch.schema))
                writers[bucket].write_batch(batch.slice(begin, end - begin))
    return [found[bucket] for bucket in sorted(found)]


def sorted_rows(
    table: TableFile, bucket: IO[bytes], seed: int, odd: Oddities
) -> tuple[pa.Array, np.ndarray, np.ndarray, np.ndarray]:
    """Return a bucket's ids (B,), ascending user numbers (N,), rows (N, 1 + d) and a sketch of the labels; the
    public seed orders the rows, and `odd` gets what is odd in them."""
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
    """Return uint64 keys (N,) by which a user's rows are sorted, from the rows and the hashes (N,) of the users' ids.

    Equal rows of a user are numbered: a hash of the row alone would keep or drop them together, and one without the id
    would favour the same rows of all users.
    """
    content = pd.util.hash_pandas_object(pd.DataFrame(rows), index=False).to_numpy()
    again = pd.Series(content).groupby([users, content], sort=False).cumcount()
    keyed = pd.DataFrame({"seed": seed, "user": users, "content": content, "again": again})
    return pd.util.hash_pandas_object(keyed, index=False).to_numpy()
