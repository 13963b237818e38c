"""Glyphs: what an image shows and how it varies, which draws it depends on, and what the cache does with damage."""

from dataclasses import fields, replace

import matplotlib
import numpy as np
import pytest
from conftest import check_sd
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from privrep.data.rng import stream
from privrep.neural import glyphs as module
from privrep.neural.glyphs import (
    ALPHABETS,
    BLOCK,
    FONTS,
    GRID,
    SIDE,
    Images,
    Style,
    cache_file,
    cached_glyphs,
    drawn_maps,
    font_file,
    glyphs,
    looked_up,
    map_terms,
    read_images,
    rendered_block,
    signed_distance,
    silhouette,
    write_images,
)

PLAIN = Style(rotation=0, shear=0, log_scale=0, shift=0, elastic=0, stroke=0, noise=0, least_blur=0.5, most_blur=0.5)
"""No variation but of fonts."""
CENTRED = np.arange(SIDE) - (SIDE - 1) / 2


@pytest.fixture(scope="module")
def digits() -> Images:
    return glyphs(10, 250, seed=3)


def by_class(images: Images) -> np.ndarray:
    """Pixels, (classes, per class, 784)."""
    return images.pixels.reshape(images.labels.max() + 1, -1, SIDE**2)


def same(left: Images, right: Images) -> bool:
    return np.array_equal(left.pixels, right.pixels) and np.array_equal(left.labels, right.labels)


# Characters and fonts


def test_alphabets_are_those_of_emnist():
    """Keys are numbers of characters, and shared characters of the first 36 have one place."""
    for classes, characters in ALPHABETS.items():
        assert len(characters) == len(set(characters)) == classes
    assert ALPHABETS[62][:36] == ALPHABETS[47][:36] and ALPHABETS[62][:10] == ALPHABETS[10]
    assert set(ALPHABETS[47][36:]) == set("abdefghnqrt")


def test_every_font_has_every_character():
    """A font without a character shows its box for missing ones, the same for all."""
    assert len(set(FONTS)) == 21
    for font in FONTS:
        shapes = [silhouette(character, font) for character in ALPHABETS[62]]
        assert all(ink.any() and ink[[0, -1]].any(axis=1).all() and ink[:, [0, -1]].any(axis=0).all() for ink in shapes)
        assert len({(ink.shape, ink.tobytes()) for ink in shapes}) == 62


def test_a_missing_font_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(matplotlib, "get_data_path", lambda: str(tmp_path))
    with pytest.raises(FileNotFoundError, match=rf"cmtt10\.ttf is missing; matplotlib {matplotlib.__version__}"):
        font_file("cmtt10.ttf")


