"""ONNX file -> ir.Graph: operator set checks, then node by node.

Each op is imported with the transposes that its channels-last form needs; the passes move and
cancel them. Shapes are known on import, so everything that exporters compute from them is constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx

from tinyrt.convert.onnx_call import Builder, Call
from tinyrt.convert.onnx_inputs import input_values
from tinyrt.convert.onnx_ops import IMPORTERS, SEVERAL
from tinyrt.convert.onnx_proto import OnnxNode, decode_tensor, parse_model
from tinyrt.convert.onnx_static import SHAPE_ONLY, STATIC, evaluate_static
from tinyrt.errors import ModelFormatError, UnsupportedError, error_context
from tinyrt.ir import Graph, Node, Shape, Stage, Value
from tinyrt.ops import verify
from tinyrt.ops.reshape import ReshapeAttrs

OLDEST_OPSET, NEWEST_OPSET = 7, 28
"""Operator sets whose differences the importers know."""

QUANTISED_OPS = frozenset({"ConvInteger", "DequantizeLinear", "QLinearConv", "QuantizeLinear"})
"""Ops that show that the model has been quantised by another tool."""


def read_onnx(path: str | Path, *, shapes: Mapping[str, Shape] | None = None) -> Graph:
    """Read an ONNX file as a float graph, with the transposes that channels-last ops need.

    A symbolic first dimension of an input is the batch and becomes 1, wherever its symbol occurs.

    Args:
        path: the file; weights in external files are looked up beside it.
        shapes: input name -> shape, for inputs whose dimensions the file leaves open.

    Raises:
        ModelFormatError: the file is missing, not an ONNX model, cut short, or contradicts itself.
        UnsupportedError: it needs ops, types or forms that tinyrt does not have; where ops are
            missing, all of them are named.
        ShapeError: an input dimension is open, or operands do not fit together.
        DataError: ``shapes`` names an input that the model does not have.

    """
    path = Path(path)
    # What overflows in a damaged file ends as NaN, which constants are checked for.
    with error_context(file=str(path)), np.errstate(all="ignore"):
        model = parse_model(path)
        builder = Builder()
        inputs = input_values(model.graph, shapes or {})
        for value in inputs:
            builder.tensors[value.name] = builder.add_value(value)
        nodes = _needed_nodes(model, path.parent)
        _check_ops(nodes, {value.name for value in inputs})
        _enter_initializers(builder, model.graph, nodes, path.parent)
        for node in nodes:
            with error_context(op=node.describe()):
                _import_node(builder, node)
        names = tuple(value.name for value in inputs)
        return verify(_finish(builder, path.stem, names, model.graph), Stage.FLOAT)


def _needed_nodes(model: onnx.ModelProto, folder: Path) -> list[OnnxNode]:
    """The nodes that the outputs depend on, in the file's order."""
    opsets = _opsets(model)
    protos = enumerate(model.graph.node)
    every = [OnnxNode.of(p, i, opsets.get(p.domain, 0), folder) for i, p in protos]
    needed = {output.name for output in model.graph.output}
    nodes = []
    for node in reversed(every):
        if needed.intersection(node.outputs):
            nodes.append(node)
            needed.update(node.inputs)
    return nodes[::-1]


def _opsets(model: onnx.ModelProto) -> dict[str, int]:
    """Domain -> version of its operator set, ONNX's own under both of its names.

    Raises:
        UnsupportedError: ONNX's own is older or newer than the importers know.

    """
    opsets = {entry.domain: int(entry.version) for entry in model.opset_import}
    own = opsets.get("", opsets.get("ai.onnx", 0))
    if not OLDEST_OPSET <= own <= NEWEST_OPSET:
        raise UnsupportedError(
            f"the model uses ONNX operator set {own}",
            expected=f"{OLDEST_OPSET} to {NEWEST_OPSET}",
            hint="export it with opset 18 (onnx.version_converter can convert it)",
        )
    return {**opsets, "": own, "ai.onnx": own}


