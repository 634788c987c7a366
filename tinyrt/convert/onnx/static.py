"""ONNX ops on operands that are known on import: the shape arithmetic that exporters leave.

``STATIC`` maps an op type to the function that computes its result, and to the shape for which the
budget is charged first. Integer division truncates, as ONNX prescribes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tinyrt import budget
from tinyrt.budget import Computed
from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.generated import (
    constant_of_shape,
    eye_like,
    eye_shape,
    numbers_in_range,
)
from tinyrt.convert.onnx.grid import grid_of, tensor_params, turned, with_grid
from tinyrt.convert.onnx.scatter import scattered_elements, scattered_rows
from tinyrt.convert.onnx.shapes import (
    WIDEST,
    broadcast,
    expanded,
    filled,
    flattened,
    gathered,
    gathered_nd,
    joined,
    normal_axes,
    of_first,
    of_rank,
    permutation,
    places,
    reduced_axes,
    reshaped,
    sized,
    split_sizes,
    squeezed,
    steps,
    tiled,
    unsqueezed,
)
from tinyrt.convert.onnx.weights import DTYPES, KNOWN_TYPES, Array, element_type, in_type
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.floatmath import elementary
from tinyrt.ir import Shape


@dataclass(frozen=True, slots=True)
class Static:
    """An op on known operands.

    Attributes:
        compute: the result.
        shape: that of the result, or of the largest array on the way to it.
        copies: how many arrays of that shape there are at once.

    """

    compute: Callable[[Call], Array | Sequence[Array]]
    shape: Callable[[Call], Shape] = of_first
    copies: int = 2


# What NumPy raises on operands that do not fit together; of TypeErrors, only its own kinds are.
_MISFITS = (ValueError, IndexError, OverflowError, ZeroDivisionError)


def evaluate_static(call: Call) -> Array:
    """The result of an op of ``STATIC`` whose operands are known.

    Raises:
        ModelFormatError: the operands do not fit together.
        BudgetError: the result, or what is computed on the way to it, is too large.

    """
    # Not ``asarray``, which would drop the grid that a constant lies on.
    return _compute(call, STATIC[call.node.op], np.asanyarray)


def evaluate_several(call: Call) -> Sequence[Array]:
    """The results of an op of ``STATIC_SEVERAL``; raises as ``evaluate_static``."""
    return _compute(call, STATIC_SEVERAL[call.node.op], list)


def _compute(call: Call, op: Static, postprocess: Callable[[Any], Computed]) -> Computed:
    """The result of the op, once the budget allows it."""
    what = f"'{call.result}', the constant result of {call.node.op}"
    try:
        with np.errstate(all="ignore"):
            elements = op.copies * math.prod(sized(op.shape(call), what, copies=0))
            return budget.current().computed(
                what, WIDEST * elements, lambda: postprocess(op.compute(call)), elements
            )
    except (*_MISFITS, TypeError) as error:
        if isinstance(error, TypeError) and not type(error).__module__.startswith("numpy"):
            raise  # a fault of the importer's
        raise ModelFormatError(
            f"the op's constant operands do not fit together: {error}",
            hint="export the model again; if onnx.checker takes it, this is a defect of tinyrt: "
            "please report it",
        ) from error


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


def _cast(call: Call) -> Array:
    to = call.node.get_int("to", 0)
    if to not in DTYPES:
        raise UnsupportedError(
            f"a cast to {element_type(to)}",
            expected=KNOWN_TYPES,
            hint="export the model in float32",
        )
    return in_type(call.array(0), to)


def _gather(call: Call) -> Array:
    (axis,) = normal_axes([call.node.get_int("axis", 0)], len(call.shape(0)))
    return np.asarray(np.take(call.array(0), call.array(1), axis=axis))


def _gather_elements(call: Call) -> Array:
    data, indices = call.array(0), call.array(1)
    (axis,) = normal_axes([call.node.get_int("axis", 0)], data.ndim)
    return np.asarray(np.take_along_axis(data, indices, axis))


def _gather_nd(call: Call) -> Array:
    data, indices = call.array(0), call.array(1)
    batch = np.indices(indices.shape[:-1], sparse=True)[: call.node.get_int("batch_dims", 0)]
    return np.asarray(data[(*batch, *np.moveaxis(indices, -1, 0))])


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


def _expand(call: Call) -> Array:
    return np.asarray(np.broadcast_to(call.array(0), expanded(call)))


def _tile(call: Call) -> Array:
    return np.tile(call.array(0), call.ints(1, "repeats"))


def _divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    if not np.all(b):
        raise ZeroDivisionError("integer division by zero")
    return np.asarray((np.abs(a) // np.abs(b)) * (np.sign(a) * np.sign(b))).astype(a.dtype)


def _trilu(call: Call) -> Array:
    diagonal = call.whole(1, "the diagonal") if call.has(1) else 0
    cut = np.triu if call.node.get_int("upper", 1) else np.tril
    if call.array(0).ndim < 2:
        raise ModelFormatError(f"Trilu of {list(call.shape(0))}", expected="matrices")
    return np.asarray(cut(call.array(0), diagonal))


def _cumsum(call: Call) -> Array:
    data = call.array(0)
    (axis,) = normal_axes([call.whole(1, "the axis")], data.ndim)
    reverse = call.node.get_int("reverse", 0) != 0
    data = np.flip(data, axis) if reverse else data
    sums = np.cumsum(data, axis, dtype=data.dtype)
    sums = sums - data if call.node.get_int("exclusive", 0) else sums
    return np.flip(sums, axis) if reverse else sums


def _modulo(call: Call) -> Array:
    use_c_sign = call.node.get_int("fmod", 0) != 0
    return np.asarray((np.fmod if use_c_sign else np.mod)(call.array(0), call.array(1)))


def _bit_shift(call: Call) -> Array:
    to_the_right = call.node.get_choice("direction", "LEFT", "RIGHT") == "RIGHT"
    return _of_numpy(np.right_shift if to_the_right else np.left_shift, *map(call.array, (0, 1)))


def _power(call: Call) -> Array:
    a, b = call.array(0), call.array(1)
    whole = a.dtype.kind in "iub" and b.dtype.kind in "iub"
    return np.asarray((np.power if whole else elementary.power)(a, b), a.dtype)


def _elementwise(function: Callable[..., Any], arity: int, copies: int = 2) -> Static:
    def evaluate(call: Call) -> Array:
        return _of_numpy(function, *(call.array(i) for i in range(arity)))

    return Static(evaluate, broadcast, copies)


def _of_numpy(function: Callable[..., Any], *operands: Array) -> Array:
    """The result of a NumPy function.

    Raises:
        ModelFormatError: it takes no numbers of that kind, for which NumPy raises TypeError.

    """
    try:
        return np.asarray(function(*operands))
    except TypeError as error:
        kinds = " and ".join(dict.fromkeys(str(x.dtype) for x in operands))
        raise ModelFormatError(
            f"constants of {kinds} have no result here",
            expected="types that ONNX has for this op",
            hint="export the model again; onnx.checker.check_model says whether it is valid",
        ) from error


def _real(function: Callable[[Array], Array]) -> Static:
    def evaluate(call: Call) -> Array:
        return _of_numpy(function, call.array(0)).astype(call.array(0).dtype)

    return Static(evaluate, copies=4)


def _variadic(function: Callable[[Array, Array], Array]) -> Static:
    def evaluate(call: Call) -> Array:
        result = call.array(0)
        for i in range(1, len(call.node.inputs)):
            result = _of_numpy(function, result, call.array(i))
        return result

    return Static(evaluate, broadcast)


def _reduction(function: Callable[..., Any], input_since: int = 18) -> Static:
    def evaluate(call: Call) -> Array:
        data, axes = call.array(0), reduced_axes(call, input_since)
        keep = call.node.get_int("keepdims", 1) != 0
        reduced = partial(function, axis=axes, keepdims=keep)
        return _of_numpy(reduced, data).astype(data.dtype)

    return Static(evaluate)


def _reshaping(shape: Callable[[Call], Shape]) -> Static:
    def evaluate(call: Call) -> Array:
        data = call.array(0)
        grid = grid_of(data) if tensor_params(data) is not None else None
        return with_grid(data.reshape(shape(call)), grid)

    return Static(evaluate, shape)


def _same(call: Call) -> Array:
    return call.array(0)


STATIC: dict[str, Static] = {
    "Abs": _elementwise(np.abs, 1),
    "Add": _elementwise(np.add, 2),
    "And": _elementwise(np.logical_and, 2),
    "BitShift": Static(_bit_shift, broadcast),
    "BitwiseAnd": _elementwise(np.bitwise_and, 2),
    "BitwiseNot": _elementwise(np.bitwise_not, 1),
    "BitwiseOr": _elementwise(np.bitwise_or, 2),
    "BitwiseXor": _elementwise(np.bitwise_xor, 2),
    "Cast": Static(_cast),
    "CastLike": Static(lambda call: call.array(0).astype(call.array(1).dtype)),
    "Ceil": _elementwise(np.ceil, 1),
    "Concat": Static(_concat, joined),
    "Constant": Static(_constant, lambda call: ()),
    "ConstantOfShape": Static(constant_of_shape, filled, copies=1),
    "Cos": _real(elementary.cos),
    "CumSum": Static(_cumsum, copies=3),
    "Div": _elementwise(_divide, 2, copies=6),
    "Equal": _elementwise(np.equal, 2),
    "Exp": _real(elementary.exp),
    "Expand": Static(_expand, expanded, copies=1),
    "EyeLike": Static(eye_like, eye_shape, copies=1),
    "Flatten": _reshaping(flattened),
    "Floor": _elementwise(np.floor, 1),
    "Gather": Static(_gather, gathered),
    "GatherElements": Static(_gather_elements, lambda call: call.shape(1), copies=3),
    "GatherND": Static(_gather_nd, gathered_nd),
    "Greater": _elementwise(np.greater, 2),
    "GreaterOrEqual": _elementwise(np.greater_equal, 2),
    "Identity": Static(_same, copies=0),
    "Less": _elementwise(np.less, 2),
    "LessOrEqual": _elementwise(np.less_equal, 2),
    "Log": _real(elementary.log),
    "Max": _variadic(np.maximum),
    "Min": _variadic(np.minimum),
    "Mod": Static(_modulo, broadcast),
    "Mul": _elementwise(np.multiply, 2),
    "Neg": _elementwise(np.negative, 1),
    "NonZero": Static(lambda call: np.asarray(np.nonzero(call.array(0)), np.int64), places),
    "Not": _elementwise(np.logical_not, 1),
    "Or": _elementwise(np.logical_or, 2),
    "Pow": Static(_power, broadcast, copies=20),
    "Range": Static(numbers_in_range, steps, copies=4),
    "Reciprocal": _elementwise(np.reciprocal, 1),
    "ReduceMax": _reduction(np.max),
    "ReduceMean": _reduction(np.mean),
    "ReduceMin": _reduction(np.min),
    "ReduceProd": _reduction(np.prod),
    "ReduceSum": _reduction(np.sum, input_since=13),
    "Reshape": _reshaping(reshaped),
    "Round": _elementwise(np.round, 1),
    "ScatterElements": Static(scattered_elements, copies=4),
    "ScatterND": Static(scattered_rows, copies=3),
    "Shape": Static(_shape, of_rank),
    "Size": Static(_size, of_rank),
    "Slice": Static(_slice, copies=1),
    "Sin": _real(elementary.sin),
    "Sqrt": _elementwise(np.sqrt, 1),
    "Squeeze": _reshaping(squeezed),
    "Sub": _elementwise(np.subtract, 2),
    "Sum": _variadic(np.add),
    "Tile": Static(_tile, tiled),
    "Transpose": Static(lambda call: turned(call.array(0), permutation(call)), copies=1),
    "Unsqueeze": _reshaping(unsqueezed),
    "Trilu": Static(_trilu, copies=3),
    "Where": _elementwise(np.where, 3),
    "Xor": _elementwise(np.logical_xor, 2),
}


def _split(call: Call) -> list[Array]:
    data, count = call.array(0), len(call.node.outputs)
    (axis,) = normal_axes([call.node.get_int("axis", 0)], data.ndim)
    sizes = split_sizes(call, data.shape[axis], count)
    return np.split(data, np.cumsum(sizes)[:-1], axis)


STATIC_SEVERAL: dict[str, Static] = {"Split": Static(_split, copies=1)}
"""The same, for ops of several outputs."""

SHAPE_ONLY = frozenset({"EyeLike", "Shape", "Size"})
"""Ops that look at their operand's shape alone, so that it need not be known."""
