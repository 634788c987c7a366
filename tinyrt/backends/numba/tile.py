"""Register tiles: sums of products for several outputs at once, requantised and stored.

Both tiles read unsigned bytes (int8 activations with the sign bit flipped, which adds 128; the bias
makes up for it) through tables of offsets, so that one loop serves every window, stride and
dilation. Channels come in vectors of ``LANES``; a vector's weights and ``QUANT_BYTES`` of
requantisation constants (bias, mantissas, left shifts, right shifts) are contiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types

from tinyrt.backends.lanes import TileShape
from tinyrt.backends.numba.abi import Intrinsic, intrinsic
from tinyrt.backends.numba.finish import LANE_BYTES, Finishing, constants_of, in_each_form
from tinyrt.backends.numba.vector import (
    I8,
    I32,
    I64,
    LANES,
    V,
    add_pairs,
    broadcast,
    broadcast8,
    dot4,
    interleave4,
    load,
    splat,
)


class Tile:
    """Accumulators of both tiles: they start at the bias and are stored as int8.

    Args:
        builder: the IR builder.
        pixels: outputs side by side.
        vectors: vectors of channels.
        quant: address of the first vector's constants.

    """

    def __init__(self, builder: Any, pixels: int, vectors: int, quant: Any) -> None:
        self.builder = builder
        self.quant = quant
        self.acc = [
            [cgutils.alloca_once(builder, V) for _ in range(vectors)] for _ in range(pixels)
        ]
        for v in range(vectors):
            bias = constants_of(builder, quant, v)[0]
            for row in self.acc:
                builder.store(bias, row[v])

    def add(self, pixel: int, vector: int, x: Any, w: Any) -> None:
        """Accumulate four products per lane."""
        at = self.acc[pixel][vector]
        self.builder.store(dot4(self.builder, self.builder.load(at), x, w), at)

    def store(self, y: Any, stride: Any, channels: Any, out: Any) -> None:
        """Requantise and store: pixel ``i`` goes to ``y + i * stride``, ``channels`` of it.

        Only the last vector may have fewer channels than lanes.
        """
        builder = self.builder

        def all_of(finish: Finishing) -> None:
            vectors = len(self.acc[0])
            for v in range(vectors):
                constants = constants_of(builder, self.quant, v)
                is_last = v == vectors - 1
                left = builder.sub(channels, I64(v * LANES)) if is_last else I64(LANES)
                for i, row in enumerate(self.acc):
                    at = builder.add(y, builder.mul(stride, I64(i)))
                    at = builder.add(at, I64(v * LANES))
                    finish.store(builder.load(row[v]), constants, at, left)

        in_each_form(builder, out, all_of)


def offset(builder: Any, table: Any, index: Any) -> Any:
    """Entry ``index`` of a table of int32 offsets, as i64."""
    at = builder.add(table, builder.mul(index, I64(4)))
    return builder.sext(load(builder, at, I32), I64)


def product_tile(tiles: Sequence[TileShape]) -> Intrinsic:
    """``tile(which, x, offsets, steps, count, w, quant, y, stride, channels, out)``.

    For each pixel ``i`` and channel ``c`` of ``tiles[which]``::

        sum(x[offsets[i] + steps[k] + j] * w[k][c][j] for k in range(count) for j in range(4))

    ``x``, ``offsets``, ``steps``, ``w``, ``quant`` and ``y`` are addresses; ``stride`` bytes lie
    between two pixels of ``y``.
    """

    @intrinsic
    def tile(
        typingctx: Any,
        which: Any,
        x: Any,
        offsets: Any,
        steps: Any,
        count: Any,
        w: Any,
        quant: Any,
        y: Any,
        stride: Any,
        channels: Any,
        out: Any,
    ) -> Any:
        del typingctx, which, x, offsets, steps, count, w, quant, y, stride, channels

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            del signature
            which, x, offsets, steps, count, w, quant, y, stride, channels, out = args
            for index, shape in enumerate(tiles):
                with builder.if_then(builder.icmp_signed("==", which, I64(index))):
                    products = _products if shape.step == 4 else _products_of_eights
                    operands = Operands(x, offsets, steps, count, w, quant)
                    sums = products(builder, shape, operands)
                    sums.store(y, stride, channels, out)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 10, out), codegen

    return tile


class Operands(NamedTuple):
    """Addresses of what ``product_tile`` reads, and its number of steps."""

    x: Any
    offsets: Any
    steps: Any
    count: Any
    w: Any
    quant: Any


def _products(builder: Any, shape: TileShape, operands: Operands) -> Tile:
    """The sums of one tile."""
    pixels, vectors, _ = shape
    x, offsets, steps, count, w, quant = operands
    sums = Tile(builder, pixels, vectors, quant)
    at = [builder.add(x, offset(builder, offsets, I64(i))) for i in range(pixels)]
    with cgutils.for_range(builder, count) as loop:
        step = offset(builder, steps, loop.index)
        row = builder.add(w, builder.mul(loop.index, I64(vectors * LANE_BYTES)))
        weights = [load(builder, builder.add(row, I64(v * LANE_BYTES))) for v in range(vectors)]
        for i, pixel in enumerate(at):
            spread = broadcast(builder, load(builder, builder.add(pixel, step), I32))
            for v, vector in enumerate(weights):
                sums.add(i, v, spread, vector)
    return sums


def _products_of_eights(builder: Any, shape: TileShape, operands: Operands) -> Tile:
    """The sums of a tile of one vector; a register has two sums of each of eight channels."""
    x, offsets, steps, count, w, quant = operands
    sums = Tile(builder, shape.pixels, 1, quant)
    halves = [[cgutils.alloca_once(builder, V) for _ in range(2)] for _ in sums.acc]
    at = [builder.add(x, offset(builder, offsets, I64(i))) for i in range(shape.pixels)]
    for pair in halves:
        for place in pair:
            builder.store(splat(0), place)
    with cgutils.for_range(builder, count) as loop:
        step = offset(builder, steps, loop.index)
        row = builder.add(w, builder.mul(loop.index, I64(2 * LANE_BYTES)))
        weights = [load(builder, builder.add(row, I64(h * LANE_BYTES))) for h in range(2)]
        for pixel, pair in zip(at, halves, strict=True):
            spread = broadcast8(builder, load(builder, builder.add(pixel, step), I64))
            for place, weight in zip(pair, weights, strict=True):
                builder.store(dot4(builder, builder.load(place), spread, weight), place)
    for (place,), pair in zip(sums.acc, halves, strict=True):
        total = add_pairs(builder, *map(builder.load, pair))
        builder.store(builder.add(builder.load(place), total), place)
    return sums


def row_tile(vectors: int) -> Intrinsic:
    """``tile(x, count, w, quant, y, channels, out)``: one row of int8 as they come.

    For each channel ``c``::

        sum((x[4 * k + j] + 128) * w[k][c][j] for k in range(count) for j in range(4))
    """

    @intrinsic
    def tile(
        typingctx: Any, x: Any, count: Any, w: Any, quant: Any, y: Any, channels: Any, out: Any
    ) -> Any:
        del typingctx, x, count, w, quant, y, channels

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            del signature
            x, count, w, quant, y, channels, out = args
            sums = Tile(builder, 1, vectors, quant)
            with cgutils.for_range(builder, count) as loop:
                four = load(builder, builder.add(x, builder.mul(loop.index, I64(4))), I32)
                spread = broadcast(builder, builder.xor(four, I32(0x80808080)))
                row = builder.add(w, builder.mul(loop.index, I64(vectors * LANE_BYTES)))
                for v in range(vectors):
                    sums.add(0, v, spread, load(builder, builder.add(row, I64(v * LANE_BYTES))))
            sums.store(y, I64(0), channels, out)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6, out), codegen

    return tile


def depthwise_tile(pixels: int) -> Intrinsic:
    """``tile(x, offsets, taps, count, w, quant, y, stride, channels, out)``.

    For each pixel ``i`` and each of sixteen channels ``c``::

        sum(x[offsets[i] + taps[k] + c] * w[k // 4][c][k % 4] for k in range(4 * count))
    """

    @intrinsic
    def tile(
        typingctx: Any,
        x: Any,
        offsets: Any,
        taps: Any,
        count: Any,
        w: Any,
        quant: Any,
        y: Any,
        stride: Any,
        channels: Any,
        out: Any,
    ) -> Any:
        del typingctx, x, offsets, taps, count, w, quant, y, stride, channels

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            del signature
            x, offsets, taps, count, w, quant, y, stride, channels, out = args
            octets = ir.VectorType(I8, LANES)
            sums = Tile(builder, pixels, 1, quant)
            at = [builder.add(x, offset(builder, offsets, I64(i))) for i in range(pixels)]
            with cgutils.for_range(builder, count) as loop:
                first = builder.mul(loop.index, I64(4))
                four = [offset(builder, taps, builder.add(first, I64(j))) for j in range(4)]
                weights = load(builder, builder.add(w, builder.mul(loop.index, I64(LANE_BYTES))))
                for i, pixel in enumerate(at):
                    rows = [load(builder, builder.add(pixel, tap), octets) for tap in four]
                    sums.add(i, 0, interleave4(builder, rows), weights)
            sums.store(y, stride, channels, out)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 9, out), codegen

    return tile
