"""Statistics -> decisions: which tensor gets which parameters. Nothing is changed here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import UnsupportedError, error_context
from tinyrt.ir import BoundNode, DType, Graph, QParams, Value
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import CONSTANT_WEIGHTS, Quant
from tinyrt.quantize.centring import with_equal_steps
from tinyrt.quantize.config import QuantConfig, Scheme
from tinyrt.quantize.faint import lifted
from tinyrt.quantize.flat import deciding
from tinyrt.quantize.ranges import Range, dequantize_weights, quantize_weights, weight_params
from tinyrt.quantize.recurrent import begins_anew, cell_params
from tinyrt.quantize.schemes import Layout, has_constant_weights, lay_out
from tinyrt.quantize.scores import narrowed


@dataclass(frozen=True, slots=True)
class QuantPlan:
    """The decisions.

    Attributes:
        activations: value name -> parameters, for every tensor that becomes int8 or int16.
        weights: node output name -> parameters of its weights (input 1), where they are integers.
        rounded: node output name -> its stored weights, where they are not merely the nearest.
        biases: node output name -> its real bias, one per output channel, where it is not the
            graph's.
        layout: the graph that the names are from, and dtypes; None where all is int8.

    """

    activations: dict[str, QParams] = field(default_factory=dict)
    weights: dict[str, QParams] = field(default_factory=dict)
    rounded: dict[str, NDArray[np.int8]] = field(default_factory=dict)
    biases: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    layout: Layout | None = None

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
        """The int8 weights of a weighted node, or its int4 ones, as int8."""
        name, weights = node.output.name, node.input(1).data
        assert weights is not None, "the plan refuses weights that are not constant"
        if name in self.rounded:
            return self.rounded[name]
        return quantize_weights(weights, self.weights[name], self.weight_dtype(node))

    def weight_dtype(self, node: BoundNode) -> DType:
        """INT8 or INT4."""
        if self.layout is None or not OPS[node.op].int4_weights:
            return DType.INT8
        narrow = self.layout.schemes[node.output.name] is Scheme.INT4
        return DType.INT4 if narrow else DType.INT8

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
    """Decide every tensor's parameters (schemes of the TFLite specification).

    Ops that only move data share their input's parameters: such tensors form one group with one
    range. Softmax, logistic and tanh prescribe their output's parameters.

    Args:
        graph: the optimised float graph.
        ranges: value name -> range, from calibration.
        config: the user's choices.

    Returns:
        The plan, for the graph of its layout: the same where no tensor changes its dtype.

    Raises:
        TinyrtError: a pattern of the user's matches no op.
        UnsupportedError: an op has no form in its scheme, or weights are computed at run time.

    """
    config = config or QuantConfig()
    layout = lay_out(graph, config)
    activations = {
        name: prescribed for names, prescribed in _prescribed(layout).items() for name in names
    }
    for names, range_ in shared_ranges(layout, ranges).items():
        activations.update(dict.fromkeys(names, range_.params(layout.dtypes[names[0]])))
    for node in layout.graph.bound():
        if begins_anew(node) and layout.is_integer(node.output.name):
            _, hidden, cell = node.node.outputs
            activations[hidden] = activations[node.output.name]
            activations[cell] = cell_params(ranges[cell])
    plan = QuantPlan(activations, layout=layout)
    weights = {
        node.output.name: _weights(plan, node, config)
        for node in layout.graph.bound()
        if has_constant_weights(node)
        and layout.schemes[node.output.name] not in (Scheme.FLOAT, Scheme.WEIGHTS_FLOAT16)
    }
    return replace(plan, weights=weights)


def shared_parameters(graph: Graph, layout: Layout | None = None) -> dict[str, str]:
    """Which activations must share scale and zero point.

    Args:
        graph: the float graph.
        layout: its dtypes; all are int8 by default.

    Returns:
        For every tensor that becomes integer, the name of the one that stands for its group.

    """
    groups = _Groups(layout or lay_out(graph, QuantConfig()))
    return {name: groups.find(name) for name in groups.parent}


def shared_ranges(layout: Layout, ranges: Mapping[str, Range]) -> dict[tuple[str, ...], Range]:
    """Tensors that must share their parameters -> the range that covers them all.

    Tensors whose parameters an op prescribes are not among them.

    Args:
        layout: the float graph and its tensors' dtypes.
        ranges: value name -> range, from calibration.

    """
    groups = _Groups(layout)
    free = set(groups.members()) - set(_prescribed(layout))
    shared = {}
    for names in groups.members():
        if names in free:
            parts = [_range(layout, name, ranges) for name in names]
            whole = Range(min(p.low for p in parts), max(p.high for p in parts))
            summed = any(_is_summed(layout.graph, name) for name in names)
            shared[names] = whole.around_zero() if summed else whole
    return with_equal_steps(layout.graph, shared, layout.dtypes)


def _is_summed(graph: Graph, name: str) -> bool:
    """Whether cumsum reads the tensor: TFLM's running sums begin at minus its zero point."""
    return any(node.op == "cumsum" for node in graph.consumers(name))


