"""Reductions, extrema, running sums, softmax and their like: ties, one element, sums of extremes,
rows that are all but lost beside their greatest element."""

from __future__ import annotations

from itertools import cycle, product

import numpy as np

from tests.ops.build import Built
from tests.ops.corners.given import (
    LENGTHS,
    ZERO_POINTS,
    Given,
    corner,
    extremes,
    q_of,
    spread,
)
from tinyrt.ir import DType
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.l2_normalization import L2NormalizationAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.topk_v2 import TopkV2Attrs

REDUCED = {
    "one element": ((1,), (0,)),
    "a row": ((17,), (0,)),
    "columns": ((2, 9, 5), (1,)),
    "columns of two axes": ((2, 3, 3, 8), (1, 2)),
    "rows": ((2, 3, 7), (2,)),
    "the first axis": ((5, 6), (0,)),
    "axes that are apart": ((3, 2, 5), (0, 2)),
    "an axis of one": ((2, 1, 4), (1,)),
    "more than 2^15 / 128 elements": ((1, 300, 4), (1,)),
}
ROWS = {
    "one element": [[5]],
    "all alike": [[7] * 9],
    "the greatest and nothing else": [[127] + [-128] * 9],
    "all least": [[-128] * 10],
    "all greatest": [[127] * 33],
    "300 alike": [[-3] * 300],
    "the last is the greatest": [[*range(-128, 127, 9), 127]],
    "two greatest": [[127, -128, 127, 0]],
    "every value": [list(range(-128, 128))],
}


