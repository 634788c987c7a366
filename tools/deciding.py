"""Parts of conditions that no test needs: of an ``or`` what never says yes, of an ``and`` never no.

    python -m pytest -n 0 -p tools.deciding --deciding tinyrt/memory tests/memory

runs these tests, and lists the parts of conditions below the path that have decided none of them.
Without such a part all these tests would go on as they do: each is a case that a test lacks, or
less code. ``tools.branches`` takes a condition for one thing, and does not see them.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTED = "_noted_by_deciding"
"""What instrumented code calls."""

Part = tuple[str, int, int, int | None, int | None]
"""File of a part, and the lines and columns where it begins and ends."""


class Parts:
    """Parts of conditions: what they are, and those that have decided one."""

    def __init__(self) -> None:
        self.texts: dict[Part, str] = {}
        self.decided: set[Part] = set()

    def noted(self, value: Any, part: Part, deciding: bool) -> Any:
        """The value, which decides if it is true, or false."""
        if part not in self.decided and bool(value) is deciding:
            self.decided.add(part)
        return value

    @property
    def undecided(self) -> list[str]:
        """``file:line: text`` of each part that has decided nothing, in order."""
        rest = sorted(self.texts.keys() - self.decided)
        return [f"{file}:{line}: {self.texts[file, line, *at]}" for file, line, *at in rest]

    def code_of(self, source: str, file: str) -> CodeType:
        """The module's code, which notes what decides."""
        tree = _Conditions(self, file).visit(ast.parse(source))
        return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


class _Conditions(ast.NodeTransformer):
    """Instruments conditions of branches, loops and comprehensions, and what predicates return."""

    def __init__(self, parts: Parts, file: str) -> None:
        self._inner = _Operands(parts, file)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            node.test = self._inner.visit(node.test)
        elif isinstance(node, ast.comprehension):
            node.ifs = [self._inner.visit(test) for test in node.ifs]
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.BoolOp | ast.UnaryOp):
            node.value = self._inner.visit(node.value)
        return node


class _Operands(ast.NodeTransformer):
    """Instruments the operands of ``and`` and ``or``, but those within calls and the like."""

    def __init__(self, parts: Parts, file: str) -> None:
        self._parts, self._file = parts, file

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return super().generic_visit(node) if isinstance(node, ast.UnaryOp) else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.BoolOp:
        node.values = [self._noted(v, isinstance(node.op, ast.Or)) for v in node.values]
        return node

    def _noted(self, operand: ast.expr, deciding: bool) -> ast.expr:
        place = operand.lineno, operand.col_offset, operand.end_lineno, operand.end_col_offset
        part = self._file, *place
        self._parts.texts[part] = " ".join(ast.unparse(operand).split())
        value = self.visit(operand)
        function = ast.Name(NOTED, ast.Load())
        call = ast.Call(function, [value, ast.Constant(part), ast.Constant(deciding)], [])
        return ast.copy_location(call, operand)


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, parts: Parts) -> None:
        super().__init__(name, path)
        self._parts = parts

    def get_code(self, fullname: str) -> CodeType:
        """What is compiled here is not kept."""
        file = str(Path(self.path).relative_to(ROOT))
        return self._parts.code_of(self.get_data(self.path).decode(), file)


class _Finder(MetaPathFinder):
    def __init__(self, folders: list[Path], parts: Parts) -> None:
        self._folders, self._parts = folders, parts

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Modules below the folders; others are found as ever."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return None
        if not any(Path(spec.origin).is_relative_to(folder) for folder in self._folders):
            return None
        spec.loader = _Loader(name, spec.origin, self._parts)
        return spec


PARTS = Parts()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of this plugin."""
    parser.addoption("--deciding", action="append", default=[], metavar="PATH")


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before anything is imported."""
    folders = [(ROOT / path).resolve() for path in early_config.known_args_namespace.deciding]
    setattr(builtins, NOTED, PARTS.noted)
    sys.meta_path.insert(0, _Finder(folders, PARTS))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The parts that decided nothing."""
    for line in _report(PARTS):
        terminalreporter.write_line(line)


def _report(parts: Parts) -> Iterator[str]:
    undecided = parts.undecided
    yield f"{len(parts.texts) - len(undecided)} of {len(parts.texts)} parts of conditions decided"
    yield from undecided
