"""ONNX's recurrent layers, unrolled over time into dense layers and element-wise ops.

The products with the inputs of all steps are one dense layer; each step then adds the product with
the state. Weights are shared by all steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tinyrt.convert.onnx_call import Call
from tinyrt.convert.onnx_proto import Array
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Shape, Value

MOST_STEPS = 4096
"""A longer sequence is refused, as it would be unrolled."""

ONE_OP = {"Sigmoid": "logistic", "Tanh": "tanh", "Relu": "relu", "Elu": "elu"}
"""Activations that are one op without parameters."""

State = Sequence[Value | None]
"""What a cell hands on to the next step; None stands for zeros."""


@dataclass(frozen=True, slots=True)
class Emitter:
    """Emits ops whose names begin with a layer, direction and step."""

    call: Call
    prefix: str

    def __call__(self, op: str, name: str, *inputs: Value, **attrs: object) -> Value:
        """Emit one op."""
        return self.call.emit(op, *inputs, name=f"{self.prefix}.{name}", **attrs)

    def at(self, step: int) -> Emitter:
        """The emitter of one step."""
        return Emitter(self.call, f"{self.prefix}.t{step}")

    def constant(self, name: str, data: Array) -> Value:
        """A constant of the layer."""
        return self.call.constant(f"{self.prefix}.{name}", data.astype(np.float32))

    def dense(self, name: str, x: Value, w: Value, bias: Value | None = None) -> Value:
        """``x @ w.T + bias`` along the last dimension."""
        return self.call.emit(
            "fully_connected",
            x,
            w,
            bias,
            name=f"{self.prefix}.{name}",
            keep_num_dims=len(x.shape) > 2,
        )

    def part(self, name: str, x: Value, first: int, count: int) -> Value:
        """Columns of a matrix."""
        if count == x.shape[1]:
            return x
        size = (x.shape[0], count)
        return self("slice", name, x, begin=(0, first), size=size, strides=(1, 1))


@dataclass(frozen=True, slots=True)
class Activation:
    """A function that the layer's attributes name."""

    name: str
    alpha: float | None
    beta: float | None

    def __call__(self, emit: Emitter, name: str, x: Value) -> Value:
        """Emit the function of ``x``."""
        if self.name in ONE_OP:
            return emit(ONE_OP[self.name], name, x)
        if self.name == "LeakyRelu":
            return emit("leaky_relu", name, x, alpha=0.01 if self.alpha is None else self.alpha)
        slope = emit.constant("alpha", np.full(1, 0.2 if self.alpha is None else self.alpha))
        shift = emit.constant("beta", np.full(1, 0.5 if self.beta is None else self.beta))
        sloped = emit("mul", f"{name}_scaled", x, slope)
        if self.name == "HardSigmoid":
            return emit("relu_0_to_1", name, emit("add", f"{name}_shifted", sloped, shift))
        return emit("add", name, sloped, shift)  # Affine


class Cell(Protocol):
    """One direction of a layer."""

    def step(self, emit: Emitter, x: Value, state: State) -> tuple[Value, ...]:
        """The next state, the layer's output first; ``x`` is this step's product (n, gates)."""
        ...


@dataclass(frozen=True, slots=True)
class Weights:
    """One direction's constants.

    Attributes:
        w: (gates, inputs).
        r: (gates, hidden).
        wb: (gates,), added to the product with w.
        rb: (gates,), added to the product with r.

    """

    w: Array
    r: Array
    wb: Array
    rb: Array

    @property
    def hidden(self) -> int:
        """Elements of the state."""
        return int(self.r.shape[1])


@dataclass(frozen=True, slots=True)
class RnnCell:
    """``h' = f(x W + h R + b)``."""

    recurrent: Value
    f: Activation

    def step(self, emit: Emitter, x: Value, state: State) -> tuple[Value, ...]:
        """One step of the state h."""
        total = _with_state(emit, x, self.recurrent, state[0])
        return (self.f(emit, "h", total),)


