"""LeNet's convolutions in C against those that XLA makes: one pass, whole rounds of all methods, and a machine that
cannot compile them."""

from dataclasses import replace

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="the image experiments need JAX")
import jax.numpy as jnp  # noqa: E402
from conftest import handle  # noqa: E402
from test_image_methods import KEY, flat  # noqa: E402

from images import accuracy, kernel, networks  # noqa: E402
from images.centaur import ImageCentaur  # noqa: E402
from images.experiment import device  # noqa: E402
from images.fedavg import FedAvg  # noqa: E402
from images.image_users import ImageUsers  # noqa: E402
from images.method import Client, ImageTask, Pixels, jittered  # noqa: E402
from images.pmtl import Pmtl  # noqa: E402
from images.ppsgd import Ppsgd  # noqa: E402
from images.rounds import Begun, run  # noqa: E402
from images.training import Descent  # noqa: E402

CLIENTS, IMAGES, CLASSES = 6, 8, 10
PIXELS = Pixels((0.49, 0.48, 0.45), (0.25, 0.24, 0.26))
ROUND, HEAD = Descent(0.01, 1, batch=IMAGES), Descent(0.01, 3, batch=IMAGES)
METHODS = {
    "centaur": lambda task: ImageCentaur(task, ROUND, HEAD),
    "centaur, moved": lambda task: ImageCentaur(replace(task, shift=4), ROUND, HEAD),
    "ppsgd": lambda task: Ppsgd(task, ROUND, HEAD, Descent(0.1, 1, IMAGES)),
    "fedavg": lambda task: FedAvg(task, ROUND, HEAD),
    "pmtl": lambda task: Pmtl(task, Descent(0.01, 2, batch=IMAGES), HEAD),
}


def photographs(seed, *shape):
    """Smooth images with a patch that is white, where many windows are equal."""
    rng = np.random.default_rng(seed)
    images = np.kron(rng.integers(0, 256, (*shape, 8, 8, 3)), np.ones((4, 4, 1))) + rng.integers(
        -9, 9, (*shape, 32, 32, 3)
    )
    images[..., :12, :12, :] = 255
    return np.clip(images, 0, 255).astype(np.uint8), rng.integers(0, CLASSES, shape).astype(np.uint8)


@pytest.fixture(scope="module")
def tasks():
    """The task with the kernel, and without."""
    if not kernel.ready():
        pytest.skip("no C compiler here")
    ours = networks.lenet.__wrapped__(32, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "ready", lambda: False)
        theirs = networks.lenet.__wrapped__(32, 3)
    return ImageTask(ours, CLASSES), ImageTask(theirs, CLASSES)


