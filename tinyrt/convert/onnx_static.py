"""ONNX ops on operands that are known on import: the shape arithmetic that exporters leave.

``STATIC`` maps an op type to a function from a call to the array it results in. Integer division
truncates, as ONNX prescribes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyrt.convert.onnx_call import Call
from tinyrt.convert.onnx_grid import grid_of, tensor_params, turned, with_grid
from tinyrt.convert.onnx_proto import DTYPES, Array, element_type
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Shape

Static = Callable[[Call], Array]

MOST_ELEMENTS = 1 << 28
"""A constant that would be larger is taken as a sign of a damaged file."""

# What NumPy raises on operands that do not fit together; of TypeErrors, only its own kinds are.
_MISFITS = (ValueError, IndexError, OverflowError, ZeroDivisionError, MemoryError)


def evaluate_static(call: Call) -> Array:
    """The result of an op of ``STATIC`` whose operands are known.

    Raises:
        ModelFormatError: the operands do not fit together.

    """
    try:
        with np.errstate(all="ignore"):
            # Not ``asarray``, which would drop the grid that a constant lies on.
            return np.asanyarray(STATIC[call.node.op](call))
    except (*_MISFITS, TypeError) as error:
        if isinstance(error, TypeError) and not type(error).__module__.startswith("numpy"):
            raise  # a fault of the importer's
        raise ModelFormatError(
            f"the op's constant operands do not fit together: {error}",
            hint="export the model again; if onnx.checker takes it, this is a defect of tinyrt: "
            "please report it",
        ) from error


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front.

    Raises:
        ModelFormatError: an axis does not exist or is named twice.

    """
    found = tuple(a + rank if a < 0 else a for a in axes)
    if any(not 0 <= a < rank for a in found) or len(set(found)) != len(found):
        raise ModelFormatError(
            f"axes {list(axes)} of {rank} dimensions", expected="different axes that exist"
        )
    return found


def reshaped(call: Call) -> Shape:
    """Reshape's output shape: 0 copies a dimension (unless ``allowzero``), -1 fills up."""
    shape, wanted = call.shape(0), call.ints(1, "the shape")
    keep_zero = call.node.get_int("allowzero", 0) != 0
    if not keep_zero and any(d == 0 and i >= len(shape) for i, d in enumerate(wanted)):
        raise ModelFormatError(f"shape {list(wanted)} copies more dimensions than {list(shape)}")
    target = [shape[i] if d == 0 and not keep_zero else d for i, d in enumerate(wanted)]
    count, known = math.prod(shape), math.prod(d for d in target if d != -1)
    if target.count(-1) == 1 and known > 0 and count % known == 0:
        target[target.index(-1)] = count // known
    if any(d < 0 for d in target) or math.prod(target) != count:
        raise ModelFormatError(f"{list(shape)} can't take shape {list(wanted)}")
    return tuple(target)


