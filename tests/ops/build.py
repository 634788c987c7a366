"""From a case (op, attributes, shapes) to a graph of that one op, in float or in integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ops.stateful import inputs_of
from tinyrt.floatmath.function import no_gradient
from tinyrt.ir import DType, Graph, Node, QParams, Shape, Value
from tinyrt.ops import OPS
from tinyrt.ops.comparison import ACCEPTED, BY_STORED_VALUE
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.batch import PICKING
from tinyrt.ops.shared.spec import Form, Quant, limits_of

Rng = np.random.Generator
Arrays = list[NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """One op with the shapes of its inputs.

    Attributes:
        op: the op's name.
        attrs: its attributes.
        shapes: of the inputs.
        constant: which inputs the model holds.
        input_dtype: of the first input in int8 graphs: float32 for quantize.
        input_dtypes: of the first inputs in float graphs, where not float32.

    """

    op: str
    attrs: Any
    shapes: tuple[Shape, ...]
    constant: frozenset[int] = field(default=frozenset())
    input_dtype: DType = DType.INT8
    input_dtypes: tuple[DType, ...] = ()


@dataclass(frozen=True)
class Built:
    """A graph of one op, and data for those inputs that are not constant."""

    graph: Graph
    feeds: dict[str, NDArray[Any]]


ROOTS = ("log", "rsqrt", "sqrt")
"""Ops that are defined for positive inputs."""


def in_domain(op: str, inputs: Arrays) -> Arrays:
    """Float inputs, moved to where the op is defined and smooth."""
    if op in ROOTS:
        return [np.abs(inputs[0]) + inputs[0].dtype.type(0.5)]
    if op == "pow":
        return [np.abs(inputs[0]) + inputs[0].dtype.type(0.5), inputs[1]]
    if op in ("div", "floor_div", "floor_mod"):
        return [inputs[0], np.copysign(np.abs(inputs[1]) + inputs[1].dtype.type(0.5), inputs[1])]
    if op == "detection_postprocess":
        return [*inputs[:2], np.abs(inputs[2]) + inputs[2].dtype.type(0.5)]  # anchors have a size
    if op in ("softmax", "log_softmax"):
        return [_with_low_rows(inputs[0])]
    if op == "batch_norm":
        return [*inputs[:4], np.abs(inputs[4]) + inputs[4].dtype.type(0.5)]  # a variance
    return inputs


def _with_low_rows(x: NDArray[Any]) -> NDArray[Any]:
    """The array with every other row far below zero, where exp alone would vanish."""
    rows = x.reshape(-1, x.shape[-1]).copy()
    rows[1::2] -= 500
    return rows.reshape(x.shape)


def build_f32(case: Case, rng: Rng) -> Built:
    """The case in float32, on normally distributed data; or on plain integers."""
    if case.op.startswith("signal_"):
        from tests.ops.cases.signal import data_of

        return single_op(case, _plain(case, arrays := data_of(case, rng)), [], arrays)
    arrays = in_domain(case.op, [rng.normal(size=s).astype(np.float32) for s in case.shapes])
    for i, dtype in enumerate(case.input_dtypes):
        small = arrays[i] > 0 if dtype is DType.BOOL else np.rint(3 * arrays[i])
        arrays[i] = small.astype(dtype.numpy)
    if case.op in PICKING:
        arrays[-1] = _indices(case, rng)
    return single_op(case, _plain(case, arrays), [], arrays)


def differentiable_ops() -> list[str]:
    """Ops that a gradient passes."""
    return sorted(name for name, spec in OPS.items() if spec.vjp not in (None, no_gradient))


def real_inputs(case: Case, rng: Rng) -> Arrays:
    """Float64 where the op may have a gradient, truth values and places elsewhere."""
    arrays = in_domain(case.op, [rng.normal(size=s) for s in case.shapes])
    for i, dtype in enumerate(case.input_dtypes):
        arrays[i] = arrays[i] > 0 if dtype is DType.BOOL else arrays[i]
    return [*arrays[:-1], _indices(case, rng)] if case.op in PICKING else arrays


def _plain(case: Case, arrays: Arrays) -> list[Value]:
    """The inputs, without scales."""
    return [
        Value.constant(f"in{i}", a)
        if i in case.constant
        else Value(f"in{i}", DType.of(a.dtype), a.shape)
        for i, a in enumerate(arrays)
    ]


def build_s8(case: Case, rng: Rng, weights: DType = DType.INT8) -> Built:
    """The case in int8: random parameters, an output range that fits the data."""
    return _build_integer(case, rng, DType.INT8, weights)


def build_s16(case: Case, rng: Rng) -> Built:
    """The case on int16 activations; quantize also goes from and to int8."""
    if case.op == "quantize":
        attrs = QuantizeAttrs(DType.INT16)
        if case.input_dtype is DType.INT8:
            attrs = QuantizeAttrs(DType.INT8 if rng.random() < 0.5 else DType.INT16)
        case = replace(case, attrs=attrs)
    return _build_integer(case, rng, DType.INT16, DType.INT8)


def _build_integer(case: Case, rng: Rng, dtype: DType, weights: DType) -> Built:
    quant = OPS[case.op].quant
    if quant is Quant.STATEFUL:
        values, arrays, outputs = inputs_of(case, rng, dtype)
        return single_op(case, values, outputs, arrays)
    if quant is Quant.WEIGHTED:
        values, arrays = _weighted_inputs(case, rng, dtype, weights)
    else:
        stored = dtype is DType.INT16 and case.op in BY_STORED_VALUE
        shared = (
            quant is Quant.SAME_AS_INPUT or stored or (case.op in ACCEPTED and rng.random() < 0.3)
        )
        values, arrays = _activation_inputs(case, rng, dtype, shared)
    return single_op(case, values, [_output_q(case, values, arrays, rng, dtype)], arrays)


def _indices(case: Case, rng: Rng) -> NDArray[np.int32]:
    """Of parts of the first input: all of them lie in it, since LiteRT refuses others."""
    if case.op == "slice_at":
        free = np.subtract(case.shapes[0], case.attrs.size)
        return rng.integers(0, free + 1).astype(np.int32)
    if case.op == "dynamic_update_slice":
        free = np.subtract(*case.shapes[:2])
        return rng.integers(0, free + 1).astype(np.int32)
    if case.op == "gather_nd":
        sizes = np.asarray(case.shapes[0][: case.shapes[1][-1]])
    else:
        sizes = np.asarray(case.shapes[0][case.attrs.batch_dims])
    first = -sizes if case.attrs.from_end else 0 * sizes
    return rng.integers(first, sizes, case.shapes[1]).astype(np.int32)


def single_op(
    case: Case, values: list[Value], qs: Sequence[QParams | None], arrays: Arrays
) -> Built:
    """A graph of one op on these inputs; the outputs' quantisation follows ``qs``."""
    types = OPS[case.op].infer(case.attrs, [v.type for v in values])
    outputs = [
        Value(f"out{i or ''}", t.dtype, t.shape, q)
        for i, (t, q) in enumerate(zip_longest(types, qs))
    ]
    names = tuple(v.name for v in values)
    free = tuple(v.name for v in values if not v.is_constant)
    node = Node(case.op, "op", names, tuple(v.name for v in outputs), case.attrs)
    graph = Graph("case", free, node.outputs, {v.name: v for v in (*values, *outputs)}, (node,))
    data = dict(zip(names, arrays, strict=True))
    return Built(graph, {name: data[name] for name in free})


