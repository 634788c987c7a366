"""ONNX ops that look up: rows of tables by the model's input, and places of several dimensions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.onnx.arithmetic import integers
from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.grid import OFFSETS, Grid, Quantized
from tinyrt.convert.onnx.shapes import WIDEST, normal_axes, sized
from tinyrt.convert.onnx.weights import TYPED
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType, Shape, Value
from tinyrt.ops.arg import ArgAttrs

MAX_CLASSES = 4096
"""Most classes of OneHot: with more, its table is better folded into the layer behind it."""


def _embedding(
    call: Call, table: Value, indices: Value, name: str = "", *, from_end: bool = False
) -> Value:
    """Rows of a table, by indices that are computed or the model's input."""
    indices = _as_int32(call, indices)
    if not indices.shape:
        indices = call.reshape(indices, (1,), f"{call.result}.index")
    return call.emit("embedding", table, indices, name=name, from_end=from_end)


def _as_int32(call: Call, indices: Value) -> Value:
    if indices.dtype is DType.INT32:
        return indices
    return call.emit("cast", indices, name=f"{call.result}.index", dtype=DType.INT32)


def _rows_of(call: Call, table: Value, indices: Value, name: str = "") -> Value:
    """As ``_embedding``; negative indices count from the table's end."""
    return _embedding(call, table, indices, name, from_end=True)


def gather_at_run_time(call: Call, indices: Value) -> Value | Quantized:
    """An embedding, whose table is turned so that its rows are what is picked.

    Rows of integers are the numbers that they are, in steps of 1 from 0, until they are
    dequantised.
    """
    table = call.operand(0)
    if isinstance(table, Value):
        return _picked_rows(call, table, indices)
    elements = call.array(0, "the table that computed indices pick from")
    if elements.dtype.name in OFFSETS and not call.node.get_int("axis", 0):
        dtype = elements.dtype.name
        numbers = call.constant(f"{call.result}.integers", elements.astype(np.float32))
        grid = Grid(np.ones(1, np.float32), np.zeros(1, dtype), dtype)
        return Quantized(_rows_of(call, numbers, indices), grid)
    if elements.dtype in (np.int32, np.int64):
        return _picked_integers(call, elements, indices)
    (axis,) = normal_axes([call.node.get_int("axis", 0)], elements.ndim)
    if axis == 0:
        return _rows_of(call, call.value(0), indices)
    rows = call.constant(f"{call.node.inputs[0]}.rows", np.moveaxis(elements, axis, 0))
    return _turned_back(call, _rows_of(call, rows, indices, f"{call.result}.rows"), indices, axis)


def _picked_integers(call: Call, elements: NDArray[np.integer], indices: Value) -> Value:
    """Rows of a table of whole numbers, as classes have them, as wide as in the file."""
    table = integers(call, 0, DType.INT32)
    if elements.dtype == np.int32:
        return _picked_rows(call, table, indices)
    picked = _picked_rows(call, table, indices, f"{call.result}.narrow")
    return call.emit("cast", picked, dtype=DType.INT64)


def _turned_back(call: Call, rows: Value, indices: Value, axis: int, name: str = "") -> Value:
    """What was picked, in place of the dimension that it was picked from."""
    index_rank = max(len(indices.shape), 1)
    rest = range(index_rank, len(rows.shape))
    turned = call.transpose(rows, [*rest[:axis], *range(index_rank), *rest[axis:]], name)
    return turned if indices.shape else call.reshape(turned, _without(turned.shape, axis), name)


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


def _picked_rows(call: Call, table: Value, indices: Value, name: str = "") -> Value:
    """Rows of a computed table, by computed indices."""
    (axis,) = normal_axes([call.node.get_int("axis", 0)], len(table.shape))
    order = (axis, *(i for i in range(len(table.shape)) if i != axis))
    rows = call.transpose(table, order, f"{call.result}.table")
    is_plain = axis == 0 and bool(indices.shape)
    picked = _rows_of(call, rows, indices, name if is_plain else f"{call.result}.rows")
    return _turned_back(call, picked, indices, axis, name)


def _is_place(call: Call, indices: Value, count: int) -> bool:
    """Whether indices are places among so many elements at most, as ArgMax finds them."""
    makers = {node.output: node for node in call.builder.nodes}
    name = indices.name
    while (maker := makers.get(name)) is not None and maker.op in ("cast", "reshape", "transpose"):
        name = maker.inputs[0]
    if maker is None or maker.op not in ("arg_max", "arg_min"):
        return False
    return call.builder.values[maker.inputs[0]].shape[maker.attrs_as(ArgAttrs).axis] <= count


