"""Derivatives along a direction, which go with the values, beside those that come back."""

from functools import partial

import numpy as np
import pytest

from tests.ops.build import differentiable_ops, real_inputs
from tests.ops.cases import CASES, rng_of
from tests.sampling import sampled
from tests.train.build import in_float64, leaf
from tests.train.random_nets import random_net
from tinyrt.errors import GradientError, ShapeError
from tinyrt.floatmath.function import Function
from tinyrt.ops import OPS
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.train import Tensor, apply, checkpoint, cross_entropy, grad, jvp, no_grad
from tinyrt.train.forward_mode import SYMMETRIC, TERMS
from tinyrt.train.nn import BatchNorm, Linear, Sequential, Tanh

NETS = sampled((0, 2, 3), range(200))


def assert_adjoint(function, inputs, rng):
    """``<u, J v> = <u^T J, v>``, for random u and v of all inputs together and each by itself."""
    for chosen in (range(len(inputs)), *([i] for i in range(len(inputs)))):
        directions = [rng.normal(size=x.shape) * (i in list(chosen)) for i, x in enumerate(inputs)]
        value, along = jvp(function, inputs, directions)
        leaves = [Tensor(x.data, requires_grad=True) for x in inputs]
        output = function(*leaves)
        np.testing.assert_array_equal(value.data, output.data)
        assert along.data.dtype == output.data.dtype
        u = rng.normal(size=output.shape)
        output.backward(u)
        back = sum(
            float((x.grad * v).sum())
            for x, v in zip(leaves, directions, strict=True)
            if x.grad is not None
        )
        assert float((u * along.data).sum()) == pytest.approx(back, rel=1e-9, abs=1e-9)


def of_floats(op, attrs, arrays, *given):
    """The op of these floats; places and truth values are those of the arrays."""
    rest = iter(given)
    return apply(
        op,
        attrs,
        *(next(rest) if x.dtype.kind == "f" else Tensor(x, dtype=x.dtype) for x in arrays),
    )


@pytest.mark.parametrize("op", differentiable_ops())
def test_every_op(op):
    for seed in range(sampled(2, 8)):
        rng = rng_of(op, seed)
        case = CASES[op](rng)
        arrays = real_inputs(case, rng)
        floats = [Tensor(x, dtype=x.dtype) for x in arrays if x.dtype.kind == "f"]
        assert_adjoint(partial(of_floats, op, case.attrs, arrays), floats, rng)


def test_ops_of_a_rule_are_ops():
    assert OPS.keys() >= TERMS.keys() | SYMMETRIC


@pytest.mark.parametrize("seed", NETS)
def test_random_nets(seed):
    net, shape = random_net(seed)
    in_float64(net.eval())
    rng = np.random.default_rng(seed)
    assert_adjoint(net, [Tensor(rng.normal(size=(2, *shape)))], rng)


def test_what_is_added_counts_once():
    rng = np.random.default_rng(0)

    def check(function, *shapes):
        assert_adjoint(function, [Tensor(rng.normal(size=shape)) for shape in shapes], rng)

    check(partial(apply, "conv2d", Conv2dAttrs()), (1, 4, 4, 2), (3, 2, 2, 2), (3,))
    check(partial(apply, "fully_connected", FullyConnectedAttrs()), (2, 4), (3, 4), (3,))
    check(partial(apply, "pad", PadAttrs(((1, 0), (0, 2)), value=3.0)), (2, 2))
    variance = Tensor(rng.uniform(1, 2, size=3))
    check(lambda *x: apply("batch_norm", BatchNormAttrs(), *x, variance), (2, 3), *[(3,)] * 3)


def test_what_is_computed_without_a_tape_is_constant():
    def function(x):
        with no_grad():
            doubled = x * 2
        return x * doubled

    (_, along) = jvp(function, [Tensor([3.0, 5.0])], [np.array([1.0, 10.0])])
    assert along.data.tolist() == [6, 100]


def test_of_batches_parts_computed_again_and_losses():
    rng = np.random.default_rng(0)
    net = in_float64(Sequential(Linear(3, 4, rng=rng), BatchNorm(4), Tanh(), Linear(4, 3, rng=rng)))
    x, labels = leaf(rng, 5, 3), np.arange(5) % 3
    assert_adjoint(lambda x: cross_entropy(net(x), labels), [x], rng)
    assert_adjoint(lambda x: checkpoint(net, x)[1:, ::2] ** 3, [x], rng)


def test_of_a_gradient_is_the_hessian():
    a = np.random.default_rng(0).normal(size=(3, 3))
    x, v = Tensor(np.ones((1, 3))), np.array([[1.0, 2.0, 3.0]])

    def slope(x):
        return grad((x @ a @ x.transpose(1, 0)).sum(), [x], create_graph=True)[0]

    np.testing.assert_allclose(jvp(slope, [x], [v])[1].data, v @ (a + a.T))


def test_along_an_operand_without_a_gradient_nothing_changes():
    """The second operand only says how often; the first one has its derivative."""
    times = Function(
        "times", lambda attrs, x, n: x * np.round(n), lambda attrs, x, y, g: (g * 2.0, None)
    )
    x, n, v = Tensor(np.ones(3)), Tensor(np.full(3, 2.2)), np.arange(3.0)
    for directions, expected in (([v * 0, v], v * 0), ([v, v], v * 2)):
        y, along = jvp(partial(apply_function, times), [x, n], directions)
        np.testing.assert_array_equal(y.data, [2, 2, 2])
        np.testing.assert_array_equal(along.data, expected)
    _, along = jvp(lambda n: apply_function(times, x, n), [n], [v])
    np.testing.assert_array_equal(along.data, [0, 0, 0])


def apply_function(function, *operands):
    return function(None, *operands)


def test_what_has_no_derivative_is_refused():
    x = Tensor(np.ones(3))
    with pytest.raises(GradientError, match="depends on none of the inputs"):
        jvp(lambda x: x.detach() * 2, [x], [np.ones(3)])
    with pytest.raises(ShapeError, match=r"shape \(2,\)[\s\S]*\(3,\)"):
        jvp(lambda x: x * 2, [x], [np.ones(2)])

    def edited(x):
        y = x * 2
        y.data[0] = 7
        y.data = y.data + 1
        return y * 3

    with pytest.raises(GradientError, match=r"edited in place[\s\S]*edit a copy"):
        jvp(edited, [x], [np.ones(3)])
