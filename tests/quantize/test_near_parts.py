"""One part of a condition alone is not met: found by ``tools.differing``."""

from dataclasses import replace

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel, assert_close, expected
from tests.ops.corners.recurrent import LSTM, recurrent
from tests.ops.quantised import f32, node_of, s8
from tests.passes.random_net import RandomNet as Net
from tinyrt.api import open_model
from tinyrt.ir import DType, Value
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import QuantizationWarning
from tinyrt.quantize.calibration.search import narrower
from tinyrt.quantize.compared import compares_as_stored, is_comparison
from tinyrt.quantize.imported.prequantized import _is_whole_average
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.recurrent import begins_anew
from tinyrt.quantize.scores import DEPTH, Depth, score_depths

AVERAGES = {
    "the image": (Pool2dAttrs((4, 5), (1, 1)), True),
    "with steps": (Pool2dAttrs((4, 5), (2, 2)), True),
    "a part of it": (Pool2dAttrs((4, 4), (1, 5)), False),
    "with a border": (Pool2dAttrs((4, 5), (4, 5), padding="SAME"), True),
    "a border around it": (Pool2dAttrs((4, 5), (1, 1), padding="SAME"), False),
    "clamped": (Pool2dAttrs((4, 5), (1, 1), activation="RELU"), False),
}


@pytest.mark.parametrize("name", AVERAGES)
def test_a_pool_of_the_whole_image_is_a_mean(name):
    attrs, whole = AVERAGES[name]
    node = node_of("average_pool2d", attrs, [f32(1, 4, 5, 3)], [f32(1, 1, 1, 3)])
    assert _is_whole_average(node) is whole
    other = node_of("max_pool2d", attrs, [f32(1, 4, 5, 3)], [f32(1, 1, 1, 3)])
    assert not _is_whole_average(other)


@pytest.mark.parametrize(
    ("reader", "is_output", "found"),
    [("", False, True), ("abs", False, False), ("", True, False), ("softmax", False, True)],
)
def test_scores_matter_to_a_depth_where_softmax_alone_reads_them(reader, is_output, found):
    net = Net((2, 4))
    scores = net.dense("x", 4)
    outputs = [net.softmax(scores)]
    if reader == "softmax":
        outputs.append(net.softmax(scores))
    elif reader:
        outputs.append(net.op(reader, (scores,)))
    outputs += [scores] if is_output else []
    assert (scores in score_depths(net.graph(*outputs))) is found


def test_scores_matter_to_the_greatest_depth_of_their_readers():
    """A softmax with a small factor gives shares to what lies deeper."""
    for betas in ((1.0, 0.25), (0.25, 1.0)):
        net = Net((2, 4))
        scores = net.dense("x", 4)
        answers = [net.op("softmax", (scores,), SoftmaxAttrs(beta)) for beta in betas]
        (found,) = score_depths(net.graph(*answers)).values()
        assert found == Depth(4 * DEPTH, answers=True)


@pytest.mark.parametrize("told", [(True, False), (False, True), (False, False)])
def test_all_scores_matter_where_any_of_their_shares_are_answers(told):
    net = Net((2, 4))
    scores = net.dense("x", 4)
    shares = [net.op("softmax", (scores,), SoftmaxAttrs(beta)) for beta in (1.0, 0.25)]
    ends = [y if own else net.op("abs", (y,)) for y, own in zip(shares, told, strict=True)]
    (found,) = score_depths(net.graph(*ends)).values()
    assert found.answers is any(told)


def test_comparisons_that_are_moved_are_of_floats():
    truth = Value("", DType.BOOL, (2,))
    ports = {DType.FLOAT32: f32(2), DType.INT32: Value("", DType.INT32, (2,)), DType.INT8: s8(2)}
    for dtype, x in ports.items():
        found = is_comparison(node_of("less", NoAttrs(), [x, x], [truth]))
        assert found is (dtype is DType.FLOAT32)
    assert not is_comparison(node_of("add", NoAttrs(), [f32(2), f32(2)], [f32(2)]))


@pytest.mark.parametrize(
    ("op", "dtype", "stored"),
    [
        *(("less", DType.INT16, True), ("less", DType.INT8, False)),
        *(("equal", DType.INT16, False), ("equal", DType.INT8, False)),
    ],
)
def test_what_kernels_compare_as_it_is_stored(op, dtype, stored):
    node = node_of(op, NoAttrs(), [f32(2), f32(2)], [Value("", DType.BOOL, (2,))])
    assert compares_as_stored(node, dtype) is stored


@pytest.mark.parametrize(
    ("low", "high", "count"), [(-1.0, 2.0, 3), (0.0, 2.0, 1), (-2.0, 0.0, 1), (-2.0, -1.0, 1)]
)
def test_only_ranges_on_both_sides_of_0_shrink_by_one_end(low, high, count):
    found = narrower(("x",), Range(low, high))
    alone = [r for r in found if (r.low == low) != (r.high == high) and low and high]
    assert bool(alone) is (count == 3)


@pytest.mark.parametrize(("i", "j"), [(13, 14), (13, 13), (14, 14)])
def test_an_lstm_begins_anew_where_both_states_are_constant(i, j):
    node = recurrent()[f"{LSTM}: 17 to 7"].graph.bind(0)
    inputs = list(node.inputs)
    for at in {i, j}:
        x = inputs[at]
        inputs[at] = replace(x, data=np.zeros(x.shape, x.dtype.numpy))
    assert begins_anew(replace(node, inputs=tuple(inputs))) is (i != j)


@pytest.mark.parametrize("scale", [0.1, 0.2])
def test_what_joins_two_grids_has_none_of_its_own(tmp_path, scale):
    """Where both are one, it is that; else the op stays in float, as nothing says what to take."""
    m = OnnxModel()
    parts = []
    for name, step in (("x", 0.1), ("z", scale)):
        grid = m.const(step), m.const(0, np.int8)
        stored = m.op("QuantizeLinear", m.input(1, 3, name=name), *grid)
        parts.append(m.op("DequantizeLinear", stored, *grid))
    path = m.save(tmp_path, m.op("Concat", *parts, axis=1))
    feeds = {"x": np.array([[-1, 0.5, 11]], np.float32), "z": np.array([[20, -9, 0.4]], np.float32)}
    if scale == 0.1:
        graph = open_model(path)
    else:
        with pytest.warns(QuantizationWarning, match="stay in float32"):
            graph = open_model(path)
    (join,) = [n for n in graph.bound() if n.op == "concatenation"]
    assert join.output.dtype is (DType.INT8 if scale == 0.1 else DType.FLOAT32)
    (wanted,) = expected(path, feeds)
    given = {v.name: feeds[v.name] for v in graph.input_values if v.dtype is DType.FLOAT32}
    if len(given) == 2:
        (found,) = evaluate(graph, given).values()
        assert_close(np.asarray(found, np.float32), wanted)
