"""How two models fit together: every way in which the second takes what is there, or does not."""

from itertools import product

import numpy as np
import pytest

from tinyrt.errors import UnsupportedError
from tinyrt.export.cascade import _typed, joint_of
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops.shared.spec import NoAttrs

PLAIN, OTHER = QParams((0.5,), 3), QParams((0.25,), -7)
SCORES = QParams((1 / 256,), -128)


def model(source, outputs):
    """A graph of one node from ``source`` to all outputs; only its ports count."""
    values = {value.name: value for value in (source, *outputs)}
    names = tuple(value.name for value in outputs)
    nodes = (Node("split", "node", (source.name,), names, NoAttrs()),)
    return Graph("net", (source.name,), names, values, nodes)


def scores(name="scores", classes=4):
    return Value(name, DType.INT8, (1, classes), SCORES)


CASES = list(product((False, True), (True, False), (DType.INT8, DType.INT16), (PLAIN, OTHER)))


@pytest.mark.parametrize(("carried", "same_shape", "dtype", "q"), CASES)
def test_an_input_alone_may_be_converted_and_of_int8_alone(carried, same_shape, dtype, q):
    there = Value("there", dtype, (1, 6), PLAIN)
    x = Value("x", DType.INT8, (1, 9), PLAIN) if carried else there
    first = model(x, [there, scores()] if carried else [scores()])
    target = Value("there", dtype, (1, 6) if same_shape else (1, 7), q)
    second = model(target, [scores("answer")])
    converts = q is OTHER and not carried and dtype is DType.INT8
    if not same_shape or (q is OTHER and not converts):
        expected = f"what the first one {'gives' if carried else 'takes'}"
        with pytest.raises(UnsupportedError, match="the second model takes") as caught:
            joint_of(first, second)
        assert caught.value.expected.startswith(expected)
        return
    joint = joint_of(first, second)
    assert (joint.scores, joint.carried, joint.classes) == (int(carried), (None, 0)[carried], 4)
    assert (joint.table is not None) is converts
    if converts:
        real = PLAIN.scales[0] * (np.arange(-128, 128) - PLAIN.zero_point)
        stored = np.rint(real / OTHER.scales[0]) + OTHER.zero_point
        np.testing.assert_array_equal(joint.table, stored.clip(-128, 127))


def test_scores_may_stand_before_what_is_carried_or_behind_it():
    there = Value("there", DType.INT8, (1, 6), PLAIN)
    second = model(there, [scores("answer")])
    x = Value("x", DType.INT8, (1, 9), PLAIN)
    found = [joint_of(model(x, both), second) for both in ([there, scores()], [scores(), there])]
    assert [(joint.scores, joint.carried) for joint in found] == [(1, 0), (0, 1)]


NO_SCORES = {
    "one class": ((1, 1), DType.INT8, 2),
    "one class more": ((1, 5), DType.INT8, 4),
    "several samples": ((2, 4), DType.INT8, 4),
    "more than a row": ((1, 2, 2), DType.INT8, 4),
    "another width": ((1, 4), DType.INT16, 4),
}


@pytest.mark.parametrize(("shape", "dtype", "classes"), NO_SCORES.values(), ids=NO_SCORES)
def test_scores_that_no_cascade_compares_are_told_beside_those_that_it_does(shape, dtype, classes):
    there = Value("there", DType.INT8, (1, 6), PLAIN)
    other = Value("answer", dtype, shape, SCORES)
    first = other if shape[-1] < classes and len(shape) == 2 else scores()
    with pytest.raises(UnsupportedError, match="cannot compare these scores") as caught:
        joint_of(model(there, [first]), model(there, [other]))
    assert caught.value.tensor == other.describe()
    assert caught.value.expected == (f"int8 scores of one sample, {classes} classes in both models")


def ports(fed, states, answers):
    """A graph with these ports: numbers in, states, and outputs of these names."""
    before = [Value(f"before{i}", DType.INT8, (1, 6), PLAIN) for i in range(states)]
    after = [Value(f"after{i}", DType.INT8, (1, 6), PLAIN) for i in range(states)]
    inputs = [*(Value(name, DType.INT8, (1, 4), SCORES) for name in fed), *before]
    outputs = [*map(scores, answers), *after]
    values = {value.name: value for value in (*inputs, *outputs)}
    names, made = ([v.name for v in some] for some in (inputs, outputs))
    pairs = tuple((b.name, a.name) for b, a in zip(before, after, strict=True))
    nodes = (Node("split", "node", tuple(names), tuple(made), NoAttrs()),)
    return Graph("net", tuple(names), tuple(made), values, nodes, states=pairs)


def test_tensors_that_are_not_alike_are_told_with_their_scales():
    floats = Value("y", DType.FLOAT32, (1, 2))
    integers = Value("y", DType.INT8, (1, 2), QParams((0.5,), -3))
    assert _typed(floats) == floats.describe()
    assert _typed(integers) == f"{integers.describe()}, scale 0.5, zero point -3"


PORTS = {
    "one input": (("x", 0, "a"), ("x", 0, "b"), None),
    "an output called as the second's input": (("x", 0, "a"), ("a", 0, "b"), None),
    "one carried": (("x", 0, "ay"), ("y", 0, "b"), 1),
    "two inputs": (("xz", 0, "a"), ("x", 0, "b"), "has 2 inputs and 0 states"),
    "two inputs of the second": (("x", 0, "a"), ("xz", 0, "b"), "has 2 inputs and 0 states"),
    "a state": (("x", 1, "a"), ("x", 0, "b"), "has 1 inputs and 1 states"),
    "a state of the second": (("x", 0, "a"), ("x", 1, "b"), "has 1 inputs and 1 states"),
    "an output beside scores": (("x", 0, "ay"), ("x", 0, "b"), "have 2 and 1 outputs"),
    "two beside the carried one": (("x", 0, "ayz"), ("y", 0, "b"), "have 3 and 1 outputs"),
    "two of the second": (("x", 0, "a"), ("x", 0, "bc"), "have 1 and 2 outputs"),
    "two behind the carried one": (("x", 0, "ay"), ("y", 0, "bc"), "have 2 and 2 outputs"),
}


@pytest.mark.parametrize("name", PORTS)
def test_each_model_has_one_input_and_one_output_beside_what_is_carried(name):
    first, second, found = PORTS[name]
    if isinstance(found, str):
        with pytest.raises(UnsupportedError, match=found):
            joint_of(ports(*first), ports(*second))
    else:
        assert joint_of(ports(*first), ports(*second)).carried == found
