"""Every ``raise`` of the package is reached by a test that reads its message.

A message is read where a test, ``pytest.raises(match=...)`` or a command looks at the text of an
error. The plugin then notes the raise statements in the error's traceback, and those of errors that
the text quotes. A run of all tests fails if a statement was never noted, and lists these.
``pytest tests/ops --unread-refusals=tinyrt/ops`` lists those of one part for some of the tests.

What no test can read, or needs to, stands in tests/refusals_unread.py with its reason.
"""

from __future__ import annotations

import ast
import dis
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from unittest import mock

import pytest
from _pytest.raises import RaisesExc

import tinyrt.errors
from tests.refusals_unread import REASONS_BY_NAME, REASONS_BY_PLACE

SEARCHES = ("tests/fuzz/",)
"""Tests that read whatever messages a random search comes across."""

RAISE = dis.opmap["RAISE_VARARGS"]
LONGEST = 110
"""Characters of a statement that the list shows."""

PARTIAL = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "collectonly")
"""Options that leave tests out."""


@dataclass(frozen=True)
class Raise:
    """A raise statement: its file within the package, first line, text and exception's name."""

    file: str
    line: int
    text: str
    exception: str


def raises_of(package: Path) -> list[Raise]:
    """All raise statements of a package."""
    return [
        Raise(str(file.relative_to(package)), node.lineno, _text_of(node), _name_of(node.exc))
        for file in sorted(package.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Raise)
    ]


def _text_of(node: ast.Raise) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _name_of(raised: ast.expr | None) -> str:
    """The name of what is raised; empty for a bare ``raise``."""
    if raised is None:
        return ""
    return ast.unparse(raised.func if isinstance(raised, ast.Call) else raised)


def reason_for(statement: Raise) -> str | None:
    """Why no test has to read the message of this statement, if so."""
    for beginning, reason in REASONS_BY_PLACE.get(statement.file, {}).items():
        if statement.text.startswith(beginning):
            return reason
    return REASONS_BY_NAME.get(statement.exception)


class Reads:
    """The raise statements, by file and line, of errors whose messages were read."""

    def __init__(self, package: Path, family: type[Exception]) -> None:
        self.folder = f"{package}{os.sep}"
        self.family = family
        self.home = sys.modules[family.__module__].__file__
        self.places: set[tuple[str, int]] = set()

    def note(self, error: BaseException | None) -> None:
        """Note where an error was raised, and where those that its text quotes were."""
        if os.environ.get("PYTEST_CURRENT_TEST", "").startswith(SEARCHES):
            return
        while error is not None:
            self.places.update(self.statements(error))
            error = _quoted(error)

    def statements(self, error: BaseException) -> Iterator[tuple[str, int]]:
        """The raise statements, by file and line, in the error's traceback."""
        at = error.__traceback__
        while at is not None:
            code = at.tb_frame.f_code
            if code.co_filename.startswith(self.folder) and _raises_at(code, at.tb_lasti):
                yield code.co_filename.removeprefix(self.folder).replace(os.sep, "/"), at.tb_lineno
            at = at.tb_next

    def watch(self) -> ExitStack:
        """Note every message that is read from now on, until what is returned is closed."""
        hooks = ExitStack()
        hooks.enter_context(mock.patch.object(self.family, "problem", self._problem(), create=True))
        value, leave = pytest.ExceptionInfo.value.fget, RaisesExc.__exit__

        def noted_value(info: pytest.ExceptionInfo) -> BaseException:
            error = value(info)
            if not isinstance(error, self.family):
                self.note(error)
            return error

        def noted_leave(raises: RaisesExc, kind, error, traceback) -> bool:
            is_expected = leave(raises, kind, error, traceback)
            if is_expected and raises.match is not None and not isinstance(error, self.family):
                self.note(error)
            return is_expected

        hooks.enter_context(mock.patch.object(pytest.ExceptionInfo, "value", property(noted_value)))
        hooks.enter_context(mock.patch.object(RaisesExc, "__exit__", noted_leave))
        return hooks

    def _problem(self) -> property:
        """The first sentence of a message, which ``str`` and ``as_dict`` read as well."""

        def read(error: Exception) -> str:
            if self._is_reader(sys._getframe(1)):
                self.note(error)
            return vars(error)["problem"]

        def write(error: Exception, text: str) -> None:
            vars(error)["problem"] = text

        return property(read, write)

    def _is_reader(self, frame) -> bool:
        """Whether a test or a command reads, not a part of the package that takes the text on."""
        while frame.f_code.co_filename == self.home:
            frame = frame.f_back
        file = frame.f_code.co_filename
        return not file.startswith(self.folder) or file.startswith(f"{self.folder}cli{os.sep}")


