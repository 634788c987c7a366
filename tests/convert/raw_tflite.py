""".tflite files of any ops, tensors and subgraphs, put together table by table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import tflite
from flatbuffers import flexbuffers

from tinyrt.convert.tflite import schema

FIRST_VERSION = {"BROADCAST_TO": 2}
"""Of ops that LiteRT has no version 1 of."""

VECTORS = {4: ("Int32Vector", 1), 2: ("Uint16Vector", 2), 1: ("Uint8Vector", 3)}
"""Bytes of an index -> its list's table, and that one's number in the union."""

Buffers = list[bytes | tuple[int, int]]
"""Contents, or where they begin in the file and how many bytes they are."""


Level = int | tuple[Any, Any]
"""Of a sparse tensor: how many children, all stored, or segments and indices of those that are."""


@dataclass(frozen=True)
class Sparse:
    """Levels of a tensor without its zeros, in their order, and the dimensions of blocks."""

    order: Sequence[int] = ()
    levels: Sequence[Level] = ()
    blocked: Sequence[int] = ()


@dataclass(frozen=True)
class Tensor:
    """A tensor; a constant where it has data. ``shares`` names one whose buffer it has, too.

    ``buffer`` is a number of a buffer, whether it is there or not; ``axis`` is that of scales, of
    which several zero points are given as a list; ``signature`` is the shape with -1 for what is
    known at run time alone; ``outside`` is where the data lie in the file outside of all tables,
    and how many bytes they are; ``blocks`` says that blocks of it have scales of their own.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "FLOAT32"
    data: Any = None
    scale: float | Sequence[float] | None = None
    zero_point: int | Sequence[int] = 0
    shares: str | None = None
    buffer: int | None = None
    axis: int = 0
    variable: bool = False
    sparse: Sparse | None = None
    outside: tuple[int, int] | None = None
    signature: Sequence[int] = ()
    blocks: bool = False


@dataclass(frozen=True)
class Op:
    """An op: its inputs and outputs by name (an empty one is absent), or by any number.

    ``kind`` is a number of an options table without the table. A custom op is named as in messages,
    ``CUSTOM (SignalWindow)``: its fields are a map of FlexBuffers, unless ``custom`` is its bytes.
    """

    builtin: str
    inputs: Sequence[str | int]
    outputs: Sequence[str | int]
    table: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, Sequence[int]] = field(default_factory=dict)
    kind: int | None = None
    custom: bytes | None = None


@dataclass(frozen=True)
class Subgraph:
    """Tensors, ops, and the names of ports."""

    tensors: Sequence[Tensor]
    ops: Sequence[Op]
    inputs: Sequence[str | int]
    outputs: Sequence[str | int]


def build(
    *subgraphs: Subgraph,
    signatures: Mapping[str, int] | None = None,
    metadata: Mapping[str, bytes] | None = None,
    versions: bool = True,
    old_byte: bool = True,
) -> bytes:
    """The bytes of a file.

    Args:
        subgraphs: the first one is the model.
        signatures: key -> number of the subgraph whose ports are the arguments.
        metadata: name -> bytes.
        versions: whether op codes carry a version, and the code itself rather than its old byte.
        old_byte: whether they carry that.

    """
    b = flatbuffers.Builder(1024)
    codes = sorted({op.builtin for graph in subgraphs for op in graph.ops})
    buffers: Buffers = [b""]
    graphs = [_subgraph(b, graph, codes, buffers) for graph in subgraphs]
    fields = {
        "Version": schema.VERSION,
        "OperatorCodes": _offsets(b, [_code(b, name, versions, old_byte) for name in codes]),
        "Subgraphs": _offsets(b, graphs),
    }
    entries = []
    for name, data in (metadata or {}).items():
        buffers.append(data)
        text = b.CreateString(name)
        entries.append(_table(b, "Metadata", {"Name": text, "Buffer": len(buffers) - 1}))
    if entries:
        fields["Metadata"] = _offsets(b, entries)
    if signatures:
        ports = {key: subgraphs[i % len(subgraphs)] for key, i in signatures.items()}
        defs = [_signature(b, key, signatures[key], graph) for key, graph in ports.items()]
        fields["SignatureDefs"] = _offsets(b, defs)
    fields["Buffers"] = _offsets(b, [_buffer(b, data) for data in buffers])
    b.Finish(_table(b, "Model", fields), file_identifier=schema.IDENTIFIER)
    return bytes(b.Output())


