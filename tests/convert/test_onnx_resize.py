"""Resize and Upsample in all their modes, beside onnxruntime."""

from __future__ import annotations

import pytest

from tests.convert.onnx_build import OnnxModel, assert_matches, count

COORDINATES = (
    *("asymmetric", "align_corners", "half_pixel", "half_pixel_symmetric"),
    *("pytorch_half_pixel", "tf_crop_and_resize"),
)
FOR_NN = "tf_half_pixel_for_nn"
"""Opsets 11 and 12 have it; they want a region, be it empty."""
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
SHAPE = (1, 2, 9, 8)
REGION = (0.0, 0.0, 0.1, 0.2, 1.0, 1.0, 0.8, 0.9)


def resized(m, mode, coordinates, *, scales=None, sizes=None, region=REGION, **attrs):
    crops = coordinates == "tf_crop_and_resize"
    inputs = [m.input(*SHAPE), m.const(region) if crops or not region else ""]
    inputs.append("" if scales is None else m.const([1, 1, *scales]))
    inputs += [] if sizes is None else [m.ints(1, 2, *sizes)]
    attrs["coordinate_transformation_mode"] = coordinates
    return m.op("Resize", *inputs, mode=mode, **attrs)


def assert_equal(m, y, tmp_path):
    return assert_matches(m.save(tmp_path, y), tolerance=2e-5)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_the_nearest_pixel_is_that_of_onnxruntime(coordinates, rounding, tmp_path):
    for scale in (0.5, 0.6, 1.5, 2, 2.3):
        m = OnnxModel(19)
        scales = (scale, scale)
        y = resized(m, "nearest", coordinates, scales=scales, nearest_mode=rounding)
        assert_equal(m, y, tmp_path)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_pixels_are_weighed_as_by_onnxruntime(coordinates, mode, tmp_path):
    for how in ({"scales": (0.6, 2.3)}, {"scales": (2, 0.5)}, {"sizes": (5, 13)}):
        m = OnnxModel(19)
        assert_equal(m, resized(m, mode, coordinates, **how), tmp_path)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_middles_as_tensorflow_takes_them_are_those_of_onnxruntime(rounding, tmp_path):
    for scales in ((0.7, 2.3), (2, 1)):
        m = OnnxModel(12)
        y = resized(m, "nearest", FOR_NN, scales=scales, region=(), nearest_mode=rounding)
        assert_equal(m, y, tmp_path)


def test_an_upsampling_layer_of_keras_becomes_one_op(tmp_path):
    m = OnnxModel(11)
    y = resized(m, "nearest", FOR_NN, scales=(2, 2), region=(), nearest_mode="floor")
    graph, _ = assert_equal(m, y, tmp_path)
    assert count(graph, "resize_nearest_neighbor") == 1


@pytest.mark.parametrize(
    ("coordinates", "rounding", "corners", "halves"),
    [
        ("asymmetric", "floor", False, False),
        ("half_pixel", "round_prefer_ceil", False, True),
        ("align_corners", "round_prefer_ceil", True, False),
    ],
)
def test_nearest_pixels_as_tflite_takes_them_are_one_op(
    coordinates, rounding, corners, halves, tmp_path
):
    """For sizes where each way takes others."""
    m = OnnxModel(13)
    y = resized(m, "nearest", coordinates, sizes=(15, 5), nearest_mode=rounding)
    graph, _ = assert_equal(m, y, tmp_path)
    (node,) = (node for node in graph.nodes if node.op != "transpose")
    assert node.op == "resize_nearest_neighbor"
    assert (node.attrs.align_corners, node.attrs.half_pixel_centers) == (corners, halves)


def test_corners_that_are_aligned_need_no_products(tmp_path):
    m = OnnxModel(13)
    graph, _ = assert_equal(m, resized(m, "linear", "align_corners", scales=(1.7, 2.2)), tmp_path)
    assert count(graph, "resize_bilinear") == 1
    assert len(graph.nodes) == 1


def test_a_scale_that_gives_a_whole_size_need_not_be_whole_itself(tmp_path):
    m = OnnxModel(13)
    y = m.op("Resize", m.input(1, 2, 49, 49), "", "", m.ints(1, 2, 1, 3), mode="linear")
    graph, _ = assert_equal(m, y, tmp_path)
    assert [node.op for node in graph.nodes] == ["resize_bilinear"]


@pytest.mark.parametrize("scales", [(1, 2, 2, 1), (2, 1, 1, 3)])
def test_channels_and_samples_may_be_resized_beside_pixels(scales, tmp_path):
    m = OnnxModel(13)
    assert_equal(m, m.op("Resize", m.input(1, 2, 3, 4), "", m.const(scales)), tmp_path)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(("first", "last"), [(-0.2, 1.3), (0.5, 1.5), (-0.5, 0.4)])
def test_what_lies_outside_of_the_image_is_a_number(mode, first, last, tmp_path):
    m = OnnxModel(13)
    region = (0, 0, first, 0.2, 1, 1, last, 0.9)
    attrs = {"sizes": (7, 11), "region": region, "extrapolation_value": 10.0}
    assert_equal(m, resized(m, mode, "tf_crop_and_resize", **attrs), tmp_path)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_sizes_that_keep_the_aspect_scale_all_sides_alike(mode, policy, tmp_path):
    m = OnnxModel(18)
    attrs = {"axes": [2, 3], "keep_aspect_ratio_policy": policy, "nearest_mode": "floor"}
    y = m.op("Resize", m.input(*SHAPE), "", "", m.ints(13, 17), mode=mode, **attrs)
    assert_equal(m, y, tmp_path)


@pytest.mark.parametrize(("op", "opset"), [("Resize", 10), ("Upsample", 9)])
@pytest.mark.parametrize("scale", [0.6, 0.5, 1.7, 2])
def test_old_models_round_up_where_they_shrink(op, opset, scale, tmp_path):
    scales = (1.7, 1.7) if op == "Upsample" else (scale, 1.5)
    m = OnnxModel(opset)
    y = m.op(op, m.input(*SHAPE), m.const([1, 1, *scales]), mode="nearest")
    assert_equal(m, y, tmp_path)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("sizes", [(1, 4), (4, 1), (1, 1)])
def test_one_row_or_column_is_left(coordinates, mode, sizes, tmp_path):
    m = OnnxModel(13)
    assert_equal(m, resized(m, mode, coordinates, sizes=sizes), tmp_path)


@pytest.mark.parametrize("mode", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("more", [0, 1])
def test_an_output_shape_of_a_transposed_convolution_says_what_is_cut_off(mode, more, tmp_path):
    m = OnnxModel(13)
    shape = [2 * d + more for d in SHAPE[2:]]
    attrs = {"auto_pad": mode, "strides": [2, 2], "output_shape": shape}
    y = m.op("ConvTranspose", m.input(*SHAPE), m.weights(2, 3, 4, 3), **attrs)
    assert_equal(m, y, tmp_path)
