"""ir.Graph -> .tflite flatbuffer (schema version 3)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from flatbuffers.builder import BuilderSizeError
from numpy.typing import NDArray

from tinyrt.budget import readable
from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.codec import Encoded, i32
from tinyrt.convert.tflite.custom import written_options
from tinyrt.convert.tflite.lower import lower
from tinyrt.convert.tflite.ops import codec_for
from tinyrt.convert.tflite.products import legacy_entry, products_entry
from tinyrt.convert.tflite.states import FRESH, STATES
from tinyrt.convert.tflite.topk import values_of
from tinyrt.errors import ConversionWarning, UnsupportedError, warn
from tinyrt.files import write_atomic
from tinyrt.ir import BoundNode, DType, Graph, QParams, Value, pack_int4
from tinyrt.ops import OPS, verify
from tinyrt.ops.shared.spec import Quant

DESCRIPTION = "written by tinyrt"

SIGNATURE = "serving_default"
"""Key of the file's one signature: TensorFlow's, which other tools look for."""

ROOM = 1024
"""Bytes for a tensor's table and its op's, generously."""

MAX_BYTES = 2**31 - 1
"""Bytes that the offsets of a flatbuffer can reach."""


def save_tflite(
    graph: Graph, path: str | Path, metadata: Mapping[str, bytes] | None = None
) -> Path:
    """Write the graph to a file, whole or not at all; arguments as for ``write_tflite``.

    Raises:
        UnsupportedError: an op has no form in the .tflite format, or the format cannot hold the
            model's sizes.
        OutputError: the file cannot be written.

    """
    data = _written(graph, metadata or {})
    fresh = [node.name for node in graph.bound() if _fresh_states(graph, node)]
    if fresh:
        warn(
            f"other interpreters than tinyrt's keep the state of {', '.join(fresh)} from run to "
            "run: there, reset the variables before each one",
            ConversionWarning,
        )
    return write_atomic(path, lambda file: file.write(data))


def write_tflite(graph: Graph, metadata: Mapping[str, bytes] | None = None) -> bytes:
    """The graph as the bytes of a .tflite file.

    Args:
        graph: a graph of ops that the format has; its tensor names are kept.
        metadata: name -> bytes, for the file's metadata table.

    Raises:
        UnsupportedError: an op has no form in the .tflite format, or the format cannot hold the
            model's sizes.

    """
    return bytes(_written(graph, metadata or {}))


def _written(graph: Graph, metadata: Mapping[str, bytes]) -> memoryview:
    """The file's bytes as a view of the builder's buffer, without a copy."""
    writer = _Writer(verify(lower(verify(graph))))
    try:
        return writer.write(metadata)
    except BuilderSizeError as error:
        raise too_large(MAX_BYTES + 1) from error


class _Writer:
    """State of one file: the builder, and which tensor, buffer and op code has which index."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        # A growing buffer doubles and copies: for a large model, more than its own size.
        nbytes = sum(v.nbytes for v in graph.values.values() if v.is_constant)
        if nbytes > MAX_BYTES:
            raise too_large(nbytes)
        self.builder = flatbuffers.Builder(min(nbytes + ROOM * len(graph.values), MAX_BYTES))
        self.tensors: list[Value] = []
        self.index: dict[str, int] = {}
        self.buffers: list[Value | bytes] = [b""]
        self.codes: dict[tuple[str, int], int] = {}
        self.variables, self.hidden = _variables(graph)
        self.values_of = values_of(graph)

    def write(self, metadata: Mapping[str, bytes]) -> memoryview:
        b = self.builder
        pairs = [pair for pair in self.graph.states if pair[0] not in self.variables]
        if pairs:
            metadata = {STATES: json.dumps(pairs).encode(), **metadata}
        fresh = [name for name in self.variables if self.graph.value(name).is_constant]
        if fresh:
            metadata = {FRESH: json.dumps(fresh).encode(), **metadata}
        metadata = {**products_entry(self.graph), **legacy_entry(self.graph), **metadata}
        for value in self.graph.input_values:
            if value.name not in self.hidden:
                self._tensor(value)
        picked = {value.name for value in self.values_of.values()}
        nodes = (node for node in self.graph.bound() if node.output.name not in picked)
        operators = [self._operator(node) for node in nodes]
        for name in self._outputs():
            self._tensor(self.graph.value(name))
        tensors = [self._write_tensor(v) for v in self.tensors]
        subgraph = self._subgraph(tensors, operators)
        entries = [self._metadata(name, data) for name, data in metadata.items()]
        fields = {
            "OperatorCodes": _offsets(b, [self._code(*key) for key in self.codes]),
            "Subgraphs": _offsets(b, [subgraph]),
            "SignatureDefs": _offsets(b, [self._signature()]),
            "Buffers": _offsets(b, [self._buffer(data) for data in self.buffers]),
            "Description": b.CreateString(DESCRIPTION),
        }
        if entries:
            fields["Metadata"] = _offsets(b, entries)
        model = _table(b, "Model", {"Version": schema.VERSION, **fields})
        b.Finish(model, file_identifier=schema.IDENTIFIER)
        return memoryview(b.Bytes)[b.Head() :]

    def _tensor(self, value: Value) -> int:
        if value.name not in self.index:
            self.index[value.name] = len(self.tensors)
            self.tensors.append(value)
        return self.index[value.name]

    def _operator(self, node: BoundNode) -> int:
        codec = codec_for(node)
        encoded = codec.encode(node)
        inputs = [
            self._tensor(v) if v else -1
            for i, v in enumerate(node.inputs)
            if not (encoded.hidden and i in encoded.variables)
        ]
        inputs += [self._tensor(v) for v in self._extra_inputs(node, encoded)]
        if encoded.order is not None:
            inputs = [inputs[i] if i >= 0 else -1 for i in encoded.order]
        # An op writes its last outputs to its variables.
        own = node.outputs[: len(node.outputs) - len(encoded.variables)]
        values = self.values_of.get(node.output.name)
        outputs = [self._tensor(v) for v in (values, *own) if v is not None]
        key = (codec.builtin, codec.version(node))
        b = self.builder
        fields = {
            "OpcodeIndex": self.codes.setdefault(key, len(self.codes)),
            "Inputs": _ints(b, inputs),
            "Outputs": _ints(b, outputs),
        }
        if encoded.intermediates:
            fields["Intermediates"] = _ints(b, self._intermediates(node, encoded))
        if codec.table:
            fields["BuiltinOptions"] = _table(b, codec.table, encoded.fields)
            fields["BuiltinOptionsType"] = schema.options_code(codec.table)
        if codec.options:
            fields["CustomOptions"] = b.CreateByteVector(written_options(encoded.fields))
        return _table(b, "Operator", fields)

    def _extra_inputs(self, node: BoundNode, encoded: Encoded) -> Iterable[Value]:
        for suffix, data in encoded.extra:
            q = encoded.fill_q if data.dtype in (np.int8, np.int16) else None
            name = self.graph.unique_name(f"{node.output.name}/{suffix}")
            yield Value.constant(name, data, q)

    def _intermediates(self, node: BoundNode, encoded: Encoded) -> list[int]:
        """Tensors that nothing reads or writes: they only carry scales."""
        described = enumerate(encoded.intermediates)
        named = self.graph.unique_name
        return [
            self._tensor(Value(named(f"{node.output.name}/inside_{i}"), dtype, (0,), q))
            for i, (dtype, q) in described
        ]

    def _inputs(self) -> list[str]:
        """The file's inputs: the graph's, without variables."""
        return [name for name in self.graph.inputs if name not in self.variables]

    def _outputs(self) -> list[str]:
        """The file's outputs: the graph's, without the next values of variables."""
        return [name for name in self.graph.outputs if name not in self.variables.values()]

    def _write_tensor(self, value: Value) -> int:
        b = self.builder
        buffer = 0
        if value.data is not None and value.name not in self.variables:
            buffer = len(self.buffers)
            self.buffers.append(value)
        fields = {
            "Shape": _ints(b, value.shape),
            "Type": schema.TENSOR_TYPE[value.dtype],
            "Buffer": buffer,
            "Name": b.CreateString(value.name),
        }
        if value.name in self.variables:
            fields["IsVariable"] = True
        if value.q is not None:
            fields["Quantization"] = self._quantization(value.q)
        return _table(b, "Tensor", fields)

    def _quantization(self, q: QParams) -> int:
        b = self.builder
        zero_points = np.full(len(q.scales), q.zero_point, np.int64)
        fields = {
            "Scale": b.CreateNumpyVector(np.asarray(q.scales, np.float32)),
            "ZeroPoint": b.CreateNumpyVector(zero_points),
            "QuantizedDimension": q.axis or 0,
        }
        return _table(b, "QuantizationParameters", fields)

    def _subgraph(self, tensors: list[int], operators: list[int]) -> int:
        b = self.builder
        fields = {
            "Tensors": _offsets(b, tensors),
            "Inputs": _ints(b, [self.index[n] for n in self._inputs()]),
            "Outputs": _ints(b, [self.index[n] for n in self._outputs()]),
            "Operators": _offsets(b, operators),
            "Name": b.CreateString(self.graph.name),
        }
        return _table(b, "SubGraph", fields)

    def _signature(self) -> int:
        """The model's ports by their names."""
        fields = {
            "Inputs": self._port_map(self._inputs()),
            "Outputs": self._port_map(self._outputs()),
            "SignatureKey": self.builder.CreateString(SIGNATURE),
            "SubgraphIndex": 0,
        }
        return _table(self.builder, "SignatureDef", fields)

    def _port_map(self, names: Iterable[str]) -> int:
        b = self.builder
        return _offsets(
            b,
            [
                _table(b, "TensorMap", {"Name": b.CreateString(n), "TensorIndex": self.index[n]})
                for n in names
            ],
        )

    def _code(self, builtin: str, version: int) -> int:
        custom = schema.custom_code(builtin)
        code = schema.OP_CODE["CUSTOM" if custom else builtin]
        names = {"CustomCode": self.builder.CreateString(custom)} if custom else {}
        fields = {
            **names,
            # Readers of older schemas know only the byte; larger codes show as 127 there.
            "DeprecatedBuiltinCode": min(code, 127),
            "BuiltinCode": code,
            "Version": version,
        }
        return _table(self.builder, "OperatorCode", fields)

    def _buffer(self, content: Value | bytes) -> int:
        b = self.builder
        data = content if isinstance(content, bytes) else _stored(content)
        if not len(data):
            return _table(b, "Buffer", {})
        b.StartVector(1, len(data), schema.ALIGNMENT)
        b.head = b.Head() - len(data)
        b.Bytes[b.Head() : b.Head() + len(data)] = data
        return _table(b, "Buffer", {"Data": b.EndVector()})

    def _metadata(self, name: str, data: bytes) -> int:
        self.buffers.append(data)
        fields = {"Name": self.builder.CreateString(name), "Buffer": len(self.buffers) - 1}
        return _table(self.builder, "Metadata", fields)


