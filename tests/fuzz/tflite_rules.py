"""Rules that break .tflite files: what a tensor, an op, a port, a buffer is made to be."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tests.fuzz.tflite_values import other, other_vector
from tests.fuzz.values import Rng, number, pick, real, shape, small, some, text

Model = Any
"""``ModelT``: generated code, which says nothing about types."""


def _graph(model: Model, rng: Rng) -> Any:
    graphs = model.subgraphs or []
    if not graphs:
        return None
    return graphs[0] if rng.random() < 0.8 else pick(rng, graphs)


def _some_tensor(model: Model, rng: Rng) -> Any:
    graph = _graph(model, rng)
    tensors = (graph.tensors if graph else None) or []
    return pick(rng, tensors) if tensors else None


def _some_op(model: Model, rng: Rng) -> Any:
    graph = _graph(model, rng)
    ops = (graph.operators if graph else None) or []
    return pick(rng, ops) if ops else None


def tensor_shape(model: Model, rng: Rng) -> None:
    """A tensor's shape: another, huge, of 65 dimensions."""
    tensor = _some_tensor(model, rng)
    if tensor is not None:
        before = () if tensor.shape is None else tensor.shape
        tensor.shape = _int32(shape(rng, before))
        if rng.random() < 0.2:
            tensor.shapeSignature = _int32(shape(rng, before))


def every_batch(model: Model, rng: Rng) -> None:
    """The first dimension of all activations at once, so that shapes still agree."""
    graph = _graph(model, rng)
    size = abs(number(rng, 1)) % 2**20 + 1 if rng.random() < 0.5 else int(rng.integers(1, 9))
    for tensor in (graph.tensors if graph else None) or []:
        if tensor.shape is not None and len(tensor.shape) and _data(model, tensor) is None:
            tensor.shape = np.array([size, *tensor.shape[1:]], np.int32)


def tensor_type(model: Model, rng: Rng) -> None:
    """A tensor's dtype; now and then of all tensors of that dtype."""
    tensor = _some_tensor(model, rng)
    if tensor is None:
        return
    before, after = tensor.type, int(rng.integers(0, 22))
    tensor.type = after
    if rng.random() < 0.3:
        for graph in model.subgraphs or []:
            for other in graph.tensors or []:
                other.type = after if other.type == before else other.type


def quantization(model: Model, rng: Rng) -> None:
    """Scales, zero points, their counts and axis; another tensor's; none."""
    tensor = _some_tensor(model, rng)
    if tensor is None:
        return
    q = tensor.quantization
    if q is None:
        other = _some_tensor(model, rng)
        q = tensor.quantization = copy.copy(other.quantization) or schema.QuantizationParametersT()
    kind = int(rng.integers(8))
    scales = np.array([1.0] if q.scale is None or not len(q.scale) else q.scale, np.float32)
    points = np.zeros(1, np.int64) if q.zeroPoint is None else np.array(q.zeroPoint, np.int64)
    with np.errstate(all="ignore"):
        if kind == 0:
            scales[int(rng.integers(len(scales)))] = real(rng, float(scales[0]))
        elif kind == 1:
            scales = np.repeat(scales[:1], int(rng.integers(0, 12)))
        elif kind == 2 and points.size:
            points[int(rng.integers(len(points)))] = pick(
                rng, (0, 1, -1, 127, 128, -128, -129, 255, 32767, 2**31, -(2**40), 3)
            )
        elif kind == 3:
            points = np.repeat(points[:1], int(rng.integers(0, 12)))
        elif kind == 4:
            q.quantizedDimension = small(rng)
        elif kind == 5:
            tensor.quantization = None
        elif kind == 6:
            tensor.quantization = copy.deepcopy(_some_tensor(model, rng).quantization)
        else:
            q.detailsType, q.details = 1, schema.CustomQuantizationT()
        q.scale, q.zeroPoint = scales, points


def wiring(model: Model, rng: Rng) -> None:
    """An op's inputs or outputs: another tensor, none, one too many, one too few, a cycle."""
    op = _some_op(model, rng)
    graph = model.subgraphs[0] if op is not None else None
    if graph is None:
        return
    field = pick(rng, ("inputs", "inputs", "outputs", "intermediates"))
    places = list(getattr(op, field) if getattr(op, field) is not None else ())
    count = len(graph.tensors or ())
    kind, at = int(rng.integers(6)), some(rng, places)
    if kind == 0 and at is not None:
        places[at] = int(rng.integers(-1, count + 1))
    elif kind == 1:
        places.append(int(rng.integers(-1, max(count, 1))))
    elif kind == 2 and at is not None:
        del places[at]
    elif kind == 3 and op.outputs is not None and len(op.outputs):
        places = [*places[1:], int(op.outputs[0])]
    elif kind == 4 and at is not None:
        places[at] = number(rng, places[at])
    elif at is not None:
        places[at], places[0] = places[0], places[at]
    setattr(op, field, _int32(places))


