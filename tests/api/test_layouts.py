"""Samples that fit a model with channels first and last are taken one way, and the user is told."""

from __future__ import annotations

import numpy as np
import pytest

from tests.api.test_training import squares
from tests.convert.onnx_build import OnnxModel
from tinyrt import convert_model, evaluate, quantize_model
from tinyrt.errors import ConversionWarning

SAYS = r"'x' fit with channels first and last: they are taken as \[1, 4, 4\], channels last"


def samples():
    return np.random.default_rng(0).normal(size=(16, 4, 4)).astype(np.float32)


def quantised(path, tmp_path):
    quantize_model(path, samples(), tmp_path / "out.tflite")


def evaluated(path, tmp_path):
    evaluate(path, {"x": samples()})


@pytest.mark.parametrize("use", [quantised, evaluated])
def test_samples_that_fit_both_ways_are_named(use, tmp_path):
    with pytest.warns(ConversionWarning, match=SAYS):
        use(squares(tmp_path), tmp_path)


def test_each_output_is_looked_at(tmp_path):
    """The first one is the same both ways."""
    m = OnnxModel()
    x = m.input(1, 4, 4)
    same, other = m.op("MatMul", x, m.weights(4, 3)), m.op("Conv", x, m.weights(3, 4, 3))
    with pytest.warns(ConversionWarning, match=SAYS):
        evaluated(m.save(tmp_path, same, other), tmp_path)


def test_each_input_is_looked_at(tmp_path):
    """The first one fits one way."""
    m = OnnxModel()
    x, y = m.input(1, 4, 5), m.input(1, 4, 4, name="y")
    model = m.save(tmp_path, m.op("Relu", x), m.op("Conv", y, m.weights(3, 4, 3)))
    with pytest.warns(ConversionWarning, match=SAYS.replace("'x'", "'y'")):
        evaluate(model, {"x": np.zeros((16, 4, 5), np.float32), "y": samples()})


@pytest.mark.parametrize("use", [quantised, evaluated])
def test_where_both_ways_answer_the_same_nothing_is_said(use, tmp_path, recwarn):
    use(squares(tmp_path, same=True), tmp_path)
    assert not [w for w in recwarn if w.category is ConversionWarning]


def test_what_fits_one_way_needs_no_words(tmp_path, recwarn):
    m = OnnxModel()
    model = m.save(tmp_path, m.op("Conv", m.input(1, 4, 5), m.weights(3, 4, 3)))
    evaluate(model, {"x": np.zeros((3, 4, 5), np.float32)})
    evaluate(model, {"x": np.zeros((3, 5, 4), np.float32)})
    assert not [w for w in recwarn if w.category is ConversionWarning]


def test_files_whose_layout_is_settled_need_no_words(tmp_path, recwarn):
    with pytest.warns(ConversionWarning, match=SAYS):
        quantize_model(squares(tmp_path), samples(), tmp_path / "int8.tflite")
    convert_model(squares(tmp_path), tmp_path / "out.tflite")
    recwarn.clear()
    for name in ("int8", "out"):
        evaluate(tmp_path / f"{name}.tflite", {"x": samples()})
    assert not [w for w in recwarn if w.category is ConversionWarning]


def test_a_shape_that_the_user_gives_is_looked_at(tmp_path):
    m = OnnxModel()
    model = m.save(tmp_path, m.op("Conv", m.input(1, 4, "n"), m.weights(3, 4, 3)))
    with pytest.warns(ConversionWarning, match=SAYS):
        quantize_model(model, samples(), tmp_path / "out.tflite", shapes={"x": (1, 4, 4)})
