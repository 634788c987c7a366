"""int16 activations: sums that need far more than 32 bits' worth of pairs, inputs far beyond a
table's ends, accumulators of 32 bits, and the rows and lengths of the int8 cases."""

from __future__ import annotations

from itertools import product

import numpy as np

from tests.ops.build import Built
from tests.ops.corners.elementwise import RATIOS as RATIOS_OF_PRODUCTS
from tests.ops.corners.given import LENGTHS, Given, corner, extremes, q_of, spread
from tests.ops.corners.layers import SHAPES, pools
from tests.ops.corners.reducing import REDUCED
from tinyrt.ir import DType
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.topk_v2 import TopkV2Attrs

S16 = DType.INT16
STEP = 1 / 32768
EDGES16 = np.array([-32768, -32767, -16385, -16384, -1, 0, 1, 16383, 16384, 32766, 32767], np.int16)
A, B = (half.reshape(-1) for half in np.meshgrid(EDGES16, EDGES16, indexing="ij"))
RATIOS = (2.0**-8, 0.75 * 2.0**-15, 2.0**-16, 2.0**-24)


def _layers() -> dict[str, Built]:
    """All weights and inputs at their ends: the sums are as large as they can be."""
    made = {}
    for (name, layer), narrow in product(SHAPES.items(), (False, True)):
        channels = layer.w[layer.axis]
        scales = list(np.resize(RATIOS, channels))
        x = np.concatenate([extremes((1, *layer.x[1:]), S16), spread(layer.x, S16, 4099)])
        w = np.maximum(extremes(layer.w), -127)
        held, kind = (20_000, np.int32) if narrow else (2**33, np.int64)
        bias = np.resize(np.array([0, 1, -1, held, -held], kind), channels)
        given = [
            Given(x[: layer.x[0]], 1.0),
            Given(w, scales, 0, True, layer.axis),
            Given(bias, scales, 0, True, 0),
        ]
        made[f"{layer.op}: {name}, int16, {np.dtype(kind)}"] = corner(
            layer.op, layer.attrs, given, q_of(1.0)
        )
        made[f"{layer.op}: {name}, int16, {np.dtype(kind)}, no bias"] = corner(
            layer.op, layer.attrs, given[:2], q_of(1.0)
        )
    return made


def _pairs() -> dict[str, Built]:
    made = {}
    for name, (a, b, y) in {
        "equal": (STEP, STEP, STEP),
        "halves": (STEP, STEP / 2, STEP),
        "one input is lost": (STEP, STEP / 2**15, STEP),
        "a third": (STEP, STEP / 3, STEP),
        "saturated": (STEP, STEP, STEP / 4),
    }.items():
        given = [Given(A, a), Given(B, b)]
        made[f"add: {name}, int16"] = corner("add", AddAttrs(), given, q_of(y))
        made[f"sub: {name}, int16"] = corner("sub", AddAttrs(), given, q_of(y))
        made[f"mul: {name}, int16"] = corner("mul", MulAttrs(), given, q_of(y))
        made[f"mul: {name}, RELU6, int16"] = corner("mul", MulAttrs("RELU6"), given, q_of(y))
        for op in ("equal", "not_equal"):
            made[f"{op}: {name}, int16"] = corner(op, NoAttrs(), given)
    for name, ratio in RATIOS_OF_PRODUCTS.items():
        given = [Given(A, 1.0), Given(B, 1.0)]
        made[f"mul: {name}, int16"] = corner("mul", MulAttrs(), given, q_of(1 / ratio))
    for n in LENGTHS:
        given = [Given(spread((2, n), S16, 4099), STEP), Given(extremes((2, n), S16), STEP)]
        for op in ("maximum", "minimum"):
            made[f"{op}: {n} elements, int16"] = corner(op, NoAttrs(), given, q_of(STEP))
        made[f"less: {n} elements, int16"] = corner("less", NoAttrs(), given)
    for op, other in (("equal", STEP / 3), ("less", STEP)):
        repeating = [Given(spread((3, 1, 5), S16), STEP), Given(spread((1, 4, 1), S16), other)]
        made[f"{op}: both repeat, int16"] = corner(op, NoAttrs(), repeating)
    return made


