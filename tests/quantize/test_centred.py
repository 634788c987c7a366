"""Centring rounds all channels alike where dense layers behind it do not see what is common."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.interpreter import Model
from tinyrt.ir import DType
from tinyrt.metrics import sqnr_db
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.calibration.collect import calibrate
from tinyrt.quantize.centring import centred_pairs, with_equal_steps
from tinyrt.quantize.methods.centred import blind_to_shifts
from tinyrt.quantize.plan import make_plan
from tinyrt.quantize.ranges import Range

ROWS, CHANNELS = 6, 8


def net(
    *,
    axes=(-1,),
    keeps=True,
    swapped=False,
    activation="NONE",
    factor="row",
    clamped=False,
    reader="dense",
    second="",
    norms=1,
    more=(),
):
    """Dense layers behind ``(x - mean) * factor``, and what else reads that or the weights."""
    b, rng = Builder((1, ROWS, CHANNELS)), np.random.default_rng(0)
    w = b.constant(rng.normal(1, 1, (CHANNELS, CHANNELS)).astype(np.float32))
    answers = []
    for _ in range(norms):
        mean = b.op("mean", ("x",), MeanAttrs(axes, keeps))
        sides = (mean, "x") if swapped else ("x", mean)
        c = b.op("sub", sides, AddAttrs(activation))
        y = c
        if factor:
            shape = (1, ROWS, 1) if factor == "row" else (CHANNELS,)
            size = b.constant(rng.uniform(1, 2, shape).astype(np.float32))
            y = b.op("mul", (size, c), MulAttrs("RELU" if clamped else "NONE"))
        if reader == "answer":
            answers.append(y)
        elif reader == "dense":
            layers = [
                w,
                *(b.constant(rng.normal(1, 1, (n, CHANNELS)).astype(np.float32)) for n in more),
            ]
            dense = FullyConnectedAttrs(True)
            answers += [b.op("fully_connected", (y, weights), dense) for weights in layers]
        elif reader == "dense of all rows":
            whole = b.constant(rng.normal(1, 1, (CHANNELS, ROWS * CHANNELS)).astype(np.float32))
            answers.append(b.op("fully_connected", (y, whole), FullyConnectedAttrs()))
        else:
            answers.append(b.op(reader, (y,)))
    if second == "weights":
        answers.append(b.op("fully_connected", ("x", w), FullyConnectedAttrs(True)))
    elif second == "centred":
        answers.append(b.op("tanh", (c,)))
    elif second == "answer":
        answers.append(w)
    return b.graph(*answers)


def samples(mean=0.0):
    rng = np.random.default_rng(1)
    return rng.normal(mean, 1, size=(64, ROWS, CHANNELS)).astype(np.float32)


def weights_of(graph):
    """Weights of each dense layer, in order."""
    return [graph.value(n.inputs[1]).data for n in graph.nodes if n.op == "fully_connected"]


def has_no_mean(weights):
    return np.abs(weights.mean(axis=1)).max() < 1e-6


@pytest.mark.parametrize(
    "form",
    [{}, {"factor": ""}, {"axes": (2,)}, {"norms": 2, "more": (5, 3)}, {"second": "centred"}],
)
def test_rows_of_dense_layers_lose_their_mean_and_answers_stay(form):
    graph, x = net(**form), samples(mean=3)
    after = blind_to_shifts(graph, QuantConfig())
    assert not any(has_no_mean(w) for w in weights_of(graph))
    assert all(has_no_mean(w) for w in weights_of(after))
    exact, found = Model(graph).run(x), Model(after).run(x)
    assert all(sqnr_db(y, found[name]).min() > 100 for name, y in exact.items())


def test_layers_that_share_weights_share_them_still():
    after = blind_to_shifts(net(norms=2), QuantConfig())
    first, second = (n.inputs[1] for n in after.nodes if n.op == "fully_connected")
    assert first == second


@pytest.mark.parametrize(
    ("form", "scheme"),
    [
        ({"axes": (1,)}, Scheme.INT8),
        ({"axes": (1, 2)}, Scheme.INT8),
        ({"swapped": True}, Scheme.INT8),
        ({"activation": "RELU"}, Scheme.INT8),
        ({"factor": "channel"}, Scheme.INT8),
        ({"clamped": True}, Scheme.INT8),
        ({"second": "weights"}, Scheme.INT8),
        ({"second": "answer"}, Scheme.INT8),
        ({"reader": "tanh"}, Scheme.INT8),
        ({"reader": "dense of all rows"}, Scheme.INT8),
        ({}, Scheme.INT16X8),
    ],
    ids=[
        "over rows",
        "over both",
        "mean - x",
        "clamped",
        "a factor per channel",
        "clamped product",
        "weights read elsewhere",
        "weights that are an answer",
        "no dense layer",
        "a dense layer of all rows",
        "int16",
    ],
)
def test_weights_stay_where_the_layer_would_see_shifts(form, scheme):
    graph = net(**form)
    assert blind_to_shifts(graph, QuantConfig(scheme=scheme)) is graph


def centred(b, x):
    return b.op("sub", (x, b.op("mean", (x,), MeanAttrs((-1,), keep_dims=True))), AddAttrs())


def longer_rows(b):
    """Two rows of a norm are one of a layer."""
    w = b.constant(np.ones((3, 2 * CHANNELS), np.float32))
    return b.op("fully_connected", (centred(b, "x"), w), FullyConnectedAttrs())


def computed_weights(b):
    return b.op("fully_connected", (centred(b, "x"), b.op("tanh", ("x1",))), FullyConnectedAttrs())


def centred_bias(b):
    w = b.constant(np.ones((CHANNELS, CHANNELS), np.float32))
    return b.op("fully_connected", ("x1", w, centred(b, "x2")), FullyConnectedAttrs())


@pytest.mark.parametrize("build", [longer_rows, computed_weights, centred_bias])
def test_layers_that_do_not_read_rows_of_the_norm_stay(build):
    b = Builder((1, ROWS, CHANNELS), (CHANNELS, CHANNELS), (CHANNELS,))
    graph = b.graph(build(b))
    assert blind_to_shifts(graph, QuantConfig()) is graph


def test_pairs_are_what_is_centred_over_channels():
    assert centred_pairs(net()) == {"sub_1": "x"}
    assert centred_pairs(net(factor="channel", reader="tanh")) == {"sub_1": "x"}
    others = ({"axes": (1,)}, {"axes": (1, 2)}, {"swapped": True}, {"activation": "RELU"})
    assert not any(centred_pairs(net(**form)) for form in others)


def test_a_tensor_is_centred_by_its_own_mean():
    """Not by another's, nor by what else has a row's shape."""
    b = Builder((1, ROWS, CHANNELS))
    of_row = MeanAttrs((-1,), keep_dims=True)
    other = b.op("abs", ("x",))
    less = [b.op("mean", (source,), of_row) for source in ("x", other)]
    less.append(b.op("reduce_max", ("x",), ReduceAttrs((-1,), keep_dims=True)))
    own, *_ = results = [b.op("sub", ("x", y), AddAttrs()) for y in (*less, other)]
    assert centred_pairs(b.graph(*results)) == {own: "x"}


def test_pairs_keep_their_dimension():
    b = Builder((CHANNELS, CHANNELS))
    mean = b.op("mean", ("x",), MeanAttrs((-1,)))
    assert not centred_pairs(b.graph(b.op("sub", ("x", mean), AddAttrs())))


def steps(graph, x):
    """The width of the input's range, and of what is centred, in the plan for those samples."""
    plan = make_plan(graph, calibrate(graph, x))
    return [plan.activations[name].scales[0] * 255 for name in ("x", "sub_1")]


