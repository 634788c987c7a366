"""Ops that keep state: sizes around what kernels compute at once, ends of zero points and scales.

Their states are inputs like others here.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np

from tests.ops.build import Built, Case, single_op
from tests.ops.corners.given import ZERO_POINTS, extremes, q_of, spread
from tinyrt.ir import DType, QParams, Value
from tinyrt.ops.shared.spec import limits_of
from tinyrt.ops.svdf import SvdfAttrs
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs

LSTM = "unidirectional_sequence_lstm"
S8, S16 = DType.INT8, DType.INT16

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33)
"""Inputs and units: fours, eights and vectors, and what is left of them."""

RATIOS = {
    8: 0.07,
    7: 0.02,
    1: 4e-4,
    0: 2e-4,
    -1: 1e-4,
    -22: 5e-11,
    -30: 2.2e-13,
    -31: 1.1e-13,
    -32: 2e-14,
}
"""Exponent of a gate's requantisation -> the product of scales that has it."""

HIDDEN = {"1": 1.0, "2^-29": 2.0**-29, "2^-30": 2.0**-30, "1.9999": 1.9999}
HIDDEN["just above 2^-7"] = 1.0002 / 128
"""Scales of a hidden state: products of units go right by 0 to 30 bits, with any mantissa."""


def recurrent() -> dict[str, Built]:
    """All cases: name -> graph of one op with its data."""
    from tests.ops.corners.recurrent_wide import wide_lstms

    lstms = _lstms() | _narrow_lstms() | wide_lstms()
    return {f"{LSTM}: {name}": built for name, built in lstms.items()} | _svdfs()


def _lstms() -> dict[str, Built]:
    made = {}
    for i, (c_in, units) in enumerate(zip(SIZES, np.roll(SIZES, 5).tolist(), strict=True)):
        data = extremes if i % 3 == 0 else spread
        made[f"{c_in} to {units}"] = lstm(c_in, units, data=data)
    for x_zp, h_zp in product(ZERO_POINTS, ZERO_POINTS):
        made[f"zero points {x_zp} and {h_zp}"] = lstm(6, 5, zps=(x_zp, h_zp), data=extremes)
    for shift, ratio in RATIOS.items():
        made[f"exponent {shift} of x"] = lstm(6, 5, scales=(ratio, 1e-4))
        made[f"exponent {shift} of h"] = lstm(6, 5, scales=(1e-4, ratio))
    for power in (-30, -15, -9, 0):
        made[f"cell scale 2^{power}"] = lstm(6, 5, cell=2.0**power)
    for name, scale in HIDDEN.items():
        made[f"hidden scale {name}"] = lstm(6, 5, h_scale=scale)
    for clip, time_major, wide in product((0.0, 0.3), (False, True), (S8, S16)):
        name = f"clip {clip}, time {'first' if time_major else 'second'}, {wide.short}"
        attrs = LstmAttrs(clip, time_major)
        made[name] = lstm(5, 6, samples=2, attrs=attrs, dtype=wide)
    made["sums beyond shared halves"] = lstm(300, 5, data=extremes, zps=(-128, 0))
    made["-128 beside negative weights"] = lstm(6, 5, least=-128, data=extremes)
    made["one input and many units"] = lstm(1, 60, steps=1)
    made["blocks of a long row"] = lstm(70, 3, steps=1)
    return made


