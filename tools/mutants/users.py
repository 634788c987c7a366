"""Who uses a function of the package: found in the text, since no run records machine code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.covered import ROOT


@cache
def functions(path: str) -> dict[str, range]:
    """The file's functions and classes -> their lines, but for the first of each."""
    return {
        node.name: range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
        for node in _tree(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


@cache
def bodies(path: str) -> set[int]:
    """Lines that run when a function is called, not when the file is imported."""
    return {
        line
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef)
        for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
    }


def function_at(path: str, line: int) -> str:
    """The function or class that the line is of; empty outside of all."""
    return next((f for f, lines in functions(path).items() if line in lines), "")


def uses(path: str, function: str) -> Iterator[tuple[str, int]]:
    """(file, line) of every use of the file's function that the package's text shows."""
    module = path.removesuffix(".py").replace("/", ".")
    own = functions(path)[function]
    yield from ((path, line) for line in _lines(path, function) if line not in own)
    for file in _importers(module):
        for node in ast.walk(_tree(file)):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (node.module, alias.name) == (module, function):
                        yield from ((file, n) for n in _lines(file, alias.asname or alias.name))
                    elif f"{node.module}.{alias.name}" == module:
                        yield from ((file, n) for n in _lines(file, function, ast.Attribute))


@cache
def _importers(module: str) -> list[str]:
    """Files that may import the module."""
    package, _, name = module.rpartition(".")
    return [
        str(file.relative_to(ROOT))
        for file in sorted((ROOT / "tinyrt").rglob("*.py"))
        if (text := file.read_text()) and package in text and name in text
    ]


def _lines(path: str, name: str, kind: type[ast.expr] = ast.Name) -> Iterator[int]:
    """Where the file reads the name, or an attribute of this name."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, kind) and getattr(node, "attr", getattr(node, "id", "")) == name:
            yield node.lineno


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse(Path(ROOT / path).read_text())
