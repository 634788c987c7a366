"""Derivatives of every op and any order, checkpoints, and what is refused."""

import gc
import tracemalloc

import numpy as np
import pytest

from tests.ops.build import differentiable_ops, real_inputs
from tests.ops.cases import CASES, rng_of
from tests.sampling import sampled
from tests.train.build import in_float64, leaf, tensor_of
from tinyrt.errors import GradientError, ShapeError
from tinyrt.floatmath import buffers
from tinyrt.floatmath.function import Function
from tinyrt.floatmath.parallel import threads
from tinyrt.train import (
    Tensor,
    apply,
    checkpoint,
    checkpoint_cheap_layers,
    checkpoint_sequential,
    grad,
    gradcheck,
    gradgradcheck,
)
from tinyrt.train.core.autograd import partial_derivatives
from tinyrt.train.losses import log_softmax
from tinyrt.train.nn import BatchNorm, Conv2d, Dropout, Linear, ReLU, Sequential

CASES_PER_OP = sampled(2, 4)
DIFFERENTIABLE = differentiable_ops()


@pytest.mark.parametrize("seed", range(CASES_PER_OP))
@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_first_and_second_derivatives_of_every_op(op, seed):
    rng = rng_of(op, seed)
    case = CASES[op](rng)
    operands = [tensor_of(a) for a in real_inputs(case, rng)]
    inputs = [x for x in operands if x.requires_grad]

    def compute(*_):
        return apply(op, case.attrs, *operands)

    gradcheck(compute, inputs)
    gradgradcheck(compute, inputs, rtol=1e-4, atol=1e-5)
    output = compute()
    weights = rng.normal(size=output.shape)
    plain = partial_derivatives(output, inputs, weights, retain_graph=True)
    recorded = partial_derivatives(output, inputs, Tensor(weights), create_graph=True)
    for one, other in zip(plain, recorded, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one.data, other.data, rtol=1e-9, atol=1e-12)


def test_third_derivative():
    x = Tensor(np.array(2.0), requires_grad=True)
    y = x * x * x * x
    for expected in (32.0, 48.0, 48.0, 24.0):
        (y,) = grad(y, [x], create_graph=True)
        assert y.item() == pytest.approx(expected)


@pytest.mark.parametrize("exponent", [0, 1])
def test_a_power_that_is_constant_has_no_slope_even_at_zero(exponent):
    """The derivative of x is x to the power of 0, which has none."""
    x = Tensor(0.0, requires_grad=True)
    y = x**exponent + x * x
    for _ in range(exponent + 1):
        (y,) = grad(y, [x], create_graph=True)
    assert y.item() == 2 * exponent


def test_grad_gives_derivatives_of_inner_tensors_and_touches_no_leaf():
    x = Tensor(3.0, requires_grad=True)
    y = x * x
    inner, outer = grad(y * y + x, [y, x])
    assert inner.item() == pytest.approx(18.0)
    assert outer.item() == pytest.approx(4 * 27 + 1)
    assert x.grad is None


def test_grad_names_an_input_without_influence():
    x, other = (Tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    with pytest.raises(GradientError, match=r"input 1[\s\S]*\(2,\)"):
        grad((x * x).sum(), [x, other])


def test_grad_of_a_target_does_not_need_the_tape_behind_it():
    x = Tensor(3.0, requires_grad=True)
    y = x * x
    y.backward()
    assert grad(y * 5, [y])[0].item() == pytest.approx(5.0)


def test_gradients_nobody_asked_for_are_not_computed():
    probe = Function(
        "probe",
        lambda attrs, a, b: a + b,
        lambda attrs, inputs, output, grad: (lambda: grad, lambda: pytest.fail("not wanted")),
    )
    x, other = Tensor(1.0, requires_grad=True), Tensor(2.0, requires_grad=True)
    apply(probe, None, x, Tensor(2.0)).backward()
    assert grad(apply(probe, None, x, other), [x])[0].item() == 1.0


def test_hooks_see_and_replace_whole_gradients():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    remove = y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g + 1)
    (y + y).sum().backward(retain_graph=True)
    assert seen == [[2, 2]]
    assert x.grad.tolist() == [63, 63], "each gets what the one before gave"
    remove()
    (y + y).sum().backward()
    assert x.grad.tolist() == [72, 72]
    z = x * 2
    z.register_hook(lambda g: g[:1])
    with pytest.raises(ShapeError, match="a hook"):
        z.sum().backward()


