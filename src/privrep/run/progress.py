"""Progress of a long job: a bar on a terminal, lines in a log."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Protocol, TypeVar

from tqdm import tqdm

LINE_EVERY_SECONDS = 5.0


class SizedIterable(Sized, Iterable, Protocol):
    """Anything with a length that can be iterated."""


Item = TypeVar("Item")


def track(items: SizedIterable[Item], label: str) -> Iterator[Item]:
    """Iterate and report items done, time left and the current item to standard error."""
    if sys.stderr.isatty():
        bar = tqdm(items, desc=label, unit="cell", dynamic_ncols=True)
        for item in bar:
            bar.set_postfix_str(str(item), refresh=False)
            yield item
        return
    total, start, last = len(items), time.monotonic(), float("-inf")
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - last >= LINE_EVERY_SECONDS:
            left = f"{(now - start) / done * (total - done):.0f} s left" if done else "starting"
            print(f"{label}: {done} of {total} done, {left}, now {item}", file=sys.stderr, flush=True)
            last = now
        yield item
    print(f"{label}: {total} of {total} done in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)


def reported(line: str) -> tuple[float, str]:
    """Share of a job that is done and what it is at, from a line of its log;
    nothing of either where it is no line of `track`.

    >>> reported("figure2 shard 3: 26 of 104 done, 20 s left, now heads seed=3")
    (0.25, 'figure2 shard 3: heads seed=3')
    """
    found = re.match(r"(.*): (\d+) of (\d+) done(?:, .*?, now (.*))?", line)
    if not found:
        return 0.0, ""
    return int(found[2]) / max(int(found[3]), 1), f"{found[1]}: {found[4] or 'writing its rows'}"