def _single() -> dict[str, Built]:
    """Curves far beyond their tables' ends, and scales that are powers of two, nearly, or not."""
    made = {}
    nearly = {f"2^-12 x {n}": 2.0**-12 * n for n in (0.9993, 1.0006, 1.0008)}
    for name, scale in nearly.items():
        for op in ("logistic", "tanh"):
            given = [Given(spread((1, 500), S16), scale)]
            made[f"{op}: scale {name}, int16"] = corner(op, NoAttrs(), given, q_of(STEP))
    for scale in (2.0**-20, 2.0**-15, 2.0**-12, 2.0**-11, 1e-3, 0.9, 700.0):
        given = [Given(EDGES16, scale)]
        for op in ("logistic", "tanh"):
            made[f"{op}: scale {scale}, int16"] = corner(op, NoAttrs(), given, q_of(STEP))
        made[f"quantize: to int8 from scale {scale}"] = corner(
            "quantize", QuantizeAttrs(), given, q_of(scale * 256, 7)
        )
        made[f"quantize: from scale {scale}, int16"] = corner(
            "quantize", QuantizeAttrs(S16), given, q_of(scale * 0.7)
        )
        made[f"dequantize: scale {scale}, int16"] = corner("dequantize", NoAttrs(), given)
        made[f"leaky_relu: scale {scale}, int16"] = corner(
            "leaky_relu", LeakyReluAttrs(0.25), given, q_of(scale * 0.7)
        )
        for y_scale in (scale, scale * 0.7):
            made[f"abs: scale {scale} to {y_scale}, int16"] = corner(
                "abs", NoAttrs(), given, q_of(y_scale)
            )
        roots = [Given(np.array([1, 2, 3, 4, 5, 255, 4097, 32766, 32767], np.int16), scale)]
        for y_scale in (1e-4, 1.0):
            made[f"rsqrt: scale {scale} to {y_scale}, int16"] = corner(
                "rsqrt", NoAttrs(), roots, q_of(y_scale)
            )
    # Ratios of scales in float32 would round these otherwise than ratios in float64.
    for op, n, scale, y_scale in (
        ("abs", 24_642, 0.0002861943212337792, 0.0002942362043540925),
        ("rsqrt", 1_803, 0.0001899135677376762, 7.686405297135934e-05),
    ):
        given = [Given(np.array([n, 1], np.int16), scale)]
        made[f"{op}: a long ratio, int16"] = corner(op, NoAttrs(), given, q_of(y_scale))
    special = np.array(
        [np.nan, np.inf, -np.inf, 3e38, -3e38, 0.5, -0.5, 1.5, 32766.5, -32767.5, -0.0], np.float32
    )
    made["quantize: floats beyond the limits, int16"] = corner(
        "quantize", QuantizeAttrs(S16), [Given(special, None)], q_of(1.0)
    )
    ends = np.array([-(2**31), -(2**31) + 1, -40000, -1, 0, 1, 40000, 2**31 - 1], np.int32)
    for target, y_scale in product((DType.INT8, S16), (0.003, 2.0**-12)):
        made[f"quantize: from int32 to {target.short} of scale {y_scale}, int16"] = corner(
            "quantize", QuantizeAttrs(target), [Given(ends, 1e-7)], q_of(y_scale, 0)
        )
    made["quantize: from int8, int16"] = corner(
        "quantize",
        QuantizeAttrs(S16),
        [Given(np.arange(-128, 128).astype(np.int8), 0.5, 127)],
        q_of(1 / 256),
    )
    return made