def test_retain_grad_keeps_the_gradient_of_a_result():
    x = Tensor(2.0, requires_grad=True)
    y = x * 3
    y.retain_grad()
    (y * y).backward()
    assert y.grad == pytest.approx(12.0)


def test_views_share_storage_and_know_their_strides():
    x = Tensor(np.zeros((4, 6), np.float32), requires_grad=True)
    column = x[:, 2]
    assert np.shares_memory(column.data, x.data)
    assert column.strides == (24,)
    assert x[1:3, ::2].shape == (2, 3)
    with pytest.raises(ShapeError, match=r"index 9[\s\S]*|\(4, 6\)"):
        x[9]


@pytest.mark.parametrize(
    "edit",
    [
        lambda x: x.__setitem__(0, 5.0),
        lambda x: setattr(x, "data", x.data + 1),
        lambda x: x.detach().__setitem__(0, 5.0),
    ],
    ids=["elements", "data", "through a view"],
)
def test_an_operand_edited_in_place_is_refused(edit):
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    edit(x)
    with pytest.raises(GradientError, match=r"operand of mul[\s\S]*edited in place"):
        y.backward()


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[1:3],
        lambda x: x.reshape(2, 2),
        lambda x: x.reshape(4)[1:][::2],
        lambda x: x,
    ],
    ids=["slice", "reshape", "view of views", "itself"],
)
def test_an_edit_of_a_view_is_an_edit_of_what_was_saved(view):
    x, w = (Tensor(np.ones(4, np.float32), requires_grad=i == 1) for i in range(2))
    part = view(x)
    assert np.shares_memory(part.data, x.data)
    through_base, through_view = (w * x).sum(), (w[0] * part).sum()
    part[0] = 5.0
    for y in (through_base, through_view):
        with pytest.raises(GradientError, match=r"operand of mul[\s\S]*edited in place"):
            y.backward()


def test_a_saved_result_edited_in_place_is_refused():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    z = y * 2
    y.detach()[0] = 5.0
    with pytest.raises(GradientError, match=r"result of exp was edited in place"):
        y.backward(np.ones(2))
    with pytest.raises(GradientError, match=r"operand of mul was edited in place"):
        z.sum().backward()


def test_a_computed_tensor_cannot_be_edited():
    y = Tensor([1.0, 2.0], requires_grad=True) * 2
    with pytest.raises(GradientError, match="in-place"):
        y[0] = 1.0


def deep_net(rng, depth):
    layers = [Conv2d(1, 8, 3, rng=rng)]
    for _ in range(depth - 1):
        layers += [BatchNorm(8), ReLU(), Conv2d(8, 8, 3, rng=rng)]
    return Sequential(*layers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "share"),
    [(lambda net, x: checkpoint_sequential(net, x, 10), 0.4), (checkpoint_cheap_layers, 0.6)],
    ids=["segments", "cheap layers"],
)
def test_checkpoints_change_memory_but_not_gradients(policy, share):
    rng = np.random.default_rng(0)
    net = deep_net(rng, 32)
    start = net.state_dict()
    x = Tensor(rng.normal(size=(16, 20, 20, 1)).astype(np.float32))
    peaks, results = [], []
    for run in (Sequential.__call__, policy):
        run(deep_net(rng, 2), x).mean().backward()  # compiles what would count as memory
        net.load_state_dict(start)
        gc.collect()
        buffers.release()
        tracemalloc.start()
        with threads(1):  # with more, what blocks need for themselves adds up by chance
            run(net, x).mean().backward()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        results.append([net.state_dict(), {k: p.grad for k, p in net.named_parameters()}])
        for p in net.parameters():
            p.grad = None
    assert peaks[1] < share * peaks[0]
    for plain, again in zip(*results, strict=True):
        for name, array in plain.items():
            np.testing.assert_array_equal(array, again[name])