def flattened(call: Call) -> Shape:
    """Flatten's output shape: the dimensions before ``axis``, and the others."""
    shape, axis = call.shape(0), call.node.get_int("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise ModelFormatError(f"axis {axis} of {len(shape)} dimensions")
    axis = axis + len(shape) if axis < 0 else axis
    return math.prod(shape[:axis]), math.prod(shape[axis:])


def squeezed(call: Call) -> Shape:
    """Squeeze's output shape; without axes, all dimensions of size 1 go."""
    shape, axes = call.shape(0), call.axes(input_since=13)
    if axes is None:
        return tuple(d for d in shape if d != 1)
    gone = normal_axes(axes, len(shape))
    if any(shape[a] != 1 for a in gone):
        raise ModelFormatError(f"axes {list(axes)} of {list(shape)}", expected="dimensions of 1")
    return tuple(d for i, d in enumerate(shape) if i not in gone)


def unsqueezed(call: Call) -> Shape:
    """Unsqueeze's output shape; axes count in the output."""
    shape, axes = call.shape(0), call.axes(input_since=13)
    if axes is None:
        raise ModelFormatError("axes are missing")
    new = normal_axes(axes, len(shape) + len(axes))
    rest = iter(shape)
    return tuple(1 if i in new else next(rest) for i in range(len(shape) + len(axes)))


def permutation(call: Call) -> tuple[int, ...]:
    """Transpose's permutation; without one, the order is reversed."""
    rank = len(call.shape(0))
    perm = call.node.get_ints("perm", rank) or tuple(reversed(range(rank)))
    if sorted(perm) != list(range(rank)):
        raise ModelFormatError(f"permutation {list(perm)} of {rank} dimensions")
    return perm


def reduced_axes(call: Call, input_since: int) -> tuple[int, ...]:
    """A reduction's axes from the front; all of them where none are given."""
    rank, axes = len(call.shape(0)), call.axes(input_since)
    if axes:
        return normal_axes(axes, rank)
    is_noop = call.node.get_int("noop_with_empty_axes", 0) != 0
    return () if is_noop else tuple(range(rank))


def split_sizes(call: Call, length: int, count: int) -> tuple[int, ...]:
    """The sizes of Split's parts of a dimension of that length.

    Raises:
        UnsupportedError: they do not make up the whole, or one is empty.

    """
    sizes = call.node.get_ints("split") if call.opset < 13 else None
    if call.opset >= 13 and call.has(1):
        sizes = call.ints(1, "the sizes of the parts")
    if sizes is None:
        each = math.ceil(length / count)
        sizes = (*[each] * (count - 1), length - each * (count - 1))
    if len(sizes) != count or sum(sizes) != length or min(sizes) < 1:
        raise UnsupportedError(
            f"parts of {list(sizes)} of a dimension of {length}",
            expected=f"{count} parts with at least one element, which make up the whole",
            hint="export the model again with parts that fit",
        )
    return sizes


def _shape(call: Call) -> Array:
    shape = call.shape(0)
    start, end = call.node.get_int("start", 0), call.node.get_int("end", len(shape))
    return np.asarray(shape[slice(start, end)], np.int64)


def _size(call: Call) -> Array:
    return np.asarray(math.prod(call.shape(0)), np.int64)


def _constant(call: Call) -> Array:
    node = call.node
    for name, dtype in (("value_float", np.float32), ("value_int", np.int64)):
        if node.has(name):
            scalar = node.get_float(name, 0) if dtype is np.float32 else node.get_int(name, 0)
            return np.asarray(scalar, dtype)
    if (ints := node.get_ints("value_ints")) is not None:
        return np.asarray(ints, np.int64)
    if (floats := node.get_floats("value_floats")) is not None:
        return np.asarray(floats, np.float32)
    value = node.get_tensor("value")
    if value is None:
        raise UnsupportedError(
            f"the constant is given as {', '.join(node.attributes) or 'nothing'}",
            expected="a tensor, numbers or a list of numbers",
            hint="export the model without sparse and string constants",
        )
    return value


def sized(shape: Shape) -> Shape:
    """The shape.

    Raises:
        ModelFormatError: no tensor can have it, or none that makes sense has.

    """
    if math.prod(shape) > MOST_ELEMENTS or any(d < 0 for d in shape):
        raise ModelFormatError(
            f"a tensor of shape {list(shape)}", expected=f"at most {MOST_ELEMENTS} elements"
        )
    return shape


def _constant_of_shape(call: Call) -> Array:
    value = call.node.get_tensor("value")
    fill = np.zeros(1, np.float32) if value is None else value
    return np.broadcast_to(fill.reshape(-1)[0], sized(call.ints(0, "the shape")))


def _cast(call: Call) -> Array:
    to = call.node.get_int("to", 0)
    if to not in DTYPES:
        raise UnsupportedError(
            f"a cast to {element_type(to)}",
            expected=", ".join(DTYPES.values()),
            hint="export the model in float32",
        )
    return call.array(0).astype(DTYPES[to])


def _gather(call: Call) -> Array:
    (axis,) = normal_axes([call.node.get_int("axis", 0)], len(call.shape(0)))
    return np.asarray(np.take(call.array(0), call.array(1), axis=axis))


def _slice(call: Call) -> Array:
    data = call.array(0)
    if call.opset < 10:
        starts, ends = call.node.get_ints("starts") or (), call.node.get_ints("ends") or ()
        axes = call.node.get_ints("axes") or tuple(range(len(starts)))
        steps: tuple[int, ...] = (1,) * len(starts)
    else:
        starts, ends = call.ints(1, "starts"), call.ints(2, "ends")
        axes = call.ints(3, "axes") if call.has(3) else tuple(range(len(starts)))
        steps = call.ints(4, "steps") if call.has(4) else (1,) * len(starts)
    index = [slice(None)] * data.ndim
    places = normal_axes(axes, data.ndim)
    for axis, start, end, step in zip(places, starts, ends, steps, strict=True):
        index[axis] = slice(start, end, step)
    return np.asarray(data[tuple(index)])


def _concat(call: Call) -> Array:
    arrays = [call.array(i) for i in range(len(call.node.inputs))]
    (axis,) = normal_axes([call.node.get_int("axis", 0)], arrays[0].ndim)
    return np.concatenate(arrays, axis)


def _range(call: Call) -> Array:
    start, limit, delta = (call.array(i).reshape(-1)[0] for i in range(3))
    count = math.ceil((float(limit) - float(start)) / float(delta))
    steps = np.arange(sized((max(count, 0),))[0])
    return np.asarray(start + steps * delta).astype(start.dtype)


def _expand(call: Call) -> Array:
    shape = np.broadcast_shapes(call.shape(0), call.ints(1, "the shape"))
    return np.asarray(np.broadcast_to(call.array(0), sized(shape)))


def _tile(call: Call) -> Array:
    repeats = call.ints(1, "repeats")
    sized(tuple(d * r for d, r in zip(call.shape(0), repeats, strict=True)))
    return np.tile(call.array(0), repeats)


def _divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    if not np.all(b):
        raise ZeroDivisionError("integer division by zero")
    return np.asarray((np.abs(a) // np.abs(b)) * (np.sign(a) * np.sign(b))).astype(a.dtype)


def _trilu(call: Call) -> Array:
    diagonal = int(call.array(1).reshape(-1)[0]) if call.has(1) else 0
    cut = np.triu if call.node.get_int("upper", 1) else np.tril
    if call.array(0).ndim < 2:
        raise ModelFormatError(f"Trilu of {list(call.shape(0))}", expected="matrices")
    return np.asarray(cut(call.array(0), diagonal))


def _cumsum(call: Call) -> Array:
    data = call.array(0)
    (axis,) = normal_axes([int(call.array(1).reshape(-1)[0])], data.ndim)
    reverse = call.node.get_int("reverse", 0) != 0
    data = np.flip(data, axis) if reverse else data
    sums = np.cumsum(data, axis, dtype=data.dtype)
    sums = sums - data if call.node.get_int("exclusive", 0) else sums
    return np.flip(sums, axis) if reverse else sums


def _modulo(call: Call) -> Array:
    use_c_sign = call.node.get_int("fmod", 0) != 0
    return np.asarray((np.fmod if use_c_sign else np.mod)(call.array(0), call.array(1)))


def _elementwise(function: Callable[..., Any], arity: int) -> Static:
    def evaluate(call: Call) -> Array:
        return np.asarray(function(*(call.array(i) for i in range(arity))))

    return evaluate


def _variadic(function: Callable[[Array, Array], Array]) -> Static:
    def evaluate(call: Call) -> Array:
        result = call.array(0)
        for i in range(1, len(call.node.inputs)):
            result = function(result, call.array(i))
        return result

    return evaluate


def _reduction(function: Callable[..., Any], input_since: int = 18) -> Static:
    def evaluate(call: Call) -> Array:
        data, axes = call.array(0), reduced_axes(call, input_since)
        keep = call.node.get_int("keepdims", 1) != 0
        return np.asarray(function(data, axis=axes, keepdims=keep)).astype(data.dtype)

    return evaluate


def _reshaping(shape: Callable[[Call], Shape]) -> Static:
    def evaluate(call: Call) -> Array:
        data = call.array(0)
        grid = grid_of(data) if tensor_params(data) is not None else None
        return with_grid(data.reshape(shape(call)), grid)

    return evaluate


def _same(call: Call) -> Array:
    return call.array(0)


STATIC: dict[str, Static] = {
    "Abs": _elementwise(np.abs, 1),
    "Add": _elementwise(np.add, 2),
    "And": _elementwise(np.logical_and, 2),
    "Cast": _cast,
    "CastLike": lambda call: call.array(0).astype(call.array(1).dtype),
    "Ceil": _elementwise(np.ceil, 1),
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "CumSum": _cumsum,
    "Div": _elementwise(_divide, 2),
    "Equal": _elementwise(np.equal, 2),
    "Exp": _elementwise(np.exp, 1),
    "Expand": _expand,
    "Flatten": _reshaping(flattened),
    "Floor": _elementwise(np.floor, 1),
    "Gather": _gather,
    "Greater": _elementwise(np.greater, 2),
    "GreaterOrEqual": _elementwise(np.greater_equal, 2),
    "Identity": _same,
    "Less": _elementwise(np.less, 2),
    "LessOrEqual": _elementwise(np.less_equal, 2),
    "Log": _elementwise(np.log, 1),
    "Max": _variadic(np.maximum),
    "Min": _variadic(np.minimum),
    "Mod": _modulo,
    "Mul": _elementwise(np.multiply, 2),
    "Neg": _elementwise(np.negative, 1),
    "NonZero": lambda call: np.asarray(np.nonzero(call.array(0)), np.int64),
    "Not": _elementwise(np.logical_not, 1),
    "Or": _elementwise(np.logical_or, 2),
    "Pow": lambda call: np.power(call.array(0), call.array(1)).astype(call.array(0).dtype),
    "Range": _range,
    "Reciprocal": _elementwise(np.reciprocal, 1),
    "ReduceMax": _reduction(np.max),
    "ReduceMean": _reduction(np.mean),
    "ReduceMin": _reduction(np.min),
    "ReduceProd": _reduction(np.prod),
    "ReduceSum": _reduction(np.sum, input_since=13),
    "Reshape": _reshaping(reshaped),
    "Round": _elementwise(np.round, 1),
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Sqrt": _elementwise(np.sqrt, 1),
    "Squeeze": _reshaping(squeezed),
    "Sub": _elementwise(np.subtract, 2),
    "Sum": _variadic(np.add),
    "Tile": _tile,
    "Transpose": lambda call: turned(call.array(0), permutation(call)),
    "Unsqueeze": _reshaping(unsqueezed),
    "Trilu": _trilu,
    "Where": _elementwise(np.where, 3),
    "Xor": _elementwise(np.logical_xor, 2),
}


def _split(call: Call) -> list[Array]:
    data, count = call.array(0), len(call.node.outputs)
    (axis,) = normal_axes([call.node.get_int("axis", 0)], data.ndim)
    sizes = split_sizes(call, data.shape[axis], count)
    return np.split(data, np.cumsum(sizes)[:-1], axis)


STATIC_SEVERAL: dict[str, Callable[[Call], Sequence[Array]]] = {"Split": _split}
"""The same, for ops of several outputs."""

SHAPE_ONLY = frozenset({"Shape", "Size"})
"""Ops that look at their operand's shape alone, so that it need not be known."""
