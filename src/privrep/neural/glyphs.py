"""Glyphs: stands in for EMNIST. Grey-scale characters of 28 x 28 pixels, made from the fonts that come with matplotlib.

    once per character c and font f:
        S[c, f]  <- signed distance to the outline, in pixels, positive inside;
                    the longer side of the character is 20 pixels
    for each image of class c:
        f        <- one of 21 fonts
        u(p)     <- rotation . shear . scales . p + shift + elastic warp(p)         p : a pixel, from the centre
        a(p)     <- sigmoid( (S[c, f](u(p)) + stroke) / blur )  + noise             S between its points: bilinear
        image    <- 255 a / max a, rounded

Writers differ by font, slant, proportions and pen, as those of EMNIST do; no two images are the same. As in EMNIST each
character is scaled to one size, so that only its shape tells c from C: the 47 classes leave out most of these pairs,
the 62 have them all. Blur is folded into the slope of the sigmoid: an edge falls off as under a Gaussian blur, and what
is thinner than the blur stays a little brighter than there.

Each character has a stream of its own, cut into blocks, so that more images or more classes leave the first ones as
they are.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy.interpolate import CubicSpline
from scipy.ndimage import distance_transform_edt, map_coordinates

from privrep.data.rng import BlockStreams, digest
from privrep.data.whole_files import in_one_move
from privrep.fitting.options import check_count
from privrep.neural.images import Images

VERSION = 1
"""Of the images: to be raised with every change that moves a pixel, so that no cached ones outlive it."""

DIGITS, UPPER, LOWER = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
ALPHABETS = {10: DIGITS, 47: DIGITS + UPPER + "abdefghnqrt", 62: DIGITS + UPPER + LOWER}
"""Characters by their number, in the order of the labels: those of EMNIST digits, balanced and byclass."""

FONTS = (
    "DejaVuSans.ttf",
    "DejaVuSans-Bold.ttf",
    "DejaVuSans-Oblique.ttf",
    "DejaVuSans-BoldOblique.ttf",
    "DejaVuSansMono.ttf",
    "DejaVuSansMono-Bold.ttf",
    "DejaVuSansMono-Oblique.ttf",
    "DejaVuSansMono-BoldOblique.ttf",
    "DejaVuSerif.ttf",
    "DejaVuSerif-Bold.ttf",
    "DejaVuSerif-Italic.ttf",
    "DejaVuSerif-BoldItalic.ttf",
    "STIXGeneral.ttf",
    "STIXGeneralBol.ttf",
    "STIXGeneralItalic.ttf",
    "STIXGeneralBolIta.ttf",
    "cmr10.ttf",
    "cmb10.ttf",
    "cmss10.ttf",
    "cmti10.ttf",
    "cmtt10.ttf",
)
"""Files of matplotlib's fonts that have all characters. Its others are of symbols, or repeat these."""

SIDE = 28
"""Pixels of a side of an image."""
BOX = 20
"""Pixels of the longer side of an undistorted character, as in MNIST."""
GRID = 48
"""Points of a side of a signed distance, over the side of an image."""
FONT_SIZE = 120
"""Of the characters whose distances are taken, in pixels."""
CONTROLS = 4
"""Control points of a side of an elastic warp."""
BLOCK = 100
"""Images that are drawn and rendered at once: few enough to stay in a processor's cache."""
PROBIT = 1.702
"""sigmoid(1.702 x) is within .01 of the standard normal distribution function."""


@dataclass(frozen=True)
class Style:
    """How images vary. Standard deviations of normal draws, but for the blur;
    a draw is of a whole image unless said otherwise.

    The values were set so that clients with 216 digits of at most 5 classes who train alone are as accurate as the
    paper's on EMNIST, before any federated run.

    Attributes
    ----------
    rotation : degrees.
    shear : shift of a row over its height.
    log_scale : of the width, and of the height.
    shift : pixels, along each axis.
    elastic : pixels, of each of 4 x 4 control points along each axis, with cubic splines between them.
    stroke : pixels by which outlines are moved outwards.
    noise : of each pixel, where full ink is 1.
    least_blur, most_blur : range of the standard deviation of the blur in pixels, drawn uniformly; positive.
    """

    rotation: float = 8.0
    shear: float = 0.10
    log_scale: float = 0.10
    shift: float = 0.8
    elastic: float = 0.7
    stroke: float = 0.5
    noise: float = 0.04
    least_blur: float = 0.5
    most_blur: float = 1.1


def alphabet(classes: int) -> str:
    """The characters of so many classes. Raises ValueError unless `ALPHABETS` has them."""
    if classes not in ALPHABETS:
        raise ValueError(f"classes is {classes!r}; it must be one of {', '.join(map(str, ALPHABETS))}")
    return ALPHABETS[classes]


