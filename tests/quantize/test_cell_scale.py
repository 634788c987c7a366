"""The scale of an LSTM's cell state."""

import numpy as np
import pytest

from tinyrt.quantize.ranges import Range
from tinyrt.quantize.recurrent import FINEST, cell_params

LARGEST = 2**15 - 1


@pytest.mark.parametrize(
    ("low", "high", "power"),
    [
        (-0.5, 3.0, -13),
        (-3.0, 0.5, -13),
        (-1.0, LARGEST / 2**14, -14),
        (-1.0, np.nextafter(LARGEST / 2**14, 9), -13),
        (0.0, 1e9, 0),
    ],
)
def test_the_finest_power_of_two_that_covers_both_ends(low, high, power):
    q = cell_params(Range(low, high))
    assert (q.scale, q.zero_point) == (2.0**power, 0)
    assert power == 0 or LARGEST * q.scale >= max(-low, high) > LARGEST * q.scale / 2


def test_a_state_that_stays_zero_has_the_finest_scale():
    assert cell_params(Range(0.0, 0.0)).scale == 2.0**FINEST