def _between_ends(call: Call, indices: Value, count: int) -> Value:
    """Indices one higher, -1 as the last, and those outside of the table before it or behind it."""
    name, kind = call.result, indices.dtype
    if kind is DType.FLOAT32:
        kind = DType.INT32
        indices = call.emit("cast", indices, name=f"{name}.whole", dtype=kind)

    def number(what: str, n: int) -> Value:
        return call.builder.constant(f"{name}.{what}", np.full(1, n, kind.numpy))

    is_negative = call.emit("less", indices, number("none", 0), name=f"{name}.is_negative")
    plain = call.emit("add", indices, number("one", 1), name=f"{name}.plain")
    wrapped = call.emit("add", indices, number("rows", count + 1), name=f"{name}.wrapped")
    row = call.emit("select_v2", is_negative, wrapped, plain, name=f"{name}.row")
    row = call.emit("maximum", row, number("first", 0), name=f"{name}.not_before")
    return call.emit("minimum", row, number("last", count + 1), name=f"{name}.not_behind")


def one_hot(call: Call) -> Value:
    """Rows of the identity, by indices; one outside of it has a row that is off everywhere."""
    indices, depth = call.value(0), call.whole(1, "the depth")
    ends = call.array(2, "the values").astype(np.float32)
    if ends.shape != (2,) or not 1 <= depth <= MAX_CLASSES:
        raise ModelFormatError(
            f"OneHot of {depth} classes with values {list(ends.shape)}",
            expected=f"1 to {MAX_CLASSES:,} classes, two values",
        )
    around = 0 if _is_place(call, indices, depth) else 1
    if around:
        indices = _between_ends(call, indices, depth)
    height = depth + 2 * around
    sized((height, depth), f"the table of '{call.result}'")
    table = np.eye(height, depth, k=-around, dtype=np.float32)
    table = ends[0] + (ends[1] - ends[0]) * table
    (axis,) = normal_axes([call.node.get_int("axis", -1)], len(indices.shape) + 1)
    order = [*range(len(indices.shape))]
    order.insert(axis, len(indices.shape))
    last = order[-1] == len(indices.shape)
    rows = _embedding(
        call,
        call.constant(f"{call.result}.rows", table),
        indices,
        "" if last else f"{call.result}.last",
    )
    return call.transpose(rows, order)


def hardmax(call: Call) -> Value:
    """1 at the first of the largest elements along an axis, else 0: rows of the identity.

    Before opset 13 all dimensions from the axis on are one.
    """
    x, name = call.value(0), call.result
    rank = len(x.shape)
    (axis,) = normal_axes([call.node.get_int("axis", -1 if call.opset >= 13 else 1)], rank)
    order = [*(i for i in range(rank) if i != axis), axis]
    rows = call.transpose(x, order, f"{name}.turned")
    if call.opset < 13:
        order = [*range(rank)]
        rows = call.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
    classes = rows.shape[-1]
    if classes > MAX_CLASSES:
        raise UnsupportedError(
            f"Hardmax of {classes:,} elements",
            tensor=x.describe(),
            expected=f"at most {MAX_CLASSES:,}",
            hint="end the model in front of it: ArgMax says the same",
        )
    sized((classes, classes), f"the table of '{name}'")
    identity = np.eye(classes, dtype=np.float32)
    last = len(rows.shape) - 1
    place = call.emit("arg_max", rows, name=f"{name}.place", axis=last, dtype=DType.INT32)
    table = call.constant(f"{name}.identity", identity)
    found = _embedding(call, table, place, f"{name}.found")
    shaped = call.reshape(found, tuple(x.shape[i] for i in order))
    return call.transpose(shaped, [int(i) for i in np.argsort(order)])


def top_k(call: Call) -> list[Value]:
    """The largest elements along an axis, or the smallest, and their places; always in order."""
    x, node = call.value(0), call.node
    k = call.whole(1, "the number of elements sought") if call.opset >= 10 else node.get_int("k", 0)
    rank = len(x.shape)
    (axis,) = normal_axes([node.get_int("axis", -1)], rank)
    order = [*(i for i in range(rank) if i != axis), axis]
    back = [int(i) for i in np.argsort(order)]
    name = call.result
    rows = call.transpose(x, order, f"{name}.rows")
    keys = rows if node.get_int("largest", 1) else call.emit("neg", rows, name=f"{name}.keys")
    found = call.emit("topk_v2", keys, name=f"{name}.found", k=k)
    is_last = axis == rank - 1
    own = name if is_last else f"{name}.values"
    values = call.emit("embedding", rows, found, name=own, batch_dims=rank - 1)
    results = [call.transpose(values, back)]
    if len(node.outputs) > 1 and node.outputs[1]:
        turned = call.transpose(found, back, f"{name}.places")
        results.append(call.emit("cast", turned, name=node.outputs[1], dtype=DType.INT64))
    return results


