"""The image sets of the experiments, read from their files to two arrays. This module does not import JAX.

    mnist       28 x 28 handwritten digits, 60,000 + 10,000; idx files, upright
    emnist      28 x 28 handwritten digits (the split of that name), 240,000 + 40,000; idx files, transposed
    cifar10     32 x 32 colour photographs, 50,000 + 10,000, 10 classes; binary version
    cifar100    the same, 100 classes; binary version, fine labels
    digits      8 x 8 handwritten digits, 1,797 in all, which come with scikit-learn; no files

Users provide the files, `docs/images.md` says where to get them: nothing is downloaded or written. A set is read whole
into memory. Each file has a known size, so that a truncated file, or one of another set, is refused.
"""

from __future__ import annotations

import gzip
import hashlib
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Images:
    """Labelled images: pixels (N, height, width, channels) uint8, 0 to 255, channels red, green, blue; labels (N,)
    uint8."""

    pixels: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class File:
    """A file of a set: its name, its header, the number of records, and for each record the number of label bytes, the
    last of which is used, and of pixel bytes, 0 if another file has the pixels."""

    name: str
    header: bytes
    count: int
    labels: int
    pixels: int


@dataclass(frozen=True)
class ImageSet:
    """Public facts about a set: side of its images, mean and sd of pixels between 0 and 1 by channel, widths of LeNet's
    dense layers (None for the MLP), files of both parts (images before labels), their origin, and whether they hold
    images column by column."""

    side: int
    channels: int
    classes: int
    mean: tuple[float, ...]
    sd: tuple[float, ...]
    dense: tuple[int, int] | None = None
    training: tuple[File, ...] = ()
    test: tuple[File, ...] = ()
    origin: str = ""
    transposed: bool = False

    @property
    def dim(self) -> int:
        return self.side**2 * self.channels

    @property
    def source(self) -> str:
        """Origin of the files, as the end of a message."""
        return f"it comes from {self.origin}, see docs/images.md"


def _pair(images: str, labels: str, count: int) -> tuple[File, File]:
    """Describe two idx files of uint8, one of images and one of labels: two zeros, 8 for the type, the number of
    dimensions, the dimensions, the entries."""
    of_images, of_labels = struct.pack(">4B3I", 0, 0, 8, 3, count, 28, 28), struct.pack(">4BI", 0, 0, 8, 1, count)
    return File(images, of_images, count, 0, 28 * 28), File(labels, of_labels, count, 1, 0)


def _cifar(classes: int, names: dict[str, int]) -> tuple[File, ...]:
    """Describe files of CIFAR's binary version: a label, then 1,024 bytes each of red, green and blue; CIFAR-100 has
    two labels."""
    return tuple(File(name, b"", count, 1 if classes == 10 else 2, 3 * 32 * 32) for name, count in names.items())


CIFAR = "https://www.cs.toronto.edu/~kriz/cifar.html (binary version, unpacked)"
SETS = {
    "digits": ImageSet(8, 1, 10, (0.3053,), (0.3763,)),
    "mnist": ImageSet(
        28, 1, 10, (0.1307,), (0.3081,),
        training=_pair("train-images-idx3-ubyte", "train-labels-idx1-ubyte", 60_000),
        test=_pair("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 10_000),
        origin="http://yann.lecun.com/exdb/mnist",
    ),
    "emnist": ImageSet(
        28, 1, 10, (0.1736,), (0.3317,),
        training=_pair("emnist-digits-train-images-idx3-ubyte", "emnist-digits-train-labels-idx1-ubyte", 240_000),
        test=_pair("emnist-digits-test-images-idx3-ubyte", "emnist-digits-test-labels-idx1-ubyte", 40_000),
        origin="https://www.nist.gov/itl/products-and-services/emnist-dataset",
        transposed=True,
    ),
    "cifar10": ImageSet(
        32, 3, 10, (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616), (384, 32),
        training=_cifar(10, {f"cifar-10-batches-bin/data_batch_{part}.bin": 10_000 for part in range(1, 6)}),
        test=_cifar(10, {"cifar-10-batches-bin/test_batch.bin": 10_000}),
        origin=CIFAR,
    ),
    "cifar100": ImageSet(
        32, 3, 100, (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762), (128, 32),
        training=_cifar(100, {"cifar-100-binary/train.bin": 50_000}),
        test=_cifar(100, {"cifar-100-binary/test.bin": 10_000}),
        origin=CIFAR,
    ),
}  # fmt: skip
HELD_OUT = 0.2
"""Share of `digits` for testing, the last images of each class, since it has no test part."""


def read(name: str, folder: Path) -> tuple[Images, Images, str]:
    """Return the upright training and test images of a set, read from plain files or files that end in .gz, and the
    sha256 over the unpacked contents of all files, for `digits` over the pixels and labels. Errors name the file, its
    requirement and its origin."""
    images = SETS[name]
    if not images.training:
        return _digits()
    files = {file.name: _contents(folder, file, images) for file in (*images.training, *images.test)}
    checksum = hashlib.sha256(b"".join(hashlib.sha256(contents).digest() for contents in files.values())).hexdigest()
    training, test = (_images(folder, part, files, images) for part in (images.training, images.test))
    return training, test, checksum


def _contents(folder: Path, file: File, images: ImageSet) -> bytes:
    """Return all bytes of a file, after a check of size and header."""
    path = next((path for path in (folder / file.name, folder / f"{file.name}.gz") if path.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"{folder / file.name}: no such file; {images.source}")
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: not a whole .gz file ({error}); {images.source}") from None
    size, start = len(file.header) + file.count * (file.labels + file.pixels), raw[: len(file.header)]
    if len(raw) != size:
        raise ValueError(f"{path}: {len(raw):,} bytes; it must be {size:,} bytes; {images.source}")
    if start != file.header:
        raise ValueError(f"{path}: header 0x{start.hex()}; it must be 0x{file.header.hex()}; {images.source}")
    return raw


def _images(folder: Path, files: tuple[File, ...], contents: dict[str, bytes], images: ImageSet) -> Images:
    """Concatenate the images of a part's files."""
    pixels, labels = [], []
    for file in files:
        rows = np.frombuffer(contents[file.name], np.uint8, offset=len(file.header)).reshape(file.count, -1)
        if file.labels:
            values = rows[:, file.labels - 1]
            if values.max() >= images.classes:
                what = f"a label is {values.max()}; labels must lie in 0..{images.classes - 1}"
                raise ValueError(f"{folder / file.name}: {what}; {images.source}")
            labels.append(values)
        if file.pixels:
            pixels.append(rows[:, file.labels :].reshape(-1, images.channels, images.side, images.side))
    upright = (0, 3, 2, 1) if images.transposed else (0, 2, 3, 1)
    return Images(np.ascontiguousarray(np.concatenate(pixels).transpose(upright)), np.concatenate(labels))


def _digits() -> tuple[Images, Images, str]:
    """Return scikit-learn's digits, with values 0 to 16 spread over 0 to 255."""
    from sklearn.datasets import load_digits

    digits: Any = load_digits()
    pixels = np.rint(digits.images * (255 / 16)).astype(np.uint8)[..., None]
    labels = digits.target.astype(np.uint8)
    kept = np.zeros(len(labels), bool)
    for label in range(10):
        places = np.flatnonzero(labels == label)
        kept[places[len(places) - round(HELD_OUT * len(places)) :]] = True
    training, test = (Images(pixels[part], labels[part]) for part in (~kept, kept))
    return training, test, hashlib.sha256(pixels.tobytes() + labels.tobytes()).hexdigest()
