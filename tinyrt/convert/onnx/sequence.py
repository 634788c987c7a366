"""ONNX's LSTM as TFLite's op over whole sequences, where that op can express it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.cells import Activation, CellWeights, Emitter
from tinyrt.errors import ConversionWarning, warn
from tinyrt.ir import Value

GATES = (0, 2, 3, 1)
"""TFLite's input, forget, cell and output gate among ONNX's i, o, f, c."""
PLAIN = ["Sigmoid", "Tanh", "Tanh"]


def fits(call: Call, activations: Sequence[Sequence[Activation]]) -> bool:
    """Whether TFLite's op can express the layer; warns with the reason if it cannot.

    Args:
        call: the LSTM.
        activations: its functions, for each direction.

    """
    if call.node.op != "LSTM" or not call.builder.sequence_lstm:
        return False
    names = sorted({f.name for side in activations for f in side})
    cell = call.node.outputs[2] if len(call.node.outputs) > 2 else ""
    checks = {
        f"its activations are {', '.join(names)}": any(
            [f.name for f in side] != PLAIN for side in activations
        ),
        "it has peepholes": call.has(7),
        "its gates are clipped": any(f.limit for side in activations for f in side),
        "it begins with a given state": any(
            call.has(i) and not (call.is_constant_input(i) and not np.any(call.array(i)))
            for i in (5, 6)
        ),
        "its last cell state is used": cell in call.builder.read,
    }
    reasons = [reason for reason, applies in checks.items() if applies]
    if reasons:
        name = call.node.describe()
        warn(f"{name} is unrolled: {reasons[0]}", ConversionWarning)
    return not reasons


def sequence(emit: Emitter, x: Value, w: CellWeights, *, backwards: bool) -> tuple[Value, Value]:
    """Every step's hidden state (steps, n, hidden), in the order of time, and the last (n, hidden).

    The op begins with constant states of zeros: each run of the model is a sequence of its own.
    One sample goes first, before time, so that the model can be run and trained on many at once.

    Args:
        emit: emits ops under the direction's name.
        x: (steps, n, inputs).
        w: the direction's weights.
        backwards: begin with the last step.

    """
    (steps, batch, inputs), hidden = x.shape, w.hidden
    time = 1 if batch == 1 else 0
    if batch == 1:
        x = emit.call.reshape(x, (1, steps, inputs), f"{emit.prefix}.sample")
    x = _reversed(emit, "x_reversed", x, time) if backwards else x
    parts = {"W": w.w, "R": w.r, "B": (w.wb + w.rb)[:, None]}
    constants = []
    for kind, data in parts.items():
        gates = data.reshape(4, hidden, -1)
        constants += [
            emit.constant(f"{kind}{gate}", gates[gate][:, 0] if kind == "B" else gates[gate])
            for gate in GATES
        ]
    states = [emit.constant(name, np.zeros((batch, hidden))) for name in ("h0", "c0")]
    y, _, _ = emit.call.emit_all(
        "unidirectional_sequence_lstm",
        x,
        *constants,
        *states,
        name=f"{emit.prefix}.lstm",
        time_major=time == 0,
    )
    begin, size = [0, 0, 0], list(y.shape)
    begin[time], size[time] = steps - 1, 1
    last = emit("slice", "last", y, begin=tuple(begin), size=tuple(size), strides=(1, 1, 1))
    last = emit.call.reshape(last, (batch, hidden), f"{emit.prefix}.last_row")
    y = _reversed(emit, "reversed", y, time) if backwards else y
    if batch == 1:
        y = emit.call.reshape(y, (steps, 1, hidden), f"{emit.prefix}.steps")
    return y, last


def _reversed(emit: Emitter, name: str, x: Value, axis: int) -> Value:
    begin, strides = [0, 0, 0], [1, 1, 1]
    begin[axis], strides[axis] = x.shape[axis] - 1, -1
    return emit("slice", name, x, begin=tuple(begin), size=x.shape, strides=tuple(strides))