def _fresh_states(graph: Graph, node: BoundNode) -> bool:
    """Whether the op has states that begin anew with each run."""
    if OPS[node.op].quant is not Quant.STATEFUL:
        return False
    return any(node.input(i).is_constant for i in codec_for(node).encode(node).variables)


def _variables(graph: Graph) -> tuple[dict[str, str], frozenset[str]]:
    """State that an op changes -> its next value; and the state that has no tensors in the file.

    Raises:
        UnsupportedError: an op that keeps state is given it from elsewhere.

    """
    variables: dict[str, str] = {}
    hidden: set[str] = set()
    for node in graph.bound():
        encoded = codec_for(node).encode(node)
        places = encoded.variables
        for place, after in zip(
            places, node.outputs[len(node.outputs) - len(places) :], strict=True
        ):
            before = node.input(place)
            is_state = (before.name, after.name) in graph.states
            is_state |= not encoded.hidden and _begins_anew(graph, before, after)
            if not is_state or before.name in variables:
                raise UnsupportedError(
                    "the file format has no way to give this op its state",
                    op=node.describe(),
                    tensor=before.describe(),
                    expected="a state of the graph that this op alone changes, or zeros",
                )
            variables[before.name] = after.name
            hidden.update([before.name] if encoded.hidden else [])
    return variables, frozenset(hidden)


