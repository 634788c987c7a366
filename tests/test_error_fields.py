"""Every error that the package makes says what was expected, or what to do next."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tinyrt
from tinyrt.errors import NotAllocatedError, TinyrtError
from tinyrt.tools import OutOfTimeError

PACKAGE = Path(tinyrt.__file__).parent
FIELDS = {"expected", "hint"}

OWN_PLAN = "a plan of tinyrt's own does not hold, and the message says where"
REASONS = {
    "memory/check/moves.py": OWN_PLAN,
    "memory/check/plan.py": OWN_PLAN,
    "memory/check/rows.py": OWN_PLAN,
}
"""Files within the package whose errors may leave both out, each with the reason."""


def family(kind: type[TinyrtError]) -> set[str]:
    """The names of a class of errors and of those derived from it."""
    return {kind.__name__}.union(*(family(child) for child in kind.__subclasses__()))


NAMES = family(TinyrtError) - {NotAllocatedError.__name__}
"""All but the one that has its hint from birth."""

MADE = re.compile(rf"\b({'|'.join(NAMES)})\s*\(|\braise\s+({'|'.join(NAMES)})\b")
"""What a file has that makes or raises one; only such files are parsed."""


def bare_errors(source: str) -> Iterator[str]:
    """The errors, made or raised in the source, that have neither field."""
    if not MADE.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name):
            name, keywords = node.exc.id, []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            keywords = node.keywords
        else:
            continue
        if name not in NAMES:
            continue
        given = {k.arg for k in keywords if ast.unparse(k.value) not in ("None", "''")}
        if not given & {*FIELDS, None}:
            yield f"line {node.lineno}: {ast.unparse(node)}"


def test_every_error_says_what_was_expected_or_what_to_do():
    bare = {
        str(path.relative_to(PACKAGE)): found
        for path in sorted(PACKAGE.rglob("*.py"))
        if (found := list(bare_errors(path.read_text(encoding="utf-8"))))
    }
    assert OutOfTimeError.__name__ in NAMES
    assert {file: found for file, found in bare.items() if file not in REASONS} == {}
    assert REASONS.keys() - bare.keys() == set()


@pytest.mark.parametrize(
    ("fields", "is_bare"),
    [
        ("op=where", True),
        ("expected=None", True),
        ("hint=''", True),
        ("expected='1'", False),
        ("hint='copy it again'", False),
        ("**fields", False),
    ],
)
@pytest.mark.parametrize("form", ["raise {}", "raise {} from error", "error = errors.{}"])
def test_an_error_without_both_is_found(form, fields, is_bare):
    source = form.format(f"ShapeError('2 inputs', {fields})")
    assert bool(list(bare_errors(source))) is is_bare


def test_an_error_raised_without_arguments_is_found():
    assert list(bare_errors("raise ShapeError")) == ["line 1: raise ShapeError"]
    assert not list(bare_errors("raise NotAllocatedError"))
