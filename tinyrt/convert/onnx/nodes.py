"""Node by node from an ONNX graph, with its control flow and functions, to the graph being built.

Bodies of ``If``, ``Loop`` and functions are imported in a scope of their own, as often as they run:
nothing of them is left in the result.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import onnx

from tinyrt import budget
from tinyrt.convert.onnx.advice import advice_on
from tinyrt.convert.onnx.bodies import check_dense, in_order, reads
from tinyrt.convert.onnx.call import Builder, Call, Operand
from tinyrt.convert.onnx.expansion import MICROSOFT
from tinyrt.convert.onnx.features import DOMAIN
from tinyrt.convert.onnx.flow import FLOW
from tinyrt.convert.onnx.fused import FUSED, OPSET
from tinyrt.convert.onnx.grid import Quantized
from tinyrt.convert.onnx.integers import on_integers
from tinyrt.convert.onnx.learned import LEARNED
from tinyrt.convert.onnx.ops import IMPORTERS, SEVERAL
from tinyrt.convert.onnx.proto import OnnxNode
from tinyrt.convert.onnx.quantized import EXPANSIONS, MOVES, PLACES, QUANTIZED
from tinyrt.convert.onnx.standard import STANDARD, function_of
from tinyrt.convert.onnx.static import (
    SHAPE_ONLY,
    STATIC,
    STATIC_SEVERAL,
    evaluate_several,
    evaluate_static,
)
from tinyrt.convert.onnx.weights import WeightsReader, listed
from tinyrt.errors import ModelFormatError, UnsupportedError, error_context
from tinyrt.ir import Value

MAX_NODES = 10_000
"""A graph that would be larger, its loops unrolled, is refused: planning it would take too long."""

DEEPEST = 32
"""Bodies inside bodies beyond that are taken as a sign of a damaged file."""

Opsets = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Body:
    """The nodes of a graph or function that its outputs need; the same whenever it runs.

    Attributes:
        nodes: in the file's order, each with the names that it reads.
        read: names that nodes and outputs read.
        initializers: the constants among them.

    """

    nodes: list[tuple[OnnxNode, tuple[str, ...]]]
    read: set[str]
    initializers: list[onnx.TensorProto]


@dataclass(frozen=True, slots=True)
class Source:
    """The context of the nodes of one file, or of one call of a function.

    Attributes:
        opsets: domain -> version of its operator set.
        weights: reads the file's tensors.
        functions: the file's own functions, by domain and name.
        depth: how many bodies the nodes lie in.
        arguments: in a function, the attributes of its call.
        absent: in a function, inputs that it is called without.
        bodies: those of control flow, by the identity of their graph.

    """

    opsets: Opsets
    weights: WeightsReader
    functions: Mapping[tuple[str, str], onnx.FunctionProto]
    depth: int = 0
    arguments: Mapping[str, onnx.AttributeProto] | None = None
    absent: frozenset[str] = frozenset()
    bodies: dict[int, tuple[onnx.GraphProto, Body]] = field(default_factory=dict)

    def inner(self) -> Source:
        """The same, for a body.

        Raises:
            ModelFormatError: there are too many around it.

        """
        if self.depth >= DEEPEST:
            raise ModelFormatError(
                f"bodies of functions or control flow lie {DEEPEST} deep",
                expected="functions that do not call themselves",
                hint="export the model without nested functions",
            )
        return replace(self, depth=self.depth + 1)

    def body_of(self, graph: onnx.GraphProto) -> Body:
        """The body that a graph is."""
        if id(graph) not in self.bodies:
            check_dense(graph, graph.node)
            outputs = [output.name for output in graph.output]
            body = body_of(self, graph.node, graph.initializer, outputs)
            self.bodies[id(graph)] = graph, body
        return self.bodies[id(graph)][1]


def body_of(
    source: Source,
    protos: Sequence[onnx.NodeProto],
    initializers: Iterable[onnx.TensorProto],
    outputs: Sequence[str],
) -> Body:
    """The nodes that the outputs of a graph or function depend on.

    Raises:
        UnsupportedError: an output is read that the importers do not compute.

    """
    budget.current().spend(LOOK * len(protos), f"going through {len(protos)} nodes")
    opsets = source.opsets
    context = (source.weights, source.arguments, source.absent)
    needed = set(outputs)
    nodes: list[tuple[OnnxNode, tuple[str, ...]]] = []
    for i in reversed(in_order(protos)):
        proto = protos[i]
        if needed.isdisjoint(proto.output):
            continue
        node = OnnxNode.of(proto, i, opsets.get(proto.domain, 0), *context)
        read = tuple(reads(node))
        nodes.append((node, read))
        needed.update(read)
    nodes.reverse()
    read_by = {name for _, names in nodes for name in names} | set(outputs)
    _check_outputs(source, nodes, read_by)
    constants = [tensor for tensor in initializers if tensor.name in read_by]
    return Body(nodes, read_by, constants)


LOOK, HANDLE = budget.OP // 4, budget.OP * 3 // 4
"""Work for each node that is looked at, and for each that is imported, whatever its result."""


def import_nodes(builder: Builder, source: Source, body: Body) -> None:
    """Import a body; ``builder.tensors`` holds what its nodes may read."""
    limits = budget.current()
    limits.spend(HANDLE, "importing the bodies of functions and control flow")
    operands = ((name, builder.tensors.get(name)) for name in body.read)
    changing = {name for name, operand in operands if isinstance(operand, Value | Quantized)}
    check_ops(changing, source, body)
    builder.read |= body.read
    for tensor in body.initializers:
        if tensor.name in builder.defined:
            raise _defined_twice([tensor.name], "the constants define")
        builder.defined.add(tensor.name)
        builder.tensors[tensor.name] = source.weights.array(tensor)
    for node, _ in body.nodes:
        with error_context(op=node.describe()):
            limits.spend(HANDLE, "importing the nodes, loops and functions written out")
            _import_node(builder, source, node)
            if len(builder.nodes) > MAX_NODES:
                raise UnsupportedError(
                    f"the model has more than {MAX_NODES:,} ops, all that loops, functions and "
                    "recurrent layers stand for counted",
                    expected=f"at most {MAX_NODES:,}",
                    hint="export one iteration of a loop and run it as often as needed; keep LSTMs "
                    "whole with --sequence-lstm",
                )


DYNAMIC = IMPORTERS.keys() | SEVERAL.keys() | FLOW.keys()
"""Ops that are imported on any inputs."""

KNOWN = STATIC.keys() | STATIC_SEVERAL.keys()
"""Ops that are computed on import where their inputs are constant."""

SINGLE = (IMPORTERS.keys() | STATIC.keys()) - (SEVERAL.keys() | FLOW.keys() | STATIC_SEVERAL.keys())
"""Ops of which the first output is computed; what no table has is refused as a whole."""


def _is_function(source: Source, node: OnnxNode) -> bool:
    return (node.domain, node.op) in source.functions


def _is_quantized(node: OnnxNode) -> bool:
    """Whether the op is one of those between integers and real numbers."""
    is_border = node.op in QUANTIZED and node.domain in ("", MICROSOFT)
    return is_border or (node.domain, node.op) in EXPANSIONS


def _stands_for_others(node: OnnxNode) -> bool:
    """Whether the op is imported as other ops that it is made of."""
    return (node.domain, node.op) in FUSED or (not node.domain and node.op in STANDARD)


def _is_learned(node: OnnxNode) -> bool:
    return node.domain == DOMAIN and node.op in LEARNED


def check_ops(changing: Iterable[str], source: Source, body: Body) -> None:
    """Raise ``UnsupportedError`` with all ops that can't be imported, unless there are none.

    ``changing`` are the tensors from outside of the body that are not known on import.
    """
    dynamic = set(changing)
    missing: list[OnnxNode] = []
    for node, read in body.nodes:
        is_dynamic = node.op not in SHAPE_ONLY and not dynamic.isdisjoint(read)
        if is_dynamic:
            dynamic.update(node.outputs)
        if _is_function(source, node) or _is_quantized(node) or _is_learned(node):
            continue
        if _stands_for_others(node):
            continue
        has_op = node.op in DYNAMIC or (node.op in KNOWN and not is_dynamic)
        if node.domain or not has_op:
            missing.append(node)
    if not missing:
        return
    ops = sorted({node.qualified_op for node in missing})
    raise UnsupportedError(
        f"the model uses ops that tinyrt does not have: {listed(ops, 20)[1:-1]}",
        op=f"{missing[0].describe()}" + (f" and {len(missing) - 1} more" if missing[1:] else ""),
        expected="ops of the table in docs/onnx.md",
        hint=advice_on(ops),
    )


def _check_outputs(
    source: Source, nodes: Sequence[tuple[OnnxNode, tuple[str, ...]]], read: set[str]
) -> None:
    """Raise ``UnsupportedError`` where an output is read that the importers do not compute."""
    single = (n for n, _ in nodes if n.qualified_op in SINGLE and not _is_function(source, n))
    extra = {name: node for node in single for name in node.outputs[1:] if name}
    for name in sorted(read & extra.keys()):
        raise UnsupportedError(
            f"'{name}', an output other than the op's first, is used",
            op=extra[name].describe(),
            expected="only first outputs in use",
            hint="export the model for inference, without indices, masks and training outputs",
        )


def _import_node(builder: Builder, source: Source, node: OnnxNode) -> None:
    call = Call(node, builder)
    outputs = [name for name in node.outputs if name]
    if any(name in builder.defined for name in outputs):
        raise _defined_twice(outputs, "the node defines")
    builder.defined.update(outputs)
    named = zip(node.outputs, _results(call, source), strict=False)
    builder.tensors.update((name, result) for name, result in named if name)


def _defined_twice(names: Sequence[str], what: str) -> ModelFormatError:
    return ModelFormatError(
        f"{what} {listed(names) + ' once more' if names else 'nothing'}",
        expected="a tensor that nothing before defines",
        hint="the file is damaged: export the model again",
    )


def _results(call: Call, source: Source) -> Sequence[Operand]:
    """The node's outputs."""
    node, builder = call.node, call.builder
    if _is_function(source, node):
        return _import_function(builder, source, node, source.functions[node.domain, node.op])
    if _is_quantized(node):
        return _quantized(call, source)
    if _is_learned(node):
        return LEARNED[node.op](call)
    if (node.domain, node.op) in FUSED:
        return _fused(call, source)
    if node.op in STANDARD:
        return _import_function(builder, source, node, function_of(call))
    if node.op in FLOW:
        return FLOW[node.op](call, _Bodies(builder, source))
    if node.op in MOVES | PLACES:
        return on_integers(call, _plain)
    return _plain(call)