def _begins_anew(graph: Graph, before: Value, after: Value) -> bool:
    """Whether a state is zeros at the start of each run, and nothing reads its next value."""
    zero = before.q.zero_point if before.q is not None else 0
    is_read = after.name in graph.outputs or bool(graph.consumers(after.name))
    return before.data is not None and not is_read and bool(np.all(before.data == zero))


def _table(builder: Any, table: str, fields: Mapping[str, Any]) -> int:
    schema.start_table(builder, table)
    for field, value in fields.items():
        try:
            schema.add_field(builder, table, field, value)
        except TypeError as error:  # what the bindings say of a number beyond the field's type
            raise UnsupportedError(
                f"a .tflite file cannot hold {field} = {value!r} in {table}",
                expected="a number of that field's type",
                hint="choose another window, stride or axis",
            ) from error
    return schema.end_table(builder, table)


def too_large(nbytes: int) -> UnsupportedError:
    """The refusal of a model that no flatbuffer can hold."""
    return UnsupportedError(
        f"the model's constants take {readable(nbytes)}",
        expected="a .tflite file of less than 2 GiB",
        hint="quantise it, or store its weights in fewer bits",
    )


def _ints(builder: Any, values: Iterable[int]) -> int:
    return int(builder.CreateNumpyVector(i32(list(values))))


def _offsets(builder: Any, offsets: list[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _stored(value: Value) -> memoryview:
    """A constant's bytes; those of the graph itself where they need no change."""
    data: NDArray[Any] = np.asarray(value.data)
    if value.dtype is DType.INT4:
        data = pack_int4(data)
    little: NDArray[Any] = np.ascontiguousarray(data, data.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).data
