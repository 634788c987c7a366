"""Parts of conditions that decide nothing are found, and code with notes computes what it did."""

import builtins

import pytest

from tools.deciding import NOTED, Parts

SOURCE = """
def kind(a, b):
    if a < 0 or b < 0 or a + b > 9:
        return "out"
    return "in" if a and not (b and a > b) else "edge"


def picked(numbers):
    return [n for n in numbers if n and n % 2]


def is_pair(a, b):
    return a == b and bool(a)


def either(a, b, c):
    return bool(a or (b and c))


def is_any(a, b, c):
    if a or b and c:
        return True
    return False


def default(a):
    return max(a or 3, 1)
"""


@pytest.fixture
def parts(monkeypatch):
    made = Parts()
    monkeypatch.setattr(builtins, NOTED, made.noted, raising=False)
    return made


def test_parts_that_decide_nothing_are_named(parts):
    plain, noting = {}, {}
    exec(SOURCE, plain)
    exec(parts.code_of(SOURCE, "m.py"), noting)
    numbers = range(4)
    for a, b in ((1, 2), (0, 1), (-1, 1), (2, 1)):
        assert noting["kind"](a, b) == plain["kind"](a, b)
    assert noting["picked"](numbers) == plain["picked"](numbers) == [1, 3]
    assert noting["is_pair"](1, 1) is plain["is_pair"](1, 1) is True
    for a, b, c in ((0, 1, 1), (0, 1, 0), (1, 0, 0)):
        assert noting["either"](a, b, c) is noting["is_any"](a, b, c) is plain["is_any"](a, b, c)
    assert noting["default"](0) == plain["default"](0) == 3
    assert parts.undecided == [
        "m.py:3: b < 0",
        "m.py:3: a + b > 9",
        "m.py:5: b",
        "m.py:13: a == b",
        "m.py:13: bool(a)",
        "m.py:21: b",
    ]
    assert len(parts.texts) == 15
