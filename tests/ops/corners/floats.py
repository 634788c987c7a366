"""Floats that are large, tiny, signed zeros, infinite or not a number, wherever an op defines what
comes of them; and conversions from and to other types at their limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from tests.ops.build import Built
from tests.ops.corners.detecting import detecting
from tests.ops.corners.given import LENGTHS, Given, corner, plain
from tests.ops.corners.signals import signals
from tinyrt.ir import DType
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.cast import CASTABLE, CastAttrs
from tinyrt.ops.comparison import ACCEPTED
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.l2_normalization import L2NormalizationAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.topk_v2 import TopkV2Attrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs

NAN, INF = np.nan, np.inf
FINITE = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 6.0, 6.5, 1e-38, -1e-38, 1e30, -1e30]
SPECIAL = np.array([*FINITE, INF, -INF, NAN], np.float32)

DEFINED = (
    *("abs", "ceil", "elu", "exp", "floor", "logistic", "neg", "relu", "relu6", "relu_0_to_1"),
    *("relu_n1_to_1", "round", "sign", "sqrt", "square", "tanh"),
)
"""Ops of one float that define what comes of every float."""

LIMITS = {
    DType.FLOAT32: np.array(
        [
            *(*FINITE, 2.0**31, -(2.0**31), 2147483520.0, 2.0**63, -(2.0**63), 1.99, -1.99),
            *(127.9, 255.9, 256.0, -0.9),
        ],
        np.float32,
    ),
    DType.INT32: np.array([0, 1, -1, 2**31 - 1, -(2**31), 2**24 + 1], np.int32),
    DType.INT64: np.array([0, 1, -1, 2**31, 2**32 + 5, -(2**31) - 1, 2**63 - 1], np.int64),
    DType.INT8: np.array([0, 1, -1, 127, -128], np.int8),
    DType.INT16: np.array([0, 1, -1, 2**15 - 1, -(2**15), 257], np.int16),
    DType.UINT32: np.array([0, 1, 2**31, 2**32 - 1, 2**24 + 1], np.uint32),
    DType.BOOL: np.array([False, True, True], np.bool_),
    DType.UINT8: np.array([0, 1, 127, 128, 255], np.uint8),
}


def _elements() -> dict[str, Built]:
    made = {}
    for op in DEFINED:
        made[f"{op}: special floats"] = corner(op, NoAttrs(), [plain(SPECIAL)])
    a, b = (half.reshape(-1) for half in np.meshgrid(SPECIAL, SPECIAL, indexing="ij"))
    for op, attrs in {
        **dict.fromkeys((*ACCEPTED, "maximum", "minimum", "squared_difference"), NoAttrs()),
        **dict.fromkeys(("add", "sub"), AddAttrs("NONE")),
        "mul": MulAttrs("NONE"),
        "div": DivAttrs("NONE"),
        "prelu": NoAttrs(),
    }.items():
        if op == "prelu":
            x, slopes = a.reshape(-1, SPECIAL.size), np.array(b[: SPECIAL.size])
            slopes = np.where(np.isfinite(slopes), slopes, np.float32(2))
            given = [plain(x), plain(slopes)]
        else:
            given = [plain(a), plain(b)]
        made[f"{op}: all pairs of special floats"] = corner(op, attrs, given)
    for op, dtype in product(ACCEPTED, (np.int32, np.int64)):
        ends = np.array([np.iinfo(dtype).min, -1, 0, 1, np.iinfo(dtype).max], dtype)
        a_ends, b_ends = (h.reshape(-1) for h in np.meshgrid(ends, ends, indexing="ij"))
        made[f"{op}: ends of {np.dtype(dtype)}"] = corner(
            op, NoAttrs(), [plain(a_ends, dtype), plain(b_ends, dtype)]
        )
        made[f"{op}: both repeat, {np.dtype(dtype)}"] = corner(
            op, NoAttrs(), [plain([[[0], [5]]], dtype), plain([[[0, 4, 5]], [[6, 5, 0]]], dtype)]
        )
    for op in ACCEPTED:
        made[f"{op}: both repeat, floats"] = corner(
            op, NoAttrs(), [plain([[[0], [5]]]), plain([[[0, 4, 5]], [[6, 5, 0]]])]
        )
    # Quotients that rounding lifts to a whole number, remainders of either sign, and none.
    ones = np.arange(1, 60, dtype=np.float32)
    a, b = (half.reshape(-1) for half in np.meshgrid(ones / 10, ones / 30, indexing="ij"))
    for op, sign in product(("floor_div", "floor_mod"), (1, -1)):
        name = f"{op}: nearly whole quotients, {'positive' if sign > 0 else 'negative'}"
        made[name] = corner(op, NoAttrs(), [plain(a), plain(sign * b)])
    for source, target in product(CASTABLE, CASTABLE):
        if source is not target:
            made[f"cast: {source.short} to {target.short}"] = corner(
                "cast", CastAttrs(target), [plain(LIMITS[source], source.numpy)]
            )
    special = plain(np.array([NAN, INF, -INF], np.float32))
    for target in CASTABLE[1:]:
        made[f"cast: no numbers to {target.short}"] = corner("cast", CastAttrs(target), [special])
    return made


def _reduced() -> dict[str, Built]:
    """Rows with an infinity, with no number, of one element; ties; sums that cancel."""
    rows = np.array(
        [
            [1e30, 1.0, -1e30],
            [INF, 1.0, 2.0],
            [-INF, -INF, -INF],
            [0.0, -0.0, -0.0],
            [3.0, 3.0, 3.0],
        ],
        np.float32,
    )
    made = {}
    for op in ("reduce_max", "reduce_min"):
        for name, data in (("infinite", rows), ("no number", np.full((2, 3), NAN))):
            for axis in (0, 1):
                made[f"{op}: {name} along {axis}"] = corner(op, ReduceAttrs((axis,)), [plain(data)])
    for op, (axis, dtype) in product(
        ("arg_max", "arg_min"), product((0, 1), (DType.INT32, DType.INT64))
    ):
        made[f"{op}: ties along {axis}, {dtype.short}"] = corner(
            op, ArgAttrs(axis, dtype), [plain(rows[1:])]
        )
    unordered = np.array([[1.0, NAN, INF, 1.0, -INF, NAN], [NAN, NAN, -0.0, 0.0, -INF, -0.0]])
    whole = np.array([[5, 2**31 - 1, -(2**31), 5, 2**31 - 1], [0, -1, 1, -1, 0]])
    for k in (1, 3, 5):
        attrs = TopkV2Attrs(k)
        made[f"topk_v2: {k} of what is no number"] = corner("topk_v2", attrs, [plain(unordered)])
        made[f"topk_v2: {k} floats"] = corner("topk_v2", attrs, [plain(rows.T)])
        made[f"topk_v2: {k} integers"] = corner("topk_v2", attrs, [plain(whole, np.int32)])
    # More than are added in one block, and in two, three and four; whole numbers, whose sums are.
    for n in (64, 65, 129, 257, 1000):
        x = plain(np.arange(1, 2 * n + 1).reshape(2, n))
        for op in ("sum", "reduce_max", "reduce_min"):
            made[f"{op}: {n} whole floats"] = corner(op, ReduceAttrs((1,)), [x])
        made[f"mean: {n} whole floats"] = corner("mean", MeanAttrs((1,)), [x])
    for n in LENGTHS:
        x = plain(np.arange(2 * n).reshape(2, n) % 5 - 2)
        for op, attrs in (("sum", ReduceAttrs((1,))), ("mean", MeanAttrs((0, 1)))):
            made[f"{op}: {n} floats"] = corner(op, attrs, [x])
        low = np.stack([np.full(n, -90.5), np.full(n, 1e4), np.full(n, -1e30)])
        low[:, -1] += 1
        for op, attrs in (("softmax", SoftmaxAttrs()), ("log_softmax", NoAttrs())):
            made[f"{op}: {n} floats far from zero"] = corner(op, attrs, [plain(low)])
        made[f"l2_normalization: {n} floats"] = corner(
            "l2_normalization", L2NormalizationAttrs(), [x]
        )
    for axis, exclusive, reverse in product((0, 1), (False, True), (False, True)):
        made[f"cumsum: floats along {axis}, exclusive {exclusive}, reverse {reverse}"] = corner(
            "cumsum", CumsumAttrs(axis, exclusive, reverse), [plain(_some(3, 4))]
        )
    zeros = plain(np.zeros((2, 5)))
    made["l2_normalization: zeros"] = corner("l2_normalization", L2NormalizationAttrs(), [zeros])
    return made


def _some(*shape: int) -> np.ndarray:
    """Halves from -2 to 2, whose sums are exact."""
    return (np.arange(int(np.prod(shape))) % 9 - 4).reshape(shape) / np.float32(2)


WINDOWS = {
    "conv2d": (Conv2dAttrs((2, 2), "SAME"), (2, 5, 4, 3), (5, 3, 3, 3), 5),
    "depthwise_conv2d": (DepthwiseConv2dAttrs((1, 1), "SAME"), (2, 5, 4, 2), (1, 3, 3, 4), 4),
    "fully_connected": (FullyConnectedAttrs(), (3, 7), (6, 7), 6),
    "transpose_conv": (TransposeConvAttrs((7, 6), (2, 2), "SAME"), (2, 4, 3, 3), (5, 3, 3, 3), 5),
}


def _windows() -> dict[str, Built]:
    """Layers with and without a bias; pools of windows on all borders, with NaN in some."""
    made = {}
    for op, (attrs, x, w, channels) in WINDOWS.items():
        given = [plain(_some(*x)), plain(_some(*w)), plain(_some(channels))]
        for name, inputs in (("no bias", given[:2]), ("a bias", given)):
            held = [inputs[0], *(_constant(v) for v in inputs[1:])]
            made[f"{op}: floats, {name}"] = corner(op, attrs, held)
    x = _some(2, 5, 5, 3)
    x[0, 2, 2, 1] = INF
    for op, (kernel, stride) in product(
        ("average_pool2d", "max_pool2d"), (((2, 2), (2, 2)), ((3, 3), (1, 1)), ((9, 9), (1, 1)))
    ):
        made[f"{op}: floats, {kernel}"] = corner(
            op, Pool2dAttrs(kernel, stride, "SAME"), [plain(x)]
        )
    return made


def _constant(given: Given) -> Given:
    return replace(given, constant=True)


def floats() -> dict[str, Built]:
    """All of these; ops that have no reference in float are not among them."""
    made = {**_elements(), **_reduced(), **_windows(), **signals(), **detecting()}
    assert all(OPS[name.split(":")[0]].ref_f32 is not None for name in made)
    return made
