"""Models that bring their own quantisation: ONNX's QuantizeLinear and DequantizeLinear.

The passes leave a float graph in which ``fake_quantize`` rounds activations to the model's grids,
and in which constants note the grid that they lie on. Here the ops between roundings become
integer ops with exactly these parameters; ops whose parameters are not all given stay in float.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tinyrt.convert.passes.quantizers import HOIST_TO_INPUT
from tinyrt.convert.passes.quantizers import has_own_grids as has_own_grids
from tinyrt.convert.pointwise import PointwiseRegion, gather
from tinyrt.errors import VerifyError, warn
from tinyrt.ir import BoundNode, DType, Graph, Node, QParams, RewriteLog, Stage, rewrite
from tinyrt.ops import OPS, is_weighted, verify
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared import pool
from tinyrt.ops.shared.spec import Quant
from tinyrt.quantize.apply import apply_plan
from tinyrt.quantize.config import QuantizationWarning, Scheme
from tinyrt.quantize.imported.integers import (
    constant_params,
    has_weights,
    in_integers,
    is_activation,
    stored_weights,
)
from tinyrt.quantize.imported.wide import with_weights_in_parts
from tinyrt.quantize.plan import QuantPlan
from tinyrt.quantize.schemes import FORMS, IN_DTYPE, Layout, has_floats, lay_out_as
from tinyrt.quantize.tables import saves

STEP = "given_quantisation"
"""The name of this step in the log."""

SHOWN = 4
"""Reasons that the warning names."""


def quantize_on_own_grids(graph: Graph, log: RewriteLog | None = None) -> Graph:
    """The graph quantised to its own grids.

    Args:
        graph: an optimised float graph with ``fake_quantize`` or with constants on grids.
        log: which ops became integer ops, and which did not, with the reason, is added to it.

    Raises:
        VerifyError: parameters break an op's rules.

    """
    log = log if log is not None else RewriteLog()
    graph = rewrite(graph, (HOIST_TO_INPUT,), partial(verify, stage=Stage.FLOAT))
    graph = _with_tables(_whole_averages(graph))
    decisions = _Decisions(graph)
    if not decisions.rounds:
        return _without_grids(_stored_weights(graph, log))
    decisions.decide()
    if wide := decisions.wide():
        decisions = _Decisions(with_weights_in_parts(graph, wide, log))
        decisions.decide()
    layout = decisions.layout()
    for name, scheme in decisions.schemes.items():
        node = decisions.named[name]
        if scheme is not Scheme.FLOAT:
            log.applied.append((STEP, node.name))
    log.refused.update({(STEP, name): reason for name, reason in decisions.reasons.items()})
    if decisions.reasons:
        _warn(decisions.reasons)
    return _without_grids(apply_plan(layout.graph, _plan(layout, decisions)))


def _with_tables(graph: Graph) -> Graph:
    """The graph with one op for each chain of element-wise ops of which only the end is rounded."""

    def is_rounded_table(region: PointwiseRegion) -> bool:
        readers = graph.consumers(region.nodes[-1].output)
        rounded = bool(readers) and all(n.op == "fake_quantize" for n in readers)
        return rounded and saves(region)

    return gather(graph, is_rounded_table)


def _whole_averages(graph: Graph) -> Graph:
    """The graph with a mean wherever a rounded average is taken over a whole image.

    Integer average_pool2d keeps its input's scale; the mean has one of its own.
    """
    nodes = []
    for node in graph.bound():
        readers = graph.consumers(node.output.name)
        rounded = any(n.op == "fake_quantize" for n in readers)
        if rounded and _is_whole_average(node):
            mean = MeanAttrs((1, 2), keep_dims=True)
            nodes.append(replace(node.node, op="mean", attrs=mean))
        else:
            nodes.append(node.node)
    return replace(graph, nodes=tuple(nodes))


def _is_whole_average(node: BoundNode) -> bool:
    """Whether the one window is the image, which leaves no padding, and nothing is clamped."""
    if node.op != "average_pool2d":
        return False
    attrs, x = node.attrs_as(pool.Pool2dAttrs), node.input(0).shape
    window = pool.window_of(attrs, x)
    return window.kernel == x[1:3] and window.out == (1, 1) and attrs.activation == "NONE"


def _grid(rounding: Node) -> tuple[DType, QParams]:
    """The integers to whose grid a ``fake_quantize`` rounds."""
    attrs = rounding.attrs_as(FakeQuantizeAttrs)
    return attrs.dtype, attrs.q


def _warn(reasons: Mapping[str, str]) -> None:
    parts = [f"'{name}' ({reason})" for name, reason in list(reasons.items())[:SHOWN]]
    more = f", and {len(reasons) - SHOWN} more" if len(reasons) > SHOWN else ""
    warn(
        f"ops that stay in float32: {', '.join(parts)}{more}; --explain lists all",
        QuantizationWarning,
    )


def _without_grids(graph: Graph) -> Graph:
    """The graph without the grids of constants that stay in float."""
    values = {
        name: replace(v, q=None) if v.dtype is DType.FLOAT32 else v
        for name, v in graph.values.items()
    }
    return replace(graph, values=values)


@dataclass(slots=True)
class _Decisions:
    """The dtype in which each op computes, op by op in execution order.

    Attributes:
        graph: the graph before any change.
        params: value name -> its dtype and parameters, where it is stored in integers.
        schemes: node output name -> scheme, of the remaining nodes.
        conversions: output names of the remaining roundings, where a tensor changes its dtype.
        renamed: value name -> its name once its rounding is absorbed.
        reasons: node name -> why the node stays in float.
        named: node output name -> the node.

    """

    graph: Graph
    params: dict[str, tuple[DType, QParams]] = field(default_factory=dict)
    schemes: dict[str, Scheme] = field(default_factory=dict)
    conversions: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    named: dict[str, Node] = field(default_factory=dict)
    _absorbed: set[str] = field(default_factory=set)

    @property
    def rounds(self) -> bool:
        """Whether any activation is rounded."""
        return any(node.op == "fake_quantize" for node in self.graph.nodes)

    def decide(self) -> None:
        """Settle every op."""
        for name in self.graph.inputs:
            self._absorb_input(name)
        for node in self.graph.bound():
            if node.op == "fake_quantize":
                self._rounding(node)
            else:
                self._op(node)

    def wide(self) -> frozenset[str]:
        """Outputs of the ops in integers whose weights int8 does not hold."""
        return frozenset(
            node.output.name
            for node in self.graph.bound()
            if is_weighted(node)
            and self.schemes[self._final(node.output.name)] is not Scheme.FLOAT
            and stored_weights(node.input(1)) is None
        )

    def _final(self, name: str) -> str:
        return self.renamed.get(name, name)

    def _rounding(self, node: BoundNode) -> None:
        name = node.output.name
        if name in self._absorbed:
            return
        dtype, q = _grid(node.node)
        self.params[name] = dtype, q
        self.schemes[name] = IN_DTYPE[dtype]
        self.named[name] = node.node
        if self.params.get(node.input(0).name) != (dtype, q):
            self.conversions.add(name)

    def _absorb(self, name: str) -> bool:
        """Whether only roundings read the value: it then takes the first one's parameters."""
        if not self._is_rounded(name):
            return False
        first = self.graph.consumers(name)[0]
        output = first.output
        self.params[output] = _grid(first)
        self._absorbed.add(output)
        self.renamed[name] = output
        return True

    def _absorb_input(self, name: str) -> None:
        """The same for an input of the model, which keeps its name."""
        if not self._is_rounded(name):
            return
        first = self.graph.consumers(name)[0]
        output = first.output
        self.params[name] = _grid(first)
        if output not in self.graph.outputs:
            self._absorbed.add(output)
            self.renamed[output] = name

    def _is_rounded(self, name: str) -> bool:
        """Whether roundings read the value, and nothing else."""
        readers = self.graph.consumers(name)
        rounded = bool(readers) and all(n.op == "fake_quantize" for n in readers)
        return rounded and name not in self.graph.outputs

    def _op(self, node: BoundNode) -> None:
        name = node.output.name
        self.named[name] = node.node
        if not has_floats(node):
            self.schemes[name] = Scheme.FLOAT
            return
        reason = self._reason(node)
        if reason:
            self.reasons[node.name] = reason
            self.schemes[name] = Scheme.FLOAT
            return
        final = self._final(name)
        self.schemes[final] = IN_DTYPE[self._dtype_of(node)]
        self.named[final] = node.node

    def _dtype_of(self, node: BoundNode) -> DType:
        """The dtype of a settled node: that of its data inputs, and mostly of its output."""
        values = (node.output, *node.inputs)
        names = (self._final(v.name) for v in values if v is not None and is_activation(v))
        return next(self.params[name][0] for name in names if name in self.params)

    def _reason(self, node: BoundNode) -> str:
        """Why the op can't compute in integers; nothing where it can."""
        spec = OPS[node.op]
        data = node.inputs[:1] if spec.quant is Quant.WEIGHTED else node.inputs
        names = [self._final(v.name) for v in data if v is not None and is_activation(v)]
        grids = [self.params.get(n) for n in names]
        missing = [n for n, q in zip(names, grids, strict=True) if q is None]
        if missing or not names:
            return f"its input '{missing[0]}' has no scale" if missing else "it reads no activation"
        dtypes = {q[0] for q in grids if q is not None}
        if len(dtypes) > 1:
            return "its inputs have different widths"
        (dtype,) = dtypes
        if FORMS[dtype] not in spec.forms or spec.quant is Quant.BOUNDARY:
            return f"{node.op} has no {FORMS[dtype]} form"
        if spec.quant is Quant.WEIGHTED and not has_weights(node):
            return "its weights lie on no grid of 8 bits"
        return self._output(node, dtype, names) or self._misfit(node, dtype)

    def _output(self, node: BoundNode, dtype: DType, names: list[str]) -> str:
        """Settle the output's parameters; or why there are none."""
        spec, name = OPS[node.op], node.output.name
        if spec.quant is Quant.INPUTS_ONLY:
            return ""
        fixed = spec.forms[FORMS[dtype]].fixed_output
        readers = self.graph.consumers(name)
        is_rounding = bool(readers) and readers[0].op == "fake_quantize"
        grid = _grid(readers[0]) if is_rounding else None
        if grid is not None and grid[0] is not dtype:
            return "its output has another width than its input"
        if fixed is not None:
            q = QParams((float(np.float32(fixed[0])),), fixed[1])
            if not self._is_rounded(name):
                return "its output has no scale"
            if grid is None or grid[1] != q or not self._absorb(name):
                self.params[name] = (dtype, q)
            return ""
        first = self.params[names[0]]
        follows = spec.quant is Quant.SAME_AS_INPUT
        if follows and len(names) == 1:
            # A finer grid behind it is reached by rescaling its output, never its input.
            if grid is None or grid[1] != first[1] or not self._absorb(name):
                self.params[name] = first
            return ""
        if self._absorb(name):
            return ""
        if follows and all(self.params[n] == first for n in names):
            self.params[name] = first
            return ""
        return "its output has no scale"

    def _misfit(self, node: BoundNode, dtype: DType) -> str:
        """The op's rule that these parameters break; empty where all rules hold."""
        trial = in_integers(node, dtype, {**self.params, **self._under_old_names()})
        try:
            OPS[node.op].check_quant(trial)
        except VerifyError as error:
            self._forget(node.output.name)
            return error.problem
        return ""

    def _under_old_names(self) -> dict[str, tuple[DType, QParams]]:
        return {old: self.params[new] for old, new in self.renamed.items() if new in self.params}

    def _forget(self, name: str) -> None:
        """Undo the decisions about a value."""
        final = self.renamed.pop(name, name)
        self.params.pop(final, None)
        self._absorbed.discard(final)

    def layout(self) -> Layout:
        """The graph without the absorbed roundings, with borders where dtypes change."""
        nodes, absorbed = [], self._absorbed
        for node in self.graph.nodes:
            if node.op == "fake_quantize" and node.output in absorbed:
                continue
            inputs = tuple(self._final(n) for n in node.inputs)
            outputs = tuple(self._final(n) for n in node.outputs)
            if node.op == "fake_quantize":
                attrs = ReshapeAttrs(self.graph.value(node.inputs[0]).shape)
                node = replace(node, op="reshape", attrs=attrs)
            nodes.append(replace(node, inputs=inputs, outputs=outputs))
        inputs = tuple(self._final(n) for n in self.graph.inputs)
        values = {name: v for name, v in self.graph.values.items() if name not in self.renamed}
        graph = replace(self.graph, inputs=inputs, nodes=tuple(nodes), values=values)
        ports = {
            name: self.params[name][0] if name in self.params else DType.FLOAT32
            for name in (*graph.inputs, *graph.outputs)
        }
        schemes = {n.output: self.schemes[n.output] for n in graph.nodes}
        return lay_out_as(graph, schemes, ports, self.conversions)


