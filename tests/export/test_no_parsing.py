"""C is written from records: nobody takes it apart again to find out what was written."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tinyrt.backends.c
import tinyrt.export

PARSERS = {"re", "regex", "sre_parse", "fnmatch", "shlex", "tokenize", "pycparser", "clang"}
"""Modules that take text apart."""

EXPORT = Path(*tinyrt.export.__path__)
BACKEND = Path(*tinyrt.backends.c.__path__)

ALLOWED = {
    ("text.py", 'f"[^{SAFE}\'>*]|\\\\*(?! )|(?<! )\\\\*"'): "keeps comments to one line",
    ("text.py", "f'[{SAFE}]'"): "keeps strings harmless",
    ("names.py", "'[^a-z0-9]+'"): "makes a model's name an identifier",
    ("names.py", "'[a-z][a-z0-9]*(_[a-z0-9]+)*_?'"): "refuses prefixes of names",
    ("names.py", "'io|state|(input|output)_[0-9]+(_row)?'"): "refuses names of regions",
    ("names.py", "'[A-Za-z][A-Za-z0-9_]{0,31}'"): "refuses names of regions",
    ("names.py", "'[A-Za-z0-9._$]{1,64}'"): "refuses names of sections",
}
"""Module and regular expression -> what it is for: names, and never code that was generated."""


def parsers_of(tree: ast.Module) -> Iterator[str]:
    """The statements of a module that import what takes text apart."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        if any(name.split(".")[0] in PARSERS for name in names):
            yield ast.unparse(node)


def expressions_of(tree: ast.Module) -> Iterator[str]:
    """The regular expressions of a module that imports ``re``, as they are written there."""
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and ast.unparse(called.value) == "re":
            yield ast.unparse(node.args[0])


def modules(folder: Path) -> dict[str, ast.Module]:
    trees = {
        str(path.relative_to(folder)): ast.parse(path.read_text())
        for path in sorted(folder.rglob("*.py"))
    }
    assert len(trees) > 10
    return trees


def test_the_exporter_uses_regular_expressions_on_names_alone():
    trees = modules(EXPORT)
    parsers = {(file, how) for file, tree in trees.items() for how in parsers_of(tree)}
    assert parsers == {(file, "import re") for file, _ in ALLOWED}
    used = [(file, text) for file, tree in trees.items() for text in expressions_of(tree)]
    assert sorted(used) == sorted(ALLOWED)


def test_whoever_chooses_kernels_reads_no_code():
    assert not [how for tree in modules(BACKEND).values() for how in parsers_of(tree)]


@pytest.mark.parametrize(
    "text", ["import re", "import re as r", "from re import sub", "import os, re"]
)
def test_imports_are_seen_in_any_form(text):
    assert list(parsers_of(ast.parse(text))) == [text]
