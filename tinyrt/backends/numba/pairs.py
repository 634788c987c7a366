"""Register tiles of sums of products of int16 activations with int8 weights, taken in pairs.

Weights are stored as int16: for two taps at a time, both of one channel side by side, sixteen
channels to a vector. Sums of a run are exact in int32 as long as it has no more than ``MAX_PAIRS``
pairs; runs add up in int64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numpy.typing import NDArray

from tinyrt.backends.numba.abi import Intrinsic, intrinsic
from tinyrt.backends.numba.vector import (
    I16,
    I32,
    I64,
    LANES,
    WIDE,
    V,
    broadcast,
    load,
    madd,
)

MAX_PAIRS = 255
"""Pairs of products, each of at most 2**22, that an int32 sum holds."""

VECTOR_BYTES = 4 * LANES
"""Of the weights of two taps for one vector of channels."""

SUM_BYTES = 8 * LANES

TILE_PIXELS, TILE_VECTORS = (6, 2) if WIDE else (2, 1)
"""A block of sums that stays in registers."""


def pair_tile(pixels: int, vectors: int) -> Intrinsic:
    """``tile(x, offsets, start, pairs, w, w_bytes, sums)``.

    For each pixel ``i`` and channel ``c`` of ``vectors`` vectors::

        sums[i][c] += sum(x[offsets[i] + start + k] * w[c][k] for k in range(2 * pairs))

    ``x``, ``offsets`` (int64), ``w`` and ``sums`` (int64) are addresses, offsets and ``start``
    elements; ``w_bytes`` lie between the weights of two vectors.
    """

    @intrinsic
    def tile(
        typingctx: Any,
        x: Any,
        offsets: Any,
        start: Any,
        pairs: Any,
        w: Any,
        w_bytes: Any,
        sums: Any,
    ) -> Any:
        del typingctx, x, offsets, start, pairs, w, w_bytes, sums

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            del signature
            x, offsets, start, pairs, w, w_bytes, sums = args
            acc = [
                [
                    cgutils.alloca_once_value(builder, ir.Constant(V, [0] * LANES))
                    for _ in range(vectors)
                ]
                for _ in range(pixels)
            ]
            for row in acc:
                for at in row:
                    builder.store(ir.Constant(V, [0] * LANES), at)
            shorts = ir.VectorType(I16, 2 * LANES)
            places = []
            for i in range(pixels):
                offset = load(builder, builder.add(offsets, I64(8 * i)), I64)
                element = builder.add(offset, start)
                places.append(builder.add(x, builder.shl(element, I64(1))))
            streams = [builder.add(w, builder.mul(w_bytes, I64(v))) for v in range(vectors)]
            with cgutils.for_range(builder, pairs) as loop:
                ahead = builder.mul(loop.index, I64(VECTOR_BYTES))
                weights = [load(builder, builder.add(s, ahead), shorts) for s in streams]
                step = builder.mul(loop.index, I64(4))
                for i, place in enumerate(places):
                    two = load(builder, builder.add(place, step), I32)
                    spread = builder.bitcast(broadcast(builder, two), shorts)
                    for v, vector in enumerate(weights):
                        total = builder.load(acc[i][v])
                        total = builder.add(total, madd(builder, spread, vector))
                        builder.store(total, acc[i][v])
            wide = ir.VectorType(I64, LANES)
            for i, row in enumerate(acc):
                for v, at in enumerate(row):
                    place = builder.add(sums, I64((i * vectors + v) * SUM_BYTES))
                    more = builder.sext(builder.load(at), wide)
                    total = builder.add(load(builder, place, wide), more)
                    pointer = builder.inttoptr(place, wide.as_pointer())
                    builder.store(total, pointer, align=1)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 7), codegen

    return tile


def in_pairs(weights: NDArray[np.int8]) -> NDArray[np.int16]:
    """Weights (c_out, steps, length) as tiles read them: (vector, step, pair, channel, tap)."""
    channels, steps, length = weights.shape
    padded = np.pad(weights, ((0, -channels % LANES), (0, 0), (0, length % 2))).astype(np.int16)
    blocks = padded.reshape(-1, LANES, steps, (length + 1) // 2, 2)
    return np.ascontiguousarray(blocks.transpose(0, 2, 3, 1, 4))
