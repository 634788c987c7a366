"""Pruning and clustering of weights: how many, which, when, and that int8 keeps it."""

from dataclasses import replace

import numpy as np
import pytest

from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import DataError
from tinyrt.export import export_graph
from tinyrt.memory import schedule as scheduled
from tinyrt.train import Adam, trace
from tinyrt.train.cluster import Clusterer, assign, compressed_bytes
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.nn import (
    BatchNorm,
    Conv2d,
    DepthwiseConv2d,
    GlobalAvgPool2d,
    Linear,
    Module,
    Parameter,
    ReLU,
    Sequential,
)
from tinyrt.train.prune import (
    VECTOR_SHAPE,
    BlockPruner,
    Pruner,
    Schedule,
    Scope,
    StructuredPruner,
    n_of_m,
    prunable,
    sparsity_of,
)
from tinyrt.train.qat import QatModel


def problem(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 96)
    x = (rng.normal(size=(96, 6, 6, 2)) + y[:, None, None, None]).astype(np.float32)
    net = Sequential(
        stem=Conv2d(2, 8, 3, rng=rng, bias=False),
        norm=BatchNorm(8),
        relu=ReLU(),
        depthwise=DepthwiseConv2d(8, 3, rng=rng),
        pointwise=Conv2d(8, 8, 1, rng=rng),
        pool=GlobalAvgPool2d(),
        classifier=Linear(8, 3, rng=rng),
    )
    return net, x, y


def train(net, x, y, on_step, epochs=4):
    optimizer = Adam(net.parameters(), 1e-2)
    config = FitConfig(epochs, batch=32)
    return fit(net, optimizer, x, y, config, rng=np.random.default_rng(0), on_step=on_step)


def test_sparsity_rises_fast_and_then_slowly():
    schedule = Schedule(0.8, initial=0.2, begin=0.1, end=0.6)
    found = [schedule.sparsity(step, 100) for step in (0, 9, 10, 35, 60, 100)]
    assert found == pytest.approx([0, 0, 0.2, 0.8 - 0.6 / 8, 0.8, 0.8])
    assert schedule.sparsity(0, 0) == 0
    evenly = replace(schedule, power=1.0)
    assert [evenly.sparsity(step, 100) for step in (10, 35, 60)] == pytest.approx([0.2, 0.5, 0.8])
    with pytest.raises(DataError, match="0 <= initial"):
        Schedule(1.2)


@pytest.mark.parametrize("scope", Scope)
def test_magnitude_pruning_reaches_its_share_and_still_learns(scope):
    net, x, y = problem()
    net.layers["pointwise"].weight.data *= 0.5
    history = train(net, x, y, Pruner(net, Schedule(0.6), scope=scope), epochs=8)
    assert history[-1].loss < 0.7 * history[0].loss
    assert sparsity_of(net) == pytest.approx(0.6, abs=0.02)
    shares = {n: float((w.data == 0).mean()) for n, w in prunable(net).items()}
    assert set(shares) == {"stem.weight", "pointwise.weight", "classifier.weight"}
    even = max(shares.values()) - min(shares.values()) < 0.05
    assert even == (scope is Scope.LAYER)
    assert (net.layers["depthwise"].weight.data != 0).all()


def test_n_of_m_keeps_the_greatest_of_every_group():
    weights = np.array([[1.0, -4, 2, 3, 0, 0, 0, -1]])
    assert n_of_m(weights, 2, 4).astype(int).tolist() == [[0, 1, 0, 1, 1, 0, 0, 1]]
    net, x, y = problem()
    train(net, x, y, StructuredPruner(net, 1, 4, begin=0.3))
    for name in ("pointwise", "classifier"):
        groups = net.layers[name].weight.data.reshape(-1, 4)
        assert ((groups != 0).sum(axis=1) == 1).all()
    assert (net.layers["stem"].weight.data != 0).all()  # two input channels make no group of 4
    for n in (0, 4):
        with pytest.raises(DataError, match="1 to m - 1"):
            StructuredPruner(net, n, 4)
    with pytest.raises(DataError, match="groups of 3"):
        StructuredPruner(net, 1, 3)


def test_of_equal_weights_the_first_are_kept():
    assert n_of_m(np.array([[2.0, -2, 2, 2]]), 2, 4).tolist() == [[True, True, False, False]]


@pytest.mark.parametrize(("step", "zeros"), [(4, 0), (5, 0.75), (6, 0.75)])
def test_groups_are_pruned_from_their_begin_on(step, zeros):
    net = Sequential(Linear(8, 4, rng=np.random.default_rng(0)))
    StructuredPruner(net, 1, 4, begin=0.5)(step, 10)
    assert sparsity_of(net) == zeros


def test_weights_of_one_dimension_stay():
    class Scaled(Module):
        def __init__(self):
            self.weight = Parameter(np.zeros(3, np.float32))

    assert prunable(Scaled()) == {}
    assert sparsity_of(Scaled()) == 0


def test_zeros_stay_zeros_in_int8():
    net, x, y = problem()
    train(net, x, y, None, epochs=2)
    source = trace(net, x.shape[1:])
    model = QatModel(optimize(source), x[:32], source=source)
    train(model, x, y, StructuredPruner(model, 2, 4), epochs=2)
    graph = model.deployed()
    stored = {
        node.name: graph.value(node.inputs[1]).data for node in graph.nodes if len(node.inputs) > 1
    }
    for name in ("pointwise", "classifier"):
        groups = stored[name].reshape(-1, 4)
        assert ((groups != 0).sum(axis=1) <= 2).all()


