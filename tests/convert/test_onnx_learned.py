"""Classical machine learning (``ai.onnx.ml``) beside onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.convert.onnx_build import OnnxModel, assert_close, expected
from tests.convert.test_onnx_errors import refused
from tinyrt.api import open_model
from tinyrt.convert.onnx.features import DOMAIN
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
    after = {"post_transform": "SOFTMAX"}
    y = m.op("LinearRegressor", scaled, domain=DOMAIN, targets=2, coefficients=weights, **after)
    z = m.op("LinearRegressor", scaled, domain=DOMAIN, coefficients=weights[:4], intercepts=[0.5])
    path = saved(m, tmp_path, f"{label}_1", y, z)
    ids = np.array([[1, 5, 0, 2]])
    found = Model(open_model(path)).run({"x": ids.astype(np.int32)})
    for answer, want in zip(found.values(), expected(path, {"x": ids}), strict=True):
        assert_close(answer, want, 1e-4)


LABELS = {"classlabels_int64s": [0, 1, 2]}


def named(m: OnnxModel, scores: str, classes: str) -> tuple[str, str]:
    """The label and the scores of each class, as scikit-learn's exporter writes a classifier."""
    place = m.op("ArgMax", scores, axis=1)
    label = m.op("ArrayFeatureExtractor", classes, place, domain=DOMAIN)
    label = m.op("Cast", m.op("Reshape", label, m.ints(-1)), to=onnx.TensorProto.INT64)
    return label, m.op("ZipMap", scores, domain=DOMAIN, **LABELS)


def test_picked_features_named_classes_and_maps_of_scores(tmp_path):
    m = OnnxModel(15)
    x = m.input(1, FEATURES)
    picked = m.op("ArrayFeatureExtractor", x, m.ints(3, 0, 2, 0), domain=DOMAIN)
    scores = m.op("MatMul", picked, m.weights(FEATURES, CLASSES))
    label, answers = named(m, scores, m.const([0, 1, 2], np.int32))
    path = saved(m, tmp_path, label, answers, labels=[label])
    model = Model(open_model(path))
    kinds = set()
    for x in np.random.default_rng(0).normal(size=(16, 1, FEATURES)).astype(np.float32):
        found = model.run({"x": x})
        ids, wanted = scored(path, label, scores, x)
        np.testing.assert_array_equal(found[label], ids)
        assert_close(found[answers], wanted, 1e-5)
        kinds.add(int(ids[0]))
    assert kinds == {0, 1, 2}


def scored(path, label, scores, x):
    """What onnxruntime answers for two tensors; it has no sequences of maps here."""
    model = onnx.load(str(path))
    (index,) = (i for i, node in enumerate(model.graph.node) if node.op_type == "ZipMap")
    del model.graph.node[index], model.graph.output[1]
    model.graph.output.append(helper.make_tensor_value_info(scores, onnx.TensorProto.FLOAT, None))
    path = path.with_name("scores.onnx")
    path.write_bytes(model.SerializeToString())
    return expected(path, {"x": x})


@pytest.mark.parametrize("norm", ["L1", "L2"])
def test_rows_divided_by_their_norm_and_features_above_a_threshold(norm, tmp_path):
    m = OnnxModel(15)
    x = m.input(1, FEATURES)
    share = m.op("Normalizer", x, domain=DOMAIN, norm=norm)
    above = m.op("Binarizer", x, domain=DOMAIN, threshold=0.5)
    path = saved(m, tmp_path, share, above)
    model = Model(open_model(path))
    for row in ([[1.0, -3.0, 0.5, 0.25]], [[0.0, 0.0, 0.0, 0.0]]):
        x = np.asarray(row, np.float32)
        for found, want in zip(model.run({"x": x}).values(), expected(path, {"x": x}), strict=True):
            assert_close(found, want, 1e-6)


def test_shares_of_a_softmax_are_not_divided_again(tmp_path):
    m = OnnxModel(15)
    label = classified(m, m.input(1, FEATURES))
    divided = {n: m.op("Normalizer", f"{label}_1", domain=DOMAIN, norm=n) for n in ("L1", "L2")}
    ops = [node.op for node in open_model(saved(m, tmp_path, divided["L1"])).nodes]
    assert ops == ["fully_connected", "softmax"]
    assert "div" in [node.op for node in open_model(saved(m, tmp_path, divided["L2"])).nodes]


