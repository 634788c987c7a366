"""ONNX ops that write rows or elements at places that are known: ScatterND and ScatterElements."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.shapes import WIDEST, normal_axes, sized
from tinyrt.convert.onnx.weights import TYPED, Array
from tinyrt.convert.scatter import Places, most_alike, rounds
from tinyrt.errors import ModelFormatError
from tinyrt.ir import Shape, Value
from tinyrt.ops.shared.walks import strides_of

REDUCTIONS: dict[str, tuple[str, np.ufunc]] = {
    "add": ("add", np.add),
    "mul": ("mul", np.multiply),
    "max": ("maximum", np.maximum),
    "min": ("minimum", np.minimum),
}
"""What becomes of an element and its update -> the op, and the same in NumPy."""

Where = Callable[[Call], tuple[Places, Shape]]
"""Where each row of the updates goes, and the shape of a row."""


def _rows(call: Call) -> tuple[Places, Shape]:
    """Of ScatterND: the indices' last dimension goes into the data's first ones."""
    data, indices = call.shape(0), _indices(call)
    depth = indices.shape[-1] if indices.ndim else 0
    fits = 1 <= depth <= len(data)
    _check(call, fits, (*indices.shape[:-1], *data[depth:]))
    rows = _inside(indices.reshape(-1, depth), np.asarray(data[:depth]))
    return np.asarray(np.ravel_multi_index(tuple(rows.T), data[:depth]), np.int64), data[depth:]


def _elements(call: Call) -> tuple[Places, Shape]:
    """Of ScatterElements: an index replaces the place along the axis alone."""
    data, indices = call.shape(0), _indices(call)
    (axis,) = normal_axes([call.node.get_int("axis", 0)], len(data))
    fits = indices.ndim == len(data) and all(
        n <= m for i, (n, m) in enumerate(zip(indices.shape, data, strict=True)) if i != axis
    )
    _check(call, fits, indices.shape)
    places = _inside(indices[..., None], np.asarray(data[axis : axis + 1]))[..., 0]
    places *= strides_of(data)[axis]
    for i, count in enumerate(indices.shape):
        if i != axis:
            along = np.arange(count) * strides_of(data)[i]
            places += along.reshape(-1, *(1,) * (indices.ndim - 1 - i))
    return places.reshape(-1), ()


def _indices(call: Call) -> Places:
    picked = call.array(1, "where elements are written")
    sized((max(picked.ndim, 1), *picked.shape), f"the places of '{call.result}'", TYPED // WIDEST)
    return picked.astype(np.int64)


def _check(call: Call, fits: bool, updates: Shape) -> None:
    if not fits or call.shape(2) != updates or not math.prod(updates):
        raise ModelFormatError(
            f"{call.node.op} of {list(call.shape(2))} at indices {list(call.shape(1))} "
            f"into {list(call.shape(0))}",
            expected="an update for each index, at least one",
        )


def _inside(indices: Places, sizes: Places) -> Places:
    """The indices counted from the front."""
    if (indices < -sizes).any() or (indices >= sizes).any():
        raise ModelFormatError("an index lies outside", expected=f"below {sizes.tolist()}")
    return np.where(indices < 0, indices + sizes, indices)


def _scatter(where: Where) -> Callable[[Call], Value]:
    def emit(call: Call) -> Value:
        """Rows of the data and of the updates behind them, gathered; or what is reduced of both."""
        reduction = call.node.get_choice("reduction", "none", *REDUCTIONS)
        places, inner = where(call)
        x, updates, name = call.value(0), call.value(2), call.result
        count, n = math.prod(x.shape) // math.prod(inner), len(places)
        data = call.reshape(x, (count, *inner), f"{name}.data")
        rows = call.reshape(updates, (n, *inner), f"{name}.rows")
        if reduction == "none":
            sized((count,), f"the places of '{name}'", TYPED // WIDEST)
            data = _written(call, data, rows, places)
        else:
            sized((most_alike(places), count), f"the places of '{name}'", TYPED // WIDEST)
            for turn in rounds(places, count):
                now = np.flatnonzero(turn < n)
                first = _gathered(call, data, now, f"{name}.before")
                second = _gathered(call, rows, turn[now], f"{name}.with")
                both = call.emit(REDUCTIONS[reduction][0], first, second, name=f"{name}.reduced")
                data = _written(call, data, both, now)
        return call.emit("reshape", data, new_shape=x.shape)

    return emit


def _written(call: Call, data: Value, rows: Value, places: Places) -> Value:
    """The data with rows at their places; of several at one place, the last one."""
    order = np.arange(data.shape[0])
    order[places] = data.shape[0] + np.arange(len(places))
    joined = call.emit("concatenation", data, rows, name=f"{call.result}.joined", axis=0)
    return _gathered(call, joined, order, f"{call.result}.written")


def _gathered(call: Call, rows: Value, order: Places, name: str) -> Value:
    sized(order.shape, f"the places of '{name}'", TYPED // WIDEST)
    indices = tuple(order.tolist())
    return call.emit("gather", rows, name=name, axis=0, indices=indices, shape=(len(indices),))


def _known(where: Where) -> Callable[[Call], Array]:
    def compute(call: Call) -> Array:
        """The result where all operands are known."""
        reduction = call.node.get_choice("reduction", "none", *REDUCTIONS)
        places, inner = where(call)
        data = call.array(0).reshape(-1, *inner).copy()
        updates = call.array(2).reshape(-1, *inner)
        if reduction in REDUCTIONS:
            REDUCTIONS[reduction][1].at(data, places, updates)
        else:
            data[places] = updates
        return data.reshape(call.shape(0))

    return compute


scatter_nd, scatter_elements = _scatter(_rows), _scatter(_elements)
scattered_rows, scattered_elements = _known(_rows), _known(_elements)
