"""The neural part: networks, descent, the five methods, rounds and their privacy, accuracy;
on small networks and stub images."""

import math
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import correlate

jax = pytest.importorskip("jax", reason="the neural part needs JAX")
import jax.numpy as jnp  # noqa: E402
from conftest import check_sd  # noqa: E402
from jax.flatten_util import ravel_pytree  # noqa: E402

import privrep  # noqa: E402
from privrep.audits.replay import RecordingRelease, Transcript, streams  # noqa: E402
from privrep.neural import accuracy  # noqa: E402
from privrep.neural.centaur import ImageCentaur  # noqa: E402
from privrep.neural.clients import SPLITS, split  # noqa: E402
from privrep.neural.fedavg import FedAvg  # noqa: E402
from privrep.neural.image_users import ImageUsers  # noqa: E402
from privrep.neural.method import Client, ImageTask, Pixels, head_rows, jittered  # noqa: E402
from privrep.neural.networks import apply, lenet, mlp, patches  # noqa: E402
from privrep.neural.pmtl import Pmtl  # noqa: E402
from privrep.neural.ppsgd import Ppsgd  # noqa: E402
from privrep.neural.rounds import (  # noqa: E402
    Displacements,
    RoundPlan,
    client_chunk,
    clipped_sum,
    displacements,
    length,
    run,
)
from privrep.neural.spectrum import effective_rank, in_common  # noqa: E402
from privrep.neural.stand_alone import StandAlone  # noqa: E402
from privrep.neural.training import Descent, cross_entropy, descend  # noqa: E402
from privrep.privacy.accounting import UNLIMITED  # noqa: E402
from privrep.privacy.ledger import Ledger  # noqa: E402
from privrep.privacy.mechanisms import Release, clipped_sums  # noqa: E402

SIDE, CLASSES, CLIENTS, IMAGES = 6, 3, 7, 12
PIXELS = Pixels(0.4, 0.3)
TASK = ImageTask(mlp(SIDE**2, (8, 4)), CLASSES)
LOCAL, HEAD = Descent(0.05, 2, batch=5), Descent(0.05, 3, batch=5)
METHODS = {
    "centaur": ImageCentaur(TASK, LOCAL, HEAD),
    "fedavg": FedAvg(TASK, LOCAL, HEAD),
    "pmtl": Pmtl(TASK, LOCAL, HEAD),
    "ppsgd": Ppsgd(TASK, LOCAL, Descent(0.1, 1, batch=5), HEAD),
}
KEY = jax.random.key(0)


