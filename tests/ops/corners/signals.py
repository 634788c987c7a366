"""Plain integers on the ends of what ops take: arithmetic that wraps, and audio front ends."""

from __future__ import annotations

from itertools import product

import numpy as np

from tests.ops.build import Built
from tests.ops.corners.given import LENGTHS, corner, plain, spread
from tinyrt.ir import DType
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.signal_fft import SignalFftAttrs
from tinyrt.ops.signal_filter_bank import SignalEnergyAttrs, SignalFilterBankLogAttrs
from tinyrt.ops.signal_frames import SignalDelayAttrs, SignalFramerAttrs, SignalStackerAttrs
from tinyrt.ops.signal_noise import SignalPcanAttrs
from tinyrt.ops.signal_window import SignalWindowAttrs

ENDS = [-(2**31), -(2**31) + 1, -65537, -7, -2, -1, 0, 1, 2, 7, 65537, 2**31 - 1]
"""Of int32."""

POWERS = sorted({min(max(2**k + d, 0), 2**32 - 1) for k in range(33) for d in (-1, 0, 1)})
"""Of two, and what lies beside them."""

ROOTS = sorted(
    {
        min(max(r * r + d, 0), 2**64 - 1)
        for r in (0, 1, 2, 255, 2**16 - 1, 2**16, 2**32 - 1)
        for d in (-1, 0, r, r + 1)
    }
)
"""Squares, what lies beside them, and where the nearest root is one more."""


def _arithmetic() -> dict[str, Built]:
    made = {}
    a, b = (half.reshape(-1) for half in np.meshgrid(ENDS, ENDS, indexing="ij"))
    ops = {"add": AddAttrs(), "sub": AddAttrs(), "mul": MulAttrs(), "div": DivAttrs()}
    for op, attrs in {**ops, "minimum": NoAttrs(), "maximum": NoAttrs()}.items():
        kept = (b != 0) & (b != -1) if op == "div" else b == b
        given = [plain(half[kept], np.int32) for half in (a, b)]
        made[f"{op}: ends of int32"] = corner(op, attrs, given)
        rows = [plain([[[100], [-5]]], np.int32), plain([[[3, -4, 5]], [[6, -7, 1]]], np.int32)]
        made[f"{op}: both repeat, int32"] = corner(op, attrs, rows)
    by = np.repeat(np.array([0, -1], np.int32), len(ENDS))
    given = [plain(np.tile(ENDS, 2), np.int32), plain(by, np.int32)]
    made["div: int32 by 0 and -1"] = corner("div", DivAttrs(), given)
    return made


def _features() -> dict[str, Built]:
    made = {}
    numbers = plain(POWERS, np.uint32)
    for bits, scale in product((0, 3, 31), (1, 64, 1600, 32768, 2**31 - 1)):
        attrs = SignalFilterBankLogAttrs(bits, scale)
        name = f"signal_filter_bank_log: {bits} bits, scale {scale}"
        made[name] = corner("signal_filter_bank_log", attrs, [numbers])
    for shift in (0, 1, 31):
        given = [plain(ROOTS, np.uint64), plain(shift, np.int32)]
        name = f"signal_filter_bank_square_root: {shift} bits"
        made[name] = corner("signal_filter_bank_square_root", NoAttrs(), given)
    for shift, loud in product((0, 6, 40), (1, 5000, 2**32 - 1)):
        gains = plain(spread((125,), DType.INT16, 5003), np.int16)
        given = [plain(np.full(len(POWERS), loud), np.uint32), numbers, gains]
        name = f"signal_pcan: {loud} shifted by {shift}"
        made[name] = corner("signal_pcan", SignalPcanAttrs(shift), given)
    loudest = plain(np.full(8, -(2**15)), np.int16)
    made["signal_energy: extremes"] = corner("signal_energy", SignalEnergyAttrs(3, 1), [loudest])
    for shift in (0, 15, 31):
        weights = plain([2**15 - 1, -(2**15), 1, -1], np.int16)
        name = f"signal_window: extremes, shift {shift}"
        made[name] = corner("signal_window", SignalWindowAttrs(shift), [loudest, weights])
    return made


def _transforms() -> dict[str, Built]:
    made = {}
    for length, dtype in product((4, 6, 10, 16, 60, 128), (DType.INT16, DType.INT32)):
        limits = np.iinfo(dtype.numpy)
        waves = np.where(np.arange(length) % 2, limits.min, limits.max)
        rows = np.stack([np.full(length, limits.min), np.full(length, limits.max), waves])
        pairs = np.concatenate([rows, rows[:, :2]], axis=1)
        name, attrs = f"extremes of {dtype.short}, {length} samples", SignalFftAttrs(length)
        made[f"signal_rfft: {name}"] = corner("signal_rfft", attrs, [plain(rows, dtype.numpy)])
        made[f"signal_irfft: {name}"] = corner("signal_irfft", attrs, [plain(pairs, dtype.numpy)])
        resonant = plain(_resonant(length, limits.min, limits.max), dtype.numpy)
        made[f"signal_rfft: waves of {name}"] = corner("signal_rfft", attrs, [resonant])
    for op, size in (("signal_rfft", 16), ("signal_irfft", 18)):
        stacked = plain(spread((2, 3, size), DType.INT16), np.int16)
        made[f"{op}: rows of two batches"] = corner(op, SignalFftAttrs(16), [stacked])
    for n in LENGTHS:
        x = plain(spread((n,), DType.INT16) // 64, np.int16)
        made[f"signal_fft_auto_scale: {n}"] = corner("signal_fft_auto_scale", NoAttrs(), [x])
    for name, samples in (
        ("silence", [0, 0]),
        ("one step", [1, -1]),
        ("rising behind the lowest", [-32768, -7, -5]),
        ("falling behind the lowest", [-32768, -5, -7]),
    ):
        x = plain(samples, np.int16)
        made[f"signal_fft_auto_scale: {name}"] = corner("signal_fft_auto_scale", NoAttrs(), [x])
    return made


def _resonant(length: int, least: int, most: int) -> np.ndarray:
    """Waves of extremes in step with each frequency: sums of their products are too large."""
    count = length // 2
    turns = 2 * np.pi * np.outer(np.arange(count), np.arange(count) + 0.01) / count + 0.7
    parts = np.stack([np.cos(turns), np.sin(turns)], axis=-1).reshape(count, length)
    return np.where(parts >= 0, most, least)


def _frames() -> dict[str, Built]:
    made = {}
    attrs = SignalFramerAttrs(5, 2)
    for count in range(4):
        given = [plain(range(4), np.int16), plain(range(6), np.int16), plain([count], np.int32)]
        made[f"signal_framer: {count} steps before"] = corner("signal_framer", attrs, given)
    stack = SignalStackerAttrs(2, 1, 1, 2)
    for count in range(4):
        given = [plain([7, 8], np.int16), plain(range(6), np.int16), plain([count], np.int32)]
        made[f"signal_stacker: a count of {count}"] = corner("signal_stacker", stack, given)
    for size, past in ((2, 5), (3, 3), (5, 2), (1, 4)):
        given = [
            plain(spread((2, size), DType.INT16), np.int16),
            plain(spread((2, past), DType.INT16, 4099), np.int16),
        ]
        name = f"signal_delay: {size} samples by {past}"
        made[name] = corner("signal_delay", SignalDelayAttrs(past), given)
    return made


def signals() -> dict[str, Built]:
    """All of these."""
    return {**_arithmetic(), **_features(), **_transforms(), **_frames()}
