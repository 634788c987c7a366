"""A register tile: float sums of products for several rows and several vectors of columns at once.

Compilers do not keep arrays of accumulators in registers and do not block loops for registers. So
the tile is written in LLVM's vector types and fully unrolled, except for the loop over products.
Tables of byte offsets locate the rows, so one tile serves a convolution with any window and both of
its derivatives.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types

from tinyrt.floatmath.compiled import FEATURES

Intrinsic = Callable[..., Any]

I1, I32, I64 = (ir.IntType(bits) for bits in (1, 32, 64))

WIDE = "+avx512f" in FEATURES
"""Whether the CPU has AVX-512: 32 registers of 64 bytes."""
VECTOR_BYTES = 64 if WIDE else 32
ROWS = (8, 6, 8, 6) if WIDE else (8, 6)
"""Rows of a tile of one vector, two vectors, and so on, so that all sums fit into registers.

Measured with AVX-512, operands in the cache: of two vectors, 6 rows do 258 billion operations a
second, 10 rows 257, 8 rows 206, as LLVM then moves sums between registers.
"""
ROWS_PER_CHANNEL = 9
"""Rows of a per-channel tile, which is one vector wide: as many as a 3 x 3 kernel has taps."""
MAX_ROWS = max(*ROWS, ROWS_PER_CHANNEL)

SEGMENT = 64
"""Products that are added one after the other; a longer sum is the sum of such segments."""


class _Vectors:
    """Loads and stores of adjacent vectors.

    Args:
        builder: the IR builder.
        element: LLVM's type of an element.
        vectors: number of vectors.
        channels: number of columns read and written, i64; None for all.

    """

    def __init__(self, builder: Any, element: Any, vectors: int, channels: Any = None) -> None:
        self.builder, self.element, self.vectors = builder, element, vectors
        self.item = 4 if isinstance(element, ir.FloatType) else 8
        self.lanes = VECTOR_BYTES // self.item
        self.kind = ir.VectorType(element, self.lanes)
        self._bits = ir.VectorType(I1, self.lanes)
        self._masks = [self._first(channels, v) for v in range(vectors if channels else 0)]

    def _first(self, channels: Any, vector: int) -> Any:
        """Mask of the lanes of a vector that belong to the first ``channels`` columns."""
        places = ir.VectorType(I32, self.lanes)
        begin = vector * self.lanes
        columns = ir.Constant(places, list(range(begin, begin + self.lanes)))
        count = self._splat(self.builder.trunc(channels, I32), places)
        return self.builder.icmp_signed("<", columns, count)

    def _splat(self, scalar: Any, kind: Any) -> Any:
        none = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(none, scalar, I32(0))
        everywhere = ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, none, everywhere)

    def spread(self, address: Any) -> Any:
        """A vector with the element at ``address`` in every lane."""
        pointer = self.builder.inttoptr(address, self.element.as_pointer())
        return self._splat(self.builder.load(pointer), self.kind)

    def load(self, address: Any) -> list[Any]:
        """The vectors from ``address`` on; columns beyond ``channels`` are 0."""
        pointers = self._pointers(address)
        if not self._masks:
            return [self.builder.load(pointer, align=self.item) for pointer in pointers]
        zeros = ir.Constant(self.kind, [0.0] * self.lanes)
        arguments = [self.kind.as_pointer(), I32, self._bits, self.kind]
        function = self._masked("load", ir.FunctionType(self.kind, arguments))
        return [
            self.builder.call(function, [pointer, I32(self.item), mask, zeros])
            for pointer, mask in zip(pointers, self._masks, strict=True)
        ]

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """``a * b + c``, rounded once."""
        name = f"llvm.fma.v{self.lanes}f{8 * self.item}"
        kind = ir.FunctionType(self.kind, [self.kind] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, [a, b, c])

    def store(self, values: list[Any], address: Any) -> None:
        """Write the vectors from ``address`` on."""
        pointers = self._pointers(address)
        if not self._masks:
            for value, pointer in zip(values, pointers, strict=True):
                self.builder.store(value, pointer, align=self.item)
            return
        arguments = [self.kind, self.kind.as_pointer(), I32, self._bits]
        function = self._masked("store", ir.FunctionType(ir.VoidType(), arguments))
        for value, pointer, mask in zip(values, pointers, self._masks, strict=True):
            self.builder.call(function, [value, pointer, I32(self.item), mask])

    def _pointers(self, address: Any) -> list[Any]:
        at = [self.builder.add(address, I64(v * VECTOR_BYTES)) for v in range(self.vectors)]
        return [self.builder.inttoptr(a, self.kind.as_pointer()) for a in at]

    def _masked(self, which: str, kind: Any) -> Any:
        name = f"llvm.masked.{which}.v{self.lanes}f{8 * self.item}.p0"
        return cgutils.get_or_insert_function(self.builder.module, kind, name)


def product_tile(vectors: int, per_channel: bool = False) -> Intrinsic:
    """``tile(like, x, rows, steps, count, w, w_bytes, start, starts, y, places, channels)``.

    For each row ``i`` of the tile and each column ``c``::

        y[places[i]][c] = start[starts[i]][c] + sum(
            x[rows[i] + steps[k]] * w[k * w_bytes][c] for k in range(count)
        )

    Elements have the type of the array ``like``. ``count``, ``w_bytes`` and ``channels`` are
    numbers; all other arguments are addresses. ``rows``, ``steps``, ``starts`` and ``places`` are
    int64 tables of byte offsets. Columns are contiguous. A sum runs in the order of ``k``, in
    segments of ``SEGMENT`` products that are added up, so that long sums lose few bits; the start
    value belongs to the first one. On every CPU, products are added without being rounded first
    (FMA). A CPU without an FMA instruction calls the C library instead: slowly, with the same bits.

    Args:
        vectors: adjacent vectors of the tile; ``channels`` of their columns are read and written.
        per_channel: whether column ``c`` reads ``x[rows[i] + steps[k]][c]`` instead. Then the tile
            has ``ROWS_PER_CHANNEL`` rows, else ``ROWS[vectors - 1]``.

    """
    height = ROWS_PER_CHANNEL if per_channel else ROWS[vectors - 1]

    def typing(
        typingctx: Any,
        like: Any,
        x: Any,
        rows: Any,
        steps: Any,
        count: Any,
        w: Any,
        w_bytes: Any,
        start: Any,
        starts: Any,
        y: Any,
        places: Any,
        channels: Any,
    ) -> Any:
        del typingctx, x, rows, steps, count, w, w_bytes, start, starts, y, places, channels

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            del signature
            channels = args[-1]
            element = context.get_value_type(like.dtype)
            whole = _Vectors(builder, element, vectors)
            fits = builder.icmp_signed(">=", channels, I64(vectors * whole.lanes))
            with builder.if_else(fits, likely=True) as (then, otherwise):
                with then:
                    _sum_up(whole, height, per_channel, args[1:-1])
                with otherwise:
                    some = _Vectors(builder, element, vectors, channels)
                    _sum_up(some, height, per_channel, args[1:-1])
            return context.get_dummy_value()

        return types.void(like, *[types.int64] * 11), codegen

    tile: Intrinsic = extending.intrinsic(typing)
    return tile


def _sum_up(columns: _Vectors, height: int, per_channel: bool, args: Any) -> None:
    """Emit the tile's code; ``args`` are the arguments from ``x`` to ``places``."""
    builder, vectors = columns.builder, columns.vectors
    x, rows, steps, count, w, w_bytes, start, starts, y, places = args

    def entry(table: Any, index: Any) -> Any:
        at = builder.add(table, builder.mul(index, I64(8)))
        return builder.load(builder.inttoptr(at, I64.as_pointer()))

    at = [builder.add(x, entry(rows, I64(i))) for i in range(height)]
    sums, totals = (
        [
            [cgutils.alloca_once(builder, columns.kind) for _ in range(vectors)]
            for _ in range(height)
        ]
        for _ in range(2)
    )
    pairs = [*zip(itertools.chain(*sums), itertools.chain(*totals), strict=True)]
    for i, row_sums in enumerate(sums):
        begun = columns.load(builder.add(start, entry(starts, I64(i))))
        for value, place in zip(begun, row_sums, strict=True):
            builder.store(value, place)
    is_long = builder.icmp_signed(">", count, I64(SEGMENT))
    nothing = ir.Constant(columns.kind, [-0.0] * columns.lanes)  # leaves zeros their sign
    with builder.if_then(is_long):
        for _, total in pairs:
            builder.store(nothing, total)
    with cgutils.for_range_slice(builder, I64(0), count, I64(SEGMENT)) as (first, _):
        rest = builder.sub(count, first)
        goes_on = builder.icmp_signed(">", rest, I64(SEGMENT))
        last = builder.select(goes_on, builder.add(first, I64(SEGMENT)), count)
        with cgutils.for_range(builder, last, first) as loop:
            step = entry(steps, loop.index)
            factors = columns.load(builder.add(w, builder.mul(w_bytes, loop.index)))
            for row, row_sums in zip(at, sums, strict=True):
                here = builder.add(row, step)
                read = columns.load(here) if per_channel else [columns.spread(here)] * vectors
                for value, factor, place in zip(read, factors, row_sums, strict=True):
                    builder.store(columns.fma(value, factor, builder.load(place)), place)
        with builder.if_then(goes_on):
            for place, total in pairs:
                builder.store(builder.fadd(builder.load(total), builder.load(place)), total)
                builder.store(nothing, place)
    with builder.if_then(is_long):
        for place, total in pairs:
            builder.store(builder.fadd(builder.load(total), builder.load(place)), place)
    for i, row_sums in enumerate(sums):
        ends = [builder.load(place) for place in row_sums]
        columns.store(ends, builder.add(y, entry(places, I64(i))))
