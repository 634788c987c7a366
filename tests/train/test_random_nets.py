"""Random nets: gradients beside PyTorch's, which runs what ``trace`` wrote down."""

import numpy as np
import pytest

from tests.sampling import sampled
from tests.train.random_nets import random_net
from tests.train.test_ops_against_torch import TWINS, torch
from tinyrt.ops.shared.batch import rebatch
from tinyrt.train import Tensor, trace

NETS = sampled(100, 2000)
BATCH = 3


def theirs(graph, x, weights):
    """The output in PyTorch, and the gradients of the input and of all constants by name."""
    live = {graph.inputs[0]: torch.tensor(x, requires_grad=True)}
    for value in graph.values.values():
        if value.is_constant:
            is_float = value.data.dtype.kind == "f"
            wide = value.data.astype(np.float64) if is_float else value.data
            live[value.name] = torch.tensor(wide, requires_grad=is_float)
    leaves = {name: t for name, t in live.items() if t.requires_grad}
    for node in graph.bound():
        operands = [live[v.name] for v in node.inputs if v is not None]
        live[node.output.name] = TWINS[node.op](node.attrs, *operands)
    y = live[graph.outputs[0]]
    found = torch.autograd.grad(y, list(leaves.values()), torch.tensor(weights), allow_unused=True)
    return y.detach().numpy(), dict(zip(leaves, found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_gradients_equal_pytorchs(part):
    for seed in range(part, NETS, 10):
        net, shape = random_net(seed)
        rng = np.random.default_rng(seed)
        graph = rebatch(trace(net, shape), BATCH)
        for _, tensor in net.named_tensors():
            tensor.data = tensor.data.astype(np.float64)
        x = Tensor(rng.normal(size=(BATCH, *shape)), requires_grad=True)
        with net.evaluating():
            y = net(x)
        weights = rng.normal(size=y.shape)
        their_y, gradients = theirs(graph, x.data, weights)
        assert_close(y.data, their_y, f"net {seed}: output")
        if y.requires_grad:
            y.backward(weights)
        leaves = {graph.inputs[0]: x, **dict(net.named_parameters())}
        for name, tensor in leaves.items():
            other = gradients.get(name)
            expected = np.zeros(tensor.shape) if other is None else other.numpy()
            found = np.zeros(tensor.shape) if tensor.grad is None else tensor.grad
            assert_close(found, expected, f"net {seed}: {name}")


def assert_close(found, expected, what):
    # Graphs hold numbers, such as a root of the channels, in float32.
    scale = max(1, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-6 * scale, err_msg=what)
