"""One run of an image experiment: images are partitioned among clients, a method is run, and clients are tested on
their own classes.

Settings are those of shen2023's Appendix B for EMNIST and, where it is silent, of the authors' public scripts:
see `Recipe`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import jax
import numpy as np

from privrep.neural import accuracy, rounds, spectrum
from privrep.neural.accuracy import Accuracies
from privrep.neural.centaur import ImageCentaur
from privrep.neural.clients import split
from privrep.neural.fedavg import FedAvg
from privrep.neural.glyphs import SIDE, cached_glyphs
from privrep.neural.image_users import ImageUsers
from privrep.neural.images import Images
from privrep.neural.method import Client, ImageMethod, ImageTask, Pixels
from privrep.neural.networks import lenet, mlp
from privrep.neural.pmtl import Pmtl
from privrep.neural.ppsgd import Ppsgd
from privrep.neural.sets import SETS, read
from privrep.neural.stand_alone import StandAlone
from privrep.neural.training import Descent
from privrep.privacy.mechanisms import Release, clipped_sums

TEST_IMAGES = 500
"""Glyphs of each class, one test set for all clients."""
COMPARED = 64
"""Clients whose updates are compared with each other."""


@dataclass(frozen=True)
class Recipe:
    """How clients train.

    Attributes
    ----------
    local_epochs, batch : passes and mini-batches of a client in a round; 2 and 100 in the scripts.
    local_step : eta_l, .01.
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

    def method(self, name: str, task: ImageTask) -> ImageMethod:
        """A federated method by its name. PPSGD's own part takes one epoch of step .1, ten times the shared step:
        the ratio alpha = .1.

        Raises KeyError for another name.
        """
        correction = Descent(10 * self.local_step, 1, self.batch)
        return {
            "centaur": ImageCentaur(task, self.local, self.head),
            "fedavg": FedAvg(task, self.local, self.head),
            "pmtl": Pmtl(task, self.local, self.head),
            "ppsgd": Ppsgd(task, self.local, correction, self.head),
        }[name]

    def alone(self, task: ImageTask) -> StandAlone:
        """Stand-alone training."""
        return StandAlone(task, Descent(0.01, self.alone_epochs, self.batch))


@dataclass(frozen=True)
class Federation:
    """name : of the image set. clients : what they train on. kept : what each keeps for validation.
    test : one set for all. own : (n, classes), which classes a client has."""

    name: str
    clients: Client
    kept: Client
    test: Client
    own: np.ndarray

    @property
    def pixels(self) -> Pixels:
        """How its images are read."""
        return Pixels(SETS[self.name].mean, SETS[self.name].sd)

    @property
    def users(self) -> ImageUsers:
        """Its clients as a method sees them."""
        classes = int(self.own.sum(axis=1).max())
        return ImageUsers.of(self.clients, classes, ImageUsers.of(self.kept, classes))

    def task(self, shift: int = 0) -> ImageTask:
        """What clients learn: the paper's network for the set. shift : see `Task`."""
        images = SETS[self.name]
        network = mlp(images.dim) if images.dense is None else lenet(images.side, images.channels, images.dense)
        return ImageTask(network, self.own.shape[1], shift)

    def first(self, count: int) -> Federation:
        """The first clients alone."""
        clients, kept = (Client(one.images[:count], one.labels[:count]) for one in (self.clients, self.kept))
        return replace(self, clients=clients, kept=kept, own=self.own[:count])


@dataclass(frozen=True)
class PartitionSettings:
    """How images are partitioned. clients, images : of them, and of each, validation included. classes : in all.
    per_client, kind : see `privrep.neural.clients.split`. seed : of the glyphs and of who gets which."""

    clients: int
    images: int
    classes: int
    per_client: int
    kind: str
    seed: int


def federation(name: str, partition: PartitionSettings, drawn: Path, data: Path, fetch: bool = False) -> Federation:
    """Images of a set partitioned among clients.

    Parameters
    ----------
    name : one of `privrep.neural.sets.SETS`. drawn : where rendered glyphs are kept.
    data : the folder with a folder for each other set.
    fetch : whether missing files of these may be fetched.

    Raises
    ------
    FileNotFoundError
        If the set's files are not there.
    """
    training, test = glyphs(drawn, partition) if name == "glyphs" else read(name, data / name, fetch)
    rng = np.random.default_rng(partition.seed)
    dealt = split(training.labels, partition.clients, partition.per_client, partition.kind, rng, partition.images)
    pixels, tests = (one.pixels.reshape(*one.pixels.shape[:3], -1) for one in (training, test))
    clients, kept = (Client(pixels[part], training.labels[part]) for part in (dealt.training, dealt.validation))
    return Federation(name, clients, kept, Client(tests, test.labels), dealt.own)


