"""Execute a quantisation plan; nothing is decided here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode, DType, Graph, Node, QParams, Stage, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.quantize import QuantizeAttrs, quantize_array
from tinyrt.ops.spec import Quant
from tinyrt.quantize.plan import QuantPlan
from tinyrt.quantize.ranges import quantize_bias


def apply_plan(graph: Graph, plan: QuantPlan) -> Graph:
    """The int8 graph: activations, weights and biases as the plan says.

    Where an op that only moves data reads a tensor with other parameters than its output's, a
    quantize op that rescales it is put in between.

    Args:
        graph: the float graph that the plan was made for.
        plan: parameters for every activation and every weight.

    """
    return _Applier(graph, plan).run()


class _Applier:
    """The int8 graph being built."""

    def __init__(self, graph: Graph, plan: QuantPlan) -> None:
        self.graph = graph
        self.plan = plan
        self.values: dict[str, Value] = {}
        self.nodes: list[Node] = []

    def run(self) -> Graph:
        for value in self.graph.input_values:
            self._add(_activation(value, self.plan.activations[value.name]))
        for node in self.graph.bound():
            weighted = OPS[node.op].quant is Quant.WEIGHTED
            inputs = self._weighted(node) if weighted else self._data(node)
            self._add(_activation(node.output, self.plan.activations[node.output.name]))
            self.nodes.append(replace(node.node, inputs=inputs))
        return verify(replace(self.graph, values=self.values, nodes=tuple(self.nodes)), Stage.INT8)

    def _add(self, value: Value) -> str:
        self.values[value.name] = value
        return value.name

    def _fresh(self, wish: str) -> str:
        """A name that neither graph has."""
        name, i = wish, 0
        while name in self.values or name in self.graph.values:
            i += 1
            name = f"{wish}_{i}"
        return name

    def _weighted(self, node: BoundNode) -> tuple[str, ...]:
        x, weights, bias = node.input(0), node.input(1), self.plan.bias(node)
        q = self.plan.weights[node.output.name]
        names = [x.name, self._constant(weights.name, self.plan.stored_weights(node), q)]
        if bias is not None:
            there = node.optional(2)
            name = there.name if there is not None else self._fresh(f"{node.output.name}_bias")
            x_scale = self.plan.activations[x.name].scale
            names.append(self._constant(name, *quantize_bias(bias, x_scale, q)))
        return tuple(names)

    def _constant(self, name: str, data: NDArray[Any], q: QParams) -> str:
        """A constant of that name, or another where the name stands for something else."""
        there = self.values.get(name)
        if there is None:
            return self._add(Value.constant(name, data, q))
        if there.q == q and there.data is not None and np.array_equal(there.data, data):
            return name
        return self._add(Value.constant(self._fresh(f"{name}_q"), data, q))

    def _data(self, node: BoundNode) -> tuple[str, ...]:
        same = OPS[node.op].quant is Quant.SAME_AS_INPUT
        target = self.plan.activations[node.output.name]
        names = []
        for value in node.inputs:
            if value is None:
                names.append("")
                continue
            q = self.plan.activations[value.name]
            if value.data is not None:
                q = target if same else q
                data = quantize_array(value.data, np.float32(q.scale), q.zero_point)
                names.append(self._constant(value.name, data, q))
            elif same and q != target:
                names.append(self._rescale(value, target))
            else:
                names.append(value.name)
        return tuple(names)

    def _rescale(self, value: Value, q: QParams) -> str:
        name = self._add(_activation(replace(value, name=self._fresh(f"{value.name}_rescaled")), q))
        attrs = QuantizeAttrs(DType.INT8)
        self.nodes.append(Node("quantize", name, (value.name,), (name,), attrs))
        return name


def _activation(value: Value, q: QParams) -> Value:
    return replace(value, dtype=DType.INT8, q=q)
