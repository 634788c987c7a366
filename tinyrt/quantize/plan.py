"""Statistics -> decisions: which tensor gets which parameters. Nothing is changed here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, Graph, QParams, Value
from tinyrt.ops import OPS
from tinyrt.ops.spec import Quant
from tinyrt.quantize.ranges import Range, weight_params


@dataclass(frozen=True, slots=True)
class QuantConfig:
    """What the user may choose.

    Attributes:
        per_channel_dense: one scale per output channel for fully connected layers too.

    """

    per_channel_dense: bool = False


@dataclass(frozen=True, slots=True)
class QuantPlan:
    """The decisions.

    Attributes:
        activations: value name -> parameters, for every tensor that becomes int8.
        weights: node output name -> parameters of its weights (input 1).

    """

    activations: dict[str, QParams] = field(default_factory=dict)
    weights: dict[str, QParams] = field(default_factory=dict)

    def to_json(self) -> str:
        """The plan as readable JSON."""
        tables = {"activations": self.activations, "weights": self.weights}
        return json.dumps(
            {
                kind: {
                    name: {"scales": list(q.scales), "zero_point": q.zero_point, "axis": q.axis}
                    for name, q in table.items()
                }
                for kind, table in tables.items()
            },
            indent=1,
        )


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
    groups = _Groups(graph)
    fixed = {
        node.output.name: QParams((spec.fixed_output[0],), spec.fixed_output[1])
        for node in graph.bound()
        if (spec := OPS[node.op]).fixed_output is not None
    }
    merged: dict[str, Range] = {}
    prescribed: dict[str, QParams] = {}
    for name in groups.names:
        root = groups.find(name)
        if name in fixed:
            prescribed[root] = fixed[name]
        else:
            found = _range(graph.value(name), ranges)
            merged[root] = merged[root].union(found) if root in merged else found
    params = {root: prescribed.get(root) or r.asymmetric() for root, r in merged.items()}
    params.update(prescribed)
    activations = {name: params[groups.find(name)] for name in groups.names}
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
    return {name: groups.find(name) for name in groups.names}


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
        self.names = list(self.parent)

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
