"""Structured pruning: channels that belong together go together, and nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.train.build import train
from tinyrt.convert.passes import optimize
from tinyrt.errors import DataError
from tinyrt.ir import Value
from tinyrt.ops import OPS, is_weighted
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.train import Tensor, apply, trace
from tinyrt.train.channels import (
    Channels,
    channel_scores,
    macs_of,
    magnitude_scores,
    prune_channels,
    prune_to_fit,
)
from tinyrt.train.graph_model import GraphModel
from tinyrt.train.losses import cross_entropy
from tinyrt.train.nn import (
    BatchNorm,
    Conv2d,
    DepthwiseConv2d,
    Flatten,
    GlobalAvgPool2d,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
    Sequential,
    Softmax,
)


class Net(Module):
    """A residual sum, a depthwise block, a gate, a concatenation and a flattening."""

    def __init__(self, rng):
        self.stem = Sequential(Conv2d(1, 8, 3, rng=rng, bias=False), BatchNorm(8), ReLU())
        self.block = Sequential(
            Conv2d(8, 12, 1, rng=rng, bias=False),
            BatchNorm(12),
            ReLU(),
            DepthwiseConv2d(12, 3, rng=rng),
            BatchNorm(12),
            ReLU(),
            Conv2d(12, 8, 1, rng=rng),
            BatchNorm(8),
        )
        self.gate = Sequential(GlobalAvgPool2d(), Linear(8, 8, rng=rng))
        self.branch = Conv2d(8, 6, 3, rng=rng)
        self.head = Sequential(MaxPool2d(2), Flatten(), Linear(4 * 4 * 14, 3, rng=rng), Softmax())

    def forward(self, x):
        y = self.stem(x)
        y = self.block(y) + y
        gate = apply("logistic", NoAttrs(), self.gate(y)).reshape(-1, 1, 1, 8)
        y = y * gate
        return self.head(apply("concatenation", ConcatenationAttrs(3), y, self.branch(y)))


@pytest.fixture
def net():
    rng = np.random.default_rng(0)
    net = Net(rng)
    for _ in range(10):
        net(Tensor(rng.normal(size=(16, 8, 8, 1)).astype(np.float32)))  # statistics for the norms
    return trace(net, (8, 8, 1))


def unread(channels, gone):
    """The whole graph, where the weights that read these channels are 0."""
    graph, gone = channels.graph, set(gone.tolist())
    for node in graph.bound():
        if is_weighted(node) and node.op != "depthwise_conv2d":
            kept = [int(a) not in gone for a in channels.find(channels.read_labels(node))]
            weights = (node.input(1).data * np.asarray(kept)).astype(np.float32)
            graph = graph.with_nodes(graph.nodes, [Value.constant(node.input(1).name, weights)])
    return graph


def outputs(graph, x):
    return np.concatenate([evaluate(graph, {"input": s[None]})[graph.outputs[0]] for s in x])


def test_channels_without_readers_leave_without_a_trace(net):
    rng = np.random.default_rng(1)
    channels = Channels(net)
    free = {n: channels.removable(n) for n in channels.labels}
    everything = np.unique(np.concatenate(list(free.values())))
    gone = rng.choice(everything, 9, replace=False)
    x = rng.normal(size=(5, 8, 8, 1)).astype(np.float32)
    smaller = channels.without(gone)
    np.testing.assert_allclose(
        outputs(smaller, x), outputs(unread(channels, gone), x), rtol=1e-5, atol=1e-6
    )
    assert macs_of(smaller) < macs_of(net)


def test_tied_channels_are_one_set(net):
    channels = Channels(net)
    stem, summed = channels.find(channels.labels["stem.0"]), channels.labels["add"]
    assert stem.tolist() == channels.find(summed).tolist()
    depthwise = channels.find(channels.labels["block.3"])
    assert depthwise.tolist() == channels.find(channels.labels["block.0"]).tolist()
    assert channels.removable("head.2").size == 0  # the classes stay
    assert channels.removable(net.inputs[0]).size == 0
    # stem and gate, block, branch: the input of the last layer holds two of them.
    assert len(channels.removable("concatenation")) == 8 + 6


@pytest.mark.parametrize("folded", [False, True])
def test_half_of_the_work_goes_and_the_rest_still_learns(net, folded):
    graph = optimize(net) if folded else net
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 48)
    x = (rng.normal(size=(48, 8, 8, 1)) + y[:, None, None, None]).astype(np.float32)
    scores = channel_scores(GraphModel(graph), x, y)
    smaller = prune_channels(graph, scores, macs=0.5)
    assert 0.3 * macs_of(graph) < macs_of(smaller) <= 0.5 * macs_of(graph)
    model = GraphModel(smaller)
    losses = train(model, x, y, 10)
    assert losses[-1] < 0.8 * losses[0]
    with model.evaluating():
        logits = model(Tensor(x)).data
    answers = outputs(model.trained(), x)
    assert np.array_equal(answers.argmax(1), logits.argmax(1))


def test_a_channel_that_changes_nothing_scores_nothing(net):
    model = GraphModel(net)
    gamma = dict(model.named_parameters())["block.4.gamma"]
    gamma.data[3] = dict(model.named_parameters())["block.4.beta"].data[3] = 0
    rng = np.random.default_rng(3)
    x = rng.normal(size=(8, 8, 8, 1)).astype(np.float32)
    scores = channel_scores(model, x, rng.integers(0, 3, 8))
    assert scores["block.4"][3] == 0
    assert (scores["block.4"] > 0).sum() >= 10
    assert "block.3" not in scores  # its norm counts instead
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(("given", "sizes"), [({}, [32, 8]), ({"batch": 24}, [24, 16])])
def test_scores_are_taken_from_as_many_samples_at_once_as_are_asked_for(given, sizes, net):
    x, found = np.ones((40, 8, 8, 1), np.float32), []

    def objective(model, samples, labels):
        found.append(len(samples))
        return cross_entropy(model(Tensor(samples)), labels)

    channel_scores(GraphModel(net), x, np.arange(40) % 3, objective=objective, **given)
    assert found == sizes


def test_a_layer_that_is_read_beside_its_norm_counts_as_well():
    class Beside(Module):
        def __init__(self, rng):
            self.conv, self.norm = Conv2d(1, 8, 3, rng=rng), BatchNorm(8)
            self.head = Sequential(GlobalAvgPool2d(), Linear(8, 3, rng=rng))

        def forward(self, x):
            y = self.conv(x)
            return self.head(self.norm(y) + y)

    rng = np.random.default_rng(4)
    model = GraphModel(trace(Beside(rng), (4, 4, 1)))
    x = rng.normal(size=(6, 4, 4, 1)).astype(np.float32)
    assert channel_scores(model, x, np.arange(6) % 3).keys() > {"conv", "norm"}


def test_layers_keep_a_multiple_and_a_least(net):
    smaller = prune_channels(net, magnitude_scores(net), macs=0.9, multiple=4, least=5)
    sizes = [smaller.value(n).shape[-1] for n in ("stem.0", "block.0", "branch")]
    assert sizes == [8, 8, 6]
    with pytest.raises(DataError, match="1%"):
        prune_channels(net, magnitude_scores(net), macs=0.01)


@pytest.mark.parametrize("options", [{}, {"multiple": 4}, {"least": 5}], ids=str)
def test_as_few_channels_go_as_make_it_fit(net, options):
    scores, limit = magnitude_scores(net), 0.7 * macs_of(net)
    smaller = prune_to_fit(net, scores, lambda graph: macs_of(graph) <= limit, **options)
    expected = prune_channels(net, scores, macs=0.7, **options)
    assert {n: v.shape for n, v in smaller.values.items()} == {
        n: v.shape for n, v in expected.values.items()
    }
    assert macs_of(prune_to_fit(net, scores, lambda graph: True, **options)) == macs_of(net)
    assert prune_to_fit(net, scores, lambda graph: False, **options) is None


def test_norms_are_shares_of_their_own_layer_s_mean():
    """So layers compare with each other, however many filters they have and large their weights."""
    b, rng = Builder((1, 4, 4, 3)), np.random.default_rng(0)
    first = rng.normal(size=(5, 1, 1, 3)).astype(np.float32)
    second = 9 * rng.normal(size=(7, 1, 1, 5)).astype(np.float32)
    y = b.op("conv2d", ("x", b.constant(first)), Conv2dAttrs())
    z = b.op("conv2d", (y, b.constant(second)), Conv2dAttrs())
    for name, weights in ((y, first), (z, second)):
        norms = (weights.astype(float) ** 2).sum(axis=(1, 2, 3))
        np.testing.assert_allclose(magnitude_scores(b.graph(z))[name], norms / norms.mean())


def test_filters_of_zeros_do_not_matter():
    b = Builder((1, 4, 4, 3))
    y = b.op("conv2d", ("x", b.constant(np.zeros((5, 1, 1, 3), np.float32))), Conv2dAttrs())
    assert magnitude_scores(b.graph(y))[y].tolist() == [0] * 5


def test_what_an_unknown_op_or_a_group_touches_stays():
    rng = np.random.default_rng(4)
    b = Builder((1, 4, 4, 4))

    def conv(x, c_in, c_out):
        weights = b.constant(rng.normal(size=(c_out, 1, 1, c_in)).astype(np.float32))
        return b.op("conv2d", (x, weights), Conv2dAttrs())

    first = conv("x", 4, 8)
    grouped = conv(first, 2, 8)
    second = conv(grouped, 8, 8)
    scaled = b.op("mul", (second, b.constant(np.ones((4, 1), np.float32))), MulAttrs())
    third = conv(scaled, 8, 8)
    summed = b.op("add", (third, scaled), AddAttrs())
    fourth = conv(summed, 8, 8)
    unknown = b.op("softmax", (fourth,), SoftmaxAttrs())
    channels = Channels(b.graph(conv(unknown, 8, 2)))
    free = {name: len(channels.removable(name)) for name in (first, grouped, second, third, fourth)}
    assert free == {first: 0, grouped: 0, second: 8, third: 8, fourth: 0}


class Twins(Module):
    """One convolution on both halves of an image."""

    def __init__(self, rng):
        self.conv, self.narrow = Conv2d(1, 8, 3, rng=rng), Conv2d(8, 8, 1, rng=rng)
        self.head = Sequential(GlobalAvgPool2d(), Linear(8, 3, rng=rng))

    def forward(self, x):
        left, right = self.conv(x[:, :, :4]), self.conv(x[:, :, 4:])
        return self.head(self.narrow(left * right))


def test_channels_of_outputs_stay():
    """Of the model's own, and of those that are read on."""
    b = Builder((1, 4, 4, 3))
    first, second = (b.constant(np.ones((5, 1, 1, c), np.float32)) for c in (3, 5))
    inner = b.op("conv2d", ("x", first), Conv2dAttrs())
    graph = b.graph(last := b.op("conv2d", (inner, second), Conv2dAttrs()))
    channels = Channels(graph)
    assert len(channels.removable(inner)) == 5
    assert not len(channels.removable(last))
    both = Channels(replace(graph, outputs=(last, inner)))
    assert not len(both.removable(inner))


