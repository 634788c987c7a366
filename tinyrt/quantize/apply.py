"""Execute a quantisation plan; nothing is decided here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.pointwise import spread
from tinyrt.ir import BoundNode, DType, Graph, Node, QParams, Stage, Value
from tinyrt.ops import OPS, is_weighted, verify
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.quantize import QuantizeAttrs, quantize_array
from tinyrt.ops.shared.spec import NoAttrs, Quant
from tinyrt.quantize.compared import compares_as_stored, factor_for, is_comparison, number_for
from tinyrt.quantize.config import QuantConfig, Scheme
from tinyrt.quantize.plan import QuantPlan
from tinyrt.quantize.ranges import around_zero, quantize_bias
from tinyrt.quantize.recurrent import begins_anew, stored_inputs
from tinyrt.quantize.schemes import Layout, has_constant_weights, lay_out


def apply_plan(graph: Graph, plan: QuantPlan) -> Graph:
    """The quantised graph: activations, weights and biases as the plan says.

    Where an op that only moves data reads a tensor with other parameters than its output's, or
    running sums read one whose zero point an op prescribes, a quantize op that rescales it is put
    in between.

    Args:
        graph: the float graph that the plan was made for.
        plan: parameters for every activation and every weight.

    """
    return _Applier(plan, plan.layout or lay_out(graph, QuantConfig())).run()


class _Applier:
    """The quantised graph being built."""

    def __init__(self, plan: QuantPlan, layout: Layout) -> None:
        self.graph = layout.graph
        self.plan = plan
        self.layout = layout
        self.values: dict[str, Value] = {}
        self.nodes: list[Node] = []

    def run(self) -> Graph:
        for value in self.graph.input_values:
            self._add(self._activation(value))
        for node in self.graph.bound():
            self._node(node)
        for value in self.graph.output_values:
            if value.is_constant:
                self.values.setdefault(value.name, value)
        graph = replace(self.graph, values=self.values, nodes=tuple(self.nodes))
        # A ``pointwise`` that was gathered for int8 may lie among float ops now.
        return verify(spread(graph, all_of_them=False), Stage.INT8)

    def _node(self, node: BoundNode) -> None:
        output = self._activation(node.output)
        if node.output.name in self.layout.borders:
            self._border(node, output)
            return
        weighted = is_weighted(node)
        if not self.layout.computes_in_integers(node):
            inputs = self._stored(node) if weighted else self._floats(node.inputs)
        else:
            if begins_anew(node):
                self._recurrent(node, output)
                return
            inputs = self._inputs(node)
        for value in node.outputs[1:]:
            self._add(value)
        self._add(output)
        self.nodes.append(replace(node.node, inputs=inputs))

    def _inputs(self, node: BoundNode) -> tuple[str, ...]:
        """The inputs of an op on integers."""
        if is_weighted(node):
            return self._weighted(node)
        varying = any(v is not None and not v.is_constant for v in node.inputs)
        return self._compared(node) if is_comparison(node) and varying else self._data(node)

    def _border(self, node: BoundNode, output: Value) -> None:
        """From one dtype to another."""
        self._add(output)
        to_float = output.dtype is DType.FLOAT32
        op, attrs = ("dequantize", NoAttrs()) if to_float else ("quantize", _to(output))
        self.nodes.append(replace(node.node, op=op, attrs=attrs))

    def _add(self, value: Value) -> str:
        self.values[value.name] = value
        return value.name

    def _activation(self, value: Value) -> Value:
        if not self.layout.is_integer(value.name):
            return value
        dtype = self.layout.dtypes[value.name]
        return replace(value, dtype=dtype, q=self.plan.activations[value.name])

    def _fresh(self, wish: str) -> str:
        """A name that neither graph has."""
        name, i = wish, 0
        while name in self.values or name in self.graph.values:
            i += 1
            name = f"{wish}_{i}"
        return name

    def _floats(self, inputs: Sequence[Value | None]) -> tuple[str, ...]:
        for value in inputs:
            if value is not None and value.is_constant:
                self.values.setdefault(value.name, value)
        return tuple(v.name if v is not None else "" for v in inputs)

    def _stored(self, node: BoundNode) -> tuple[str, ...]:
        """Constants of a float op, behind a dequantize where they are stored in fewer bits."""
        scheme = self.layout.schemes[node.output.name]
        weights, bias = node.input(1), node.optional(2)
        if scheme is Scheme.FLOAT or not has_constant_weights(node):
            return self._floats(node.inputs)
        names = [node.input(0).name]
        if scheme is Scheme.WEIGHTS_FLOAT16:
            constants = (v for v in (weights, bias) if v is not None)
            return (*names, *(self._widened(v, np.asarray(v.data, np.float16)) for v in constants))
        q = self.plan.weights[node.output.name]
        names.append(self._widened(weights, self.plan.stored_weights(node), q))
        real = self.plan.bias(node)
        if real is not None:
            name = bias.name if bias is not None else self._fresh(f"{node.output.name}_bias")
            names.append(self._constant(name, real, None))
        return tuple(names)

    def _widened(self, value: Value, data: NDArray[Any], q: QParams | None = None) -> str:
        """The value as float32, dequantised from the constant stored in its place."""
        stored = self._constant(f"{value.name}/stored", data, q)
        for node in self.nodes:
            if node.op == "dequantize" and node.inputs == (stored,):
                return node.output
        name = self._add(Value(self._fresh(f"{value.name}/float"), DType.FLOAT32, value.shape))
        self.nodes.append(Node("dequantize", name, (stored,), (name,), NoAttrs()))
        return name

    def _weighted(self, node: BoundNode) -> tuple[str, ...]:
        x, weights, bias = node.input(0), node.input(1), self.plan.bias(node)
        q, dtype = self.plan.weights[node.output.name], self.plan.weight_dtype(node)
        stored = self.plan.stored_weights(node)
        names = [x.name, self._constant(weights.name, stored, q, dtype)]
        if bias is not None:
            bias_value = node.optional(2)
            name = (
                bias_value.name
                if bias_value is not None
                else self._fresh(f"{node.output.name}_bias")
            )
            x_scale = self.plan.activations[x.name].scale
            wide = self.layout.dtypes[x.name] is DType.INT16
            bias_dtype = DType.INT64 if wide else DType.INT32
            names.append(self._constant(name, *quantize_bias(bias, x_scale, q, bias_dtype)))
        return tuple(names)

    def _recurrent(self, node: BoundNode, output: Value) -> None:
        """A sequence LSTM; its states are of the output's dtype and int16."""
        self._add(output)
        hidden, cell = (replace(v, q=self.plan.activations[v.name]) for v in node.outputs[1:])
        assert hidden.q is not None
        assert cell.q is not None
        self._add(replace(hidden, dtype=output.dtype))
        self._add(replace(cell, dtype=DType.INT16))
        x = self.values[node.input(0).name]
        narrow = self.layout.schemes[node.output.name] is Scheme.INT4
        weights = DType.INT4 if narrow else DType.INT8
        constants = stored_inputs(node, x, hidden.q, cell.q, weights)
        names = (self._constant(v.name, np.asarray(v.data), v.q) for v in constants)
        self.nodes.append(replace(node.node, inputs=(x.name, *names)))

    def _constant(
        self, name: str, data: NDArray[Any], q: QParams | None, dtype: DType | None = None
    ) -> str:
        """A constant of that name, or another where the name stands for something else."""
        value = Value.constant(name, data, q, dtype)
        existing = self.values.get(name)
        if existing is None:
            return self._add(value)
        alike = (existing.q, existing.dtype) == (q, value.dtype)
        if alike and existing.data is not None and np.array_equal(existing.data, data):
            return name
        return self._add(replace(value, name=self._fresh(f"{name}_q")))

    def _data(self, node: BoundNode) -> tuple[str, ...]:
        same = OPS[node.op].quant is Quant.SAME_AS_INPUT
        target = self.plan.activations[node.output.name] if same else None
        names: list[str] = []
        for value in node.inputs:
            if value is None or not self.layout.is_integer(value.name):
                names += self._floats([value])
                continue
            q = self.plan.activations[value.name]
            grid = target or (around_zero(q) if node.op == "cumsum" else q)
            if value.data is not None:
                dtype = self.layout.dtypes[value.name]
                scale = np.float32(grid.scale)
                data = quantize_array(value.data, scale, grid.zero_point, dtype)
                names.append(self._constant(value.name, data, grid))
            else:
                names.append(value.name if q == grid else self._rescale(value, grid))
        return tuple(names)

    def _compared(self, node: BoundNode) -> tuple[str, ...]:
        """Inputs of a comparison, rescaled so that its kernel tells their values apart."""
        values = (node.input(0), node.input(1))
        free = [self.plan.activations[v.name] for v in values if v.data is None]
        widest = max(free, key=lambda q: q.scale)
        dtype = self.layout.dtypes[next(v.name for v in values if v.data is None)]
        alike = compares_as_stored(node, dtype)
        factor = 1.0 if alike else factor_for(q.scale for q in free)
        names = []
        for i, value in enumerate(values):
            q = self.plan.activations[value.name]
            if value.data is not None:
                data, q = number_for(node, i, widest, dtype)
                names.append(self._constant(value.name, data, _times(q, factor)))
            elif alike and q != widest:
                names.append(self._rescale(value, widest))
            else:
                names.append(value.name if factor == 1 else self._product(value, factor))
        return tuple(names)

    def _product(self, value: Value, factor: float) -> str:
        """The value times a power of two: the same integers, at another scale."""
        dtype = self.layout.dtypes[value.name]
        one = self._constant(f"{value.name}/factor", np.ones(1, dtype.numpy), QParams((factor,)))
        output = self._like(value, "times", _times(self.plan.activations[value.name], factor))
        name = self._add(output)
        self.nodes.append(Node("mul", name, (value.name, one), (name,), MulAttrs()))
        return name

    def _rescale(self, value: Value, q: QParams) -> str:
        output = self._like(value, "rescaled", q)
        name = self._add(output)
        self.nodes.append(Node("quantize", name, (value.name,), (name,), _to(output)))
        return name

    def _like(self, value: Value, what: str, q: QParams) -> Value:
        name = self._fresh(f"{value.name}_{what}")
        return replace(value, name=name, dtype=self.layout.dtypes[value.name], q=q)


def _times(q: QParams, factor: float) -> QParams:
    return replace(q, scales=(q.scale * factor,))


def _to(output: Value) -> QuantizeAttrs:
    return QuantizeAttrs(output.dtype)
