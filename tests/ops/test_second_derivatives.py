"""Gradients that are recorded are those of arrays, and have gradients themselves."""

import numpy as np
import pytest

from tests.ops.build import differentiable_ops, real_inputs
from tests.ops.cases import CASES, rng_of
from tinyrt.train import Tensor, apply
from tinyrt.train.core.autograd import partial_derivatives

STEP = 1e-6
SEEDS = {"unidirectional_sequence_lstm": 9}
"""Op -> which of its cases has several steps of time, and limits its state."""


def tensors(arrays):
    return [Tensor(a, requires_grad=a.dtype.kind == "f", dtype=a.dtype) for a in arrays]


def slopes(op, attrs, arrays, weights, *, recorded):
    """The derivatives of the weighted outputs in each float input; recorded, with the inputs."""
    operands = tensors(arrays)
    inputs = [x for x in operands if x.requires_grad]
    output = apply(op, attrs, *operands)
    given = Tensor(weights, requires_grad=True) if recorded else weights
    found = partial_derivatives(output, inputs, given, create_graph=recorded)
    return inputs, found


def number(found, directions):
    """One number of all derivatives; None where they are none."""
    parts = [(g * d).sum() for g, d in zip(found, directions, strict=True) if g is not None]
    return sum(parts[1:], parts[0]) if parts else None


@pytest.mark.parametrize("op", differentiable_ops())
def test_gradients_of_gradients_equal_finite_differences(op):
    rng = rng_of(op, SEEDS.get(op, 1))
    case = CASES[op](rng)
    arrays = real_inputs(case, rng)
    weights = rng.normal(size=apply(op, case.attrs, *tensors(arrays)).shape)
    inputs, found = slopes(op, case.attrs, arrays, weights, recorded=True)
    _, plain = slopes(op, case.attrs, arrays, weights, recorded=False)
    for one, other in zip(found, plain, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one.data, other.data, rtol=1e-9, atol=1e-12)
    directions = [rng.normal(size=x.shape) for x in inputs]
    total = number(found, directions)
    if total is None or not total.requires_grad:
        return  # truth values
    second = partial_derivatives(total, inputs)
    for i, x in enumerate(inputs):
        moved = rng.normal(size=x.shape)
        at = [j for j, a in enumerate(arrays) if a.dtype.kind == "f"][i]

        def slope(step, at=at, moved=moved):
            nudged = [a + step * moved if j == at else a for j, a in enumerate(arrays)]
            _, plain = slopes(op, case.attrs, nudged, weights, recorded=False)
            return float(number([g and g.data for g in plain], directions))

        wanted = (slope(STEP) - slope(-STEP)) / (2 * STEP)
        got = 0.0 if second[i] is None else float((second[i].data * moved).sum())
        assert got == pytest.approx(wanted, rel=1e-4, abs=1e-5), i