def _check_ops(nodes: Sequence[OnnxNode], inputs: set[str]) -> None:
    """Raise ``UnsupportedError`` with all ops that can't be imported, unless there are none."""
    dynamic = set(inputs)
    missing: list[OnnxNode] = []
    for node in nodes:
        is_dynamic = node.op not in SHAPE_ONLY and bool(dynamic.intersection(node.inputs))
        if is_dynamic:
            dynamic.update(node.outputs)
        has_op = node.op in IMPORTERS.keys() | SEVERAL.keys()
        has_op = has_op or (node.op in STATIC and not is_dynamic)
        if node.domain or not has_op:
            missing.append(node)
    if not missing:
        return
    ops = sorted({node.qualified_op for node in missing})
    is_quantised = any(node.op in QUANTISED_OPS for node in missing)
    raise UnsupportedError(
        f"the model uses ops that tinyrt does not have: {', '.join(ops)}",
        op=f"{missing[0].describe()}" + (f" and {len(missing) - 1} more" if missing[1:] else ""),
        expected="ops of the table that 'tinyrt ops' prints",
        hint="export the float model and quantise it with 'tinyrt quantize'"
        if is_quantised
        else "replace these ops in the model, or export the part before them",
    )


def _enter_initializers(
    builder: Builder, graph: onnx.GraphProto, nodes: Sequence[OnnxNode], folder: Path
) -> None:
    """Decode the constants that the nodes read."""
    read = {name for node in nodes for name in node.inputs}
    for tensor in graph.initializer:
        if tensor.name in read:
            builder.tensors[tensor.name] = decode_tensor(tensor, folder)
    for sparse in graph.sparse_initializer:
        if sparse.values.name in read:
            raise UnsupportedError(
                f"the constant '{sparse.values.name}' is sparse",
                expected="dense constants",
                hint="export the model with dense weights",
            )
    single = (node for node in nodes if node.op not in SEVERAL)
    extra = {name: node for node in single for name in node.outputs[1:] if name}
    outputs = {output.name for output in graph.output}
    for name in sorted((read | outputs) & extra.keys()):
        raise UnsupportedError(
            f"'{name}', an output other than the op's first, is used",
            op=extra[name].describe(),
            expected="only first outputs in use",
            hint="export the model for inference, without indices, masks and training outputs",
        )


def _import_node(builder: Builder, node: OnnxNode) -> None:
    call = Call(node, builder)
    if not node.outputs or not node.outputs[0] or call.result in builder.tensors:
        raise ModelFormatError(
            f"the node defines {', '.join(node.outputs) or 'nothing'}",
            expected="a new tensor",
            hint="the file is damaged: export the model again",
        )
    if node.op in STATIC and (node.op in SHAPE_ONLY or call.all_known()):
        builder.tensors[call.result] = evaluate_static(call)
    elif node.op in SEVERAL:
        builder.tensors.update(zip(node.outputs, SEVERAL[node.op](call), strict=False))
    else:
        builder.tensors[call.result] = IMPORTERS[node.op](call)


def _finish(builder: Builder, name: str, inputs: tuple[str, ...], proto: onnx.GraphProto) -> Graph:
    """The graph, whose outputs carry the names that the file gives them."""
    renames: dict[str, str] = {}
    outputs = [output.name for output in proto.output]
    if len(set(outputs)) != len(outputs):
        raise ModelFormatError(f"outputs {outputs}", expected="different names")
    for output in outputs:
        value = _output_value(builder, output)
        if value.name in inputs or value.is_constant or value.name in renames:
            value = _copy(builder, value, output)
        renames[value.name] = output
    for taken in set(outputs) & builder.values.keys() - renames.keys():
        renames[taken] = builder.unique_name(f"{taken}.nhwc")
    graph = Graph(name, inputs, tuple(outputs), builder.values, tuple(builder.nodes))
    return _renamed(graph, renames)


def _output_value(builder: Builder, output: str) -> Value:
    found = builder.tensors.get(output)
    if found is None:
        raise ModelFormatError(
            f"no node computes the output '{output}'",
            hint="the file is damaged: export the model again",
        )
    if not isinstance(found, Value):
        raise UnsupportedError(
            f"the output '{output}' does not depend on the model's input",
            expected="outputs that are computed",
            hint="remove this output from the model",
        )
    return found


def _copy(builder: Builder, value: Value, name: str) -> Value:
    """Another value equal to ``value``: an output needs a tensor of its own."""
    copy = builder.add_value(replace(value, name=builder.unique_name(name), data=None))
    attrs = ReshapeAttrs(value.shape)
    builder.nodes.append(Node("reshape", name, (value.name,), (copy.name,), attrs))
    return copy


def _renamed(graph: Graph, renames: Mapping[str, str]) -> Graph:
    """The graph with values renamed; constants and values that nothing reads are kept."""

    def new(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(renames.get(n, n) for n in names)

    values = [replace(v, name=renames.get(v.name, v.name)) for v in graph.values.values()]
    nodes = (replace(n, inputs=new(n.inputs), outputs=new(n.outputs)) for n in graph.nodes)
    return replace(graph, values={v.name: v for v in values}, nodes=tuple(nodes))