def text_labels(m: OnnxModel) -> str:
    m.constants.append(
        helper.make_tensor("names", onnx.TensorProto.STRING, [3], [b"a", b"b", b"c"])
    )
    return named(m, m.op("Relu", m.input(1, CLASSES)), "names")[0]


REFUSED = {
    "named labels": (
        lambda m: classified(m, m.input(1, 4), classlabels_strings=["a"] * 3, classlabels_ints=[]),
        *(UnsupportedError, "the labels [a, a, a]", "the place of the greatest score"),
    ),
    "labels from 1": (
        lambda m: named(m, m.op("Relu", m.input(1, 3)), m.const([1, 2, 3], np.int32))[0],
        *(UnsupportedError, "the labels [1, 2, 3]", "LabelEncoder"),
    ),
    "labels of text": (text_labels, UnsupportedError, "element type STRING", "LabelEncoder"),
    "a feature too far": (
        lambda m: m.op("ArrayFeatureExtractor", m.input(1, 4), m.ints(0, 4), domain=DOMAIN),
        *(ModelFormatError, "features [0, 4] of f32[1,4]", "onnx.checker"),
    ),
    "a negative feature": (
        lambda m: m.op("ArrayFeatureExtractor", m.input(1, 4), m.ints(-1), domain=DOMAIN),
        *(ModelFormatError, "features [-1] of f32[1,4]", "onnx.checker"),
    ),
    "no features": (
        lambda m: m.op("ArrayFeatureExtractor", m.input(1, 4), m.ints(), domain=DOMAIN),
        *(ModelFormatError, "features [] of f32[1,4]", "onnx.checker"),
    ),
    "computed features": (
        lambda m: m.op(
            *("ArrayFeatureExtractor", m.input(1, 4), m.op("ArgMax", "x", axis=1)), domain=DOMAIN
        ),
        *(UnsupportedError, "which features are picked depends", "fixed shapes"),
    ),
    "the greatest as norm": (
        lambda m: m.op("Normalizer", m.input(1, 4), domain=DOMAIN),
        *(UnsupportedError, "Normalizer by MAX", "MaxAbsScaler"),
    ),
    "support vectors": (
        lambda m: f"{m.op('SVMClassifier', m.input(1, 4), outputs=2, domain=DOMAIN)}_1",
        *(UnsupportedError, "ai.onnx.ml.SVMClassifier", "LinearSVC"),
    ),
    "missing values": (
        lambda m: m.op("Imputer", m.input(1, 4), domain=DOMAIN),
        *(UnsupportedError, "ai.onnx.ml.Imputer", "no NaN"),
    ),
    "categories": (
        lambda m: m.op("OneHotEncoder", m.input(1, 4), domain=DOMAIN),
        *(UnsupportedError, "ai.onnx.ml.OneHotEncoder", "let it take numbers"),
    ),
    "text": (
        lambda m: m.op("LabelEncoder", m.input(1, 4), domain=DOMAIN),
        *(UnsupportedError, "ai.onnx.ml.LabelEncoder", "let it take numbers"),
    ),
    "an op of another kind": (
        lambda m: m.op("FeatureVectorizer", m.input(1, 4), domain=DOMAIN),
        *(UnsupportedError, "ai.onnx.ml.FeatureVectorizer", "export the part before them"),
    ),
    "trees and their scores": (
        lambda m: f"{m.op('TreeEnsembleClassifier', m.input(1, 4), outputs=2, domain=DOMAIN)}_1",
        *(UnsupportedError, "ai.onnx.ml.TreeEnsembleClassifier", "a small network"),
    ),
    "one row for two classes": (
        lambda m: classified(m, m.input(1, 4), classlabels_ints=[0, 1], intercepts=[0.5]),
        *(UnsupportedError, "1 rows of coefficients for 2 classes", "a row for each class"),
    ),
    "missing weights": (
        lambda m: classified(m, m.input(1, 5)),
        *(ModelFormatError, "'coefficients' has 12 numbers", "onnx.checker"),
    ),
    "no weights": (
        lambda m: m.op("LinearRegressor", m.input(1, 4), domain=DOMAIN, intercepts=[0.5]),
        *(ModelFormatError, "'coefficients' has 0 numbers", "onnx.checker"),
    ),
    "no scale": (
        lambda m: m.op("Scaler", m.input(1, 4), domain=DOMAIN, offset=[1.0]),
        *(ModelFormatError, "'scale' has 0 numbers", "onnx.checker"),
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
