"""Models of several inputs and outputs are trained for int8 as those of one."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.train.pipeline.test_run import QUICK
from tinyrt.convert.passes import optimize
from tinyrt.errors import DataError, DefectError
from tinyrt.interpreter.model import Model
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import PRESETS, Preset, quantize_graph
from tinyrt.train.ends import ends_of, mixes_samples
from tinyrt.train.pipeline.lessons import Kind, answers_at_ends
from tinyrt.train.pipeline.run import _Run, train_for_int8
from tinyrt.train.pipeline.samples import Samples


def two_heads(moves=False):
    """Two inputs; classes and a value. With ``moves`` it is not known to keep samples apart.

    Returns the graph, its inputs, classes and values.
    """
    rng = np.random.default_rng(2)
    b = Builder((1, 4), (1, 4))

    def dense(x, out, inner):
        w = b.constant(rng.normal(size=(out, inner)).astype(np.float32))
        return b.op("fully_connected", (x, w), FullyConnectedAttrs())

    h = b.op("mul", (dense("x", 8, 4), dense("x1", 8, 4)), MulAttrs())
    if moves:
        h = b.op("reshape", (h,), ReshapeAttrs((2, 1, 4)))
        h = b.op("pad", (h,), PadAttrs(((0, 0), (0, 0), (1, 1))))
        w = b.constant(rng.normal(size=(4, 6)).astype(np.float32))
        h = b.op("fully_connected", (h, w), FullyConnectedAttrs(keep_num_dims=True))
        h = b.op("reshape", (h,), ReshapeAttrs((1, 8)))
    classes = b.op("softmax", (dense(h, 3, 8),), SoftmaxAttrs())
    graph = b.graph(classes, dense(h, 1, 8))
    inputs = {n: rng.normal(size=(60, 4)).astype(np.float32) for n in ("x", "x1")}
    answers = Model(graph)(inputs)
    noisy = answers[graph.outputs[1]] + rng.normal(size=(60, 1))
    return graph, inputs, answers[graph.outputs[0]].argmax(axis=1), noisy


@pytest.mark.parametrize(
    "moves", [pytest.param(False, marks=pytest.mark.whole), True], ids=["together", "one by one"]
)
def test_two_inputs_and_two_heads(moves):
    graph, inputs, classes, values = two_heads(moves)
    labels = dict(zip(graph.outputs, (classes, values), strict=True))
    assert mixes_samples(optimize(graph)) == moves
    outcome = train_for_int8(graph, Samples(inputs, labels), QUICK)
    kinds = [(f.kind, f.measure, f.learns_from) for f in outcome.figures]
    assert kinds == [(Kind.CLASSES, "top1", "labels"), (Kind.VALUES, "mse", "labels")]
    assert [f.name for f in outcome.figures] == list(graph.outputs)
    assert outcome.figures[0].deployed > 0.7
    assert outcome.figures[1].deployed == pytest.approx(outcome.figures[1].trained, rel=1e-5)
    del labels[graph.outputs[0]]
    taught = train_for_int8(graph, Samples(inputs, labels), replace(QUICK, epochs=1))
    assert [f.learns_from for f in taught.figures] == ["teacher", "labels and teacher"]


@pytest.mark.parametrize("off", [0, 1])
def test_every_output_of_the_int8_graph_answers_as_in_training(off):
    graph, inputs, *labels = two_heads()
    samples = Samples(inputs, dict(zip(graph.outputs, labels, strict=True)))
    run = _Run(graph, samples, QUICK, None, print)
    int8 = quantize_graph(run.graph, inputs, PRESETS[Preset.FAST])
    answers = answers_at_ends(int8, run.samples.rows(run.held))
    run._deployed(int8, answers)
    answers[off][3] += int8.value(ends_of(int8)[off]).q.scale
    with pytest.raises(DefectError) as refused:
        run._deployed(int8, answers)
    assert refused.value.tensor == run.lessons[off].name


def test_a_state_is_of_the_labels_of_every_output(tmp_path):
    graph, inputs, classes, values = two_heads()
    setting = replace(QUICK, epochs=1, state_file=tmp_path / "s.npz")
    first = Samples(inputs, dict(zip(graph.outputs, (classes, values), strict=True)))
    train_for_int8(graph, first, setting)
    other = replace(first, labels=first.labels | {graph.outputs[1]: values + 1})
    with pytest.raises(DataError, match="the state is of another training, with data"):
        train_for_int8(graph, other, setting)


def test_a_state_is_of_the_answers_of_the_teacher(tmp_path):
    graph, inputs, *_ = two_heads()
    setting = replace(QUICK, epochs=1, state_file=tmp_path / "s.npz")
    train_for_int8(graph, Samples(inputs, {}), setting, teacher=graph)
    weights = next(v for v in graph.values.values() if v.is_constant)
    other = graph.with_nodes(graph.nodes, [replace(weights, data=weights.data * 2)])
    with pytest.raises(DataError, match="the state is of another training, with data"):
        train_for_int8(graph, Samples(inputs, {}), setting, teacher=other)


def test_logits_and_their_softmax_may_both_be_outputs():
    b = Builder((1, 4))
    w = b.constant(np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32))
    logits = b.op("fully_connected", ("x", w), FullyConnectedAttrs())
    graph = b.graph(logits, b.op("softmax", (logits,), SoftmaxAttrs()))
    x = np.random.default_rng(1).normal(size=(40, 4)).astype(np.float32)
    outcome = train_for_int8(graph, Samples({"x": x}, {}), QUICK)
    assert [f.measure for f in outcome.figures] == ["mse", "agreement"]
    assert outcome.figures[1].in_float == 1.0
