"""Layers that are rounded as LiteRT does on uint8: ties, all steps of the output, both ends of
sums, windows of every number of elements, shares of pixels that no float holds, tensors that are
joined."""

from __future__ import annotations

from itertools import product

import numpy as np

from tests.ops.build import Built
from tests.ops.corners.given import Given, corner, extremes, q_of, spread
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.l2_normalization import L2NormalizationAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs

SCALES = {
    "a power of 2": (0.5, 0.25, 4.0),
    "odd": (0.0123, 0.0071, 0.0213),
    "small": (0.0011, 0.0013, 0.5),
    "few steps": (1e-4, 1e-4, 50.0),
    "hardly any": (1e-5, 1e-5, 60.0),
    "above one": (0.5, 0.37, 0.01),
}
"""Of input, weights and output."""

ENDS = [-(2**31) + 1, -(2**30), -1, 0, 1, 2**30, 2**31 - 1]

WINDOWS = [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (4, 4)]

SIZES = [((3, 3), (6, 6)), ((4, 5), (3, 7)), ((2, 7), (5, 5)), ((1, 1), (3, 2)), ((5, 3), (1, 1))]
"""Height and width before, and behind."""


def _biases(real: float) -> np.ndarray:
    """Sums around each step of the output, and the ends of int32 that LiteRT does not wrap."""
    steps = np.rint((np.arange(-258, 259) - 0.5) / real)
    around = np.concatenate([steps - 1, steps, steps + 1, ENDS])
    most = (ENDS[-1] - 1000) / max(real, 1)  # with the zero point
    return np.unique(np.clip(around, -most, most).astype(np.int32))


def _dense() -> dict[str, Built]:
    made = {}
    for (name, (x, w, y)), zp in product(SCALES.items(), (-128, 5, 127)):
        biases = _biases(float(np.float32(x)) * float(np.float32(w)) / float(np.float32(y)))
        w_data = extremes((len(biases), 2))
        w_data[np.abs(biases.astype(np.int64)) > 2**29] = 0  # a device has no room for more there
        attrs = FullyConnectedAttrs(activation="RELU" if zp == 5 else "NONE", legacy=True)
        inputs = [
            Given(np.full((1, 2), -7, np.int8), x, -7),
            Given(w_data, w, constant=True),
            Given(biases, x * w, constant=True),
        ]
        made[f"fully_connected: legacy, scales {name}, zero point {zp}"] = corner(
            "fully_connected", attrs, inputs, q_of(y, zp)
        )
    attrs = FullyConnectedAttrs(keep_num_dims=True, legacy=True)
    inputs = [Given(spread((2, 3, 9)), 0.02, 11), Given(spread((5, 9)), 0.01, constant=True)]
    made["fully_connected: legacy, rows and no bias"] = corner(
        "fully_connected", attrs, inputs, q_of(0.11, -3)
    )
    return made


def _averages() -> dict[str, Built]:
    made = {}
    for window, padding, data in product(WINDOWS, ("SAME", "VALID"), (spread, extremes)):
        attrs = Pool2dAttrs(window, (1, 2), padding, "RELU" if window == (2, 3) else "NONE", True)
        made[f"average_pool2d: legacy, {window}, {padding}, {data.__name__}"] = corner(
            "average_pool2d", attrs, [Given(data((2, 6, 5, 3)), 0.5, -3)], q_of(0.5, -3)
        )
    return made


def _resized() -> dict[str, Built]:
    made = {}
    for ((h, w), size), mode in product(SIZES, ("", "corners", "centers")):
        attrs = ResizeAttrs(size, mode == "corners", mode == "centers", legacy=True)
        x = Given(spread((2, h, w, 3), step=91), 0.5, -3)
        made[f"resize_bilinear: legacy, {(h, w)} to {size}, {mode or 'plain'}"] = corner(
            "resize_bilinear", attrs, [x], q_of(0.5, -3)
        )
    return made


def _normalised() -> dict[str, Built]:
    """Rows of every sum: one element, all alike, extremes, and zeros."""
    rows = {"spread": spread((7, 64)), "extremes": extremes((6, 40)), "one": spread((9, 1))}
    rows["alike"] = np.arange(-128, 128, dtype=np.int64).astype(np.int8)[:, None].repeat(3, 1)
    return {
        f"l2_normalization: legacy, {name}, zero point {zp}": corner(
            "l2_normalization", L2NormalizationAttrs(True), [Given(x, 0.5, zp)], q_of(1 / 128)
        )
        for (name, x), zp in product(rows.items(), (-128, 0, 9, 127))
    }


def _rescaled() -> dict[str, Built]:
    """Every value at once: ties beside powers of two, odd scales, saturation at both ends."""
    made = {}
    for (name, (x, _, y)), zp in product(SCALES.items(), (-128, 5, 127)):
        values = spread((2, 3, 64))
        made[f"quantize: legacy, scales {name}, zero point {zp}"] = corner(
            "quantize", QuantizeAttrs(legacy=True), [Given(values, x, zp)], q_of(y, -zp // 2)
        )
    return made


def legacy() -> dict[str, Built]:
    """All of these."""
    return {**_dense(), **_averages(), **_resized(), **_normalised(), **_rescaled()}
