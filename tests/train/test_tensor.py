"""The tape: values, gradients, their lifetime, and what is refused."""

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from tests.train.build import leaf
from tinyrt.errors import GradientError, ShapeError, UnsupportedError
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.train import Tensor, apply, cross_entropy, gradcheck, gradgradcheck, no_grad
from tinyrt.train.core.function import table_function
from tinyrt.train.functional import cat, maximum, minimum, stack, var
from tinyrt.train.nn import BatchNorm

EXPRESSIONS = {
    "polynomial": lambda a, b: a * a * b - 3 * a + b / 2,
    "quotient": lambda a, b: (1 + a) / (b * b + 1),
    "power": lambda a, b: (a * a + 0.5) ** 0.5 + (1 - b) ** 3,
    "power of tensors": lambda a, b: (a * a + 0.5) ** b,
    "log and exp": lambda a, b: ((a * b).exp() + 1).log() - a,
    "log-sum-exp": lambda a, b: (a + b).exp().sum(-1, keepdims=True).log() - b,
    "matmul": lambda a, b: a.transpose(1, 0) @ (b @ a.transpose(1, 0)),
    "statistics": lambda a, b: (a - a.mean(0)) * (b - b.mean((0, 1))) / (a * a).mean().exp(),
    "reshape": lambda a, b: a.reshape(2, -1) * b.reshape(2, 6).sum(0),
    "slices": lambda a, b: a[1:, ::2] * b[0, 1:3] + a[:2, [0, 0]],
    "magnitude": lambda a, b: (a * b).abs() - a.abs(),
    "batched matmul": lambda a, b: a.reshape(3, 2, 2) @ b.reshape(3, 2, 2)[:1],
    "roots and bounds": lambda a, b: (a * a + 0.5).sqrt() + a.relu() + b.clip(-0.3, a * a),
    "one bound": lambda a, b: a.clip(None, 0.1) + b.clip(-0.2, None),
    "extrema": lambda a, b: a.max(1) * b.min((0, 1), keepdims=True) + a.max(),
    "power of a number": lambda a, b: 2**a + np.ones(4) ** b,
    "joined": lambda a, b: (
        cat([a, a + b[:1]], -1) * cat([b, b]).reshape(3, 8) + stack([a, b], 1)[:, 0, :1]
    ),
    "spread": lambda a, b: var(a, 1, keepdims=True) * b.var(ddof=1) + b.var(0) * a.var((0, 1)),
    "the greater": lambda a, b: maximum(a, b) * minimum(b, 0.25) + maximum(b, a * a),
    "one tensor on many paths": lambda a, b: a * a + a * b + (a + a) * (a - b),
}


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_gradients_of_expressions(expression):
    rng = np.random.default_rng(1)
    a, b = leaf(rng, 3, 4), leaf(rng, 3, 4)
    gradcheck(expression, [a, b])
    gradgradcheck(expression, [a, b])


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3),
    op=st.sampled_from("+-*/"),
)
def test_gradients_undo_broadcasting(shapes, op):
    rng = np.random.default_rng(2)
    a, b = (leaf(rng, *shape, low=0.5) for shape in shapes.input_shapes)
    compute = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
    }[op]
    assert compute(a, b).shape == shapes.result_shape
    gradcheck(compute, [a, b])
    gradgradcheck(compute, [a, b])


def test_numbers_and_arrays_mix_with_tensors():
    x = Tensor([1.0, 2.0])
    assert (2 * x).data.tolist() == [2, 4]
    assert (1 - x).data.tolist() == [0, -1]
    assert (1 / x).data.tolist() == [1, 0.5]
    assert (np.array([1.0, 3.0]) + x).data.tolist() == [2, 5]
    assert (-x).data.tolist() == [-1, -2]
    rows = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (np.array([[1.0, 1.0]]) @ rows).data.tolist() == [[4, 6]]


