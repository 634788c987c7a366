"""Functions with a derivative of one's own: what can be differentiated again, and what says not."""

import numpy as np
import pytest

from tests.train.build import leaf
from tinyrt.errors import GradientError
from tinyrt.train import CustomFunction, Tensor, grad, gradcheck, gradgradcheck


class Cube(CustomFunction):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(context, grad):
        (x,) = context.saved
        return grad * 3 * x * x


class Clamped(CustomFunction):
    """A gradient that differences do not know: it passes as if nothing had been clipped."""

    @staticmethod
    def forward(context, x, low):
        context.save_for_backward(x)
        return np.maximum(x, low)

    @staticmethod
    def backward(context, grad):
        return grad, None


def test_custom_functions_have_the_derivatives_they_say():
    x = leaf(np.random.default_rng(0), 3)
    gradcheck(Cube.apply, [x])
    gradgradcheck(Cube.apply, [x])
    y = Tensor([-1.0, 2.0], requires_grad=True)
    Clamped.apply(y, Tensor(0.0)).sum().backward()
    assert y.grad.tolist() == [1, 1]
    (slope,) = grad(Clamped.apply(y, Tensor(0.0)).sum(), [y], create_graph=True)
    assert slope.data.tolist() == [1, 1]


def test_a_custom_function_without_one_of_its_parts_names_it():
    class Forward(CustomFunction):
        forward = Cube.forward

    class Backward(CustomFunction):
        backward = Cube.backward

    x = Tensor(2.0, requires_grad=True)
    with pytest.raises(NotImplementedError, match="a custom function defines backward"):
        Forward.apply(x).backward()
    with pytest.raises(NotImplementedError, match="a custom function defines forward"):
        Backward.apply(x)


@pytest.mark.parametrize("given", [(), (1.0, None, None)])
def test_a_custom_function_has_a_gradient_for_each_operand(given):
    class Other(Clamped):
        @staticmethod
        def backward(context, grad):
            return given

    y = Tensor([-1.0, 2.0], requires_grad=True)
    with pytest.raises(GradientError, match=f"'Other' gave {len(given)} gradients") as raised:
        Other.apply(y, Tensor(0.0)).sum().backward()
    assert "2, one (or None) for each operand" in str(raised.value)


def test_gradcheck_finds_a_wrong_gradient():
    class Wrong(Cube):
        @staticmethod
        def backward(context, grad):
            return grad * 2 * context.saved[0]

    x = leaf(np.random.default_rng(0), 3)
    with pytest.raises(GradientError, match="input 0 gives slope"):
        gradcheck(Wrong.apply, [x])
    with pytest.raises(GradientError, match="float32"):
        gradcheck(Cube.apply, [Tensor([1.0], requires_grad=True)])


@pytest.mark.parametrize(("check", "shape"), [(gradcheck, 4), (gradgradcheck, ())])
def test_inputs_are_moved_by_the_step_in_a_direction_of_the_seed(check, shape):
    """Behind the weights of what is differentiated: of the result, or of the gradients' product."""
    seen = []

    def square(x):
        seen.append(x.data.copy())
        return x * x

    check(square, [Tensor(np.zeros(4), requires_grad=True)], step=1e-3, seed=5)
    rng = np.random.default_rng(5)
    rng.normal(size=shape)
    np.testing.assert_allclose(next(x for x in seen if x.any()), 1e-3 * rng.normal(size=4))


class Square(CustomFunction):
    """Keeps its operand as an attribute, in a list and in a dictionary, and the result itself."""

    @staticmethod
    def forward(context, x):
        context.x, context.kept, context.by_name = x, [x], {"x": x}
        context.number, context.y = 2, x * x
        return context.y

    @staticmethod
    def backward(context, grad):
        x = (context.x + context.kept[0]) * 0.5
        return grad * context.number * context.y / context.by_name["x"] ** 1 + (x - context.x)


def test_operands_and_result_are_known_wherever_the_context_holds_them():
    x = leaf(np.random.default_rng(1), 3, low=0.5)
    gradcheck(Square.apply, [x])
    gradgradcheck(Square.apply, [x])


class Product(CustomFunction):
    @staticmethod
    def forward(context, a, b):
        context.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(context, grad):
        a, b = context.saved
        return grad * b, grad * a


def test_operands_that_share_their_elements_are_told_apart():
    x = Tensor(np.array([2.0, 3.0]), requires_grad=True)
    for twin in (x.detach(), Tensor(x.data, requires_grad=True)):
        for pair in ((x, twin), (twin, x)):
            (slope,) = grad(Product.apply(*pair).sum(), [x], create_graph=True)
            with pytest.raises(GradientError, match="input 0 does not influence the output"):
                grad(slope.sum(), [x])
    (slope,) = grad(Product.apply(x, x).sum(), [x], create_graph=True)
    assert grad(slope.sum(), [x])[0].data.tolist() == [2, 2]


