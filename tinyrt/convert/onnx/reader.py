"""ONNX file -> ir.Graph: operator set checks, then node by node.

Each op is imported with the transposes that its channels-last form needs; the passes move and
cancel them. Shapes are known on import, so everything that exporters compute from them is constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import onnx.version_converter
from numpy.typing import ArrayLike

from tinyrt.budget import current, limited
from tinyrt.convert.onnx.call import Builder
from tinyrt.convert.onnx.grid import Quantized
from tinyrt.convert.onnx.inputs import input_values
from tinyrt.convert.onnx.nodes import Source, check_ops, import_nodes
from tinyrt.convert.onnx.proto import parse_model
from tinyrt.convert.onnx.weights import DTYPES, Array, WeightsReader, listed
from tinyrt.errors import (
    ModelFormatError,
    ShapeError,
    TinyrtError,
    UnsupportedError,
    advising,
    boundary,
)
from tinyrt.ir import DType, Graph, Node, Shape, Stage, Value
from tinyrt.ops import verify
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.reshape import ReshapeAttrs

OLDEST_OPSET, NEWEST_OPSET = 7, 28
"""Operator sets whose differences the importers know; onnx brings older ones to the first."""

ANSWERED = frozenset(DTYPES.values()) & {dtype.value for dtype in DType}
"""Types that constants among the outputs may have."""

COPIES = 4
"""So many times the size of a file that onnx brings to a later operator set are held."""

HINTS: dict[type[TinyrtError], str] = {
    ModelFormatError: "export the model again; onnx.checker.check_model says whether it is valid",
    ShapeError: "check the inputs' shapes (--shape NAME=...), or export the model again",
    UnsupportedError: "change this part of the model, and export it again",
}
"""What to do about errors that do not say it themselves."""


def read_onnx(
    path: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
    values: Mapping[str, ArrayLike] | None = None,
    sequence_lstm: bool = False,
) -> Graph:
    """Read an ONNX file as a float graph, with the transposes that channels-last ops need.

    A symbolic first dimension of an input is the batch and becomes 1, wherever its symbol occurs.

    Args:
        path: the file; weights in external files are looked up beside it.
        shapes: input name -> shape, for inputs whose dimensions the file leaves open.
        values: input name -> its elements, or one number for all of them; such inputs become
            constants, and control flow that they decide is resolved.
        sequence_lstm: keep LSTMs whole where TFLite's op for sequences fits.

    Raises:
        ModelFormatError: the file is missing, not an ONNX model, cut short, or contradicts itself.
        UnsupportedError: it needs ops, types or forms that tinyrt does not have; where ops are
            missing, all of them are named.
        ShapeError: an input dimension is open, or operands do not fit together.
        DataError: ``shapes`` or ``values`` name an input that the model does not have, or a value
            does not fit.
        BudgetError: it takes more memory or work than a file of its size may cost.

    """
    path = Path(path)
    size = path.stat().st_size if path.is_file() else 0
    with boundary("ONNX file", file=str(path)), limited(file_bytes=size), advising(HINTS):
        return import_onnx(path, shapes or {}, values or {}, sequence_lstm=sequence_lstm)


def import_onnx(
    path: Path,
    shapes: Mapping[str, Shape],
    values: Mapping[str, ArrayLike],
    *,
    sequence_lstm: bool,
) -> Graph:
    """As ``read_onnx``, for callers that have opened a budget and know the file."""
    # What overflows in a damaged file ends as NaN, which constants are checked for.
    with np.errstate(all="ignore"):
        model = _modern(parse_model(path))
        builder = Builder(sequence_lstm=sequence_lstm)
        functions = {(f.domain, f.name): f for f in model.functions}
        source = Source(_opsets(model), WeightsReader(path.parent), functions)
        body = source.body_of(model.graph)
        # First: a missing op often brings inputs of its own kind.
        check_ops({i.name for i in model.graph.input} - {*_constants(model), *values}, source, body)
        inputs = input_values(model.graph, shapes, values)
        for value in inputs.values:
            builder.add_value(value)
            kind = inputs.quantized.get(value.name)
            real = _as_numbers(builder, value)
            builder.tensors[value.name] = Quantized(real, kind) if kind else real
        builder.tensors.update(inputs.fixed)
        names = tuple(value.name for value in inputs.values)
        builder.defined.update(names, inputs.fixed)
        import_nodes(builder, source, body)
        return verify(_finish(builder, path.stem, names, model.graph), Stage.FLOAT)


def _as_numbers(builder: Builder, value: Value) -> Value:
    """An input, that of bytes as float32."""
    if value.dtype not in (DType.UINT8, DType.INT8):
        return value
    name = builder.unique_name(f"{value.name}.real")
    real = builder.add_value(Value(name, DType.FLOAT32, value.shape))
    builder.add_node(Node("cast", name, (value.name,), (name,), CastAttrs()))
    return real


def _constants(model: onnx.ModelProto) -> Iterable[str]:
    """Names of the constants: old files list them among the inputs."""
    return (tensor.name for tensor in model.graph.initializer)


def _modern(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in the oldest operator set that the importers know, where its own is older.

    Raises:
        UnsupportedError: onnx does not convert it, or does not do so faithfully.
        BudgetError: the copies that onnx makes do not fit.

    """
    own = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    if not 0 < own < OLDEST_OPSET:
        return model
    current().reserve(COPIES * model.ByteSize(), "the model in a later operator set")
    reason = _lost_by_onnx(model)
    if reason is None:
        try:
            onnx.checker.check_model(model)
            return onnx.version_converter.convert_version(model, OLDEST_OPSET)
        # Its errors have no common base; all say that onnx did not convert the model.
        except Exception as error:
            reason = f"onnx says: {(str(error).splitlines() or [type(error).__name__])[0]}"
    raise UnsupportedError(
        f"the model uses ONNX operator set {own}, which is not brought to set {OLDEST_OPSET}",
        expected=f"{OLDEST_OPSET} to {NEWEST_OPSET}, or what onnx.version_converter can convert",
        hint=f"export it again with opset 18 ({reason})",
    )


