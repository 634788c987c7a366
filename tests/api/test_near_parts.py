"""One part of a condition alone is not met: constants, shares, versions and inputs."""

from types import SimpleNamespace

import numpy as np
import pytest

from tinyrt.api.costs import told_apart
from tinyrt.api.gate.budget import _percent, _share
from tinyrt.api.gate.checking import _notes
from tinyrt.errors import DataError
from tinyrt.ir import DType, Graph, Value
from tinyrt.search.teacher import _holds

HELD = {
    "zeros": (np.zeros(3, np.float32), True),
    "other numbers": (np.array([0, 0, 1], np.float32), False),
    "a matrix of zeros": (np.zeros((1, 3), np.float32), False),
    "integers": (np.zeros(3, np.int32), False),
}


@pytest.mark.parametrize("name", HELD)
def test_biases_of_zeros_alone_are_told_apart(name):
    data, drawn = HELD[name]
    values = {"x": Value("x", DType.FLOAT32, (3,)), "b": Value.constant("b", data)}
    found = told_apart(Graph("net", ("x",), ("x",), values, ()))
    assert found.value("x") is values["x"]
    assert (found.value("b") is not values["b"]) is drawn
    assert found.value("b").data.any() == (drawn or data.any())


@pytest.mark.parametrize("value", ["0.5", None, [0.5], True, False, 0, -0.1, 1.01])
def test_a_share_is_a_number_above_0_and_up_to_1(value):
    with pytest.raises(DataError, match="accuracy is"):
        _share("accuracy", value)


@pytest.mark.parametrize("value", ["5", None, True, -0.1, float("inf"), float("nan")])
def test_percent_are_a_number_from_0(value):
    with pytest.raises(DataError, match="tolerance is"):
        _percent("tolerance", value)


def test_shares_and_percent_reach_to_their_ends():
    assert (_share("accuracy", 1), _share("accuracy", 1e-9)) == (1.0, 1e-9)
    assert (_percent("tolerance", 0), _percent("tolerance", 250)) == (0.0, 250.0)


@pytest.mark.parametrize(
    ("before", "told"), [(None, False), ({}, False), ({"gcc": "13"}, False), ({"gcc": "12"}, True)]
)
def test_tools_of_another_version_are_told(before, told):
    baseline = None if before is None else SimpleNamespace(tools=before)
    notes = list(_notes(SimpleNamespace(tools={"gcc": "13"}), baseline))
    assert notes == (["gcc is 13; the baseline was measured with 12"] if told else [])


@pytest.mark.parametrize(
    ("takes", "holds"),
    [([(1, 4, 3)], True), ([(1, 3, 4)], True), ([(1, 4, 4)], False), ([(12,), (12,)], False)],
)
def test_a_teacher_has_one_input_of_as_many_numbers(takes, holds):
    assert _holds(takes, (4, 3)) is holds
