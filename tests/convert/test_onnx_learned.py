"""Classical machine learning (``ai.onnx.ml``) beside onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.convert.onnx_build import OnnxModel, assert_close, expected
from tests.convert.test_onnx_errors import refused
from tinyrt.api import open_model
from tinyrt.convert.onnx.learned import DOMAIN
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.interpreter import Model

FEATURES, CLASSES = 4, 3


def saved(m: OnnxModel, folder, *outputs, labels=()):
    model = m.model(*outputs)
    for output in model.graph.output:
        kind = onnx.TensorProto.INT64 if output.name in labels else onnx.TensorProto.FLOAT
        output.type.tensor_type.elem_type = kind
    model.opset_import.append(helper.make_opsetid(DOMAIN, 3))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def scaled(m: OnnxModel, count: int = FEATURES) -> str:
    numbers = {name: m.rng.uniform(0.5, 2, count).tolist() for name in ("offset", "scale")}
    return m.op("Scaler", m.input(1, FEATURES), domain=DOMAIN, **numbers)


def classified(m: OnnxModel, x: str, **attrs) -> str:
    attrs = {"classlabels_ints": [0, 1, 2], "post_transform": "SOFTMAX"} | attrs
    weights = m.rng.normal(size=CLASSES * FEATURES).tolist()
    given = {"coefficients": weights, "intercepts": m.rng.normal(size=CLASSES).tolist()}
    given = {name: value for name, value in (given | attrs).items() if value != []}
    return m.op("LinearClassifier", x, outputs=2, domain=DOMAIN, **given)


@pytest.mark.parametrize("after", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("count", [1, FEATURES])
def test_a_scaled_classifier(after, count, tmp_path):
    m = OnnxModel(15)
    label = classified(m, scaled(m, count), post_transform=after)
    path = saved(m, tmp_path, label, f"{label}_1", labels=[label])
    graph = open_model(path)
    for x in np.random.default_rng(0).normal(size=(8, 1, FEATURES)).astype(np.float32):
        want, scores = expected(path, {"x": x})
        found = Model(graph).run({"x": x})
        np.testing.assert_array_equal(found[label], want)
        assert_close(found[f"{label}_1"], scores, 1e-4)


def test_scores_alone_of_named_classes_and_a_regressor_of_scaled_integers(tmp_path):
    m = OnnxModel(15)
    x = m.input(1, FEATURES, dtype=onnx.TensorProto.INT64)
    scaled = m.op("Scaler", x, domain=DOMAIN, offset=[2.0], scale=[0.5])
    names = {"classlabels_ints": [], "classlabels_strings": ["a", "b", "c"]}
    label = classified(m, scaled, **names)
    weights = m.rng.normal(size=2 * FEATURES).tolist()
    y = m.op("LinearRegressor", scaled, domain=DOMAIN, targets=2, coefficients=weights)
    z = m.op("LinearRegressor", scaled, domain=DOMAIN, coefficients=weights[:4], intercepts=[0.5])
    path = saved(m, tmp_path, f"{label}_1", y, z)
    ids = np.array([[1, 5, 0, 2]])
    found = Model(open_model(path)).run({"x": ids.astype(np.int32)})
    for answer, want in zip(found.values(), expected(path, {"x": ids}), strict=True):
        assert_close(answer, want, 1e-4)


REFUSED = {
    "named labels": (
        lambda m: classified(m, m.input(1, 4), classlabels_strings=["a"] * 3, classlabels_ints=[]),
        *(UnsupportedError, "the labels [a, a, a]", "the place of the greatest score"),
    ),
    "one row for two classes": (
        lambda m: classified(m, m.input(1, 4), classlabels_ints=[0, 1], intercepts=[0.5]),
        *(UnsupportedError, "1 rows of coefficients for 2 classes", "a row for each class"),
    ),
    "missing weights": (
        lambda m: classified(m, m.input(1, 5)),
        *(ModelFormatError, "'coefficients' has 12 numbers", "onnx.checker"),
    ),
    "an image": (
        lambda m: m.op("Scaler", m.input(1, 2, 2), domain=DOMAIN, offset=[0.0], scale=[1.0]),
        *(UnsupportedError, "Scaler of f32[1,2,2]", "reshape the input"),
    ),
    "trees": (
        lambda m: m.op("TreeEnsembleRegressor", m.input(1, 4), domain=DOMAIN),
        *(UnsupportedError, "ai.onnx.ml.TreeEnsembleRegressor", "a small network"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_models_are_refused_with_what_to_do(name, tmp_path):
    build, kind, problem, hint = REFUSED[name]
    m = OnnxModel(15)
    label = build(m)
    assert hint in refused(saved(m, tmp_path, label, labels=[label]), kind, problem).hint
