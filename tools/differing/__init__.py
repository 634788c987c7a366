"""Expressions that tests do not tell from their neighbours: ``a < b`` where never ``a == b``.

    python -m pytest -p tools.differing --differing tinyrt/memory tests/memory

runs these tests, and lists the expressions below the path beside which a fault would have given
the same value each time. No such fault can be noticed: each is a case that a test lacks, or less
code. ``tools.branches`` counts lines and branches, and sees none of these. That an expression is
not listed says only that it has had a value that tells, not that a test compares it.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tools.differing.places import Places
from tools.differing.rewriting import NOTED, code_of
from tools.instrumented import instrument

PLACES = Places()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of this plugin."""
    parser.addoption("--differing", action="append", default=[], metavar="PATH")


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before anything is imported."""
    setattr(builtins, NOTED, PLACES)
    instrument(early_config.known_args_namespace.differing, partial(code_of, PLACES))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist hands on what it saw."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["differing"] = PLACES.texts, PLACES.told


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a worker saw is added to what the others did; one that crashed has nothing."""
    texts, told = getattr(node, "workeroutput", {}).get("differing", ({}, set()))
    PLACES.texts.update(texts)
    PLACES.told.update(told)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The expressions that nothing told from their neighbours."""
    for line in _report(PLACES):
        terminalreporter.write_line(line)


def _report(places: Places) -> Iterator[str]:
    untold = places.untold
    count = len(places.texts)
    yield f"{count - len(untold)} of {count} neighbours of expressions are told"
    yield from untold