# Signed distances


def font_file(name: str) -> Path:
    """Where matplotlib keeps a font. Raises FileNotFoundError if it does not have it."""
    path = Path(matplotlib.get_data_path(), "fonts", "ttf", name)
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing; matplotlib {matplotlib.__version__} should come with the font {name}, of which glyphs "
            "are made"
        )
    return path


@cache
def loaded_font(name: str) -> ImageFont.FreeTypeFont:
    """A font at `FONT_SIZE`. The basic layout is the one that every build of Pillow has."""
    return ImageFont.truetype(font_file(name), FONT_SIZE, layout_engine=ImageFont.Layout.BASIC)


def silhouette(character: str, font: str) -> np.ndarray:
    """Where a character has ink, (height, width) bool, cropped to it."""
    canvas = Image.new("L", (3 * FONT_SIZE, 3 * FONT_SIZE))
    ImageDraw.Draw(canvas).text((FONT_SIZE, FONT_SIZE), character, fill=255, font=loaded_font(font))
    ink = np.asarray(canvas) > 127
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def signed_distance(ink: np.ndarray) -> np.ndarray:
    """Distance to the outline on `GRID` x `GRID` points over an image, in its pixels, positive inside;
    (48, 48) float32.

    ink : as `silhouette` gives it; its longer side becomes `BOX` pixels, and its middle that of the image.
    """
    fine = max(ink.shape) / BOX
    # As much as an image shows, and alike on both sides, so that the middle stays in the middle.
    padded = np.pad(ink, [(math.ceil((SIDE * fine - side) / 2),) * 2 for side in ink.shape])
    # The outline runs midway between two of the fine pixels.
    distance = np.where(padded, distance_transform_edt(padded) - 0.5, 0.5 - distance_transform_edt(~padded)) / fine
    offsets = (np.arange(GRID) - (GRID - 1) / 2) * (SIDE / GRID) * fine
    points = np.meshgrid(*((side - 1) / 2 + offsets for side in padded.shape), indexing="ij")
    return map_coordinates(distance, points, order=1).astype(np.float32)


@cache
def distances(character: str) -> np.ndarray:
    """Signed distances of a character in all `FONTS`, (21, 48, 48) float32; the caller must not change them."""
    return np.stack([signed_distance(silhouette(character, font)) for font in FONTS])


# Images


def map_terms() -> np.ndarray:
    """Functions of a pixel, (19, 784) float32, row by row, of which a map is a sum: 4 x 4 splines of a warp,
    and y, x and 1."""
    splines = CubicSpline(np.linspace(0, SIDE - 1, CONTROLS), np.eye(CONTROLS), bc_type="natural")(np.arange(SIDE)).T
    centred = np.arange(SIDE) - (SIDE - 1) / 2
    ones = np.ones(SIDE)
    affine = [np.kron(centred, ones), np.kron(ones, centred), np.kron(ones, ones)]
    return np.vstack([np.kron(splines, splines), affine]).astype(np.float32)


def drawn_maps(style: Style, rng: np.random.Generator) -> np.ndarray:
    """Coefficients of the maps of a block from an image to the signed distance, (2, 100, 19): y and x,
    as sums of `map_terms`.

    The draws are symmetric, so the map back is as good as the one there.
    """
    angle = np.radians(style.rotation) * rng.standard_normal(BLOCK)
    shear = style.shear * rng.standard_normal(BLOCK)
    tall, wide = np.exp(style.log_scale * rng.standard_normal((2, BLOCK)))
    shift = style.shift * rng.standard_normal((2, BLOCK, 1))
    warp = style.elastic * rng.standard_normal((2, BLOCK, CONTROLS**2))
    cos, sin = np.cos(angle), np.sin(angle)
    # [[cos, -sin], [sin, cos]] [[1, 0], [shear, 1]] diag(tall, wide): a shear moves rows, so it changes x by y.
    linear = np.array([[(cos - sin * shear) * tall, -sin * wide], [(sin + cos * shear) * tall, cos * wide]])
    return np.concatenate([warp, linear.transpose(0, 2, 1), shift], axis=2)