@dataclass(frozen=True, slots=True)
class LstmCell:
    """``c' = f * c + i * g``, ``h' = o * act(c')``; gates in ONNX's order i, o, f, g."""

    recurrent: Value
    hidden: int
    peepholes: tuple[Value, Value, Value] | None
    f: Activation
    g: Activation
    h: Activation

    def step(self, emit: Emitter, x: Value, state: State) -> tuple[Value, ...]:
        """One step of the state h, c."""
        h, c = state
        n = self.hidden
        total = _with_state(emit, x, self.recurrent, h)
        candidate = self.g(emit, "candidate", emit.part("candidate_sum", total, 3 * n, n))
        if self.peepholes is None:
            gates = self.f(emit, "gates", emit.part("gates_sum", total, 0, 3 * n))
            i, o, f = (
                emit.part(name, gates, k * n, n)
                for k, name in enumerate(("input", "output", "forget"))
            )
        else:
            i, f = (
                self.f(emit, name, _peeped(emit, name, total, k * n, n, c, self.peepholes[k]))
                for k, name in ((0, "input"), (2, "forget"))
            )
        new = emit("mul", "written", i, candidate)
        if c is not None:
            new = emit("add", "c", emit("mul", "kept", f, c), new)
        if self.peepholes is not None:
            o = self.f(emit, "output", _peeped(emit, "output", total, n, n, new, self.peepholes[1]))
        return emit("mul", "h", o, self.h(emit, "c_activated", new)), new


@dataclass(frozen=True, slots=True)
class GruCell:
    """``h' = n + z * (h - n)``; gates in ONNX's order z, r, n.

    ``n = g(x W + r * (h R + b))`` where the reset comes after the product, else
    ``g(x W + (r * h) R + b)``.
    """

    recurrent: Value
    candidate: Value
    candidate_bias: Value | None
    hidden: int
    f: Activation
    g: Activation

    def step(self, emit: Emitter, x: Value, state: State) -> tuple[Value, ...]:
        """One step of the state h."""
        (h,) = state
        n = self.hidden
        sums = _with_state(emit, emit.part("gates_x", x, 0, 2 * n), self.recurrent, h)
        gates = self.f(emit, "gates", sums)
        z, r = emit.part("update", gates, 0, n), emit.part("reset", gates, n, n)
        total = emit.part("candidate_x", x, 2 * n, n)
        if self.candidate_bias is not None:
            product = self.candidate_bias
            if h is not None:
                product = emit.dense("candidate_h", h, self.candidate, self.candidate_bias)
            total = emit("add", "candidate_sum", total, emit("mul", "remembered", r, product))
        elif h is not None:
            kept = emit("mul", "remembered", r, h)
            product = emit.dense("candidate_h", kept, self.candidate)
            total = emit("add", "candidate_sum", total, product)
        new = self.g(emit, "candidate", total)
        if h is None:
            return (emit("sub", "h", new, emit("mul", "replaced", z, new)),)
        change = emit("mul", "kept", z, emit("sub", "change", h, new))
        return (emit("add", "h", new, change),)


def _with_state(emit: Emitter, x: Value, weights: Value, h: Value | None) -> Value:
    return x if h is None else emit("add", "sum", x, emit.dense("recurrent", h, weights))


def _peeped(
    emit: Emitter, name: str, total: Value, first: int, n: int, c: Value | None, weights: Value
) -> Value:
    gate = emit.part(f"{name}_sum", total, first, n)
    if c is None:
        return gate
    return emit("add", f"{name}_total", gate, emit("mul", f"{name}_peephole", c, weights))


def _rnn(call: Call, emit: Emitter, w: Weights, number: int, f: Sequence[Activation]) -> Cell:
    del call, number
    return RnnCell(emit.constant("R", w.r), f[0])


def _lstm(call: Call, emit: Emitter, w: Weights, number: int, f: Sequence[Activation]) -> Cell:
    if call.node.get_int("input_forget", 0):
        raise UnsupportedError("LSTM with input_forget", expected="independent gates")
    peepholes = None
    if call.has(7):
        found = call.array(7, "the peepholes")
        if found.ndim != 2 or found.shape[1] != 3 * w.hidden or len(found) <= number:
            raise ModelFormatError(
                f"peepholes of shape {list(found.shape)}",
                expected=f"{3 * w.hidden} for each direction",
            )
        rows = found[number].reshape(3, w.hidden)
        i, o, g = (emit.constant(f"P{k}", row) for k, row in enumerate(rows))
        peepholes = (i, o, g)
    return LstmCell(emit.constant("R", w.r), w.hidden, peepholes, *f)


def _gru(call: Call, emit: Emitter, w: Weights, number: int, f: Sequence[Activation]) -> Cell:
    del number
    n = w.hidden
    after = call.node.get_int("linear_before_reset", 0) != 0
    bias = emit.constant("Rb", w.rb[2 * n :]) if after else None
    gates, candidate = emit.constant("R", w.r[: 2 * n]), emit.constant("Rh", w.r[2 * n :])
    return GruCell(gates, candidate, bias, n, *f)


@dataclass(frozen=True, slots=True)
class Kind:
    """A recurrent op.

    Attributes:
        gates: rows of the weights per element of the state.
        states: tensors that are handed on.
        activations: the default ones.
        cell: makes the cell of a direction.

    """

    gates: int
    states: int
    activations: tuple[str, ...]
    cell: Callable[[Call, Emitter, Weights, int, Sequence[Activation]], Cell]


