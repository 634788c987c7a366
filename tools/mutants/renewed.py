"""Tests of a file that are no longer what they were: their text changed, or what they use."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def changed_tests(then: str, now: str) -> dict[str, bool]:
    """Tests of a file that are new, gone or changed, by name -> whether they are there now.

    A test has changed, too, where a helper, a table or a fixture of the file that it names has.
    """
    before, after = _definitions(then), _definitions(now)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    always = _always(after)
    words = {name: _words(text) | always for name, text in after.items()}
    while more := {name for name, of in words.items() if of & changed} - changed:
        changed |= more
    return {name: name in after for name in sorted(changed) if name.startswith("test_")}


def _definitions(text: str) -> dict[str, str]:
    """The names that a file defines, or imports -> the code, without comments."""
    of: dict[str, str] = {}
    for node in ast.parse(text).body:
        code = ast.unparse(node)
        for name in set(_names(node)):
            of[name] = f"{of.get(name, '')}\n{code}"
    return of


def _names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import() | ast.ImportFrom():
            yield from (alias.asname or alias.name for alias in node.names)
        case ast.Assign(targets=targets):
            yield from (n.id for target in targets for n in _named(target))
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            yield from (n.id for n in _named(target))
        case _:
            yield from (n.id for n in _named(node) if isinstance(n.ctx, ast.Store))


def _named(node: ast.AST) -> Iterator[ast.Name]:
    return (n for n in ast.walk(node) if isinstance(n, ast.Name))


def _words(code: str) -> set[str]:
    """What the code names: fixtures by its arguments or in texts, all else as it stands."""
    nodes = list(ast.walk(ast.parse(code)))
    named = {n.id for n in nodes if isinstance(n, ast.Name)}
    arguments = {n.arg for n in nodes if isinstance(n, ast.arg)}
    texts = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return named | arguments | texts


def _always(definitions: dict[str, str]) -> set[str]:
    """What every test of a file uses: its marks, and fixtures that are for all."""
    return {n for n, code in definitions.items() if n == "pytestmark" or "autouse=True" in code}
