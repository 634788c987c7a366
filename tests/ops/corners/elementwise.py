"""Integer ops that work element by element: every length of a row, scales whose ratio is a power of
two, exponents on both sides of what a kernel takes, and pairs of the ends of int8."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ops.build import ROOTS, Built
from tests.ops.corners.given import (
    EDGES,
    LENGTHS,
    ZERO_POINTS,
    Given,
    corner,
    extremes,
    plain,
    q_of,
    spread,
)
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.comparison import ACCEPTED
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.spec import Form, NoAttrs, Quant

ARITHMETIC = {
    "add": AddAttrs(),
    "sub": AddAttrs(),
    "mul": MulAttrs(),
    "div": DivAttrs(),
    "squared_difference": NoAttrs(),
}

TABLES = sorted(
    name
    for name, spec in OPS.items()
    if spec.traits.elementwise and spec.arity == (1, 1) and spec.attrs is NoAttrs
    if Form.INT8 in spec.forms and spec.quant is not Quant.INPUTS_ONLY
)
"""Ops of one input that a table of 256 entries answers."""

SHARED_SCALES = ("maximum", "minimum")

BY_ONE = ("div", "squared_difference")
"""Ops whose kernels take one pair after the other: two lengths are enough."""

A, B = (half.reshape(-1) for half in np.meshgrid(EDGES, EDGES, indexing="ij"))
"""All pairs of the edges."""

SUM_SCALES = {
    "equal": (0.5, 0.5, 0.5),
    "halves": (0.5, 0.25, 0.5),
    "one input is lost": (1.0, 2.0**-40, 1.0),
    "a step of one input is a tie": (1.0, 2.0**-8, 1.0),
    "uneven": (0.37, 0.11, 0.53),
    "far finer output": (1.0, 0.75, 2.0**-7),
    "far coarser output": (2.0**-6, 2.0**-7, 64.0),
    "just below a power of two": (0.49999997, 0.5, 0.99999994),
}
"""Scales of a, b and y."""

RATIOS = {
    "raised far": 2.0**13 * 1.5,
    "raised": 2.0**6,
    "twice": 2.0,
    "one": 1.0,
    "below one": 0.99999994,
    "a half": 0.5,
    "a half, above": 0.50000006,
    "a quarter": 0.25,
    "exponent -15": 2.0**-15 * 0.75,
    "exponent -16": 2.0**-16 * 0.75,
    "exponent -23": 2.0**-23 * 0.75,
    "exponent -24": 2.0**-24 * 0.75,
    "exponent -31": 2.0**-31 * 0.75,
    "nothing": 2.0**-40,
}
"""The factor from a product, or a quotient, to the output."""

TIES = (279 / 8, 375 / 8, 297 / 32)
"""Factors by which some quotients by 9, 25, 31 and others, too, lie between two integers."""


def _sums() -> dict[str, Built]:
    """All scales with each zero point; with limits, too, beside which there are other kernels."""
    made = {}
    for op, (name, (a, b, y)) in product(("add", "sub"), SUM_SCALES.items()):
        for a_zp, b_zp, y_zp in [(0, 0, 0), (-128, 127, -128), (127, -128, 127)]:
            made[f"{op}: {name}, zero points {a_zp} {b_zp} {y_zp}"] = corner(
                op, AddAttrs(), [Given(A, a, a_zp), Given(B, b, b_zp)], q_of(y, y_zp)
            )
        made[f"{op}: {name}, RELU"] = corner(
            op, AddAttrs("RELU"), [Given(A, a, 5), Given(B, b, -7)], q_of(y, -90)
        )
    return made


def _products() -> dict[str, Built]:
    made = {}
    for op, (name, ratio), zps in product(
        ("mul", "div"), RATIOS.items(), [(0, 0, 0), (-128, 127, 127), (127, -128, -128)]
    ):
        a_zp, b_zp, y_zp = zps
        inputs = [Given(A, 1.0, a_zp), Given(B, 1.0, b_zp)]
        made[f"{op}: {name}, zero points {a_zp} {b_zp} {y_zp}"] = corner(
            op, ARITHMETIC[op], inputs, q_of(1 / ratio, y_zp)
        )
    powers, divisors = np.meshgrid(-(2 ** np.arange(2, 8)), np.arange(1, 65), indexing="ij")
    for ratio in TIES:
        pairs = [Given(powers.astype(np.int8), ratio), Given(divisors.astype(np.int8), 1.0)]
        made[f"div: ties of {ratio}"] = corner("div", DivAttrs(), pairs, q_of(1.0))
    for name, (a, b, y) in SUM_SCALES.items():
        made[f"squared_difference: {name}"] = corner(
            "squared_difference", NoAttrs(), [Given(A, a, -128), Given(B, b, 127)], q_of(y, -3)
        )
    return made


def _pair_of(n: int, repeat: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of n elements; one of the two may be one number, or one row for all."""
    a, b = spread((2, n)), np.roll(spread((2, n), step=91), 1)
    b = np.where(b == 0, np.int8(1), b)  # div is on devices where no divisor is zero
    parts = {"a": (a[:, :1], b), "b": (a, b[:, :1]), "row": (a, b[:1]), "": (a, b)}
    return parts[repeat]


