"""Statistics -> decisions: which tensor gets which parameters. Nothing is changed here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, Graph, QParams, Value
from tinyrt.ops import OPS
from tinyrt.ops.spec import Quant
from tinyrt.quantize.config import QuantConfig
from tinyrt.quantize.ranges import Range, dequantize_weights, quantize_weights, weight_params


@dataclass(frozen=True, slots=True)
class QuantPlan:
    """The decisions.

    Attributes:
        activations: value name -> parameters, for every tensor that becomes int8.
        weights: node output name -> parameters of its weights (input 1).
        rounded: node output name -> its int8 weights, where they are not merely the nearest.
        biases: node output name -> its real bias, one per output channel, where it is not the
            graph's.

    """

    activations: dict[str, QParams] = field(default_factory=dict)
    weights: dict[str, QParams] = field(default_factory=dict)
    rounded: dict[str, NDArray[np.int8]] = field(default_factory=dict)
    biases: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def to_json(self) -> str:
        """The plan as readable JSON."""
        tables = {"activations": self.activations, "weights": self.weights}
        arrays: dict[str, Mapping[str, NDArray[Any]]] = {
            "rounded": self.rounded,
            "biases": self.biases,
        }
        parameters = {
            kind: {
                name: {"scales": list(q.scales), "zero_point": q.zero_point, "axis": q.axis}
                for name, q in table.items()
            }
            for kind, table in tables.items()
        }
        lists = {kind: {n: a.tolist() for n, a in t.items()} for kind, t in arrays.items()}
        return json.dumps(parameters | lists, indent=1)

    def stored_weights(self, node: BoundNode) -> NDArray[np.int8]:
        """The int8 weights of a weighted node."""
        name, weights = node.output.name, node.input(1).data
        assert weights is not None, "the plan refuses weights that are not constant"
        if name in self.rounded:
            return self.rounded[name]
        return quantize_weights(weights, self.weights[name])

    def bias(self, node: BoundNode) -> NDArray[np.float32] | None:
        """The real bias of a weighted node, None where it has none."""
        value = node.optional(2)
        return self.biases.get(node.output.name, value.data if value is not None else None)

    def real_weights(self, graph: Graph) -> dict[str, tuple[NDArray[np.float32], ...]]:
        """Node output name -> weights, and bias where there is one, as the int8 model has them."""
        return {
            node.output.name: self.real_constants(node)
            for node in graph.bound()
            if node.output.name in self.weights
        }

    def real_constants(self, node: BoundNode) -> tuple[NDArray[np.float32], ...]:
        """Weights, and bias where there is one, of one weighted node as the int8 model has them."""
        weights = dequantize_weights(self.stored_weights(node), self.weights[node.output.name])
        bias = self.bias(node)
        return (weights,) if bias is None else (weights, bias)


def make_plan(
    graph: Graph, ranges: Mapping[str, Range], config: QuantConfig | None = None
) -> QuantPlan:
    """Decide every tensor's parameters (full-integer scheme of the TFLite specification).

    Ops that only move data share their input's parameters: such tensors form one group with one
    range. Softmax, logistic and tanh prescribe their output's parameters.

    Args:
        graph: the optimised float graph.
        ranges: value name -> range, from calibration.
        config: the user's choices.

    Raises:
        UnsupportedError: an op has no integer form, or weights are computed at run time.

    """
    config = config or QuantConfig()
    for node in graph.bound():
        _check_quantisable(node)
    activations = {
        name: prescribed for names, prescribed in _prescribed(graph).items() for name in names
    }
    for names, found in shared_ranges(graph, ranges).items():
        activations.update(dict.fromkeys(names, found.asymmetric()))
    weights = {
        node.output.name: _weights(node, activations, config)
        for node in graph.bound()
        if OPS[node.op].quant is Quant.WEIGHTED
    }
    return QuantPlan(activations, weights)


def shared_parameters(graph: Graph) -> dict[str, str]:
    """Which activations must share scale and zero point.

    Returns:
        For every tensor that becomes int8, the name of the one that stands for its group.

    """
    groups = _Groups(graph)
    return {name: groups.find(name) for name in groups.parent}


def shared_ranges(graph: Graph, ranges: Mapping[str, Range]) -> dict[tuple[str, ...], Range]:
    """Tensors that must share their parameters -> the range that covers them all.

    Tensors whose parameters an op prescribes are not among them.

    Args:
        graph: the float graph.
        ranges: value name -> range, from calibration.

    """
    groups = _Groups(graph)
    free = set(groups.members()) - set(_prescribed(graph))
    found = {}
    for names in groups.members():
        if names in free:
            parts = [_range(graph.value(name), ranges) for name in names]
            found[names] = Range(min(p.low for p in parts), max(p.high for p in parts))
    return found


def _prescribed(graph: Graph) -> dict[tuple[str, ...], QParams]:
    """Tied tensors -> the parameters that an op prescribes for one of them."""
    fixed = {
        node.output.name: QParams((spec.fixed_output[0],), spec.fixed_output[1])
        for node in graph.bound()
        if (spec := OPS[node.op]).fixed_output is not None
    }
    found = {}
    for names in _Groups(graph).members():
        there = [fixed[name] for name in names if name in fixed]
        if there:
            found[names] = there[-1]
    return found


def _check_quantisable(node: BoundNode) -> None:
    quant = OPS[node.op].quant
    if quant in (Quant.FLOAT_ONLY, Quant.BOUNDARY):
        raise UnsupportedError(
            f"{node.op} has no integer form",
            op=node.describe(),
            tensor=node.output.describe(),
            hint="pass the float model through the graph passes, which fold it",
        )
    if quant is not Quant.WEIGHTED:
        return
    for value in node.inputs[1:]:
        if value is not None and not value.is_constant:
            raise UnsupportedError(
                "the weights are computed at run time",
                op=node.describe(),
                tensor=value.describe(),
                expected="constant weights and bias",
                hint="export the model with its weights frozen",
            )


def _range(value: Value, ranges: Mapping[str, Range]) -> Range:
    return Range.of(value.data) if value.data is not None else ranges[value.name]


def _weights(node: BoundNode, activations: Mapping[str, QParams], config: QuantConfig) -> QParams:
    weights, bias = (v.data if v is not None else None for v in (node.input(1), node.optional(2)))
    assert weights is not None, "checked before"
    axis: int | None = OPS[node.op].weight_axis
    if node.op == "fully_connected" and not config.per_channel_dense:
        axis = None
    x_scale = activations[node.input(0).name].scale
    return weight_params(weights, bias, x_scale, axis)


class _Groups:
    """Union-find over the tensors that become int8: members of a group share parameters."""

    def __init__(self, graph: Graph) -> None:
        self.parent: dict[str, str] = {name: name for name in graph.inputs}
        for node in graph.bound():
            weighted = OPS[node.op].quant is Quant.WEIGHTED
            self.parent.setdefault(node.output.name, node.output.name)
            data = node.inputs[:1] if weighted else node.inputs
            for value in data:
                if value is not None:
                    self.parent.setdefault(value.name, value.name)
        self._tie(graph)

    def members(self) -> list[tuple[str, ...]]:
        """The groups, in the order of their first tensors."""
        groups: dict[str, list[str]] = {}
        for name in self.parent:
            groups.setdefault(self.find(name), []).append(name)
        return [tuple(names) for names in groups.values()]

    def _tie(self, graph: Graph) -> None:
        fixed: set[str] = set()
        for node in graph.bound():
            spec = OPS[node.op]
            if spec.fixed_output is not None:
                fixed.add(node.output.name)
            if spec.quant is not Quant.SAME_AS_INPUT:
                continue
            inputs = [v.name for v in node.inputs if v is not None]
            # Joined with others, a prescribed range is rescaled first: it must not force its own
            # range upon them.
            free = [n for n in inputs if len(inputs) == 1 or self.find(n) not in fixed]
            for name in free:
                self._union(name, node.output.name, fixed)

    def find(self, name: str) -> str:
        while self.parent[name] != name:
            name = self.parent[name]
        return name

    def _union(self, a: str, b: str, fixed: set[str]) -> None:
        a, b = self.find(a), self.find(b)
        if a in fixed or b in fixed:
            fixed.update((a, b))
        self.parent[b] = a