def looked_up(grids: np.ndarray, which: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Values of grids between their points, bilinear; beyond its border a grid goes on as it ends.

    grids : (g, 48, 48). which : (b,) integers below g. y, x : (b, n) positions, from 0 to 47. Returns (b, n).
    """
    y, x = np.clip(y, 0, GRID - 1), np.clip(x, 0, GRID - 1)
    # The last point belongs to the cell before it.
    top, left = np.minimum(y.astype(np.int64), GRID - 2), np.minimum(x.astype(np.int64), GRID - 2)
    down, right = y - top.astype(y.dtype), x - left.astype(x.dtype)
    first = which[:, None] * GRID**2 + top * GRID + left
    flat = grids.reshape(-1)
    above = flat[first] * (1 - right) + flat[first + 1] * right
    below = flat[first + GRID] * (1 - right) + flat[first + GRID + 1] * right
    return above * (1 - down) + below * down


def rendered_block(grids: np.ndarray, style: Style, rng: np.random.Generator) -> np.ndarray:
    """A block of images of one character, (100, 28, 28) uint8. grids : its signed distances, (21, 48, 48)."""
    fonts = rng.integers(len(grids), size=BLOCK)
    stroke = (style.stroke * rng.standard_normal((BLOCK, 1))).astype(np.float32)
    blur = rng.uniform(style.least_blur, style.most_blur, (BLOCK, 1)).astype(np.float32)
    y, x = drawn_maps(style, rng).astype(np.float32) @ map_terms() * np.float32(GRID / SIDE) + np.float32(
        (GRID - 1) / 2
    )
    depth = looked_up(grids, fonts, y, x) + stroke
    # sigmoid(2 z) = (1 + tanh z) / 2, which does not overflow.
    ink = (1 + np.tanh(np.float32(PROBIT / 2) * depth / blur)) / 2
    ink += np.float32(style.noise) * rng.standard_normal(ink.shape, dtype=np.float32)
    ink = np.maximum(ink, 0)
    ink *= 255 / ink.max(axis=1, keepdims=True)
    return np.rint(ink).astype(np.uint8).reshape(BLOCK, SIDE, SIDE)


def glyphs(classes: int, per_class: int, seed: int, style: Style = Style()) -> Images:
    """Images of each class, equally many, class by class.

    Parameters
    ----------
    classes : a key of `ALPHABETS`.
    per_class : images of each class, at least 1. Fewer are the first of more.
    seed : at least 0. An image depends on its seed, character, place among those of its class and style,
        and on nothing else.
    style : how images vary.

    Raises
    ------
    ValueError : classes is no key of `ALPHABETS`, or per_class no integer of at least 1.
    FileNotFoundError : matplotlib lacks one of `FONTS`.
    """
    characters = alphabet(classes)
    check_count("per_class", per_class)
    pixels = np.empty((classes, per_class, SIDE, SIDE), np.uint8)
    for character, out in zip(characters, pixels, strict=True):
        streams = BlockStreams(seed, "glyphs", {"character": character})
        for start in range(0, per_class, BLOCK):
            block = rendered_block(distances(character), style, streams[start // BLOCK])
            out[start : start + BLOCK] = block[: per_class - start]
    labels = np.repeat(np.arange(classes, dtype=np.uint8), per_class)
    return Images(pixels.reshape(-1, SIDE, SIDE), labels)


# Cache


def checksum(images: Images) -> str:
    """Hexadecimal sha256 of pixels and labels."""
    return hashlib.sha256(images.pixels.tobytes() + images.labels.tobytes()).hexdigest()


def cache_file(folder: Path, classes: int, per_class: int, seed: int) -> Path:
    """Where the images of these sizes and this seed are kept; the name changes with `VERSION` and the defaults of
    `Style`."""
    key = digest(asdict(Style()) | {"version": VERSION})[:12]
    return folder / f"glyphs-{classes}-{per_class}-{seed}-{key}.npz"


def read_images(path: Path) -> Images:
    """Images as `write_images` left them.
    Raises ValueError if they do not have their checksum, and what numpy raises if it cannot read them."""
    with open(path, "rb") as file, np.load(file) as arrays:
        images = Images(arrays["pixels"], arrays["labels"])
        if arrays["sha256"].item() != checksum(images):
            raise ValueError("pixels and labels do not have the checksum stored with them")
    return images


def write_images(path: Path, images: Images) -> None:
    """Write images with their checksum, so that no other process sees a part of the file."""
    with in_one_move(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, pixels=images.pixels, labels=images.labels, sha256=np.array(checksum(images)))


def cached_glyphs(folder: Path, classes: int, per_class: int, seed: int) -> Images:
    """`glyphs` in the default style, kept in a folder, which is made if need be;
    a damaged file is made anew, with a warning.

    Raises what `glyphs` raises, and OSError if the folder cannot be written.
    """
    path = cache_file(folder, classes, per_class, seed)
    if path.exists():
        try:
            return read_images(path)
        except Exception as error:  # Damage shows as any of a dozen errors of zipfile, numpy and the tokenizer.
            warnings.warn(f"{path} is damaged and is made anew: {error}", stacklevel=2)
    images = glyphs(classes, per_class, seed)
    write_images(path, images)
    return images
