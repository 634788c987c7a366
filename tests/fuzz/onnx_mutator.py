"""Broken ONNX files: fields of the protobuf messages changed, then written again; a few as bytes.

Half of the changes are made by rules that know nodes, attributes, constants and graphs; the others
set any field of any message, found through the messages' own descriptors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

from tests.fuzz.values import Rng, number, of_bytes, pick, real, shape, small, some, text

Model = onnx.ModelProto
Message = Any

INT32, UINT32 = range(-(2**31), 2**31), range(2**32)
INT64, UINT64 = range(-(2**63), 2**63), range(2**64)
RANGES = {1: INT32, 2: INT64, 3: UINT32, 4: UINT64}
"""A field's ``cpp_type`` -> the integers that it holds."""
DOUBLE, FLOAT, BOOL, ENUM, STRING, MESSAGE = 5, 6, 7, 8, 9, 10


def mutate(data: bytes, rng: Rng) -> bytes:
    """The file with one to four changes."""
    if rng.random() < 0.1:
        return of_bytes(rng, data)
    model = Model.FromString(data)
    for _ in range(int(pick(rng, (1, 1, 1, 2, 2, 3, 4)))):
        rule = pick(rng, RULES) if rng.random() < 0.6 else any_field
        try:
            rule(model, rng)
        except DecodeError:  # what it wraps is deeper than protobuf reads
            break
    packed = model.SerializeToString()
    return of_bytes(rng, packed, 2) if rng.random() < 0.04 else packed


def any_field(model: Model, rng: Rng) -> None:
    """Change one field of one message, set or not."""
    every = list(messages(model))
    message = pick(rng, every)
    set_fields = [field for field, _ in message.ListFields()]
    fields = set_fields if set_fields and rng.random() < 0.85 else message.DESCRIPTOR.fields
    field = pick(rng, list(fields))
    if field.is_repeated:
        _change_list(getattr(message, field.name), field, rng)
    elif field.cpp_type == MESSAGE:
        if rng.random() < 0.5:
            message.ClearField(field.name)
        else:
            same = [m for m in every if m.DESCRIPTOR is field.message_type]
            if same:
                copied = type(same[0]).FromString(pick(rng, same).SerializeToString())
                getattr(message, field.name).CopyFrom(copied)
    elif rng.random() < 0.15:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, _scalar(field, getattr(message, field.name), rng))


def messages(message: Message) -> Iterator[Message]:
    """The message, and all that are in it."""
    yield message
    for field, value in message.ListFields():
        if field.cpp_type == MESSAGE:
            for item in value if field.is_repeated else (value,):
                yield from messages(item)


def _scalar(field: Any, before: Any, rng: Rng) -> Any:
    """A value that the field can hold."""
    kind = field.cpp_type
    if kind in RANGES:
        wish = small(rng) if rng.random() < 0.4 else number(rng, int(before))
        limits = RANGES[kind]
        return min(max(wish, limits.start), limits.stop - 1)
    if kind in (DOUBLE, FLOAT):
        return real(rng, before)
    if kind == BOOL:
        return not before
    if kind == ENUM:
        return int(pick(rng, list(field.enum_type.values_by_number)))
    if isinstance(before, bytes):
        return of_bytes(rng, before) if before else text(rng).encode(errors="replace")
    return _text(rng)


def _change_list(items: Any, field: Any, rng: Rng) -> None:
    """Remove, repeat, exchange or change entries."""
    at, kind = some(rng, items), int(rng.integers(4))
    if at is None:
        if field.cpp_type == MESSAGE:
            items.add()
        else:
            items.append(_scalar(field, field.default_value or _zero(field), rng))
    elif kind == 0:
        del items[at]
    elif kind == 1:
        items.append(items[at])
    elif field.cpp_type == MESSAGE:
        other = int(rng.integers(len(items)))
        if kind == 2:
            items[at].CopyFrom(type(items[other]).FromString(items[other].SerializeToString()))
        else:
            last = items[at].SerializeToString()
            items[at].CopyFrom(items[other])
            items[other].ParseFromString(last)
    else:
        items[at] = _scalar(field, items[at], rng)