def test_a_layer_that_is_applied_twice_keeps_its_channels_and_stays_one():
    rng = np.random.default_rng(5)
    graph = trace(Twins(rng), (8, 8, 1))
    x = rng.normal(size=(16, 8, 8, 1)).astype(np.float32)
    model = GraphModel(graph)
    assert sum(name.startswith("conv") for name, _ in model.named_parameters()) == 2
    scores = channel_scores(model, x, rng.integers(0, 3, 16))
    smaller = prune_channels(graph, scores, macs=0.9)
    assert smaller.value("conv").shape[-1] == smaller.value("conv_1").shape[-1] == 8
    assert smaller.value("narrow").shape[-1] < 8
    pruned = GraphModel(smaller)
    with pruned.evaluating():
        np.testing.assert_allclose(outputs(smaller, x), pruned(Tensor(x)).data, atol=1e-5)


WIDER = {
    "more channels": ("pad", PadAttrs(((0, 0), (0, 0), (0, 0), (0, 4))), False),
    "twice the channels": ("pad", PadAttrs(((0, 0), (0, 0), (0, 0), (4, 4))), False),
    "more rows": ("pad", PadAttrs(((0, 0), (1, 1), (1, 1), (0, 0))), True),
    "channels side by side": ("reshape", ReshapeAttrs((1, 4, 32)), True),
    "neighbours side by side": ("reshape", ReshapeAttrs((1, 8, 4, 4)), False),
    "turned rows": ("transpose", TransposeAttrs((0, 2, 1, 3)), True),
    "channels in front": ("transpose", TransposeAttrs((0, 3, 1, 2)), False),
    "a mean of an image": ("mean", MeanAttrs((1, 2)), True),
    "a mean of channels": ("mean", MeanAttrs((-1,), keep_dims=True), False),
    "a sum of channels as they run": ("cumsum", CumsumAttrs(-1), False),
}