KINDS = {
    "RNN": Kind(1, 1, ("Tanh",), _rnn),
    "GRU": Kind(3, 1, ("Sigmoid", "Tanh"), _gru),
    "LSTM": Kind(4, 2, ("Sigmoid", "Tanh", "Tanh"), _lstm),
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
    outputs: list[list[Value]] = []
    finals: list[list[Value]] = [[] for _ in range(kind.states)]
    for number, backwards in enumerate(runs[direction]):
        emit = Emitter(call, f"{call.result}.{'backward' if backwards else 'forward'}")
        weights = _weights(call, kind, number, len(runs[direction]), x.shape[2])
        cell = kind.cell(call, emit, weights, number, _activations(call, kind, number))
        state: State = [
            _initial(call, emit, 5 + i, number, (batch, weights.hidden)) for i in range(kind.states)
        ]
        products = emit.dense("x", x, *_input_side(emit, node.op, call, weights))
        made: list[Value] = []
        for t in reversed(range(steps)) if backwards else range(steps):
            state = cell.step(emit.at(t), _row(emit.at(t), products, t), state)
            made.append(_present(state[0]))
        outputs.append(made[::-1] if backwards else made)
        for i, value in enumerate(state):
            finals[i].append(_present(value))
    return _results(call, outputs, finals, by_batch)


def _present(value: Value | None) -> Value:
    assert value is not None, "a step computes every state"
    return value


def _input_side(emit: Emitter, op: str, call: Call, w: Weights) -> tuple[Value, Value]:
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


def _results(
    call: Call, outputs: list[list[Value]], finals: list[list[Value]], by_batch: bool
) -> list[Value]:
    """Y (steps, directions, n, hidden) and the last states (directions, n, hidden)."""
    names = [*call.node.outputs, "", ""]
    batch, hidden = outputs[0][0].shape
    r = call.result or call.node.name
    sides = []
    for number, rows in enumerate(outputs):
        lifted = [
            call.reshape(h, (1, 1, batch, hidden), f"{r}.direction{number}.row{t}")
            for t, h in enumerate(rows)
        ]
        sides.append(_joined(call, lifted, 0, f"{r}.direction{number}"))
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


def _weights(call: Call, kind: Kind, number: int, directions: int, inputs: int) -> Weights:
    w, r = call.array(1, "the input weights"), call.array(2, "the recurrent weights")
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
    for name, (found, wanted) in shapes.items():
        if tuple(found) != wanted:
            raise ModelFormatError(f"{name} has shape {list(found)}", expected=str(list(wanted)))
    return Weights(w[number], r[number], bias[number, :rows], bias[number, rows:])


def _initial(call: Call, emit: Emitter, i: int, number: int, shape: Shape) -> Value | None:
    """The first state of a direction; None where it is zeros."""
    if not call.has(i):
        return None
    by_batch = call.node.get_int("layout", 0) != 0
    if call.is_known(i):
        known = call.array(i)
        if not np.any(known):
            return None
        known = known.swapaxes(0, 1) if by_batch and known.ndim == 3 else known
        if known.shape[1:] != shape or len(known) <= number:
            raise ModelFormatError(
                f"input {i}, a first state, has shape {list(call.shape(i))}",
                expected=f"{list(shape)} for each direction",
            )
        rows = known[number]
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
    if steps > MOST_STEPS:
        raise UnsupportedError(f"{steps} steps", expected=f"at most {MOST_STEPS}, as they unroll")
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
    names = list(node.get_strings("activations") or kind.activations)
    if len(names) == count:
        names *= 2
    names = names[number * count : (number + 1) * count]
    known = {name.lower(): name for name in (*ONE_OP, "LeakyRelu", "HardSigmoid", "Affine")}
    alphas, betas = node.get_floats("activation_alpha"), node.get_floats("activation_beta")
    refused = [n for n in names if n.lower() not in known]
    if refused or len(names) != count or node.get_float("clip", 0):
        raise UnsupportedError(
            f"{node.op} with activations {names}" + (" and clip" if node.has("clip") else ""),
            expected=f"{count} of {', '.join(known.values())}, without clip",
            hint="train the layer with its usual activations",
        )

    def parameter(values: tuple[float, ...] | None, i: int) -> float | None:
        return values[i] if values is not None and i < len(values) else None

    first = number * count
    return [
        Activation(known[n.lower()], parameter(alphas, first + i), parameter(betas, first + i))
        for i, n in enumerate(names)
    ]
