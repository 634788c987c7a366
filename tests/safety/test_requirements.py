"""Every promise has tests, and they are there."""

import pytest

from tests.safety.requirements import REQUIREMENTS, Requirement


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.name)
def test_every_test_is_there(requirement):
    assert requirement.tests
    assert requirement.missing() == []


def test_a_test_that_is_not_there_is_missing():
    here = "safety/test_requirements.py::test_a_test_that_is_not_there_is_missing"
    others = (
        "safety/test_requirements.py::test_another",
        "safety/none.py::test_one",
        "safety/test_requirements.py::REQUIREMENTS",
        "safety/test_requirements.py",
    )
    assert Requirement("x", "something", (here, *others)).missing() == list(others)


def test_names_are_unlike():
    names = [requirement.name for requirement in REQUIREMENTS]
    assert len(names) == len(set(names))