@pytest.mark.parametrize("name", WIDER)
def test_channels_behind_what_moves_them_are_followed_or_stay(name):
    op, attrs, follows = WIDER[name]
    rng, b = np.random.default_rng(0), Builder((1, 4, 4, 3))
    w = b.constant(rng.normal(size=(8, 1, 1, 3)).astype(np.float32))
    first = b.op("conv2d", ("x", w), Conv2dAttrs())
    moved = b.op(op, (b.op("relu", (first,)),), attrs)
    length = b.values[moved].shape[-1]
    last = b.constant(rng.normal(size=(5, length)).astype(np.float32))
    attrs = OPS["fully_connected"].attrs(keep_num_dims=True)
    graph = b.graph(b.op("fully_connected", (moved, last), attrs))
    channels = Channels(graph)
    free = channels.removable(first)
    assert bool(len(free)) is follows
    if follows:
        smaller = channels.without(free[:3])
        x = {"x": rng.normal(size=(1, 4, 4, 3)).astype(np.float32)}
        kept = np.isin(channels.find(channels.labels[first]), free[:3], invert=True)
        zeroed = graph.value(w).data * kept[:, None, None, None]
        whole = replace(graph, values=graph.values | {w: Value.constant(w, zeroed)})
        for found, wanted in zip(
            evaluate(smaller, x).values(), evaluate(whole, x).values(), strict=True
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def beside(axis):
    def joined(b, *operands):
        return b.op("concatenation", operands, ConcatenationAttrs(axis))

    return joined


MEETING = {
    "a number": (lambda b, x, y, z: b.op("mul", (x, filled(b)), MulAttrs()), 24),
    "one channel": (
        lambda b, x, y, z: b.op("add", (x, b.op("mean", (z,), MeanAttrs((3,), True))), AddAttrs()),
        8,
    ),
    "rows of three": (lambda b, x, y, z: beside(1)(b, x, y, z), 8),
    "channels of three": (lambda b, x, y, z: beside(-1)(b, x, y, z), 24),
    "constant rows": (lambda b, x, y, z: beside(1)(b, x, filled(b, 1, 2, 4, 8)), 24),
    "constant channels": (lambda b, x, y, z: beside(-1)(b, x, filled(b, 1, 4, 4, 2)), 16),
    "a product of two": (
        lambda b, x, y, z: b.op("batch_matmul", (x, y), BatchMatmulAttrs(adj_y=True)),
        8,
    ),
}
"""What three convolutions of eight channels end in, and how many sets of channels may go."""


def filled(b, *shape):
    return b.constant(np.random.default_rng(7).normal(size=shape).astype(np.float32))


@pytest.mark.parametrize("name", MEETING)
def test_channels_that_meet_others_go_together_or_stay(name):
    meet, count = MEETING[name]
    rng, b = np.random.default_rng(0), Builder((1, 4, 4, 3), (1, 4, 4, 2))
    sources = (("x", 3), ("x1", 2), ("x", 3))
    parts = [b.op("conv2d", (x, filled(b, 8, 1, 1, c)), Conv2dAttrs()) for x, c in sources]
    met = meet(b, *parts)
    w = filled(b, 2, 1, 1, b.values[met].shape[-1])
    graph = b.graph(b.op("conv2d", (met, w), Conv2dAttrs()))
    channels = Channels(graph)
    free = np.unique(np.concatenate([channels.removable(part) for part in parts]))
    assert len(free) == count
    gone = rng.choice(free.astype(int), 5, replace=False)
    x = {v.name: rng.normal(size=v.shape).astype(np.float32) for v in graph.input_values}
    (found,) = evaluate(channels.without(gone), x).values()
    (expected,) = evaluate(unread(channels, gone), x).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
