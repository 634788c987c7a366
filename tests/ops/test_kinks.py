"""Derivatives where numbers are equal, or functions have corners, which no difference tells."""

import numpy as np
import pytest

from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.train.core.autograd import partial_derivatives
from tinyrt.train.core.tensor import Tensor, apply

SHARED = ([1, 2, 3, 2], [1, 3, 2, 2])
PIXELS = [[[[1], [3], [3]], [[3], [0], [2]]]]
FIRST = [[[[0], [2], [0]], [[0], [0], [0]]]]
KINKS = {
    "maximum": (NoAttrs(), SHARED, ([0.5, 0, 1, 0.5], [0.5, 1, 0, 0.5])),
    "minimum": (NoAttrs(), SHARED, ([0.5, 1, 0, 0.5], [0.5, 0, 1, 0.5])),
    "reduce_max": (ReduceAttrs((0,)), ([1, 4, 4, 2],), ([0, 0.5, 0.5, 0],)),
    "reduce_min": (ReduceAttrs((0,)), ([1, 1, 4, 1],), ([1 / 3, 1 / 3, 0, 1 / 3],)),
    "max_pool2d": (Pool2dAttrs((2, 2)), (PIXELS,), (FIRST,)),
    "abs": (NoAttrs(), ([-1, 0, 2],), ([-1, 0, 1],)),
    "relu": (NoAttrs(), ([-1, 0, 2],), ([0, 0, 1],)),
    "relu6": (NoAttrs(), ([-1, 0, 6, 7],), ([0, 0, 0, 0],)),
    "hard_swish": (NoAttrs(), ([-4, -3, 0, 3, 4],), ([0, 0, 0.5, 1, 1],)),
    "prelu": (NoAttrs(), ([-2, 0, 3], [0.25]), ([0.25, 1, 1], [-2])),
    "pow": (
        *(NoAttrs(), ([0, 0, 0, 0, 0, 0.5, -3], [3, 2, 1, 0, -1, 1, 2])),
        ([0, 0, 1, 0, -np.inf, 1, -6], [0, 0, 0, 0, -np.inf, 0.5 * np.log(0.5), np.nan]),
    ),
    "leaky_relu": (LeakyReluAttrs(0.25), ([-1, 0, 2],), ([0.25, 0.25, 1],)),
}
"""Op -> its attributes, inputs, and the derivatives of the sum of its outputs."""


@pytest.mark.parametrize("op", KINKS)
def test_derivatives_are_those_that_are_said(op):
    attrs, arrays, expected = KINKS[op]
    inputs = [Tensor(np.array(a, np.float32), requires_grad=True) for a in arrays]
    found = partial_derivatives(apply(op, attrs, *inputs).sum(), inputs)
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.data, wanted, rtol=1e-6)
