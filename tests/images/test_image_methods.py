"""Networks, descent, the methods of the image experiments, rounds and their privacy, accuracy, and the split of images;
on small networks and stub images."""

import math
import re
from dataclasses import fields, replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.signal import correlate

jax = pytest.importorskip("jax", reason="the image experiments need JAX")
import jax.numpy as jnp  # noqa: E402
from conftest import FALSE_ALARM, check_sd, handle  # noqa: E402
from jax.flatten_util import ravel_pytree  # noqa: E402

import images.method  # noqa: E402
from images import accuracy  # noqa: E402
from images.centaur import ImageCentaur  # noqa: E402
from images.clients import split  # noqa: E402
from images.experiment import Federation, scored  # noqa: E402
from images.fedavg import FedAvg  # noqa: E402
from images.image_users import ImageUsers  # noqa: E402
from images.method import Client, ImageTask, Pixels, drawn_moves, fitted_head, head_features, jittered  # noqa: E402
from images.networks import Moves, apply, mlp, patches  # noqa: E402
from images.pmtl import Pmtl  # noqa: E402
from images.ppsgd import Ppsgd  # noqa: E402
from images.rounds import clipped_sum, run  # noqa: E402
from images.sets import SETS  # noqa: E402
from images.stand_alone import StandAlone  # noqa: E402
from images.training import Descent, cross_entropy, descend  # noqa: E402
from privrep.privacy.accounting import UNLIMITED  # noqa: E402
from privrep.privacy.ledger import Ledger  # noqa: E402
from replication.experiments.auditing.replay import RecordingRelease, Transcript, streams  # noqa: E402

SIDE, CLASSES, CLIENTS, IMAGES = 6, 3, 7, 12
PIXELS = Pixels((0.4,), (0.3,))
TASK = ImageTask(mlp(SIDE**2, (8, 4)), CLASSES)
LOCAL, HEAD = Descent(0.05, 2, batch=5), Descent(0.05, 3, batch=5)
METHODS = {
    "centaur": ImageCentaur(TASK, LOCAL, HEAD),
    "fedavg": FedAvg(TASK, LOCAL, HEAD),
    "pmtl": Pmtl(TASK, LOCAL, HEAD),
    "ppsgd": Ppsgd(TASK, LOCAL, HEAD, Descent(0.1, 1, batch=5)),
}
KEY = jax.random.key(0)
LOSS = jax.jit(TASK.loss)