def _scale(rng: Rng, low: float, high: float) -> float:
    """A log-uniform float32."""
    return float(np.float32(np.exp(rng.uniform(np.log(low), np.log(high)))))


def _zero_point(rng: Rng, dtype: DType) -> int:
    if dtype is not DType.INT8:
        return 0
    return int(rng.choice([-128, 127, 0, rng.integers(-128, 128)]))


def _raw(rng: Rng, shape: Shape, dtype: DType, symmetric: bool = False) -> NDArray[Any]:
    """Uniform values; one array in five holds extremes only."""
    least, most = limits_of(dtype)
    least = -most if symmetric else least
    if rng.random() < 0.2:
        return rng.choice(np.array([least, most], dtype.numpy), size=shape)
    return rng.integers(least, most + 1, size=shape).astype(dtype.numpy)


def _weighted_inputs(
    case: Case, rng: Rng, dtype: DType, weights: DType
) -> tuple[list[Value], Arrays]:
    axis = OPS[case.op].weight_axis
    channels = case.shapes[1][axis]
    x = _raw(rng, case.shapes[0], dtype)
    w = _raw(rng, case.shapes[1], weights, symmetric=weights is DType.INT8)
    step = 1.0 if dtype is DType.INT8 else 1 / 256
    x_q = QParams((_scale(rng, 1e-3, 0.5) * step,), _zero_point(rng, dtype))
    # TFLM has int4 dense layers with one scale only.
    per_channel = rng.random() < 0.6 and (weights, case.op) != (DType.INT4, "fully_connected")
    w_scales = tuple(_scale(rng, 1e-3, 0.05) for _ in range(channels if per_channel else 1))
    values = [
        Value("in0", dtype, x.shape, x_q),
        Value.constant("in1", w, QParams(w_scales, 0, axis if per_channel else None), weights),
    ]
    arrays: Arrays = [x, w]
    if len(case.shapes) == 3:
        most, bias_dtype = (20_000, np.int32) if dtype is DType.INT8 else (5_000_000, np.int64)
        bias = rng.integers(-most, most, size=channels).astype(bias_dtype)
        b_scales = tuple(float(np.float32(x_q.scale) * np.float32(s)) for s in w_scales)
        values.append(Value.constant("in2", bias, QParams(b_scales, 0, 0 if per_channel else None)))
        arrays.append(bias)
    return values, arrays