def _lengths() -> dict[str, Built]:
    """Every length with and without an input that repeats, and with limits that clamp."""
    made = {}
    for n, repeat in product(LENGTHS, ("", "a", "b", "row")):
        a, b = _pair_of(n, repeat)
        title = f"{n} elements" + (f", {repeat} repeats" if repeat else "")
        for op, attrs in ARITHMETIC.items():
            if op in BY_ONE and n not in (1, 5):
                continue
            inputs = [Given(a, 0.05), Given(b, 0.035)]
            made[f"{op}: {title}"] = corner(op, attrs, inputs, q_of(0.07, -3))
        for op in SHARED_SCALES:
            made[f"{op}: {title}"] = corner(
                op, NoAttrs(), [Given(a, 0.1, -3), Given(b, 0.1, -3)], q_of(0.1, -3)
            )
    for n in LENGTHS:
        a, b = _pair_of(n, "")
        inputs = [Given(a, 0.05, -100), Given(b, 0.035, 9)]
        made[f"add: {n} elements, RELU6"] = corner("add", AddAttrs("RELU6"), inputs, q_of(0.07, -3))
        # The least output is above 0, and below the zero point: sums below that round as ever.
        near_one = AddAttrs("RELU_N1_TO_1")
        made[f"add: {n} elements, RELU_N1_TO_1"] = corner("add", near_one, inputs, q_of(0.04, 90))
        made[f"mul: {n} elements, RELU6"] = corner("mul", MulAttrs("RELU6"), inputs, q_of(0.07, -3))
        made[f"relu6: {n} elements"] = corner("relu6", NoAttrs(), [Given(a, 0.1)], q_of(0.1))
        made[f"tanh: {n} elements"] = corner("tanh", NoAttrs(), [Given(a, 0.03)], q_of(1 / 128))
        made[f"leaky_relu: {n} elements"] = corner(
            "leaky_relu", LeakyReluAttrs(0.125), [Given(a, 0.1, 127)], q_of(0.05, -128)
        )
        made[f"dequantize: {n} elements"] = corner("dequantize", NoAttrs(), [Given(a, 0.1, 127)])
        made[f"quantize: {n} elements"] = corner(
            "quantize", QuantizeAttrs(), [Given(a, 0.1, 127)], q_of(0.2, -128)
        )
    return made