def _narrow_lstms() -> dict[str, Built]:
    """Those whose weights four bits hold."""
    narrow = partial(lstm, bits=4, least=-7)
    made = {}
    for i, (c_in, units) in enumerate(zip(SIZES, np.roll(SIZES, 3).tolist(), strict=True)):
        made[f"{c_in} to {units}"] = narrow(c_in, units, data=extremes if i % 3 == 0 else spread)
    for x_zp, h_zp in product(ZERO_POINTS, ZERO_POINTS):
        made[f"zero points {x_zp} and {h_zp}"] = narrow(6, 5, zps=(x_zp, h_zp), data=extremes)
    for shift, ratio in RATIOS.items():
        made[f"exponent {shift} of x"] = narrow(6, 5, scales=(ratio, 1e-4))
        made[f"exponent {shift} of h"] = narrow(6, 5, scales=(1e-4, ratio))
    for clip, time_major in product((0.0, 0.3), (False, True)):
        attrs = LstmAttrs(clip, time_major)
        name = f"clip {clip}, time {'first' if time_major else 'second'}"
        made[name] = narrow(5, 6, samples=2, attrs=attrs)
    made["-8 beside negative weights"] = narrow(6, 5, least=-8, data=extremes)
    made["sums below 2^19"] = narrow(508, 5, steps=1, least=-8, data=extremes)
    made["sums of 2^19"] = narrow(512, 5, steps=1, least=-8, data=_least)
    return {f"{name}, four bits": built for name, built in made.items()}


def _least(shape: tuple[int, ...], dtype: DType = S8) -> np.ndarray:
    return np.full(shape, np.iinfo(dtype.numpy).min, dtype.numpy)


def lstm(
    c_in: int,
    units: int,
    *,
    samples: int = 1,
    steps: int = 2,
    attrs: LstmAttrs | None = None,
    dtype: DType = S8,
    zps: tuple[int, int] = (-5, 3),
    scales: tuple[float, float] = (2e-4, 1e-4),
    h_scale: float = 1 / 128,
    cell: float = 2.0**-11,
    least: int = -127,
    bits: int = 8,
    data: Any = spread,
) -> Built:
    """An LSTM.

    Args:
        c_in: inputs.
        units: hidden units.
        samples: sequences.
        steps: of each.
        attrs: its attributes.
        dtype: of input and hidden state.
        zps: zero points of the input and of the hidden state, in int8.
        scales: products of the scales of the input, and of the hidden state, with their weights'.
        h_scale: of the hidden state, in int8.
        cell: scale of the cell state.
        least: weight.
        bits: that hold a weight.
        data: makes activations and weights.

    """
    attrs = LstmAttrs() if attrs is None else attrs
    step = 1.0 if dtype is S8 else 1 / 256
    x_zp, h_zp = zps if dtype is S8 else (0, 0)
    x_shape = (steps, samples, c_in) if attrs.time_major else (samples, steps, c_in)
    x_q, h_q = q_of(0.02 * step, x_zp), q_of(h_scale * step, h_zp)
    w_q = q_of(scales[0] / x_q.scale)
    r_q = q_of(scales[1] / h_q.scale)
    bias = np.int32 if dtype is S8 else np.int64
    inputs: list[tuple[np.ndarray, QParams, bool]] = [(data(x_shape, dtype), x_q, False)]
    for q, taps in ((w_q, c_in), (r_q, units)):
        for gate in range(4):
            w = np.roll(data((units, taps)) >> (8 - bits), 3 * gate)
            inputs.append((np.maximum(w, least).astype(np.int8), q, True))
    first = np.resize(np.array([0, 1, -1, 4000, -4000]), units).astype(bias)
    inputs += [(np.roll(first, gate), q_of(x_q.scale * w_q.scale), True) for gate in range(4)]
    inputs.append((data((samples, units), dtype), h_q, False))
    inputs.append((data((samples, units), S16), q_of(cell), False))
    return _built(LSTM, attrs, inputs, [h_q, h_q, q_of(cell)])