def _zero(field: Any) -> Any:
    if field.cpp_type in RANGES or field.cpp_type in (DOUBLE, FLOAT, ENUM):
        return 0
    return b"" if field.type == field.TYPE_BYTES else ""


def _text(rng: Rng, known: Sequence[str] = ()) -> str:
    """A name in UTF-8, which is all that protobuf lets be written."""
    return text(rng, known).encode(errors="replace").decode()


# Rules: what a node, an attribute, a constant, a graph is made to be.


def _nodes(model: Model) -> Any:
    return model.graph.node


def _names(model: Model) -> list[str]:
    graph = model.graph
    made = [n for node in graph.node for n in (*node.input, *node.output)]
    return [*made, *(v.name for v in graph.input), *(t.name for t in graph.initializer)] or [""]


def attribute(model: Model, rng: Rng) -> None:
    """A number, text or list of a node's attribute; its type; its name."""
    held = [node for node in _nodes(model) if node.attribute]
    if not held:
        return
    found = pick(rng, list(pick(rng, held).attribute))
    kind = rng.random()
    if kind < 0.05:
        found.type = int(rng.integers(0, 15))
    elif kind < 0.1:
        found.name = _text(rng, [a.name for node in held for a in node.attribute])
    elif found.type == onnx.AttributeProto.INT:
        wish = small(rng) if rng.random() < 0.5 else number(rng, found.i)
        found.i = max(-(2**63), min(2**63 - 1, wish))
    elif found.type == onnx.AttributeProto.FLOAT:
        found.f = real(rng, found.f)
    elif found.type == onnx.AttributeProto.STRING:
        found.s = text(rng, ["SAME_UPPER", "VALID", "linear", "i,j->ij"]).encode(errors="replace")
    elif found.type == onnx.AttributeProto.INTS:
        new = [max(-(2**63), min(2**63 - 1, n)) for n in shape(rng, found.ints)]
        del found.ints[:]
        found.ints.extend(new)
    elif found.type == onnx.AttributeProto.TENSOR:
        _constant(found.t, rng)


def constant(model: Model, rng: Rng) -> None:
    """An initializer: its elements, shape, dtype, or where its data are."""
    if model.graph.initializer:
        _constant(pick(rng, list(model.graph.initializer)), rng)


def _constant(tensor: TensorProto, rng: Rng) -> None:
    kind = rng.random()
    if kind < 0.3:
        new = shape(rng, tensor.dims)
        del tensor.dims[:]
        tensor.dims.extend(max(-(2**63), min(2**63 - 1, n)) for n in new)
    elif kind < 0.4:
        tensor.data_type = int(rng.integers(0, 25))
    elif kind < 0.5:
        _external(tensor, rng)
    elif kind < 0.6 and tensor.raw_data:
        data = tensor.raw_data
        tensor.raw_data = data[: int(rng.integers(len(data)))] if kind < 0.55 else data + data[:3]
    else:
        _elements(tensor, rng)


def _elements(tensor: TensorProto, rng: Rng) -> None:
    """Other numbers in it, or another shape with the numbers that are there."""
    if tensor.data_location == TensorProto.EXTERNAL:
        return
    try:
        array = numpy_helper.to_array(tensor).copy()
    except (ValueError, TypeError, KeyError, OverflowError, MemoryError):
        return  # what came before made it unreadable
    if array.dtype.kind not in "fiub" or array.size > 2**20:
        return
    if rng.random() < 0.25:
        choices = (array.reshape(-1), array[None], array.reshape(-1)[:0], array.reshape(-1)[:1])
        array = pick(rng, choices)
    for _ in range(int(rng.integers(1, 4)) if array.size else 0):
        at = int(rng.integers(array.size))
        wish = real(rng) if array.dtype.kind == "f" else number(rng, int(array.reshape(-1)[at]))
        with np.errstate(all="ignore"):
            bits = 8 * array.dtype.itemsize
            wish = wish if array.dtype.kind == "f" else wish % 2 ** (bits - 1)
            array.reshape(-1)[at] = np.array(wish).astype(array.dtype)
            if array.dtype.kind == "i" and rng.random() < 0.3:
                array.reshape(-1)[at] = -array.reshape(-1)[at]
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


