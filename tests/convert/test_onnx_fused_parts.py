"""Parts of what onnxruntime fuses that differ in size, and attributes that few files have."""

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel, assert_close, assert_matches, expected
from tests.convert.test_onnx_errors import refused
from tests.convert.test_onnx_fused import I32, fused, saved
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.errors import UnsupportedError
from tinyrt.ops.shared.evaluate import evaluate


def attention(m, *rest, keys=(1, 5, 8), values=(1, 5, 8), **attrs):
    parts = m.input(1, 3, 8), m.input(*keys, name="k"), m.input(*values, name="v")
    return fused(m, "MultiHeadAttention", *parts, *rest, num_heads=2, **attrs)


SAME = {
    "a convolution in groups, between whose taps there are others": lambda m: fused(
        m,
        "FusedConv",
        *(m.input(1, 4, 9, 8), m.weights(6, 2, 3, 3), m.weights(6)),
        **{"group": 2, "dilations": [2, 1], "activation": "Relu"},
    ),
    "values of another size, each with its part of a bias": lambda m: attention(
        m, m.weights(20), values=(1, 5, 4)
    ),
    "a bias on scores": lambda m: attention(m, m.weights(24), "", m.weights(1, 2, 3, 5)),
    "what was before": lambda m: attention(
        m, keys=(1, 3, 8), values=(1, 3, 8), unidirectional=1, scale=0.3
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_it_answers_as_onnxruntime(name, tmp_path):
    m = OnnxModel(18)
    assert_matches(saved(m, SAME[name](m), tmp_path), tolerance=2e-5)


def test_a_norm_of_embeddings_has_its_own_epsilon(tmp_path):
    m = OnnxModel(18)
    tables, norm = (m.weights(6, 4), m.weights(5, 4)), (m.weights(4), m.weights(4))
    ids = m.input(1, 3, name="ids", dtype=I32)
    y = fused(m, "EmbedLayerNormalization", ids, "", *tables, "", *norm, epsilon=0.5, outputs=2)
    path, feeds = saved(m, y, tmp_path), {"ids": np.array([[5, 0, 2]], np.int32)}
    (found,) = evaluate(read_onnx(path), feeds).values()
    assert_close(found, expected(path, feeds)[0])


REFUSED = {
    "a batch that is turned on the right": (
        "turns the dimensions of the batch",
        lambda m: fused(m, "FusedMatMul", m.input(2, 4), m.weights(4, 5), transBatchB=1),
    ),
    "keys of four dimensions": (
        "MultiHeadAttention of [(1, 3, 8), (1, 2, 5, 4), (1, 5, 8)]",
        lambda m: attention(m, keys=(1, 2, 5, 4)),
    ),
    "keys of earlier runs": (
        "MultiHeadAttention with the input 'past'",
        lambda m: attention(m, "", "", "", m.input(1, 2, 4, 4, name="past")),
    ),
    "fewer queries than keys, of which some are to come": (
        "unidirectional MultiHeadAttention of 3 queries and 5 keys",
        lambda m: attention(m, unidirectional=1),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name, tmp_path):
    told, build = REFUSED[name]
    m = OnnxModel(18)
    refused(saved(m, build(m), tmp_path), UnsupportedError, told)
