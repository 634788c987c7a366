"""ONNX's inverse functions of angles and hyperbolas, as formulas of the format's ops.

The angles rest on one polynomial. Two half angles come first, ``tan(a / 2) = t / (1 + sqrt(1 +
t**2))`` for ``t = tan(a)``, so that it is taken of at most ``tan(pi / 8)``.
"""

from __future__ import annotations

import math

from tinyrt.convert.onnx.call import Call, Importer
from tinyrt.convert.onnx.pointwise import scalar
from tinyrt.ir import Value

ARCTAN = (-0.33332953872332455, 0.19977866926372392, -0.1387915182586457, 0.08057877265067212)
"""``arctan(v) = v + v * (c0 * v**2 + c1 * v**4 + ...)``, within 2.1e-8 of v up to tan(pi / 8)."""

LARGEST = 1e18
"""The angle of a larger number is a right one in float32; its square is still a number."""


def _term(call: Call, op: str, *operands: Value | float, name: str = "") -> Value:
    """One op of a formula, of values and numbers; the result itself has no name."""
    number = f"{name or 'result'}.number"
    values = [x if isinstance(x, Value) else scalar(call, number, x) for x in operands]
    return call.emit(op, *values, name=f"{call.result}.{name}" if name else "")


def _half(call: Call, t: Value, square: Value, name: str) -> Value:
    """``t / (1 + sqrt(1 + square))``."""
    above = _term(call, "add", square, 1.0, name=f"{name}.above")
    root = _term(call, "sqrt", above, name=f"{name}.root")
    return _term(call, "div", t, _term(call, "add", root, 1.0, name=f"{name}.below"), name=name)


def _twice_arctan(call: Call, t: Value, name: str = "") -> Value:
    """``2 * arctan(t)`` of a number from -1 to 1: four times the angle of its half."""
    v = _half(call, t, _term(call, "mul", t, t, name="square"), "quarter")
    square = _term(call, "mul", v, v, name="quarter.square")
    total = _term(call, "mul", square, 4 * ARCTAN[-1], name="power_4")
    for i in (2, 1, 0):
        total = _term(call, "add", total, 4 * ARCTAN[i], name=f"sum_{i + 1}")
        total = _term(call, "mul", total, square, name=f"power_{i + 1}")
    return _term(call, "mul", _term(call, "add", total, 4.0, name="sum_0"), v, name=name)


def atan(call: Call) -> Value:
    """The angle of a slope."""
    high = _term(call, "minimum", call.value(0), LARGEST, name="not_above")
    t = _term(call, "maximum", high, -LARGEST, name="not_below")
    return _twice_arctan(call, _half(call, t, _term(call, "mul", t, t, name="whole"), "half"))


def _asin(call: Call, name: str = "") -> Value:
    """``2 * arctan(x / (1 + sqrt((1 - x) * (1 + x))))``."""
    x = call.value(0)
    left = _term(call, "sub", 1.0, x, name="left")
    right = _term(call, "add", x, 1.0, name="right")
    cosine = _term(call, "sqrt", _term(call, "mul", left, right, name="product"), name="cosine")
    half = _term(call, "div", x, _term(call, "add", cosine, 1.0, name="below"), name="half")
    return _twice_arctan(call, half, name)


def asin(call: Call) -> Value:
    """The angle of a sine."""
    return _asin(call)


def acos(call: Call) -> Value:
    """The angle of a cosine: what its sine's lacks of a right one."""
    return _term(call, "sub", math.pi / 2, _asin(call, "asin"))


def asinh(call: Call) -> Value:
    """``sign(x) * log(|x| + sqrt(x**2 + 1))``: of |x|, so that nothing cancels."""
    x = call.value(0)
    size = _term(call, "abs", x, name="size")
    square = _term(call, "mul", x, x, name="square")
    root = _term(call, "sqrt", _term(call, "add", square, 1.0, name="above"), name="root")
    logarithm = _term(call, "log", _term(call, "add", size, root, name="both"), name="log")
    return _term(call, "mul", _term(call, "sign", x, name="sign"), logarithm)


def acosh(call: Call) -> Value:
    """``log(x + sqrt(x - 1) * sqrt(x + 1))``."""
    x = call.value(0)
    left = _term(call, "sqrt", _term(call, "sub", x, 1.0, name="less"), name="left")
    right = _term(call, "sqrt", _term(call, "add", x, 1.0, name="more"), name="right")
    product = _term(call, "mul", left, right, name="product")
    return _term(call, "log", _term(call, "add", x, product, name="both"))


def atanh(call: Call) -> Value:
    """``log((1 + x) / (1 - x)) / 2``."""
    x = call.value(0)
    above = _term(call, "add", x, 1.0, name="above")
    below = _term(call, "sub", 1.0, x, name="below")
    logarithm = _term(call, "log", _term(call, "div", above, below, name="ratio"), name="log")
    return _term(call, "mul", logarithm, 0.5)


INVERSE: dict[str, Importer] = {
    "Acos": acos,
    "Acosh": acosh,
    "Asin": asin,
    "Asinh": asinh,
    "Atan": atan,
    "Atanh": atanh,
}
"""ONNX op type -> its importer."""
