"""How two models fit together: every way in which the second takes what is there, or does not."""

from itertools import product

import numpy as np
import pytest

from tinyrt.errors import UnsupportedError
from tinyrt.export.cascade import joint_of
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
