"""Folders are listed in any order: what follows from a listing is sorted, or has no order."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1] / "tinyrt"
LISTING = {"glob", "rglob", "iterdir", "scandir", "listdir"}
SORTING = {"sorted", "any", "all", "set", "len"}

ORDERLESS = {
    ("cache.py", "state_of"): "sizes are added up",
    ("datasets/dataset.py", "_walk"): "what was found is sorted at the end",
    ("files.py", "remove_abandoned"): "each is removed",
    ("folders.py", "_link_others"): "each is linked",
    ("folders.py", "_after_swap"): "each is moved",
}
"""File and function -> why its listings need no order."""


class Listings(ast.NodeVisitor):
    """Functions with a listing that nothing around it sorts."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._function, self._sorting = "", 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self._function = self._function, node.name
        self.generic_visit(node)
        self._function = outer

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in LISTING and not self._sorting:
            self.found.add(self._function)
        self._sorting += name in SORTING
        self.generic_visit(node)
        self._sorting -= name in SORTING


def unsorted(source: str) -> set[str]:
    if not any(name in source for name in LISTING):
        return set()  # most files, which nobody need parse
    visitor = Listings()
    visitor.visit(ast.parse(source))
    return visitor.found


def test_listings_are_sorted_or_need_no_order():
    found = {
        (str(path.relative_to(ROOT)), function)
        for path in ROOT.rglob("*.py")
        for function in unsorted(path.read_text(encoding="utf-8"))
    }
    assert found == ORDERLESS.keys()


def test_a_listing_is_found_wherever_it_stands():
    body = "def f(p):\n    return {}\n"
    for text in ("list(p.glob('*'))", "[q for q in p.iterdir()]", "os.listdir(p)[0]"):
        assert unsorted(body.format(text)) == {"f"}
        assert unsorted(body.format(f"sorted({text})")) == set()