def ports(model: Model, rng: Rng) -> None:
    """The model's inputs and outputs: others, twice, constants, none."""
    graph = _graph(model, rng)
    if graph is None:
        return
    field = pick(rng, ("inputs", "outputs"))
    places = list(getattr(graph, field) if getattr(graph, field) is not None else ())
    count, kind, at = len(graph.tensors or ()), int(rng.integers(4)), some(rng, places)
    if kind == 0:
        places.append(int(rng.integers(-1, count + 1)))
    elif kind == 1 and at is not None:
        places[at] = int(rng.integers(-1, count + 1))
    elif kind == 2 and at is not None:
        del places[at]
    elif at is not None:
        places.insert(at, places[at])
    setattr(graph, field, _int32(places))


def op_order(model: Model, rng: Rng) -> None:
    """Ops swapped, repeated, removed."""
    graph = _graph(model, rng)
    if graph is not None and graph.operators:
        graph.operators = other_vector(graph.operators, rng)


def op_code(model: Model, rng: Rng) -> None:
    """Another op in place of one, its options kept or left out."""
    codes = model.operatorCodes or []
    if not codes:
        return
    code = pick(rng, codes)
    if rng.random() < 0.2:
        code.version = number(rng, code.version)
        return
    code.builtinCode = int(rng.integers(0, 210))
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    if rng.random() < 0.5:
        for graph in model.subgraphs or []:
            for op in graph.operators or []:
                op.builtinOptionsType, op.builtinOptions = 0, None


def options(model: Model, rng: Rng) -> None:
    """A number or enum of an op's options."""
    op = _some_op(model, rng)
    if op is not None and op.builtinOptions is not None and vars(op.builtinOptions):
        name = pick(rng, list(vars(op.builtinOptions)))
        before = getattr(op.builtinOptions, name)
        setattr(op.builtinOptions, name, other(before, rng))


def _data(model: Model, tensor: Any) -> Any:
    buffers = model.buffers or []
    data = buffers[tensor.buffer].data if 0 <= tensor.buffer < len(buffers) else None
    return None if data is None or not len(data) else data


WIDTHS: dict[int, str] = {
    0: "<f4",
    1: "<f2",
    2: "<i4",
    3: "u1",
    4: "<i8",
    6: "?",
    7: "<i2",
    9: "i1",
}


def contents(model: Model, rng: Rng) -> None:
    """A constant's elements: indices out of range, shapes, NaN, extremes; or its length."""
    graph = _graph(model, rng)
    held = [t for t in (graph.tensors if graph else None) or [] if _data(model, t) is not None]
    if not held:
        return
    tensor = pick(rng, held)
    data = np.array(_data(model, tensor), np.uint8)
    buffer = model.buffers[tensor.buffer]
    dtype = np.dtype(WIDTHS.get(tensor.type, "u1"))
    kind = int(rng.integers(6))
    if kind == 0:
        buffer.data = data[: int(rng.integers(len(data)))]
    elif kind == 1:
        buffer.data = np.concatenate([data, data[: int(rng.integers(1, 9))]])
    elif len(data) % dtype.itemsize == 0:
        elements = data.view(dtype).copy()
        with np.errstate(all="ignore"):
            for _ in range(int(rng.integers(1, 4))):
                at = int(rng.integers(len(elements)))
                new = real(rng) if dtype.kind == "f" else number(rng, int(elements[at]))
                new = new if dtype.kind in "f?" else new % 2 ** (8 * dtype.itemsize)
                unsigned = dtype if dtype.kind in "f?" else np.dtype(f"<u{dtype.itemsize}")
                elements[at] = np.array(new, unsigned).view(dtype)
            if kind == 2:
                elements[:] = elements[at]
        buffer.data = elements.view(np.uint8)


