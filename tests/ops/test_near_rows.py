"""Row by row, and scales: what segments and kernels take, and what they nearly do."""

from dataclasses import replace

import numpy as np
import pytest

from tests.ops.quantised import constant, f32, graph_of, node_of, s8, s16
from tinyrt.budget import Budget
from tinyrt.errors import VerifyError
from tinyrt.ir import DType, Graph, Node, QParams
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.evaluate import reference_kernel
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs, qparams, require_alike
from tinyrt.ops.shared.stored_weights import widen_weights
from tinyrt.ops.softmax import WIDENED_ZERO_POINT

ADD = OPS["add"].attrs()


def added(other, y=(1, 4, 5, 3)):
    return node_of("add", ADD, [s8(*y), other], [s8(*y)])


def joined(axis, *shapes):
    y = [*shapes[0]]
    y[axis] = sum(shape[axis] for shape in shapes)
    return node_of("concatenation", ConcatenationAttrs(axis), [s8(*s) for s in shapes], [s8(*y)])


def padded(op, size, padding="SAME", make=s8):
    """A window of two, with steps of two: SAME pads below what has an odd height."""
    attrs = Pool2dAttrs((2, 2), (2, 2), padding)
    out = -(-size // 2) if padding == "SAME" else size // 2
    return node_of(op, attrs, [make(1, size, size, 3)], [make(1, out, out, 3)])


def slid(op, padding="SAME", make=s8):
    """Windows that differ by axis: of 2 by 5 taps, in steps of 2 by 1, with 2 by 1 between taps."""
    layers = {
        "conv2d": (Conv2dAttrs, (4, 2, 5, 3), 0),
        "depthwise_conv2d": (DepthwiseConv2dAttrs, (1, 2, 5, 6), 3),
    }
    attrs, shape, axis = layers[op]
    rng = np.random.default_rng(3)
    w = constant(DType.INT8, *shape, scale=0.5, axis=None)
    w = replace(w, data=rng.integers(-127, 128, shape).astype(np.int8))
    options = attrs(stride=(2, 1), dilation=(2, 1), padding=padding)
    out = (4, 6) if padding == "SAME" else (3, 2)
    y = make(1, *out, shape[axis], scale=20.0)
    return node_of(op, options, [make(1, 7, 6, 3, zp=0 if make is s16 else 5), w], [y])


def averaged(op, zp=3, axes=(1, 2), make=s8):
    x, scales = make(1, 4, 5, 3, scale=0.1, zp=zp), {"scale": 0.05, "zp": zp and -7}
    if op == "mean":
        kept = [d for i, d in enumerate(x.shape) if i not in axes]
        return node_of(op, MeanAttrs(axes), [x], [make(*kept, **scales)])
    return node_of(
        op, Pool2dAttrs((4, 5), (1, 1), "VALID"), [x], [s8(1, 1, 1, 3, scale=0.1, zp=zp)]
    )


def bordered(paddings, zp=0, make=s8):
    shape = (1, 4, 5, 3)[-len(paddings) :]
    grown = [d + sum(pair) for d, pair in zip(shape, paddings, strict=True)]
    ports = [make(*shape, zp=zp)], [make(*grown, zp=zp)]
    return node_of("pad", PadAttrs(paddings), *ports)


NO, ONE = (0, 0), (1, 1)
ROWS = {
    "a sum": (added(s8(1, 4, 5, 3)), True),
    "a sum with a row": (added(s8(1, 1, 5, 3)), True),
    "a sum with a row of three dimensions": (added(s8(1, 5, 3)), False),
    "a sum with a pixel of three dimensions": (added(s8(1, 1, 3)), False),
    "a sum with a column": (added(s8(1, 4, 1, 3)), False),
    "a sum with constant channels": (added(constant(DType.INT8, 3)), True),
    "a sum with a constant row": (added(constant(DType.INT8, 1, 5, 3)), True),
    "a sum with constant rows": (added(constant(DType.INT8, 4, 1, 1)), False),
    "a sum of three dimensions": (added(s8(4, 5, 3), (4, 5, 3)), False),
    "a sum of two samples": (added(s8(2, 4, 5, 3), (2, 4, 5, 3)), False),
    "joined channels": (joined(3, (1, 4, 5, 3), (1, 4, 5, 2)), True),
    "joined columns": (joined(2, (1, 4, 5, 3), (1, 4, 2, 3)), True),
    "joined rows": (joined(1, (1, 4, 5, 3), (1, 2, 5, 3)), False),
    "joined channels of two samples": (joined(3, (2, 4, 5, 3), (2, 4, 5, 2)), False),
    "five dimensions joined": (joined(3, (1, 4, 5, 3, 2), (1, 4, 5, 2, 2)), False),
    "three dimensions joined": (joined(2, (1, 4, 5), (1, 4, 2)), False),
    "an average": (padded("average_pool2d", 4), True),
    "an average with padding below": (padded("average_pool2d", 5), False),
    "an average without it": (padded("average_pool2d", 5, "VALID"), True),
    "the greatest with padding below": (padded("max_pool2d", 5), True),
    "the greatest of int16": (padded("max_pool2d", 4, make=s16), True),
    "the greatest of int16 with padding below": (padded("max_pool2d", 5, make=s16), False),
    "a convolution": (slid("conv2d"), True),
    "one without padding": (slid("conv2d", "VALID"), True),
    "one of int16": (slid("conv2d", make=s16), True),
    "filters of single channels": (slid("depthwise_conv2d"), True),
    "an average of all": (averaged("average_pool2d"), True),
    "a mean of all": (averaged("mean"), True),
    "a mean of all in int16": (averaged("mean", 0, make=s16), False),
    "a mean of columns": (averaged("mean", axes=(1,)), False),
    "a mean of rows": (averaged("mean", axes=(2,)), False),
    "a mean of samples, too": (averaged("mean", axes=(0, 1, 2)), False),
    "a border": (bordered((NO, ONE, ONE, NO)), True),
    "a border of a zero point": (bordered((NO, ONE, ONE, NO), 5), True),
    "a border of int16": (bordered((NO, ONE, ONE, NO), make=s16), True),
    "a border of three dimensions": (bordered((ONE, ONE, NO)), False),
    "a border of samples": (bordered((ONE, ONE, ONE, NO)), False),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_segments_take_row_by_row(name):
    node, taken = ROWS[name]
    assert (OPS[node.op].row_op(node) is not None) is taken


@pytest.mark.parametrize("name", [n for n, (node, taken) in ROWS.items() if taken])
def test_rows_give_what_the_whole_gives(name):
    """Row by row, of inputs between their rows of padding; or by sums of rows."""
    whole, _ = ROWS[name]
    rows, rng = OPS[whole.op].row_op(whole), np.random.default_rng(0)
    arrays = [
        v.data if v.is_constant else rng.integers(-128, 128, v.shape).astype(v.dtype.numpy)
        for v in whole.inputs
    ]
    wanted = reference_kernel(whole)(*arrays)
    if rows.fold is not None:
        assert rows.fold.channels == whole.input(0).shape[3]
        sums = arrays[0].astype(np.int32).sum(axis=(0, 1, 2))
        np.testing.assert_array_equal(rows.fold.finish(sums), wanted.ravel())
        return
    images = [
        np.pad(x, ((0, 0), (w.above, w.below), (0, 0), (0, 0)), constant_values=w.fill) if w else x
        for x, w in zip(arrays, rows.windows, strict=True)
    ]
    kernel = reference_kernel(rows.on_rows(1))
    for r in range(whole.output.shape[1]):
        parts = [
            x[:, r * w.step : r * w.step + w.rows] if w else x
            for x, w in zip(images, rows.windows, strict=True)
        ]
        np.testing.assert_array_equal(kernel(*parts), wanted[:, r : r + 1])
    for x, w in zip(images, rows.windows, strict=True):
        if w and w.step:  # the last window ends where the padding does, if there is any
            left = x.shape[1] - (whole.output.shape[1] - 1) * w.step - w.rows
            assert left == 0 if w.below else 0 <= left < w.step


@pytest.mark.parametrize("name", [n for n, (node, taken) in ROWS.items() if taken])
def test_rows_of_an_op_are_what_its_shape_rule_gives(name):
    """One row of outputs, and three, of as many rows as their windows read."""
    whole, _ = ROWS[name]
    rows = OPS[whole.op].row_op(whole)
    for count in (1, 3):
        node = rows.on_rows(count)
        of_rows = (1, count, *whole.output.shape[2:])
        assert node.output.shape == (of_rows if rows.fold is None else whole.output.shape)
        for value, window, old in zip(node.inputs, rows.windows, whole.inputs, strict=True):
            height = (count - 1) * window.step + window.rows if window else None
            kept = old.shape if window is None else (1, height, *old.shape[2:])
            assert value.shape == kept


def test_scales_that_are_none_or_many_are_refused():
    for value in (replace(s8(2), q=None), s8(2, scale=(0.1, 0.2), axis=0)):
        with pytest.raises(VerifyError, match="not quantised per tensor"):
            qparams(value)


@pytest.mark.parametrize("zp", [-129, 127])
@pytest.mark.parametrize("make", [s8, s16])
@pytest.mark.parametrize("shifted", [False, True])
def test_zero_points_are_integers_of_the_type(zp, make, shifted):
    """A kernel that shifts takes int16 with one, too."""
    if zp == 127 if make is s8 else shifted:
        assert qparams(make(2, zp=zp), shifted=shifted)[1] == zp
    else:
        with pytest.raises(VerifyError, match=f"zero point {zp}"):
            qparams(make(2, zp=zp), shifted=shifted)


@pytest.mark.parametrize("q", [None, QParams((0.1, 0.2), 0, 1)])
def test_products_of_matrices_take_one_scale(q):
    ports = [s8(3, 4), replace(s8(4, 2), q=q)], [s8(3, 2)]
    node = node_of("batch_matmul", OPS["batch_matmul"].attrs(), *ports)
    with pytest.raises(VerifyError, match="not quantised per tensor" if q is None else "2 scales"):
        OPS["batch_matmul"].prepared(node)


@pytest.mark.parametrize("make", [f32, lambda n: replace(s8(n), dtype=DType.UINT8)])
def test_integer_kernels_take_int8_or_int16(make):
    require_alike(s8(2), s8(2))
    with pytest.raises(VerifyError, match="one dtype"):
        require_alike(make(2), make(2))


@pytest.mark.parametrize(
    ("q", "taken"),
    [
        (QParams((1 / 65535,), WIDENED_ZERO_POINT), True),
        (QParams((1 / 65536,), WIDENED_ZERO_POINT), True),
        (QParams((1 / 65537,), WIDENED_ZERO_POINT), False),
        (QParams((1 / 65536,), 0), False),
        (None, False),
    ],
)
def test_softmax_in_int16_answers_in_the_steps_that_its_table_has(q, taken):
    y = replace(s16(2, 4), q=q)
    node = node_of("softmax", OPS["softmax"].attrs(), [s8(2, 4)], [y])
    if taken:
        assert OPS["softmax"].prepared(node).dtype is DType.INT16
    else:
        with pytest.raises(VerifyError, match="scale and zero point are"):
            OPS["softmax"].prepared(node)


@pytest.mark.parametrize("is_output", [True, False])
def test_weights_that_are_an_output_are_widened_where_the_model_runs(is_output):
    """Who reads an output reads what a node computes; else a constant is enough."""
    stored = constant(DType.INT8, 2, 3, scale=0.5)
    graph = graph_of("dequantize", NoAttrs(), [stored], [f32(2, 3)])
    if not is_output:
        read = node_of("abs", NoAttrs(), [f32(2, 3)], [f32(2, 3)])
        node = replace(read.node, inputs=("y",), outputs=("z",))
        values = graph.values | {"z": replace(f32(2, 3), name="z")}
        graph = replace(graph, nodes=(*graph.nodes, node), values=values, outputs=("z",))
    wide, nbytes = widen_weights(graph, Budget())
    assert nbytes == (0 if is_output else 24)
    assert [n.op for n in wide.nodes] == ["dequantize" if is_output else "abs"]
    if not is_output:
        np.testing.assert_array_equal(wide.value("y").data, np.full((2, 3), 0.5))


def test_all_weights_that_are_widened_are_counted():
    stored = [constant(DType.INT8, 2, n, scale=0.5) for n in (1, 3)]
    values = {f"w{i}": replace(value, name=f"w{i}") for i, value in enumerate(stored)}
    values |= {f"y{i}": replace(f32(*v.shape), name=f"y{i}") for i, v in enumerate(stored)}
    values["z"] = replace(f32(2, 3), name="z")
    nodes = [Node("dequantize", f"y{i}", (f"w{i}",), (f"y{i}",), NoAttrs()) for i in (0, 1)]
    nodes.append(Node("add", "z", ("y0", "y1"), ("z",), AddAttrs()))
    _, nbytes = widen_weights(Graph("two", (), ("z",), values, tuple(nodes)), Budget())
    assert nbytes == 4 * 2 * (1 + 3)


def test_a_constant_without_a_scale_is_no_number():
    node = node_of("dequantize", NoAttrs(), [constant(DType.INT8, 2, scale=0.0)], [f32(2)])
    with pytest.raises(VerifyError, match="not quantised per tensor"):
        OPS["dequantize"].prepared(node)