def single(
    builtin: str, tensors: Sequence[Tensor], table: str | None = None, **fields: Any
) -> bytes:
    """A file of one op: its constants and inputs in their order, then outputs ``y``, ``y1``, ..."""
    inputs = [t.name for t in tensors if not t.name.startswith("y")]
    outputs = [t.name for t in tensors if t.name.startswith("y")]
    fed = [t.name for t in tensors if t.name in inputs and t.data is None and not t.shares]
    op = Op(builtin, inputs, outputs, table, fields)
    return build(Subgraph(tensors, [op], fed, outputs))


def scaled(factor: float) -> Subgraph:
    """y = factor * x, of three elements."""
    constant = Tensor("k", (1,), data=np.array([factor], np.float32))
    tensors = [Tensor("x", (1, 3)), constant, Tensor("y", (1, 3))]
    return Subgraph(tensors, [Op("MUL", ["x", "k"], ["y"], "MulOptions")], ["x"], ["y"])


def _subgraph(b: Any, graph: Subgraph, codes: Sequence[str], buffers: Buffers) -> int:
    places: dict[str | int, int] = {"": -1} | {t.name: i for i, t in enumerate(graph.tensors)}
    held: dict[str, int] = {}
    tensors = [_tensor(b, t, buffers, held) for t in graph.tensors]
    ops = [_op(b, op, codes, places) for op in graph.ops]
    fields = {
        "Tensors": _offsets(b, tensors),
        "Inputs": _ints(b, [_number(places, n) for n in graph.inputs]),
        "Outputs": _ints(b, [_number(places, n) for n in graph.outputs]),
        "Operators": _offsets(b, ops),
    }
    return _table(b, "SubGraph", fields)


def _tensor(b: Any, tensor: Tensor, buffers: Buffers, held: dict[str, int]) -> int:
    buffer = held.get(tensor.shares or "", 0)
    if tensor.data is not None:
        buffers.append(np.ascontiguousarray(tensor.data).tobytes())
        buffer = held[tensor.name] = len(buffers) - 1
    if tensor.outside is not None:
        buffers.append(tensor.outside)
        buffer = len(buffers) - 1
    if tensor.buffer is not None:
        buffer = tensor.buffer
    fields = {
        "Shape": _ints(b, tensor.shape),
        "Type": getattr(tflite.TensorType, tensor.dtype),
        "Buffer": buffer,
        "Name": b.CreateString(tensor.name),
    }
    if tensor.scale is not None:
        scales = np.atleast_1d(np.array(tensor.scale, np.float32))
        given = tensor.zero_point
        several = [given] * len(scales) if isinstance(given, int) else given
        zero_points = np.array(several, np.int64)
        parts = {
            "Scale": b.CreateNumpyVector(scales),
            "ZeroPoint": b.CreateNumpyVector(zero_points),
            "QuantizedDimension": tensor.axis,
        }
        fields["Quantization"] = _table(b, "QuantizationParameters", parts)
    if tensor.blocks:
        parts = {"DetailsType": 2, "Details": _table(b, "CustomQuantization", {})}
        fields["Quantization"] = _table(b, "QuantizationParameters", parts)
    if tensor.signature:
        fields["ShapeSignature"] = _ints(b, tensor.signature)
    if tensor.variable:
        fields["IsVariable"] = True
    if tensor.sparse:
        fields["Sparsity"] = _sparsity(b, tensor.sparse)
    return _table(b, "Tensor", fields)


