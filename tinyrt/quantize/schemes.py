"""Which op computes in which dtypes, and where tensors must change theirs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from glob import escape

from tinyrt.errors import TinyrtError, UnsupportedError
from tinyrt.ir import BoundNode, DType, Graph, Node, Value
from tinyrt.ops import OPS, is_weighted
from tinyrt.ops.pointwise import PointwiseAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import CONSTANT_WEIGHTS, Form, Quant
from tinyrt.ops.shared.unsupported import NOT_IN_INTEGERS
from tinyrt.quantize.config import QuantConfig, Scheme
from tinyrt.quantize.recurrent import begins_anew
from tinyrt.text import closest, printable

ACTIVATIONS = {
    Scheme.INT8: DType.INT8,
    Scheme.INT4: DType.INT8,
    Scheme.INT16X8: DType.INT16,
    Scheme.WEIGHTS_INT8: DType.FLOAT32,
    Scheme.WEIGHTS_FLOAT16: DType.FLOAT32,
    Scheme.FLOAT: DType.FLOAT32,
}
"""Scheme -> dtype of the activations that an op of that scheme works on."""

IN_DTYPE = {
    DType.INT8: Scheme.INT8,
    DType.INT16: Scheme.INT16X8,
    DType.FLOAT32: Scheme.FLOAT,
}
"""Dtype -> scheme of an op without weights that works on it."""

MAX_PATTERN = 200
"""Characters of a name that a pattern has."""

FORMS = {DType.INT8: Form.INT8, DType.INT16: Form.INT16X8}


@dataclass(frozen=True, slots=True)
class Layout:
    """A float graph with an identity op wherever a tensor changes its dtype.

    Attributes:
        graph: the graph; identities are reshapes to the same shape.
        schemes: node output name -> the node's scheme.
        dtypes: dtype that every float32 tensor gets, FLOAT32 where it stays; of constants, those
            that are data to an op on integers.
        borders: the identities' output names.
        origins: name of an added tensor -> that of the float model's tensor which it holds.

    """

    graph: Graph
    schemes: Mapping[str, Scheme]
    dtypes: Mapping[str, DType]
    borders: frozenset[str] = frozenset()
    origins: Mapping[str, str] = field(default_factory=dict)

    def is_integer(self, name: str) -> bool:
        """Whether the tensor gets quantisation parameters."""
        return self.dtypes.get(name, DType.FLOAT32) is not DType.FLOAT32

    def computes_in_integers(self, node: BoundNode) -> bool:
        """Whether the node works on quantised tensors, or gives one."""
        read = (v.name for v in node.inputs if v is not None and not v.is_constant)
        return any(self.is_integer(name) for name in (node.output.name, *read))

    def op_schemes(self) -> dict[str, Scheme]:
        """The float model's node output name -> scheme."""
        return {
            self.origins.get(name, name): self.schemes[name]
            for node in self.graph.nodes
            if (name := node.output) not in self.borders
        }

    def fixed_output(self, node: BoundNode) -> tuple[float, int] | None:
        """Scale and zero point that the node's op prescribes for its output."""
        dtype = self.dtypes.get(node.output.name)
        if dtype not in FORMS or node.output.name in self.borders:
            return None
        return OPS[node.op].forms[FORMS[dtype]].fixed_output


def lay_out(graph: Graph, config: QuantConfig) -> Layout:
    """Assign schemes and insert identities between ops on different dtypes.

    Ops that have weights, or that the user names, have their own scheme. Other ops take the dtype
    of their neighbours, where these agree on one, so that there are few borders. Model inputs and
    outputs have the default scheme's dtype, or float32.

    Args:
        graph: an optimised float graph.
        config: the user's choices.

    Raises:
        TinyrtError: a pattern matches no op.
        UnsupportedError: an op has no form for its scheme, or its weights are computed at run time.

    """
    schemes = assign_schemes(graph, config)
    port = DType.FLOAT32 if config.float_io else ACTIVATIONS[config.scheme]
    return lay_out_as(graph, schemes, dict.fromkeys((*graph.inputs, *graph.outputs), port))


