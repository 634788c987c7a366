"""Ranges are varied together where tensors share them, one by one where they do not."""

import numpy as np

from tests.graphs import Builder
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.quantize import QuantConfig, Scheme, pipeline, quantize_graph


def test_steps_of_int16_are_fine_enough_as_they_are(monkeypatch):
    """Only tensors of int8 are varied; in a mixed model, those alone."""
    b = Builder((1, 8))
    y = b.op("tanh", (b.op("abs", ("x",)),))
    graph, varied, narrower = b.graph(y), set(), pipeline.narrower

    def seen(names, start):
        varied.update(names)
        return narrower(names, start)

    monkeypatch.setattr(pipeline, "narrower", seen)
    x = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    quantize_graph(graph, x, QuantConfig(scheme=Scheme.INT16X8, tune_ranges=True))
    assert varied == set()
    quantize_graph(graph, x, QuantConfig(tune_ranges=True))
    assert varied


def test_tensors_that_share_a_range_with_a_constant_are_varied_with_it(monkeypatch):
    """Constants alone are left out: their range is known."""
    b = Builder((1, 8))
    c = b.constant(np.linspace(-1, 3, 8, dtype=np.float32).reshape(1, 8))
    joined = b.op("concatenation", ("x", c), ConcatenationAttrs(1))
    graph = b.graph(b.op("abs", (joined,)))
    varied, narrower = [], pipeline.narrower

    def seen(names, start):
        varied.append(set(names))
        return narrower(names, start)

    monkeypatch.setattr(pipeline, "narrower", seen)
    x = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    quantize_graph(graph, x, QuantConfig(tune_ranges=True))
    assert varied == [{"x", joined, c}, {*graph.outputs}]
