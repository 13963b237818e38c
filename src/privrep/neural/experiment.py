"""One run of an image experiment: images are dealt out to clients, a method is run, and clients are tested on their own classes.

Settings are those of shen2023's Appendix B for EMNIST and, where it is silent, of the authors' public scripts: see `Recipe`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from privrep.neural import accuracy, rounds
from privrep.neural.centaur import Centaur
from privrep.neural.clients import split
from privrep.neural.fedavg import FedAvg
from privrep.neural.glyphs import SIDE, cached_glyphs
from privrep.neural.method import Client, Method, Pixels, Task
from privrep.neural.networks import mlp
from privrep.neural.pmtl import Pmtl
from privrep.neural.ppsgd import Ppsgd
from privrep.neural.stand_alone import StandAlone
from privrep.neural.training import Descent
from privrep.privacy.mechanisms import Release

EMNIST_PIXELS = Pixels(0.1736, 0.3317)
"""What EMNIST is usually normalised by; public."""
TEST_IMAGES = 500
"""Of each class, one test set for all clients."""


@dataclass(frozen=True)
class Recipe:
    """How clients train.

    Attributes
    ----------
    local_epochs, batch : passes and mini-batches of a client in a round; 2 and 100 in the scripts. local_step : eta_l, .01.
    head_epochs : of fine tuning, and of CENTAUR's head in each round, with steps of .01: 15.
    alone_epochs : of a client that trains alone.
    """

    local_epochs: int = 2
    batch: int = 100
    local_step: float = 0.01
    head_epochs: int = 15
    alone_epochs: int = 100

    @property
    def local(self) -> Descent:
        """Descent on what is shared."""
        return Descent(self.local_step, self.local_epochs, self.batch)

    @property
    def head(self) -> Descent:
        """Descent on a client's own head."""
        return Descent(0.01, self.head_epochs, self.batch)

    def method(self, name: str, task: Task) -> Method:
        """A federated method by its name. PPSGD's own part takes one epoch of step .1, ten times the shared step: the ratio alpha = .1.

        Raises KeyError for another name.
        """
        correction = Descent(10 * self.local_step, 1, self.batch)
        return {
            "centaur": Centaur(task, self.local, self.head),
            "fedavg": FedAvg(task, self.local, self.head),
            "pmtl": Pmtl(task, self.local, self.head),
            "ppsgd": Ppsgd(task, self.local, correction, self.head),
        }[name]

    def alone(self, task: Task) -> StandAlone:
        """Stand-alone training."""
        return StandAlone(task, Descent(0.01, self.alone_epochs, self.batch))


@dataclass(frozen=True)
class Federation:
    """Clients and the test set. own : (n, classes), which classes a client has."""

    clients: Client
    test: Client
    own: np.ndarray


def glyph_federation(
    folder: Path, clients: int, images: int, classes: int, per_client: int, kind: str, seed: int
) -> Federation:
    """Glyphs dealt out to clients, the last `TEST_IMAGES` of each class kept for testing.

    Parameters
    ----------
    folder : where rendered images are kept. images : of a client, validation included. kind, per_client : see `privrep.neural.clients.split`.
    """
    each = -(-clients * images // classes)
    drawn = cached_glyphs(folder, classes, each + TEST_IMAGES, seed)
    pixels = drawn.pixels.reshape(classes, -1, SIDE, SIDE, 1)
    labels = np.repeat(np.arange(classes, dtype=np.uint8), each)
    dealt = split(labels, clients, per_client, kind, np.random.default_rng(seed), images)
    training = pixels[:, :each].reshape(-1, SIDE, SIDE, 1)
    test = Client(
        pixels[:, each:].reshape(-1, SIDE, SIDE, 1), np.repeat(np.arange(classes, dtype=np.uint8), TEST_IMAGES)
    )
    return Federation(Client(training[dealt.training], labels[dealt.training]), test, dealt.own)


@dataclass(frozen=True)
class Result:
    """accuracies : (n,) of the clients in the end. norms : (T, n) of displacements before the clip; none for clients that train alone."""

    accuracies: np.ndarray
    norms: np.ndarray


def task_of(federation: Federation) -> Task:
    """The MLP of the paper on the images of a federation."""
    return Task(mlp(SIDE**2), federation.own.shape[1])


def train_alone(federation: Federation, recipe: Recipe, seed: int) -> Result:
    """Every client by itself."""
    method = recipe.alone(task_of(federation))
    key = jax.random.key(seed)
    found = accuracy.alone(method, EMNIST_PIXELS, federation.clients, federation.test, federation.own, key)
    return Result(found, np.empty((0, len(found))))


def train_together(
    federation: Federation,
    name: str,
    recipe: Recipe,
    count: int,
    clip: float,
    release: Release,
    seed: int,
    nominal: int | None = None,
) -> Result:
    """A federated method by its name. count : rounds. clip : zeta. seed : of starts and mini-batches, public. nominal : see `rounds.run`."""
    method = recipe.method(name, task_of(federation))
    training, final = jax.random.split(jax.random.key(seed))
    norms = []
    for last in rounds.run(method, EMNIST_PIXELS, federation.clients, count, clip, release, training, nominal):
        norms.append(last.norms)
    clients, test = federation.clients, federation.test
    found = accuracy.federated(method, EMNIST_PIXELS, last, clients, test, federation.own, final)
    return Result(found, np.array(norms))