def _sparsity(b: Any, sparse: Sparse) -> int:
    levels = []
    for level in sparse.levels:
        parts: dict[str, Any] = {"DenseSize": level, "Format": 0}
        if not isinstance(level, int):
            parts = {"Format": 1}
            for name, numbers in zip(("ArraySegments", "ArrayIndices"), level, strict=True):
                if numbers is None:
                    continue
                numbers = np.asarray(numbers)
                kind = VECTORS[numbers.dtype.itemsize]
                values = {"Values": b.CreateNumpyVector(numbers)}
                parts |= {name: _table(b, kind[0], values), f"{name}Type": kind[1]}
        levels.append(_table(b, "DimensionMetadata", parts))
    fields = {
        "TraversalOrder": _ints(b, sparse.order),
        "BlockMap": _ints(b, sparse.blocked),
        "DimMetadata": _offsets(b, levels),
    }
    return _table(b, "SparsityParameters", fields)


def _op(b: Any, op: Op, codes: Sequence[str], places: Mapping[str | int, int]) -> int:
    fields = {
        "OpcodeIndex": codes.index(op.builtin),
        "Inputs": _ints(b, [_number(places, n) for n in op.inputs]),
        "Outputs": _ints(b, [_number(places, n) for n in op.outputs]),
    }
    if op.kind is not None:
        fields["BuiltinOptionsType"] = op.kind
    if schema.custom_code(op.builtin) is not None:
        options = flexbuffers.Dumps(dict(op.fields)) if op.custom is None else op.custom
        fields["CustomOptions"] = b.CreateByteVector(bytes(options))
    if op.table:
        texts = {name: b.CreateString(text) for name, text in op.texts.items()}
        lists = {name: _ints(b, numbers) for name, numbers in op.lists.items()}
        union = "BuiltinOptions2" if schema.is_second(op.table) else "BuiltinOptions"
        fields[union] = _table(b, op.table, {**op.fields, **texts, **lists})
        fields[f"{union}Type"] = schema.options_code(op.table)
    return _table(b, "Operator", fields)


def _number(places: Mapping[str | int, int], name: str | int) -> int:
    return places[name] if isinstance(name, str) else name


def _code(b: Any, builtin: str, versions: bool, old_byte: bool) -> int:
    custom = schema.custom_code(builtin)
    code = schema.OP_CODE[builtin if custom is None else "CUSTOM"]
    fields = {} if custom is None else {"CustomCode": b.CreateString(custom)}
    fields |= {"DeprecatedBuiltinCode": min(code, 127)} if old_byte else {}
    if versions:
        fields |= {"BuiltinCode": code, "Version": FIRST_VERSION.get(builtin, 1)}
    return _table(b, "OperatorCode", fields)


def _signature(b: Any, key: str, index: int, graph: Subgraph) -> int:
    names = [t.name for t in graph.tensors]
    ports = {
        field: _offsets(
            b,
            [
                _table(b, "TensorMap", {"Name": b.CreateString(n), "TensorIndex": names.index(n)})
                for n in found
            ],
        )
        for field, found in (("Inputs", graph.inputs), ("Outputs", graph.outputs))
    }
    text = b.CreateString(key)
    return _table(b, "SignatureDef", {**ports, "SignatureKey": text, "SubgraphIndex": index})


def _buffer(b: Any, data: bytes | tuple[int, int]) -> int:
    if isinstance(data, tuple):
        return _table(b, "Buffer", {"Offset": data[0], "Size": data[1]})
    return _table(b, "Buffer", {"Data": b.CreateByteVector(data)} if data else {})


def _table(b: Any, table: str, fields: Mapping[str, Any]) -> int:
    schema.start_table(b, table)
    for name, value in fields.items():
        schema.add_field(b, table, name, value)
    return schema.end_table(b, table)


def _ints(b: Any, values: Sequence[int]) -> int:
    return int(b.CreateNumpyVector(np.asarray(list(values), np.int32)))


def _offsets(b: Any, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())