def _quantized(call: Call, source: Source) -> Sequence[Operand]:
    """The outputs of an op between integers and real numbers."""
    node = call.node
    if node.op in QUANTIZED:
        return QUANTIZED[node.op](call)
    return _expanded(call, source.inner(), EXPANSIONS[node.domain, node.op](node))


def _fused(call: Call, source: Source) -> Sequence[Operand]:
    """The outputs of an op that several others were fused to."""
    opsets = {**source.opsets, "": OPSET, "ai.onnx": OPSET}
    inner = replace(source.inner(), opsets=opsets)
    return _expanded(call, inner, FUSED[call.node.domain, call.node.op](call))


def _expanded(call: Call, inner: Source, nodes: Sequence[onnx.NodeProto]) -> Sequence[Operand]:
    """The outputs of nodes that stand for one; those that nothing reads are left out."""
    node, builder = call.node, call.builder
    scope = {name: call.operand(i) for i, name in enumerate(node.inputs) if name}
    outputs = [name for name in node.outputs if name in builder.read - {""}]
    body = body_of(inner, nodes, (), outputs)
    results = dict(
        zip(outputs, _in_scope(builder, inner, body, ChainMap(scope), outputs), strict=True)
    )
    return [results.get(name, np.empty(0)) for name in node.outputs]


