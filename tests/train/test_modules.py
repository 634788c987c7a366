"""What belongs to a module: found wherever it stands, once, or refused."""

import numpy as np
import pytest

from tinyrt.errors import GradientError, ShapeError
from tinyrt.train import SGD, Tensor, checkpoint, trace
from tinyrt.train.nn import (
    BatchNorm,
    Buffer,
    LayerNorm,
    Linear,
    Module,
    Parameter,
    ReLU,
    Residual,
    Sequential,
)


class Towers(Module):
    """Parts in a list, a tuple and a dict, one in the other."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.blocks = [Linear(3, 3, rng=rng), Linear(3, 3, rng=rng)]
        self.heads = {"near": (Linear(3, 2, rng=rng),), 7: Linear(3, 2, rng=rng)}
        self.scales = [Parameter(np.ones(3, np.float32)), Buffer(np.ones(3, np.float32)), "text"]

    def forward(self, x):
        for block in self.blocks:
            x = block(x) * self.scales[0]
        return self.heads["near"][0](x) + self.heads[7](x)


def test_parts_are_found_in_lists_tuples_and_dicts():
    towers = Towers()
    layers = ["blocks.0", "blocks.1", "heads.near.0", "heads.7"]
    assert [name for name, _ in towers.named_modules()] == ["", *layers]
    below = [f"net.{layer}" for layer in layers]
    assert [name for name, _ in towers.named_modules("net")] == ["net", *below]
    own = ["scales.0", "scales.1"]
    weights = [f"{layer}.{part}" for layer in layers for part in ("weight", "bias")]
    assert list(towers.state_dict()) == [*own, *weights]
    towers.train(False)
    assert not towers.heads["near"][0].training
    graph = trace(towers, (3,))
    assert {"blocks.0", "blocks.1", "heads.near.0", "heads.7"} < {n.name for n in graph.nodes}
    assert graph.value("scales.0").is_constant


def test_a_module_under_two_names_steps_once():
    layer = Linear(3, 3, rng=np.random.default_rng(0))
    twice = Sequential(layer, layer)
    assert [name for name, _ in twice.named_parameters()] == ["0.weight", "0.bias"]
    assert [m for _, m in twice.named_modules()] == [twice, layer]
    before = layer.weight.data.copy()
    twice(Tensor(np.ones((1, 3)))).sum().backward()
    gradient = layer.weight.grad
    SGD(twice.parameters(), 0.1).step()
    np.testing.assert_allclose(layer.weight.data, before - np.float32(0.1) * gradient)


def test_tied_parameters_come_once_and_get_their_whole_gradient():
    rng = np.random.default_rng(0)
    tied = Sequential(Linear(3, 3, rng=rng, bias=False), Linear(3, 3, rng=rng, bias=False))
    tied.layers["1"].weight = tied.layers["0"].weight
    assert [name for name, _ in tied.named_parameters()] == ["0.weight"]
    x, found = Tensor(np.ones((2, 3))), []
    for run in (tied, lambda x: checkpoint(tied, x)):
        run(x).sum().backward()
        found.append(tied.layers["0"].weight.grad)
        tied.layers["0"].weight.grad = None
    np.testing.assert_allclose(*found)


def test_a_tensor_that_wants_a_gradient_must_be_a_parameter():
    layer = Linear(3, 3, rng=np.random.default_rng(0))
    layer.kept = layer(Tensor(np.ones((1, 3))))  # computed: no leaf
    layer.mask = Tensor(np.ones(3))
    layer.parameters()
    layer.gains = [Tensor(np.ones(3), requires_grad=True)]
    text = r"'body\.gains\.0' wants a gradient[^$]*\(3,\)[^$]*write self\.gains = Parameter\(arr"
    for use in (Module.parameters, Module.state_dict, lambda m: trace(m, (3,))):
        with pytest.raises(GradientError, match=text):
            use(Residual(layer))


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (Linear(4, 2, rng=np.random.default_rng(0)), (8, 9)),
        (Linear(4, 2, rng=np.random.default_rng(0)), (3, 8)),
        (Linear(4, 2, rng=np.random.default_rng(0)), (8, 2, 2)),
        (BatchNorm(4), (8, 1)),
        (LayerNorm(4), (8, 1)),
        (LayerNorm(1), (8, 4)),
    ],
)
def test_layers_refuse_another_last_dimension(layer, shape):
    kind, count = type(layer).__name__, layer.parameters()[0].shape[-1]
    text = rf"{kind} gets shape \({', '.join(map(str, shape))}\)\n[^$]*\(\.\.\., {count}\)"
    for mode in (True, False):
        layer.train(mode)
        with pytest.raises(ShapeError, match=text):
            layer(Tensor(np.ones(shape)))


def test_chains_are_lists_of_layers_by_position_and_name():
    rng = np.random.default_rng(0)
    chain = Sequential(first=Linear(3, 3, rng=rng), act=ReLU(), last=Linear(3, 2, rng=rng))
    assert len(chain) == 3
    assert list(chain) == [chain["first"], chain["act"], chain["last"]]
    assert chain[0] is chain["first"]
    assert chain[-1] is chain["last"]
    part = chain[1:]
    assert [name for name, _ in part.children()] == ["act", "last"]
    assert part[1] is chain["last"]
    with pytest.raises(IndexError):
        chain[3]


def test_modules_show_their_parts():
    rng = np.random.default_rng(0)
    net = Sequential(
        stem=Linear(3, 4, rng=rng), block=Residual(Sequential(BatchNorm(4))), act=ReLU()
    )
    assert (
        repr(net)
        == """Sequential(
  stem: Linear(weight (4, 3), bias (4,))
  block: Residual(
    body: Sequential(
      0: BatchNorm(gamma (4,), beta (4,), mean (4,), variance (4,))
    )
  )
  act: ReLU()
)"""
    )
    assert repr(Towers()).startswith("Towers(scales.0 (3,), scales.1 (3,)\n  blocks.0: Linear(")


def test_modes_and_gradients_are_set_for_the_whole_tree():
    net = Sequential(BatchNorm(3), Linear(3, 3, rng=np.random.default_rng(0)))
    assert net.eval() is net
    assert not any(m.training for _, m in net.named_modules())
    assert net.train() is net
    assert all(m.training for _, m in net.named_modules())
    net(Tensor(np.ones((2, 3)))).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
