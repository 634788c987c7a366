"""Checkpoints: every kind of module has its gradients, and what is kept, and what is repeated."""

import numpy as np
import pytest

from tinyrt.train import Tensor
from tinyrt.train.checkpointing import (
    checkpoint,
    checkpoint_cheap_layers,
    checkpoint_sequential,
)
from tinyrt.train.core.tensor import listening
from tinyrt.train.nn import BatchNorm, Dropout, Linear, ReLU, Residual, Sequential, Tanh

MODULES = {
    "a layer alone": lambda r: Linear(4, 4, rng=r),
    "a residual": lambda r: Residual(Sequential(Linear(4, 4, rng=r), Tanh())),
    "a chain with a dense end": lambda r: Sequential(Tanh(), Linear(4, 4, rng=r)),
    "a chain with another end": lambda r: Sequential(Linear(4, 4, rng=r), Tanh()),
    "a chain of a chain": lambda r: Sequential(Sequential(Tanh(), Linear(4, 4, rng=r))),
    "a chain of one": lambda r: Sequential(Linear(4, 4, rng=r)),
}
BARE = {"a layer without parameters": lambda r: Tanh(), "an empty chain": lambda r: Sequential()}
CASES = [(make, wanted) for make in MODULES.values() for wanted in (True, False)]
CASES += [(make, True) for make in BARE.values()]
IDS = [f"{name}, {end}" for name in MODULES for end in ("input too", "parameters alone")]


def gradients(run, module, x):
    for parameter in module.parameters():
        parameter.grad = None
    y = run(module, x)
    (y * y).sum().backward()
    return [y.data, *(p.grad for p in module.parameters()), x.grad]


@pytest.mark.parametrize(("make", "wanted"), CASES, ids=[*IDS, *BARE])
def test_every_kind_of_module_has_the_gradients_it_has_without(make, wanted):
    rng = np.random.default_rng(0)
    module, data = make(rng), rng.normal(size=(3, 4)).astype(np.float32)
    plain, again = (
        gradients(run, module, Tensor(data, requires_grad=wanted))
        for run in (type(module).__call__, checkpoint)
    )
    assert (again[-1] is not None) == wanted
    for a, b in zip(plain, again, strict=True):
        np.testing.assert_array_equal(a, b)


def drawing(rng):
    """Draws at random, and has statistics that move."""
    norm = BatchNorm(4)
    drops = [Dropout(share, rng=rng) for share in (0.5, 0.25)]
    return Sequential(Linear(4, 4, rng=rng), drops[0], norm, drops[1], Tanh())


def test_what_draws_and_counts_goes_on_as_without_a_checkpoint():
    """What is computed again, the last part first, leaves no trace in what the next step draws."""
    data, found = np.random.default_rng(4).normal(size=(3, 5, 4)).astype(np.float32), []
    for run in (Sequential.__call__, checkpoint):
        module = drawing(np.random.default_rng(5))

        def twice(module, x, run=run):
            return run(module, x) + run(module, x * 2)

        steps = [gradients(twice, module, Tensor(x, requires_grad=True)) for x in data]
        arrays = [a.ravel() for step in steps for a in step]
        found.append(np.concatenate([*arrays, *(b.data for _, b in module.named_buffers())]))
    np.testing.assert_array_equal(*found)
    assert len({*found[0].tolist()}) > 60, "not all is 0"


@pytest.mark.parametrize("dense_end", [True, False])
def test_a_dense_end_is_not_computed_again(dense_end):
    rng = np.random.default_rng(1)
    end = Linear(4, 4, rng=rng) if dense_end else Tanh()
    x = Tensor(rng.normal(size=(3, 4)).astype(np.float32), requires_grad=True)
    y = checkpoint(Sequential(Linear(4, 4, rng=rng), ReLU(), end), x)
    results = []
    with listening(lambda function, attrs, operands, output: results.append(output.data)):
        y.sum().backward()
    assert any(result is y.data for result in results) == dense_end


def chain(rng, count):
    layers = [Linear(4, 4, rng=rng) if i % 2 == 0 else ReLU() for i in range(count)]
    return Sequential(*layers)


def functions_of(run):
    """Names of what is applied, those inside checkpoints too."""
    names = []
    with listening(lambda function, *_: names.append(function.name)):
        run()
    return names


@pytest.mark.parametrize(
    ("segments", "checkpoints"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 4), (9, 4)]
)
def test_all_segments_but_the_last_are_checkpoints(segments, checkpoints):
    rng = np.random.default_rng(2)
    layers = chain(rng, 5)
    x = Tensor(rng.normal(size=(2, 4)).astype(np.float32), requires_grad=True)
    names = functions_of(lambda: checkpoint_sequential(layers, x, segments))
    assert names.count("checkpoint") == checkpoints
    result = checkpoint_sequential(layers, x, segments)
    np.testing.assert_array_equal(result.data, layers(x).data)


@pytest.mark.parametrize(("count", "checkpoints"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)])
def test_cheap_layers_are_checkpoints_with_the_dense_layer_behind_them(count, checkpoints):
    rng = np.random.default_rng(3)
    layers = chain(rng, count)
    x = Tensor(rng.normal(size=(2, 4)).astype(np.float32), requires_grad=True)
    names = functions_of(lambda: checkpoint_cheap_layers(layers, x))
    assert names.count("checkpoint") == checkpoints
    np.testing.assert_array_equal(checkpoint_cheap_layers(layers, x).data, layers(x).data)