def test_a_tensor_shows_its_elements_and_what_computed_it():
    x = Tensor([1.0, 1 / 3], requires_grad=True)
    assert repr(x) == "Tensor([1.     0.3333], float32)"
    assert repr(x * 3) == "Tensor([3. 1.], float32, from mul)"


def test_dtype_is_float32_unless_an_array_says_float64():
    assert Tensor([1, 2]).dtype == np.float32
    assert Tensor(1.5).dtype == np.float32
    assert Tensor(np.arange(3)).dtype == np.float32
    wide = Tensor(np.zeros(3))
    assert wide.dtype == np.float64
    assert (wide * 2 + 1).dtype == np.float64
    assert (Tensor([1.0]) * 2 + 1).mean().dtype == np.float32


def test_truth_values_and_places_are_kept_where_a_dtype_is_named():
    for dtype in (np.bool_, np.int32):
        x = Tensor([[0, 1]], dtype=dtype)
        for y in (x, x.reshape(2), x.detach()):
            assert y.dtype == dtype
        assert not apply("reshape", ReshapeAttrs((2,)), x).requires_grad
        with pytest.raises(ShapeError, match=f"not all elements are {np.dtype(dtype)}"):
            Tensor([0, 1.5], dtype=dtype)
        with pytest.raises(GradientError, match=f"a tensor of {np.dtype(dtype)} has no gradient"):
            Tensor([0], dtype=dtype, requires_grad=True)
        with pytest.raises(ShapeError, match="add in training"):
            x + 0.5  # a half is no place, nor true
    assert Tensor([1], dtype=np.float64, requires_grad=True).dtype == np.float64
    assert Tensor(np.array([True])).dtype == Tensor(np.array([1], np.int32)).dtype == np.float32


def test_a_choice_keeps_what_is_not_chosen_out():
    """Where it is not finite, and where one number stands for all."""
    condition = Tensor([True, False, False], dtype=np.bool_)
    a = Tensor([2.0, np.inf, np.nan], requires_grad=True)
    b = Tensor(3.0, requires_grad=True)
    y = apply("select_v2", NoAttrs(), condition, a, b)
    assert y.data.tolist() == [2, 3, 3]
    apart = table_function("select_v2")(NoAttrs(), condition, np.array([2.5] * 3), np.array(0.5))
    assert apart.data.tolist() == [2.5, 0.5, 0.5]
    y.backward([np.nan, 1.0, 2.0])
    assert np.isnan(a.grad[0])
    assert a.grad[1:].tolist() == [0, 0]
    assert b.grad == 3
    with pytest.raises(ShapeError, match=r"select_v2 in training[\s\S]*bool"):
        apply("select_v2", NoAttrs(), Tensor([1.0]), a, b)


def test_rows_of_a_table_get_the_gradients_of_where_they_went():
    table = Tensor(np.arange(6.0).reshape(3, 2), requires_grad=True)
    y = apply("embedding", EmbeddingAttrs(), table, Tensor([[0, 2, 2, 9]], dtype=np.int32))
    assert y.data[..., 0].tolist() == [[0, 4, 4, 4]]  # the nearest row, as on a device
    y.backward(np.arange(8.0).reshape(1, 4, 2))
    assert table.grad.tolist() == [[0, 1], [0, 0], [12, 15]]
    with pytest.raises(ShapeError, match=r"embedding in training[\s\S]*int32"):
        apply("embedding", EmbeddingAttrs(), table, Tensor([1.0]))


def test_a_gradient_has_the_dtype_of_its_leaf():
    narrow = Tensor(np.ones(2, np.float32), requires_grad=True)
    wide = Tensor(np.ones(2), requires_grad=True)
    for _ in range(2):
        (narrow * wide).sum().backward()
    assert (narrow.grad.dtype, wide.grad.dtype) == (np.float32, np.float64)


def test_a_tensor_is_a_sequence_of_its_rows():
    x = Tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    first, second = x
    (first * second).sum().backward()
    assert x.grad.tolist() == [[3, 4, 5], [0, 1, 2]]