def test_one_pass_is_that_of_xla(tasks):
    """Features and derivatives by all weights, none by pixels; features of an image are the same with few beside it and
    many."""
    body, head = tasks[0].model(KEY)
    images, labels = photographs(0, 5)
    (loss, ours), (same, theirs) = (
        jax.jit(jax.value_and_grad(task.loss, (0, 1)))(body, head, PIXELS(images), labels) for task in tasks
    )
    assert loss == pytest.approx(float(same), rel=1e-6)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-5 * float(jnp.abs(other).max()))
    by_images = jax.grad(lambda pixels: kernel.convolved(body[:2], pixels).sum())(PIXELS(images))
    assert jnp.isnan(by_images).all()
    many = np.concatenate([images, np.zeros((networks.AT_ONCE, 32, 32, 3), np.uint8)])
    features = [np.asarray(tasks[0].network.forward(body, PIXELS(some))[3:5]) for some in (images, many)]
    np.testing.assert_allclose(*features, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shift", [1, 4])
def test_moved_copies_that_share_windows_are_those_of_xla(tasks, shift):
    """Features of all copies of two images, from every corner, mirrored and not, and of a few of them; the maps are to
    the last bit those of each copy as an image of its own, so that no window is another's."""
    images, body = PIXELS(photographs(5, 2)[0]), tasks[0].network.init(KEY)
    corners = np.indices((2, 2 * shift + 1, 2 * shift + 1)).reshape(3, -1).T
    moves = jnp.asarray(np.stack([corners, corners[::-1]], axis=1), jnp.int32)
    moves = networks.Moves(moves[..., 1:], moves[..., 0] == 1)
    copies = jax.vmap(jittered, (None, 0, None))(images, moves, shift).reshape(-1, 32, 32, 3)
    maps = kernel.convolved_copies(body[:2], networks.with_edges(images, shift), *moves)
    np.testing.assert_array_equal(maps.reshape(len(copies), -1), kernel.convolved(body[:2], copies))
    theirs = np.asarray(jax.jit(tasks[1].network.forward)(body, copies)).reshape(*moves.mirrored.shape, -1)
    for count in (5, len(corners)):
        ours = tasks[0].network.of_copies(body, images, networks.Moves(*(each[:count] for each in moves)), shift)
        np.testing.assert_allclose(ours, theirs[:count], rtol=0, atol=1e-5 * theirs.max())


@pytest.mark.parametrize("name", METHODS)
def test_rounds_are_those_of_xla(tasks, name):
    """Two rounds: the shared model to 5e-3 of its way, since with so few images one maximum that tips by rounding moves
    it by 2e-3; heads to 1e-6, test images to one of a client. The second round alone, from where the first ended, gives
    the same bytes."""
    seen, kept = (Client(*photographs(seed, CLIENTS, count)) for seed, count in ((1, IMAGES), (2, 2)))
    test, users, plan = accuracy.TestSet.of(*photographs(3, 60)), ImageUsers.of(seen, CLASSES), (2, 0.01)
    ends, tested = [], []
    for method in (METHODS[name](task) for task in tasks):
        rounds = list(run(method, PIXELS, users, *plan, handle(CLIENTS), KEY))
        ends.append(rounds)
        tested.append(accuracy.federated(method, PIXELS, rounds[-1], seen, kept, test, KEY))
    ours, theirs = (found[-1] for found in ends)
    way = np.linalg.norm(theirs.flat - flat(METHODS[name](tasks[0]).shared(jax.random.split(KEY, 3)[0])))
    assert 0 < np.linalg.norm(ours.flat - theirs.flat) < 5e-3 * way
    for one, other in zip(jax.tree.leaves(ours.own), jax.tree.leaves(theirs.own), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.lengths, theirs.lengths, rtol=2e-3)
    assert np.abs(tested[0].right - tested[1].right).sum(axis=1).max() <= 1
    first = ends[0][0]
    begun = Begun(1, first.flat, [np.asarray(leaf) for leaf in jax.tree.leaves(first.own)])
    (again,) = run(METHODS[name](tasks[0]), PIXELS, users, *plan, handle(CLIENTS), KEY, begun)
    np.testing.assert_array_equal(again.flat, ours.flat)


def test_features_of_one_images_are_taken_once(tasks):
    """In a step on all images XLA finds the features that the head was fitted on."""
    method, client = METHODS["centaur"](tasks[0]), Client(*map(jnp.asarray, photographs(1, IMAGES)))
    given = method.shared(KEY), method.own(KEY), PIXELS.client(client), KEY
    text = jax.jit(method.client_update).lower(*given).compile().as_text()
    assert (text.count('target="lenet_forward"'), text.count('target="lenet_backward"')) == (1, 1)


def script(folder, *lines):
    path = folder / "compiler"
    path.write_text("\n".join(("#!/bin/sh", *lines)))
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (None, "No such file or directory"),
        (("echo 'bad value (native) for -march=' >&2", "echo more >&2", "exit 1"), "bad value (native) for -march="),
        (("exit 3",), "exit status 3"),
        (("exit 0",), "cannot open shared object file"),
        (('for last; do :; done; seq 1000 > "$last"',), "invalid ELF header"),
        (('for last; do :; done; : > "$last"',), "file too short"),
        (("exec sleep 9",), "timed out after 0.5 seconds"),
    ],
    ids=["none", "refuses", "fails", "writes nothing", "writes rubbish", "stops half way", "takes too long"],
)
def test_a_machine_that_cannot_compile_says_so_in_one_line(monkeypatch, tmp_path, capfd, lines, words):
    """And goes on without the kernel."""
    monkeypatch.setenv("CC", script(tmp_path, *lines) if lines else str(tmp_path / "cc"))
    monkeypatch.setattr(kernel, "SECONDS", 0.5)
    assert kernel.ready.__wrapped__() is False
    said = capfd.readouterr().err
    assert (
        said.count("\n") == 1
        and said.startswith("LeNet runs without its kernel, several times slower: ")
        and words in said
    )


def test_the_device_says_whether_the_kernel_ran(tasks, monkeypatch):
    """On photographs alone, since it is LeNet's."""
    plain = device("mnist")
    assert device("cifar10") == f"{plain}, kernel" and "kernel" not in plain
    monkeypatch.setattr(kernel, "ready", lambda: False)
    assert device("cifar10") == plain