def _lost_by_onnx(model: onnx.ModelProto) -> str | None:
    """What onnx's converter would leave out or take for something else, if there is any.

    Slopes of PRelu went along the channels and now go along the last axis; batch norms learned
    unless ``is_test`` was set.
    """
    if model.functions or model.graph.sparse_initializer:
        return "onnx drops its functions and sparse constants"
    if any(tensor.data_location for tensor in model.graph.initializer):
        return "onnx does not read constants from other files"
    for node in model.graph.node:
        if any(a.HasField("g") or a.graphs for a in node.attribute):
            return f"onnx does not convert the graphs inside of {node.op_type}"
        if node.op_type == "PRelu":
            return "onnx does not turn the slopes of PRelu"
        if node.op_type == "BatchNormalization" and not any(
            a.name == "is_test" and a.i for a in node.attribute
        ):
            return "its batch norms are in training mode"
    return None


def _opsets(model: onnx.ModelProto) -> dict[str, int]:
    """Domain -> version of its operator set, ONNX's own under both of its names.

    Raises:
        UnsupportedError: ONNX's own is older or newer than the importers know.
        ModelFormatError: there is none, although its ops are used, or there are two.

    """
    opsets = {entry.domain: int(entry.version) for entry in model.opset_import}
    own = opsets.get("", opsets.get("ai.onnx"))
    if own is None:
        if any(node.domain in ("", "ai.onnx") for node in model.graph.node):
            raise ModelFormatError(
                "the model does not say which of ONNX's operator sets it uses",
                expected="an entry of opset_import for ONNX's own domain",
            )
        own = NEWEST_OPSET
    if opsets.get("ai.onnx", own) != own:
        raise ModelFormatError(
            f"the model uses ONNX operator sets {own} and {opsets['ai.onnx']}",
            expected="the same for both names of the domain",
        )
    if not OLDEST_OPSET <= own <= NEWEST_OPSET:
        raise UnsupportedError(
            f"the model uses ONNX operator set {own}",
            expected=f"{OLDEST_OPSET} to {NEWEST_OPSET}",
            hint="export it with opset 18 (onnx.version_converter can convert it)",
        )
    return {**opsets, "": own, "ai.onnx": own}


def _finish(builder: Builder, name: str, inputs: tuple[str, ...], proto: onnx.GraphProto) -> Graph:
    """The graph, whose outputs carry the names that the file gives them."""
    renames: dict[str, str] = {}
    outputs = [output.name for output in proto.output]
    if len(set(outputs)) != len(outputs):
        raise ModelFormatError(f"outputs {listed(outputs)}", expected="different names")
    values = [_output_value(builder, output) for output in outputs]
    _check_computed(builder, outputs)
    for i, (output, value) in enumerate(zip(outputs, values, strict=True)):
        if value.name in inputs or value.name in renames:
            value = _copy(builder, value, output)
        if output in inputs:
            outputs[i] = output = builder.unique_name(f"{output}.output")
        renames[value.name] = output
    for clash in set(outputs) & builder.values.keys() - renames.keys():
        renames[clash] = builder.unique_name(f"{clash}.nhwc")
    graph = Graph(name, inputs, tuple(outputs), builder.values, tuple(builder.nodes))
    return _renamed(graph, renames)


def _output_value(builder: Builder, output: str) -> Value:
    operand = builder.tensors.get(output)
    if isinstance(operand, Quantized):
        return operand.value
    if operand is None:
        raise ModelFormatError(
            f"no node computes the output '{output}'",
            hint="the file is damaged: export the model again",
        )
    if not isinstance(operand, Value):
        return _known_output(builder, output, operand)
    return operand


def _known_output(builder: Builder, output: str, data: Array) -> Value:
    """A constant that is answered; doubles as float32, and a number in one dimension."""
    if data.dtype == np.float64:
        data = builder.narrowed(output, data)
    if not data.size or data.dtype.name not in ANSWERED:
        raise UnsupportedError(
            f"the output '{output}' is a constant, {data.dtype}{list(data.shape)}",
            expected=f"elements, of a type among {', '.join(sorted(ANSWERED))}",
            hint="remove this output from the model",
        )
    return builder.constant(output, data)


def _check_computed(builder: Builder, outputs: Sequence[str]) -> None:
    """Refuse a model of constants alone."""
    if not any(isinstance(builder.tensors.get(name), Value | Quantized) for name in outputs):
        raise UnsupportedError(
            f"no output depends on the model's input: {listed(outputs)}",
            expected="an output that is computed",
            hint="export the model with the nodes between its inputs and its outputs",
        )


def _copy(builder: Builder, value: Value, name: str) -> Value:
    """Another value equal to ``value``: an output needs a tensor of its own."""
    copy = builder.add_value(replace(value, name=builder.unique_name(name), data=None))
    attrs = ReshapeAttrs(value.shape)
    builder.add_node(Node("reshape", name, (value.name,), (copy.name,), attrs))
    return copy


def _renamed(graph: Graph, renames: Mapping[str, str]) -> Graph:
    """The graph with values renamed; constants and values that nothing reads are kept."""

    def new(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(renames.get(n, n) for n in names)

    values = [replace(v, name=renames.get(v.name, v.name)) for v in graph.values.values()]
    nodes = (replace(n, inputs=new(n.inputs), outputs=new(n.outputs)) for n in graph.nodes)
    return replace(graph, values={v.name: v for v in values}, nodes=tuple(nodes))
