"""A line of a depthwise convolution's outputs: neighbours share the columns of their windows.

A column is four input rows of sixteen channels, interleaved so that a lane holds one channel's four
bytes. Where windows are three rows high and move by one row, the four rows serve two lines of
outputs.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from tinyrt.backends.lines import COLUMNS, ROWS
from tinyrt.backends.numba.abi import Intrinsic, intrinsic
from tinyrt.backends.numba.finish import LANE_BYTES, Finishing, constants_of, in_each_form
from tinyrt.backends.numba.tile import offset
from tinyrt.backends.numba.vector import I8, I64, LANES, V, dot4, interleave4, load, shift_in


def depthwise_line(stride: int, together: int) -> Intrinsic:
    """``line(x, rows, column, w, quant, y, y_line, y_step, count, channels, out)``.

    For each output ``i``, line ``j`` and each of sixteen channels ``c``::

        sum(x[rows[r] + (i * stride + k) * column + c] * w[k][j][c][r] for k in range(COLUMNS)
            for r in range(ROWS))

    ``column`` bytes lie between two columns; output ``i`` of line ``j`` goes to
    ``y + i * y_step + j * y_line``.
    """

    @intrinsic
    def line(
        typingctx: Any,
        x: Any,
        rows: Any,
        column: Any,
        w: Any,
        quant: Any,
        y: Any,
        y_line: Any,
        y_step: Any,
        count: Any,
        channels: Any,
        out: Any,
    ) -> Any:
        del typingctx, x, rows, column, w, quant, y, y_line, y_step, count, channels

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            del signature
            x, rows, column, w, quant, y, y_line, y_step, count, channels, out = args
            tops = [builder.add(x, offset(builder, rows, I64(r))) for r in range(ROWS)]
            weights = [
                [
                    load(builder, builder.add(w, I64((k * together + j) * LANE_BYTES)))
                    for j in range(together)
                ]
                for k in range(COLUMNS)
            ]

            def column_at(index: Any) -> Any:
                distance = builder.mul(index, column)
                octets = ir.VectorType(I8, LANES)
                four = [load(builder, builder.add(top, distance), octets) for top in tops]
                return interleave4(builder, four)

            def outputs(finish: Finishing) -> None:
                constants = constants_of(builder, quant, 0)
                kept = [cgutils.alloca_once(builder, V) for _ in range(COLUMNS - stride)]
                for k, place in enumerate(kept):
                    builder.store(column_at(I64(k)), place)
                with cgutils.for_range(builder, count) as loop:
                    first = builder.mul(loop.index, I64(stride))
                    fresh = [builder.add(first, I64(k)) for k in range(COLUMNS - stride, COLUMNS)]
                    columns = [builder.load(place) for place in kept] + [*map(column_at, fresh)]
                    for j in range(together):
                        acc = constants[0]
                        for k in range(COLUMNS):
                            acc = dot4(builder, acc, columns[k], weights[k][j])
                        at = builder.add(y, builder.mul(loop.index, y_step))
                        at = builder.add(at, builder.mul(y_line, I64(j)))
                        finish.store(acc, constants, at, channels)
                    for place, value in zip(kept, columns[stride:], strict=True):
                        builder.store(value, place)

            in_each_form(builder, out, outputs)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 10, out), codegen

    return line


def depthwise_strip(fours: int) -> Intrinsic:
    """``strip(x, element, w, quant, y, y_step, count, channels, out)``.

    For each output ``i`` and each of sixteen channels ``c``::

        sum(x[(i + k) * element + c] * w[k // ROWS][c][k % ROWS] for k in range(ROWS * fours))

    ``element`` bytes lie between two elements of ``x``, ``y_step`` between two outputs. As
    many elements as a four has are read behind the last window.
    """

    @intrinsic
    def strip(
        typingctx: Any,
        x: Any,
        element: Any,
        w: Any,
        quant: Any,
        y: Any,
        y_step: Any,
        count: Any,
        channels: Any,
        out: Any,
    ) -> Any:
        del typingctx, x, element, w, quant, y, y_step, count, channels

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            del signature
            x, element, w, quant, y, y_step, count, channels, out = args
            weights = [load(builder, builder.add(w, I64(f * LANE_BYTES))) for f in range(fours)]
            octets = ir.VectorType(I8, LANES)

            def element_at(index: Any) -> Any:
                return load(builder, builder.add(x, builder.mul(index, element)), octets)

            def outputs(finish: Finishing) -> None:
                constants = constants_of(builder, quant, 0)
                taps = [cgutils.alloca_once(builder, V) for _ in range(fours)]
                for f, place in enumerate(taps):
                    four = [element_at(I64(ROWS * f + k)) for k in range(ROWS)]
                    builder.store(interleave4(builder, four), place)
                with cgutils.for_range(builder, count) as loop:
                    acc = constants[0]
                    fresh = builder.add(loop.index, I64(ROWS))
                    for f, (place, four) in enumerate(zip(taps, weights, strict=True)):
                        columns = builder.load(place)
                        acc = dot4(builder, acc, columns, four)
                        element = element_at(builder.add(fresh, I64(ROWS * f)))
                        builder.store(shift_in(builder, columns, element), place)
                    at = builder.add(y, builder.mul(loop.index, y_step))
                    finish.store(acc, constants, at, channels)

            in_each_form(builder, out, outputs)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 8, out), codegen

    return strip