def _plain(call: Call) -> Sequence[Operand]:
    """The outputs of an op of a table."""
    node = call.node
    if node.op in STATIC and (node.op in SHAPE_ONLY or call.all_inputs_constant()):
        return [evaluate_static(call)]
    if node.op in STATIC_SEVERAL and call.all_inputs_constant():
        return evaluate_several(call)
    if node.op in SEVERAL:
        return SEVERAL[node.op](call)
    return [call.as_number(IMPORTERS[node.op](call))]


@dataclass(frozen=True, slots=True)
class _Bodies:
    """Imports bodies for control flow."""

    builder: Builder
    source: Source

    def __call__(self, graph: onnx.GraphProto, operands: Sequence[Operand]) -> list[Operand]:
        """The body's outputs for these inputs; it sees what lies around it too."""
        names = [value.name for value in graph.input]
        if len(names) != len(operands):
            raise ModelFormatError(
                f"a body with {len(names)} inputs gets {len(operands)}", expected="as many"
            )
        inner, outputs = self.source.inner(), [output.name for output in graph.output]
        body = self.source.body_of(graph)
        scope = self.builder.tensors.new_child(dict(zip(names, operands, strict=True)))
        return _in_scope(self.builder, inner, body, scope, outputs)


def _import_function(
    builder: Builder, source: Source, node: OnnxNode, function: onnx.FunctionProto
) -> list[Operand]:
    """The outputs of one call of a function; it sees its inputs alone."""
    call = Call(node, builder)
    formals = list(function.input)
    scope = {name: call.operand(i) for i, name in enumerate(formals) if call.has(i)}
    absent = frozenset(name for i, name in enumerate(formals) if not call.has(i))
    arguments = {a.name: a for a in function.attribute_proto} | dict(node.attributes)
    opsets = {**source.opsets, **{o.domain: int(o.version) for o in function.opset_import}}
    opsets["ai.onnx"] = opsets.get("", 0)
    inner = replace(source.inner(), opsets=opsets, arguments=arguments, absent=absent, bodies={})
    named = list(zip(function.output, node.outputs, strict=False))
    outputs = [formal for formal, actual in named if actual]
    body = body_of(inner, function.node, (), outputs)
    results = iter(_in_scope(builder, inner, body, ChainMap(scope), outputs))
    return [next(results) if actual else np.empty(0) for _, actual in named]


def _in_scope(
    builder: Builder,
    source: Source,
    body: Body,
    scope: ChainMap[str, Operand],
    outputs: Sequence[str],
) -> list[Operand]:
    """The outputs of a body that is imported with a scope of its own."""
    outer, defined = builder.tensors, builder.defined
    builder.tensors, builder.defined = scope, set()
    try:
        import_nodes(builder, source, body)
        operands = [builder.tensors.get(name) for name in outputs]
    finally:
        builder.tensors, builder.defined = outer, defined
    results = [operand for operand in operands if operand is not None]
    if len(results) != len(outputs):
        absent = (name for name, operand in zip(outputs, operands, strict=True) if operand is None)
        raise ModelFormatError(
            f"a body computes no {listed(list(absent))[1:-1]}",
            hint="the file is damaged: export the model again",
        )
    return results