def glyphs(folder: Path, partition: PartitionSettings) -> tuple[Images, Images]:
    """As many glyphs as the clients need, and the last `TEST_IMAGES` of each class for testing."""
    classes, each = partition.classes, -(-partition.clients * partition.images // partition.classes)
    pixels = cached_glyphs(folder, classes, each + TEST_IMAGES, partition.seed).pixels.reshape(classes, -1, SIDE, SIDE)
    parts = pixels[:, :each], pixels[:, each:]
    training, test = (
        Images(part.reshape(-1, SIDE, SIDE), np.repeat(np.arange(classes, dtype=np.uint8), part.shape[1]))
        for part in parts
    )
    return training, test


@dataclass(frozen=True)
class Trained:
    """What became of clients that trained together.

    Attributes
    ----------
    accuracies : of all clients in the end.
    along : mean accuracy of the first `watched` clients after each share of the rounds, in `ALONG`.
    norms : (T, n) of displacements before the clip. parameters : numbers that are shared.
    means : lengths of the mean of the clipped ones, without noise, in the first round and in the last.
    in_common, effective_rank : of what `COMPARED` clients send after the first round, and after the last.
    """

    accuracies: Accuracies
    along: tuple[float, ...]
    norms: np.ndarray
    parameters: int
    means: tuple[float, float]
    in_common: tuple[float, float]
    effective_rank: tuple[float, float]


ALONG = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8)
"""Shares of the rounds after which clients are tested on the way."""


def train_alone(federation: Federation, recipe: Recipe, seed: int) -> np.ndarray:
    """Accuracy of every client by itself, (n,)."""
    method = recipe.alone(federation.task())
    key = jax.random.key(seed)
    return accuracy.alone(method, federation.pixels, federation.clients, federation.test, federation.own, key)


def train_together(
    federation: Federation,
    name: str,
    recipe: Recipe,
    plan: rounds.RoundPlan,
    release: Release,
    seed: int,
    shift: int = 0,
    watched: int = 0,
) -> Trained:
    """A federated method by its name.

    Parameters
    ----------
    seed : of starts and mini-batches, public. shift : see `Task`.
    watched : clients that are tested on the way, the first of all; 0 for no tests.
    """
    method, pixels, users = recipe.method(name, federation.task(shift)), federation.pixels, federation.users
    training, final, compared = jax.random.split(jax.random.key(seed), 3)
    some = federation.first(COMPARED)

    def tested(last: rounds.Round, whom: Federation) -> Accuracies:
        own = jax.tree.map(lambda leaf: leaf[: len(whom.own)], last.own)
        last = last._replace(own=own)
        return accuracy.federated(method, pixels, last, whom.clients, whom.kept, whom.test, whom.own, final)

    def compare(last: rounds.Round) -> tuple[float, float, float]:
        mean = np.linalg.norm(clipped_sums(users, last.sent, plan.clip)[0]) / (plan.nominal or users.known.users)
        own = jax.tree.map(lambda leaf: leaf[: len(some.own)], last.own)
        sent = np.asarray(rounds.displacements(method, pixels, last.shared, own, some.clients, compared), np.float64)
        return float(mean), spectrum.in_common(sent), spectrum.effective_rank(sent)

    stops = {max(1, round(share * plan.rounds)) for share in ALONG} if watched else set()
    norms, along, similarity = [], [], []
    for t, last in enumerate(rounds.run(method, pixels, users, plan, release, training), 1):
        norms.append(last.norms)
        if t in stops:
            along.append(float(tested(last, federation.first(watched)).test.mean()))
        if t in (1, plan.rounds):
            similarity.append(compare(last))
    first, ended = similarity[0], similarity[-1]
    shared = sum(leaf.size for leaf in jax.tree.leaves(last.shared))
    return Trained(tested(last, federation), tuple(along), np.array(norms), shared, *zip(first, ended, strict=True))
