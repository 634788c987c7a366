"""LSTMs of int16: sizes around what kernels compute at once, ends of sums, shifts and scales."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tests.ops.build import Built
from tests.ops.corners.given import extremes, spread
from tests.ops.corners.recurrent import HIDDEN, SIZES, lstm
from tinyrt.ir import DType
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs

S8, S16 = DType.INT8, DType.INT16
RIGHTS = (8, 15, 16, 22, 32, 33, 46)
"""Shifts of gates: those whose rest is a product's upper half, the ones beside, and the ends."""

TAPS = {"30": 257, "31": 515}
"""Bits -> taps at most whose greatest products add up to less."""

_wide = partial(lstm, dtype=S16, scales=(2e-6, 1e-6))


def ratio(right: int, mantissa: float = 0.75) -> float:
    """The product of scales of a gate that has this shift."""
    return float(2.0**-12 * mantissa * 2.0 ** (15 - right))


def wide_lstms() -> dict[str, Built]:
    """All cases: name -> graph of one op with its data."""
    made = {}
    for i, (c_in, units) in enumerate(zip(SIZES, np.roll(SIZES, 5).tolist(), strict=True)):
        made[f"{c_in} to {units}"] = _wide(c_in, units, data=extremes if i % 3 == 0 else far)
    for right in RIGHTS:
        made[f"shift {right} of x"] = _wide(6, 5, scales=(ratio(right), ratio(20)), data=far)
        made[f"shift {right} of h"] = _wide(6, 5, scales=(ratio(20), ratio(right)), data=far)
    made["halves"] = _wide(9, 13, scales=(ratio(22, 0.5), ratio(18, 0.5)), data=far)
    for power in (-30, -15, -9, 0):
        made[f"cell scale 2^{power}"] = _wide(6, 5, cell=2.0**power, data=far)
    for name, scale in HIDDEN.items():
        made[f"hidden scale {name}"] = _wide(6, 5, h_scale=scale, data=far)
    for clip, time_major in product((0.0, 0.3), (False, True)):
        attrs = LstmAttrs(clip, time_major)
        order = "first" if time_major else "second"
        made[f"clip {clip}, time {order}"] = _wide(5, 6, samples=2, attrs=attrs, data=far)
    for bits, taps in TAPS.items():
        made[f"sums below 2^{bits}"] = _wide(taps, 3, data=largest)
        made[f"sums from 2^{bits}"] = _wide(taps + 2, 3, data=largest)
    made["-128 beside negative weights"] = _wide(6, 5, least=-128, data=extremes)
    made["one input and many units"] = _wide(1, 60, steps=1, data=far)
    return {f"{name}, int16": built for name, built in made.items()}


def far(shape: tuple[int, ...], dtype: DType = S8) -> NDArray[np.int16]:
    """As ``spread``, with neighbours farther from each other."""
    return spread(shape, dtype, 37 if dtype is S8 else 9973)


def largest(shape: tuple[int, ...], dtype: DType = S8) -> NDArray[np.int16]:
    """The least activations; of weights the least ones and the greatest in turn.

    Products with a row of weights go to one side, those with the next row to the other.
    """
    limits = np.iinfo(dtype.numpy)
    made = np.full(shape, limits.min, dtype.numpy)
    if dtype is S8:
        made[1::2] = limits.max
    return made