def lay_out_as(
    graph: Graph,
    schemes: Mapping[str, Scheme],
    ports: Mapping[str, DType],
    conversions: Collection[str] = (),
) -> Layout:
    """Insert identities between ops on different dtypes.

    Args:
        graph: an optimised float graph.
        schemes: node output name -> the node's scheme.
        ports: model input or output name -> its dtype.
        conversions: output names of identities of the graph that are to be borders, too.

    """
    return _Borders(graph, schemes, ports, frozenset(conversions)).run()


def assign_schemes(graph: Graph, config: QuantConfig) -> dict[str, Scheme]:
    """Node output name -> scheme; raises as ``lay_out``."""
    named = named_schemes(graph, config)
    schemes = {n.output: named.get(n.output, config.scheme) for n in graph.nodes}
    unnamed = [node for node in graph.bound() if node.output.name not in named]
    schemes.update({n.output.name: Scheme.FLOAT for n in unnamed if _begins_in_float(n)})
    if config.scheme is Scheme.INT4:  # no byte of the file pays for what an LSTM loses
        schemes.update({n.output.name: Scheme.INT8 for n in unnamed if begins_anew(n)})
    free = [
        node
        for node in unnamed
        if OPS[node.op].quant not in CONSTANT_WEIGHTS and not _begins_in_float(node)
    ]
    for region in _regions(graph, free):
        _adopt(graph, region, schemes, config.scheme)
    for node in graph.bound():
        _check(node, schemes[node.output.name])
    return schemes


def named_schemes(graph: Graph, config: QuantConfig) -> dict[str, Scheme]:
    """Node output name -> scheme, of the ops that patterns match; raises as ``lay_out``."""
    schemes: dict[str, Scheme] = {}
    rules = [*config.scheme_for, *((p, Scheme.FLOAT) for p in config.keep_float)]
    for pattern, scheme in rules:
        matched = [node.output for node in graph.nodes if _matches(node, pattern)]
        if not matched:
            names = [node.output for node in graph.nodes]
            more = f", ... ({len(names)} in all)" if len(names) > 8 else ""
            raise TinyrtError(
                f"no op matches '{pattern}'",
                expected="an op's name or kind, or its output's name, with * and ?: "
                + ", ".join(names[:8])
                + more,
                hint=closest(pattern, [*dict.fromkeys((*names, *(n.op for n in graph.nodes)))])
                or "tinyrt inspect MODEL lists the ops",
            )
        schemes.update(dict.fromkeys(matched, scheme))
    return schemes


def _matches(node: Node, pattern: str) -> bool:
    steps = node.attrs.steps if isinstance(node.attrs, PointwiseAttrs) else ()
    kinds = [step.op for step in steps]
    names = (node.name, node.output, node.op, *kinds)
    return any(fnmatchcase(name, pattern) for name in names)


def pattern_for(graph: Graph, name: str) -> str:
    """A short pattern that matches the op with this output and no other, as far as one is found.

    It is printed between single quotes: ``?`` stands for characters that do not belong there.
    """
    for i in range(1, min(len(name), MAX_PATTERN)):
        pattern = f"{escape(name[:i])}*"
        whole = name[i] in ";/:_." or name[i - 1] in ";/"
        if whole and [n.output for n in graph.nodes if _matches(n, pattern)] == [name]:
            return _quotable(pattern)
    if len(name) > MAX_PATTERN:
        return _quotable(f"{escape(name[:MAX_PATTERN])}*")
    return _quotable(escape(name))


def _quotable(pattern: str) -> str:
    return printable(pattern).translate({ord(c): "?" for c in "\n'\\"})


def _regions(graph: Graph, free: list[BoundNode]) -> list[list[BoundNode]]:
    """The free ops in sets that float tensors connect."""
    regions: list[list[BoundNode]] = []
    for node in free:
        near = {node.output.name, *(v.name for v in node.inputs if v is not None)}
        touching = [r for r in regions if any(near & _tensors(other) for other in r)]
        regions = [r for r in regions if r not in touching]
        regions.append([*(other for r in touching for other in r), node])
    return regions


