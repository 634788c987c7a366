"""How sums of products become outputs, in the forms of ``tinyrt.backends.lanes.Finish``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir

from tinyrt.backends.lanes import Finish
from tinyrt.backends.numba.vector import I64, LANES, V, clamp, requantize, saturate, splat

_HALF = ir.VectorType(I64, LANES // 2)


def _by_64(builder: Any, acc: Any, constants: Sequence[Any]) -> Any:
    """The upper halves of ``acc * mult + addend`` in each lane."""
    mult, _, *addends = constants
    thirty_two = ir.Constant(_HALF, [32] * (LANES // 2))
    a, m = (builder.bitcast(v, _HALF) for v in (acc, mult))
    evens = [builder.ashr(builder.shl(v, thirty_two), thirty_two) for v in (a, m)]
    odds = [builder.ashr(v, thirty_two) for v in (a, m)]
    sums = [
        builder.bitcast(builder.add(builder.mul(*pair), builder.bitcast(addend, _HALF)), V)
        for pair, addend in zip((evens, odds), addends, strict=True)
    ]
    uppers = ir.Constant(V, [i // 2 * 2 + 1 + LANES * (i % 2) for i in range(LANES)])
    return builder.shuffle_vector(*sums, uppers)


def _relu(builder: Any, acc: Any, constants: Sequence[Any], limits: Sequence[Any]) -> Any:
    del limits
    return saturate(builder, builder.ashr(_by_64(builder, acc, constants), constants[1]))


def _signed(builder: Any, acc: Any, constants: Sequence[Any], limits: Sequence[Any]) -> Any:
    sign = builder.ashr(acc, splat(31))
    upper = _by_64(builder, builder.shl(acc, splat(1)), constants)
    rounded = builder.ashr(builder.add(upper, sign), constants[1])
    return clamp(builder, rounded, *limits[1:])


def _general(builder: Any, acc: Any, constants: Sequence[Any], limits: Sequence[Any]) -> Any:
    mult, right, left, _ = constants
    zero_point, low, high = limits
    scaled = requantize(builder, acc, mult, left, right)
    return clamp(builder, builder.add(scaled, zero_point), low, high)


FINISHES: Mapping[Finish, Callable[..., Any]] = {
    Finish.GENERAL: _general,
    Finish.SIGNED: _signed,
    Finish.RELU: _relu,
}
"""``(builder, acc, constants, limits)`` -> lanes of outputs.

``constants`` are those behind the first sums, ``limits`` the zero point and the least and the
greatest output.
"""
