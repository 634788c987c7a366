"""Random layers that take the packed kernels: channels and sizes beyond those of tests/ops."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from tests.ops.build import Built, Case, Rng, build_s8
from tests.ops.cases.windowed import activation, ints, pair
from tinyrt.ir import DType, QParams
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.window import BARE_ROWS, ROWS
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.svdf import SvdfAttrs
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs


def _attrs(rng: Rng, kind, stride):
    return kind(
        stride=stride, padding=str(rng.choice(["SAME", "VALID"])), activation=activation(rng)
    )


def pointwise(rng: Rng) -> Case:
    """Kernels of 1 x 1, now and then with a stride."""
    c_in, c_out = int(rng.integers(1, 70)), int(rng.integers(2, 21))
    stride = (1, 1) if rng.random() < 0.7 else pair(rng, 1, 2)
    shapes = ((1, *pair(rng, 1, 4), c_in), (c_out, 1, 1, c_in), (c_out,))
    return Case("conv2d", _attrs(rng, Conv2dAttrs, stride), shapes, frozenset({1, 2}))


def window(rng: Rng) -> Case:
    """Kernels up to 4 x 4 over runs of any length, with borders on all sides."""
    c_in, c_out = int(rng.choice([1, 2, 3, 4, 8])), int(rng.integers(2, 11))
    kernel = pair(rng, 1, 4)
    shapes = ((ints(rng, 1, 2, 1)[0], *pair(rng, 4, 8), c_in), (c_out, *kernel, c_in), (c_out,))
    return Case("conv2d", _attrs(rng, Conv2dAttrs, pair(rng, 1, 3)), shapes, frozenset({1, 2}))


def dense(rng: Rng) -> Case:
    """One row or several."""
    k, c_out = int(rng.integers(1, 150)), int(rng.choice([*range(2, 20), 24, 40]))
    shapes = ((int(rng.integers(1, 4)), k), (c_out, k), (c_out,))
    attrs = FullyConnectedAttrs(activation=activation(rng))
    return Case("fully_connected", attrs, shapes, frozenset({1, 2}))


def _depthwise(rng: Rng, channels: int, kernel, stride) -> Case:
    x = (ints(rng, 1, 2, 1)[0], *pair(rng, 4, 9), channels)
    attrs = _attrs(rng, DepthwiseConv2dAttrs, stride)
    shapes = (x, (1, *kernel, channels), (channels,))
    return Case("depthwise_conv2d", attrs, shapes, frozenset({1, 2}))


def depthwise(rng: Rng) -> Case:
    """Four channels at a time, any kernel."""
    return _depthwise(rng, int(rng.choice([4, 8, 12])), pair(rng, 1, 4), pair(rng, 1, 3))


def depthwise_column(rng: Rng) -> Case:
    """Windows as wide as the image, so that outputs are one below the other."""
    case = depthwise(rng)
    width, channels = case.shapes[1][2:]
    image = (*case.shapes[0][:2], width, channels)
    return replace(
        case, attrs=replace(case.attrs, padding="VALID"), shapes=(image, *case.shapes[1:])
    )


def depthwise3x3(rng: Rng) -> Case:
    """Any number of channels, strides 1 and 2."""
    return _depthwise(rng, int(rng.integers(1, 10)), (3, 3), pair(rng, 1, 2))


def depthwise_pairs(rng: Rng) -> Case:
    """High maps and wide ones whose lines go two at a time, and a last one."""
    sides = rng.permutation([int(rng.integers(3, 7)), int(rng.integers(8, 13))])
    attrs = DepthwiseConv2dAttrs(padding=str(rng.choice(["SAME", "VALID"])))
    return Case(
        "depthwise_conv2d", attrs, ((1, *map(int, sides), 2), (1, 3, 3, 2), (2,)), frozenset({1, 2})
    )


def grouped(rng: Rng) -> Case:
    """Two groups or more, or dilation, or both."""
    groups, (c_in, c_out) = int(rng.integers(1, 4)), ints(rng, 1, 6, 2)
    dilation = pair(rng, 1, 3) if groups == 1 or rng.random() < 0.5 else (1, 1)
    stride = pair(rng, 1, 2) if dilation == (1, 1) else (1, 1)
    x = (ints(rng, 1, 2, 1)[0], *pair(rng, 7, 9), groups * c_in)
    shapes = (x, (groups * c_out, *pair(rng, 1, 3), c_in), (groups * c_out,))
    attrs = replace(_attrs(rng, Conv2dAttrs, stride), dilation=dilation)
    return Case("conv2d", attrs, shapes, frozenset({1, 2}))


def long_dense(rng: Rng) -> Case:
    """Sums of more taps than two channels can share."""
    k, c_out = int(rng.integers(480, 1200)), int(rng.integers(2, 11))
    shapes = ((int(rng.integers(1, 4)), k), (c_out, k), (c_out,))
    attrs = FullyConnectedAttrs(activation=activation(rng))
    return Case("fully_connected", attrs, shapes, frozenset({1, 2}))


def long_row(rng: Rng) -> Case:
    """One row of them, in any number of blocks."""
    case = long_dense(rng)
    (_, k), *others = case.shapes
    return replace(case, shapes=((1, k), *others))


def one_channel(rng: Rng) -> Case:
    """Several filters of the only input channel, and rather large ones."""
    filters, kernel = int(rng.choice([4, 8, 12])), pair(rng, 3, 6)
    attrs = _attrs(rng, DepthwiseConv2dAttrs, pair(rng, 1, 2))
    x = (ints(rng, 1, 2, 1)[0], *pair(rng, 7, 14), 1)
    shapes = (x, (1, *kernel, filters), (filters,))
    return Case("depthwise_conv2d", attrs, shapes, frozenset({1, 2}))


def depthwise_dilated(rng: Rng) -> Case:
    """Four channels at a time, with gaps between taps."""
    case = _depthwise(rng, int(rng.choice([4, 8])), pair(rng, 1, 3), (1, 1))
    (n, *_, channels), *others = case.shapes
    attrs = replace(case.attrs, dilation=pair(rng, 1, 3))
    return replace(case, attrs=attrs, shapes=((n, *pair(rng, 7, 9), channels), *others))


def depthwise_filters(rng: Rng) -> Case:
    """Several filters to an input channel."""
    c_in, filters = ((1, 4), (1, 8), (2, 2), (2, 6), (4, 3))[int(rng.integers(5))]
    case = _depthwise(rng, c_in * filters, pair(rng, 1, 4), pair(rng, 1, 2))
    x, *others = case.shapes
    return replace(case, shapes=((*x[:3], c_in), *others))


def add(rng: Rng) -> Case:
    """Tensors of one shape."""
    shape = (1, *pair(rng, 1, 5), int(rng.integers(1, 9)))
    return Case("add", AddAttrs(activation=activation(rng)), (shape, shape))


def sub(rng: Rng) -> Case:
    """Tensors of one shape."""
    case = add(rng)
    return Case("sub", case.attrs, case.shapes)


def _rows_of_pairs(rng: Rng, op: str, attrs: object) -> Case:
    """Either input may repeat: along rows, in rows, or both."""
    shape = (int(rng.integers(1, 4)), *pair(rng, 1, 5), int(rng.integers(1, 14)))
    other = tuple(n if rng.random() < 0.6 else 1 for n in shape)
    shapes = (shape, other) if rng.random() < 0.5 else (other, shape)
    return Case(op, attrs, shapes)


def add_rows(rng: Rng) -> Case:
    """Sums where an input repeats."""
    op, attrs = str(rng.choice(["add", "sub"])), AddAttrs(activation=activation(rng))
    return _rows_of_pairs(rng, op, attrs)


def mul(rng: Rng) -> Case:
    """Products by fours, what is left of them, and of one element by many."""
    return _rows_of_pairs(rng, "mul", MulAttrs(activation=activation(rng)))


def softmax(rng: Rng) -> Case:
    """Rows of fewer exponentials than the kernel keeps, and of more."""
    shape = (int(rng.integers(1, 10)), int(rng.integers(1, 26)))
    return Case("softmax", SoftmaxAttrs(float(rng.choice([0.5, 1.0, 2.0]))), (shape,))


def max_pool2d(rng: Rng) -> Case:
    """Four channels at a time on DSP cores, and what is left of them."""
    shape = (1, *pair(rng, 2, 6), int(rng.integers(1, 11)))
    attrs = Pool2dAttrs(pair(rng, 1, 2), pair(rng, 1, 2), "SAME", activation(rng))
    return Case("max_pool2d", attrs, (shape,))


def average_pool2d(rng: Rng) -> Case:
    """Enough taps for four channels at a time, some of them over; windows up to the whole input."""
    shape = (1, *pair(rng, 17, 20), int(rng.integers(4, 12)))
    kernel = (17, 17) if rng.random() < 0.2 else (int(rng.integers(3, 5)), int(rng.integers(3, 5)))
    attrs = Pool2dAttrs(kernel, (1, 1), "SAME", activation(rng))
    return Case("average_pool2d", attrs, (shape,))


def lstm(rng: Rng) -> Case:
    """Units and inputs around what is computed at once; any order of time; now and then a clip."""
    n, t, k, units = (int(rng.integers(1, most)) for most in (3, 4, 70, 36))
    time_major = bool(rng.integers(2))
    clip = float(np.float32(rng.uniform(0.1, 3))) if rng.random() < 0.3 else 0.0
    x = (t, n, k) if time_major else (n, t, k)
    weights = ((units, k),) * 4 + ((units, units),) * 4 + ((units,),) * 4
    attrs = LstmAttrs(clip, time_major)
    shapes = (x, *weights, (n, units), (n, units))
    return Case("unidirectional_sequence_lstm", attrs, shapes, frozenset(range(1, 13)))


def narrow_lstm(case: Case, rng: Rng) -> Built:
    """An LSTM whose weights four bits hold; every other one has no -8."""
    built = build_s8(case, rng)
    least = int(rng.integers(-8, -6))
    narrow = dict(built.graph.values)
    for value in built.graph.bind(0).inputs[1:9]:
        data = np.maximum(np.asarray(value.data) >> 4, least)
        narrow[value.name] = replace(value, data=data)
    return replace(built, graph=replace(built.graph, values=narrow))


def svdf(rng: Rng) -> Case:
    """Filters and memories around what is computed at once."""
    n, k, units, rank, memory = (int(rng.integers(1, most)) for most in (3, 70, 20, 4, 36))
    filters = units * rank
    shapes = ((n, k), (filters, k), (filters, memory), (units,), (n, filters * memory))
    return Case("svdf", SvdfAttrs(rank), shapes, constant=frozenset({1, 2, 3}))


PACKED_CASES = {
    case.__name__: case
    for case in (
        *(pointwise, window, dense, depthwise, depthwise3x3, grouped, long_dense),
        *(depthwise_dilated, depthwise_filters, add, sub, add_rows, mul),
        *(max_pool2d, average_pool2d, softmax),
        *(lstm, svdf, long_row, one_channel, depthwise_column),
    )
}

INT4_CASES = {
    case.__name__: case
    for case in (
        *(pointwise, window, dense, depthwise, depthwise3x3),
        *(grouped, depthwise_dilated, depthwise_filters),
    )
}
"""Those whose weights are packed two to a byte where they have four bits."""


def window_rows(rng: Rng) -> Case:
    """A few rows with those of padding, of any width."""
    (high, wide), stride = pair(rng, 1, 4), pair(rng, 1, 3)
    if (high, wide) == (1, 1):
        stride = (1, 2)  # otherwise it were a dense layer
    padding = str(rng.choice([ROWS, BARE_ROWS]))
    c_in, c_out = int(rng.choice([1, 2, 3, 4, 8])), int(rng.integers(2, 11))
    width = int(rng.integers(wide if padding == BARE_ROWS else 1, 12))
    rows = high + stride[0] * int(rng.integers(0, 3))
    shapes = ((1, rows, width, c_in), (c_out, high, wide, c_in), (c_out,))
    attrs = Conv2dAttrs(stride, padding, activation=activation(rng))
    return Case("conv2d", attrs, shapes, frozenset({1, 2}))


def sparse_window_rows(rng: Rng) -> Case:
    """The same, with many taps."""
    case = window_rows(rng)
    (n, rows, width, _), (_, *kernel, _), _ = case.shapes
    c_in, c_out = int(rng.choice([16, 20, 32])), int(rng.choice([6, 8, 16]))
    return replace(case, shapes=((n, rows, width, c_in), (c_out, *kernel, c_in), (c_out,)))


int4_weights = partial(build_s8, weights=DType.INT4)
"""Builds a case with weights of four bits."""


def relu_outputs(case: Case, rng: Rng) -> Built:
    """The case with the output zero point -128, and a scale somewhere around its own."""
    built = build_s8(case, rng)
    out = built.graph.value("out")
    scale = float(np.float32(out.q.scale * np.exp(rng.uniform(-1, 2))))
    values = built.graph.values | {"out": replace(out, q=QParams((scale,), -128))}
    return replace(built, graph=replace(built.graph, values=values))


RELU_CASES = {case.__name__: case for case in (pointwise, window, dense, depthwise3x3)}
"""Those that need no sign with ``relu_outputs``, nearly all of them."""


def sparse_dense(rng: Rng) -> Case:
    """Dense layers that every sparse kernel takes: of one row, or of a few."""
    k, c_out = int(rng.choice([16, 48, 64, 112])), int(rng.choice([*range(4, 20), 24, 40]))
    shapes = ((int(rng.choice([1, 1, 2, 5])), k), (c_out, k), (c_out,))
    return Case("fully_connected", FullyConnectedAttrs(), shapes, frozenset({1, 2}))


def sparse_window(rng: Rng) -> Case:
    """Convolutions with many taps, among them pointwise ones."""
    c_in, c_out = int(rng.choice([16, 20, 32])), int(rng.choice([6, 8, 16]))
    kernel = (1, 1) if rng.random() < 0.5 else (3, 3)
    shapes = ((1, *pair(rng, 3, 5), c_in), (c_out, *kernel, c_in), (c_out,))
    return Case("conv2d", _attrs(rng, Conv2dAttrs, (1, 1)), shapes, frozenset({1, 2}))


SPARSE_CASES = {case.__name__: case for case in (sparse_dense, sparse_window)}
"""Those that are worth being stored without their zeros, with ``sparse_weights``."""


def sparse_odd_row(rng: Rng) -> Case:
    """Dense layers of one row that ends within four taps, for ``sparse_weights``."""
    k, c_out = int(rng.choice([114, 201, 250])), int(rng.choice([16, 24]))
    shapes = ((1, k), (c_out, k), (c_out,))
    return Case("fully_connected", FullyConnectedAttrs(), shapes, frozenset({1, 2}))


def sparse_weights(case: Case, rng: Rng) -> Built:
    """The case with weights in blocks that are mostly zero, or with one or two of every four."""
    built = build_s8(case, rng)
    w = built.graph.value("in1")
    flat = np.asarray(w.data).reshape(w.shape[0], -1)
    c_out, taps = flat.shape
    pattern = 0 if taps % 4 else int(rng.integers(0, 3))
    if pattern == 0:
        blocks = rng.random((-(-c_out // 8), -(-taps // 4))) < rng.choice([0.1, 0.4])
        kept = np.kron(blocks, np.ones((8, 4), bool))[:c_out, :taps]
    else:
        order = rng.permuted(np.tile(np.arange(4), (flat.size // 4, 1)), axis=1)
        kept = (order < pattern).reshape(flat.shape)
    values = dict(built.graph.values)
    values["in1"] = replace(w, data=(flat * kept).astype(np.int8).reshape(w.shape))
    return replace(built, graph=replace(built.graph, values=values))


def vector_sparse_dense(rng: Rng) -> Case:
    """Dense layers in whole blocks of four channels by sixteen taps: of one row, or of a few."""
    k, c_out = 16 * int(rng.choice([1, 2, 3, 5, 9, 14, 24])), 4 * int(rng.integers(1, 7))
    attrs = FullyConnectedAttrs(activation=activation(rng))
    shapes = ((int(rng.choice([1, 1, 2, 5])), k), (c_out, k), (c_out,))
    return Case("fully_connected", attrs, shapes, frozenset({1, 2}))


def vector_sparse_window(rng: Rng) -> Case:
    """Convolutions in such blocks, among them pointwise ones, and ones with strides."""
    c_in, c_out = int(rng.choice([16, 32, 64])), 4 * int(rng.integers(1, 5))
    kernel = (1, 1) if rng.random() < 0.4 else (3, 3) if rng.random() < 0.5 else pair(rng, 1, 4)
    shapes = ((1, *pair(rng, 4, 8), c_in), (c_out, *kernel, c_in), (c_out,))
    return Case("conv2d", _attrs(rng, Conv2dAttrs, pair(rng, 1, 2)), shapes, frozenset({1, 2}))


def vector_sparse_window_rows(rng: Rng) -> Case:
    """A few rows with those of padding, in such blocks."""
    case = window_rows(rng)
    (n, rows, width, _), (_, *kernel, _), _ = case.shapes
    c_in, c_out = int(rng.choice([16, 32])), 4 * int(rng.integers(1, 5))
    return replace(case, shapes=((n, rows, width, c_in), (c_out, *kernel, c_in), (c_out,)))


VECTOR_SPARSE_CASES = {
    case.__name__: case
    for case in (vector_sparse_dense, vector_sparse_window, vector_sparse_window_rows)
}
"""Those that kernels with vectors can store without their zeros, with ``vector_sparse_weights``."""


def vector_sparse_rows(rng: Rng) -> Case:
    """Rows of so many taps that leaving out zeros pays for its code."""
    shapes = ((3, 512), (16, 512), (16,))
    attrs = FullyConnectedAttrs(activation=activation(rng))
    return Case("fully_connected", attrs, shapes, frozenset({1, 2}))


def vector_sparse_weights(
    case: Case, rng: Rng, shares: tuple[float, ...] = (0.2, 0.5, 0.9)
) -> Built:
    """The case with weights of which many blocks are zero, in some channels all of them.

    Args:
        case: of ``VECTOR_SPARSE_CASES``.
        rng: what is drawn comes from it.
        shares: of blocks that are kept, one of these.

    """
    built = build_s8(case, rng)
    w = built.graph.value("in1")
    flat = np.asarray(w.data).reshape(w.shape[0], -1)
    blocks = rng.random((flat.shape[0] // 4, flat.shape[1] // 16)) < rng.choice(shares)
    kept = np.kron(blocks, np.ones((4, 16), bool))
    values = dict(built.graph.values)
    values["in1"] = replace(w, data=(flat * kept).astype(np.int8).reshape(w.shape))
    return replace(built, graph=replace(built.graph, values=values))
