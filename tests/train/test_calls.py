"""Modules called with other tensors, and functions of samples one after the other."""

from collections import namedtuple

import numpy as np
import pytest

from tests.train.build import leaf
from tinyrt.errors import DataError, GradientError, ShapeError, UnsupportedError
from tinyrt.train import (
    SGD,
    Tensor,
    checkpoint,
    cross_entropy,
    functional_call,
    grad,
    gradcheck,
    no_grad,
    vmap,
)
from tinyrt.train.nn import BatchNorm, Buffer, Linear, Module, Parameter, Sequential

Pair = namedtuple("Pair", "scale shift")


def ones(count):
    return np.ones(count, np.float32)


class Net(Module):
    """Tensors as attributes, in a list, a dict, a tuple and a named one; one of them twice."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.body = Sequential(Linear(3, 4, rng=rng), BatchNorm(4))
        self.tied = {"weight": self.body[0].weight}
        self.gains = [Parameter(ones(4)), {"more": (Parameter(ones(4)), "text")}]
        self.last = Pair(Parameter(ones(4)), Parameter(ones(4)))
        self.fails = False

    def forward(self, x, z=0.0):
        y = self.body(x) * self.gains[0] * self.gains[1]["more"][0]
        if self.fails:
            raise RuntimeError("in the middle")
        return (y * self.last.scale + self.last.shift) @ self.tied["weight"] + z


def others(net, rng):
    return {name: leaf(rng, *p.shape) for name, p in net.named_parameters()}


def places(net):
    """What a module holds, tensor by tensor."""
    held = [*net.body[0].parameters(), *(t for _, t in net.body[1].named_tensors())]
    held += [net.tied["weight"], net.gains[0], net.gains[1]["more"][0], *net.last]
    return held, [t.data.copy() for t in held], [t.grad is None for t in held]


def assert_as_before(net, before):
    held, arrays, nothing = places(net)
    assert all(one is other for one, other in zip(held, before[0], strict=True))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(arrays, before[1], strict=True))
    assert nothing == before[2] == [True] * len(held)
    assert isinstance(net.last, Pair)
    assert net.gains[1]["more"][1] == "text"


class Sized(Module):
    """Holds a tuple without tensors, and answers with more than tensors."""

    def __init__(self):
        self.layer, self.sizes = Linear(3, 2, rng=np.random.default_rng(0)), (3, (2, "text"))
        self.seen = []

    def forward(self, x):
        self.seen.append(self.sizes)
        return self.layer(x), {"sizes": self.sizes, "none": None}


def test_what_is_no_tensor_is_handed_over_as_it_is():
    net, rng = Sized(), np.random.default_rng(1)
    given, x, sizes = others(net, rng), leaf(rng, 5, 3), net.sizes
    y, more = functional_call(net, given, x)
    np.testing.assert_array_equal(
        y.data, (x @ given["layer.weight"].transpose(1, 0) + given["layer.bias"]).data
    )
    assert more == {"sizes": sizes, "none": None}
    assert net.seen[0] is sizes
    assert net.sizes is sizes


@pytest.mark.parametrize("training", [True, False])
def test_the_answer_is_that_of_a_module_with_these_parameters(training):
    net, rng = Net().train(training), np.random.default_rng(1)
    given, x = others(net, rng), leaf(rng, 5, 3)
    before = places(net)
    y = functional_call(net, given, x)
    assert_as_before(net, before)
    twin = Net().train(training)
    twin.load_state_dict(twin.state_dict() | {k: t.data for k, t in given.items()})
    np.testing.assert_allclose(y.data, twin(Tensor(x.data)).data, rtol=1e-4, atol=1e-4)
    y.sum().backward()
    assert_as_before(net, before)
    gradcheck(lambda *_: functional_call(net, given, x), [x, *given.values()])
    assert_as_before(net, before)


def test_what_is_not_named_stays_the_modules_own():
    """Also of modules that give several answers by name."""

    class Named(Module):
        def __init__(self):
            self.weight, self.bias = Parameter(ones(2)), Parameter(ones(2))

        def forward(self, x):
            return {"both": [x * self.weight + self.bias], "x": x}

    net, weight = Named(), Tensor(np.array([2.0, 3.0]), requires_grad=True)
    y = functional_call(net, {"weight": weight}, Tensor(np.array([5.0, 7.0])))
    assert y["both"][0].data.tolist() == [11, 22]
    y["both"][0].sum().backward()
    assert (weight.grad.tolist(), net.bias.grad.tolist()) == ([5, 7], [1, 1])
    assert net.weight.grad is None


def test_gradients_reach_what_the_tensors_came_from():
    """A step of an inner loop, differentiated by its rate."""
    net = Sequential(Linear(2, 1, rng=np.random.default_rng(0), bias=False))
    x, rate = Tensor(np.array([[1.0, 2.0]])), Tensor(np.array(0.1), requires_grad=True)
    own = dict(net.named_parameters())
    (slope,) = grad(net(x).sum(), [own["0.weight"]])
    functional_call(net, {"0.weight": own["0.weight"] - rate * slope}, x).sum().backward()
    assert rate.grad == pytest.approx(-5.0)  # -(x . x)


def test_running_statistics_are_followed_in_what_is_given():
    net = Sequential(BatchNorm(2))
    x = Tensor(np.array([[1.0, 2.0], [3.0, 6.0]], np.float32))
    own, mean = dict(net.named_parameters()), Buffer(np.array([10, 20], np.float32))
    variance = Buffer(np.array([10, 20], np.float32))
    functional_call(net, own, x)
    functional_call(net, {**own, "0.mean": mean, "0.variance": variance}, x)
    assert mean.data == pytest.approx([9.2, 18.4])
    assert variance.data == pytest.approx([9.2, 18.8])
    assert not net[0].mean.data.any()
    assert net[0].variance.data.tolist() == [1, 1]
    x.requires_grad, start = True, mean.data
    mean = Tensor(np.stack([start, start])[0])
    y = functional_call(net.eval(), {**own, "0.mean": mean}, x)
    y.sum().backward()
    assert (mean.edits, x.grad is None) == (0, False)
    np.testing.assert_allclose(y.data, x.data - start, rtol=1e-3)


def test_a_module_is_unchanged_after_an_error():
    net = Net()
    net.fails, before = True, places(net)
    with pytest.raises(RuntimeError, match="in the middle"):
        functional_call(net, others(net, np.random.default_rng(0)), Tensor(ones((2, 3))))
    assert_as_before(net, before)
    SGD(net.parameters(), 0.1)


def test_several_inputs_and_calls_within_calls():
    net, rng = Net().eval(), np.random.default_rng(2)
    first, second = others(net, rng), others(net, rng)
    x, z = Tensor(rng.normal(size=(2, 3))), Tensor(np.array(7.0))
    plain = functional_call(net, first, x).data
    np.testing.assert_allclose(functional_call(net, first, (x, z)).data, plain + 7)

    class Outer(Module):
        def __init__(self):
            self.net = net

        def forward(self, x):
            return functional_call(net, second, x) + net(x)

    both = functional_call(Outer(), {f"net.{k}": t for k, t in first.items()}, x)
    np.testing.assert_allclose(both.data, plain + functional_call(net, second, x).data)


def test_a_module_sees_what_it_has_as_its_parameters():
    class Decaying(Module):
        def __init__(self):
            self.weight, self.count = Parameter(ones(2)), Buffer(ones(1))

        def forward(self, x):
            assert len(dict(self.named_buffers())) == 1
            return x * self.weight + sum((p * p).sum() for p in self.parameters())

    w = Tensor(np.array([2.0, 3.0]), requires_grad=True)
    given = {"weight": w * 1, "count": Tensor(np.array([5.0]))}
    functional_call(Decaying(), given, Tensor(np.ones(2))).sum().backward()
    assert w.grad.tolist() == [1 + 8, 1 + 12]
    assert given["count"].data.tolist() == [5]


def test_names_and_shapes_that_do_not_fit_are_refused():
    net, x = (
        Sequential(Linear(3, 2, rng=np.random.default_rng(0)), BatchNorm(2)),
        Tensor([[1, 2, 3]]),
    )
    own = dict(net.named_parameters())
    with pytest.raises(DataError, match=r"no '2.bias', 'x'\n[^$]*of 0.weight, 0.bias, 1.") as error:
        functional_call(net, {"x": own["0.bias"], "2.bias": own["0.bias"]}, x)
    assert all(name in str(error.value) for name, _ in net.named_tensors())
    with pytest.raises(ShapeError, match=r"'0.bias' is to have shape \(3,\)\n[\s\S]*\(2,\)"):
        functional_call(net, own | {"0.bias": Tensor(ones(3))}, x)
    with pytest.raises(DataError, match=r"'0.bias' is to be a ndarray\n[\s\S]*a Tensor"):
        functional_call(net, own | {"0.bias": ones(2)}, x)


def test_a_checkpoint_would_compute_again_with_other_weights():
    class Saving(Module):
        def __init__(self):
            self.layer = Linear(3, 2, rng=np.random.default_rng(0))

        def forward(self, x):
            return checkpoint(self.layer, x) * 2

    net, x = Saving(), Tensor(ones((1, 3)), requires_grad=True)
    given = {name: Parameter(p.data + 1) for name, p in net.named_parameters()}
    with pytest.raises(GradientError, match=r"a checkpoint in a module that is called"):
        functional_call(net, given, x)
    with no_grad():
        found = functional_call(net, given, x)
    np.testing.assert_allclose(found.data, 2 * (net.layer(x).data + 3 + 1), rtol=1e-6)
    chained = checkpoint(net.layer, x)  # in front of the call
    last = Linear(2, 2, rng=np.random.default_rng(1))
    functional_call(last, dict(last.named_parameters()), chained).sum().backward()
    assert x.grad is not None
    net.zero_grad()
    made = {"weight": checkpoint(net.layer, Tensor(ones((2, 3)))), "bias": Tensor(ones(2))}
    functional_call(last, made, Tensor(ones((1, 2)))).sum().backward()
    assert net.layer.weight.grad.tolist() == np.full((2, 3), 2.0).tolist()


def test_a_buffer_that_is_written_into_stays_as_it_was():
    class Counting(Module):
        def __init__(self):
            self.count = Buffer(ones(1))

        def forward(self, x):
            self.count[0] = 7.0
            return x * self.count

    net = Counting()
    assert functional_call(net, {}, Tensor([2.0])).data.tolist() == [14]
    assert net.count.data.tolist() == [1]


def test_gradients_sample_by_sample():
    rng = np.random.default_rng(3)
    net = Linear(3, 4, rng=rng)
    x, labels = rng.normal(size=(5, 3)), rng.integers(0, 4, 5)
    own = dict(net.named_parameters())

    def gradients(x, label):
        loss = cross_entropy(net(x.reshape(1, 3)), label.reshape(1))
        return dict(zip(own, grad(loss, list(own.values())), strict=True))

    found = vmap(gradients)(Tensor(x), labels)
    scores = net(Tensor(x)).data
    error = np.exp(scores) / np.exp(scores).sum(1, keepdims=True) - np.eye(4)[labels]
    assert found.keys() == {"weight", "bias"}
    np.testing.assert_allclose(found["weight"].data, error[:, :, None] * x[:, None], rtol=1e-4)
    np.testing.assert_allclose(found["bias"].data, error, rtol=1e-4)


def test_results_keep_their_structure_and_history():
    x = leaf(np.random.default_rng(4), 3, 2)
    y, (total, more) = vmap(lambda x: (x * 2, [x.sum(), x.reshape(2, 1)]))(x)
    assert (y.shape, total.shape, more.shape) == ((3, 2), (3,), (3, 2, 1))
    np.testing.assert_array_equal(y.data, 2 * x.data)
    np.testing.assert_array_equal(total.data, x.data.sum(1))
    gradcheck(vmap(lambda x: x.exp() * x.sum()), [x])
    assert vmap(lambda x, y: x + Tensor(y))([1, 2], [3, 4]).data.tolist() == [4, 6]


def test_arguments_of_unequal_numbers_are_refused():
    x, run = Tensor(np.ones((3, 2))), vmap(lambda *x: x[0])
    for arguments, says in (
        ((x, np.ones(4)), r"\(3, 2\), \(4,\)"),
        ((x, np.array(1.0)), r"\(3, 2\), \(\)"),
        ((Tensor(1.0),), r"\(\)"),
        ((np.ones((0, 3)),), r"\(0, 3\)"),
        ((), "nothing"),
    ):
        with pytest.raises(ShapeError, match=f"along the first dimension of {says}\n"):
            run(*arguments)


@pytest.mark.parametrize(
    ("give", "kinds"),
    [
        (lambda x: x.data, "float64"),
        (lambda x: (x, None), "NoneType"),
        (lambda x: {"a": x} if x.item() else {"b": x}, "dict"),
        (lambda x: {"a": x} if x.item() else x, "Tensor, dict"),
        (lambda x: (x,) if x.item() else {"a": x}, "dict, tuple"),
        (lambda x: {"a": x} if not x.item() else (x,), "dict, tuple"),
        (lambda x: {"a": x} if x.item() else (x,), "dict, tuple"),
        (
            lambda x: ({"a": x}, (x,), [x], x, None)[int(x.item())],
            "NoneType, Tensor, dict, list, tuple",
        ),
        (lambda x: (x,) if x.item() else (x, x), "tuple"),
    ],
)
def test_results_that_do_not_stack_are_refused(give, kinds):
    with pytest.raises(
        UnsupportedError, match=f"results of samples are of kind (ndarray|{kinds})\n"
    ):
        vmap(give)(Tensor(np.arange(5.0)))
    with pytest.raises(ShapeError, match=r"shapes \(1,\), \(2,\) do not stack"):
        vmap(lambda x: Tensor(np.ones(1 + int(x.item()))))(Tensor([0.0, 1.0]))