@pytest.mark.parametrize("sides", [(100, 60), (60, 100), (101, 31)])
def test_signed_distance_of_a_rectangle(sides):
    """Exact up to the corners of fine pixels: a box whose longer side is 20 pixels, in the middle."""
    found = signed_distance(np.ones(sides, bool))
    half = np.array(sides) / max(sides) * 10
    points = (np.arange(GRID) - (GRID - 1) / 2) * SIDE / GRID
    beyond = np.stack(np.meshgrid(points, points, indexing="ij"), axis=-1)
    beyond = np.abs(beyond) - half
    expected = -np.linalg.norm(np.maximum(beyond, 0), axis=-1) - np.minimum(beyond.max(axis=-1), 0)
    assert found.shape == (GRID, GRID) and found.dtype == np.float32
    assert np.abs(found - expected).max() < 0.15
    assert abs((found - expected)[expected > 0].mean()) < 0.03
    assert found[GRID // 2, GRID // 2] > 0 > found[0, 0]


# Maps from an image to the distances


def test_warps_pass_through_their_control_points():
    """Splines are 1 at their own point and 0 at the others, and add up to one: a warp of one value is a shift."""
    terms = map_terms()
    at_controls = terms[:16].reshape(16, SIDE, SIDE)[:, ::9, ::9].reshape(16, 16)
    np.testing.assert_allclose(at_controls, np.eye(16), atol=1e-6)
    np.testing.assert_allclose(terms[:16].sum(axis=0), 1, atol=1e-5)
    y, x = np.meshgrid(CENTRED, CENTRED, indexing="ij")
    np.testing.assert_allclose(terms[16:], [y.ravel(), x.ravel(), np.ones(SIDE**2)], atol=1e-6)


def blocks_of_maps(style: Style, blocks: int = 10) -> np.ndarray:
    rng = stream(0, "maps", {})
    return np.concatenate([drawn_maps(style, rng) for _ in range(blocks)], axis=1)


def test_maps_vary_as_the_style_says():
    """Standard deviations in the units of the docstring, one at a time where they act together."""
    maps = blocks_of_maps(Style())
    assert maps.shape == (2, 10 * BLOCK, 19)
    for axis in range(2):
        check_sd(maps[axis, :, :16], 0.7)
        check_sd(maps[axis, :, 18], 0.8)
    sizes = np.linalg.det(maps[:, :, 16:18].transpose(1, 0, 2))
    check_sd(np.log(sizes), 0.1 * 2**0.5)

    turned = blocks_of_maps(replace(PLAIN, rotation=8))[:, :, 16:18].transpose(1, 0, 2)
    np.testing.assert_allclose(turned @ turned.transpose(0, 2, 1), np.broadcast_to(np.eye(2), turned.shape), atol=1e-12)
    check_sd(np.degrees(np.arctan2(turned[:, 1, 0], turned[:, 0, 0])), 8)

    sheared = blocks_of_maps(replace(PLAIN, shear=0.1))[:, :, 16:18]
    check_sd(sheared[1, :, 0], 0.1)
    assert (sheared[0, :, 1] == 0).all() and (sheared[[0, 1], :, [0, 1]] == 1).all()


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.floats(-20, 70), st.floats(-20, 70)), min_size=1, max_size=20),
)
def test_look_up_is_bilinear_and_ends_at_the_border(seed, points):
    """A function that is bilinear is found exactly; beyond the border it is what it was there."""
    a, b, c, e = np.random.default_rng(seed).normal(size=(4, 3))
    grid = np.arange(GRID)
    grids = np.stack([a[g] + b[g] * grid[:, None] + c[g] * grid + e[g] * np.outer(grid, grid) for g in range(3)])
    y, x = np.array(points).T
    found = looked_up(grids, np.array([2, 0]), np.stack([y, y]), np.stack([x, x]))
    y, x = np.clip(y, 0, GRID - 1), np.clip(x, 0, GRID - 1)
    for row, g in zip(found, (2, 0), strict=True):
        np.testing.assert_allclose(row, a[g] + b[g] * y + c[g] * x + e[g] * y * x, rtol=1e-9, atol=1e-8)


# Ink


def rendered(grid: np.ndarray, style: Style, blocks: int = 1) -> np.ndarray:
    rng = stream(0, "ink", {})
    return np.concatenate([rendered_block(grid[None].astype(np.float32), style, rng) for _ in range(blocks)])


@pytest.mark.parametrize("blur", [0.5, 0.8, 1.1])
def test_an_edge_is_one_under_a_gaussian_blur(blur):
    """Ink right of the middle: rows rise as the normal distribution function. Another blur is told apart."""
    grid = np.tile((np.arange(GRID) - (GRID - 1) / 2) * SIDE / GRID, (GRID, 1))
    row = rendered(grid, replace(PLAIN, least_blur=blur, most_blur=blur))[0, 5] / 255
    assert np.abs(row - norm.cdf(CENTRED / blur)).max() < 0.015
    assert np.abs(row - norm.cdf(CENTRED / (1.3 * blur))).max() > 0.03


def test_noise_and_stroke_have_their_scale():
    """Noise on a page full of ink; and strokes by how far an edge moves."""
    full = rendered(np.full((GRID, GRID), 20.0), replace(PLAIN, noise=0.04))[0]
    check_sd(full / full.mean() - 1, 0.04)
    grid = np.tile((np.arange(GRID) - (GRID - 1) / 2) * SIDE / GRID, (GRID, 1))
    edges = rendered(grid, replace(PLAIN, stroke=0.5), blocks=5)[:, 5].sum(axis=1) / 255 - SIDE / 2
    check_sd(edges, 0.5)