def _svdfs() -> dict[str, Built]:
    made = {}
    for i, (c_in, memory) in enumerate(zip(SIZES, np.roll(SIZES, 4).tolist(), strict=True)):
        for held in (S8, S16):
            units, rank = 1 + i % 6, 1 + i % 3
            name = f"{c_in} to {units} of rank {rank}, memory {memory}, {held.short}"
            data = extremes if i % 3 == 0 else spread
            made[name] = svdf(c_in, units, rank, memory, held, data=data)
    for x_zp, state_zp in product(ZERO_POINTS, ZERO_POINTS):
        name = f"zero points {x_zp} and {state_zp}"
        made[name] = svdf(6, 5, 2, 5, S8, zps=(x_zp, state_zp), data=extremes)
    for shift, ratio in RATIOS.items():
        # Features have scale 1 / 4096 here, so that ratios have the exponents of gates.
        made[f"exponent {shift}"] = svdf(6, 5, 1, 4, S16, ratio=ratio)
        made[f"exponent {shift} of time"] = svdf(6, 5, 1, 4, S8, time_ratio=4096 * ratio)
    made["sums beyond shared halves"] = svdf(500, 5, 1, 4, S16, zps=(-128, 0), data=extremes)
    made["-128 beside negative weights"] = svdf(6, 5, 1, 4, S8, least=-128, data=extremes)
    for state_zp in (-128, 127):
        name = f"-128 beside negative weights, zero point {state_zp} of the state"
        made[name] = svdf(6, 5, 1, 4, S8, zps=(-5, state_zp), least=-128, data=extremes)
    for sign in (1, -1):
        most = partial(_most, sign)
        made[f"sums that wrap, {sign}"] = svdf(6, 5, 2, 9, S16, time_ratio=2e-8, data=most)
    made["samples"] = svdf(6, 5, 1, 4, S8, samples=3)
    made["17 units"] = svdf(6, 17, 1, 4, S8)
    return {f"svdf: {name}": built for name, built in made.items()}


def _most(sign: int, shape: tuple[int, ...], dtype: DType = S8) -> np.ndarray:
    """The greatest values, or the least: of int16, few products exceed int32."""
    return np.full(shape, limits_of(dtype)[sign > 0], dtype.numpy)


def svdf(
    c_in: int,
    units: int,
    rank: int,
    memory: int,
    held: DType,
    *,
    samples: int = 1,
    zps: tuple[int, int] = (-5, 0),
    ratio: float = 1e-5,
    time_ratio: float = 2e-3,
    least: int = -127,
    data: Any = spread,
) -> Built:
    """An SVDF.

    Args:
        c_in: inputs.
        units: outputs.
        rank: filters of each.
        memory: features of a filter.
        held: dtype of the state.
        samples: how many.
        zps: zero points of the input and of the state.
        ratio: product of the scales of input and feature weights.
        time_ratio: of those of state and time weights, to the output's.
        least: weight.
        data: makes activations and weights.

    """
    filters = units * rank
    state_q, x_q, y_q = q_of(1 / 4096, zps[1]), q_of(0.02, zps[0]), q_of(0.05, 3)
    features_q, time_q = q_of(ratio / x_q.scale), q_of(time_ratio * y_q.scale / state_q.scale)
    features = np.maximum(data((filters, c_in)), least).astype(np.int8)
    bias = np.resize(np.array([0, 1, -1, 9000, -9000], np.int32), units)
    inputs = [
        (data((samples, c_in)), x_q, False),
        (features, features_q, True),
        (data((filters, memory), held), time_q, True),
        (bias, q_of(state_q.scale * time_q.scale), True),
        (data((samples, filters * memory), held), state_q, False),
    ]
    return _built("svdf", SvdfAttrs(rank), inputs, [y_q, state_q])


def _built(
    op: str, attrs: Any, inputs: list[tuple[np.ndarray, QParams, bool]], outputs: list[QParams]
) -> Built:
    values = []
    for i, (array, q, constant) in enumerate(inputs):
        dtype = DType.of(array.dtype)
        held = array if constant else None
        values.append(Value(f"in{i}", dtype, array.shape, q, held))
    arrays = [array for array, _, _ in inputs]
    return single_op(Case(op, attrs, tuple(a.shape for a in arrays)), values, outputs, arrays)
