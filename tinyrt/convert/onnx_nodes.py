"""Node by node from an ONNX graph, with its control flow and functions, to the graph being built.

Bodies of ``If``, ``Loop`` and functions are imported in a scope of their own, as often as they run:
nothing of them is left in the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx

from tinyrt.convert.onnx_call import Builder, Call, Operand
from tinyrt.convert.onnx_flow import FLOW
from tinyrt.convert.onnx_grid import Grid, Quantised, moved_grid
from tinyrt.convert.onnx_ops import IMPORTERS, SEVERAL
from tinyrt.convert.onnx_proto import OnnxNode, decode_tensor
from tinyrt.convert.onnx_quantised import (
    EXPANSIONS,
    MICROSOFT,
    MOVES,
    PLACES,
    QUANTISED,
    dynamic_quantize_linear,
)
from tinyrt.convert.onnx_static import SHAPE_ONLY, STATIC, STATIC_SEVERAL, evaluate_static
from tinyrt.errors import (
    DefectError,
    ModelFormatError,
    TinyrtError,
    UnsupportedError,
    error_context,
)
from tinyrt.ir import Value

DEEPEST = 32
"""Bodies inside bodies beyond that are taken as a sign of a damaged file."""

MOST_NODES = 50_000
"""A graph that would be larger, its loops unrolled, is refused."""

FOREIGN = (ArithmeticError, ValueError, IndexError, KeyError, TypeError, MemoryError)
"""What importers raise where a check is missing."""

Opsets = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Source:
    """What the nodes of one file share.

    Attributes:
        opsets: domain -> version of its operator set.
        folder: where the file lies.
        functions: the file's own functions, by domain and name.
        depth: how many bodies the nodes lie in.

    """

    opsets: Opsets
    folder: Path
    functions: Mapping[tuple[str, str], onnx.FunctionProto]
    depth: int = 0

    def inner(self, opsets: Opsets | None = None) -> Source:
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
        return replace(self, depth=self.depth + 1, opsets=opsets or self.opsets)


def import_nodes(
    builder: Builder,
    source: Source,
    protos: Sequence[onnx.NodeProto],
    initializers: Iterable[onnx.TensorProto],
    outputs: Sequence[str],
) -> None:
    """Import what the outputs depend on; ``builder.tensors`` holds what the nodes may read."""
    nodes = _needed_nodes(source, protos, outputs)
    _check_ops(builder, source, nodes)
    read = {name for node in nodes for name in reads(node)} | set(outputs)
    builder.read |= read
    for tensor in initializers:
        if tensor.name in read:
            builder.tensors[tensor.name] = decode_tensor(tensor, source.folder)
    _check_outputs(source, nodes, read)
    for node in nodes:
        with error_context(op=node.describe()):
            _import_node(builder, source, node)
            if len(builder.nodes) > MOST_NODES:
                raise UnsupportedError(
                    f"the model has more than {MOST_NODES} ops when its loops are unrolled",
                    expected="fewer iterations",
                    hint="export one iteration of the loop and run it as often as needed",
                )


def check_dense(graph: onnx.GraphProto, nodes: Iterable[onnx.NodeProto]) -> None:
    """Raise ``UnsupportedError`` where nodes read sparse constants."""
    read = {name for node in nodes for name in node.input}
    for sparse in graph.sparse_initializer:
        if sparse.values.name in read:
            raise UnsupportedError(
                f"the constant '{sparse.values.name}' is sparse",
                expected="dense constants",
                hint="export the model with dense weights",
            )


def reads(node: OnnxNode) -> Iterator[str]:
    """Names that the node reads: its inputs, and what its bodies take from around them."""
    yield from node.inputs
    for attribute in node.attributes.values():
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield from captured(attribute.g)


def captured(graph: onnx.GraphProto, depth: int = 0) -> set[str]:
    """Names that a body reads and does not define."""
    if depth > DEEPEST:
        return set()
    names = {output.name for output in graph.output}
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                names |= captured(attribute.g, depth + 1)
    defined = {value.name for value in graph.input}
    defined.update(tensor.name for tensor in graph.initializer)
    defined.update(name for node in graph.node for name in node.output)
    return names - defined


def _needed_nodes(
    source: Source, protos: Sequence[onnx.NodeProto], outputs: Iterable[str]
) -> list[OnnxNode]:
    """The nodes that the outputs depend on, in the file's order."""
    opsets = source.opsets
    every = [
        OnnxNode.of(p, i, opsets.get(p.domain, 0), source.folder) for i, p in enumerate(protos)
    ]
    needed, nodes = set(outputs), []
    for node in reversed(every):
        if needed.intersection(node.outputs):
            nodes.append(node)
            needed.update(reads(node))
    return nodes[::-1]


