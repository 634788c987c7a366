"""Tests that a record says nothing of any more: ``tools/mutants/renewed.py``."""

import pytest

from tools.mutants.renewed import changed_tests

THEN = '''
import numpy as np
from a import b as c

CASES = {"one": 1}
CASES |= {n + n: len(n) for n in CASES if n}
MORE = [n for n in "a"] + [n for n in "b"]

@pytest.fixture
def graph():
    return made()

def made():
    return CASES

def _other():
    return 3

@pytest.mark.parametrize("n", (1, 2))
def test_plain(n):
    """It holds."""
    assert np.zeros(n).sum() == 0

def test_with_helper():
    assert _other() == 3

def test_with_fixture(graph):
    assert graph

@pytest.mark.usefixtures("graph")
def test_that_asks_by_name():
    assert c
'''


@pytest.mark.parametrize(
    ("before", "after", "tests"),
    [
        ("(1, 2)", "(1, 3)", "plain"),
        ("def _other():\n", "def _other():  # why\n", ""),
        ("return 3", "return 4", "with_helper"),
        ('"one": 1', '"one": 2', "with_fixture that_asks_by_name"),
        ("import b as c", "import d as c", "that_asks_by_name"),
        ("import numpy", "import scipy", "plain"),
        ("CASES =", "pytestmark = 3\nCASES =", "plain with_helper with_fixture that_asks_by_name"),
        (
            "fixture\n",
            "fixture(autouse=True)\n",
            "plain with_helper with_fixture that_asks_by_name",
        ),
    ],
)
def test_tests_change_with_what_they_use(before, after, tests):
    changed = changed_tests(THEN, THEN.replace(before, after))
    assert changed == {f"test_{name}": True for name in tests.split()}


def test_a_test_of_another_name_is_new_and_the_old_one_gone():
    changed = changed_tests(THEN, THEN.replace("def test_plain", "def test_same"))
    assert changed == {"test_plain": False, "test_same": True}


def test_all_tests_of_a_file_are_new_or_gone():
    names = ["plain", "that_asks_by_name", "with_fixture", "with_helper"]
    assert changed_tests("", THEN) == {f"test_{name}": True for name in names}
    assert changed_tests(THEN, "") == {f"test_{name}": False for name in names}
