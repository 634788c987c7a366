"""Element-wise kernels in parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from tinyrt.backends.c.kernel import Arg, Call, Data, Number, Place
from tinyrt.backends.c.parts.edit import Cut, edited, ends_of, moved, params_of

COPY = "tinyrt_reshape"
"""Its number is of bytes."""

UNIT = 64
"""Elements of a unit: as many as keep words and vectors whole."""


def by_field(call: Call) -> Cut | None:
    """Kernels with a parameter ``size``."""
    size = params_of(call)["size"]
    return _cut(size, lambda a, b: edited(call, {"size": b - a}, _moved(call, a)))


def by_number(call: Call) -> Cut | None:
    """Kernels whose first number is that of elements, or of bytes."""
    at = next(i for i, arg in enumerate(call.args) if isinstance(arg, Number))
    number = call.args[at]
    assert isinstance(number, Number)
    tensor = call.args[ends_of(call)[1]]
    assert isinstance(tensor, Place)
    each = tensor.value.dtype.itemsize if call.function == COPY else 1
    size = int(number.value) // each

    def part(a: int, b: int) -> Call:
        args = _moved(call, a) | {at: replace(number, value=(b - a) * each)}
        return edited(call, {}, args)

    return _cut(size, part)


def by_shape(call: Call) -> Cut | None:
    """Kernels of two inputs that differ in no axis, or one of which is a single element."""
    fields = params_of(call)
    prefix, shape = ("shape.", fields["shape"]) if "shape" in fields else ("", fields)
    if shape["rank"] != 1:
        return None
    strides = shape["a_strides"][0], shape["b_strides"][0], 1
    size = shape["dims"][0]

    def part(a: int, b: int) -> Call:
        pointers = [i for i, arg in enumerate(call.args) if isinstance(arg, Place | Data)]
        args = {
            i: moved(call.args[i], a * stride) for i, stride in zip(pointers, strides, strict=True)
        }
        return edited(call, {f"{prefix}dims": [b - a]}, args)

    return _cut(size, part)


def by_runs(call: Call) -> Cut | None:
    """Copies of runs of bytes, along the output's first axis; None where that has one element."""
    p = params_of(call)
    dims, strides = p["dims"], p["x_strides"]
    if dims[0] == 1:
        return None
    x, y = ends_of(call)
    source = call.args[x]
    assert isinstance(source, Place)
    size = source.value.dtype.itemsize
    each = prod(dims[1:]) * p["run"] // size

    def part(a: int, b: int) -> Call:
        args = {x: moved(source, a * strides[0] // size), y: moved(call.args[y], a * each)}
        return edited(call, {"dims": [b - a, *dims[1:]]}, args)

    return Cut(dims[0], part)


def _moved(call: Call, elements: int) -> dict[int, Arg]:
    """All tensors, that many elements further on."""
    return {i: moved(arg, elements) for i, arg in enumerate(call.args) if isinstance(arg, Place)}


def _cut(size: int, part: Callable[[int, int], Call]) -> Cut | None:
    if size <= UNIT:
        return None
    return Cut(-(-size // UNIT), lambda a, b: part(a * UNIT, min(b * UNIT, size)))
