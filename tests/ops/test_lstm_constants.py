"""Constants of an LSTM are the nearest to what its scales say: in double precision."""

from fractions import Fraction

import numpy as np
import pytest

from tests.ops.quantised import node_of, value, weights
from tinyrt.ir import DType
from tinyrt.ops.shared.requant import Requant, WideRequant
from tinyrt.ops.shared.table_s16 import SigmoidS16
from tinyrt.ops.unidirectional_sequence_lstm import DTYPES, LstmAttrs, LstmInteger, prepare

X_SCALE, H_SCALE, CELL = 0.0640592, 0.0077123, 2.0**-13
OF_X, OF_H = (0.0277088, 0.0131, 0.0077, 0.00391), (0.0213, 0.0119, 0.00517, 0.0033)
INT16 = -(1 << 15), (1 << 15) - 1


def parts(real):
    """The nearest mantissa of 31 bits, and the exponent."""
    exponent = 0
    while real >= 1 or real < Fraction(1, 2):
        real, exponent = (real / 2, exponent + 1) if real >= 1 else (real * 2, exponent - 1)
    return round(real * (1 << 31)), exponent


def exact(scale):
    return Fraction(float(np.float32(scale)))


def gates(scale, of_gates, dtype):
    found = []
    for own in of_gates:
        mult, shift = parts(exact(scale) * exact(own) * 4096)
        if dtype is DType.INT8:
            found.append(Requant(*arrays(mult, shift), 0, *INT16, DType.INT16))
        else:
            found.append(WideRequant(*arrays((mult + (1 << 15)) >> 16, 15 - shift), *INT16))
    return tuple(found)


def arrays(*numbers):
    return (np.array([number], np.int32) for number in numbers)


def lstm(dtype, attrs, zps=(0, 0)):
    of_weights, bias, _ = DTYPES[dtype]
    x, h = value(dtype, 2, 3, 5, scale=X_SCALE, zp=zps[0]), {"scale": H_SCALE, "zp": zps[1]}
    inputs = [x, *(weights(7, 5, scale=s) for s in OF_X), *(weights(7, 7, scale=s) for s in OF_H)]
    assert of_weights is DType.INT8
    inputs += [value(bias, 7, scale=0)] * 4
    states = [value(dtype, 2, 7, **h), value(DType.INT16, 2, 7, scale=CELL)]
    return node_of(
        *("unidirectional_sequence_lstm", attrs),
        [*inputs, *states],
        [value(dtype, 2, 3, 7, **h), *states],
    )


@pytest.mark.parametrize(("dtype", "zps"), [(DType.INT8, (-7, 9)), (DType.INT16, (0, 0))])
def test_constants_are_the_nearest_to_what_scales_say(dtype, zps):
    found = prepare(lstm(dtype, LstmAttrs(cell_clip=1.5, time_major=True), zps))
    expected = LstmInteger(
        *(*zps, dtype),
        from_x=gates(X_SCALE, OF_X, dtype),
        from_h=gates(H_SCALE, OF_H, dtype),
        forget=parts(Fraction(1, 1 << 15)),
        update=parts(Fraction(1, 1 << 30) / exact(CELL)),
        output=parts(Fraction(1, 1 << 30) / exact(H_SCALE)),
        # Of 2**-13 to 1 / (3 * 4096).
        cell_tanh=SigmoidS16(3, 1),
        cell_clip=int(1.5 * (1 << 13)),
        time_major=True,
    )
    assert repr(found) == repr(expected)


@pytest.mark.parametrize(("clip", "limit"), [(0, 0), (3.99, 32_686), (4, 32_767), (99, 32_767)])
def test_cells_are_limited_by_no_more_than_int16(clip, limit):
    assert prepare(lstm(DType.INT8, LstmAttrs(cell_clip=clip))).cell_clip == limit
