"""A model of two widths: mixed while its gates are open, and as any other once it is settled."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.train.pipeline.made import learned
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.ir import DType
from tinyrt.memory import schedule
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.train import Tensor, trace
from tinyrt.train.core.tensor import no_grad
from tinyrt.train.nn import Conv2d, ConvTranspose2d, Sequential
from tinyrt.train.qat import QatConfig, QatModel, Scales
from tinyrt.train.widths.gates import Gates
from tinyrt.train.widths.model import TwoWidthModel


def two_widths():
    graph, x, _ = learned()
    return TwoWidthModel(optimize(graph), x[:40], source=graph), x


def answers(model, x):
    with model.evaluating(), no_grad():
        return model(Tensor(x)).data


@pytest.mark.parametrize("narrow", [(), (1,), (0, 2), (0, 1, 2)])
def test_settled_it_is_the_model_of_these_widths(narrow):
    model, x = two_widths()
    names = [list(model.nodes_of)[i] for i in narrow]
    model.settle(names)
    outputs = frozenset(output for name in names for output in model.nodes_of[name])
    config = QatConfig(weight_scales=Scales.LSQ, int4_layers=outputs)
    graph, _, _ = learned()
    other = QatModel(optimize(graph), x[:40], source=graph, config=config)
    np.testing.assert_array_equal(answers(model, x), answers(other, x))
    assert write_tflite(schedule(model.deployed())) == write_tflite(schedule(other.deployed()))
    assert model.state_dict().keys() == other.state_dict().keys()


@pytest.mark.parametrize("narrow", [False, True])
def test_gates_that_have_decided_give_the_settled_answers(narrow):
    model, x = two_widths()
    names = list(model.nodes_of)
    gates = Gates([10] * 3, 29, [1.0] * 3)
    gates.room = replace(gates.room, left=1e-6 if narrow else 30 - 1e-6)
    model.open(names, gates)
    open_ones = answers(model, x)
    model.settle(names if narrow else ())
    settled = answers(model, x)
    step = np.abs(np.diff(np.unique(settled))).min()
    # Floats sum up in another order than integers: some round otherwise on the way.
    assert np.abs(open_ones - settled).max() <= 6 * step
    model.settle(() if narrow else names)
    assert np.abs(open_ones - answers(model, x)).max() > 6 * step


def test_open_layers_have_scales_of_both_widths_and_learn_all():
    model, x = two_widths()
    before = set(model.state_dict())
    first, second, third = model.nodes_of
    gates = Gates([64, 272], 100, [1.0, 1.0])
    model.open([first, third], gates)
    added = set(model.state_dict()) - before
    assert added == {f"{n}.narrow.log_scales" for n in (first, third)} | {"gates.log_worth"}
    model.train()
    (model(Tensor(x[:8])) ** 2).sum().backward()
    assert all(p.grad is not None and np.any(p.grad) for p in model.parameters())
    model.settle(())
    assert set(model.state_dict()) == before
    del second


def test_a_layer_that_is_applied_twice_has_one_width():
    b = Builder((1, 4))
    w = b.constant(np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32))
    one = b.op("fully_connected", ("x", w), FullyConnectedAttrs())
    two = b.op("fully_connected", (one, w), FullyConnectedAttrs())
    x = np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32)
    model = TwoWidthModel(b.graph(two), x)
    assert list(model.nodes_of.values()) == [[one, two]]
    model.settle(model.nodes_of)
    weights = [n.input(1) for n in model.deployed().bound() if n.op == "fully_connected"]
    assert {v.dtype for v in weights} == {DType.INT4}
    assert len({v.name for v in weights}) == 1


def test_layers_without_a_narrow_form_keep_their_width():
    """Convolutions that enlarge have weights of eight bits alone."""
    rng = np.random.default_rng(0)
    net = Sequential(Conv2d(2, 4, 3, rng=rng), ConvTranspose2d(4, 3, 2, stride=2, rng=rng))
    x = rng.normal(size=(40, 4, 4, 2)).astype(np.float32)
    graph = trace(net, x.shape[1:])
    model = TwoWidthModel(optimize(graph), x, source=graph)
    assert len(model.nodes_of) == 1
    model.settle(list(model.nodes_of))
    widths = {
        node.op: node.input(1).dtype
        for node in model.deployed().bound()
        if node.op in ("conv2d", "transpose_conv")
    }
    assert widths == {"conv2d": DType.INT4, "transpose_conv": DType.INT8}