class Same(CustomFunction):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x

    @staticmethod
    def backward(context, grad):
        return grad * context.saved[0]


def test_a_result_that_is_the_operand_counts_as_the_operand():
    x = Tensor(np.array(3.0), requires_grad=True)
    (slope,) = grad(Same.apply(x), [x], create_graph=True)
    assert grad(slope, [x])[0].item() == 1
    y = Same.apply(x)
    x[...] = 1.0
    with pytest.raises(GradientError, match="of Same was edited in place"):
        y.backward()


class Masked(CustomFunction):
    """A ReLU whose mask, found in ``forward``, is constant; so are whole numbers."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x > 0, np.sign(x).astype(np.int8))
        return np.maximum(x, 0) * x

    @staticmethod
    def backward(context, grad):
        mask, sign = context.saved
        assert all(isinstance(a, np.ndarray) for a in context.saved)
        return grad * mask * sign


def test_masks_stay_arrays_and_serve_at_any_order():
    x = Tensor(np.array([-1.0, 2.0]), requires_grad=True)
    u = Tensor(np.array([3.0, 5.0]), requires_grad=True)
    (slope,) = grad(Masked.apply(x), [x], u, create_graph=True)
    assert slope.data.tolist() == [0, 5]
    assert grad(slope.sum(), [u])[0].data.tolist() == [0, 1]


class Derived(CustomFunction):
    """Leaves on the context what it computed: no tensor that autograd knows."""

    @staticmethod
    def forward(context, x):
        context.squares = np.exp(x)
        context.largest = np.float64(2.0)
        return context.squares * 1

    @staticmethod
    def backward(context, grad):
        return grad * context.squares * (context.largest - 1)


def test_a_derivative_through_what_forward_computed_is_refused():
    x = leaf(np.random.default_rng(2), 3)
    gradcheck(Derived.apply, [x])
    u = Tensor(np.ones(3), requires_grad=True)
    (slope,) = grad(Derived.apply(x), [x], u, create_graph=True)
    np.testing.assert_allclose(slope.data, np.exp(x.data))
    np.testing.assert_allclose(grad(slope.sum(), [u], retain_graph=True)[0].data, np.exp(x.data))
    with pytest.raises(GradientError, match=r"'Derived' cannot .* shape[\s\S]*save operands"):
        grad(slope.sum(), [x])


def edited(grad, mask, factor=1):
    grad = grad * factor if factor else grad
    grad[~mask] = 0
    return grad


NUMPY_ALONE = {
    "copy": (lambda g, m: g.copy(), "no attribute 'copy'"),
    "remainder": (lambda g, m: g % 2, "unsupported operand"),
    "ufunc": (lambda g, m: np.maximum(g, 0), "ufunc"),
    "edit": (edited, "in-place edit"),
    "edit of what is given": (lambda g, m: edited(g, m, None), "overwrites the gradient"),
    "where": (lambda g, m: np.where(m, g, 0), "gradient 0 is of type ndarray"),
    "number": (lambda g, m: 1.0, "gradient 0 is of type float"),
}


@pytest.mark.parametrize(("compute", "says"), NUMPY_ALONE.values(), ids=NUMPY_ALONE)
def test_a_backward_for_arrays_alone_says_what_to_write(compute, says):
    class Own(CustomFunction):
        @staticmethod
        def forward(context, x):
            context.mask = x > 0
            return x * context.mask

        @staticmethod
        def backward(context, grad):
            return compute(grad, context.mask)

    x = Tensor(np.array([1.0, 2.0]), requires_grad=True)
    if not says.startswith(("overwrites", "gradient 0 is of type float")):
        Own.apply(x).sum().backward()
        assert x.grad.tolist() == [1, 1]
    with pytest.raises(GradientError, match=says) as caught:
        grad(Own.apply(x), [x], Tensor(np.ones(2), requires_grad=True), create_graph=True)
    assert "the gradient of 'Own' cannot be differentiated" in str(caught.value)
    assert "gradient * mask" in str(caught.value)


@pytest.mark.parametrize("error", [AttributeError, TypeError])
def test_a_mistake_in_a_backward_for_arrays_is_the_users_own(error):
    class Wrong(Cube):
        @staticmethod
        def backward(context, grad):
            raise error("mine")

    with pytest.raises(error, match="mine"):
        Wrong.apply(Tensor(1.0, requires_grad=True)).backward()
