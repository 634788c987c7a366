"""GRUs of all steps at once: they compute what their steps do."""

import numpy as np
import pytest

from tests.train.build import in_float64
from tinyrt.floatmath import parallel
from tinyrt.interpreter.model import Model
from tinyrt.train import Tensor, apply, trace
from tinyrt.train.gradcheck import gradcheck, gradgradcheck
from tinyrt.train.gru import GRU as FUNCTION
from tinyrt.train.gru import Gru
from tinyrt.train.recipes.stages import answers_of
from tinyrt.train.sequence import GRU


def operands(steps, n, inputs, units, dtype=np.float64):
    rng = np.random.default_rng(1)
    shapes = [(steps, n, inputs), (3 * units, inputs), (3 * units,), (3 * units, units)]
    return [rng.normal(size=s).astype(dtype) for s in (*shapes, (3 * units,), (n, units))]


@pytest.mark.parametrize("sizes", [(4, 3, 2, 5), (1, 1, 1, 1), (5, 2, 3, 4)])
def test_first_and_second_derivatives(sizes):
    inputs = [Tensor(a, requires_grad=True) for a in operands(*sizes)]

    def compute(*tensors):
        return apply(FUNCTION, Gru(), *tensors)

    gradcheck(compute, inputs)
    gradgradcheck(compute, inputs, rtol=1e-4, atol=1e-5)


def test_threads_change_no_bit():
    """Enough samples that they are shared out."""
    arrays, results = operands(6, 700, 5, 8, np.float32), []
    for count in (1, 2):
        with parallel.threads(count):
            attrs = Gru()
            y = FUNCTION.forward(attrs, *arrays)
            parts = FUNCTION.vjp(attrs, arrays, y, np.ones_like(y))
            results.append([y, *(g() if callable(g) else g for g in parts)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_it_is_traced_as_its_steps():
    rng = np.random.default_rng(2)
    layer = GRU(3, 4, rng=rng)
    layer.state.bias.data = rng.normal(size=12).astype(np.float32)
    x = rng.normal(size=(6, 5, 3)).astype(np.float32)
    np.testing.assert_allclose(Model(trace(layer, (5, 3)))(x), answers_of(layer)(x), atol=2e-6)
    wide = in_float64(layer)(Tensor(x.astype(np.float64)))
    assert wide.dtype == np.float64
    np.testing.assert_allclose(wide.data, answers_of(layer)(x), atol=2e-6)
