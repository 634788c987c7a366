"""Arithmetic of two or more operands, and clamps."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tinyrt.convert.onnx.call import Call, Importer
from tinyrt.convert.onnx.grid import Quantized
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType, Value

CLIP_OPS = {(0.0, np.inf): "relu", (0.0, 6.0): "relu6", (-1.0, 1.0): "relu_n1_to_1"}
"""Bounds that an op of their own stands for."""


def _ranks_aligned(call: Call, a: Value, b: Value) -> tuple[Value, Value]:
    """Both operands; an activation of lower rank gets leading dimensions of 1."""
    rank = max(len(a.shape), len(b.shape))

    def aligned(x: Value) -> Value:
        if x.is_constant:
            return x
        return call.reshape(x, (1,) * (rank - len(x.shape)) + x.shape, f"{call.result}.aligned")

    return aligned(a), aligned(b)


INTEGERS = (DType.INT32, DType.INT64)
"""Element types of what a model counts with, from the narrower one on."""


def operands(call: Call, inputs: Iterable[int]) -> list[Value]:
    """Some inputs; beside integers that are computed, constants are integers of their width."""
    found = {i: call.operand(i) for i in inputs}
    kinds = [k for k in INTEGERS if k in {x.dtype for x in found.values() if isinstance(x, Value)}]
    return [integers(call, i, kinds[-1]) if kinds else call.value(i) for i in found]


def integers(call: Call, i: int, kind: DType) -> Value:
    """Input ``i`` as integers of that width.

    Raises:
        UnsupportedError: it is a constant that does not fit.

    """
    x = call.operand(i)
    if isinstance(x, Value) and x.dtype in INTEGERS and x.dtype is not kind:
        return call.emit("cast", x, name=f"{call.result}.wide", dtype=kind)
    if isinstance(x, Value | Quantized) or x.dtype.kind not in "iu":
        return call.value(i)
    limits = np.iinfo(kind.numpy)
    if x.size and (x.min() < limits.min or x.max() > limits.max):
        raise UnsupportedError(
            f"the constant '{call.node.inputs[i]}' reaches from {x.min()} to {x.max()}",
            expected=f"integers of {kind.short}, as which inputs are computed with",
            hint="compute with large integers before the model",
        )
    name = f"{call.node.inputs[i]}.{kind.short}"
    return call.builder.constant(name, np.atleast_1d(x).astype(kind.numpy))


def binary(op: str) -> Callable[[Call], Value]:
    """``op`` over two operands."""

    def convert(call: Call) -> Value:
        a, b = operands(call, (0, 1))
        return call.emit(op, *_ranks_aligned(call, a, b))

    return convert


def variadic(op: str) -> Importer:
    """``op`` over any number of operands, from the left."""

    def convert(call: Call) -> Value:
        result, *others = operands(call, range(max(len(call.node.inputs), 1)))
        for i, operand in enumerate(others, 1):
            name = "" if i == len(others) else f"{call.result}.partial"
            result = call.emit(op, *_ranks_aligned(call, result, operand), name=name)
        return result

    return convert


def sub(call: Call) -> Value:
    """``x - c = x + (-c)`` where c is constant: additions fold into biases."""
    if not call.is_constant_input(1) or call.array(1).dtype.kind in "iu":
        return binary("sub")(call)
    negated = call.constant(f"{call.node.inputs[1]}.negated", -call.array(1))
    return call.emit("add", call.value(0), negated)


def div(call: Call) -> Value:
    """``x / c = x * (1 / c)`` where c is constant: products fold into weights."""
    if not call.is_constant_input(1) or call.array(1).dtype.kind in "iu":
        return binary("div")(call)
    divisor = call.array(1)
    if not np.all(divisor):
        raise UnsupportedError(
            "the divisor has zeros", expected="a constant without zeros", hint="correct the model"
        )
    reciprocal = call.constant(f"{call.node.inputs[1]}.reciprocal", np.reciprocal(divisor))
    return call.emit("mul", call.value(0), reciprocal)


def neg(call: Call) -> Value:
    """``-x = x * -1``."""
    x = call.value(0)
    kind = x.dtype if x.dtype in INTEGERS else DType.FLOAT32
    minus_one = call.builder.constant(f"{call.result}.minus_one", np.full(1, -1, kind.numpy))
    return call.emit("mul", x, minus_one)


def _bound(call: Call, i: int, name: str, default: float) -> float | Value:
    """A limit of Clip: an attribute before opset 11, then an input, which may be computed."""
    if call.opset < 11:
        bound = call.node.get_float(name, default)
    elif not call.has(i):
        return default
    elif not call.is_constant_input(i):
        return call.value(i)
    else:
        limit = call.array(i, f"the limit '{name}'")
        if limit.size != 1:
            raise ModelFormatError(f"'{name}' has shape {list(limit.shape)}", expected="a scalar")
        bound = float(limit.reshape(-1)[0])
    # Exporters write "no limit" as the greatest float.
    return default if abs(bound) >= np.finfo(np.float32).max else bound


def _clipped_integers(call: Call, x: Value) -> Value:
    """``clip`` of what a model counts with."""
    given = [(op, i) for op, i in (("maximum", 1), ("minimum", 2)) if call.has(i)]
    for op, i in given:
        name = "" if i == given[-1][1] else f"{call.result}.{op}"
        x = call.emit(op, *_ranks_aligned(call, x, integers(call, i, x.dtype)), name=name)
    return x


def modulo(call: Call) -> Value:
    """The rest of a division: with ``fmod`` of the dividend's sign, else of the divisor's."""
    a, b = _ranks_aligned(call, *operands(call, (0, 1)))
    if not call.node.get_int("fmod", 0):
        return call.emit("floor_mod", a, b)
    sizes = [call.emit("abs", x, name=f"{call.result}.size{i}") for i, x in enumerate((a, b))]
    rest = call.emit("floor_mod", *sizes, name=f"{call.result}.rest")
    return call.emit("mul", rest, call.emit("sign", a, name=f"{call.result}.sign"))


def clip(call: Call) -> Value:
    """``min(max(x, low), high)``, as an op of the relu family where the bounds are one's."""
    x = call.value(0)
    if x.dtype in INTEGERS:
        return _clipped_integers(call, x)
    low, high = _bound(call, 1, "min", -np.inf), _bound(call, 2, "max", np.inf)
    if (low, high) in CLIP_OPS:
        return call.emit(CLIP_OPS[low, high], x)  # type: ignore[index]
    limits: list[tuple[str, float | Value | None]] = []
    if low == 0:
        limits.append(("relu", None))
    elif low != -np.inf:
        limits.append(("maximum", low))
    if high != np.inf:
        limits.append(("minimum", high))
    for i, (op, limit) in enumerate(limits):
        name = "" if i == len(limits) - 1 else f"{call.result}.{op}"
        if limit is None:
            x = call.emit(op, x, name=name)
        elif isinstance(limit, Value):
            x = call.emit(op, *_ranks_aligned(call, x, limit), name=name)
        else:
            constant = call.constant(f"{call.result}.{op}_limit", np.full(1, limit, np.float32))
            x = call.emit(op, x, constant, name=name)
    return x
