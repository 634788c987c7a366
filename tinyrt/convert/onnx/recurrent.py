"""ONNX's recurrent layers, unrolled over time into dense layers and element-wise ops.

The products with the inputs of all steps are one dense layer; each step then adds the product with
the state. Weights are shared by all steps. On request, LSTMs stay whole where TFLite's op fits.
"""

from __future__ import annotations

import numpy as np

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.cells import (
    DEFAULTS,
    ONE_OP,
    Activation,
    CellState,
    CellWeights,
    Emitter,
    Kind,
    gru_cell,
    lstm_cell,
    rnn_cell,
)
from tinyrt.convert.onnx.sequence import fits, sequence
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Shape, Value

MAX_STEPS = 4096
"""A longer sequence is refused, as it would be unrolled."""

KINDS = {
    "RNN": Kind(1, 1, ("Tanh",), rnn_cell),
    "GRU": Kind(3, 1, ("Sigmoid", "Tanh"), gru_cell),
    "LSTM": Kind(4, 2, ("Sigmoid", "Tanh", "Tanh"), lstm_cell),
}


def recurrent(call: Call) -> list[Value]:
    """All outputs of the layer: every step's, the last one, and LSTM's last cell state."""
    node, kind = call.node, KINDS[call.node.op]
    x = call.value(0)
    if len(x.shape) != 3:
        raise ModelFormatError(f"the input is {x.type}", expected="(steps, n, features)")
    by_batch = node.get_int("layout", 0) != 0
    if by_batch:
        x = call.transpose(x, (1, 0, 2), f"{call.result}.by_step")
    steps, batch, _ = x.shape
    _check_lengths(call, steps, batch)
    direction = node.get_string("direction", "forward")
    runs = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
    if direction not in runs:
        raise ModelFormatError(f"direction '{direction}'", expected=", ".join(runs))
    sides: list[Value] = []
    finals: list[list[Value]] = [[] for _ in range(kind.states)]
    functions = [_activations(call, kind, number) for number in range(len(runs[direction]))]
    whole = fits(call, functions)
    for number, backwards in enumerate(runs[direction]):
        emit = Emitter(call, f"{call.result}.{'backward' if backwards else 'forward'}")
        weights = _weights(call, kind, number, len(runs[direction]), x.shape[2])
        if whole:
            every, *last = sequence(emit, x, weights, backwards=backwards)
            shape = (steps, 1, batch, weights.hidden)
            sides.append(call.reshape(every, shape, f"{call.result}.direction{number}"))
        else:
            rows, last = _unrolled(call, kind, emit, weights, number, x, functions[number])
            rows = rows[::-1] if backwards else rows
            sides.append(_stacked(call, rows, f"{call.result}.direction{number}"))
        for values, value in zip(finals, last, strict=False):
            values.append(value)
    return _results(call, sides, [values for values in finals if values], by_batch)


def _unrolled(
    call: Call,
    kind: Kind,
    emit: Emitter,
    weights: CellWeights,
    number: int,
    x: Value,
    functions: list[Activation],
) -> tuple[list[Value], list[Value]]:
    """Every step's output (n, hidden) in the order of their computation, and the last states."""
    steps, batch, _ = x.shape
    backwards = emit.prefix.endswith("backward")
    cell = kind.cell(call, emit, weights, number, functions)
    state: CellState = [
        _initial(call, emit, 5 + i, number, (batch, weights.hidden)) for i in range(kind.states)
    ]
    products = emit.dense("x", x, *_input_side(emit, call.node.op, call, weights))
    rows: list[Value] = []
    for t in reversed(range(steps)) if backwards else range(steps):
        state = cell.step(emit.at(t), _row(emit.at(t), products, t), state)
        rows.append(_present(state[0]))
    return rows, [_present(value) for value in state]


def _present(value: Value | None) -> Value:
    assert value is not None, "a step computes every state"
    return value


def _input_side(emit: Emitter, op: str, call: Call, w: CellWeights) -> tuple[Value, Value]:
    """Weights and bias of the product with the inputs; what can be added here is."""
    bias = w.wb + w.rb
    if op == "GRU" and call.node.get_int("linear_before_reset", 0):
        bias[2 * w.hidden :] = w.wb[2 * w.hidden :]
    return emit.constant("W", w.w), emit.constant("B", bias)


def _row(emit: Emitter, products: Value, t: int) -> Value:
    """The product of one step, (n, gates)."""
    _, n, gates = products.shape
    part = emit("slice", "x", products, begin=(t, 0, 0), size=(1, n, gates), strides=(1, 1, 1))
    return emit.call.reshape(part, (n, gates), f"{emit.prefix}.x_row")


def _stacked(call: Call, rows: list[Value], name: str) -> Value:
    """Rows (n, hidden) as (steps, 1, n, hidden)."""
    lifted = [call.reshape(h, (1, 1, *h.shape), f"{name}.row{t}") for t, h in enumerate(rows)]
    return _joined(call, lifted, 0, name)


