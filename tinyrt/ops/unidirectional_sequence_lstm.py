"""unidirectional_sequence_lstm: an LSTM over a sequence; each run continues from the last state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError, UnsupportedError, VerifyError
from tinyrt.fixedpoint import INT16_MAX, INT16_MIN, multiply_by_quantized_multiplier
from tinyrt.floatmath import elementary
from tinyrt.floatmath.function import Gradient
from tinyrt.floatmath.products import matmul
from tinyrt.ir import BoundNode, DType, TensorType, Value
from tinyrt.ops import lstm_gradient as lstm
from tinyrt.ops.logistic import ref_f32 as sigmoid_f32
from tinyrt.ops.logistic import ref_s16 as sigmoid_s16
from tinyrt.ops.lstm_gradient import Lstm
from tinyrt.ops.shared.constants import stored_data
from tinyrt.ops.shared.requant import Requant, WideRequant, multiplier, reduced, weight_scales
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import (
    Array,
    NoAttrs,
    OpSpec,
    Quant,
    both_forms,
    limits_of,
    qparams,
    require_alike,
)
from tinyrt.ops.shared.table_s16 import SigmoidS16
from tinyrt.ops.tanh import ref_s16 as tanh_s16

GATES = ("input", "forget", "cell", "output")
"""Gates in TFLite's order. Inputs 1 to 4 are the gates' weights for the input, inputs 5 to 8 their
weights for the hidden state, inputs 9 to 12 their biases."""
SIDE_BY_SIDE = (0, 1, 3, 2)
"""The order of gates in ``tinyrt.ops.lstm_gradient``."""
HIDDEN, CELL = 13, 14
"""Indices of the state inputs. The second and third output are the next states."""
GATE_SCALE = 2.0**-12
"""Scale of the int16 arguments of the gates' functions."""
UNIT_SCALE = 2.0**-15
"""Scale of the int16 results of the gates' functions."""

DTYPES = {
    DType.FLOAT32: (DType.FLOAT32, DType.FLOAT32, DType.FLOAT32),
    DType.INT8: (DType.INT8, DType.INT32, DType.INT16),
    DType.INT16: (DType.INT8, DType.INT64, DType.INT16),
}
"""Dtype of the input -> dtypes of weights, biases and cell state."""


@dataclass(frozen=True, slots=True)
class LstmAttrs:
    """TFLite's UnidirectionalSequenceLSTMOptions; its activation is always tanh.

    Attributes:
        cell_clip: the cell state is limited to ``[-cell_clip, cell_clip]``; 0 for no limit.
        time_major: whether time comes before samples.

    """

    cell_clip: float = 0.0
    time_major: bool = False


@dataclass(frozen=True, slots=True)
class LstmInteger:
    """Precomputed constants of the integer kernel.

    Attributes:
        x_zp: the input's zero point.
        h_zp: zero point of the hidden state and the output.
        h_dtype: dtype of the hidden state and the output.
        from_x: for each gate, requantisation of input times weights to int16 at ``GATE_SCALE``.
        from_h: for each gate, the same for hidden state times weights.
        forget: mantissa and exponent for the cell state times the forget gate.
        update: mantissa and exponent for the input gate times the cell gate.
        output: mantissa and exponent for the output gate times the cell state's tanh.
        cell_tanh: multiplier from the cell state to positions in the table of tanh.
        cell_clip: limit of the raw cell state; 0 for none.
        time_major: whether time comes before samples.

    """

    x_zp: int
    h_zp: int
    h_dtype: DType
    from_x: tuple[Requant | WideRequant, ...]
    from_h: tuple[Requant | WideRequant, ...]
    forget: tuple[int, int]
    update: tuple[int, int]
    output: tuple[int, int]
    cell_tanh: SigmoidS16
    cell_clip: int
    time_major: bool


GATE_TABLE = SigmoidS16(3, 0)
"""Multiplier from the gates' sums, at ``GATE_SCALE``, to positions in the table."""


