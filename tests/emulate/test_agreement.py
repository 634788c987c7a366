"""Whether a board's answers are the host's, and how far they are from them."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from tests.emulate.test_reports import port
from tinyrt.emulate import run
from tinyrt.ir import DType

FLOAT = port("f", DType.FLOAT32)
NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("actual", "target", "error"),
    [
        ([1, 2], [1, 2], 0.0),
        ([1, 2], [1, 4], 0.5),
        ([1, -6], [1, -4], 0.5),
        ([0.25, 0], [0, 0], 0.25),
        ([NAN, 2], [NAN, 2], 0.0),
        ([NAN, 2], [1, 2], INF),
        ([1, 2], [NAN, 2], INF),
        ([INF, 2], [INF, 4], 0.5),
        ([INF, 2], [-INF, 2], INF),
        ([INF, 2], [1, 2], INF),
        ([INF, INF], [INF, INF], 0.0),
    ],
)
def test_a_float_error_is_relative_to_the_largest_element(actual, target, error):
    project = SimpleNamespace(outputs=(FLOAT, port("i")))
    same = np.array([[1, 2]], np.int8)
    arrays = [{"f": np.array([a], np.float32), "i": same} for a in (actual, target)]
    assert run._float_error(project, *arrays) == error


def test_integers_beside_floats_are_equal_or_infinitely_wrong():
    floats, integers = np.zeros((1, 2), np.float32), np.array([[1, 2]], np.int8)
    project = SimpleNamespace(outputs=(FLOAT, port("i")))
    found, expected = {"f": floats, "i": integers}, {"f": floats, "i": integers + np.int8(1)}
    assert run._float_error(project, found, expected) == INF
    alone = SimpleNamespace(outputs=(port("i"),))
    assert run._float_error(alone, found, found) is None


def test_a_board_is_right_where_all_its_outputs_are():
    project = SimpleNamespace(outputs=(port("i"), port("j")))
    one = np.array([[1, 2]], np.int8)
    wanted = {"i": one, "j": one}
    assert run._equal(project, wanted, {"i": one.copy(), "j": one.copy()})
    for name, wrong in (("i", one + np.int8(1)), ("j", one + np.int8(1)), ("j", one.astype(int))):
        assert not run._equal(project, wanted | {name: wrong}, wanted)


def test_of_several_float_outputs_the_worst_counts():
    project = SimpleNamespace(outputs=(FLOAT, port("g", DType.FLOAT32)))
    one = np.ones((1, 2), np.float32)
    expected = {"f": one, "g": one}
    assert run._float_error(project, {"f": one, "g": one * 2}, expected) == 1
    assert run._float_error(project, {"f": one * 2, "g": one}, expected) == 1
