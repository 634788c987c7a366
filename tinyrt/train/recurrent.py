"""Whole LSTMs of a graph in training, in float and for int8."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from tinyrt.ir import BoundNode, DType, Graph, QParams, Value
from tinyrt.ops.lstm_gradient import Lstm, cell_states, clipped, gates_of, joined
from tinyrt.ops.shared.evaluate import reference_kernel
from tinyrt.ops.unidirectional_sequence_lstm import GATES, LstmAttrs, side_by_side
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.recurrent import cell_params, stored_inputs
from tinyrt.train.constants import SEQUENCE, parameter_places
from tinyrt.train.core.function import Array
from tinyrt.train.core.module import Module, Parameter
from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.fake_quant import FAKE_QUANTIZE, RangeQuantizer, Steps

Layer = TypeVar("Layer", bound=Module)


class SequenceLayer(Module):
    """The weights and biases of one LSTM over sequences, whose states begin anew with each run.

    Args:
        node: the op, samples before time; all its inputs but the first are constant, its states
            zeros.

    """

    def __init__(self, node: BoundNode) -> None:
        constants = [np.array(node.input(i).data) for i in range(1, 13)]
        by_gate = (
            {gate: Parameter(constants[at + i]) for i, gate in enumerate(GATES)} for at in (0, 4, 8)
        )
        self.weights, self.state_weights, self.biases = by_gate
        self._attrs = node.attrs_as(LstmAttrs)

    @property
    def operands(self) -> list[Parameter]:
        """Inputs 1 to 12 of the op."""
        return [
            p for kind in (self.weights, self.state_weights, self.biases) for p in kind.values()
        ]

    def forward(self, x: Tensor) -> Tensor:
        """(n, t, k) -> (n, t, units), the hidden state after each step."""
        return self.applied(x, self.operands)

    def applied(self, x: Tensor, operands: Sequence[Tensor]) -> Tensor:
        """``forward`` with other operands in the place of its own."""
        zeros = Tensor(np.zeros((x.shape[0], len(self.biases["cell"].data)), x.dtype))
        return apply(SEQUENCE, self._attrs, x, *operands, zeros, zeros)


class QuantizedSequenceLayer(SequenceLayer):
    """The same in training for int8, where the op computes in int8 and int16, or for int16x8.

    Weights have one scale for each matrix, the cell state one that is a power of two.

    Args:
        node: the op.
        cell: the calibrated range of the cell state.
        dtype: of input and output, INT8 or INT16.
        bits: of the weights, 8 or 4.

    """

    def __init__(
        self, node: BoundNode, cell: Range, dtype: DType = DType.INT8, bits: int = 8
    ) -> None:
        super().__init__(node)
        self.cell, self.dtype = CellQuantizer(cell), dtype
        self.weights_dtype = DType.INT4 if bits == 4 else DType.INT8

    def answer(
        self, node: BoundNode, x: Tensor, steps: Array, x_q: QParams, y_q: QParams
    ) -> tuple[Tensor, Array]:
        """The float output with the gradient of rounded weights, and the integer kernel's answer.

        Args:
            node: the float op for this number of samples.
            x: its input, as its integers stand for it.
            steps: these integers.
            x_q: their parameters.
            y_q: parameters of the output and the hidden state.

        """
        stored = self.stored(node, x_q, y_q)
        operands = [
            apply(FAKE_QUANTIZE, Steps(_data(v), bounds=None), parameter, _scale(v))
            for v, parameter in zip(stored, self.operands, strict=False)
        ]
        y, h, c = (
            replace(v, dtype=dtype, q=q)
            for v, dtype, q in zip(
                node.outputs,
                (self.dtype, self.dtype, DType.INT16),
                (y_q, y_q, self.cell.q),
                strict=True,
            )
        )
        inputs = (replace(node.input(0), dtype=self.dtype, q=x_q), *stored)
        kernel = reference_kernel(replace(node, inputs=inputs, outputs=(y, h, c)))
        answer, _, _ = kernel(steps, *map(_data, stored))
        return self.applied(x, operands), answer

    def stored(self, node: BoundNode, x_q: QParams, y_q: QParams) -> list[Value]:
        """Inputs 1 to 14 of the op on integers, with the parameters as they are now."""
        now = [
            replace(node.input(i), data=parameter.data)
            for i, parameter in enumerate(self.operands, 1)
        ]
        current = replace(node, inputs=(node.input(0), *now, *node.inputs[13:]))
        x = replace(node.input(0), dtype=self.dtype, q=x_q)
        return list(stored_inputs(current, x, y_q, self.cell.q, self.weights_dtype))

    def constants(self, node: BoundNode) -> list[Value]:
        """The parameters as the node's constants, in float."""
        places = enumerate(self.operands, 1)
        return [Value.constant(node.input(i).name, p.data.copy()) for i, p in places]

    def observe(self, x: Tensor, y: Tensor) -> None:
        """Look at the cell states on the way from the op's input to its output."""
        samples, outputs = (t.data.transpose(1, 0, 2) for t in (x, y))
        zeros = np.zeros_like(outputs[:1])
        w, r, b = side_by_side(*(p.data for p in self.operands))
        gates = gates_of(samples, w, r, b, joined(0, zeros, outputs[:-1]))
        lstm = Lstm(self._attrs.cell_clip)
        self.cell.observe(Tensor(clipped(lstm, cell_states(lstm, gates, zeros[0]))))


class CellQuantizer(RangeQuantizer):
    """The cell state's int16 parameters: a power of two that covers the range."""

    @property
    def q(self) -> QParams:
        """Scale and zero point at present."""
        return cell_params(Range(self.low.item(), self.high.item()))


def sequence_layers_of(graph: Graph, make: Callable[[BoundNode], Layer]) -> dict[str, Layer]:
    """Node name -> the layer of an LSTM over sequences; nodes with the same weights share one.

    Args:
        graph: one whose constants are those of one layer each, as ``with_own_constants`` gives it.
        make: gives the layer of a node.

    """
    by_weights: dict[str, Layer] = {}
    by_node = {}
    for node in graph.bound():
        if node.op == SEQUENCE and parameter_places(node, {}):
            name = node.input(1).name
            if name not in by_weights:
                by_weights[name] = make(node)
            by_node[node.name] = by_weights[name]
    return by_node


def _data(value: Value) -> Array:
    assert value.data is not None, "all but the first input are constants"
    return value.data


def _scale(value: Value) -> Tensor:
    assert value.q is not None, "stored constants have a scale"
    return Tensor(np.asarray(value.q.scales, np.float32))