def gather_elements(call: Call) -> Value:
    """Elements of one dimension, each picked for itself."""
    places = call.operand(1)
    if isinstance(places, Value):
        return _picked_elements(call, places)
    x, picked = call.value(0), call.array(1, "which elements are gathered")
    rank = len(x.shape)
    (axis,) = normal_axes([call.node.get_int("axis", 0)], rank)
    fits = picked.ndim == rank and picked.size > 0
    if not fits or any(
        p > d for i, (p, d) in enumerate(zip(picked.shape, x.shape, strict=True)) if i != axis
    ):
        raise ModelFormatError(
            f"indices {list(picked.shape)} into {x.type}",
            expected="as many dimensions, none larger but the one that is picked from",
        )
    sized((rank, *picked.shape), f"the places of '{call.result}'", TYPED // WIDEST)
    each = np.indices(picked.shape)
    each[axis] = picked
    return _at_places(call, x, np.moveaxis(each, 0, -1))


def _picked_elements(call: Call, picked: Value) -> Value:
    """Elements of one dimension, each by a place that is computed: rows of tables of their own."""
    x, name = call.value(0), call.result
    rank = len(x.shape)
    (axis,) = normal_axes([call.node.get_int("axis", 0)], rank)
    others = zip(picked.shape, x.shape, strict=False)
    is_larger = any(p > d for i, (p, d) in enumerate(others) if i != axis)
    if len(picked.shape) != rank or is_larger:
        raise ModelFormatError(
            f"indices {picked.describe()} into {x.type}",
            expected="as many dimensions, none larger but the one that is picked from",
        )
    sizes = (*picked.shape[:axis], x.shape[axis], *picked.shape[axis + 1 :])
    order = [*(i for i in range(rank) if i != axis), axis]
    if sizes != x.shape:
        origin, step = (0,) * rank, (1,) * rank
        x = call.emit("slice", x, name=f"{name}.read", begin=origin, size=sizes, strides=step)
    rows = call.transpose(x, order, f"{name}.rows")
    turned = _as_int32(call, call.transpose(picked, order, f"{name}.places"))
    own = name if axis == rank - 1 else f"{name}.found"
    found = call.emit("embedding", rows, turned, name=own, batch_dims=rank - 1, from_end=True)
    return call.transpose(found, [int(i) for i in np.argsort(order)])


def gather_nd(call: Call) -> Value:
    """Places of the first dimensions: taken as one where they are constant, or computed."""
    operand = call.operand(1)
    if isinstance(operand, Value):
        return _computed_parts(call, operand)
    x, picked = call.value(0), call.array(1, "which elements are gathered")
    batch = _batch_of_parts(call, x, picked.shape)
    if picked.ndim < 1:
        return _at_places(call, x, picked)
    width = batch + picked.shape[-1]
    sized((*picked.shape[:-1], width), f"the places of '{call.result}'", TYPED // WIDEST)
    outer = np.indices(picked.shape[:-1])[:batch]
    return _at_places(call, x, np.concatenate([np.moveaxis(outer, 0, -1), picked], -1))


def _batch_of_parts(call: Call, x: Value, places: Shape) -> int:
    """How many dimensions indices share with what they point into."""
    batch = call.node.get_int("batch_dims", 0)
    if not 0 <= batch < max(len(places), 1) or places[:batch] != x.shape[:batch]:
        raise ModelFormatError(
            f"GatherND of indices {list(places)} into {x.type}, batch_dims {batch}",
            expected="dimensions of the batch that are equal",
        )
    return batch


def _computed_parts(call: Call, places: Value) -> Value:
    """Parts at places that are computed, behind the numbers of their samples."""
    x, name = call.value(0), call.result
    batch = _batch_of_parts(call, x, places.shape)
    places = _as_int32(call, places)
    if batch:
        sized((len(places.shape), *places.shape[:-1]), f"the places of '{name}'")
        samples = np.moveaxis(np.indices(places.shape[:-1], np.int32)[:batch], 0, -1)
        first = call.builder.constant(f"{name}.samples", samples)
        last = len(places.shape) - 1
        places = call.emit("concatenation", first, places, name=f"{name}.places", axis=last)
    return call.emit("gather_nd", x, places, from_end=True)


def _at_places(call: Call, x: Value, picked: NDArray[np.int64]) -> Value:
    """Elements, or parts of the last dimensions, at places (..., first dimensions)."""
    indices = picked.astype(np.int64)
    depth = indices.shape[-1] if indices.ndim else 0
    sizes = np.asarray(x.shape[:depth])
    fits = 1 <= depth <= len(x.shape) and indices.size > 0
    if not fits or (indices < -sizes).any() or (indices >= sizes).any():
        raise ModelFormatError(
            f"indices {list(indices.shape)} into {x.type}",
            expected="places that lie in its first dimensions, at least one",
        )
    rows = np.where(indices < 0, indices + sizes, indices).reshape(-1, depth)
    places: NDArray[np.int64] = np.asarray(np.ravel_multi_index(tuple(rows.T), x.shape[:depth]))
    indices_in_all = tuple(places.tolist())
    whole = (math.prod(x.shape[:depth]), *x.shape[depth:])
    return call.emit(
        "gather",
        call.reshape(x, whole, f"{call.result}.joined"),
        axis=0,
        indices=indices_in_all,
        shape=indices.shape[:-1] or (1,),
    )
