"""Floats of a board beside those of the host: numbers, and what is none."""

import numpy as np
import pytest

from tinyrt.board.validation import _compared
from tinyrt.ir import DType, Value

NAN, INF, MOST = np.nan, np.inf, np.finfo(np.float32).max


@pytest.mark.parametrize(
    ("board", "host", "index"),
    [
        ([NAN, NAN], [NAN, NAN], None),
        ([INF, -INF], [INF, -INF], None),
        ([INF, -INF], [INF, INF], 1),
        ([1, NAN], [1, 1], 1),
        ([1, 1], [1, NAN], 1),
        ([INF, 1], [MOST, 1], 0),
        ([MOST, 1], [MOST, 2], None),
        ([0, 0], [0, 0], None),
        ([0, 9e-5], [0, 0], None),
        ([0, 2e-4], [0, 0], 1),
        ([-0.0], [0], None),
        ([-1, 1e4], [0, 1e4], None),
        ([1, -1e4], [0, -1e4], None),
        ([1.001, 1e4], [0, 1e4], 0),
    ],
)
def test_floats_that_are_no_numbers_or_none_but_zeros(board, host, index):
    value = Value("y", DType.FLOAT32, (1, len(host)))
    expected = np.array([host], np.float32)
    found = _compared(3, value, np.array(board, np.float32).tobytes(), expected)
    assert (None if found is None else found.index) == index