def infer(attrs: LstmAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(n, t, k) -> (n, t, units), and the next states (n, units); (t, n, ...) if time-major."""
    x, h = operand(inputs, 0, "input", 3), operand(inputs, HIDDEN, "hidden state", 2)
    c = operand(inputs, CELL, "cell state", 2)
    samples, units = x.shape[1 if attrs.time_major else 0], h.shape[1]
    if x.dtype not in DTYPES:
        raise ShapeError(f"input is {x}", expected="float32, int8 or int16")
    weights, bias, cell = DTYPES[x.dtype]
    expected = [TensorType(weights, (units, x.shape[2]))] * 4
    expected += [TensorType(weights, (units, units))] * 4
    expected += [TensorType(bias, (units,))] * 4
    expected += [TensorType(x.dtype, (samples, units)), TensorType(cell, (samples, units))]
    for i, type_ in enumerate(expected, 1):
        actual = operand(inputs, i, f"input {i}")
        if actual != type_:
            raise ShapeError(f"input {i} is {actual}", expected=f"{type_}, beside input {x}")
    return (TensorType(x.dtype, (*x.shape[:2], units)), h, c)


def _over_time(attrs_time_major: bool, x: Array) -> Array:
    """The input with time first."""
    return x if attrs_time_major else x.swapaxes(0, 1)


def ref_f32(attrs: LstmAttrs, x: Array, *others: Array) -> tuple[Array, Array, Array]:
    """Gates ``g = f(x @ w.T + h @ r.T + b)``; ``c = f * c + i * g``, ``h = o * tanh(c)``."""
    w, r, b = others[:4], others[4:8], others[8:12]
    h, c = others[12], others[13]
    outputs = []
    for step in _over_time(attrs.time_major, x):
        i, f, g, o = (matmul(step, w[k].T) + matmul(h, r[k].T) + b[k] for k in range(4))
        c = _sigmoid(f) * c + _sigmoid(i) * elementary.tanh(g)
        if attrs.cell_clip > 0:
            c = np.clip(c, -attrs.cell_clip, attrs.cell_clip).astype(c.dtype)
        h = _sigmoid(o) * elementary.tanh(c)
        outputs.append(h)
    return _over_time(attrs.time_major, np.stack(outputs)), h, c


def _sigmoid(x: Array) -> Array:
    return sigmoid_f32(NoAttrs(), x)


def train_f32(attrs: LstmAttrs, x: Array, *others: Array) -> Array:
    """The first of ``ref_f32``'s outputs."""
    (w, r, b), (h, c) = side_by_side(*others[:12]), others[12:]
    y = lstm.forward(Lstm(attrs.cell_clip), _over_time(attrs.time_major, x), w, r, b, h, c)
    return _over_time(attrs.time_major, y)


def vjp(
    attrs: LstmAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of all inputs from that of the first output."""
    turned = (0, 1, 2) if attrs.time_major else (1, 0, 2)
    x, y, g = (a.transpose(turned) for a in (inputs[0], output, grad))
    operands = (x, *side_by_side(*inputs[1:13]), *inputs[13:])
    gradients = lstm.gradients(Lstm(attrs.cell_clip), operands, y, g)
    blocks = [cache(block) for block in gradients.blocks]
    units = inputs[CELL].shape[1]

    def part(i: int) -> Gradient:
        kind, gate = divmod(i, 4)
        at = SIDE_BY_SIDE.index(gate) * units
        return lambda: blocks[kind]()[at : at + units]

    parts = (part(i) for i in range(12))
    return (lambda: gradients.x().transpose(turned), *parts, gradients.h, gradients.c)


def side_by_side(*constants: Array) -> tuple[Array, Array, Array]:
    """The gates' weights for the input, for the hidden state, and biases, each in one block."""
    w, r, b = (lstm.joined(0, *(constants[at + i] for i in SIDE_BY_SIDE)) for at in (0, 4, 8))
    return w, r, b


def _gate_requant(x: Value, w: Value) -> Requant | WideRequant:
    """Requantisation of a tensor times weights to int16 at the gates' scale."""
    scale = weight_scales(w, axis=0, channels=1)[0]
    mult, shift = multiplier(float(np.float64(qparams(x)[0]) * np.float64(scale) / GATE_SCALE))
    if x.dtype is DType.INT8:
        one, other = np.array([mult], np.int32), np.array([shift], np.int32)
        return Requant(one, other, 0, INT16_MIN, INT16_MAX, DType.INT16)
    mantissa, right = reduced(mult, shift, x)
    one, other = np.array([mantissa], np.int32), np.array([right], np.int32)
    return WideRequant(one, other, INT16_MIN, INT16_MAX)


def prepare(node: BoundNode) -> LstmInteger:
    """Multipliers of one node.

    Raises:
        VerifyError: scales are not those of the op's rules.

    """
    x, h, c, y = node.input(0), node.input(HIDDEN), node.input(CELL), node.output
    require_alike(x, h, y)
    same = qparams(h) == qparams(y) == qparams(node.outputs[1])
    if not same or qparams(c) != qparams(node.outputs[2]):
        raise VerifyError(
            "the output, or a next state, has another scale or zero point than its state",
            tensor=y.describe(),
            expected="those of the hidden state and of the cell state",
        )
    c_scale = float(qparams(c)[0])
    mantissa, exponent = np.frexp(c_scale)
    power = int(exponent) - 1
    if mantissa != 0.5 or not -30 <= power <= 0:
        raise VerifyError(
            f"scale {c_scale}", tensor=c.describe(), expected="a power of two, 2**-30 to 1"
        )
    # The table's positions are in steps of 1 / (3 * 4096).
    left = 12 + power
    cell_tanh = SigmoidS16(3 << left, 0) if left >= 0 else SigmoidS16(3, -left)
    h_scale, h_zp = qparams(h)
    clip = float(np.float32(node.attrs_as(LstmAttrs).cell_clip))
    return LstmInteger(
        x_zp=qparams(x)[1],
        h_zp=h_zp,
        h_dtype=h.dtype,
        from_x=tuple(_gate_requant(x, node.input(1 + i)) for i in range(4)),
        from_h=tuple(_gate_requant(h, node.input(5 + i)) for i in range(4)),
        forget=multiplier(UNIT_SCALE),
        update=multiplier(UNIT_SCALE * UNIT_SCALE / c_scale),
        output=multiplier(UNIT_SCALE * UNIT_SCALE / float(h_scale)),
        cell_tanh=cell_tanh,
        cell_clip=int(min(max(clip / c_scale, 0.0), INT16_MAX)),
        time_major=node.attrs_as(LstmAttrs).time_major,
    )


def _saturated(x: Array) -> NDArray[np.int16]:
    return np.clip(x, INT16_MIN, INT16_MAX).astype(np.int16)


def _times(a: Array, b: Array, requant: tuple[int, int]) -> NDArray[np.int64]:
    return multiply_by_quantized_multiplier(a.astype(np.int64) * b, *requant)


def ref_integer(p: LstmInteger, x: Array, *others: Array) -> tuple[Array, Array, Array]:
    """As ``ref_f32`` with int16 intermediates; a gate rounds its two products separately."""
    w, r, b = ([a.astype(np.int64) for a in others[k : k + 4]] for k in (0, 4, 8))
    h, c = others[12], others[13]
    outputs = []
    for step in _over_time(p.time_major, x.astype(np.int64) - p.x_zp):
        centred = h.astype(np.int64) - p.h_zp
        i, f, g, o = (
            _saturated(
                p.from_x[k].apply(step @ w[k].T + b[k]).astype(np.int64)
                + p.from_h[k].apply(centred @ r[k].T)
            )
            for k in range(4)
        )
        memory = _saturated(_times(sigmoid_s16(GATE_TABLE, f), c, p.forget)).astype(np.int64)
        new = _times(sigmoid_s16(GATE_TABLE, i), tanh_s16(GATE_TABLE, g), p.update)
        c = _saturated(memory + _saturated(new))
        if p.cell_clip > 0:
            c = np.clip(c, -p.cell_clip, p.cell_clip).astype(np.int16)
        y = _times(sigmoid_s16(GATE_TABLE, o), tanh_s16(p.cell_tanh, c), p.output) + p.h_zp
        h = np.clip(y, *limits_of(p.h_dtype)).astype(p.h_dtype.numpy)
        outputs.append(h)
    return _over_time(p.time_major, np.stack(outputs)), h, c


def macs(node: BoundNode) -> int:
    """For each time step, unit and gate (4): the length of the input plus the hidden state's."""
    n, t, k = node.input(0).shape
    units = node.output.shape[2]
    return n * t * 4 * units * (k + units)


def joined(node: BoundNode, first: int) -> Array:
    """Four constants one behind the other.

    Raises:
        UnsupportedError: one of the tensors is computed at run time.

    """
    return np.concatenate([stored_data(node.input(i)) for i in range(first, first + 4)])


def require_summable(node: BoundNode, p: LstmInteger) -> None:
    """Raise ``UnsupportedError`` if a sum of products does not fit its accumulator."""
    wide = p.h_dtype is DType.INT16
    w, bias = (joined(node, i).astype(np.int64) for i in (1, 9))
    largest = np.abs(bias) + (np.abs(w).sum(axis=1) << (15 if wide else 8))
    if largest.max() >= 1 << (47 if wide else 31):
        raise UnsupportedError(
            f"an accumulator may reach {largest.max()}",
            tensor=node.input(1).describe(),
            expected=f"less than {1 << (47 if wide else 31)}",
            hint="train with smaller weights or biases",
        )


UNIDIRECTIONAL_SEQUENCE_LSTM = OpSpec(
    name="unidirectional_sequence_lstm",
    attrs=LstmAttrs,
    arity=(15, 15),
    infer=infer,
    quant=Quant.STATEFUL,
    ref_f32=ref_f32,
    train_f32=train_f32,
    vjp=vjp,
    forms=both_forms(prepare, ref_integer),
    macs=macs,
)
