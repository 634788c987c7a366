"""Element-wise arithmetic on sixteen pairs of int8 at a time.

LLVM's own vectoriser would have to widen every product to 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from tinyrt.backends.linear_sum import SUM_BITS
from tinyrt.backends.numba.abi import Intrinsic, intrinsic
from tinyrt.backends.numba.vector import (
    I8,
    I32,
    LANES,
    V,
    broadcast,
    clamp,
    load,
    requantize,
    saturate,
    splat,
    store_s8,
)
from tinyrt.ops.add import LEFT_SHIFT

Compute = Callable[[Any, Any, Any, dict[str, Any]], Any]
"""``(builder, a, b, fields)`` -> output lanes; ``fields`` are a row's, each in every lane."""


def on_lanes(compute: Compute) -> Intrinsic:
    """``step(a, b, y, p)``: sixteen elements at these addresses, ``p`` a row of arguments."""

    @intrinsic
    def step(typingctx: Any, a: Any, b: Any, y: Any, p: Any) -> Any:
        del typingctx, a, b, y

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            del signature
            octets = ir.VectorType(I8, LANES)
            first, second = (builder.sext(load(builder, at, octets), V) for at in args[:2])
            values = cgutils.unpack_tuple(builder, args[3])
            lanes = [broadcast(builder, builder.trunc(value, I32)) for value in values]
            fields = dict(zip(p.instance_class._fields, lanes, strict=True))
            store_s8(builder, compute(builder, first, second, fields), args[2], I32(LANES))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, p), codegen

    return step


def _rescaled(builder: Any, x: Any, f: dict[str, Any], name: str) -> Any:
    raised = builder.shl(builder.sub(x, f[f"{name}_zp"]), splat(LEFT_SHIFT))
    return requantize(builder, raised, f[f"{name}_mult"], splat(0), f[f"{name}_right"])


def _finish(builder: Any, scaled: Any, f: dict[str, Any]) -> Any:
    return clamp(builder, builder.add(scaled, f["y_zp"]), f["act_min"], f["act_max"])


def add(builder: Any, a: Any, b: Any, f: dict[str, Any]) -> Any:
    """``clamp(requant(rescale(a - a_zp) + rescale(b - b_zp)) + y_zp)``."""
    total = builder.add(_rescaled(builder, a, f, "a"), _rescaled(builder, b, f, "b"))
    return _finish(builder, requantize(builder, total, f["y_mult"], splat(0), f["y_right"]), f)


def sub(builder: Any, a: Any, b: Any, f: dict[str, Any]) -> Any:
    """``clamp(requant(rescale(a - a_zp) - rescale(b - b_zp)) + y_zp)``."""
    total = builder.sub(_rescaled(builder, a, f, "a"), _rescaled(builder, b, f, "b"))
    return _finish(builder, requantize(builder, total, f["y_mult"], splat(0), f["y_right"]), f)


def linear_sum(builder: Any, a: Any, b: Any, f: dict[str, Any]) -> Any:
    """``(a_factor * a + b_factor * b + addend) >> SUM_BITS``, the nearest int8."""
    first = builder.add(builder.mul(a, f["a_factor"]), f["addend"])
    total = builder.add(first, builder.mul(b, f["b_factor"]))
    return saturate(builder, builder.ashr(total, splat(SUM_BITS)))


def clamped_linear_sum(builder: Any, a: Any, b: Any, f: dict[str, Any]) -> Any:
    """The same, clamped."""
    return clamp(builder, linear_sum(builder, a, b, f), f["act_min"], f["act_max"])


def mul(builder: Any, a: Any, b: Any, f: dict[str, Any]) -> Any:
    """``clamp(requant((a - a_zp) * (b - b_zp)) + y_zp)``."""
    product = builder.mul(builder.sub(a, f["a_zp"]), builder.sub(b, f["b_zp"]))
    return _finish(builder, requantize(builder, product, f["mult"], f["left"], f["right"]), f)


def minimum(builder: Any, a: Any, b: Any, f: dict[str, Any]) -> Any:
    """``min(a, b)`` of raw values."""
    del f
    return builder.select(builder.icmp_signed("<", a, b), a, b)


def maximum(builder: Any, a: Any, b: Any, f: dict[str, Any]) -> Any:
    """``max(a, b)`` of raw values."""
    del f
    return builder.select(builder.icmp_signed(">", a, b), a, b)
