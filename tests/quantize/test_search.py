"""Ranges are varied together where tensors share them, one by one where they do not."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tinyrt.ir import QParams
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.quantize import QuantConfig, Scheme, calibrate, pipeline, quantize_graph
from tinyrt.quantize.calibration.search import (
    MIN_GAIN_DB,
    narrower,
    search_ranges,
    search_samples,
)
from tinyrt.quantize.pipeline import Prepared
from tinyrt.quantize.plan import make_plan
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.simulate import Simulator


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


@pytest.mark.parametrize(
    ("low", "high", "count"), [(-3, 2, 9), (0, 2, 5), (1, 2, 5), (-3, 0, 5), (-3, -1, 5)]
)
def test_no_narrower_range_is_tried_twice(low, high, count):
    """Each end by itself where both are away from zero, which all ranges hold."""
    found = narrower(("x",), Range(low, high))
    assert len({each.with_zero() for each in found}) == len(found) == count


class Scripted:
    """A simulator whose runs have the SQNR of a script, one after the other."""

    def __init__(self, graph, *script):
        self.graph, self._script = graph, iter(script)

    def run(self, activations, weights, live=None, names=()):
        return dict.fromkeys(activations, next(self._script))

    def sqnr_db(self, live):
        return live["x"]


@pytest.mark.parametrize(
    ("script", "taken"),
    [
        ((30.0, 30.0 + 0.9 * MIN_GAIN_DB, 30.0), None),
        ((30.0, 30.0 + 1.1 * MIN_GAIN_DB, 30.0), 0),
        ((30.0, 29.0, 31.0), 1),
        # What was gained before is what the next one has to exceed.
        ((30.0, 31.0, 31.0 + 0.9 * MIN_GAIN_DB), 0),
        ((30.0, 31.0, 31.0 + 1.1 * MIN_GAIN_DB), 1),
    ],
)
def test_a_range_is_changed_for_more_than_the_samples_tell(script, taken):
    b = Builder((1, 8))
    graph = b.graph(b.op("reshape", ("x",), ReshapeAttrs((8,))))
    ranges = calibrate(graph, np.linspace(-1, 1, 512, dtype=np.float32).reshape(64, 8))
    candidates = [Range(-0.5, 0.5), Range(-0.25, 0.25)]
    plan, told = make_plan(graph, ranges), []
    found = search_ranges(
        Scripted(graph, *script),
        plan,
        ranges,
        lambda names, start: candidates,
        lambda *done: told.append(done),
    )
    assert told == [(1, 1)]
    for name in ("x", *graph.outputs):
        assert found[name] == (ranges[name] if taken is None else candidates[taken])


@pytest.mark.parametrize(
    ("channels", "samples"), [(0, 128), (1, 128), (2, 117), (10, 23), (14, 16), (40, 16)]
)
def test_large_models_are_searched_with_fewer_samples(channels, samples):
    """A layer of 1.28 million products for each channel."""
    b = Builder((1, 100, 100, 8))
    w = b.constant(np.ones((channels, 4, 4, 8), np.float32)) if channels else None
    graph = b.graph(b.op("conv2d", ("x", w), Conv2dAttrs()) if w else b.op("tanh", ("x",)))
    assert search_samples(graph) == samples


@pytest.mark.parametrize("shares", [(1.0, 0.1), (0.1, 1.0), (0.1, 0.5, 0.2)])
def test_of_several_plans_the_nearest_to_the_float_model_is_taken(shares):
    """Ranges that cut values off are further away, the more of them they cut."""
    b = Builder((1, 4))
    graph, config = b.graph(b.op("abs", ("x",))), QuantConfig()
    x = np.random.default_rng(0).uniform(-1, 1, (32, 4)).astype(np.float32)
    plan = make_plan(graph, calibrate(graph, x), config)
    plans = [
        replace(plan, activations=dict.fromkeys(plan.activations, QParams((share / 127,), 0)))
        for share in shares
    ]
    prepared = Prepared(graph, {}, {"x": x}, None, config)
    found = prepared._nearest([(config, each) for each in plans])
    assert found is plans[shares.index(max(shares))]


def test_of_a_model_only_what_depends_on_a_change_is_computed_again():
    """A search changes one tensor after the other."""
    computed = []

    class Noting(Simulator):
        def compute(self, node, *others):
            computed.append(node.output.name)
            return super().compute(node, *others)

    graph = small_cnn()
    x = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype(np.float32)
    simulator, names = Noting(graph, {"x": x}), [node.output for node in graph.nodes]
    assert computed == names
    for i in (0, 3, len(names) - 1):
        computed.clear()
        simulator.run({}, {}, simulator.reference, (names[i],))
        assert computed == names[i:]