def _widened() -> dict[str, Built]:
    """int16 of which the least stands for 0, and int32: softmax and quantize write them."""
    made = {}
    every = np.arange(-128, 128).astype(np.int8)
    for scale, n in product((2.0**-12, 1 / 256, 0.05, 1.0, 30.0), (1, 2, 300)):
        rows = np.stack([spread((n,)), extremes((n,)), np.zeros(n, np.int8)])
        made[f"softmax: {n} elements, scale {scale}, int8 to int16"] = corner(
            "softmax", SoftmaxAttrs(1.0, widen=True), [Given(rows, scale, 3)], q_of(2**-16, -32768)
        )
    for dtype, y in product((DType.INT8, S16, DType.INT32), (2.0**-16, 2.0**-15, 0.01)):
        given = [Given(EDGES16, 2.0**-16, -32768)]
        made[f"quantize: shifted int16 to {dtype.short}, scale {y}"] = corner(
            "quantize", QuantizeAttrs(dtype), given, q_of(y)
        )
    for y in (2.0**-20, 0.3, 7.0):
        for name, x in (("int8", Given(every, 0.5, 127)), ("int16", Given(EDGES16, 0.5))):
            made[f"quantize: {name} to int32, scale {y}"] = corner(
                "quantize", QuantizeAttrs(DType.INT32), [x], q_of(y)
            )
    return made


def _rows() -> dict[str, Built]:
    made = {}
    for (name, (shape, axes)), kind in product(REDUCED.items(), (extremes, spread)):
        x = Given(kind(shape, S16), 0.5)
        for op in ("mean", "sum", "reduce_max", "reduce_min"):
            attrs = (MeanAttrs if op == "mean" else ReduceAttrs)(axes, False)
            made[f"{op}: {name}, {kind.__name__}, int16"] = corner(op, attrs, [x], q_of(0.5))
    for scale in (STEP, 2.0**-10, 0.5, 30.0):
        rows = np.stack([np.full(11, -32768), np.full(11, 32767), EDGES16]).astype(np.int16)
        rows[0, 3] = 32767
        made[f"softmax: scale {scale}, int16"] = corner(
            "softmax", SoftmaxAttrs(), [Given(rows, scale)], q_of(STEP)
        )
    for n in (1, 2):
        # Nearly all of the sum is one share, which rounds to more than 1.
        x = Given(np.tile(np.array([32767, -32768], np.int16)[:n], (3, 1)), 2.0**-10)
        made[f"softmax: {n} elements, int16"] = corner("softmax", SoftmaxAttrs(), [x], q_of(STEP))
    for op, n in product(("arg_max", "arg_min"), (1, 2, 17)):
        for dtype in (DType.INT32, DType.INT64):
            x = np.stack([spread((n,), S16, 4099), extremes((n,), S16), np.zeros(n, np.int16)])
            made[f"{op}: {n} elements, {dtype.short}, int16"] = corner(
                op, ArgAttrs(-1, dtype), [Given(x, 0.5)]
            )
    for k in (1, 2, 17):
        x = np.stack([spread((17,), S16, 4099), extremes((17,), S16), np.zeros(17, np.int16)])
        made[f"topk_v2: {k} of 17 elements, int16"] = corner(
            "topk_v2", TopkV2Attrs(k), [Given(x, 0.5)]
        )
    for adj_x, adj_y in product((False, True), (False, True)):
        a, b = ((5, 3) if adj_x else (3, 5)), ((4, 5) if adj_y else (5, 4))
        inputs = [Given(extremes((2, *a), S16), STEP), Given(extremes((2, *b), S16), STEP)]
        made[f"batch_matmul: {adj_x} {adj_y}, int16"] = corner(
            "batch_matmul", BatchMatmulAttrs(adj_x, adj_y), inputs, q_of(STEP * 4)
        )
        inputs[1] = Given(extremes((2, *b)), STEP)
        made[f"batch_matmul: {adj_x} {adj_y}, int16 with int8"] = corner(
            "batch_matmul", BatchMatmulAttrs(adj_x, adj_y), inputs, q_of(STEP / 64)
        )
    return made


def wide() -> dict[str, Built]:
    """All of these."""
    return {**_layers(), **_pairs(), **_single(), **_widened(), **_rows(), **pools(S16)}
