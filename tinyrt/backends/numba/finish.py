"""How sums of products become outputs, in the forms of ``tinyrt.backends.finishes.Finish``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from tinyrt.backends.finishes import QUANT, Finish
from tinyrt.backends.numba.vector import (
    I32,
    I64,
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

LANE_BYTES = 4 * LANES
QUANT_BYTES = QUANT * LANE_BYTES

_HALF = ir.VectorType(I64, LANES // 2)


def constants_of(builder: Any, quant: Any, vector: int) -> list[Any]:
    """First sums and requantisation constants of a vector of channels, from their address."""
    at = [vector * QUANT_BYTES + which * LANE_BYTES for which in range(QUANT)]
    return [load(builder, builder.add(quant, I64(place))) for place in at]


@dataclass(frozen=True, slots=True)
class Finishing:
    """What makes outputs of sums in one form.

    Attributes:
        builder: the IR builder.
        form: which one.
        limits: the output's zero point, its least and its greatest value, in every lane.

    """

    builder: Any
    form: Finish
    limits: Sequence[Any]

    def store(self, acc: Any, constants: Sequence[Any], at: Any, channels: Any) -> None:
        """Requantise a vector of sums; store ``channels`` of it, or all if it has no more."""
        value = _FORMS[self.form](self.builder, acc, constants, self.limits)
        store_s8(self.builder, value, at, self.builder.trunc(channels, I32))


def in_each_form(builder: Any, out: Any, body: Callable[[Finishing], None]) -> None:
    """Write ``body`` once for each form, and code that chooses: ``out`` is an ``Output``."""
    *limits, form = cgutils.unpack_tuple(builder, out)
    lanes = [broadcast(builder, builder.trunc(v, I32)) for v in limits]
    rest = builder.append_basic_block("finished")
    for which in (Finish.RELU, Finish.SIGNED, Finish.CLAMPED):
        with builder.if_then(builder.icmp_signed("==", form, I64(which))):
            body(Finishing(builder, which, lanes))
            builder.branch(rest)
    body(Finishing(builder, Finish.GENERAL, lanes))
    builder.branch(rest)
    builder.position_at_end(rest)


def _upper_halves(builder: Any, acc: Any, constants: Sequence[Any]) -> Any:
    """The upper halves of ``acc * mult + addend`` in each lane."""
    _, mult, _, *addends = constants
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
    return saturate(builder, builder.ashr(_upper_halves(builder, acc, constants), constants[2]))


def _rounded(builder: Any, acc: Any, constants: Sequence[Any]) -> Any:
    sign = builder.ashr(acc, splat(31))
    upper = _upper_halves(builder, builder.shl(acc, splat(1)), constants)
    return builder.ashr(builder.add(upper, sign), constants[2])


def _signed(builder: Any, acc: Any, constants: Sequence[Any], limits: Sequence[Any]) -> Any:
    del limits
    return saturate(builder, _rounded(builder, acc, constants))


def _clamped(builder: Any, acc: Any, constants: Sequence[Any], limits: Sequence[Any]) -> Any:
    return clamp(builder, _rounded(builder, acc, constants), *limits[1:])


def _general(builder: Any, acc: Any, constants: Sequence[Any], limits: Sequence[Any]) -> Any:
    _, mult, right, left, _ = constants
    zero_point, low, high = limits
    scaled = requantize(builder, acc, mult, left, right)
    return clamp(builder, builder.add(scaled, zero_point), low, high)


_FORMS = {
    Finish.GENERAL: _general,
    Finish.CLAMPED: _clamped,
    Finish.SIGNED: _signed,
    Finish.RELU: _relu,
}
