"""Clients with images as users: the source of `privrep.data.problem.UserData` whose samples are no vectors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from privrep.data.known import Known
from privrep.images.method import Client


class Everybody(NamedTuple):
    """All clients as one block of users."""

    clients: Client
    start: int = 0

    @property
    def users(self) -> int:
        """How many."""
        return len(self.clients.labels)


@dataclass(frozen=True, eq=False)
class ImageUsers:
    """Clients, whose images and labels stay where they are.

    Attributes
    ----------
    known : n, images of each, pixels of an image, classes of a client.
    clients : pixels uint8 (n, m, height, width, channels) and labels (n, m).
    held_out : the same clients with images that no fit sees.
    """

    known: Known
    clients: Client
    held_out: ImageUsers | None = None

    truth = block_size = None

    @classmethod
    def of(cls, clients: Client, rank: int, held_out: ImageUsers | None = None) -> ImageUsers:
        """Users with the sizes of the arrays. rank : classes of a client."""
        users, samples, *image = clients.images.shape
        return cls(Known(users, samples, math.prod(image), rank), clients, held_out)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Everybody]:
        """The clients numbered start, ..., stop - 1, by default all, as one block: a scan goes over them one by one."""
        yield Everybody(Client(*(part[start:stop] for part in self.clients)), start)