def _results(
    call: Call, sides: list[Value], finals: list[list[Value]], by_batch: bool
) -> list[Value]:
    """Y (steps, directions, n, hidden) and the last states (directions, n, hidden)."""
    names = [*call.node.outputs, "", ""]
    *_, batch, hidden = sides[0].shape
    r = call.result or call.node.name
    every = _joined(call, sides, 1, f"{r}.steps")
    if by_batch:
        every = call.transpose(every, (2, 0, 1, 3), f"{r}.by_batch")
    results = [every]
    for name, values in zip(names[1:], finals, strict=False):
        wish = name or f"{r}.last"
        lifted = [
            call.reshape(v, (1, batch, hidden), f"{wish}.direction{i}")
            for i, v in enumerate(values)
        ]
        last = _joined(call, lifted, 0, f"{wish}.directions")
        results.append(call.transpose(last, (1, 0, 2), f"{wish}.by_batch") if by_batch else last)
    return results


def _joined(call: Call, values: list[Value], axis: int, name: str) -> Value:
    if len(values) == 1:
        return values[0]
    return call.emit("concatenation", *values, name=name, axis=axis)


def _weights(call: Call, kind: Kind, number: int, directions: int, inputs: int) -> CellWeights:
    w, r = call.array(1, "the input weights"), call.array(2, "the recurrent weights")
    if r.ndim != 3:
        raise ModelFormatError(f"R has shape {list(r.shape)}", expected="three dimensions")
    hidden = r.shape[-1]
    rows = kind.gates * hidden
    shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
        "W": (w.shape, (directions, rows, inputs)),
        "R": (r.shape, (directions, rows, hidden)),
    }
    bias = np.zeros((directions, 2 * rows), np.float32)
    if call.has(3):
        bias = call.array(3, "the bias")
        shapes["B"] = (bias.shape, (directions, 2 * rows))
    for name, (shape, expected) in shapes.items():
        if tuple(shape) != expected:
            raise ModelFormatError(f"{name} has shape {list(shape)}", expected=str(list(expected)))
    return CellWeights(w[number], r[number], bias[number, :rows], bias[number, rows:])


def _initial(call: Call, emit: Emitter, i: int, number: int, shape: Shape) -> Value | None:
    """The first state of a direction; None where it is zeros."""
    if not call.has(i):
        return None
    by_batch = call.node.get_int("layout", 0) != 0
    if call.is_constant_input(i):
        states = call.array(i)
        if not np.any(states):
            return None
        states = states.swapaxes(0, 1) if by_batch and states.ndim == 3 else states
        if states.shape[1:] != shape or len(states) <= number:
            raise ModelFormatError(
                f"input {i}, a first state, has shape {list(call.shape(i))}",
                expected=f"{list(shape)} for each direction",
            )
        rows = states[number]
        return emit.constant(f"initial{i}", rows.reshape(shape))
    x = call.value(i)
    x = call.transpose(x, (1, 0, 2), f"{emit.prefix}.initial{i}_turned") if by_batch else x
    if x.shape[0] > 1:
        x = emit(
            "slice", f"initial{i}", x, begin=(number, 0, 0), size=(1, *shape), strides=(1, 1, 1)
        )
    return call.reshape(x, shape, f"{emit.prefix}.initial{i}_row")


def _check_lengths(call: Call, steps: int, batch: int) -> None:
    """Raise ``UnsupportedError`` unless all sequences are as long as the input."""
    if steps > MAX_STEPS:
        raise UnsupportedError(f"{steps} steps", expected=f"at most {MAX_STEPS}, as they unroll")
    if not call.has(4):
        return
    lengths = call.ints(4, "the sequences' lengths")
    if lengths != (steps,) * batch:
        raise UnsupportedError(
            f"sequences of lengths {list(lengths)}",
            expected=f"all {steps} long",
            hint="export the model without sequence_lens",
        )


def _activations(call: Call, kind: Kind, number: int) -> list[Activation]:
    node, count = call.node, len(kind.activations)
    known = {name.lower(): name for name in (*ONE_OP, *DEFAULTS)}
    given = node.get_strings("activations") or kind.activations
    names = [known.get(name.lower(), name) for name in given]
    alphas, betas = (node.get_floats(f"activation_{p}") or () for p in ("alpha", "beta"))
    limit = node.get_float("clip", 0.0)
    functions = Activation.all_of(names, alphas, betas, limit)
    if len(names) == count:
        functions *= 2
    functions = functions[number * count : (number + 1) * count]
    unsupported = [f for f in functions if f.name not in known.values()]
    if unsupported or len(functions) != count:
        raise UnsupportedError(
            f"{node.op} with activations {[f.name for f in functions]}",
            expected=f"{count} of {', '.join(known.values())}",
            hint="train the layer with its usual activations",
        )
    return functions
