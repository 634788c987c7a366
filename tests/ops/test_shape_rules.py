"""What shape rules share: axes, broadcasts, dtypes of weights and biases, and their refusals."""

import numpy as np
import pytest

from tinyrt.errors import ShapeError, VerifyError
from tinyrt.ir import DType, QParams, Value
from tinyrt.ir.types import TensorType
from tinyrt.ops.shared import shapes
from tinyrt.ops.shared.requant import MIN_RIGHT, multiplier, reduced, weight_scales

F32, S8, S16, BOOL = DType.FLOAT32, DType.INT8, DType.INT16, DType.BOOL
S4, S32, S64, U8 = DType.INT4, DType.INT32, DType.INT64, DType.UINT8


def of(dtype, *shape):
    return TensorType(dtype, shape)


def refused(action, kind=ShapeError):
    with pytest.raises(kind) as caught:
        action()
    return caught.value


@pytest.mark.parametrize(
    ("axis", "rank", "index"), [(0, 1, 0), (-1, 1, 0), (2, 3, 2), (-3, 3, 0), (-1, 3, 2)]
)
def test_axes_count_from_either_end(axis, rank, index):
    assert shapes.axis_of(axis, rank) == index


@pytest.mark.parametrize(("axis", "rank"), [(1, 1), (-2, 1), (3, 3), (-4, 3), (0, 0)])
def test_axes_that_are_not_there_are_refused(axis, rank):
    error = refused(lambda: shapes.axis_of(axis, rank))
    assert error.problem == f"axis {axis} of {rank} dimensions"
    assert error.expected == f"{-rank} to {rank - 1}"


@pytest.mark.parametrize(
    ("a", "b", "together"),
    [
        ((), (), ()),
        ((2, 3), (), (2, 3)),
        ((2, 1), (3,), (2, 3)),
        ((1, 3), (2, 1), (2, 3)),
        ((3,), (4, 2, 3), (4, 2, 3)),
    ],
)
def test_shapes_broadcast_as_numpys(a, b, together):
    assert shapes.broadcast(a, b) == shapes.broadcast(b, a) == together
    grad = np.ones(together)
    for shape in (a, b):
        expected = np.full(shape, grad.size / max(np.prod(shape), 1))
        np.testing.assert_array_equal(shapes.sum_to(grad, shape), expected)


@pytest.mark.parametrize(("a", "b"), [((2,), (3,)), ((2, 3), (3, 2)), ((2, 3), (2,))])
def test_shapes_that_do_not_broadcast_are_refused(a, b):
    assert f"{list(a)} and {list(b)}" in refused(lambda: shapes.broadcast(a, b)).problem


def test_operands_are_there_known_and_of_their_rank():
    inputs = [of(F32, 2, 3), None, of(F32, 2, 0), of(F32, -1)]
    assert shapes.operand(inputs, 0, "x", 2) == shapes.operand(inputs, 0, "x") == inputs[0]
    assert shapes.optional_operand(inputs, 0, "x") == inputs[0]
    assert (
        shapes.optional_operand(inputs, 1, "x") is shapes.optional_operand(inputs, 4, "x") is None
    )
    for i in (1, 4):
        problem = refused(lambda i=i: shapes.operand(inputs, i, "the bias")).problem
        assert problem == f"the bias (input {i}) is missing"
    for i in (2, 3):
        for check in (shapes.operand, shapes.optional_operand):
            error = refused(lambda i=i, check=check: check(inputs, i, "the bias"))
            assert error.problem == f"the bias is {inputs[i]}"
            assert "fixed input shape" in error.hint
    for rank in (1, 3):
        error = refused(lambda rank=rank: shapes.operand(inputs, 0, "x", rank))
        assert (error.problem, error.expected) == ("x is f32[2,3]", f"{rank} dimensions")


TAKEN = {
    (F32, F32): {F32},
    (S8, S8): {S32},
    (S8, S4): {S32},
    (S16, S8): {S64, S32},
}
"""Dtypes of activations and weights -> those of biases."""


