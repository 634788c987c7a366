"""Bounds of tensors of all dtypes."""

import numpy as np

from tinyrt.convert.values.interval import Bounds
from tinyrt.ir import DType, Value


def test_floats_of_every_width_have_no_bounds():
    for dtype in (DType.FLOAT32, DType.FLOAT16):
        whole = Bounds.whole(Value("x", dtype, (2,)))
        assert (whole.low.tolist(), whole.high.tolist()) == ([-np.inf] * 2, [np.inf] * 2)


def test_numbers_that_an_int64_does_not_hold_have_no_bounds():
    whole = Bounds.whole(Value("x", DType.UINT64, (2, 3)))
    around = Bounds.around(np.array([[1, 2**64 - 1]], np.uint64))
    for bounds, count in ((whole, 3), (around, 2)):
        assert bounds.low.tolist() == [-np.inf] * count
        assert bounds.high.tolist() == [np.inf] * count
    assert Bounds.whole(Value("x", DType.UINT32, (2,))).high.tolist() == [2**32 - 1] * 2