def test_clusters_share_values_and_leave_zeros_alone():
    net, x, y = problem()
    train(net, x, y, Pruner(net, Schedule(0.5)), epochs=2)
    plain = write_tflite(optimize(trace(net, x.shape[1:])))
    zeros = {n: w.data == 0 for n, w in prunable(net).items()}
    clusterer = Clusterer(net, 8)
    before = {n: w.data.copy() for n, w in prunable(net).items()}
    history = train(net, x, y, clusterer, epochs=3)
    assert history[-1].loss < history[0].loss
    for name, weight in prunable(net).items():
        assert len(np.unique(weight.data)) <= 8
        assert np.array_equal(weight.data == 0, zeros[name])
        assert np.any(weight.data != before[name])
    clustered = write_tflite(optimize(trace(net, x.shape[1:])))
    assert compressed_bytes(clustered) < compressed_bytes(plain)
    Clusterer(net, 2)
    assert all(len(np.unique(weight.data)) <= 2 for weight in prunable(net).values())
    with pytest.raises(DataError, match="2 or more"):
        Clusterer(net, 1)


def test_clusters_are_the_nearest_centres():
    weights = np.array([-1.0, -0.98, 0.0, 0.5, 0.52, 2.0])
    members = assign(weights, 4)
    assert members[2] == 0
    assert members[0] == members[1] != members[3] == members[4] != members[5]
    assert assign(np.zeros(3), 4).tolist() == [0, 0, 0]


def test_centres_of_clusters_move_twenty_times_at_most():
    weights = np.random.default_rng(0).normal(size=5000)
    centres = np.linspace(weights.min(), weights.max(), 16)
    for _ in range(20):
        nearest = np.abs(weights[:, None] - centres).argmin(axis=1)
        centres = np.array([weights[nearest == i].mean() for i in range(16)])
    expected = 1 + np.abs(weights[:, None] - centres).argmin(axis=1)
    np.testing.assert_array_equal(assign(weights, 16), expected)


@pytest.mark.parametrize(
    ("core", "shape", "kernel"),
    [
        ("cortex-m4", (8, 4), "tinyrt_dense_sparse_s8"),
        ("cortex-m55", VECTOR_SHAPE, "tinyrt_conv2d_sparse_s8"),
    ],
)
def test_pruned_blocks_are_left_out_of_the_exported_code(tmp_path, core, shape, kernel):
    rng = np.random.default_rng(1)
    _, x, y = problem()
    net = Sequential(
        stem=Conv2d(2, 64, 3, rng=rng),
        relu=ReLU(),
        pointwise=Conv2d(64, 64, 1, rng=rng),
        relu2=ReLU(),
        pool=GlobalAvgPool2d(),
        classifier=Linear(64, 3, rng=rng),
    )
    train(net, x, y, BlockPruner(net, Schedule(0.75), shape=shape))
    channels, taps = shape
    w = net.layers["pointwise"].weight.data
    kept = w.reshape(64 // channels, channels, 64 // taps, taps) != 0
    shares = kept.mean(axis=(1, 3))
    assert set(np.unique(shares)) == {0.0, 1.0}
    assert shares.mean() == pytest.approx(0.25, abs=0.05)
    # Some channels of the stem lose all their readers, and would go as a whole.
    graph = optimize(trace(net, (6, 6, 2), name="pruned"), skip=("cut_channels",))
    model = QatModel(graph, x)
    project = export_graph(scheduled(model.deployed()), tmp_path / "project", core=core)
    (layer,) = project.sparse
    assert layer.zeros == pytest.approx(0.75, abs=0.05)
    assert str(layer.form) == "blocks"
    assert kernel in project.kernels


def test_layers_without_whole_blocks_are_no_use():
    net = Sequential(stem=Conv2d(2, 64, 3, rng=np.random.default_rng(1)))
    with pytest.raises(DataError, match="blocks of 8 output and 3 input"):
        BlockPruner(net, Schedule(0.5), shape=(8, 3))


def blocks_left(*layers, share):
    """Which blocks of some layers, 8 by 4 each, are left where so many go."""
    rng = np.random.default_rng(0)
    net = Sequential(
        **{f"l{i}": Linear(w.shape[1], w.shape[0], rng=rng) for i, w in enumerate(layers)}
    )
    for i, w in enumerate(layers):
        net.layers[f"l{i}"].weight.data = w.astype(np.float32)
    BlockPruner(net, Schedule(share))(1, 1)
    weights = [w.data for w in prunable(net).values()]
    return [(w.reshape(len(w) // 8, 8, -1, 4) != 0).any(axis=(1, 3)).tolist() for w in weights]


def test_blocks_count_as_much_as_they_do_in_their_layer():
    """One layer is a thousandth of the other; of both, the lesser half goes."""
    blocks = np.kron([[1, 4], [3, 2]], np.ones((8, 4)))
    left = [[False, True], [True, False]]
    assert blocks_left(blocks, blocks * 1e-3, share=0.5) == [left, left]


def test_a_layer_of_zeros_goes_first():
    blocks = np.kron([[1, 4], [3, 2]], np.ones((8, 4)))
    assert blocks_left(blocks * 0, blocks, share=0.5) == [[[False] * 2] * 2, [[True] * 2] * 2]
    assert blocks_left(blocks, blocks * 0, share=0.5) == [[[True] * 2] * 2, [[False] * 2] * 2]


def test_a_block_counts_by_its_squares():
    """A block of one great weight against one of many small ones."""
    great, small = np.zeros((8, 4)), np.full((8, 4), 0.1)
    great[3, 2] = 1
    assert blocks_left(np.hstack([great, small]), share=0.5) == [[[True, False]]]
