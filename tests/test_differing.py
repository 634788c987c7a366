"""Expressions that nothing told from a neighbour are named; code that notes computes as before."""

import builtins
from types import SimpleNamespace

import execnet
import numpy as np
import pytest

from tools import differing
from tools.differing.places import Places
from tools.differing.rewriting import NOTED, code_of

PARTS = """
def kind(a, b):
    if a < 0 or b < 0 or a + b > 9:
        return "out"
    return "in" if a and not (b and a > b) else "edge"

def is_pair(a, b):
    return a == b and bool(a)

def default(a):
    return a or 3
"""

NEIGHBOURS = """
from dataclasses import dataclass, replace
from math import ceil

@dataclass(frozen=True)
class Window:
    h: int = 1
    w: int = 1

def limits(a, b):
    return a < b, 0 <= a <= 3

def sums(a, b):
    return a + b, a - b, a * b, a // b, a % b, 2 * (a + 1)

def ends(a, b, c):
    return max(a, b, c), min(a, b), abs(a), ceil(a / b), round(a)

def places(items, n):
    return sorted(items), sorted(items, key=lambda i: -i), items[1:n], items[0], items[-1]

def area(window):
    return window.h * window.w

def grown(window, h):
    return area(window=replace(window, h=h, w=h))

def scaled(a, b=1):
    return scaled_by(a, b)

def scaled_by(a, b):
    return [scaled(x, b=b) for x in range(a) if x > 2] or [a]

def total(items):
    found = 0
    for item in items:
        found += item
    return found if items else -1

def several(items):
    return any(i > 1 for i in items), all(i > 1 for i in items), any(i % 2 for i in map(int, items))
"""


@pytest.fixture
def places(monkeypatch):
    made = Places()
    monkeypatch.setattr(builtins, NOTED, made, raising=False)
    return made


def both(places, source):
    """The names of a module as it is, and of the one that notes."""
    plain, noting = {"__name__": "plain"}, {"__name__": "noting"}
    exec(source, plain)
    exec(code_of(places, source, "m.py"), noting)

    def run(name, *arguments):
        found = noting[name](*arguments)
        assert found == plain[name](*arguments), (name, arguments)
        assert type(found) is type(plain[name](*arguments))

    return run, noting


def untold(places):
    return [line.split(": ", 1)[1] for line in places.untold]


def test_parts_of_conditions_that_decide_nothing_are_named(places):
    run, _ = both(places, PARTS)
    for a, b in ((1, 2), (0, 1), (-1, 1), (2, 1)):
        run("kind", a, b)
    run("is_pair", 1, 1)
    run("default", 2)
    assert untold(places) == [
        "limit 1: b < 0",
        "part: b < 0",
        "limit 1: a + b > 9",
        "part: a + b > 9",
        "part: b",
        "limit 1: a > b",
        "part: a == b",
        "part: bool(a)",
    ]


SEEN = {
    "limits": [(2, 3)],
    "sums": [(4, 2)],
    "ends": [(4, 2, 1)],
    "places": [([2, 2, 3], 3)],
    "total": [([2],)],
    "several": [([3, 3],), ([0, 0],)],
}
LEFT = {
    "limits": ["limit 1: a < b", "limit 1: 0 <= a <= 3", "limit 2: 0 <= a <= 3"],
    "sums": ["FloorDiv right: a // b"],
    "ends": ["max 1", "max 2", "min 0", "abs", "ceil", "round"],
    "places": ["ordered: sorted(items)", "cut stop: items[1:n]", "at: items[0]"],
    "total": ["loop: items", "choice False: items"],
    "several": ["any: any((i > 1", "all: all((", "any: any((i % 2"],
}
TOLD = {
    "limits": [(3, 3), (0, 3)],
    "sums": [(5, 2)],
    "ends": [(-3.5, 2, 2.5), (0, 1, 0), (1, 3, 3), (0, 1, 2)],
    "places": [([2, 1, 3], 2)],
    "total": [([1, 2],), ([],)],
    "several": [([1, 2],), ([],)],
}