def _is_function(source: Source, node: OnnxNode) -> bool:
    return (node.domain, node.op) in source.functions


def _is_quantised(node: OnnxNode) -> bool:
    """Whether the op is one of those between integers and real numbers."""
    is_border = node.op in QUANTISED and node.domain in ("", MICROSOFT)
    dynamic = node.qualified_op == "DynamicQuantizeLinear"
    return is_border or dynamic or (node.domain, node.op) in EXPANSIONS


def _check_ops(builder: Builder, source: Source, nodes: Sequence[OnnxNode]) -> None:
    """Raise ``UnsupportedError`` with all ops that can't be imported, unless there are none."""
    activations = (Value, Quantised)
    dynamic = {n for n, found in builder.tensors.items() if isinstance(found, activations)}
    missing: list[OnnxNode] = []
    for node in nodes:
        is_dynamic = node.op not in SHAPE_ONLY and not dynamic.isdisjoint(reads(node))
        if is_dynamic:
            dynamic.update(node.outputs)
        if _is_function(source, node) or _is_quantised(node):
            continue
        has_op = node.op in IMPORTERS.keys() | SEVERAL.keys() | FLOW.keys()
        has_op = has_op or (node.op in STATIC.keys() | STATIC_SEVERAL.keys() and not is_dynamic)
        if node.domain or not has_op:
            missing.append(node)
    if not missing:
        return
    ops = sorted({node.qualified_op for node in missing})
    is_quantised = any(node.op.startswith("Q") or "Quantize" in node.op for node in missing)
    raise UnsupportedError(
        f"the model uses ops that tinyrt does not have: {', '.join(ops)}",
        op=f"{missing[0].describe()}" + (f" and {len(missing) - 1} more" if missing[1:] else ""),
        expected="ops of the table in docs/onnx.md",
        hint="quantise the model in QDQ form, or quantise the float model with 'tinyrt quantize'"
        if is_quantised
        else "replace these ops in the model, or export the part before them",
    )


def _check_outputs(source: Source, nodes: Sequence[OnnxNode], read: set[str]) -> None:
    """Raise ``UnsupportedError`` where an output is read that the importers do not compute."""
    several = SEVERAL.keys() | FLOW.keys() | STATIC_SEVERAL.keys() | {"DynamicQuantizeLinear"}
    single = (n for n in nodes if n.op not in several and not _is_function(source, n))
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
    if not outputs or any(name in builder.defined for name in outputs):
        raise ModelFormatError(
            f"the node defines {', '.join(node.outputs) or 'nothing'}",
            expected="a new tensor",
            hint="the file is damaged: export the model again",
        )
    builder.defined.update(outputs)
    try:
        results = _results(call, source)
    except TinyrtError:
        raise
    except FOREIGN as error:
        raise DefectError(
            f"the importer failed: {type(error).__name__}: {error}",
            expected="numbers that fit together, or a message that says which do not",
            hint="export the model again; if other tools take it, this is a defect of tinyrt: "
            "please report it",
        ) from error
    named = zip(node.outputs, results, strict=False)
    builder.tensors.update((name, result) for name, result in named if name)


def _results(call: Call, source: Source) -> Sequence[Operand]:
    """What the node's outputs are."""
    node, builder = call.node, call.builder
    if _is_function(source, node):
        return _import_function(builder, source, node)
    if _is_quantised(node):
        return _quantised(call, source)
    if node.op in FLOW:
        return FLOW[node.op](call, _Bodies(builder, source))
    if node.op in MOVES | PLACES:
        return _on_integers(call)
    return _plain(call)


def _quantised(call: Call, source: Source) -> Sequence[Operand]:
    """The outputs of an op between integers and real numbers."""
    node = call.node
    if node.qualified_op == "DynamicQuantizeLinear":
        return dynamic_quantize_linear(call)
    if node.op in QUANTISED:
        return [QUANTISED[node.op](call)]
    body = EXPANSIONS[node.domain, node.op](node)
    scope = {name: call.operand(i) for i, name in enumerate(node.inputs) if name}
    return _in_scope(call.builder, source.inner(), body, (), scope, node.outputs[:1])


