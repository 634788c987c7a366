"""Norms that exporters write out end as the ops that ONNX's own norms become."""

from collections import Counter

import pytest

from tests.convert.onnx_build import OnnxModel, assert_matches


def layer_norm(m, x, whole):
    scale, bias = m.weights(8, low=0.5), m.weights(8)
    if whole:
        return m.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)
    centred = m.op("Sub", x, m.op("ReduceMean", x, axes=[-1]))
    variance = m.op("ReduceMean", m.op("Pow", centred, m.const(2.0)), axes=[-1])
    deviation = m.op("Sqrt", m.op("Add", variance, m.const(1e-5)))
    return m.op("Add", m.op("Mul", m.op("Div", centred, deviation), scale), bias)


def rms_norm(m, x, whole):
    scale = m.weights(8, low=0.5)
    if whole:
        return m.op("RMSNormalization", x, scale, axis=-1, epsilon=1e-5)
    square = m.op("ReduceMean", m.op("Mul", x, x), m.ints(-1))
    inverse = m.op("Reciprocal", m.op("Sqrt", m.op("Add", square, m.const(1e-5))))
    return m.op("Mul", m.op("Mul", x, inverse), scale)


@pytest.mark.parametrize(("norm", "opsets"), [(layer_norm, (17, 17)), (rms_norm, (23, 18))])
def test_a_norm_that_is_written_out(tmp_path, norm, opsets):
    found = []
    for whole, opset in zip((True, False), opsets, strict=True):
        m = OnnxModel(opset, seed=3)
        graph, _ = assert_matches(m.save(tmp_path, norm(m, m.input(2, 5, 8), whole)))
        found.append(Counter(node.op for node in graph.nodes))
    assert found[0] == found[1]
