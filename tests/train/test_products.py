"""Products with Jacobians and Hessians, beside matrices and finite differences."""

import numpy as np
import pytest

from tests.train.build import in_float64, leaf
from tinyrt.errors import DataError, GradientError, ShapeError
from tinyrt.train import Tensor, cross_entropy, hvp, jvp, no_grad, parameter_hvp
from tinyrt.train.nn import BatchNorm, Linear, Module, Sequential, Tanh


def test_jvp_and_hvp_agree_with_matrices():
    rng = np.random.default_rng(0)
    a, v = rng.normal(size=(3, 3)), rng.normal(size=(1, 3))
    x = leaf(rng, 1, 3)
    value, along = jvp(lambda x: (x @ a).exp(), [x], [v])
    np.testing.assert_allclose(value.data, np.exp(x.data @ a))
    np.testing.assert_allclose(along.data, np.exp(x.data @ a) * (v @ a))
    (product,) = hvp(lambda x: (x @ a @ x.transpose(1, 0)).sum(), [x], [v])
    np.testing.assert_allclose(product.data, v @ (a + a.T))
    with no_grad():
        (again,) = hvp(lambda x: (x @ a @ x.transpose(1, 0)).sum(), [x], [v])
    np.testing.assert_array_equal(again.data, product.data)
    (nothing,) = hvp(lambda x: x.sum(), [x], [v])
    assert not nothing.data.any()
    for product in (jvp, hvp):
        with pytest.raises(ShapeError, match=r"\(2,\)[\s\S]*\(1, 3\)"):
            product(lambda x: x.exp().sum(), [x], [np.ones(2)])
        with pytest.raises(GradientError, match=r"none of the inputs|does not influence"):
            product(lambda x: Tensor(1.0), [x], [v])


class WithSpare(Module):
    """One layer that nothing reads."""

    def __init__(self, rng):
        self.used = Sequential(Linear(3, 4, rng=rng), BatchNorm(4), Tanh(), Linear(4, 2, rng=rng))
        self.spare = Linear(2, 2, rng=rng)

    def forward(self, x):
        return self.used(x)


def problem():
    rng = np.random.default_rng(0)
    net = in_float64(WithSpare(rng))
    x, y = Tensor(rng.normal(size=(6, 3))), rng.integers(0, 2, 6)
    vectors = {name: rng.normal(size=p.shape) for name, p in net.named_parameters()}
    return net, lambda: cross_entropy(net(x), y), vectors


def test_the_product_is_the_slope_of_the_gradient():
    """Of all parameters together, moved along the vectors."""
    net, loss, vectors = problem()
    start, step, slopes = net.state_dict(), 1e-5, []
    for sign in (1, -1):
        for name, p in net.named_parameters():
            p.data, p.grad = start[name] + sign * step * vectors[name], None
        loss().backward()
        slopes.append({name: p.grad for name, p in net.named_parameters()})
    net.load_state_dict(start)
    for p in net.parameters():
        p.grad = None
    with no_grad():
        products = parameter_hvp(net, loss, vectors)
    assert list(products) == list(vectors)
    assert all(p.grad is None for p in net.parameters())
    for name, product in products.items():
        if name.startswith("spare"):
            assert not product.data.any()
            assert product.shape == vectors[name].shape
        else:
            slope = (slopes[0][name] - slopes[1][name]) / (2 * step)
            np.testing.assert_allclose(product.data, slope, rtol=1e-5, atol=1e-8)
    assert np.abs(products["used.0.weight"].data).max() > 1e-3


def test_vectors_are_taken_by_name_in_any_order():
    net, loss, vectors = problem()
    with no_grad():
        products = parameter_hvp(net, loss, vectors)
        others = parameter_hvp(net, loss, dict(reversed(vectors.items())))
    assert list(others) == list(products)
    for name, product in products.items():
        np.testing.assert_array_equal(others[name].data, product.data)


def test_statistics_are_followed_once():
    net, loss, vectors = problem()
    start = net.state_dict()
    parameter_hvp(net, loss, vectors)
    mean = net.state_dict()["used.1.mean"]
    net.load_state_dict(start)
    loss()
    np.testing.assert_array_equal(net.state_dict()["used.1.mean"], mean)


def test_a_parameter_that_is_held_still_is_a_constant():
    net, loss, vectors = problem()
    weight = net.used.layers["0"].weight
    weight.requires_grad = False
    products = parameter_hvp(net, loss, vectors)
    assert not products["used.0.weight"].data.any()
    none = {**vectors, "used.0.weight": np.zeros(weight.shape)}
    weight.requires_grad = True
    others = parameter_hvp(net, loss, none)["used.3.weight"]
    np.testing.assert_allclose(products["used.3.weight"].data, others.data)


def test_vectors_and_losses_that_do_not_fit_are_refused():
    net, loss, vectors = problem()
    less = {name: v for name, v in vectors.items() if name != "spare.bias"}
    with pytest.raises(DataError, match=r"missing \['spare.bias'\], unknown \['other'\]"):
        parameter_hvp(net, loss, {**less, "other": 1.0})
    with pytest.raises(DataError, match=r"missing \['spare.bias'\], unknown \[\]"):
        parameter_hvp(net, loss, less)
    with pytest.raises(DataError, match=r"missing \[\], unknown \['other'\]"):
        parameter_hvp(net, loss, {**vectors, "other": 1.0})
    with pytest.raises(ShapeError, match=r"\(5,\)[\s\S]*\(2,\)"):
        parameter_hvp(net, loss, {**vectors, "used.3.bias": np.ones(5)})
    with pytest.raises(GradientError, match="none of the inputs"):
        parameter_hvp(net, lambda: Tensor(1.0), vectors)
    with pytest.raises(GradientError, match="backward from a tensor of 12 elements"):
        parameter_hvp(net, lambda: net(Tensor(np.ones((6, 3)))), vectors)