def _on_integers(call: Call) -> Sequence[Operand]:
    """The outputs of an op that takes integers as it takes numbers."""
    builder, outer = call.builder, call.builder.tensors
    held = {name: outer[name] for name in call.node.inputs if name in outer}
    integers = {name: x for name, x in held.items() if isinstance(x, Quantised)}
    if not integers:
        return _plain(call)
    grid = None if call.node.op in PLACES else moved_grid(call.node.op, list(integers.values()))
    builder.tensors = {**outer, **{name: x.value for name, x in integers.items()}}
    if call.node.op == "Pad":
        builder.tensors |= _real_border(call, grid)
    try:
        results = _plain(call)
    finally:
        builder.tensors = outer
    if call.node.op in PLACES:
        return results
    return [Quantised(x, grid) if isinstance(x, Value) else x for x in results]


def _real_border(call: Call, grid: Grid | None) -> dict[str, Operand]:
    """What Pad fills with, as the number that the integer stands for."""
    constant = call.node.get_string("mode", "constant") == "constant"
    if not constant:
        return {}
    if grid is None or not call.has(2):
        raise UnsupportedError(
            "a border of integers without a scale",
            expected="a border whose integer is given, behind QuantizeLinear",
            hint="quantise the model in QDQ form",
        )
    scale, zero_point = grid.along(0)
    steps = call.array(2).astype(np.float64) - zero_point
    return {call.node.inputs[2]: np.asarray(steps * scale, np.float32)}


def _plain(call: Call) -> Sequence[Operand]:
    """The outputs of an op of a table."""
    node = call.node
    if node.op in STATIC and (node.op in SHAPE_ONLY or call.all_known()):
        return [evaluate_static(call)]
    if node.op in STATIC_SEVERAL and call.all_known():
        return STATIC_SEVERAL[node.op](call)
    if node.op in SEVERAL:
        return SEVERAL[node.op](call)
    return [IMPORTERS[node.op](call)]


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
        check_dense(graph, graph.node)
        scope = {**self.builder.tensors, **dict(zip(names, operands, strict=True))}
        outputs = [output.name for output in graph.output]
        return _in_scope(
            self.builder, self.source.inner(), graph.node, graph.initializer, scope, outputs
        )


def _import_function(builder: Builder, source: Source, node: OnnxNode) -> list[Operand]:
    """The outputs of one call of a function of the file; it sees its inputs alone."""
    function = source.functions[node.domain, node.op]
    call = Call(node, builder)
    formals = list(function.input)
    scope = {name: call.operand(i) for i, name in enumerate(formals) if call.has(i)}
    given = {a.name: a for a in function.attribute_proto} | dict(node.attributes)
    absent = {name for i, name in enumerate(formals) if not call.has(i)}
    body = [_specialised(n, given, absent) for n in function.node]
    opsets = {**source.opsets, **{o.domain: int(o.version) for o in function.opset_import}}
    own = opsets.get("", 0)
    inner = source.inner({**opsets, "ai.onnx": own})
    return _in_scope(builder, inner, body, (), scope, list(function.output)[: len(node.outputs)])


def _specialised(
    proto: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto], absent: set[str]
) -> onnx.NodeProto:
    """A function's node with the caller's attributes, and without inputs that the caller omits."""
    result = onnx.NodeProto()
    result.CopyFrom(proto)
    del result.attribute[:], result.input[:]
    result.input.extend("" if name in absent else name for name in proto.input)
    for attribute in proto.attribute:
        source = given.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if source is not None:
            copy = result.attribute.add()
            copy.CopyFrom(source)
            copy.name = attribute.name
    return result


def _in_scope(
    builder: Builder,
    source: Source,
    protos: Sequence[onnx.NodeProto],
    initializers: Iterable[onnx.TensorProto],
    scope: dict[str, Operand],
    outputs: Sequence[str],
) -> list[Operand]:
    """The outputs of a body that is imported with a scope of its own."""
    outer, defined = builder.tensors, builder.defined
    builder.tensors, builder.defined = scope, set()
    try:
        import_nodes(builder, source, protos, initializers, outputs)
        found = [builder.tensors.get(name) for name in outputs]
    finally:
        builder.tensors, builder.defined = outer, defined
    results = [operand for operand in found if operand is not None]
    if len(results) != len(outputs):
        absent = (name for name, operand in zip(outputs, found, strict=True) if operand is None)
        raise ModelFormatError(
            f"a body computes no {', '.join(absent)}",
            hint="the file is damaged: export the model again",
        )
    return results