def _raises_at(code: CodeType, offset: int) -> bool:
    return offset >= 0 and code.co_code[offset] == RAISE


def _quoted(error: BaseException) -> BaseException | None:
    """The error that led to this one, if this one's message repeats its text."""
    inner = error.__cause__ or error.__context__
    text = " ".join(_told(inner)[:1]).split() if inner is not None else []
    whole = " ".join(" ".join(_told(error)).split())
    return inner if text and " ".join(text)[:60] in whole else None


def _told(error: BaseException) -> list[str]:
    """The parts of an error's text, read without being noted."""
    fields = vars(error)
    parts = [fields.get(name) for name in ("problem", "expected", "hint")]
    return [part for part in parts if part] or [getattr(error, "strerror", None) or str(error)]


def is_of_all(config: pytest.Config) -> bool:
    """Whether all tests are to run."""
    if any(getattr(config.option, name, None) for name in PARTIAL):
        return False
    root = config.rootpath
    wholes = {root, *(root / folder for folder in config.getini("testpaths"))}
    here = config.invocation_params.dir
    return {(here / argument).resolve() for argument in config.args} <= wholes


class Enumerator:
    """The part of a test run that collects what was read, and lists the rest at the end."""

    def __init__(self, config: pytest.Config, package: Path, family: type[Exception]) -> None:
        self.config, self.package = config, package
        self.reads = Reads(package, family)
        self.hooks = self.reads.watch()
        self.is_worker = hasattr(config, "workeroutput")
        self.part: str | None = config.getoption("unread_refusals")
        is_asked = not self.is_worker and (self.part is not None or is_of_all(config))
        # At the start: files may be edited while the tests run.
        self.statements = raises_of(package) if is_asked else []
        self.lines: list[str] = []

    def pytest_unconfigure(self) -> None:
        self.hooks.close()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node) -> None:
        """Take over what a worker of pytest-xdist noted."""
        sent = getattr(node, "workeroutput", {}).get("refusals_read", [])
        self.reads.places.update((file, line) for file, line in sent)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail the run if it was whole, nothing else failed, and a message was not read."""
        if self.is_worker:
            self.config.workeroutput["refusals_read"] = sorted(self.reads.places)
            return
        is_over = exitstatus == 0 and not (session.shouldstop or session.shouldfail)
        if self.part is None and not is_over:
            return
        self.lines = [
            f"{place}: {one.text}"
            for one in self.statements
            if (one.file, one.line) not in self.reads.places and reason_for(one) is None
            if (place := f"{self.package.name}/{one.file}:{one.line}").startswith(self.part or "")
        ]
        if self.lines and self.part is None:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter) -> None:
        """The list of what no test read."""
        if not self.lines:
            return
        terminalreporter.write_sep("=", "refusals whose message no test reads", red=True)
        for line in self.lines:
            terminalreporter.write_line(line)
        terminalreporter.write_line(
            f"{len(self.lines)} raise statements: test them, or say in tests/refusals_unread.py "
            "why no test can.",
            red=True,
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--unread-refusals=tinyrt/ops``: list them for that part after any run."""
    parser.addoption(
        "--unread-refusals",
        metavar="PATH",
        default=None,
        help="list raise statements below PATH (such as tinyrt/ops) whose message no test read",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Watch the errors of tinyrt."""
    package = Path(tinyrt.errors.__file__).parent
    enumerator = Enumerator(config, package, tinyrt.errors.TinyrtError)
    config.pluginmanager.register(enumerator, "refusals")