FILES = (
    *("/etc/passwd", "../x.bin", "model.onnx", "", ".", "a\0b", "x" * 5000, "/dev/zero"),
    *("/dev/stdin", "weights.bin", "é" * 200, "/proc/self/mem"),
)
KEYS = ("location", "offset", "length", "checksum", "other")


def _external(tensor: TensorProto, rng: Rng) -> None:
    tensor.data_location = TensorProto.EXTERNAL
    if rng.random() < 0.7:
        tensor.ClearField("raw_data")
    for _ in range(int(rng.integers(1, 4))):
        key = pick(rng, KEYS) if rng.random() < 0.5 else "location"
        value = pick(rng, FILES) if key == "location" else str(number(rng, 64))
        if key != "location" and rng.random() < 0.2:
            value = _text(rng)
        tensor.external_data.add(key=key, value=value)


def wiring(model: Model, rng: Rng) -> None:
    """A node's inputs and outputs: others of the graph, one too many, one too few, a cycle."""
    at = some(rng, _nodes(model))
    if at is None:
        return
    node = _nodes(model)[at]
    names = pick(rng, (node.input, node.input, node.output))
    place, kind = some(rng, names), int(rng.integers(5))
    if kind == 0 and place is not None:
        names[place] = _text(rng, _names(model)) if rng.random() < 0.3 else pick(rng, _names(model))
    elif kind == 1:
        names.append(pick(rng, ["", *_names(model)]))
    elif kind == 2 and place is not None:
        del names[place]
    elif kind == 3 and place is not None:
        names[place] = ""
    elif node.output:
        node.input.append(node.output[0])


def op_type(model: Model, rng: Rng) -> None:
    """Another op, another domain, another opset."""
    at, kind = some(rng, _nodes(model)), int(rng.integers(4))
    if kind == 0 and model.opset_import:
        entry = pick(rng, list(model.opset_import))
        entry.version = int(pick(rng, (0, -1, 1, 5, 6, 7, 9, 11, 13, 18, 21, 23, 99, 2**62)))
    elif kind == 1 and at is not None:
        domains = ("com.microsoft", "ai.onnx", "ai.onnx.ml", "", "local", "x\0")
        _nodes(model)[at].domain = pick(rng, domains)
    elif at is not None:
        _nodes(model)[at].op_type = pick(rng, OPS)


OPS = sorted({schema.name for schema in onnx.defs.get_all_schemas()})


def nodes(model: Model, rng: Rng) -> None:
    """Nodes removed, repeated, swapped."""
    if _nodes(model):
        _change_list(_nodes(model), model.graph.DESCRIPTOR.fields_by_name["node"], rng)


def ports(model: Model, rng: Rng) -> None:
    """Inputs and outputs: shapes, dtypes, symbolic and missing dimensions, names, twice."""
    items = pick(rng, (model.graph.input, model.graph.input, model.graph.output))
    at, kind = some(rng, items), int(rng.integers(5))
    if at is None:
        return
    tensor = items[at].type.tensor_type
    if kind == 0:
        tensor.elem_type = int(rng.integers(0, 25))
    elif kind == 1:
        new = shape(rng, [d.dim_value for d in tensor.shape.dim])
        del tensor.shape.dim[:]
        for size in new:
            tensor.shape.dim.add(dim_value=max(-(2**63), min(2**63 - 1, size)))
    elif kind == 2 and tensor.shape.dim:
        pick(rng, list(tensor.shape.dim)).dim_param = _text(rng)
    elif kind == 3:
        items[at].name = _text(rng, _names(model))
    else:
        items.add().CopyFrom(items[at])