def synthetic(clients=CLIENTS, seed=0, images=IMAGES):
    """Images whose class is a bright row, pixels uint8."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, (clients, images)).astype(np.uint8)
    pixels = rng.integers(0, 120, (clients, images, SIDE, SIDE, 1))
    rows = np.arange(SIDE) // 2 == labels[:, :, None]
    return Client((pixels + 130 * rows[:, :, :, None, None]).astype(np.uint8), labels)


def with_another_first():
    """The same clients but for the first."""
    pairs = zip(synthetic(), synthetic(seed=9), strict=True)
    return Client(*(np.concatenate([new[:1], part[1:]]) for part, new in pairs))


def rounds(method, clients, *, count=2, clip=0.5, release=None, begun=None):
    users = ImageUsers.of(clients, rank=2)
    return list(run(method, PIXELS, users, count, clip, release or handle(CLIENTS), KEY, begun))


def summed(method, clients, clip, chunk=1, own=None):
    """Their sum, what they keep and their lengths, as a round takes them from the start."""
    shared, start = method.shared(KEY), jax.vmap(method.own)(jax.random.split(KEY, CLIENTS))
    kept = start if own is None else own
    return clipped_sum(method, PIXELS, shared, kept, clients, KEY, clip, chunk)


@cache
def client_update(method):
    return jax.jit(method.client_update)


def flat(tree):
    return np.asarray(ravel_pytree(tree)[0])


def one_of(clients, i):
    """A client as it sees its images."""
    return PIXELS.client(Client(clients.images[i], clients.labels[i]))


# Networks and descent


def test_networks_have_the_sizes_of_the_paper():
    """LeNet-5 on CIFAR-10 has 734,762 parameters; the MLP 236,090 with ten classes on MNIST and EMNIST."""
    sizes = {"digits": 51_770, "mnist": 236_090, "emnist": 236_090, "cifar10": 734_762, "cifar100": 319_684}
    for name, about in SETS.items():
        task = Federation(name, "", *[None] * 4).task()
        model = jax.eval_shape(task.model, KEY)
        assert sum(leaf.size for leaf in jax.tree.leaves(model)) == sizes[name], name
        assert task.network.features == (32 if about.dense else 16) and task.shift == 0


def test_a_convolution_is_that_of_scipy():
    """Patches times weights, against a plain correlation, with its channels in order."""
    rng = np.random.default_rng(1)
    images, weights = rng.standard_normal((2, 9, 8, 3)), rng.standard_normal((5, 5, 3, 4))
    got = np.asarray(patches(jnp.asarray(images)) @ weights.reshape(75, 4).astype(np.float32))
    for image, one in zip(images, got, strict=True):
        for out in range(4):
            wanted = correlate(image, weights[..., out], mode="valid")[..., 0]
            np.testing.assert_allclose(one[..., out], wanted, atol=1e-4)


def test_pixels_are_normalised_channel_by_channel():
    images = np.full((2, 4, 4, 3), [0, 51, 255], np.uint8)
    got = np.asarray(Pixels((0.1, 0.2, 0.3), (0.5, 0.25, 0.1))(images))
    np.testing.assert_allclose(got, np.broadcast_to([-0.2, 0.0, 7.0], got.shape), atol=1e-6)


def test_descent_is_that_of_a_plain_loop():
    """Momentum and decay as in torch: v <- .9 v + g + decay p, p <- p - step v; each image once in an epoch, where
    images are anew in its copy of that epoch. A batch that the images do not fill is refused."""
    rng = np.random.default_rng(2)
    inputs, labels = rng.standard_normal((7, 3)).astype(np.float32), np.zeros(7, np.uint8)
    rule = Descent(0.1, 3, batch=3, momentum=0.8, decay=0.01)
    seen = []

    def loss(weights, rows, _):
        jax.debug.callback(lambda rows: seen.append(np.asarray(rows)), rows, ordered=True)
        return ((rows @ weights - 1) ** 2).mean()

    got = np.asarray(descend(loss, jnp.ones(3), jnp.asarray(inputs), jnp.asarray(labels), KEY, rule))
    jax.effects_barrier()
    count, size = rule.batches(7)
    assert (count, size) == (3, 2) and len(seen) == 9
    weights, speed = np.ones(3), np.zeros(3)
    for rows in seen:
        gradient = 2 * rows.T @ (rows @ weights - 1) / size
        speed = 0.8 * speed + gradient + 0.01 * weights
        weights = weights - 0.1 * speed
    np.testing.assert_allclose(got, weights, rtol=1e-4)
    for epoch in (seen[:3], seen[3:6], seen[6:]):
        assert len(np.unique(np.concatenate(epoch), axis=0)) == 6
    assert not np.array_equal(seen[0], seen[3])
    copies = jnp.stack([inputs, inputs + 1, inputs + 2])
    descend(loss, jnp.ones(3), copies, jnp.asarray(labels), KEY, rule, anew=True)
    jax.effects_barrier()
    np.testing.assert_array_equal(seen[9:], [rows + np.float32(at // 3) for at, rows in enumerate(seen[:9])])
    assert replace(rule, batch=7).batches(7) == (1, 7)
    with pytest.raises(ValueError, match=r"^batch is 8; a client trains on 7 images, and a batch can have no more$"):
        replace(rule, batch=8).batches(7)


def test_cross_entropy_is_the_mean_log_probability():
    logits = np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 3.0]])
    wanted = -np.mean([np.log(np.exp(2) / np.exp(logits[0]).sum()), np.log(np.exp(0) / np.exp(logits[1]).sum())])
    assert float(cross_entropy(jnp.asarray(logits), jnp.array([1, 0], jnp.uint8))) == pytest.approx(wanted, rel=1e-6)


# Methods


def update(method):
    client, shared, own = one_of(synthetic(), 0), method.shared(KEY), method.own(KEY)
    return shared, own, client, client_update(method)(shared, own, client, KEY)


def test_centaur_sends_the_representation_alone():
    """Its displacement has the shape of the body; the head that it keeps is fitted, and lies in no sum."""
    shared, own, client, (sent, kept) = update(METHODS["centaur"])
    body = TASK.network.init(KEY)
    assert jax.tree.structure(sent) == jax.tree.structure(body)
    assert flat(sent).size == flat(body).size < flat(TASK.model(KEY)).size
    assert float(LOSS(shared, kept, *client)) < float(LOSS(shared, own, *client))
    moved = jax.tree.map(jnp.add, shared, sent)
    assert float(LOSS(moved, kept, *client)) < float(LOSS(shared, kept, *client))


def test_fedavg_sends_the_whole_model():
    shared, own, client, (sent, kept) = update(METHODS["fedavg"])
    assert flat(sent).size == flat(TASK.model(KEY)).size and own == kept == ()
    assert float(LOSS(*jax.tree.map(jnp.add, shared, sent), *client)) < float(LOSS(*shared, *client))


def test_a_penalty_of_nothing_is_fedavg_and_another_holds_back():
    """lambda = 0 is DP-FedAvg; with lambda = 1 a client stays nearer to the shared model."""
    plain, free, held = (
        flat(update(method)[3][0]) for method in (METHODS["fedavg"], Pmtl(TASK, LOCAL, HEAD, 0.0), METHODS["pmtl"])
    )
    np.testing.assert_array_equal(free, plain)
    assert 0 < np.linalg.norm(held) < np.linalg.norm(free)


def test_ppsgd_adds_its_own_part_to_the_head():
    """The own part begins at zero, moves, and its sum with the shared head is what the loss falls for."""
    shared, own, client, (sent, kept) = update(METHODS["ppsgd"])
    assert not flat(own).any() and flat(kept).any() and flat(sent).size == flat(TASK.model(KEY)).size
    body, head = shared
    added = jax.tree.map(jnp.add, head, kept)
    assert float(LOSS(body, added, *client)) < float(LOSS(body, head, *client))
    final = jax.jit(METHODS["ppsgd"].final_head)(shared, kept, client, KEY)
    assert float(LOSS(body, final, *client)) < float(LOSS(body, added, *client))


@pytest.mark.parametrize("name", METHODS)
def test_each_descent_moves_what_the_method_says(name):
    """A descent with step 0 changes a round or the end where the docstring names it, and nothing else; without `local`
    nothing is sent."""
    method = METHODS[name]
    texts = [" ".join((each.__doc__ or "").split()) for each in type(method).__mro__]
    about = next(text for text in texts if "at the end the descent" in text).split("at the end")
    rules = {field.name: rule for field in fields(method) if isinstance(rule := getattr(method, field.name), Descent)}

    @jax.jit
    def parts(steps, *given):
        one = replace(method, **{rule: replace(rules[rule], step=step) for rule, step in steps.items()})
        return one.client_update(*given, KEY), one.final_head(*given, KEY)

    given, steps = update(method)[:3], {rule: each.step for rule, each in rules.items()}
    whole = parts(steps, *given)
    for rule in rules:
        without = parts(steps | {rule: 0.0}, *given)
        changed = [not np.array_equal(*map(flat, pair)) for pair in zip(whole, without, strict=True)]
        assert changed == [f"`{rule}`" in words for words in about]
        assert flat(without[0][0]).any() == (rule != "local")


def test_jittered_images_are_moved_and_mirrored():
    """Every one is the image moved by at most the shift, zeros beyond the edge, mirrored or not; not all are alike."""
    images = jnp.asarray(np.random.default_rng(0).random((30, 6, 6, 1)), jnp.float32)
    padded = np.pad(images, ((0, 0), (2, 2), (2, 2), (0, 0)))
    found = set()
    for whole, got in zip(padded, np.asarray(jittered(images, drawn_moves(KEY, 30, 2), 2)), strict=True):
        possible = {
            (down, right, way): whole[down : down + 6, right : right + 6][:, ::way]
            for down in range(5)
            for right in range(5)
            for way in (1, -1)
        }
        here = [key for key, one in possible.items() if np.array_equal(one, got)]
        assert here
        found.update(here)
    assert len(found) > 10 and {key[2] for key in found} == {1, -1}


@pytest.mark.parametrize("batch", [5, IMAGES])
def test_heads_on_moved_images_take_the_same_steps(monkeypatch, batch):
    """Images are moved anew in each epoch, and where they are moved by nothing the head is the same to the last bit."""
    client, body, head = one_of(synthetic(), 0), TASK.network.init(KEY), TASK.head(KEY)
    first, *others = head_features(body, replace(TASK, shift=1), client, KEY, HEAD.epochs)
    assert first.shape == (IMAGES, TASK.network.features) and not any(np.array_equal(first, one) for one in others)
    still = Moves(jnp.ones((IMAGES, 2), int), jnp.zeros(IMAGES, bool))
    monkeypatch.setattr(images.method, "drawn_moves", lambda *_: still)
    still, moved = (
        flat(fitted_head(body, head, task, client, KEY, replace(HEAD, batch=batch)))
        for task in (TASK, replace(TASK, shift=1))
    )
    np.testing.assert_array_equal(moved, still)


# Rounds and their privacy


@pytest.mark.parametrize("name", METHODS)
def test_a_sum_is_that_of_clipped_displacements(name):
    """Against a loop over clients: the clip is of all layers together; some clients are clipped and some are not."""
    method, clients, sent, kept = METHODS[name], synthetic(), [], []
    shared, owns = method.shared(KEY), jax.random.split(KEY, CLIENTS)
    for i, key in enumerate(jax.random.split(KEY, CLIENTS)):
        moved, left = client_update(method)(shared, method.own(owns[i]), one_of(clients, i), key)
        sent.append(flat(moved))
        kept.append(left)
    lengths = np.linalg.norm(sent, axis=1)
    clip = float(np.median(lengths))
    total, left, norms = summed(method, clients, clip)
    np.testing.assert_allclose(norms, lengths, rtol=1e-4)
    wanted = sum(vector * min(1, clip / norm) for vector, norm in zip(sent, lengths, strict=True))
    np.testing.assert_allclose(total, wanted, atol=2e-5)
    for leaf, *each in zip(jax.tree.leaves(left), *map(jax.tree.leaves, kept), strict=True):
        np.testing.assert_allclose(leaf, each, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["centaur", "fedavg"])
def test_chunks_of_clients_give_the_same_sum(name):
    """What an accelerator does: the same sum, lengths and kept parts but for the rounding of sums in float32, in chunks
    of 3, which do not divide 7, and of 100."""
    one, *others = (summed(METHODS[name], synthetic(), 0.3, chunk) for chunk in (1, 3, 100))
    for many in others:
        for first, second in zip(jax.tree.leaves(one), jax.tree.leaves(many), strict=True):
            assert first.shape == second.shape
            np.testing.assert_allclose(first, second, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize("chunk", [1, 3])
def test_a_client_whose_numbers_overflow_adds_nothing(chunk):
    """The sum is finite, and that of the others; it moves by the clip at most where a client comes or goes."""
    method, clip = METHODS["centaur"], 1e-3
    whole, own, _ = summed(method, synthetic(), clip, chunk)
    wild = jax.tree.map(lambda leaf: leaf.at[0].set(jnp.inf), own)
    whole, less = (summed(method, synthetic(), clip, chunk, kept) for kept in (own, wild))
    assert np.isfinite(less[2]).tolist() == [False] + [True] * (CLIENTS - 1)
    assert np.linalg.norm(whole[0] - less[0]) == pytest.approx(clip, rel=1e-3)


@pytest.mark.parametrize("name", METHODS)
def test_a_round_adds_the_mean_and_a_client_moves_it_little(name):
    """A client that is replaced moves the sum by at most 2 zeta, whatever the others. What clients keep, and their
    lengths, do not depend on the clip. Each round has mini-batches of its own."""
    method, clip = METHODS[name], 1e-3
    start, keep, orders = jax.random.split(KEY, 3)
    shared, own = method.shared(start), jax.vmap(method.own)(jax.random.split(keep, CLIENTS))
    begin, turn = flat(shared), jax.random.fold_in(orders, 0)
    (one,), (other,), (twice,) = (
        rounds(method, people, count=1, clip=zeta)
        for people, zeta in ((synthetic(), clip), (with_another_first(), clip), (synthetic(), 2 * clip))
    )
    np.testing.assert_array_equal(one.flat, flat(one.shared))
    total, _, lengths = clipped_sum(method, PIXELS, shared, own, synthetic(), turn, clip)
    np.testing.assert_allclose(one.flat - begin, total / CLIENTS, atol=1e-7)
    np.testing.assert_array_equal(one.lengths, lengths)
    after = rounds(method, synthetic(), count=2, clip=clip)[1].lengths
    sent = clipped_sum(method, PIXELS, one.shared, one.own, synthetic(), jax.random.fold_in(orders, 1), clip)
    np.testing.assert_array_equal(after, sent[2])
    assert 0 < np.linalg.norm(one.flat - other.flat) <= 2 * clip / CLIENTS * (1 + 1e-3)
    np.testing.assert_allclose(twice.flat - begin, 2 * (one.flat - begin), rtol=1e-3, atol=1e-6)
    for first, second in zip(*(jax.tree.leaves((each.own, each.lengths)) for each in (one, twice)), strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_round_without_all_clients_is_refused():
    """Nothing is released."""
    ledger = Ledger()
    away = replace(handle(CLIENTS, 1.0, ledger=ledger), taking_part=np.arange(CLIENTS) > 0)
    with pytest.raises(ValueError, match=r"^some clients do not take part"):
        rounds(METHODS["fedavg"], synthetic(), release=away)
    assert not ledger.entries


def test_each_round_is_one_release_of_the_stated_noise():
    """An entry a round, of sensitivity 2 zeta over all clients; noise of sd 2 zeta Delta / n on each parameter."""
    method, ledger, clip, delta = METHODS["fedavg"], Ledger(), 0.3, 1.7
    release = handle(CLIENTS, delta, np.random.default_rng(5), ledger)
    noisy = rounds(method, synthetic(), count=3, clip=clip, release=release)
    assert [one.number for one in noisy] == [1, 2, 3] and len(ledger.entries) == 3
    assert {(entry.name, entry.sensitivity, entry.start, entry.stop) for entry in ledger.entries} == {
        ("displacement", 2 * clip, 0, CLIENTS)
    }
    assert ledger.mu == pytest.approx(math.sqrt(3) / delta, rel=1e-12)
    plain = rounds(method, synthetic(), count=1, clip=clip)
    check_sd(noisy[0].flat - plain[0].flat, 2 * clip * delta / CLIENTS)


@pytest.mark.parametrize("multiplier", [1e-3, 1.0])
@pytest.mark.parametrize("name", METHODS)
def test_nothing_of_a_client_passes_a_release(name, multiplier):
    """Told the answers of one run, a run with another first client ends with the same model and parts, bit for bit."""
    ends, transcripts = [], [Transcript()]
    for people in (synthetic(), with_another_first()):
        release = RecordingRelease(
            multiplier, Ledger(), range(CLIENTS), streams(0, 5), UNLIMITED, transcript=transcripts[-1]
        )
        ends.append(rounds(METHODS[name], people, clip=0.3, release=release))
        transcripts.append(Transcript(transcripts[-1]))
    for one, two in zip(*ends, strict=True):
        np.testing.assert_array_equal(one.flat, two.flat)
        for first, second in zip(jax.tree.leaves(one.own), jax.tree.leaves(two.own), strict=True):
            np.testing.assert_array_equal(np.asarray(first)[1:], np.asarray(second)[1:])
    assert not np.array_equal(ends[0][0].lengths, ends[1][0].lengths)


def test_clients_with_images_are_users():
    """Sizes are known without images; any range is one block; they have no truth."""
    clients = synthetic()
    users = ImageUsers.of(clients, 2)
    known = users.known
    assert (known.users, known.samples, known.dim, known.rank) == (CLIENTS, IMAGES, SIDE**2, 2)
    (whole,), (some,) = users.blocks(), users.blocks(2, 5)
    assert whole.users == CLIENTS and (some.users, some.start) == (3, 2)
    np.testing.assert_array_equal(some.clients.images, clients.images[2:5])
    assert users.truth is None


# Accuracy


def some_tests():
    """Test images of all classes, as many of each as there happen to be, and the same by class."""
    images, labels = (part.reshape(-1, *part.shape[2:]) for part in synthetic(3, seed=4))
    assert len(set(np.bincount(labels))) > 1
    return images, labels, accuracy.TestSet.of(images, labels)


def right(model, images, labels):
    """How many of each class a model gets right."""
    body, head = model
    found = np.argmax(np.asarray(apply(head, TASK.network.forward(body, PIXELS(images)))), axis=1)
    return np.bincount(labels[found == labels], minlength=CLASSES)


@pytest.mark.parametrize(("name", "at_once"), [*((name, 1) for name in METHODS), ("centaur", 3), ("centaur", 100)])
def test_clients_of_a_method_learn_and_are_counted(name, at_once, monkeypatch):
    """Bright rows are told apart by the first clients, far better than by guessing. Counts are those of a loop over
    their own heads, one by one and in chunks."""
    method, clients, kept = METHODS[name], synthetic(), synthetic(seed=2, images=4)
    last, (images, labels, test), some = rounds(method, clients, count=20, clip=5.0)[-1], some_tests(), 5
    monkeypatch.setattr(accuracy, "client_chunk", lambda: at_once)
    first = (Client(*(part[:some] for part in each)) for each in (clients, kept))
    got = accuracy.federated(method, PIXELS, last, *first, test, KEY)
    final_head, body = jax.jit(method.final_head), method.representation(last.shared)
    for i, key in enumerate(jax.random.split(KEY, some)):
        head = final_head(last.shared, jax.tree.map(lambda leaf, i=i: leaf[i], last.own), one_of(clients, i), key)
        np.testing.assert_array_equal(got.right[i], right((body, head), images, labels))
        own = right((body, head), kept.images[i], kept.labels[i])
        assert got.validation[i] == pytest.approx(own.sum() / 4)
    assert got.right.shape == (some, CLASSES) and got.right.sum() > 0.8 * some * len(labels)


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_clients_alone_learn_and_are_counted(at_once, monkeypatch):
    """Each has a model of its own, as in a loop; the score is that of its own classes."""
    method, clients, kept = StandAlone(TASK, Descent(0.05, 30, batch=5)), synthetic(), synthetic(seed=2, images=4)
    images, labels, test = some_tests()
    shards = np.array([[1, 1, 0], [0, 2, 0], [1, 0, 1], [1, 1, 0], [0, 0, 2], [1, 1, 1], [0, 1, 1]])
    keys, trained = jax.random.split(KEY, CLIENTS), jax.jit(method.trained)
    monkeypatch.setattr(accuracy, "client_chunk", lambda: at_once)
    got = accuracy.alone(method, PIXELS, clients, kept, test, keys)
    for i, key in enumerate(keys):
        model = trained(one_of(clients, i), key)
        np.testing.assert_array_equal(got.right[i], right(model, images, labels))
        assert got.validation[i] == pytest.approx(right(model, kept.images[i], kept.labels[i]).sum() / 4)
    assert accuracy.own_classes_once(got.right, test.counts, shards).mean() > 0.8


def test_both_scores_by_hand():
    """Of 10, 20 and 40 test images: a class with two shards counts twice, or once with all its images."""
    shards, counts = np.array([[2, 1, 0], [0, 0, 3]]), np.array([10, 20, 40])
    given = accuracy.Counts(np.array([[5, 20, 9], [10, 7, 30]]), np.array([0.2, 0.5]))
    source = SimpleNamespace(test=accuracy.TestSet(None, counts), shards=np.vstack([shards, shards]))
    found, by_client = scored(source, given)
    np.testing.assert_allclose(by_client, [2 / 3, 0.75])
    once, sd = (25 / 30 + 0.75) / 2, (0.75 - 2 / 3) / math.sqrt(2)
    wanted = {"accuracy": 17 / 24, "accuracy_once": once, "accuracy_sd": sd, "tested": 2, "validation": 0.35}
    assert found == pytest.approx(wanted)


# The split


@given(clients=st.integers(1, 12), per_client=st.integers(1, 4), each=st.integers(1, 12), seed=st.integers(0, 99))
def test_images_are_dealt_out_once(clients, per_client, each, seed):
    """No image twice; as many for each client, of S shards, each of one class and of one size; a tenth kept."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(4), 150))
    samples = per_client * each
    found = split(labels, clients, per_client, samples, rng)
    everything = np.concatenate([found.training, found.validation], axis=1)
    assert everything.shape == (clients, samples) and len(np.unique(everything)) == everything.size
    assert found.validation.shape[1] == round(0.1 * samples)
    assert (found.shards.sum(axis=1) == per_client).all()
    for positions, shards in zip(everything, found.shards, strict=True):
        np.testing.assert_array_equal(np.bincount(labels[positions], minlength=4), each * shards)


