"""Norms, running sums, places of extrema and triangles: along any axis, and over several."""

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel, assert_matches, feeds_for
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.ops.shared.evaluate import evaluate

SHAPE = (2, 3, 5, 4)


@pytest.mark.parametrize("axis", [1, 2, 3, -1, -2, -3])
@pytest.mark.parametrize("op", ["LayerNormalization", "RMSNormalization"])
def test_all_dimensions_from_the_axis_on_are_normalised(op, axis, tmp_path):
    m = OnnxModel(23)
    shifts = 1 if op == "RMSNormalization" else 2
    given = [m.weights(*SHAPE[axis:]) for _ in range(shifts)]
    assert_matches(m.save(tmp_path, m.op(op, m.input(*SHAPE), *given, axis=axis, epsilon=0.3)))


@pytest.mark.parametrize("axis", [1, 2, -2])
@pytest.mark.parametrize("p", [1, 2])
def test_vectors_along_one_axis_have_length_1(p, axis, tmp_path):
    m = OnnxModel(22)
    assert_matches(m.save(tmp_path, m.op("LpNormalization", m.input(*SHAPE), axis=axis, p=p)))


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_windows_of_channels_reach_further_up_where_they_are_even(size, tmp_path):
    """As ONNX defines it; onnxruntime takes odd windows only."""
    m = OnnxModel(13)
    attrs = {"size": size, "alpha": 0.9, "beta": 1.5, "bias": 0.7}
    graph = read_onnx(m.save(tmp_path, m.op("LRN", m.input(2, 6, 5, 4), **attrs)))
    (x,) = feeds_for(graph).values()
    below, above = (size - 1) // 2, size // 2
    sums = [np.square(x[:, max(0, c - below) : c + above + 1]).sum(1) for c in range(6)]
    wanted = x / (0.7 + 0.9 / size * np.stack(sums, 1)) ** 1.5
    (found,) = evaluate(graph, {"x": x}).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize(("opset", "scales"), [(18, 2), (20, 2), (21, 6)])
def test_groups_have_a_scale_each_or_one_for_each_channel(opset, scales, tmp_path):
    m = OnnxModel(opset)
    x, scale, bias = m.input(2, 6, 5, 4), m.weights(scales), m.weights(scales)
    y = m.op("GroupNormalization", x, scale, bias, num_groups=2, epsilon=0.3)
    assert_matches(m.save(tmp_path, y))


def test_channels_of_each_sample_are_normalised(tmp_path):
    m = OnnxModel(22)
    y = m.op("InstanceNormalization", m.input(*SHAPE), m.weights(3), m.weights(3), epsilon=0.3)
    assert_matches(m.save(tmp_path, y))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 1), (1, 0), (1, 1)])
def test_running_sums_along_any_axis(axis, exclusive, reverse, tmp_path):
    m = OnnxModel(14)
    attrs = {"exclusive": exclusive, "reverse": reverse}
    assert_matches(m.save(tmp_path, m.op("CumSum", m.input(2, 3, 4), m.ints(axis), **attrs)))


@pytest.mark.parametrize("diagonal", [-9, -3, -1, 0, 2, 4, 9])
@pytest.mark.parametrize("upper", [0, 1])
def test_a_triangle_from_any_diagonal(upper, diagonal, tmp_path):
    m = OnnxModel(14)
    y = m.op("Trilu", m.input(2, 3, 4), m.const(diagonal, "i8"), upper=upper)
    assert_matches(m.save(tmp_path, y))


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize(("axis", "last"), [(0, 0), (1, 0), (-1, 0), (0, 1), (1, 1), (-1, 1)])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_the_first_or_the_last_of_equal_extrema(op, axis, last, keepdims, tmp_path):
    m = OnnxModel(13)
    signs = m.op("Sign", m.input(3, 4, 5))
    y = m.op(op, signs, axis=axis, select_last_index=last, keepdims=keepdims)
    assert_matches(m.save(tmp_path, m.op("Cast", y, to=1)))


@pytest.mark.parametrize("negative", [0, 1])
@pytest.mark.parametrize("positive", [0, 1])
def test_infinities_of_the_signs_that_are_asked_for(positive, negative, tmp_path):
    m = OnnxModel(20)
    # A third of the numbers is beyond either limit.
    far = m.op("Div", m.input(8, 8), m.op("Relu", m.op("Sub", m.const(0.4), m.op("Abs", "x"))))
    y = m.op("IsInf", far, detect_positive=positive, detect_negative=negative)
    assert_matches(m.save(tmp_path, m.op("Cast", y, to=1)))


@pytest.mark.parametrize("p", [1, 2])
def test_tiny_vectors_get_length_1_and_zeros_stay(p, tmp_path):
    m = OnnxModel(22)
    x = m.op("Mul", m.input(3, 4), m.const([[0.0], [1e-12], [1.0]]))
    assert_matches(m.save(tmp_path, m.op("LpNormalization", x, p=p)))