def _tensors(node: BoundNode) -> set[str]:
    inputs = (v for v in node.inputs if v is not None and not v.is_constant)
    return {v.name for v in (*inputs, node.output) if v.dtype is DType.FLOAT32}


def _adopt(
    graph: Graph, region: list[BoundNode], schemes: dict[str, Scheme], default: Scheme
) -> None:
    """Take the dtype of all ops around the region if they agree, else let data movers follow."""
    inside = {node.output.name for node in region}
    around: set[DType] = set()
    for node in region:
        for name in _tensors(node):
            producer = graph.producer(name)
            ends = name in graph.outputs or producer is None
            nodes = [*graph.consumers(name), *([producer] if producer is not None else [])]
            outer = [schemes[n.output] for n in nodes if n.output not in inside]
            around |= {ACTIVATIONS[s] for s in (*outer, *([default] if ends else []))}
    for node in region:
        producer = graph.producer(node.inputs[0].name) if node.inputs[0] is not None else None
        moves = OPS[node.op].quant is Quant.SAME_AS_INPUT and len(node.inputs) == 1
        candidates = around
        if len(around) != 1:
            candidates = {ACTIVATIONS[schemes[producer.output]]} if moves and producer else set()
        if len(candidates) == 1:
            scheme = IN_DTYPE[next(iter(candidates))]
            if scheme is Scheme.FLOAT or _form_of(node, scheme):
                schemes[node.output.name] = scheme


def _begins_in_float(node: BoundNode) -> bool:
    """Whether the op makes floats from inputs that are none: a cast of truth values."""
    reads = any(v is not None and v.dtype is DType.FLOAT32 for v in node.inputs)
    return OPS[node.op].quant is Quant.FLOAT_ONLY and has_floats(node) and not reads


def has_floats(node: BoundNode) -> bool:
    """Whether there is anything to quantise: logic and arithmetic on places have nothing."""
    return any(v is not None and v.dtype is DType.FLOAT32 for v in (*node.inputs, *node.outputs))


def has_constant_weights(node: BoundNode) -> bool:
    """Whether the op has weights, and they and its bias are constants."""
    return is_weighted(node) and all(v is None or v.is_constant for v in node.inputs[1:])


def _form_of(node: BoundNode, scheme: Scheme) -> bool:
    return FORMS[ACTIVATIONS[scheme]] in OPS[node.op].forms


def _check(node: BoundNode, scheme: Scheme) -> None:
    if ACTIVATIONS[scheme] is DType.FLOAT32 or not has_floats(node):
        return
    quant = OPS[node.op].quant
    if quant in (Quant.FLOAT_ONLY, Quant.BOUNDARY) or not _form_of(node, scheme):
        # With int8 activations, all tables have been gathered by now.
        in_int8 = quant is Quant.BY_TABLE and ACTIVATIONS[scheme] is not DType.INT8
        has_forms = in_int8 or bool(OPS[node.op].forms)
        form = scheme.value if has_forms else "integer"
        reason = "" if has_forms else f": {NOT_IN_INTEGERS.get(node.op, 'it is for float models')}"
        otherwise = f", or --scheme-for '{node.op}=int8' if int8 has it" if has_forms else ""
        raise UnsupportedError(
            f"{node.op} has no {form} form{reason}",
            op=node.describe(),
            tensor=node.output.describe(),
            expected="an op of the table that 'tinyrt ops' prints",
            hint=f"--keep-float '{node.op}'{otherwise}",
        )
    if quant not in CONSTANT_WEIGHTS:
        return
    for value in node.inputs[1:]:
        if value is not None and not value.is_constant:
            raise UnsupportedError(
                "the weights are computed at run time",
                op=node.describe(),
                tensor=value.describe(),
                expected="constant weights and bias",
                hint="export the model with its weights frozen, or keep the op in float",
            )