def _plan(layout: Layout, decisions: _Decisions) -> QuantPlan:
    """Parameters, weights and biases, for the graph of the layout."""
    activations: dict[str, QParams] = {}
    for name, dtype in layout.dtypes.items():
        if not layout.is_integer(name):
            continue
        origin = layout.origins.get(name, name)
        value = decisions.graph.values[origin]
        if value.is_constant:
            activations[name] = constant_params(value, dtype)
        else:
            activations[name] = decisions.params[origin][1]
    weights, rounded = {}, {}
    for node in layout.graph.bound():
        weighted = is_weighted(node)
        if weighted and layout.schemes[node.output.name] is not Scheme.FLOAT:
            w = node.input(1)
            assert w.q is not None
            steps = stored_weights(w)
            assert steps is not None
            weights[node.output.name], rounded[node.output.name] = w.q, steps
    return QuantPlan(activations, weights, rounded, layout=layout)


def _stored_weights(graph: Graph, log: RewriteLog) -> Graph:
    """The float graph with the weights that lie on grids stored in int8."""
    schemes = {}
    for node in graph.bound():
        on_grid = is_weighted(node) and has_weights(node)
        fits = on_grid and stored_weights(node.input(1)) is not None
        schemes[node.output.name] = Scheme.WEIGHTS_INT8 if fits else Scheme.FLOAT
        if on_grid and not fits:
            log.refused[STEP, node.name] = "its weights are wider than int8: they stay in float32"
    ports = dict.fromkeys((*graph.inputs, *graph.outputs), DType.FLOAT32)
    layout = lay_out_as(graph, schemes, ports, ())
    stored = [n for n in layout.graph.bound() if schemes[n.output.name] is Scheme.WEIGHTS_INT8]
    weights, rounded = {}, {}
    for node in stored:
        q, steps = node.input(1).q, stored_weights(node.input(1))
        assert q is not None
        assert steps is not None
        weights[node.output.name], rounded[node.output.name] = q, steps
    return apply_plan(layout.graph, QuantPlan({}, weights, rounded, layout=layout))
