"""Two heads that learn together, traced to a graph with two outputs."""

import numpy as np
import pytest

from tinyrt.errors import ShapeError, UnsupportedError
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.train import SGD, Tensor, cross_entropy, trace
from tinyrt.train.early_exit import EarlyExit, joint_loss
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.nn import Linear, ReLU, Sequential


def net(weight=0.3):
    rng = np.random.default_rng(1)
    return EarlyExit(
        front=Sequential(dense=Linear(6, 8, rng=rng), relu=ReLU()),
        leave=Linear(8, 3, rng=rng),
        rest=Sequential(dense=Linear(8, 12, rng=rng), relu=ReLU(), scores=Linear(12, 3, rng=rng)),
        weight=weight,
    )


def data(count=90):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(count, 6)).astype(np.float32)
    return x, np.argmax(x[:, :3] + x[:, 3:] ** 2, axis=1)


def test_both_heads_are_outputs_of_the_graph_in_their_order():
    module, (x, _) = net(), data(5)
    graph = trace(module, (6,), outputs=module.both)
    leaves, stays = module.both(Tensor(x))
    for i in range(5):
        found = evaluate(graph, {"input": x[i : i + 1]})
        np.testing.assert_allclose(found[graph.outputs[0]][0], leaves.data[i], rtol=1e-5)
        np.testing.assert_allclose(found[graph.outputs[1]][0], stays.data[i], rtol=1e-5)
    assert [name.split(".")[0] for name in graph.outputs] == ["leave", "rest"]
    np.testing.assert_array_equal(module(Tensor(x)).data, stays.data)
    assert len(graph.nodes) == len(trace(module, (6,)).nodes) + 1


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_the_loss_weighs_both_heads(weight):
    module, (x, y) = net(weight), data(20)
    leaves, stays = (float(cross_entropy(s, y).data) for s in module.both(Tensor(x)))
    found = float(joint_loss(module, x, y).data)
    assert found == pytest.approx(weight * leaves + (1 - weight) * stays, rel=1e-6)
    assert abs(leaves - stays) > 0.01


def test_both_heads_learn_together():
    module, (x, y) = net(), data()
    before = [float(loss.data) for loss in module.losses(x, y)]
    optimizer = SGD(module.parameters(), 0.3)
    rng = np.random.default_rng(3)
    fit(module, optimizer, x, y, FitConfig(epochs=12, batch=16), rng=rng, objective=joint_loss)
    after = [float(loss.data) for loss in module.losses(x, y)]
    assert all(new < 0.7 * old for new, old in zip(after, before, strict=True))


@pytest.mark.parametrize("weight", [-0.1, 1.1])
def test_a_weight_is_a_share(weight):
    with pytest.raises(ShapeError, match=f"the exit's loss counts {weight}"):
        net(weight)


def test_the_joint_loss_is_of_a_network_with_an_exit():
    x, y = data(4)
    with pytest.raises(ShapeError, match="Linear has no exit"):
        joint_loss(Linear(6, 3, rng=np.random.default_rng(0)), x, y)


def test_an_output_twice_or_none_is_refused():
    module = net()
    with pytest.raises(UnsupportedError, match="gives 2 outputs"):
        trace(module, (6,), outputs=lambda x: (module.front(x),) * 2)
    with pytest.raises(UnsupportedError, match="gives 0 outputs"):
        trace(module, (6,), outputs=lambda x: ())
