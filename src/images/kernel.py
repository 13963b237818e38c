"""LeNet's convolutions in C (`lenet.c`) as a function that JAX can differentiate, for a CPU.

The file is compiled for the machine on first use, in a second, by the C compiler `cc` or by the one named in the
environment variable CC. If that fails, one line says so, and XLA runs `images.networks`: the same numbers but for
rounding, several times slower.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp

Convolutions = tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]
"""Weights (75, 64) and (1600, 64), each with offsets (64,)."""

SOURCE = Path(__file__).with_name("lenet.c")
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC", "-I", jax.ffi.include_dir())
SECONDS = 60
"""Longest time allowed for compiling."""
SIZES = 32, 3, 64
"""Side and channels of the images, and channels of the convolutions, that the file is written for."""
MAPS1, MAPS2 = 14 * 14 * 64, 5 * 5 * 64
"""Numbers per image in the outputs of the two convolutions."""


@cache
def ready() -> bool:
    """Compile the file and register its functions with XLA, once per process; return whether this succeeded."""
    if jax.default_backend() != "cpu":
        return False
    try:
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "lenet.so"
            command = [os.environ.get("CC", "cc"), *FLAGS, str(SOURCE), "-o", str(library)]
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS)
            functions = ctypes.CDLL(str(library))
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[0]
        print(f"LeNet runs without its kernel, several times slower: {said}", file=sys.stderr, flush=True)
        return False
    for name in ("lenet_forward", "lenet_backward", "lenet_moved"):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(functions, name)), platform="cpu")
    return True


def _call(name: str, *outputs: tuple[tuple[int, ...], type]):
    """Return a function of the C file by name, for outputs of these shapes and types."""
    results = [jax.ShapeDtypeStruct(*output) for output in outputs]
    return jax.ffi.ffi_call(name, results, vmap_method="sequential")


def _forward(convolutions: Convolutions, images: jax.Array) -> Sequence[jax.Array]:
    """Return maps (B, 1600) of the second convolution and (B, 12544) of the first; then, for each number of the first
    and of the second, which of its four candidates is the maximum."""
    count = len(images)
    shapes = ((count, MAPS2), jnp.float32), ((count, MAPS1), jnp.float32)
    which = ((count, MAPS1), jnp.uint8), ((count, MAPS2), jnp.uint8)
    return _call("lenet_forward", *shapes, *which)(images, *convolutions[0], *convolutions[1])


@jax.custom_vjp
def convolved(convolutions: Convolutions, images: jax.Array) -> jax.Array:
    """Return (B, 1600) for images (B, 32, 32, 3): twice a convolution with 2 x 2 maxima and ReLU."""
    return _forward(convolutions, images)[0]


def _kept(convolutions: Convolutions, images: jax.Array):
    maps, *places = _forward(convolutions, images)
    return maps, (convolutions, images, maps, places)


def _backward(kept, d_maps: jax.Array):
    """Return derivatives by weights and offsets; those by images are NaN, since they are not needed."""
    convolutions, images, maps, places = kept
    shapes = [(leaf.shape, jnp.float32) for leaf in jax.tree.leaves(convolutions)]
    d_w1, d_b1, d_w2, d_b2 = _call("lenet_backward", *shapes)(images, convolutions[1][0], maps, *places, d_maps)
    return ((d_w1, d_b1), (d_w2, d_b2)), jnp.full_like(images, jnp.nan)


convolved.defvjp(_kept, _backward)


def convolved_copies(
    convolutions: Convolutions, padded: jax.Array, corners: jax.Array, mirrored: jax.Array
) -> jax.Array:
    """Return (E, B, 1600) for E copies of each of B padded images (B, side, side, 3): each copy starts at a corner (E,
    B, 2) and is mirrored or not (E, B). Parts shared by copies are computed once; there is no derivative.
    """
    last = padded.shape[2] - SIZES[0]
    columns = jnp.where(mirrored, last - corners[..., 1], corners[..., 1])
    copies = jnp.stack([mirrored.astype(jnp.int32), corners[..., 0], columns], axis=-1).swapaxes(0, 1)
    both = jnp.stack([padded, padded[:, :, ::-1]], axis=1)
    moved = _call("lenet_moved", ((*copies.shape[:2], MAPS2), jnp.float32))
    return moved(both, *convolutions[0], *convolutions[1], copies)[0].swapaxes(0, 1)