def buffers(model: Model, rng: Rng) -> None:
    """Which buffer a tensor has, and buffers that lie outside the tables."""
    tensor, found = _some_tensor(model, rng), model.buffers or []
    kind = int(rng.integers(4))
    if kind == 0 and tensor is not None:
        tensor.buffer = int(rng.integers(len(found) + 2))
    elif kind == 1 and found:
        buffer = pick(rng, found)
        buffer.offset = abs(number(rng, 16))
        buffer.size = abs(number(rng, 16))
    elif kind == 2 and found:
        pick(rng, found).data = None
    elif tensor is not None:
        tensor.isVariable = not tensor.isVariable


def sparsity(model: Model, rng: Rng) -> None:
    """A tensor that claims to be sparse."""
    tensor = _some_tensor(model, rng)
    if tensor is None:
        return
    found = schema.SparsityParametersT()
    rank = 0 if tensor.shape is None else len(tensor.shape)
    found.traversalOrder = _int32([*range(rank)] if rng.random() < 0.6 else shape(rng, range(rank)))
    found.blockMap = _int32([small(rng)] if rng.random() < 0.3 else [])
    found.dimMetadata = []
    for size in () if tensor.shape is None else tensor.shape:
        entry = schema.DimensionMetadataT()
        entry.format = int(rng.integers(0, 3))
        entry.denseSize = int(size) if rng.random() < 0.7 else number(rng, int(size))
        entry.arraySegmentsType, entry.arrayIndicesType = 1, 1
        for field in ("arraySegments", "arrayIndices"):
            vector = schema.Int32VectorT()
            vector.values = _int32([small(rng) for _ in range(int(rng.integers(6)))])
            setattr(entry, field, vector)
        found.dimMetadata.append(entry)
    tensor.sparsity = found


CONTROL = ((118, "IfOptionsT", 92), (119, "WhileOptionsT", 93), (129, "CallOnceOptionsT", 103))
"""Op, its options and their number: IF, WHILE, CALL_ONCE."""


def recursion(model: Model, rng: Rng) -> None:
    """An op that runs a subgraph, itself among them; a further subgraph."""
    graph, op = _graph(model, rng), _some_op(model, rng)
    if graph is None or op is None or not model.operatorCodes:
        return
    if rng.random() < 0.5:
        model.subgraphs.append(copy.deepcopy(graph))
    code, table, kind = pick(rng, CONTROL)
    entry = copy.copy(model.operatorCodes[0])
    entry.builtinCode, entry.deprecatedBuiltinCode = code, code
    model.operatorCodes.append(entry)
    op.opcodeIndex = len(model.operatorCodes) - 1
    op.builtinOptionsType, op.builtinOptions = kind, getattr(schema, table)()
    for name in vars(op.builtinOptions):
        setattr(op.builtinOptions, name, int(rng.integers(-1, len(model.subgraphs) + 1)))


def entries(model: Model, rng: Rng) -> None:
    """Metadata and signatures that name what is not there."""
    if rng.random() < 0.5:
        entry = schema.MetadataT()
        known = ("tinyrt", "tinyrt.states", "min_runtime_version", "TFLITE_METADATA")
        entry.name = text(rng, known)
        entry.buffer = int(rng.integers(0, len(model.buffers or []) + 2))
        model.metadata = [*(model.metadata or []), entry]
        return
    signature, graph = schema.SignatureDefT(), _graph(model, rng)
    signature.signatureKey = text(rng, ("serving_default",))
    signature.subgraphIndex = int(rng.integers(0, 3))
    for field in ("inputs", "outputs"):
        maps = []
        places = getattr(graph, field) if graph is not None else None
        for place in () if places is None else places:
            item = schema.TensorMapT()
            item.name, item.tensorIndex = text(rng), abs(int(place))
            maps.append(item)
        setattr(signature, field, maps)
    model.signatureDefs = [*(model.signatureDefs or []), signature]


def names(model: Model, rng: Rng) -> None:
    """A tensor's name: another one's, none, one that hurts elsewhere."""
    tensor, other = _some_tensor(model, rng), _some_tensor(model, rng)
    if tensor is not None and other is not None:
        known = [other.name.decode(errors="replace")] if other.name else []
        tensor.name = text(rng, known).encode("utf-8", "surrogatepass")


def _int32(values: Any) -> np.ndarray:
    limits = np.iinfo(np.int32)
    return np.array([max(limits.min, min(limits.max, int(v))) for v in values], np.int32)


RULES: tuple[Callable[[Model, Rng], None], ...] = (
    *(tensor_shape, tensor_shape, every_batch, tensor_type, quantization, quantization, wiring),
    *(wiring, ports, op_order, op_code, op_code, options, options, options, contents, contents),
    *(buffers, sparsity, recursion, entries, names),
)
