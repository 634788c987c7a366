"""The faults that a person makes: each example with all that an operator makes of it."""

import pytest

from tools.mutants import python_faults
from tools.mutants.rewrites import MOST_ELEMENTS, OWN

FIELDS = "class A:\n    a: int\n    b: str = 1\n    c: int = 2\n    def f(self): "
EXAMPLES = {
    "RemoveRaise": ("if x:\n    raise ValueError(x)", ["if x:\n    pass"]),
    "RemoveCall": ("digest.update(x)\ny = f(x)", ["pass\ny = f(x)"]),
    "RemoveReturn": (
        "def f(x):\n    if x:\n        return 1\n    return 2",
        ["def f(x):\n    if x:\n        pass\n    return 2"],
    ),
    "RemoveKeyword": (
        "y = f(x, a=1, b=2)\nz = g(c=3)\nf(*a, **b)\nf(x for x in y)",
        [
            "y = f(x, b=2)\nz = g(c=3)\nf(*a, **b)\nf(x for x in y)",
            "y = f(x, a=1)\nz = g(c=3)\nf(*a, **b)\nf(x for x in y)",
            "y = f(x, a=1, b=2)\nz = g()\nf(*a, **b)\nf(x for x in y)",
        ],
    ),
    "RemoveOperand": (
        "y = (a and b) or c\nz = d or e and f",
        [
            *("y = (a) or c\nz = d or e and f", "y = (b) or c\nz = d or e and f"),
            *("y = (a and b)\nz = d or e and f", "y = c\nz = d or e and f"),
            *("y = (a and b) or c\nz = d", "y = (a and b) or c\nz = e and f"),
            *("y = (a and b) or c\nz = d or e", "y = (a and b) or c\nz = d or f"),
        ],
    ),
    "RemoveElement": (
        "y = (a, b)\nz = {1: c, **d}\n(e, f) = g",
        [
            *("y = (b,)\nz = {1: c, **d}\n(e, f) = g", "y = (a,)\nz = {1: c, **d}\n(e, f) = g"),
            *("y = (a, b)\nz = {** d}\n(e, f) = g", "y = (a, b)\nz = {1 : c}\n(e, f) = g"),
        ],
    ),
    "RemoveFilter": ("y = [x for x in z if x > 1]", ["y = [x for x in z]"]),
    "RemoveCopy": ("y = x.copy()\nz = x.copy(1)", ["y = x\nz = x.copy(1)"]),
    "ChooseBranch": ("y = a if b else c", ["y = a", "y = c"]),
    "ChooseItems": (
        "for x in a, b:\n    y = {z for z in x}",
        [
            "for x in [*(a, b)][:1]:\n    y = {z for z in x}",
            "for x in [*(a, b)][1:]:\n    y = {z for z in x}",
            "for x in a, b:\n    y = {z for z in [*(x)][:1]}",
            "for x in a, b:\n    y = {z for z in [*(x)][1:]}",
        ],
    ),
    "SwapFunction": (
        "y = max(x)\nz = x.min\nw = x.any()",
        ["y = min(x)\nz = x.min\nw = x.any()", "y = max(x)\nz = x.min\nw = x.all()"],
    ),
    "SwapArguments": (
        "y = f(a, b, *c)\nz = max(a, b)\nw = f(a, a)\nv = f(a, b=b)",
        ["y = f(b, a, *c)\nz = max(a, b)\nw = f(a, a)\nv = f(a, b=b)"],
    ),
    "SwapName": (
        "def f(a: int, b: str, c: int):\n    d, e, _ = g(a, b=c)\n    d.e = 1",
        [
            "def f(a: int, b: str, c: int):\n    d, e, _ = g(c, b=c)\n    d.e = 1",
            "def f(a: int, b: str, c: int):\n    d, e, _ = g(a, b=a)\n    d.e = 1",
            "def f(a: int, b: str, c: int):\n    d, e, _ = g(a, b=c)\n    e.e = 1",
        ],
    ),
    "SwapAttribute": (
        f"{FIELDS}return self.a + self.b + b.c.rows",
        [
            f"{FIELDS}return self.c + self.b + b.c.rows",
            f"{FIELDS}return self.a + self.b + b.c.columns",
        ],
    ),
}


@pytest.fixture
def faults_of(tmp_path):
    """What an operator makes of a text."""

    def faults_of(text, operator):
        (tmp_path / "module.py").write_text(text)
        places = python_faults.places(tmp_path, "module.py")
        return [python_faults.changed(text, p) for p in places if p.operator == operator]

    return faults_of


@pytest.mark.parametrize("operator", OWN)
def test_what_an_operator_makes_of_its_example(faults_of, operator):
    before, after = EXAMPLES[operator]
    assert sorted(faults_of(before, operator)) == sorted(after)


def test_a_table_loses_none_of_its_rows(faults_of):
    rows = [f"{i}," for i in range(MOST_ELEMENTS)]
    assert len(faults_of(f"x = [{''.join(rows)}]", "RemoveElement")) == MOST_ELEMENTS
    assert not faults_of(f"x = [{''.join(rows)} 1]", "RemoveElement")


def test_functions_within_functions_have_their_own_names(faults_of):
    text = "def f(a: int, b: int):\n    def g(c: int, d: int):\n        return c\n    return g(a)\n"
    assert sorted(faults_of(text, "SwapName")) == [
        text.replace("g(a)", "g(b)"),
        text.replace("return c", "return d"),
    ]


def test_a_fault_stands_in_the_line_of_its_part(tmp_path):
    (tmp_path / "module.py").write_text("f(\n    a,\n    b=1,\n)\ng(c=2)\n")
    found = python_faults.places(tmp_path, "module.py")
    assert [p.line for p in found if p.operator == "RemoveKeyword"] == [3, 5]