class _Borders:
    """The graph being rebuilt."""

    def __init__(
        self,
        graph: Graph,
        schemes: Mapping[str, Scheme],
        ports: Mapping[str, DType],
        conversions: frozenset[str],
    ) -> None:
        self.graph = graph
        self.schemes = dict(schemes)
        self.ports = ports
        self.conversions = conversions
        self.dtypes: dict[str, DType] = {}
        self.nodes: list[Node] = []
        self.values: dict[str, Value] = {}
        self.origins: dict[str, str] = {}
        self.borders: dict[tuple[str, DType], str] = {}
        self.renamed: dict[str, str] = {}

    def run(self) -> Layout:
        for value in self.graph.input_values:
            if value.dtype is DType.FLOAT32:
                self.dtypes[value.name] = self.ports[value.name]
        for node in self.graph.bound():
            self._node(node)
        for name in dict.fromkeys(self.graph.outputs):
            inner = self.renamed.get(name)
            if inner is not None:
                self._identity(inner, name, self.ports[name])
        borders = frozenset(node.output for node in self.nodes if node.output in self._ends)
        new_graph = self.graph.with_nodes(self.nodes, self.values.values())
        graph = new_graph if borders or self.values else self.graph
        return Layout(graph, self.schemes, self.dtypes, borders, self.origins)

    @property
    def _ends(self) -> set[str]:
        return {*self.borders.values(), *self.renamed, *self.conversions}

    def _node(self, node: BoundNode) -> None:
        name = node.output.name
        scheme = self.schemes[name]
        dtype = ACTIVATIONS[scheme]
        if name in self.conversions:
            self.dtypes[name] = dtype
            self.nodes.append(node.node)
            return
        has_weights = has_constant_weights(node)
        inputs = list(node.node.inputs)
        for i, value in enumerate(node.inputs):
            if value is None or value.dtype is not DType.FLOAT32:
                continue
            if i > 0 and (has_weights or OPS[node.op].quant is Quant.STATEFUL):
                continue
            inputs[i] = (
                self._constant(value, dtype) if value.is_constant else self._as(value, dtype)
            )
        outputs = node.node.outputs
        if node.output.dtype is DType.FLOAT32:
            if name in self.graph.outputs and dtype is not self.ports[name]:
                inner = self._fresh(f"{name}/{dtype.value}")
                self._add(node.output, inner)
                self.renamed[name] = inner
                self.schemes[inner] = scheme
                outputs = (inner, *outputs[1:])
            self.dtypes[outputs[0]] = dtype
        self.nodes.append(replace(node.node, inputs=tuple(inputs), outputs=outputs))

    def _as(self, value: Value, dtype: DType) -> str:
        """The tensor in that dtype."""
        name = self.renamed.get(value.name, value.name)
        if self.dtypes[name] is dtype:
            return name
        if (name, dtype) not in self.borders:
            copy = self._fresh(f"{value.name}/{dtype.value}")
            self._add(value, copy)
            self._identity(name, copy, dtype)
            self.borders[name, dtype] = copy
        return self.borders[name, dtype]

    def _constant(self, value: Value, dtype: DType) -> str:
        """A constant operand; another one where an op on another dtype has it already."""
        first = self.dtypes.setdefault(value.name, dtype)
        if first is dtype:
            return value.name
        if (value.name, dtype) not in self.borders:
            copy = self._fresh(f"{value.name}/{dtype.value}")
            self._add(value, copy)
            self.dtypes[copy] = dtype
            self.borders[value.name, dtype] = copy
        return self.borders[value.name, dtype]

    def _identity(self, source: str, target: str, dtype: DType) -> None:
        attrs = ReshapeAttrs(self.graph.value(self.origins.get(source, source)).shape)
        self.nodes.append(Node("reshape", target, (source,), (target,), attrs))
        self.dtypes[target] = dtype
        self.schemes[target] = Scheme.INT8

    def _add(self, value: Value, name: str) -> None:
        self.values[name] = replace(value, name=name)
        self.origins[name] = value.name

    def _fresh(self, wish: str) -> str:
        name, i = wish, 0
        while name in self.graph.values or name in self.values:
            i += 1
            name = f"{wish}_{i}"
        return name