def test_fonts_alone_give_one_image_each():
    """Without variation there are as many images of a digit as fonts, and two digits take them in orders of their
    own."""
    orders = []
    for images in by_class(glyphs(10, 250, 3, PLAIN))[[2, 5]]:
        _, first, which = np.unique(images, axis=0, return_index=True, return_inverse=True)
        assert len(first) == len(FONTS)
        orders.append(np.argsort(np.argsort(first))[which.ravel()])
    assert not np.array_equal(*orders)


@pytest.mark.parametrize("name", [field.name for field in fields(Style)])
def test_every_part_of_the_style_matters(name):
    """Each changes images when it alone is put back to its default, and leaves their fonts as they are."""
    value = getattr(Style(), name) if name != "least_blur" else 0.3
    grids = module.distances("4")
    plain, varied = (
        rendered_block(grids, style, stream(0, "style", {})) for style in (PLAIN, replace(PLAIN, **{name: value}))
    )
    assert (plain != varied).any(axis=(1, 2)).mean() > 0.9
    plain, varied = plain.reshape(BLOCK, -1).astype(float), varied.reshape(BLOCK, -1).astype(float)
    own = [np.corrcoef(one, other)[0, 1] for one, other in zip(plain, varied, strict=True)]
    assert np.median(own) > 0.8


# Whole images


def test_shapes_and_balance(digits):
    assert digits.pixels.shape == (2500, SIDE, SIDE) and digits.pixels.dtype == np.uint8
    assert digits.labels.shape == (2500,) and digits.labels.dtype == np.uint8
    assert (digits.labels == np.repeat(np.arange(10), 250)).all()


def test_images_have_ink_and_differ(digits):
    """Each has a pixel of full ink, some ink and some paper, and paper at the border; no two are the same."""
    flat = digits.pixels.reshape(-1, SIDE**2)
    assert (flat.max(axis=1) == 255).all()
    share = flat.mean(axis=1) / 255
    assert share.min() > 0.03 and share.max() < 0.55 and share.std() > 0.03
    border = np.concatenate([digits.pixels[:, [0, -1]].ravel(), digits.pixels[:, :, [0, -1]].ravel()])
    assert border.mean() < 0.2 * flat.mean()
    assert len(np.unique(flat, axis=0)) == len(flat)


def test_digits_are_legible_and_not_too_easy(digits):
    """The nearest class mean is right for most images of another seed, and far from all."""
    means = by_class(digits).mean(axis=1)
    others = glyphs(10, 100, seed=4)
    rows = others.pixels.reshape(-1, SIDE**2).astype(float)
    nearest = ((means**2).sum(axis=1) - 2 * rows @ means.T).argmin(axis=1)
    assert 0.6 <= (nearest == others.labels).mean() <= 0.9


def test_one_seed_gives_one_set(digits):
    assert same(glyphs(10, 250, seed=3), digits)
    assert not (glyphs(10, 2, seed=4).pixels == by_class(digits)[:, :2].reshape(-1, SIDE, SIDE)).all(axis=(1, 2)).any()


@settings(max_examples=8)
@given(st.integers(1, 250))
def test_fewer_images_are_the_first_of_more(digits, per_class):
    assert np.array_equal(by_class(glyphs(10, per_class, seed=3)), by_class(digits)[:, :per_class])


def test_a_character_has_one_set_in_all_alphabets():
    """More classes leave images as they are, wherever the character stands."""
    of_character = [
        dict(zip(characters, by_class(glyphs(classes, 2, seed=3)), strict=True))
        for classes, characters in ALPHABETS.items()
    ]
    for smaller, larger in ((0, 1), (1, 2)):
        for character, images in of_character[smaller].items():
            assert np.array_equal(images, of_character[larger][character]), character
    assert not np.array_equal(of_character[2]["d"], of_character[2]["c"])


@pytest.mark.parametrize("classes", [0, 26, 36, -10])
def test_wrong_classes_are_named(classes):
    with pytest.raises(ValueError, match=f"classes is {classes}; it must be one of 10, 47, 62"):
        glyphs(classes, 1, 0)


