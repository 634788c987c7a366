"""What the tests of the training core build."""

import numpy as np

from tinyrt.train import Tensor


def leaf(rng, *shape, low=None):
    """A random float64 leaf; with ``low``, its elements are at least that."""
    data = rng.normal(size=shape)
    return Tensor(np.asarray(data if low is None else np.abs(data) + low), requires_grad=True)


def in_float64(module):
    for _, tensor in module.named_tensors():
        tensor.data = tensor.data.astype(np.float64)
    return module