def function(model: Model, rng: Rng) -> None:
    """Some nodes as a local function, which may call itself or others, once or twice."""
    if not _nodes(model):
        return
    calls = []
    for i in range(int(pick(rng, (1, 1, 2, 5)))):
        made = model.functions.add(name=f"f{i}", domain="local")
        made.opset_import.extend(model.opset_import)
        node = made.node.add()
        node.CopyFrom(pick(rng, list(_nodes(model))))
        made.input.extend(n for n in node.input if n)
        made.output.extend(node.output)
        if rng.random() < 0.5:
            inner = made.node.add(op_type=f"f{int(rng.integers(0, i + 2))}", domain="local")
            inner.input.extend(made.input)
            inner.output.extend(made.output if rng.random() < 0.5 else ["again"])
        calls.append((made.name, list(node.input), list(node.output)))
    model.opset_import.add(domain="local", version=1)
    at = int(rng.integers(len(_nodes(model))))
    name, inputs, outputs = pick(rng, calls)
    new = helper.make_node(name, [n for n in inputs if n], outputs, domain="local")
    _nodes(model)[at].CopyFrom(new)


def nested(model: Model, rng: Rng) -> None:
    """A node moved into the body of If, Loop or Scan, some levels deep."""
    at = some(rng, _nodes(model))
    if at is None:
        return
    node = onnx.NodeProto()
    node.CopyFrom(_nodes(model)[at])
    for level in range(int(pick(rng, (1, 1, 2, 4, 30)))):
        outputs = [helper.make_tensor_value_info(n, 1, None) for n in node.output]
        flow = pick(rng, ("If", "If", "Loop", "Scan"))
        trip = numpy_helper.from_array(np.array(number(rng, 2) % 2**40, np.int64), f"m{level}")
        yes = numpy_helper.from_array(np.array(True), f"c{level}")
        model.graph.initializer.extend([trip, yes])
        inputs = []
        if flow == "Loop":
            inputs = [
                helper.make_tensor_value_info(f"i{level}", TensorProto.INT64, []),
                helper.make_tensor_value_info(f"k{level}", TensorProto.BOOL, []),
            ]
            outputs = [helper.make_tensor_value_info(f"c{level}", TensorProto.BOOL, []), *outputs]
        body = helper.make_graph([node], f"body{level}", inputs, outputs)
        other = body if level < 3 else helper.make_graph([], "empty", [], outputs)
        fields = {"If": {"then_branch": body, "else_branch": other}}.get(flow, {"body": body})
        fed = {"If": [f"c{level}"], "Loop": [f"m{level}", f"c{level}"]}.get(flow, [f"m{level}"])
        if flow == "Scan":
            fields["num_scan_inputs"] = small(rng)
        node = helper.make_node(flow, fed, list(node.output), **fields)
    _nodes(model)[at].CopyFrom(node)


def sparse(model: Model, rng: Rng) -> None:
    """An initializer as a sparse one."""
    if not model.graph.initializer:
        return
    at = int(rng.integers(len(model.graph.initializer)))
    tensor = model.graph.initializer[at]
    found = model.graph.sparse_initializer.add()
    found.values.CopyFrom(tensor)
    found.dims.extend(max(-(2**63), min(2**63 - 1, n)) for n in shape(rng, tensor.dims))
    indices = np.array([small(rng) for _ in range(int(rng.integers(1, 8)))], np.int64)
    found.indices.CopyFrom(numpy_helper.from_array(indices))
    del model.graph.initializer[at]


RULES: tuple[Callable[[Model, Rng], None], ...] = (
    *(attribute, attribute, attribute, constant, constant, constant, wiring, wiring, op_type),
    *(op_type, nodes, ports, ports, function, nested, sparse),
)