def test_nothing_is_not_computed_with():
    empty = Tensor(np.zeros((0, 3), np.float32))
    for compute in (
        lambda: empty * 2,
        lambda: cross_entropy(empty, []),
        lambda: BatchNorm(3)(empty),
        lambda: Tensor([1.0, 2.0])[:0].sum(),
    ):
        with pytest.raises(ShapeError, match=r"0,|\[0\]"):
            compute()


def test_arrays_are_shared_not_copied():
    data = np.zeros((2, 3), np.float32)
    x = Tensor(data)
    assert np.shares_memory(x.data, data)
    assert np.shares_memory(x.reshape(6).data, data)
    assert np.shares_memory(x.detach().data, data)


def test_gradients_add_up_over_backward_passes():
    x = Tensor(3.0, requires_grad=True)
    (x * x).backward()
    (x * 2).backward()
    assert x.grad == pytest.approx(8.0)


def test_gradients_of_leaves_do_not_share_memory():
    a, b = (Tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    (a + b).sum().backward()
    a.grad *= 0
    assert b.grad.tolist() == [1, 1]


def test_only_leaves_keep_a_gradient():
    x = Tensor(2.0, requires_grad=True)
    middle = x * 3
    (middle * middle).backward()
    assert middle.grad is None
    assert x.grad == pytest.approx(36.0)


def test_detach_cuts_the_tape():
    x = Tensor(2.0, requires_grad=True)
    (x * (x * x).detach()).backward()
    assert x.grad == pytest.approx(4.0)


def test_no_grad_records_nothing_and_ends_with_its_block():
    x = Tensor(2.0, requires_grad=True)
    with no_grad():
        assert not (x * x).requires_grad
    assert (x * x).requires_grad


def test_a_deep_tape_needs_no_deep_stack():
    x = Tensor(1.0, requires_grad=True)
    y = x
    for _ in range(3000):
        y = y + 0.0
    y.backward()
    assert x.grad == pytest.approx(1.0)


def test_retain_graph_allows_a_second_pass():
    x = Tensor(2.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad == pytest.approx(8.0)


def test_second_pass_over_a_freed_tape_is_refused_before_anything_changes():
    x = Tensor(2.0, requires_grad=True)
    shared = x * x
    shared.backward()
    with pytest.raises(GradientError, match=r"freed[\s\S]*op: *mul[\s\S]*retain_graph"):
        (shared * 3 + x).backward()
    assert x.grad == pytest.approx(4.0)


def test_backward_from_many_elements_needs_their_gradient():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(GradientError, match=r"2 elements[\s\S]*\.mean\(\)"):
        (x * x).backward()
    with pytest.raises(ShapeError, match=r"\(3,\)[\s\S]*\(2,\)"):
        (x * x).backward([1, 1, 1])
    (x * x).backward([1, 10])
    assert x.grad.tolist() == [2, 40]


def test_backward_from_a_constant_is_refused():
    with pytest.raises(GradientError, match="requires a gradient"):
        Tensor(1.0).backward()


@pytest.mark.parametrize("combine", [lambda a, b: a + b, lambda a, b: a / b, lambda a, b: a @ b])
def test_shapes_that_do_not_fit_are_named_with_the_op(combine):
    a, b = Tensor(np.zeros((2, 3))), Tensor(np.zeros((2, 4)))
    with pytest.raises(ShapeError, match=r"2, ?3.*2, ?4[\s\S]*in training"):
        combine(a, b)


def test_unknown_op_is_refused():
    with pytest.raises(UnsupportedError, match="no op 'conv9d'"):
        apply("conv9d", NoAttrs(), Tensor(1.0))


def test_tensors_are_equal_by_their_elements():
    x = Tensor([1.0, 2.0, 3.0])
    for other in (Tensor([1.0, 0.0, 3.0]), np.array([1.0, 0.0, 3.0]), [1, 0, 3]):
        assert (x == other).tolist() == [True, False, True]
        assert (x != other).tolist() == [False, True, False]
    assert (x == 2).tolist() == (np.float32(2) == x).tolist() == [False, True, False]
    assert (x != np.float32(2)).tolist() == [True, False, True]
    assert x.__eq__(None) is x.__ne__(None) is NotImplemented
    assert x != "1"
    assert {x: 1}[x] == 1  # a key by identity


def test_places_of_the_greatest_elements_are_an_array():
    x = Tensor([[1.0, 5.0, 2.0], [7.0, 7.0, 0.0]])
    assert x.argmax(1).tolist() == [1, 0]
    assert x.argmax(0).tolist() == [1, 1, 0]
    assert x.argmax() == 3
    assert (x.argmax(1) == np.array([1, 2])).mean() == 0.5


def test_arrays_and_tensors_compare_to_truth_values():
    x, y = Tensor([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        expected = compare(x.data, y)
        for found in (compare(x, y), compare(x, Tensor(y)), compare(x, 2)):
            assert found.dtype == bool
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(compare(y, x), compare(y, x.data))


@pytest.mark.parametrize(("choose", "expected"), [(maximum, [0.5, 0, 1]), (minimum, [0.5, 1, 0])])
def test_equal_numbers_share_the_gradient(choose, expected):
    a, b = (Tensor(x, requires_grad=True) for x in ([1.0, 2.0, 3.0], [1.0, 4.0, 0.0]))
    choose(a, b).sum().backward()
    assert a.grad.tolist() == expected
    assert b.grad.tolist() == [1 - e for e in expected]
    assert a.grad.dtype == np.float32


def test_functions_of_tensors_follow_numpy():
    rng = np.random.default_rng(5)
    a, b = (rng.normal(size=(2, 3)).astype(np.float32) for _ in range(2))
    t, u = Tensor(a), Tensor(b)
    np.testing.assert_array_equal(stack([t, u], -3).data, np.stack([a, b], -3))
    for axis in (0, 1, -1):
        np.testing.assert_array_equal(cat([t, u], axis).data, np.concatenate([a, b], axis))
        np.testing.assert_array_equal(stack([t, u], axis).data, np.stack([a, b], axis))
        for ddof in (0, 1):
            ours = t.var(axis, ddof=ddof, keepdims=True).data
            np.testing.assert_allclose(ours, a.var(axis, ddof=ddof, keepdims=True), rtol=1e-5)
            assert var(t, axis, ddof=ddof).data.tolist() == ours.ravel().tolist()
    np.testing.assert_array_equal(t.clip(-0.5, 0.5).data, np.clip(a, -0.5, 0.5))
    np.testing.assert_array_equal(t.max(0, keepdims=True).data, a.max(0, keepdims=True))
    np.testing.assert_array_equal(t.min(1).data, a.min(1))
    np.testing.assert_array_equal(maximum(t, u).data, np.maximum(a, b))
    np.testing.assert_array_equal(minimum(t, b).data, np.minimum(a, b))


@pytest.mark.parametrize(
    ("join", "says"),
    [
        (lambda: cat([]), "nothing to put together"),
        (
            lambda: cat([Tensor(np.ones((2, 3))), Tensor(np.ones((3, 3)))], 1),
            r"input 1 is f32\[3,3\]",
        ),
        (lambda: cat([Tensor(np.ones((2, 3)))], 2), "axis 2 of 2 dimensions"),
        (lambda: stack([]), "shapes of nothing do not stack"),
        (lambda: stack([Tensor(np.ones(2))], 2), r"there is no axis 2[^$]*-2 to 1"),
        (lambda: stack([Tensor(np.ones(2))], -3), "there is no axis -3"),
        (lambda: var(Tensor(np.ones((2, 1))), 1, ddof=1), r"the variance of 1 elem[^$]*than 1"),
        (lambda: var(Tensor(np.ones((0, 3))), 1), "input is"),
        (lambda: stack([Tensor(np.ones(2)), Tensor(np.ones(3))]), r"\(2,\), \(3,\) do not stack"),
    ],
)
def test_what_does_not_fit_together_is_refused(join, says):
    with pytest.raises(ShapeError, match=says):
        join()