def test_validation_images_are_drawn_from_all_of_a_client():
    """Of 40 of its 400 images as many have each of four classes as such draws have, up to FALSE_ALARM."""
    labels = np.repeat(np.arange(4), 100)
    (drawn,) = split(labels, 1, 4, 400, np.random.default_rng(0)).validation
    few, many = stats.hypergeom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 400, 100, 40)
    counts = np.bincount(labels[drawn], minlength=4)
    assert few <= counts.min() and counts.max() <= many


def test_all_images_can_be_dealt_out_and_no_more():
    """Classes are cut each by itself: of 5 images a class two shards of 2, or one of up to 5."""
    labels, rng = np.repeat(np.arange(4), 5), np.random.default_rng(0)
    assert split(labels, 4, 2, 4, rng).shards.sum() == 8
    assert split(labels, 4, 1, 5, rng).shards.sum() == 4
    for clients, per_client, samples, message in (
        (3, 2, 5, "rank is 2; a client's 5 images must be a multiple of its shards"),
        (3, 0, 4, "rank is 0; a client's 4 images must be a multiple of its shards"),
        (4, 2, 6, "samples is 6; 4 clients of 2 shards can have 4"),
        (50, 1, 1, "samples is 1; 50 clients of 1 shards can have 0"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            split(labels, clients, per_client, samples, rng)