@pytest.mark.parametrize("x", [F32, S8, S16, U8, S32])
@pytest.mark.parametrize("w", [F32, S8, S4, S16])
def test_weights_and_biases_have_dtypes_that_kernels_take(x, w):
    biases = TAKEN.get((x, w))
    if biases is None:
        error = refused(lambda: shapes.check_weighted(of(x, 1), of(w, 1), None, 1))
        assert error.problem == f"input {of(x, 1)}, weights {of(w, 1)}"
        return
    shapes.check_weighted(of(x, 1), of(w, 1), None, 1)
    for bias in (F32, S8, S16, S32, S64):
        if bias in biases:
            shapes.check_weighted(of(x, 1), of(w, 1), of(bias, 7), 7)
        else:
            refused(lambda bias=bias: shapes.check_weighted(of(x, 1), of(w, 1), of(bias, 7), 7))
    for shape in ((8,), (7, 1), ()):
        bias = of(next(iter(biases)), *shape)
        error = refused(lambda bias=bias: shapes.check_weighted(of(x, 1), of(w, 1), bias, 7))
        assert error.problem == f"bias is {bias}"
        assert error.expected.startswith("one element per output channel: ")


def test_pairs_have_one_dtype_and_arithmetic_has_numbers():
    pair = [of(F32, 2, 1), of(F32, 3)]
    for infer in (shapes.infer_binary, shapes.infer_arithmetic, shapes.infer_float_binary):
        assert infer(pair) == infer(pair, "RELU") == (of(F32, 2, 3),)
        assert refused(lambda infer=infer: infer([of(F32, 2), of(S8, 2)])).expected == "one dtype"
        refused(lambda infer=infer: infer([of(S32, 2)] * 2, "RELU"))
    assert shapes.infer_binary([of(BOOL, 2)] * 2) == (of(BOOL, 2),)
    assert shapes.infer_arithmetic([of(S32, 2)] * 2) == (of(S32, 2),)
    assert refused(lambda: shapes.infer_arithmetic([of(BOOL, 2)] * 2)).problem == "inputs are b8"
    assert refused(lambda: shapes.infer_float_binary([of(S8, 2)] * 2)).problem == "inputs are s8"
    for dtype in (F32, S8, S16):
        shapes.check_computable(of(dtype, 2), "div")
    assert refused(lambda: shapes.check_computable(of(S32, 2), "div")).problem == "input is s32[2]"


# Scales


def test_ratios_of_scales_have_a_bound():
    assert multiplier(0.75) == (0x60000000, 0)
    assert multiplier(0.0)[0] == 0
    multiplier(2.0**30 - 1)
    multiplier(7.0, 7.5)
    for real, most in ((2.0**30, 2.0**30), (7.5, 7.5), (-0.1, 1.0), (float("nan"), 1.0)):
        error = refused(lambda real=real, most=most: multiplier(real, most), VerifyError)
        assert error.problem.endswith(f"by a factor of {real:.6g}")
        assert error.expected == f"below {most:.6g}"
        assert error.hint


def test_multipliers_of_wide_sums_leave_a_shift_of_eight():
    y = Value("y", S16, (1,), QParams((1.0,)))
    mult, exponent = multiplier(127.0)
    mantissa, right = reduced(mult, exponent, y)
    assert right == MIN_RIGHT == 8
    assert mantissa == pytest.approx(127 * 2**8, rel=1e-4)
    error = refused(lambda: reduced(*multiplier(128.0), y), VerifyError)
    assert error.tensor == y.describe()
    assert "scales" in error.problem


def weights(dtype=S8, scales=(0.5,), zp=0, axis=None):
    return Value("w", dtype, (3, 2), QParams(scales, zp, axis))


def test_weights_have_a_scale_for_all_channels_or_one_for_each():
    for dtype in (S8, S4):
        np.testing.assert_array_equal(weight_scales(weights(dtype), 0, 3), [0.5] * 3)
    three = weights(scales=(0.5, 1.0, 2.0), axis=0)
    found = weight_scales(three, 0, 3)
    np.testing.assert_array_equal(found, np.float32([0.5, 1, 2]), strict=True)
    for value, problem in (
        (weights(S32), "weights are not quantised"),
        (Value("w", S8, (3, 2)), "weights are not quantised"),
        (weights(zp=1), "weights have zero point 1"),
        (weights(scales=(0.5, 1.0), axis=0), "2 scales along axis 0"),
        (weights(scales=(0.5, 1.0, 2.0), axis=1), "3 scales along axis 1"),
    ):
        error = refused(lambda value=value: weight_scales(value, 0, 3), VerifyError)
        assert (error.problem, error.tensor) == (problem, value.describe())
