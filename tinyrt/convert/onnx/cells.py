"""Cells of ONNX's recurrent layers: what one step emits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.weights import Array
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Value

ONE_OP = {"Sigmoid": "logistic", "Tanh": "tanh", "Relu": "relu"}
"""Activations that are one op without parameters."""

DEFAULTS: dict[str, tuple[float, float | None]] = {
    "LeakyRelu": (0.01, None),
    "Elu": (1.0, None),
    "HardSigmoid": (0.2, 0.5),
    "Affine": (1.0, 0.0),
}
"""Activations with parameters -> alpha and beta where the file gives none; None: takes no beta."""

CellState = Sequence[Value | None]
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
        size = (x.shape[0], count)
        return self("slice", name, x, begin=(0, first), size=size, strides=(1, 1))


@dataclass(frozen=True, slots=True)
class Activation:
    """A function that the layer's attributes name; with a limit, of what is within -limit to it."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0
    limit: float = 0.0

    @classmethod
    def all_of(
        cls,
        names: Sequence[str],
        alphas: Sequence[float],
        betas: Sequence[float],
        limit: float = 0.0,
    ) -> list[Activation]:
        """The functions of these names: each that has parameters takes the next ones."""
        next_alphas, next_betas = iter(alphas), iter(betas)
        functions = []
        for name in names:
            alpha, beta = DEFAULTS.get(name, (None, None))
            functions.append(
                cls(
                    name,
                    0.0 if alpha is None else next(next_alphas, alpha),
                    0.0 if beta is None else next(next_betas, beta),
                    limit,
                )
            )
        return functions

    def __call__(self, emit: Emitter, name: str, x: Value) -> Value:
        """Emit the function of ``x``."""
        if self.limit:
            low, high = (emit.constant("limits", np.full(1, n)) for n in (-self.limit, self.limit))
            x = emit("minimum", f"{name}_clipped", emit("maximum", f"{name}_raised", x, low), high)
        if self.name in ONE_OP:
            return emit(ONE_OP[self.name], name, x)
        if self.name == "LeakyRelu":
            return emit("leaky_relu", name, x, alpha=self.alpha)
        if self.name == "Elu":
            return self._elu(emit, name, x)
        slope = emit.constant("alpha", np.full(1, self.alpha))
        shift = emit.constant("beta", np.full(1, self.beta))
        sloped = emit("mul", f"{name}_scaled", x, slope)
        if self.name == "HardSigmoid":
            return emit("relu_0_to_1", name, emit("add", f"{name}_shifted", sloped, shift))
        return emit("add", name, sloped, shift)  # Affine

    def _elu(self, emit: Emitter, name: str, x: Value) -> Value:
        """``alpha * elu(x) + (1 - alpha) * relu(x)``."""
        if self.alpha == 1:
            return emit("elu", name, x)
        slope = emit.constant("alpha", np.full(1, self.alpha))
        rest = emit.constant("rest", np.full(1, 1 - self.alpha))
        below = emit("mul", f"{name}_below", emit("elu", f"{name}_elu", x), slope)
        above = emit("mul", f"{name}_above", emit("relu", f"{name}_relu", x), rest)
        return emit("add", name, below, above)


class Cell(Protocol):
    """One direction of a layer."""

    def step(self, emit: Emitter, x: Value, state: CellState) -> tuple[Value, ...]:
        """The next state, the layer's output first; ``x`` is this step's product (n, gates)."""
        ...


@dataclass(frozen=True, slots=True)
class CellWeights:
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

    def step(self, emit: Emitter, x: Value, state: CellState) -> tuple[Value, ...]:
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

    def step(self, emit: Emitter, x: Value, state: CellState) -> tuple[Value, ...]:
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

    def step(self, emit: Emitter, x: Value, state: CellState) -> tuple[Value, ...]:
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
            reset_state = emit("mul", "remembered", r, h)
            product = emit.dense("candidate_h", reset_state, self.candidate)
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


def rnn_cell(
    call: Call, emit: Emitter, w: CellWeights, number: int, f: Sequence[Activation]
) -> Cell:
    """The cell of one direction of ONNX's RNN."""
    del call, number
    return RnnCell(emit.constant("R", w.r), f[0])


def lstm_cell(
    call: Call, emit: Emitter, w: CellWeights, number: int, functions: Sequence[Activation]
) -> Cell:
    """The cell of one direction of ONNX's LSTM; what is clipped are its gates, not its state."""
    if call.node.get_int("input_forget", 0):
        raise UnsupportedError("LSTM with input_forget", expected="independent gates")
    peepholes = None
    if call.has(7):
        weights = call.array(7, "the peepholes")
        if weights.ndim != 2 or weights.shape[1] != 3 * w.hidden or len(weights) <= number:
            raise ModelFormatError(
                f"peepholes of shape {list(weights.shape)}",
                expected=f"{3 * w.hidden} for each direction",
            )
        rows = weights[number].reshape(3, w.hidden)
        i, o, g = (emit.constant(f"P{k}", row) for k, row in enumerate(rows))
        peepholes = (i, o, g)
    gate, candidate, state = functions
    plain = replace(state, limit=0.0)
    return LstmCell(emit.constant("R", w.r), w.hidden, peepholes, gate, candidate, plain)


def gru_cell(
    call: Call, emit: Emitter, w: CellWeights, number: int, f: Sequence[Activation]
) -> Cell:
    """The cell of one direction of ONNX's GRU."""
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
    cell: Callable[[Call, Emitter, CellWeights, int, Sequence[Activation]], Cell]
