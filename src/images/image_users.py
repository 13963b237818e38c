"""Clients with images as users: the counterpart of `privrep.users.blocks.UserData` for samples that are not vectors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from images.method import Client
from privrep.users.known import Known


class Everybody(NamedTuple):
    """All clients as one block of users."""

    clients: Client
    start: int = 0

    @property
    def users(self) -> int:
        return len(self.clients.labels)


@dataclass(frozen=True, eq=False)
class ImageUsers:
    """Clients with pixels uint8 (n, m, height, width, channels) and labels (n, m), which are not moved to another
    device; `known` has n, images per client, pixels per image and classes per client."""

    known: Known
    clients: Client

    truth = block_size = None

    @classmethod
    def of(cls, clients: Client, rank: int) -> ImageUsers:
        """Return users with sizes read from the arrays; `rank` is the number of classes of a client."""
        users, samples, *image = clients.images.shape
        return cls(Known(users, samples, math.prod(image), rank), clients)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Everybody]:
        """Yield the clients numbered start, ..., stop - 1, by default all, as one block: a scan goes over single
        clients."""
        yield Everybody(Client(*(part[start:stop] for part in self.clients)), start)
