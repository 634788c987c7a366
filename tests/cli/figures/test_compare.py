"""The comparison itself: what is missing, new or another is found."""

import pytest

from tests.cli.figures.compare import assert_fields

RIGHT = {"a": 1, "b": [0.5, None], "c": {"d": "x"}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"a": 2},
        {"a": 1.0},
        {"b": [0.5001, None]},
        {"b": [0.5]},
        {"b": [0.5, 0]},
        {"c": {"d": "x", "e": 1}},
        {"c": {}},
        {"f": 1},
    ],
)
def test_whatever_differs_is_found(wrong):
    assert_fields(RIGHT, RIGHT)
    with pytest.raises(AssertionError):
        assert_fields(RIGHT | wrong, RIGHT)


def test_a_judge_is_asked():
    assert_fields(3, lambda n: n > 2)
    with pytest.raises(AssertionError):
        assert_fields(1, lambda n: n > 2)
