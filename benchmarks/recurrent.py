"""LSTMs among the layers of ``benchmarks.kernels``: their operands, and calls of CMSIS-NN."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.ir import BoundNode, DType, QParams, Shape, Value
from tinyrt.ops import OPS
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.spec import qparams
from tinyrt.ops.unidirectional_sequence_lstm import (
    CELL,
    GATE_SCALE,
    GATES,
    HIDDEN,
    LstmInteger,
    joined,
)

LSTM = "unidirectional_sequence_lstm"
X_SCALE, W_SCALE, R_SCALE, CELL_SCALE = 0.02, 0.01, 0.008, 2.0**-11
NO_CLIP = 32767


def lstm_shapes(steps: int, c_in: int, units: int) -> tuple[Shape, ...]:
    """Of all inputs, for one sample."""
    weights = ((units, c_in),) * 4 + ((units, units),) * 4
    return ((1, steps, c_in), *weights, *((units,),) * 4, (1, units), (1, units))


def lstm_operands(
    name: str, shapes: Sequence[Shape], dtype: DType, rng: np.random.Generator
) -> tuple[list[Value], list[Value]]:
    """The inputs, weights among them, and the outputs."""
    wide = dtype is DType.INT16
    x = QParams((X_SCALE / 256,), 0) if wide else QParams((X_SCALE,), 3)
    h = QParams((2.0**-15,), 0) if wide else QParams((2.0**-7,), -2)
    cell = QParams((CELL_SCALE,), 0)
    values = [Value(f"{name}/x", dtype, shapes[0], x)]
    for i, shape in enumerate(shapes[1:9], 1):
        w = rng.integers(-127, 128, shape).astype(np.int8)
        q = QParams((W_SCALE if i < 5 else R_SCALE,), 0)
        values.append(Value.constant(f"{name}/w{i}", w, q))
    for i, shape in enumerate(shapes[9:HIDDEN], 9):
        bias = rng.integers(-2000, 2000, shape).astype(np.int64 if wide else np.int32)
        values.append(Value.constant(f"{name}/b{i}", bias, QParams((x.scale * W_SCALE,), 0)))
    values.append(Value(f"{name}/h", dtype, shapes[HIDDEN], h))
    values.append(Value(f"{name}/c", DType.INT16, shapes[CELL], cell))
    y_shape = (*shapes[0][:2], shapes[HIDDEN][1])
    outputs = [Value(name, dtype, y_shape, h), Value(f"{name}, hidden", dtype, shapes[HIDDEN], h)]
    return values, [*outputs, Value(f"{name}, cell", DType.INT16, shapes[CELL], cell)]


def lstm_call(
    node: BoundNode, name: str, x: Sequence[str], outputs: Sequence[str]
) -> tuple[str, tuple[str, ...], str, str]:
    """CMSIS-NN's function, its arguments, constants, and what is set before it is counted.

    Args:
        node: the LSTM.
        name: of its constants.
        x: pointers to the input and the states before.
        outputs: pointers to the output and to the states after, which it takes as those before.

    """
    p: LstmInteger = OPS[LSTM].prepared(node)
    wide = node.input(0).dtype is DType.INT16
    y, *states = outputs
    samples, steps, c_in = node.input(0).shape
    units = node.output.shape[2]
    sums, kind = (np.int64, "int64_t") if wide else (np.int32, "int32_t")
    w, r, bias = (joined(node, i).astype(np.int64) for i in (1, 5, 9))
    starts = {"start": bias - p.x_zp * w.sum(axis=1), "restart": -p.h_zp * r.sum(axis=1)}
    data = ""
    for role, rows in {"w": w, "r": r, **starts}.items():
        element = "int8_t" if role in "wr" else kind
        flat = rows.astype(np.int8 if role in "wr" else sums).ravel().tolist()
        elements = ", ".join(map(str, flat))
        data += f"static const {element} {name}_{role}[{len(flat)}] = {{{elements}}};\n"
    size = units * samples
    data += f"static int16_t {name}_temp[2][{size}];\n"
    gates = {gate: _gate(node, name, i, c_in, units) for i, gate in enumerate(GATES)}
    power = int(np.log2(float(qparams(node.input(CELL))[0])))
    numbers = (0, samples, steps, c_in, units, -p.x_zp, *p.forget, *p.update, NO_CLIP, power)
    ends = (*p.output, p.h_zp)
    order = (gates[gate] for gate in ("forget", "input", "cell", "output"))
    fields = ", ".join([*map(str, (*numbers, *ends)), *order])
    data += f"static const cmsis_nn_lstm_params {name}_params = {{{fields}}};\n"
    buffers = f"{name}_temp[0], {name}_temp[1], {states[1]}, {states[0]}"
    data_bytes = (size * (2 if wide else 1), size * 2)
    before = "\n".join(
        f"memcpy({to}, {at}, {count});"
        for to, at, count in zip(states, x[1:], data_bytes, strict=True)
    )
    args = (x[0], y, f"&{name}_params", f"&(cmsis_nn_lstm_context){{{buffers}}}")
    return f"lstm_unidirectional_{'s16' if wide else 's8'}", args, data, before


def _gate(node: BoundNode, name: str, i: int, c_in: int, units: int) -> str:
    """One ``cmsis_nn_lstm_gate``."""
    fields: list[str] = []
    for operand, role, start, taps in ((0, "w", "start", c_in), (HIDDEN, "r", "restart", units)):
        x, weights = node.input(operand), node.input(i + (1 if role == "w" else 5))
        assert x.q is not None
        assert weights.q is not None
        mult, shift = multiplier(float(x.q.scale) * float(weights.q.scale) / GATE_SCALE)
        fields += [str(mult), str(shift)]
        fields += [f"{name}_{role} + {i * units * taps}", f"{name}_{start} + {i * units}"]
    kind = "ARM_TANH" if GATES[i] == "cell" else "ARM_SIGMOID"
    return f"{{{', '.join(fields)}, 0, {kind}}}"
