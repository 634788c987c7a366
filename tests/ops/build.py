"""From a case (op, attributes, shapes) to a graph of that one op, in float or in int8."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import DType, Graph, Node, QParams, Shape, Value
from tinyrt.ops import OPS
from tinyrt.ops.spec import Quant

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
    if op == "div":
        return [inputs[0], np.copysign(np.abs(inputs[1]) + inputs[1].dtype.type(0.5), inputs[1])]
    if op == "batch_norm":
        return [*inputs[:4], np.abs(inputs[4]) + inputs[4].dtype.type(0.5)]  # a variance
    return inputs


def build_f32(case: Case, rng: Rng) -> Built:
    """The case in float32, on normally distributed data."""
    arrays = in_domain(case.op, [rng.normal(size=s).astype(np.float32) for s in case.shapes])
    for i, dtype in enumerate(case.input_dtypes):
        arrays[i] = (arrays[i] > 0).astype(dtype.numpy)
    values = [
        Value.constant(f"in{i}", a)
        if i in case.constant
        else Value(f"in{i}", DType.of(a.dtype), a.shape)
        for i, a in enumerate(arrays)
    ]
    return _single_op(case, values, None, arrays)


def build_s8(case: Case, rng: Rng) -> Built:
    """The case in int8: random parameters, an output range that fits the data."""
    quant = OPS[case.op].quant
    if quant is Quant.WEIGHTED:
        values, arrays = _weighted_inputs(case, rng)
    else:
        values, arrays = _activation_inputs(case, rng, shared=quant is Quant.SAME_AS_INPUT)
    return _single_op(case, values, _output_q(case, values, arrays, rng), arrays)


def _single_op(case: Case, values: list[Value], q: QParams | None, arrays: Arrays) -> Built:
    (output,) = OPS[case.op].infer(case.attrs, [v.type for v in values])
    y = Value("out", output.dtype, output.shape, q)
    names = tuple(v.name for v in values)
    free = tuple(v.name for v in values if not v.is_constant)
    node = Node(case.op, "op", names, ("out",), case.attrs)
    graph = Graph("case", free, ("out",), {v.name: v for v in (*values, y)}, (node,))
    data = dict(zip(names, arrays, strict=True))
    return Built(graph, {name: data[name] for name in free})


def _scale(rng: Rng, low: float, high: float) -> float:
    """A log-uniform float32."""
    return float(np.float32(np.exp(rng.uniform(np.log(low), np.log(high)))))


def _zero_point(rng: Rng) -> int:
    return int(rng.choice([-128, 127, 0, rng.integers(-128, 128)]))


def _int8(rng: Rng, shape: Shape, least: int = -128) -> NDArray[np.int8]:
    """Uniform values; one array in five holds extremes only."""
    if rng.random() < 0.2:
        return rng.choice(np.array([least, 127], np.int8), size=shape)
    return rng.integers(least, 128, size=shape).astype(np.int8)


def _weighted_inputs(case: Case, rng: Rng) -> tuple[list[Value], Arrays]:
    axis = 3 if case.op == "depthwise_conv2d" else 0
    channels = case.shapes[1][axis]
    x, w = _int8(rng, case.shapes[0]), _int8(rng, case.shapes[1], least=-127)
    x_q = QParams((_scale(rng, 1e-3, 0.5),), _zero_point(rng))
    per_channel = rng.random() < 0.6
    w_scales = tuple(_scale(rng, 1e-3, 0.05) for _ in range(channels if per_channel else 1))
    values = [
        Value("in0", DType.INT8, x.shape, x_q),
        Value.constant("in1", w, QParams(w_scales, 0, axis if per_channel else None)),
    ]
    arrays: Arrays = [x, w]
    if len(case.shapes) == 3:
        bias = rng.integers(-20_000, 20_000, size=channels).astype(np.int32)
        b_scales = tuple(float(np.float32(x_q.scale) * np.float32(s)) for s in w_scales)
        values.append(Value.constant("in2", bias, QParams(b_scales, 0, 0 if per_channel else None)))
        arrays.append(bias)
    return values, arrays


def _activation_inputs(case: Case, rng: Rng, shared: bool) -> tuple[list[Value], Arrays]:
    values: list[Value] = []
    arrays: Arrays = []
    for i, shape in enumerate(case.shapes):
        if case.input_dtype is DType.FLOAT32:
            arrays.append((rng.normal(size=shape) * 10).astype(np.float32))
            values.append(Value(f"in{i}", DType.FLOAT32, shape))
            continue
        q = QParams((_scale(rng, 5e-3, 0.2),), _zero_point(rng))
        q = values[0].q or q if shared and values else q
        data = _int8(rng, shape)
        data = np.maximum(data, np.int8(q.zero_point)) if case.op in ROOTS else data
        constant = i in case.constant
        values.append(Value(f"in{i}", DType.INT8, shape, q, data if constant else None))
        arrays.append(data)
    return values, arrays


def _output_q(case: Case, values: list[Value], arrays: Arrays, rng: Rng) -> QParams | None:
    spec = OPS[case.op]
    if case.op == "dequantize":
        return None
    if spec.fixed_output is not None:
        scale, zp = spec.fixed_output
        return QParams((scale,), zp)
    if spec.quant is Quant.SAME_AS_INPUT or (values[0].q is not None and rng.random() < 0.15):
        return values[0].q
    real = in_domain(case.op, [_dequantised(v, a) for v, a in zip(values, arrays, strict=True)])
    y = real[0] if spec.ref_f32 is None else spec.ref_f32(case.attrs, *real)
    span = max(float(np.abs(y).max()), 1e-2)
    # Now and then far too fine a scale: the multiplier exceeds 1 and most outputs saturate.
    finest = span / 20_000 if rng.random() < 0.1 else span / 400
    scale = _scale(rng, finest, span / 60)
    if case.op == "hard_swish" and values[0].q is not None:
        scale = max(scale, values[0].q.scale / 64)
    return QParams((scale,), _zero_point(rng))


def _dequantised(value: Value, data: NDArray[Any]) -> NDArray[np.float32]:
    if value.q is None:
        return data.astype(np.float32)
    scales = np.asarray(value.q.scales, np.float32)
    if value.q.axis is not None:
        scales = scales.reshape([-1 if i == value.q.axis else 1 for i in range(data.ndim)])
    return (data.astype(np.float32) - value.q.zero_point) * scales
