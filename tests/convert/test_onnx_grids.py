"""Grids of ONNX's quantised constants, and the parameters that they become."""

from dataclasses import fields, replace

import numpy as np
import pytest

from tinyrt.convert.onnx.grid import (
    Dequantized,
    Grid,
    grid_of,
    tensor_params,
    turned,
    weight_params,
)
from tinyrt.ir import QParams


def grid(scales, zero_points, dtype="int8", axis=None):
    return Grid(np.float32(scales), np.array(zero_points, dtype), dtype, axis)


@pytest.mark.parametrize(
    ("of", "q"),
    [
        (grid([0.5, 0.25], [1, 2], "uint8", 0), None),
        (grid([0.5, 0.0], [3, 3], "uint8", 0), None),
        (grid(-0.5, 3), None),
        (grid([0.5, 0.25], [130, 130], "uint8", 1), QParams((0.5, 0.25), 2, 1)),
        (grid([0.5], [3], axis=0), QParams((0.5,), 3)),
        (grid(0.5, -3), QParams((0.5,), -3)),
    ],
)
def test_grids_become_parameters_where_integers_here_have_them(of, q):
    assert of.params() == q
    one = q if q is not None and q.axis is None else None
    assert tensor_params(Dequantized.of(np.ones((2, 2), np.float32), of)) == one


@pytest.mark.parametrize(
    ("of", "q"),
    [
        (grid([0.5, 0.25], [0, 9], axis=1), QParams((0.5, 0.25), 0, 3)),
        (grid([0.5, 0.25], [0, 0], axis=0), None),
        (grid([0.5], [7], axis=0), QParams((0.5,), 0)),
        (grid(0.5, 7), QParams((0.5,), 0)),
    ],
)
def test_weights_have_parameters_where_their_scales_go_along_the_output_channels(of, q):
    weights = Dequantized.of(np.ones((2, 2), np.float32), of)
    assert weight_params(weights, channels=1, axis=3) == q
    assert weight_params(np.ones((2, 2), np.float32), channels=1, axis=3) is None


@pytest.mark.parametrize("perm", [(1, 2, 0), (2, 0, 1), (0, 2, 1)])
def test_scales_go_along_with_the_dimension_that_they_belong_to(perm):
    numbers = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    found = turned(Dequantized.of(numbers, grid([0.5, 0.25, 2.0], [0] * 3, axis=1)), perm)
    np.testing.assert_array_equal(found, numbers.transpose(perm))
    assert found.shape[grid_of(found).axis] == 3


TWO = grid([0.5, 0.25], [1, 2], axis=0)
OTHERS = {
    "scale": replace(TWO, scale=np.float32([0.5, 0.5])),
    "zero_point": replace(TWO, zero_point=np.array([1, 1], np.int8)),
    "dtype": replace(TWO, dtype="uint8"),
    "axis": replace(TWO, axis=1),
}


def test_each_part_of_a_grid_is_part_of_what_integers_mean():
    assert OTHERS.keys() == {field.name for field in fields(Grid)}
    assert TWO.equals(replace(TWO))
    assert not any(TWO.equals(other) or other.equals(TWO) for other in OTHERS.values())