def test_what_is_centred_has_the_steps_of_its_source():
    graph, x = net(), samples()
    ranges = calibrate(graph, x)
    whole, centred = (ranges[name].high - ranges[name].low for name in ("x", "sub_1"))
    assert whole != pytest.approx(centred, rel=1e-3)
    assert steps(graph, x) == pytest.approx([max(whole, centred)] * 2, rel=1e-6)


def test_the_widest_of_several_norms_counts():
    shared = {("x",): Range(-1, 1), ("sub_1",): Range(-0.9, 0.9), ("sub_5",): Range(-0.1, 2.1)}

    dtypes = dict.fromkeys(("x", "sub_1", "sub_5"), DType.INT8)
    found = with_equal_steps(net(norms=2), shared, dtypes)
    assert [r.high - r.low for r in found.values()] == pytest.approx([2.2] * 3)
    assert all(
        r.low <= shared[names].low and r.high >= shared[names].high for names, r in found.items()
    )


@pytest.mark.parametrize(
    ("centred", "dtype"), [(Range(-0.8, 0.8), DType.INT8), (Range(-1, 1), DType.INT16)]
)
def test_steps_stay_where_widths_are_far_apart_or_no_int8(centred, dtype):
    shared = {("x",): Range(-1, 1.1), ("sub_1",): centred}
    assert with_equal_steps(net(), shared, {"x": DType.INT8, "sub_1": dtype}) == shared


def test_a_source_whose_parameters_are_prescribed_stays():
    shared = {("sub_1",): Range(-1, 1)}
    assert with_equal_steps(net(), shared, {"x": DType.INT8, "sub_1": DType.INT8}) == shared


def test_all_channels_are_rounded_alike():
    graph, x = net(reader="answer", factor=""), samples(mean=0.2)
    int8 = quantize_graph(graph, x, QuantConfig())
    answer = int8.value(int8.outputs[0])
    whole = np.round(np.clip(x, x.min(), x.max()) / answer.q.scale)
    found = Model(int8)(x) / answer.q.scale
    off = found - whole
    assert np.ptp(off, axis=-1).max() < 1e-3