def test_a_checkpoint_differentiates_twice_and_follows_statistics_once():
    rng = np.random.default_rng(1)
    net = in_float64(Sequential(Conv2d(2, 3, 3, rng=rng), BatchNorm(3, momentum=0.5)))
    x = leaf(rng, 2, 4, 4, 2)
    inputs = [x, *net.parameters()]
    gradcheck(lambda *_: checkpoint(net, x * 1.0), inputs)
    gradgradcheck(lambda *_: checkpoint(net, x * 1.0), inputs)
    before = net.state_dict()["1.mean"]
    y = checkpoint(net, x)
    once = net.state_dict()["1.mean"]
    y.sum().backward()
    np.testing.assert_array_equal(net.state_dict()["1.mean"], once)
    assert not np.array_equal(before, once)


def test_a_checkpoint_repeats_dropout_and_follows_statistics_as_without():
    results = []
    for run in (Sequential.__call__, checkpoint):
        rng = np.random.default_rng(3)
        net = Sequential(
            Linear(4, 8, rng=rng), Dropout(0.5, rng=rng), BatchNorm(8), Linear(8, 2, rng=rng)
        )
        x = Tensor(rng.normal(size=(16, 4)).astype(np.float32), requires_grad=True)
        for _ in range(3):  # so that the generator's later states count, too
            (run(net, x) ** 2).mean().backward()
        gradients = {name: p.grad for name, p in net.named_parameters()}
        results.append(net.state_dict() | gradients | {"x": x.grad})
    for name, plain in results[0].items():
        np.testing.assert_array_equal(results[1][name], plain)


def test_a_gradient_that_is_missing_is_wrong_where_outputs_depend_on_the_input():
    """What reaches the output beside the tape has none."""
    x, y = leaf(np.random.default_rng(0), 3), leaf(np.random.default_rng(1), 3)
    with pytest.raises(GradientError) as refused:
        gradcheck(lambda x, y: x * Tensor(y.data), [x, y])
    assert refused.value.problem.startswith("the gradient of input 1 gives slope 0, ")
    gradcheck(lambda x, y: x * x, [x, y])


def test_gradients_of_arrays_and_of_tensors_are_compared():
    """A vjp may compute the ones in another way than the others."""

    def vjp(attrs, inputs, output, g):
        return (g * (2.0 if isinstance(g, np.ndarray) else 3.0),)

    twice = Function("twice", lambda attrs, x: x * 2.0, vjp)
    x = Tensor(np.ones(3), requires_grad=True)
    gradcheck(lambda x: apply(twice, None, x), [x])
    with pytest.raises(GradientError) as refused:
        gradgradcheck(lambda x: apply(twice, None, x), [x])
    assert refused.value.problem.startswith("the gradient of input 0 differs by up to ")
    with pytest.raises(GradientError, match="float32"):
        gradgradcheck(lambda x: x * x, [Tensor(np.ones(3, np.float32), requires_grad=True)])
    with pytest.raises(GradientError, match="input 1 is float64, requires_grad=False"):
        gradcheck(lambda x, y: x * y, [x, Tensor(np.ones(3))])


def test_log_softmax():
    x = leaf(np.random.default_rng(2), 3, 4)
    gradcheck(log_softmax, [x])
    gradgradcheck(log_softmax, [x])
    np.testing.assert_allclose(np.exp(log_softmax(x).data).sum(axis=1), 1)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("function", [grad, partial_derivatives])
def test_derivatives_can_be_derived_only_where_asked(function, create_graph):
    x = leaf(np.random.default_rng(0), 2)
    options = {"create_graph": True} if create_graph else {}
    (slope,) = function((x * x * x).sum(), [x], **options)
    assert slope.requires_grad is create_graph