def _activation_inputs(
    case: Case, rng: Rng, dtype: DType, shared: bool
) -> tuple[list[Value], Arrays]:
    step = 1.0 if dtype is DType.INT8 else 1 / 256
    if case.op == "quantize" and case.attrs.dtype is DType.INT16 and rng.random() < 0.5:
        dtype = DType.INT8  # then it widens
    values: list[Value] = []
    arrays: Arrays = []
    for i, shape in enumerate(case.shapes):
        if case.input_dtypes[i : i + 1] == (DType.BOOL,):
            arrays.append(rng.random(shape) < 0.5)
            values.append(Value(f"in{i}", DType.BOOL, shape))
            continue
        if case.input_dtype is DType.FLOAT32:
            arrays.append((rng.normal(size=shape) * 10).astype(np.float32))
            values.append(Value(f"in{i}", DType.FLOAT32, shape))
            continue
        if case.op in PICKING and i == len(case.shapes) - 1:
            arrays.append(_indices(case, rng))
            values.append(Value(f"in{i}", DType.INT32, shape))
            continue
        q = QParams((_scale(rng, 5e-3, 0.2) * step,), _zero_point(rng, dtype))
        known = [v.q for v in values if v.q is not None]
        q = known[0] if shared and known else q
        # The second operand of a product beside int16 may be int8.
        narrow = (
            case.op == "batch_matmul" and i == 1 and dtype is DType.INT16 and rng.random() < 0.5
        )
        kind = DType.INT8 if narrow else dtype
        data = _raw(rng, shape, kind)
        data = np.maximum(data, data.dtype.type(q.zero_point)) if case.op in ROOTS else data
        if case.op == "div" and i == 1:
            data = np.where(data == q.zero_point, np.int8(1 if q.zero_point < 1 else -1), data)
        constant = i in case.constant
        values.append(Value(f"in{i}", kind, shape, q, data if constant else None))
        arrays.append(data)
    return values, arrays


def _output_q(
    case: Case, values: list[Value], arrays: Arrays, rng: Rng, dtype: DType
) -> QParams | None:
    spec = OPS[case.op]
    wide = dtype is DType.INT16
    dtype = case.attrs.dtype if case.op == "quantize" else dtype
    if case.op == "dequantize" or spec.quant is Quant.INPUTS_ONLY:
        return None
    form = spec.forms[Form.INT16X8 if wide else Form.INT8]
    if form.fixed_output is not None:
        scale, zp = form.fixed_output
        return QParams((scale,), zp)
    if spec.quant is Quant.SAME_AS_INPUT:
        return next(v.q for v in values if v.q is not None)
    if values[0].q is not None and values[0].dtype is dtype and rng.random() < 0.15:
        return values[0].q
    real = in_domain(case.op, [_dequantized(v, a) for v, a in zip(values, arrays, strict=True)])
    y = real[0] if spec.ref_f32 is None else spec.ref_f32(case.attrs, *real)
    span = max(float(np.abs(y).max()), 1e-2)
    # Now and then far too fine a scale: the multiplier exceeds 1 and most outputs saturate.
    finest = span / 20_000 if rng.random() < 0.1 else span / 400
    scale = _scale(rng, finest, span / 60) / (1 if dtype is DType.INT8 else 256)
    if wide and spec.quant is Quant.WEIGHTED and values[0].q and values[1].q:
        # TFLM holds the product in an int32, which larger multipliers would overflow.
        scale = max(scale, values[0].q.scale * max(values[1].q.scales) / 2)
    if case.op == "hard_swish" and values[0].q is not None:
        scale = max(scale, values[0].q.scale / 64)
    return QParams((scale,), _zero_point(rng, dtype))


def _dequantized(value: Value, data: NDArray[Any]) -> NDArray[np.float32]:
    if value.q is None:
        return data.astype(np.float32)
    scales = np.asarray(value.q.scales, np.float32)
    if value.q.axis is not None:
        scales = scales.reshape([-1 if i == value.q.axis else 1 for i in range(data.ndim)])
    return (data.astype(np.float32) - value.q.zero_point) * scales
