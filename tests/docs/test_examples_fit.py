"""What a page's examples name is there: commands, options, functions and their arguments.

The examples of many pages run only where all cases are asked for. That nothing they call has
another name by now is asked of every page, without running it.
"""

import ast
import inspect
import shlex
from importlib import import_module
from itertools import takewhile
from types import ModuleType

import pytest
import typer

from tests.docs.pages import ROOT, blocks
from tinyrt.cli.app import app

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = typer.main.get_command(app).commands


def commands_of(page):
    """The words of each command of ``tinyrt``, as the shell splits them."""
    for language, _, text in blocks(page):
        lines = text.replace("\\\n", " ").splitlines() if language == "sh" else ()
        for line in lines:
            if line.startswith("tinyrt "):
                words = shlex.split(line, comments=True)[1:]
                yield list(takewhile(lambda word: word not in (">", "|"), words))


def imported(package, name):
    """What ``from package import name`` gives: a submodule, too, that nobody has imported yet."""
    try:
        return getattr(import_module(package), name, None) or import_module(f"{package}.{name}")
    except ModuleNotFoundError:
        return None


def misfits(code):
    """Names that the modules imported by this code do not have, and calls that they do not take."""
    tree, known = ast.parse(code), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {n.asname or n.name: import_module(n.name) for n in node.names if ours(n.name)}
        elif isinstance(node, ast.ImportFrom) and ours(node.module):
            known |= {n.asname or n.name: imported(node.module, n.name) for n in node.names}
    found = [f"no {name}" for name, value in known.items() if value is None]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(known.get(name_of(node)), ModuleType):
            if not hasattr(known[name_of(node)], node.attr):
                found.append(f"no {node.attr}")
        elif isinstance(node, ast.Call):
            found += call_misfits(node, known)
    return found


def ours(module):
    return module.partition(".")[0] == "tinyrt"


def name_of(attribute):
    return attribute.value.id if isinstance(attribute.value, ast.Name) else ""


def call_misfits(call, known):
    """Why a function of ``known`` does not take a call's arguments, whatever their values."""
    function = call.func
    if isinstance(function, ast.Attribute):
        called = getattr(known.get(name_of(function)), function.attr, None)
    else:
        called = known.get(getattr(function, "id", ""))
    spread = any(isinstance(a, ast.Starred) for a in call.args) or None in [
        k.arg for k in call.keywords
    ]
    if called is None or spread:
        return []
    try:
        inspect.signature(called).bind(*call.args, **{k.arg: k.value for k in call.keywords})
    except TypeError as problem:
        return [f"{ast.unparse(function)}: {problem}"]
    return []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_are_there(page):
    for name, *words in commands_of(page):
        COMMANDS[name].make_context(name, words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_functions_and_their_arguments_are_there(page):
    assert (
        misfits("".join(text for language, _, text in blocks(page) if language == "python")) == []
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import tinyrt\ntinyrt.load('a')", []),
        ("import tinyrt\ntinyrt.lode('a')", ["no lode"]),
        ("from tinyrt import lode", ["no lode"]),
        ("import tinyrt\ntinyrt.load()", ["tinyrt.load: missing a required argument: 'path'"]),
        (
            "from tinyrt import load\nload('a', of=3)",
            ["load: got an unexpected keyword argument 'of'"],
        ),
    ],
)
def test_what_is_not_there_is_named(code, said):
    assert misfits(code) == said


def test_commands_are_found_and_refused():
    run = list(commands_of(ROOT / "docs" / "ci.md"))
    assert len(run) == 2
    assert run[1][-2:] == ["--markdown", "check.md"]
    with pytest.raises(Exception, match="No such option"):
        COMMANDS["check"].make_context("check", ["a.tflite", "--markup", "check.md"])