@pytest.mark.parametrize("name", SEEN)
def test_what_nothing_told_from_its_neighbour_is_named_until_a_call_does(places, name):
    function = NEIGHBOURS[NEIGHBOURS.index(f"def {name}(") :].split("\n\n")[0]
    run, _ = both(places, f"from math import ceil\n{function}\n")
    for arguments in SEEN[name]:
        run(name, *arguments)
    lines = untold(places)
    assert [any(line.startswith(start) for line in lines) for start in LEFT[name]] == [True] * len(
        LEFT[name]
    ), lines
    for arguments in TOLD[name]:
        run(name, *arguments)
    assert not [line for line in untold(places) if line.startswith(tuple(LEFT[name]))]


def test_arguments_and_attributes_are_told_where_they_differ(places):
    run, noting = both(places, NEIGHBOURS)
    square = noting["Window"](2, 2)
    assert noting["grown"](square, 2) == 4
    run("scaled", 1)
    lines = untold(places)
    for line in (
        "twin: window.h",
        "twin: window.w",
        "replaced: h of replace(window, h=h, w=h)",
        "parameter: scaled(b)",
        "keyword: b of scaled(x, b=b)",
        "filter True: x > 2",
        "swapped 0: scaled_by(a, b)",
    ):
        assert line in lines, (line, lines)
    assert noting["grown"](noting["Window"](1, 2), 3) == 9
    assert noting["area"](noting["Window"](1, 2)) == 2
    run("scaled", 4, 2)
    assert not [line for line in untold(places) if line.startswith(("twin", "repl", "para", "key"))]
    assert "swapped 0: scaled_by(a, b)" not in untold(places)


def test_what_numba_compiles_and_what_is_never_computed_twice_stays(places):
    source = """
import numpy as np

def compiled(function):
    return function

def calls():
    made.append(1)
    return made

made = []

@compiled
def least(a, b):
    return min(a, b)

def made_by_a_call():
    def greatest(a, b):
        return max(a, b)
    return compiled(greatest)

def kernel(address: int) -> None:
    made.append(min(address, 9))

def twice():
    return 0 <= len(calls()) <= 1

def arrays(x):
    return np.floor(x), np.max(x, 0)
"""
    _, noting = both(places, source)
    assert noting["least"](1, 2) == 1
    assert noting["made_by_a_call"]()(1, 2) == 2
    assert noting["twice"]() is True
    whole, greatest = noting["arrays"](np.array([[1.0, 2.0]]))
    assert whole.tolist() == [[1.0, 2.0]]
    assert greatest.tolist() == [1.0, 2.0]
    assert untold(places) == ["floor: np.floor(x)"]


def test_what_processes_saw_is_joined(monkeypatch):
    """One has seen an equal pair, another has not; a third one crashed."""
    joined = Places()
    for pairs in ([(1, 2)], [(1, 2), (3, 3)], None):
        node = SimpleNamespace(config=SimpleNamespace(workeroutput={}))
        if pairs is not None:
            own = Places()
            for owner, name in ((differing, "PLACES"), (builtins, NOTED)):
                monkeypatch.setattr(owner, name, own, raising=False)
            source = "def less(a, b):\n    return a < b\n\ndef more(a):\n    return a > 3"
            _, noting = both(own, source)
            for pair in pairs:
                noting["less"](*pair)
            differing.pytest_sessionfinish(node)
            node.workeroutput = execnet.loads(execnet.dumps(node.config.workeroutput))
        monkeypatch.setattr(differing, "PLACES", joined)
        differing.pytest_testnodedown(node)
    assert untold(joined) == ["limit 1: a > 3"]
    differing.pytest_sessionfinish(SimpleNamespace(config=SimpleNamespace()))