def _comparisons() -> dict[str, Built]:
    """All orders of inputs with one scale, with scales in the ratio of two, and with others; both
    inputs repeat in different axes, with few outputs and with many."""
    scales = {"equal scales": (0.5, 0.5), "halves": (0.5, 0.25), "others": (0.31, 0.2)}
    made = {}
    for op, (name, (a, b)), (a_zp, b_zp) in product(
        ACCEPTED, scales.items(), [(0, 0), (-128, 127)]
    ):
        for size in (127, 128, 256):
            given = [Given(A[-size:], a, a_zp), Given(B[-size:], b, b_zp)]
            title = f"{op}: {name}, {size} pairs, zero points {a_zp} {b_zp}"
            made[title] = corner(op, NoAttrs(), given)
        for n in (4, 40):
            given = [
                Given(spread((3, 1, 5)), a, a_zp),
                Given(spread((1, n, 1), step=91), b, b_zp),
            ]
            title = f"{op}: {name}, {15 * n} that repeat, zero points {a_zp} {b_zp}"
            made[title] = corner(op, NoAttrs(), given)
    return made


def _quantised() -> dict[str, Built]:
    """Floats beyond every limit, on ties and not a number; and from one int8 scale to another."""
    ties = np.arange(-130, 131) * np.float32(0.5)
    special = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, -1e-45, 0.0, -0.0, 512.5, -512.5]
    x = np.concatenate([ties, special]).astype(np.float32)
    made = {
        f"quantize: ties and limits, zero point {zp}": corner(
            "quantize", QuantizeAttrs(), [plain(x)], q_of(1.0, zp)
        )
        for zp in ZERO_POINTS
    }
    every = np.arange(-128, 128).astype(np.int8)
    for name, ratio in RATIOS.items():
        if ratio < 2**12:
            made[f"quantize: {name}"] = corner(
                "quantize", QuantizeAttrs(), [Given(every, ratio, -128)], q_of(1.0, 127)
            )
    return made


def _tables() -> dict[str, Built]:
    """Ops of one input without attributes, on every value, with the zero point at both ends."""
    every = np.arange(-128, 128).astype(np.int8)
    made = {}
    for op, zp in product(TABLES, ZERO_POINTS):
        form = OPS[op].forms[Form.INT8]
        same = OPS[op].quant is Quant.SAME_AS_INPUT
        y = q_of(0.0625, zp if same else -zp // 2)
        if form.fixed_output is not None:
            y = q_of(*form.fixed_output)
        x = np.maximum(every, zp) if op in ROOTS else every
        made[f"{op}: every value, zero point {zp}"] = corner(
            op, NoAttrs(), [Given(x, 0.0625, zp)], y
        )
    return made


def _prelus() -> dict[str, Built]:
    """Slopes of both signs, per channel and one for all, at both ends of every range."""
    every = np.stack([EDGES, EDGES[::-1]]).T.copy()
    return {
        f"prelu: zero points {x_zp} {y_zp}, {name}": corner(
            "prelu",
            NoAttrs(),
            [Given(every, 0.5, x_zp), Given(slope, 1 / 64, 0, constant=True)],
            q_of(y, y_zp),
        )
        for (name, slope), (x_zp, y_zp), y in product(
            {
                "two slopes": np.array([127, -128], np.int8),
                "one slope": np.array([1], np.int8),
            }.items(),
            [(-128, 127), (127, -128), (0, 0)],
            (0.5,),
        )
    }


def _selects() -> dict[str, Built]:
    """Either choice may be one number; rows of every length."""
    made = {}
    for n, single in product((1, 4, 5, 17), (0, 1, 2)):
        truth = plain(np.arange(n) % 3 == 0, bool)
        a, b = spread((n,)), extremes((n,))
        a, b = (a[:1] if single == 1 else a), (b[:1] if single == 2 else b)
        made[f"select_v2: {n} elements, {single} single"] = corner(
            "select_v2", NoAttrs(), [truth, Given(a, 0.5, -3), Given(b, 0.5, -3)], q_of(0.5, -3)
        )
    return made


def elementwise() -> dict[str, Built]:
    """All of these."""
    parts = (_sums, _products, _lengths, _comparisons, _quantised, _tables, _prelus, _selects)
    return {name: built for part in parts for name, built in part().items()}
