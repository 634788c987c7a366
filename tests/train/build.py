"""What the tests of the training core build."""

import numpy as np

from tinyrt.train import Adam, Tensor, cross_entropy


def leaf(rng, *shape, low=None):
    """A random float64 leaf; with ``low``, its elements are at least that."""
    data = rng.normal(size=shape)
    return Tensor(np.asarray(data if low is None else np.abs(data) + low), requires_grad=True)


def tensor_of(array):
    """One with a gradient, but of truth values and places."""
    return Tensor(array, requires_grad=array.dtype.kind == "f", dtype=array.dtype)


def in_float64(module):
    for _, tensor in module.named_tensors():
        tensor.data = tensor.data.astype(np.float64)
    return module


def train(model, x, y, steps, lr=1e-2):
    """The losses of as many steps on all samples."""
    optimizer = Adam(model.parameters(), lr)
    losses = []
    for _ in range(steps):
        loss = cross_entropy(model(Tensor(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