def _prescribed(layout: Layout) -> dict[tuple[str, ...], QParams]:
    """Tied tensors -> the parameters that an op prescribes for one of them."""
    fixed = {
        node.output.name: QParams((prescribed[0],), prescribed[1])
        for node in layout.graph.bound()
        if (prescribed := layout.fixed_output(node)) is not None
    }
    params = {}
    for names in _Groups(layout).members():
        options = [fixed[name] for name in names if name in fixed]
        if options:
            params[names] = options[-1]
    return params


def _range(layout: Layout, name: str, ranges: Mapping[str, Range]) -> Range:
    def range_of(name: str) -> Range | None:
        data = layout.graph.value(name).data
        if data is not None:
            return Range.of(data)
        return ranges.get(name, ranges.get(layout.origins.get(name, name)))

    def scores_of(name: str) -> Range | None:
        found = range_of(name)
        return found and narrowed(layout.graph, name, found, range_of).finite()

    observed = range_of(name)
    assert observed is not None, "every activation was observed"
    observed = lifted(layout.graph, name, observed, scores_of)
    whole = narrowed(layout.graph, name, observed, range_of).finite()
    return deciding(layout.graph, name, whole, range_of, layout.dtypes)


def _is_shared(layout: Layout, value: Value) -> bool:
    return value.is_constant and len(layout.graph.consumers(value.name)) > 1


def _weights(plan: QuantPlan, node: BoundNode, config: QuantConfig) -> QParams:
    weights, bias = (v.data if v is not None else None for v in (node.input(1), node.optional(2)))
    assert weights is not None, "checked when the graph was laid out"
    _require_numbers(node)
    axis: int | None = OPS[node.op].weight_axis
    dtype, x = plan.weight_dtype(node), plan.activations.get(node.input(0).name)
    # TFLM has int4 dense layers with one scale only; stored weights cost nothing to scale by row.
    fine = (config.per_channel_dense and dtype is DType.INT8) or x is None
    if node.op == "fully_connected" and not fine:
        axis = None
    in_int8 = plan.layout is not None and plan.layout.dtypes[node.input(0).name] is DType.INT8
    limited = bias if in_int8 else None
    with error_context(op=node.describe()):
        return weight_params(weights, limited, x.scale if x is not None else 1.0, axis, dtype)


def _require_numbers(node: BoundNode) -> None:
    """Raise ``UnsupportedError`` where weights or a bias are none."""
    for value in (node.input(1), node.optional(2)):
        if value is not None and value.data is not None and not np.isfinite(value.data).all():
            raise UnsupportedError(
                "weights hold NaN or infinity",
                op=node.describe(),
                tensor=value.describe(),
                expected="numbers, which integers can stand for",
                hint="look at how the model was trained, or keep this op in float",
            )


class _Groups:
    """Union-find over the tensors that become integers: members of a group share parameters."""

    def __init__(self, layout: Layout) -> None:
        self.parent: dict[str, str] = {}
        for name in layout.graph.inputs:
            self._enter(layout, name)
        for node in layout.graph.bound():
            weighted = OPS[node.op].quant in CONSTANT_WEIGHTS
            self._enter(layout, node.output.name)
            for name in node.node.inputs[:1] if weighted else node.node.inputs:
                self._enter(layout, name)
        self._tie(layout)

    def _enter(self, layout: Layout, name: str) -> None:
        if layout.is_integer(name):
            self.parent.setdefault(name, name)

    def members(self) -> list[tuple[str, ...]]:
        """The groups, in the order of their first tensors."""
        groups: dict[str, list[str]] = {}
        for name in self.parent:
            groups.setdefault(self.find(name), []).append(name)
        return [tuple(names) for names in groups.values()]

    def _tie(self, layout: Layout) -> None:
        fixed: set[str] = set()
        for node in layout.graph.bound():
            name = node.output.name
            if layout.fixed_output(node) is not None:
                fixed.add(name)
            moves = OPS[node.op].quant is Quant.SAME_AS_INPUT and name not in layout.borders
            if not moves or not layout.is_integer(name):
                continue
            # A number that several ops read must not tie them: each stores its own.
            names = (v.name for v in node.inputs if v is not None and not _is_shared(layout, v))
            inputs = [name for name in names if layout.is_integer(name)]
            # Joined with others, a prescribed range is rescaled first: it must not force its own
            # range upon them.
            free = [n for n in inputs if len(inputs) == 1 or self.find(n) not in fixed]
            for name in free:
                self._union(name, node.output.name)

    def find(self, name: str) -> str:
        while self.parent[name] != name:
            name = self.parent[name]
        return name

    def _union(self, a: str, b: str) -> None:
        self.parent[self.find(b)] = self.find(a)