def _reduced() -> dict[str, Built]:
    made, zero_points = {}, cycle(ZERO_POINTS)
    for (name, (shape, axes)), keep, kind in product(
        REDUCED.items(), (False, True), (extremes, spread)
    ):
        for op in ("mean", "sum", "reduce_max", "reduce_min"):
            x_zp, same = next(zero_points), op.startswith("reduce")
            x, y = Given(kind(shape), 0.5, x_zp), q_of(0.5, x_zp if same else -x_zp // 2)
            attrs = (MeanAttrs if op == "mean" else ReduceAttrs)(axes, keep)
            made[f"{op}: {name}, keep {keep}, {kind.__name__}"] = corner(op, attrs, [x], y)
    for x_zp, scale in product(ZERO_POINTS, (1 / 128, 1 / 64, 0.5)):
        x = Given(extremes((2, 9)), scale, x_zp)
        made[f"reduce_prod: scale {scale}, zero point {x_zp}"] = corner(
            "reduce_prod", ReduceAttrs((1,), False), [x], q_of(scale, -x_zp // 2)
        )
    return made


def _places() -> dict[str, Built]:
    """Ties: the first one counts; extrema at either end, in vectors and in what is left of them."""
    made = {}
    for op, dtype, n in product(("arg_max", "arg_min"), (DType.INT32, DType.INT64), (*LENGTHS, 70)):
        best, worst = (127, -128) if op == "arg_max" else (-128, 127)
        rows = np.full((5, n), worst, np.int8)
        rows[1:, n - 1] = best
        rows[2:, n // 2] = best
        rows[3:, 0] = best
        rows[4] = spread((n,))
        made[f"{op}: {n} elements, {dtype.short}"] = corner(
            op, ArgAttrs(-1, dtype), [Given(rows, 0.5, 3)]
        )
    for n, all_alike in product(LENGTHS, (False, True)):
        rows = np.full((3, n), -128, np.int8) if all_alike else spread((3, n), step=50)
        for k in {1, n // 2 + 1, n}:
            name = "alike" if all_alike else "spread"
            made[f"topk_v2: {k} of {n} elements, {name}"] = corner(
                "topk_v2", TopkV2Attrs(k), [Given(rows, 0.5, 3)]
            )
    made["arg_max: columns"] = corner("arg_max", ArgAttrs(0), [Given(extremes((6, 5)), 0.5, 3)])
    return made


def _rows() -> dict[str, Built]:
    made = {}
    for (name, row), scale in product(ROWS.items(), (0.01, 0.1, 1.0, 16.0)):
        x = Given(np.array(row, np.int8), scale, -3)
        for beta in (1.0, 8.0):
            made[f"softmax: {name}, scale {scale}, beta {beta}"] = corner(
                "softmax", SoftmaxAttrs(beta), [x], q_of(1 / 256, -128)
            )
        made[f"log_softmax: {name}, scale {scale}"] = corner(
            "log_softmax", NoAttrs(), [x], q_of(16 / 256, 127)
        )
    zeros = {"all zero": [[-3] * 5], "a sum of one": [[-3, -2, -3]], "a sum of two": [[-4, -2]]}
    for (name, row), x_zp in product((ROWS | zeros).items(), (*ZERO_POINTS, -3)):
        x = Given(np.array(row, np.int8), 0.5, x_zp)
        made[f"l2_normalization: {name}, zero point {x_zp}"] = corner(
            "l2_normalization", L2NormalizationAttrs(), [x], q_of(1 / 128, 0)
        )
    widest = Given(np.full((1, 8300), 127, np.int8), 0.5, -128)
    made["l2_normalization: a sum beyond 2^29"] = corner(
        "l2_normalization", L2NormalizationAttrs(), [widest], q_of(1 / 128, 0)
    )
    alike = Given(np.full((1, 3000), 5, np.int8), 0.1, -3)
    made["log_softmax: 3000 alike"] = corner("log_softmax", NoAttrs(), [alike], q_of(1 / 16, 127))
    for n in LENGTHS:
        made[f"softmax: {n} elements"] = corner(
            "softmax", SoftmaxAttrs(), [Given(spread((3, n)), 0.05, 3)], q_of(1 / 256, -128)
        )
    long = np.full((1, 2000), -128, np.int8)
    long[0, 1] = 127
    for scale in (1e-4, 0.05):
        made[f"softmax: 2000 elements, scale {scale}"] = corner(
            "softmax", SoftmaxAttrs(), [Given(long, scale, 3)], q_of(1 / 256, -128)
        )
    return made


def _running() -> dict[str, Built]:
    return {
        f"cumsum: {shape} along {axis}, exclusive {exclusive}, reverse {reverse}": corner(
            "cumsum",
            CumsumAttrs(axis, exclusive, reverse),
            [Given(extremes(shape), 0.5, -128)],
            q_of(0.75, 127),
        )
        for (shape, axis), exclusive, reverse in product(
            (((1,), 0), ((9,), 0), ((2, 3, 4), 1), ((2, 17), -1)), (False, True), (False, True)
        )
    }


def _multiplied() -> dict[str, Built]:
    """Products of extremes, both ways round, with factors from -31 to above one."""
    made = {}
    for adj_x, adj_y, ratio in product(
        (False, True), (False, True), (2.0**-31 * 0.75, 2.0**-16, 2.0**-7, 0.5, 3.0)
    ):
        a, b = ((5, 3) if adj_x else (3, 5)), ((4, 5) if adj_y else (5, 4))
        inputs = [Given(extremes((2, *a)), 1.0, -128), Given(extremes((2, *b)), ratio, 127)]
        made[f"batch_matmul: {adj_x} {adj_y}, factor {ratio}"] = corner(
            "batch_matmul", BatchMatmulAttrs(adj_x, adj_y), inputs, q_of(1.0, -3)
        )
    # Even and odd numbers of each, and sums beyond a quarter and half of what an accumulator holds.
    for rows, columns, inner in ((4, 5, 8), (1, 3, 7), (2, 1, 4), (2, 2, 8256), (2, 2, 26_000)):
        inputs = [
            Given(extremes((rows, inner)), 1.0, 127),
            Given(extremes((columns, inner)), 2.0**-22, 127),
        ]
        made[f"batch_matmul: {rows} x {inner} x {columns}"] = corner(
            "batch_matmul", BatchMatmulAttrs(adj_y=True), inputs, q_of(1.0, -3)
        )
    # Twice a sum is all that 32 bits hold; of five, a sample has one.
    least = np.full((2, 16_512), -128, np.int8)
    inputs = [Given(least, 1.0, 127), Given(least, 2.0**-21 * 0.9999, 127)]
    for y_zp in (0, 1, 32, 99, 127):
        made[f"batch_matmul: the least alone, zero point {y_zp}"] = corner(
            "batch_matmul", BatchMatmulAttrs(adj_y=True), inputs, q_of(1.0, y_zp)
        )
    # The same of columns that are neighbours: fours of both, and what is left of them.
    for rows, columns, inner in ((3, 8, 8), (2, 7, 9), (1, 4, 3), (2, 5, 8256), (1, 4, 26_000)):
        inputs = [
            Given(extremes((rows, inner)), 1.0, 127),
            Given(extremes((inner, columns)), 2.0**-22, -128),
        ]
        made[f"batch_matmul: {rows} x {inner} by rows x {columns}"] = corner(
            "batch_matmul", BatchMatmulAttrs(), inputs, q_of(1.0, -3)
        )
    return made


def reducing() -> dict[str, Built]:
    """All of these."""
    parts = (_reduced, _places, _rows, _running, _multiplied)
    return {name: built for part in parts for name, built in part().items()}