def synthetic(clients=CLIENTS, seed=0, images=IMAGES):
    """Images whose class is a bright row, pixels uint8."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, (clients, images)).astype(np.uint8)
    pixels = rng.integers(0, 120, (clients, images, SIDE, SIDE, 1))
    rows = np.arange(SIDE) // 2 == labels[:, :, None]
    return Client((pixels + 130 * rows[:, :, :, None, None]).astype(np.uint8), labels)


def handle(multiplier, rng=None, ledger=None, clients=CLIENTS):
    return Release.from_one(multiplier, rng or np.random.default_rng(0), clients, ledger or Ledger())


def rounds(method, clients, *, count=2, clip=0.5, multiplier=0.0, **opened):
    users = ImageUsers.of(clients, rank=2)
    return list(run(method, PIXELS, users, RoundPlan(count, clip), handle(multiplier, **opened), KEY))


def flat(tree):
    return np.asarray(ravel_pytree(tree)[0])


def test_jax_is_imported_here_alone():
    """Whoever does not run the neural part needs no JAX."""
    package = Path(privrep.__file__).parent
    users = {
        path.relative_to(package).parts[0]
        for path in package.rglob("*.py")
        if re.search(r"^\s*(import|from) jax", path.read_text(), flags=re.MULTILINE)
    }
    assert users == {"neural", "images"}


# Networks


def test_networks_have_the_sizes_of_the_paper():
    """LeNet-5 on CIFAR-10 has 734,762 parameters; the MLP 236,090 with ten classes."""
    for network, classes, expected in ((lenet(32, 3), 10, 734_762), (mlp(784), 10, 236_090)):
        model = jax.eval_shape(ImageTask(network, classes).model, KEY)
        assert sum(leaf.size for leaf in jax.tree.leaves(model)) == expected
    assert lenet(32, 3, (128, 32)).features == 32 and mlp(784).features == 16


def test_a_convolution_is_that_of_scipy():
    """Patches times weights, against a plain correlation, with its channels in order."""
    rng = np.random.default_rng(1)
    images, weights = rng.standard_normal((2, 9, 8, 3)), rng.standard_normal((5, 5, 3, 4))
    got = np.asarray(patches(jnp.asarray(images)) @ weights.reshape(75, 4).astype(np.float32))
    for image, one in zip(images, got, strict=True):
        for out in range(4):
            wanted = correlate(image, weights[..., out], mode="valid")[..., 0]
            np.testing.assert_allclose(one[..., out], wanted, atol=1e-4)


def test_lenet_sees_all_of_an_image():
    """28 and 32 pixels a side, one and three channels: features of the stated number, which move with the pixels."""
    for side, channels in ((28, 1), (32, 3)):
        network = lenet(side, channels, (20, 6), filters=4)
        body = jax.jit(network.init)(KEY)
        images = np.random.default_rng(0).random((3, side, side, channels), np.float32)

        @jax.jit
        def features(images, body=body, network=network):
            return network.forward(body, images)

        before, images[1, -6:, -6:] = np.asarray(features(images)), 0
        after = np.asarray(features(images))
        assert before.shape == (3, 6)
        assert (before != after).any(axis=1).tolist() == [False, True, False]


# Descent


def test_descent_is_that_of_a_plain_loop():
    """Momentum and decay as in torch: v <- .9 v + g + decay p, p <- p - step v; each image once in an epoch."""
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


def test_cross_entropy_is_the_mean_log_probability():
    logits = np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 3.0]])
    wanted = -np.mean([np.log(np.exp(2) / np.exp(logits[0]).sum()), np.log(np.exp(0) / np.exp(logits[1]).sum())])
    assert float(cross_entropy(jnp.asarray(logits), jnp.array([1, 0], jnp.uint8))) == pytest.approx(wanted, rel=1e-6)


# Methods


def update(method, seed=0):
    client = PIXELS.client(Client(*(part[0] for part in synthetic(seed=seed))))
    shared, own = method.shared(KEY), method.own(KEY)
    return shared, own, client, jax.jit(method.client_update)(shared, own, client, KEY)


def test_centaur_sends_the_representation_alone():
    """Its displacement has the shape of the body; the head that it keeps is fitted, and lies in no sum."""
    shared, own, client, (sent, kept) = update(METHODS["centaur"])
    body = TASK.network.init(KEY)
    assert jax.tree.structure(sent) == jax.tree.structure(body)
    assert flat(sent).size == flat(body).size < flat(TASK.model(KEY)).size
    assert float(TASK.loss(shared, kept, *client)) < float(TASK.loss(shared, own, *client))
    moved = jax.tree.map(jnp.add, shared, sent)
    assert float(TASK.loss(moved, kept, *client)) < float(TASK.loss(shared, kept, *client))


def test_fedavg_sends_the_whole_model():
    shared, own, client, (sent, kept) = update(METHODS["fedavg"])
    assert flat(sent).size == flat(TASK.model(KEY)).size and own == kept == ()
    assert float(TASK.loss(*jax.tree.map(jnp.add, shared, sent), *client)) < float(TASK.loss(*shared, *client))


def test_a_penalty_of_nothing_is_fedavg_and_a_strong_one_stays():
    """lambda = 0 is DP-FedAvg; the displacement falls with lambda."""
    plain = flat(update(METHODS["fedavg"])[3][0])
    lengths = [np.linalg.norm(flat(update(Pmtl(TASK, LOCAL, HEAD, strength))[3][0])) for strength in (0.0, 1.0, 8.0)]
    np.testing.assert_array_equal(flat(update(Pmtl(TASK, LOCAL, HEAD, 0.0))[3][0]), plain)
    assert lengths[0] == pytest.approx(np.linalg.norm(plain), rel=1e-6) and lengths[0] > lengths[1] > lengths[2]


def test_ppsgd_adds_its_own_part_to_the_head():
    """The own part begins at zero, moves, and its sum with the shared head is what the loss falls for."""
    shared, own, client, (sent, kept) = update(METHODS["ppsgd"])
    assert not flat(own).any() and flat(kept).any() and flat(sent).size == flat(TASK.model(KEY)).size
    body, head = shared
    added = jax.tree.map(jnp.add, head, kept)
    assert float(TASK.loss(body, added, *client)) < float(TASK.loss(body, head, *client))
    final = METHODS["ppsgd"].final_head(shared, kept, client, KEY)
    assert float(TASK.loss(body, final, *client)) < float(TASK.loss(body, added, *client))


# Rounds and their privacy


@pytest.mark.parametrize("name", METHODS)
def test_rounds_are_means_of_clipped_displacements(name):
    """Without noise, against a loop over clients; some are clipped and some are not."""
    method, clients, clip = METHODS[name], synthetic(), 0.25
    start, keep, orders = jax.random.split(KEY, 3)
    shared = method.shared(start)
    own = [method.own(key) for key in jax.random.split(keep, CLIENTS)]
    (first,) = rounds(method, clients, count=1, clip=clip)
    total, norms, update = 0.0, [], jax.jit(method.client_update)
    keys = jax.random.split(jax.random.fold_in(orders, 0), CLIENTS)
    for i in range(CLIENTS):
        client = PIXELS.client(Client(clients.images[i], clients.labels[i]))
        sent, _ = update(shared, own[i], client, keys[i])
        norms.append(np.linalg.norm(flat(sent)))
        total = total + flat(sent) * min(1, clip / norms[-1])
    np.testing.assert_allclose(first.norms, norms, rtol=1e-4)
    np.testing.assert_allclose(flat(first.shared) - flat(shared), total / CLIENTS, atol=2e-6)
    assert name == "centaur" or min(norms) < max(norms)


@pytest.mark.parametrize("name", METHODS)
def test_a_client_moves_the_sum_by_no_more_than_the_clip(name):
    """By zeta where it is removed (all its images wiped out of the sum), by 2 zeta where it is replaced,
    whatever the others."""
    method, clip = METHODS[name], 1e-3
    clients = synthetic()
    other = Client(
        *(np.concatenate([part[:-1], new[:1]]) for part, new in zip(clients, synthetic(seed=9), strict=True))
    )
    shared = method.shared(KEY)
    own = jax.vmap(method.own)(jax.random.split(KEY, CLIENTS))
    sums = [np.asarray(clipped_sum(method, PIXELS, shared, own, one, KEY, clip)[0]) for one in (clients, other)]
    fewer = jax.tree.map(lambda leaf: leaf[:-1], own)
    less = Client(*(part[:-1] for part in clients))
    keys = partial(clipped_sum, method, PIXELS, shared)
    alone = np.asarray(keys(fewer, less, KEY, clip)[0])
    assert np.linalg.norm(sums[0] - sums[1]) <= 2 * clip * (1 + 1e-4)
    assert np.linalg.norm(sums[0]) > 2 * clip and np.linalg.norm(alone) <= (CLIENTS - 1) * clip * (1 + 1e-4)


def test_a_client_whose_numbers_overflow_adds_nothing():
    """Steps far too long: lengths that are no numbers, and a sum that is finite."""
    wild = FedAvg(TASK, Descent(1e25, 3, batch=5), HEAD)
    (last,) = rounds(wild, synthetic(), count=1)
    assert not np.isfinite(last.norms).any()
    start = jax.random.split(KEY, 3)[0]
    np.testing.assert_array_equal(flat(last.shared), flat(wild.shared(start)))


def test_each_round_is_one_release_of_the_stated_noise():
    """As many entries as rounds, of sensitivity 2 zeta over all clients; noise of sd 2 zeta Delta / n on each parameter
    of the model."""
    method, ledger, clip, delta = METHODS["fedavg"], Ledger(), 0.3, 1.7
    noisy = rounds(
        method, synthetic(), count=3, clip=clip, multiplier=delta, ledger=ledger, rng=np.random.default_rng(5)
    )
    assert len(ledger.entries) == 3
    assert {(entry.name, entry.sensitivity, entry.start, entry.stop) for entry in ledger.entries} == {
        ("displacement", 2 * clip, 0, CLIENTS)
    }
    assert ledger.mu == pytest.approx(math.sqrt(3) / delta, rel=1e-12)
    plain = rounds(method, synthetic(), count=1, clip=clip)
    check_sd(flat(noisy[0].shared) - flat(plain[0].shared), 2 * clip * delta / CLIENTS)


@pytest.mark.parametrize("name", METHODS)
def test_what_clients_add_is_clipped_at_the_clip_of_the_handle(name):
    """As often as each client stands for others, in float64; what they keep, and their lengths, do not depend on it.
    Somebody away is refused."""
    method, users, ledger = METHODS[name], ImageUsers.of(synthetic(), rank=2), Ledger()
    shared, own = method.shared(KEY), jax.vmap(method.own)(jax.random.split(KEY, CLIENTS))

    def sent(block, times=1.0):
        return Displacements(method, PIXELS, block.clients, shared, own, KEY, times=times)

    clips = 1e-3, 2e-3
    (one, *kept), (two, *same) = (handle(0.0).sum("displacement", users, sent, clip=clip) for clip in clips)
    assert one.dtype == np.float64 and 0 < np.linalg.norm(one) <= CLIENTS * clips[0]
    np.testing.assert_allclose(two, 2 * one, rtol=1e-3, atol=1e-7)
    assert len(kept) == 1 + len(jax.tree.leaves(own)) and kept[-1].rows.shape == (CLIENTS,)
    for first, second in zip(kept, same, strict=True):
        np.testing.assert_array_equal(first.rows, second.rows)
    twice = handle(0.0).sum("displacement", users, partial(sent, times=2.0), clip=clips[0])[0]
    np.testing.assert_array_equal(twice, 2 * one)
    away = replace(handle(1.0, ledger=ledger), taking_part=np.arange(CLIENTS) > 0)
    with pytest.raises(ValueError, match=r"^some clients do not take part"):
        away.sum("displacement", users, sent, clip=0.4)
    assert not ledger.entries


@pytest.mark.parametrize("multiplier", [1e-3, 1.0])
@pytest.mark.parametrize("name", METHODS)
def test_nothing_of_a_client_passes_a_release(name, multiplier):
    """Told the answers of one run, a run with another first client ends with the same model, and the same parts of all
    others, bit for bit."""
    clients = synthetic()
    other = Client(*(np.concatenate([new[:1], part[1:]]) for part, new in zip(clients, synthetic(seed=9), strict=True)))
    ends, transcripts = [], [Transcript()]
    for people in (clients, other):
        release = RecordingRelease(
            multiplier, Ledger(), range(CLIENTS), streams(0, 5), UNLIMITED, transcript=transcripts[-1]
        )
        ends.append(list(run(METHODS[name], PIXELS, ImageUsers.of(people, 2), RoundPlan(2, 0.3), release, KEY)))
        transcripts.append(Transcript(transcripts[-1]))
    for one, two in zip(*ends, strict=True):
        np.testing.assert_array_equal(flat(one.shared), flat(two.shared))
        for first, second in zip(jax.tree.leaves(one.own), jax.tree.leaves(two.own), strict=True):
            np.testing.assert_array_equal(np.asarray(first)[1:], np.asarray(second)[1:])
    assert not np.array_equal(ends[0][0].norms, ends[1][0].norms)


def test_clients_with_images_are_users():
    """Their sizes are known, without the images; any range of them is one block;
    they have images that no fit sees, and no truth."""
    clients = synthetic()
    users = ImageUsers.of(clients, 2, ImageUsers.of(synthetic(images=3), 2))
    known = users.known
    assert (known.users, known.samples, known.dim, known.rank) == (CLIENTS, IMAGES, SIDE**2, 2)
    (whole,), (some,) = users.blocks(), users.blocks(2, 5)
    assert whole.users == CLIENTS and (some.users, some.start) == (3, 2)
    np.testing.assert_array_equal(some.clients.images, clients.images[2:5])
    assert users.truth is None and users.held_out.known.samples == 3


def test_runs_repeat_bit_by_bit_and_follow_their_keys():
    method, clients = METHODS["centaur"], synthetic()
    first, again = (flat(rounds(method, clients, multiplier=1.0)[-1].shared) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = list(run(method, PIXELS, ImageUsers.of(clients, 2), RoundPlan(2, 0.5), handle(1.0), jax.random.key(1)))
    assert not np.array_equal(first, flat(other[-1].shared))


@pytest.mark.parametrize("size", [1, 7, 100, 12_345])
def test_length_is_the_norm(size):
    vector = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    assert float(length(jnp.asarray(vector))) == pytest.approx(np.linalg.norm(vector.astype(float)), rel=1e-6)


def test_a_clip_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match=r"clip is 0\.0; it must be positive"):
        rounds(METHODS["fedavg"], synthetic(), clip=0.0)


# Accuracy


def test_accuracy_counts_test_images_of_own_classes():
    """Against a loop over clients with their own heads; classes that a client lacks do not count, and may be
    predicted."""
    method, clients = METHODS["centaur"], synthetic()
    last = rounds(method, clients)[-1]
    test = Client(*(part.reshape(-1, *part.shape[2:]) for part in synthetic(3, seed=4)))
    own = np.zeros((CLIENTS, CLASSES), bool)
    own[:, 0] = own[::2, 1] = own[1::2, 2] = True
    got, kept = accuracy.federated(method, PIXELS, last, clients, clients, test, own, KEY)
    features = TASK.network.forward(last.shared, PIXELS(jnp.asarray(test.images)))
    key, final_head = KEY, jax.jit(method.final_head)
    for i in range(CLIENTS):
        fit, key = jax.random.split(key)
        client = PIXELS.client(Client(clients.images[i], clients.labels[i]))
        head = final_head(last.shared, jax.tree.map(lambda leaf, i=i: leaf[i], last.own), client, fit)
        found = np.argmax(np.asarray(apply(head, features)), axis=1)
        mine = own[i][test.labels]
        assert got[i] == pytest.approx((found == test.labels)[mine].mean(), abs=1e-6)
        found = np.argmax(np.asarray(apply(head, TASK.network.forward(last.shared, client.images))), axis=1)
        mine = own[i][clients.labels[i]]
        assert kept[i] == pytest.approx((found == clients.labels[i])[mine].mean(), abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("name", [*METHODS, "stand_alone"])
def test_methods_learn(name):
    """Bright rows are told apart by clients of every method, far better than by guessing."""
    clients = synthetic(images=40)
    test = Client(*(part.reshape(-1, *part.shape[2:]) for part in synthetic(5, seed=4)))
    own = np.ones((CLIENTS, CLASSES), bool)
    if name == "stand_alone":
        found = accuracy.alone(StandAlone(TASK, Descent(0.05, 30, batch=5)), PIXELS, clients, test, own, KEY)
    else:
        last = rounds(METHODS[name], clients, count=6, clip=5.0)[-1]
        found = accuracy.federated(METHODS[name], PIXELS, last, clients, clients, test, own, KEY).test
    assert found.shape == (CLIENTS,) and found.mean() > 0.8


# Clients


@given(
    kind=st.sampled_from(SPLITS),
    clients=st.integers(1, 12),
    per_client=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_images_are_dealt_out_once(kind, clients, per_client, seed):
    """No image twice; as many for each client; at most S classes, and just S, equally often, where they are distinct;
    a tenth kept."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(4), 150))
    found = split(labels, clients, per_client, kind, rng)
    everything = np.concatenate([found.training, found.validation], axis=1)
    assert len(np.unique(everything)) == everything.size
    assert found.validation.shape[1] == round(0.1 * everything.shape[1])
    for positions, own in zip(everything, found.own, strict=True):
        counts = np.bincount(labels[positions], minlength=4)
        np.testing.assert_array_equal(counts > 0, own)
        assert own.sum() <= per_client
        assert kind == "shards" or sorted(counts[counts > 0]) == [everything.shape[1] // per_client] * per_client


def test_an_impossible_split_is_refused():
    labels, rng = np.repeat(np.arange(4), 5), np.random.default_rng(0)
    for wanted, message in (
        ({"kind": "pairs"}, "split is 'pairs'; it must be one of distinct, shards"),
        ({"per_client": 5}, "per_client is 5; it must be at least 1 and at most the number of classes, 4"),
        ({"clients": 50}, "clients is 50; 20 images are too few for 2 classes each"),
        ({"images": 20}, "images is 20; 3 clients can have 2 to 4 each"),
    ):
        given = {"clients": 3, "per_client": 2, "kind": "distinct"} | wanted
        with pytest.raises(ValueError, match=re.escape(message)):
            split(labels, rng=rng, **given)


# More than one client at once, and how alike they are


@pytest.mark.parametrize("name", METHODS)
def test_chunks_of_clients_give_the_same_sum(name):
    """What an accelerator does: the same sums, lengths and kept parts, but for rounding."""
    method, clients = METHODS[name], synthetic()
    shared, own = method.shared(KEY), jax.vmap(method.own)(jax.random.split(KEY, CLIENTS))
    one, many = (clipped_sum(method, PIXELS, shared, own, clients, KEY, 0.3, chunk) for chunk in (1, CLIENTS))
    for first, second in zip(jax.tree.leaves(one), jax.tree.leaves(many), strict=True):
        assert first.shape == second.shape
        np.testing.assert_allclose(first, second, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize(
    ("clients", "backend", "size"), [(40, "cpu", 1), (250, "gpu", 50), (60, "gpu", 60), (101, "gpu", 1)]
)
def test_clients_at_once_divide_all(clients, backend, size):
    assert client_chunk(clients, backend) == size


def test_the_mean_is_that_of_the_clipped_updates():
    """Without noise it is how far the shared model moves."""
    method, clients = METHODS["centaur"], synthetic()
    first, second = rounds(method, clients, count=2, clip=0.1)
    moved = np.linalg.norm(flat(second.shared).astype(float) - flat(first.shared))
    mean = np.linalg.norm(clipped_sums(ImageUsers.of(clients, 2), second.sent, 0.1)[0]) / CLIENTS
    assert mean == pytest.approx(moved, rel=1e-3) and 0 < mean <= 0.1


def test_displacements_are_what_clients_send():
    """Their clipped sum is that of the round."""
    method, clients = METHODS["fedavg"], synthetic()
    shared, own = method.shared(KEY), jax.vmap(method.own)(jax.random.split(KEY, CLIENTS))
    sent = np.asarray(displacements(method, PIXELS, shared, own, clients, KEY))
    total, _, norms = clipped_sum(method, PIXELS, shared, own, clients, KEY, 0.3)
    np.testing.assert_allclose(np.linalg.norm(sent, axis=1), norms, rtol=1e-4)
    lengths = np.linalg.norm(sent, axis=1, keepdims=True)
    np.testing.assert_allclose((sent * np.minimum(1, 0.3 / lengths)).sum(axis=0), total, atol=2e-5)


@given(n=st.integers(2, 8), seed=st.integers(0, 99))
def test_likeness_of_updates(n, seed):
    """All the same: one direction, all in common. At right angles: n directions of equal length, nothing in common."""
    rng = np.random.default_rng(seed)
    same = np.tile(rng.standard_normal(20), (n, 1))
    assert in_common(same) == pytest.approx(1) and effective_rank(same) == pytest.approx(1)
    apart = np.linalg.qr(rng.standard_normal((20, n)))[0].T
    assert in_common(apart) == pytest.approx(0, abs=1e-12) and effective_rank(apart) == pytest.approx(n)


# Moved images


def test_jittered_images_are_moved_and_mirrored():
    """Every one is the image moved by at most the shift, mirrored or not, and not all are alike."""
    images = jnp.asarray(np.random.default_rng(0).random((30, 6, 6, 1)), jnp.float32)
    padded = np.pad(images, ((0, 0), (2, 2), (2, 2), (0, 0)), mode="edge")
    found = set()
    for i, got in enumerate(np.asarray(jittered(images, KEY, 2))):
        possible = {
            (down, right, mirrored): padded[i, down : down + 6, right : right + 6][:, ::-1]
            if mirrored
            else padded[i, down : down + 6, right : right + 6]
            for down in range(5)
            for right in range(5)
            for mirrored in (False, True)
        }
        here = [key for key, one in possible.items() if np.array_equal(one, got)]
        assert here
        found.update(here)
    assert len(found) > 10 and {key[2] for key in found} == {False, True}


def test_heads_on_moved_images_take_as_many_steps():
    """One pass over the images of all epochs; without a shift the images as they are."""
    client = PIXELS.client(Client(*(part[0] for part in synthetic())))
    body = TASK.network.init(KEY)
    features, labels, rule = head_rows(body, TASK, client, KEY, HEAD)
    assert rule == HEAD and len(features) == len(labels) == len(client.labels)
    moved, labels, rule = head_rows(body, replace(TASK, shift=1), client, KEY, HEAD)
    assert (rule.epochs, rule.step) == (1, HEAD.step)
    assert len(moved) == len(labels) == HEAD.epochs * len(client.labels)
    np.testing.assert_array_equal(labels, np.tile(client.labels, HEAD.epochs))
