"""Random layers that cores without dual multiplies compute four pixels at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.c.packed_cases import relu_outputs
from tests.ops.build import Built, Case, Rng, build_s8
from tests.ops.cases.windowed import activation, pair
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs

PLAIN, RELU, RAISED = "s8", "relu_s8", "raised_s8"
KERNELS = {
    "cortex-m3": {f"tinyrt_{op}_four_{end}" for op in ("dense", "window") for end in (PLAIN, RELU)},
    "cortex-m0": {f"tinyrt_{op}_four_{RAISED}" for op in ("dense", "window")},
    "rv32imc": {f"tinyrt_{op}_four_{end}" for op in ("dense", "window") for end in (PLAIN, RELU)},
}
"""Core -> the kernels that its layers take."""


def windows(rng: Rng) -> Case:
    """Maps from one column on, borders on all sides, several images, and any steps."""
    c_in, c_out = int(rng.choice([1, 2, 3, 4, 8, 16])), int(rng.integers(2, 10))
    kernel, stride = pair(rng, 1, 5), pair(rng, 1, 3)
    size = int(rng.integers(kernel[0], 12)), int(rng.integers(kernel[1], 12))
    x = int(rng.choice([1, 1, 2, 3])), *size, c_in
    padding = str(rng.choice(["SAME", "VALID"]))
    attrs = Conv2dAttrs(stride=stride, padding=padding, activation=activation(rng))
    return Case("conv2d", attrs, (x, (c_out, *kernel, c_in), (c_out,)), frozenset({1, 2}))


def rows(rng: Rng) -> Case:
    """Dense layers of four rows or more, and of taps that are no multiple of anything."""
    c_in, c_out = int(rng.integers(1, 90)), int(rng.integers(2, 20))
    shapes = ((int(rng.integers(4, 14)), c_in), (c_out, c_in), (c_out,))
    attrs = FullyConnectedAttrs(activation=activation(rng))
    return Case("fully_connected", attrs, shapes, frozenset({1, 2}))


def apart(rng: Rng) -> Case:
    """Steps that leave columns out, with borders on no side, on one, and on both."""
    width, height = int(rng.choice([13, 14, 16, 18])), int(rng.integers(3, 7))
    c_in, c_out = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    attrs = Conv2dAttrs(stride=(int(rng.integers(1, 3)), 4), activation=activation(rng))
    shapes = ((1, height, width, c_in), (c_out, 3, 3, c_in), (c_out,))
    return Case("conv2d", attrs, shapes, frozenset({1, 2}))


FOURS = {"windows": windows, "rows": rows, "apart": apart}


def extremes(case: Case, rng: Rng) -> Built:
    """The case with weights and inputs at their ends, pixel by pixel: the largest sums of each."""
    built = build_s8(case, rng)
    w = np.asarray(built.graph.value("in1").data)
    w[:] = rng.choice(np.array([-127, 127], np.int8), (len(w), *(1,) * (w.ndim - 1)))
    x = built.feeds["in0"]
    x[:] = rng.choice(np.array([-128, 127], np.int8), (*x.shape[:-1], 1))
    values = built.graph.values
    out = values["out"]
    assert out.q is not None
    wide = replace(out, q=replace(out.q, scales=(float(np.float32(64 * out.q.scale)),)))
    return replace(built, graph=replace(built.graph, values={**values, "out": wide}))


BUILDS = {"random": build_s8, "without a sign": relu_outputs, "extremes": extremes}
