"""Arithmetic on sixteen int32 lanes, written in LLVM's own vector types.

Everything is exact and portable; where the CPU has VNNI, ``dot4`` becomes one instruction. Register
blocking cannot be left to the vectoriser: these are the pieces that ``tile`` composes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from tinyrt.backends.finishes import LANES as LANES
from tinyrt.floatmath.compiled import FEATURES

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
V = ir.VectorType(I32, LANES)

WIDE = "+avx512bw" in FEATURES
"""Whether sixteen lanes fit one register and there are 32 of those."""
_VNNI = WIDE and "+avx512vnni" in FEATURES


def splat(value: int) -> Any:
    """The constant in every lane."""
    return ir.Constant(V, [value] * LANES)


def broadcast(builder: Any, scalar: Any) -> Any:
    """An i32 in every lane."""
    first = builder.insert_element(ir.Constant(V, ir.Undefined), scalar, I32(0))
    return builder.shuffle_vector(first, ir.Constant(V, ir.Undefined), splat(0))


def broadcast8(builder: Any, scalar: Any) -> Any:
    """An i64 in every pair of lanes."""
    half = ir.VectorType(I64, LANES // 2)
    first = builder.insert_element(ir.Constant(half, ir.Undefined), scalar, I32(0))
    zeros = ir.Constant(ir.VectorType(I32, LANES // 2), [0] * (LANES // 2))
    return builder.bitcast(builder.shuffle_vector(first, ir.Constant(half, ir.Undefined), zeros), V)


def add_pairs(builder: Any, a: Any, b: Any) -> Any:
    """Sums of neighbouring lanes, first those of ``a``."""
    even, odd = (ir.Constant(V, list(range(first, 2 * LANES, 2))) for first in (0, 1))
    return builder.add(builder.shuffle_vector(a, b, even), builder.shuffle_vector(a, b, odd))


def load(builder: Any, address: Any, kind: Any = V) -> Any:
    """A value of LLVM type ``kind`` from an i64 address of any alignment."""
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=1)


def dot4(builder: Any, acc: Any, x: Any, w: Any) -> Any:
    """``acc + sum(x[j] * w[j] for j in range(4))`` in each lane of four bytes.

    Args:
        builder: the IR builder.
        acc: lanes of sums, modulo 2**32.
        x: lanes of four unsigned bytes.
        w: lanes of four signed bytes.

    """
    if _VNNI:
        octets = ir.VectorType(I8, 4 * LANES)
        kind = ir.FunctionType(V, [V, octets, octets])
        name = "llvm.x86.avx512.vpdpbusd.512"
        dot = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(dot, [acc, builder.bitcast(x, octets), builder.bitcast(w, octets)])
    shorts = ir.VectorType(I16, 2 * LANES)
    eight = ir.Constant(shorts, [8] * 2 * LANES)
    x, w = builder.bitcast(x, shorts), builder.bitcast(w, shorts)
    x_even = builder.and_(x, ir.Constant(shorts, [255] * 2 * LANES))
    w_even = builder.ashr(builder.shl(w, eight), eight)
    acc = builder.add(acc, madd(builder, x_even, w_even))
    return builder.add(acc, madd(builder, builder.lshr(x, eight), builder.ashr(w, eight)))


def madd(builder: Any, a: Any, b: Any) -> Any:
    """Sums of two products of int16 each: the form that becomes one multiply-add instruction."""
    wide = ir.VectorType(I32, 2 * LANES)
    product = builder.mul(builder.sext(a, wide), builder.sext(b, wide))
    undefined = ir.Constant(wide, ir.Undefined)
    even = ir.Constant(V, list(range(0, 2 * LANES, 2)))
    odd = ir.Constant(V, list(range(1, 2 * LANES, 2)))
    return builder.add(
        builder.shuffle_vector(product, undefined, even),
        builder.shuffle_vector(product, undefined, odd),
    )


def interleave4(builder: Any, vectors: Any) -> Any:
    """Four vectors of sixteen bytes -> lanes of four bytes, one from each."""
    octets = ir.VectorType(I32, 2 * LANES)
    both = ir.Constant(octets, list(range(2 * LANES)))
    low = builder.shuffle_vector(vectors[0], vectors[1], both)
    high = builder.shuffle_vector(vectors[2], vectors[3], both)
    order = [j * LANES + lane for lane in range(LANES) for j in range(4)]
    mask = ir.Constant(ir.VectorType(I32, 4 * LANES), order)
    return builder.bitcast(builder.shuffle_vector(low, high, mask), V)


def shift_in(builder: Any, lanes: Any, octets: Any) -> Any:
    """Lanes of four bytes without the first of each, and one of sixteen new bytes behind."""
    kind = ir.FunctionType(V, [V, V, V])
    funnel = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fshr.v{LANES}i32")
    return builder.call(funnel, [builder.zext(octets, V), lanes, splat(8)])


def requantize(builder: Any, acc: Any, mult: Any, left: Any, right: Any) -> Any:
    """``multiply_by_quantized_multiplier`` in every lane, rounded twice.

    Args:
        builder: the IR builder.
        acc: lanes of int32.
        mult: lanes of mantissas, 0 or in ``[2**30, 2**31)``.
        left: lanes of exponents where positive, else 0.
        right: lanes of negated exponents where negative, else 0.

    """
    acc = builder.shl(acc, left)
    half = ir.VectorType(I64, LANES // 2)
    a, m = builder.bitcast(acc, half), builder.bitcast(mult, half)
    rounding = ir.Constant(half, [1 << 30] * (LANES // 2))
    thirty_two = ir.Constant(half, [32] * (LANES // 2))

    def even(v: Any) -> Any:
        return builder.ashr(builder.shl(v, thirty_two), thirty_two)

    def odd(v: Any) -> Any:
        return builder.ashr(v, thirty_two)

    evens = builder.add(builder.mul(even(a), even(m)), rounding)
    odds = builder.add(builder.mul(odd(a), odd(m)), rounding)
    evens = builder.bitcast(builder.lshr(evens, ir.Constant(half, [31] * (LANES // 2))), V)
    odds = builder.bitcast(builder.shl(odds, ir.Constant(half, [1] * (LANES // 2))), V)
    blend = ir.Constant(V, [i + LANES * (i % 2) for i in range(LANES)])
    high = builder.shuffle_vector(evens, odds, blend)
    mask = builder.sub(builder.shl(splat(1), right), splat(1))
    threshold = builder.sub(builder.lshr(mask, splat(1)), builder.ashr(high, splat(31)))
    up = builder.icmp_signed(">", builder.and_(high, mask), threshold)
    return builder.add(builder.ashr(high, right), builder.zext(up, V))


def clamp(builder: Any, x: Any, low: Any, high: Any) -> Any:
    """``min(max(x, low), high)`` in every lane."""
    x = builder.select(builder.icmp_signed("<", x, low), low, x)
    return builder.select(builder.icmp_signed(">", x, high), high, x)


def saturate(builder: Any, x: Any) -> Any:
    """The nearest int8 in every lane."""
    return clamp(builder, x, splat(-128), splat(127))


def store_s8(builder: Any, x: Any, address: Any, count: Any) -> None:
    """Store the first ``count`` lanes (an i32, at least 1) as int8; all where it is 16 or more."""
    octets = ir.VectorType(I8, LANES)
    narrow = builder.trunc(x, octets)
    pointer = builder.inttoptr(address, octets.as_pointer())
    with builder.if_else(builder.icmp_signed(">=", count, I32(LANES)), likely=True) as (
        whole,
        part,
    ):
        with whole:
            builder.store(narrow, pointer, align=1)
        with part:
            lanes = ir.Constant(V, list(range(LANES)))
            mask = builder.icmp_signed("<", lanes, broadcast(builder, count))
            bits = ir.VectorType(I1, LANES)
            kind = ir.FunctionType(ir.VoidType(), [octets, octets.as_pointer(), I32, bits])
            name = "llvm.masked.store.v16i8.p0"
            store = cgutils.get_or_insert_function(builder.module, kind, name)
            builder.call(store, [narrow, pointer, I32(1), mask])