@pytest.mark.parametrize("per_class", [0, -3, 2.5])
def test_a_wrong_number_of_images_is_named(per_class, tmp_path):
    message = f"per_class is {per_class}; it must be an integer of at least 1"
    with pytest.raises(ValueError, match=message):
        glyphs(10, per_class, 0)
    with pytest.raises(ValueError, match=message):
        cached_glyphs(tmp_path, 10, per_class, 0)
    assert not list(tmp_path.iterdir())


# Cache


@pytest.fixture
def kept(tmp_path, digits):
    """A folder that keeps the first 3 images of each digit."""
    images = Images(by_class(digits)[:, :3].reshape(-1, SIDE, SIDE), np.repeat(np.arange(10, dtype=np.uint8), 3))
    path = cache_file(tmp_path / "kept", 10, 3, 3)
    write_images(path, images)
    return path, images


def test_a_first_use_renders_and_keeps(tmp_path):
    """The folder is made, and holds the file and no other."""
    folder = tmp_path / "new" / "folder"
    images = cached_glyphs(folder, 10, 2, 5)
    assert same(images, glyphs(10, 2, 5))
    path = cache_file(folder, 10, 2, 5)
    assert list(folder.iterdir()) == [path] and path.name.startswith("glyphs-10-2-5-")
    assert same(read_images(path), images)


def test_a_second_use_renders_nothing(kept, monkeypatch):
    def rendering(*_):
        raise AssertionError("rendered although it was kept")

    path, images = kept
    monkeypatch.setattr(module, "glyphs", rendering)
    found = cached_glyphs(path.parent, 10, 3, 3)
    assert same(found, images) and found.pixels.dtype == found.labels.dtype == np.uint8
    with pytest.raises(AssertionError, match="rendered although"):
        cached_glyphs(path.parent, 10, 3, 4)


def test_names_tell_apart_what_differs(tmp_path, monkeypatch):
    """Sizes, seed, version of the images, and style."""
    names = {cache_file(tmp_path, *sizes) for sizes in [(10, 3, 3), (47, 3, 3), (10, 4, 3), (10, 3, 4)]}
    monkeypatch.setattr(module, "VERSION", module.VERSION + 1)
    names.add(cache_file(tmp_path, 10, 3, 3))
    monkeypatch.setattr(module, "Style", lambda: Style(noise=0.05))
    names.add(cache_file(tmp_path, 10, 3, 3))
    assert len(names) == 6


def another_pixel(path):
    """A sound file whose pixels are not those of its checksum."""
    with np.load(path) as arrays:
        kept = dict(arrays)
    kept["pixels"][7, 14, 14] ^= 1
    with open(path, "wb") as file:
        np.savez(file, **kept)


def without_checksum(path):
    with np.load(path) as arrays:
        kept = dict(arrays)
    del kept["sha256"]
    with open(path, "wb") as file:
        np.savez(file, **kept)


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "something else": lambda path: path.write_text("a page that says that the file is not here"),
    "another pixel": another_pixel,
    "without checksum": without_checksum,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_made_anew(kept, damage):
    """With one warning that names it; afterwards it is whole, which the next use shows by not warning."""
    path, images = kept
    DAMAGE[damage](path)
    with pytest.warns(UserWarning, match=f"{path.name} is damaged and is made anew") as told:
        assert same(cached_glyphs(path.parent, 10, 3, 3), images)
    assert len(told) == 1 and told[0].filename == __file__
    assert same(cached_glyphs(path.parent, 10, 3, 3), images)
    assert list(path.parent.iterdir()) == [path]


@pytest.fixture(scope="module")
def small_file(tmp_path_factory, digits):
    path = tmp_path_factory.mktemp("bytes") / "small.npz"
    images = Images(digits.pixels[::250], digits.labels[::250])
    write_images(path, images)
    return path, images, path.read_bytes()


@given(st.data())
def test_a_changed_byte_never_gives_other_images(small_file, data):
    """It is either noticed or without effect, as in a time of day."""
    path, images, whole = small_file
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(changed)
    try:
        found = read_images(path)
    except Exception:
        return
    assert same(found, images)


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch, digits):
    """Neither half a file nor a temporary one."""

    def full(file, **_):
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="no space left"):
        write_images(tmp_path / "some.npz", digits)
    assert not list(tmp_path.iterdir())
