"""One run of an image experiment: images are partitioned among clients, a method is run, and clients are tested.

A run can stop between rounds, or between blocks of clients that train alone, and resume from its saved state.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import jax
import numpy as np

from images import accuracy, kernel, rounds
from images.accuracy import Counts, TestSet
from images.centaur import ImageCentaur
from images.clients import split
from images.fedavg import FedAvg
from images.image_users import ImageUsers
from images.method import Client, ImageMethod, ImageTask, Pixels
from images.networks import lenet, mlp
from images.options import EIGHTHS, ImageOptions
from images.pmtl import Pmtl
from images.ppsgd import Ppsgd
from images.sets import SETS, read
from images.stand_alone import StandAlone
from images.training import Descent
from privrep.privacy.ledger import GaussianRelease
from privrep.privacy.mechanisms import Release

BLOCK = 20
"""Clients that train alone between two points where a run can stop, on a CPU."""


@dataclass(frozen=True)
class Federation:
    """Images partitioned among clients: name and checksum of the set, the clients' training images, the images that
    they `kept` for validation, one test set for all, and each client's shards of each class, (n, classes)."""

    name: str
    checksum: str
    clients: Client
    kept: Client
    test: TestSet
    shards: np.ndarray

    @property
    def pixels(self) -> Pixels:
        """The normalisation of the images."""
        return Pixels(SETS[self.name].mean, SETS[self.name].sd)

    @property
    def users(self) -> ImageUsers:
        """The clients as a source of users."""
        classes = int((self.shards > 0).sum(axis=1).max())
        return ImageUsers.of(self.clients, classes)

    def task(self, shift: int = 0) -> ImageTask:
        """The clients' task, with the paper's network for the set; `shift` as in `ImageTask`."""
        images = SETS[self.name]
        network = mlp(images.dim) if images.dense is None else lenet(images.side, images.channels, images.dense)
        return ImageTask(network, images.classes, shift)

    def part(self, which: slice) -> tuple[Client, Client]:
        """Return the training and validation images of some clients."""
        seen, kept = (Client(source.images[which], source.labels[which]) for source in (self.clients, self.kept))
        return seen, kept


def federation(name: str, clients: int, samples: int, per_client: int, seed: int, data: Path) -> Federation:
    """Partition a set of `images.sets.SETS`, read from its folder below `data`, among clients of `samples` images,
    validation included, in `per_client` shards each; the seed decides the assignment."""
    training, test, checksum = read(name, data / name)
    partition = split(training.labels, clients, per_client, samples, np.random.default_rng(seed))
    there: Any = training  # NumPy arrays, which stay in host memory
    seen, kept = (Client(there.pixels[own], there.labels[own]) for own in (partition.training, partition.validation))
    return Federation(name, checksum, seen, kept, TestSet.of(test.pixels, test.labels), partition.shards)


def federated_method(options: ImageOptions, task: ImageTask) -> ImageMethod:
    """Return the federated method of the options, with the step .01 of the authors' scripts. PPSGD's own part takes one
    epoch of step .1, ten times the shared step: the ratio alpha = .1 of Appendix B."""
    same = options.batch, options.momentum
    local, head = Descent(0.01, options.local_epochs, *same), Descent(0.01, options.head_epochs, *same)
    if options.method == "ppsgd":
        return Ppsgd(task, local, head, Descent(0.1, 1, *same))
    return {"centaur": ImageCentaur, "fedavg": FedAvg, "pmtl": Pmtl}[options.method](task, local, head)


class Saved(Protocol):
    """Storage of a run's state: `load` returns the last state or None, and `save`, which receives the progress of the
    run, may skip most states."""

    def load(self) -> dict[str, Any] | None: ...

    def save(self, done: int, of: int, accuracy: float | None, state: Callable[[], dict[str, Any]]) -> None: ...


@dataclass(frozen=True)
class Trained:
    """The numbers of a row, and the accuracies of the watched clients, (watched,)."""

    numbers: dict[str, float]
    by_client: np.ndarray


def scored(federation: Federation, counts: Counts) -> tuple[dict[str, float], np.ndarray]:
    """Return both scores of the tested clients (the first ones), and the accuracy of each, weighted by its shards."""
    given = counts.right, federation.test.counts, federation.shards[: len(counts.right)]
    shards = accuracy.by_shards(*given)
    numbers = {
        "accuracy": float(shards.mean()),
        "accuracy_once": float(accuracy.own_classes_once(*given).mean()),
        "accuracy_sd": float(shards.std(ddof=1)),
        "tested": len(shards),
        "validation": float(counts.validation.mean()),
    }
    return numbers, shards


def train_alone(federation: Federation, options: ImageOptions, seed: int, saved: Saved | None = None) -> Trained:
    """Train the first watched clients, each one alone."""
    descent = Descent(0.01, options.local_epochs, options.batch, options.momentum)
    method, pixels, n = StandAlone(federation.task(), descent), federation.pixels, len(federation.shards)
    watched = min(options.watched, n)
    keys, block = jax.random.split(jax.random.key(seed), n), max(BLOCK, rounds.client_chunk())
    state: Any = (saved and saved.load()) or {
        "right": np.zeros((0, len(federation.test.counts)), int),
        "validation": [],
    }
    counts = Counts(np.asarray(state["right"]), np.asarray(state["validation"], float))
    for start in range(len(counts.right), watched, block):
        which = slice(start, min(start + block, watched))
        some, kept = federation.part(which)
        tested = accuracy.alone(method, pixels, some, kept, federation.test, keys[which])
        counts = Counts(*map(np.concatenate, zip(counts, tested, strict=True)))
        if saved:
            saved.save(which.stop, watched, scored(federation, counts)[0]["accuracy"], counts._asdict)
    return Trained(*scored(federation, counts))


