"""Gradients by the tape against central differences, in float64."""

import numpy as np
import pytest

from tinyrt.train import Tensor, no_grad

STEP = 1e-6


def check_gradients(compute, leaves, seed=0):
    """Compare the slope of ``compute()`` along a random direction of each leaf.

    ``compute`` is called without arguments and gives a tensor of any shape; its elements are
    weighted at random. ``leaves`` are float64 tensors that it depends on.
    """
    rng = np.random.default_rng(seed)
    output = compute()
    weighting = rng.normal(size=output.shape)
    for leaf in leaves:
        leaf.grad = None
    output.backward(weighting)
    for leaf in leaves:
        direction = rng.normal(size=leaf.shape)
        assert leaf.grad is not None
        assert (leaf.grad.shape, leaf.grad.dtype) == (leaf.shape, np.float64)
        slope = _slope(compute, leaf, direction, weighting)
        assert float((leaf.grad * direction).sum()) == pytest.approx(slope, rel=1e-5, abs=1e-7)


def _slope(compute, leaf, direction, weighting):
    start, values = leaf.data, []
    for sign in (1, -1):
        leaf.data = start + sign * STEP * direction
        with no_grad():
            values.append(float((compute().data * weighting).sum()))
    leaf.data = start
    return (values[0] - values[1]) / (2 * STEP)


def leaf(rng, *shape, low=None):
    """A random float64 leaf; with ``low``, its elements are at least that."""
    data = rng.normal(size=shape)
    return Tensor(np.asarray(data if low is None else np.abs(data) + low), requires_grad=True)
