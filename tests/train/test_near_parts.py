"""One part of a condition alone is not met: found by ``tools.differing``."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.errors import DataError, ShapeError
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.train.data import class_weights
from tinyrt.train.distill import as_logits
from tinyrt.train.nn import BatchNorm, Conv2d, Linear, Sequential
from tinyrt.train.optim import Adam
from tinyrt.train.prune import Schedule, prunable
from tinyrt.train.torch_state import to_torch

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("c_in", "c_out"), [(4, 6), (6, 4), (6, 6)])
def test_groups_divide_what_a_layer_takes_and_what_it_gives(c_in, c_out):
    Conv2d(8, 4, 1, rng=RNG, groups=4)
    with pytest.raises(ShapeError, match="4 groups do not divide"):
        Conv2d(c_in, c_out, 1, rng=RNG, groups=4)


def test_a_state_has_all_names_of_a_module_and_no_others():
    layer = Linear(2, 3, rng=RNG)
    state = layer.state_dict()
    layer.load_state_dict(state)
    for other, said in (
        (state | {"gain": np.ones(3)}, r"missing \[\], unknown \['gain'\]"),
        ({"bias": state["bias"]}, r"missing \['weight'\], unknown \[\]"),
    ):
        with pytest.raises(DataError, match=said):
            layer.load_state_dict(other)


@pytest.mark.parametrize(
    "labels", [[], [-1, 0, 1], [0.0, 1.0], [[0, 1]], np.array([], np.int64), [True, False]]
)
def test_weights_of_classes_are_of_some_labels(labels):
    assert class_weights([0, 0, 1]).tolist() == [0.75, 1.5]
    with pytest.raises(DataError, match="labels of type"):
        class_weights(labels)


@pytest.mark.parametrize(
    "options",
    [
        {"initial": 0.6},
        {"initial": -0.1},
        {"final": 1.0},
        {"begin": -0.1},
        {"begin": 0.7},
        {"begin": 0.8, "end": 0.7},
        {"end": 1.1},
    ],
)
def test_a_schedule_begins_before_it_ends(options):
    Schedule(final=0.5, initial=0.5, begin=0.0, end=1.0)
    with pytest.raises(DataError, match="sparsity from"):
        Schedule(**{"final": 0.5, **options})


@pytest.mark.parametrize(
    ("i", "shape"), [(0, (3, 2)), (1, (3,)), (0, (2, 3)), (1, (3, 2)), (2, (3,)), (9, (3, 2))]
)
def test_what_an_optimiser_keeps_belongs_to_a_parameter(i, shape):
    layer = Linear(2, 3, rng=RNG)
    shapes = [tensor.shape for tensor in layer.parameters()]
    optimizer = Adam(layer.parameters(), 0.1)
    state = {"steps": np.array(2), "lr": np.array(0.5), f"{i}.first": np.ones(shape)}
    if i < len(shapes) and shapes[i] == shape:
        optimizer.load_state_dict(state)
        np.testing.assert_array_equal(optimizer.state[i]["first"], np.ones(shape))
    else:
        with pytest.raises(DataError, match="fits no parameter"):
            optimizer.load_state_dict(state)


def test_weights_of_several_outputs_are_pruned():
    class Scaled(Linear):
        """One whose scale is called a weight."""

    norm = BatchNorm(4)
    norm.weight = norm.gamma
    net = Sequential(one=Linear(4, 1, rng=RNG), several=Scaled(4, 3, rng=RNG), norm=norm)
    assert list(prunable(net)) == ["several.weight"]


@pytest.mark.parametrize("inside", [True, False])
def test_norms_are_counted_for_pytorch_wherever_they_stand(inside):
    net = Sequential(norm=BatchNorm(4)) if inside else BatchNorm(4)
    names = {name.rpartition(".")[2] for name in to_torch(net)}
    assert names == {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}


@pytest.mark.parametrize("op", ["softmax", "abs", "input"])
def test_a_softmax_at_the_end_is_undone_where_there_is_one(op):
    net = Builder((1, 4))
    last = "x"
    if op != "input":
        last = net.op(op, (last,), SoftmaxAttrs() if op == "softmax" else NoAttrs())
    graph = net.graph(net.op("reshape", (last,), ReshapeAttrs((2, 2))))
    answers = np.array([[0.5, 0.25, 0.25, 0]], np.float32)
    found = as_logits(graph, answers)
    wanted = np.log(np.maximum(answers, 1e-9)) if op == "softmax" else answers
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