@dataclass
class Progress:
    """Update lengths (n,) of each round so far, and accuracies after each eighth of the rounds."""

    lengths: list[np.ndarray] = field(default_factory=list)
    along: list[float] = field(default_factory=list)

    def numbers(self, clip: float) -> dict[str, float]:
        """Return shares of clipped updates, update lengths and accuracies along the run."""
        lengths = np.stack(self.lengths) / clip
        numbers = {"clipped_share": float((lengths > 1).mean())}
        for part, some in zip(EIGHTHS, np.array_split(lengths, len(EIGHTHS)), strict=True):
            if len(some):
                numbers |= {f"length_{part}_8": float(np.median(some)), f"cut_{part}_8": float((some > 1).mean())}
        return numbers | {f"accuracy_{part}_8": value for part, value in zip(EIGHTHS, self.along, strict=False)}


def checkpoints(total: int) -> list[int]:
    """Return the rounds after which clients are tested: each eighth, or with fewer than eight rounds the last."""
    return [round(part * total / len(EIGHTHS)) for part in EIGHTHS] if total >= len(EIGHTHS) else [total]


def train_together(
    federation: Federation,
    options: ImageOptions,
    release: Release,
    seed: int,
    saved: Saved | None = None,
    last_shift: int = 0,
) -> Trained:
    """Run a federated method; the public seed decides starts and mini-batches. With `last_shift` clients are tested
    again at the end, with final heads fitted on images moved by up to this number of pixels; nothing is released."""
    method, pixels = federated_method(options, federation.task(options.shift)), federation.pixels
    training, final = jax.random.split(jax.random.key(seed))
    watched, sizes = min(options.watched, len(federation.shards)), (options.rounds, options.clip)
    progress, begun, stops = Progress(), None, checkpoints(options.rounds)
    state: Any = saved and saved.load()
    if state:
        begun, progress = resumed(state, release)

    def tested(last: rounds.Round, some: int, method: ImageMethod = method) -> Counts:
        return accuracy.federated(method, pixels, last, *federation.part(slice(some)), federation.test, final)

    for last in rounds.run(method, pixels, federation.users, *sizes, release, training, begun):
        progress.lengths.append(last.lengths)
        if last.number < options.rounds:
            if last.number in stops:
                progress.along.append(scored(federation, tested(last, watched))[0]["accuracy"])
            if saved:
                latest = progress.along[-1] if progress.along else None
                saved.save(last.number, options.rounds, latest, lambda last=last: saved_state(last, progress, release))
    numbers, shards = scored(federation, tested(last, len(federation.shards)))
    if last_shift:
        heads = federated_method(options, federation.task(last_shift))
        again = scored(federation, tested(last, len(federation.shards), heads))[0]
        numbers["accuracy_moved_last"] = again["accuracy"]
    progress.along.append(float(shards[:watched].mean()))
    return Trained(numbers | {"parameters": len(last.flat)} | progress.numbers(options.clip), shards[:watched])


def saved_state(last: rounds.Round, progress: Progress, release: Release) -> dict[str, Any]:
    """Return the state that determines later rounds: the shared model, clients' own parts, the ledger, and the position
    in the noise stream. The seed and a round's number determine the rest."""
    noise = release.noise.bit_generator.state
    return {
        "number": last.number,
        "flat": last.flat,
        "own": [np.asarray(leaf) for leaf in jax.tree.leaves(last.own)],
        "lengths": np.stack(progress.lengths),
        "along": progress.along,
        "ledger": [astuple(entry) for entry in release.ledger.entries],
        "noise": {**noise, "state": {name: part.tolist() for name, part in noise["state"].items()}}
        | {"buffer": noise["buffer"].tolist()},
    }


def resumed(state: dict[str, Any], release: Release) -> tuple[rounds.Begun, Progress]:
    """Return the saved rounds and progress, and restore the release handle."""
    for entry in state["ledger"]:
        release.ledger.enter(GaussianRelease(*entry), release.allowed)
    release.noise.bit_generator.state = state["noise"]
    progress, own = Progress(list(np.asarray(state["lengths"])), list(state["along"])), state.get("own", ())
    return rounds.Begun(state["number"], np.asarray(state["flat"]), [np.asarray(leaf) for leaf in own]), progress


def device(name: str) -> str:
    """Return the kind of the GPU that JAX runs on, or the model of the processor and whether the network of a set runs
    with its kernel."""
    processor = jax.devices()[0]
    if processor.platform != "cpu":
        return processor.device_kind
    names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")] if Path("/proc/cpuinfo").exists() else []  # fmt: skip
    model = names[0] if names else platform.processor() or platform.machine()
    return f"{model}, kernel" if SETS[name].dense and kernel.ready() else model
