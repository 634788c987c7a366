"""What functions return to tests stands whole in tests/outcomes/, and is compared in every run.

A test looks at what it is about, and at no more of what a function returned: not at the names, the
notes and the numbers beside. So what a function of the package, or a command, returns to a test is
compared with what it returned to that test before, if that is written down: two for each line of
the package that tests run.

With all cases (``make test-all``) tests make other calls, and nothing is compared.
``pytest TESTS --update-outcomes`` writes again what is written down of the tests that run; look at
the difference. With ``-n 0 -rP`` it shows whole texts: to see what differs in a long one, show it
before and after a change. ``--write-outcomes`` takes new ones, too, for lines that ran for too few.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.outcome_calls import listen
from tests.outcome_lines import Lines
from tests.outcome_texts import agree, kept, normal, text_of
from tests.refusals_plugin import is_of_all
from tests.sampling import WHOLE

FOLDER = Path(__file__).parent / "outcomes"

VARYING = (
    *("tests/fuzz/", "tests/cuda/", "tests/ecosystems/", "tests/frameworks/"),
    "tests/c/test_corners.py::test_vectors_equal_the_references",
    # Which of two trials that train at once is stopped depends on who is first.
    "tests/search/test_faults.py::test_a_scheduler_that_is_started_again_goes_on_with_the_study",
)
"""Tests whose outcomes tell of random searches, of what is installed, or of this machine."""

PLAIN = (bool, int, float, str, bytes, type(None))
"""Types of outcomes that tests look at whole."""

MOST = 3
"""Outcomes that differ which one test shows."""


@dataclass
class _Now:
    """The test that runs, if anybody listens to it, and what it has called."""

    test: str = ""
    calls: Counter[str] = field(default_factory=Counter)
    found: dict[str, str] = field(default_factory=dict)
    is_inside: bool = False


def part_of(key: str) -> str:
    """The file for an outcome: that of the tests' folder."""
    folders = key.split("::")[0].split("/")[1:-1]
    return folders[0] if folders else "modules"


def load(folder: Path) -> dict[str, str]:
    """Key of an outcome -> its text, of all files of the folder."""
    entries = {}
    for file in sorted(folder.glob("*.txt")):
        lines = file.read_text(encoding="utf-8").split("\n")
        entries.update(zip(lines[::3], lines[1::3], strict=False))
    return entries


def write(folder: Path, new: dict[str, str], passed: Iterable[str]) -> None:
    """Write the outcomes of tests that passed, beside those of others that are there."""
    passed = set(passed)
    old = {key: text for key, text in load(folder).items() if test_of(key) not in passed}
    parts: dict[str, list[str]] = defaultdict(list)
    for key, text in sorted((old | new).items()):
        parts[part_of(key)].append(f"{key}\n{text}\n")
    folder.mkdir(exist_ok=True)
    for file in folder.glob("*.txt"):
        file.unlink()
    for part, blocks in parts.items():
        (folder / f"{part}.txt").write_text("\n".join(blocks), encoding="utf-8")


def test_of(key: str) -> str:
    """The test of an outcome's key."""
    return key.rsplit(" ", 2)[0]


def differences(found: dict[str, str], known: dict[str, str]) -> list[str]:
    """What a test's outcomes say, where that is not what is known of them."""
    said = []
    for key, text in known.items():
        name = " ".join(key.rsplit(" ", 2)[1:])
        now = found.get(key)
        if now is None:
            said.append(f"{name} was not called, or failed")
        elif not agree(kept(now), text):
            said.append(f"{name} returned\n  {kept(now)}\nand not\n  {text}")
    return said


class Outcomes:
    """Compares what functions and commands return to tests, or writes it down."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self.config, self.folder = config, folder
        self.is_worker = hasattr(config, "workeroutput")
        self.is_choosing: bool = config.getoption("write_outcomes")
        self.is_writing: bool = self.is_choosing or config.getoption("update_outcomes")
        if WHOLE and self.is_writing:
            raise pytest.UsageError("outcomes are those of the cases of make test, not of all")
        self.known: dict[str, dict[str, str]] = defaultdict(dict)
        for key, text in ({} if WHOLE else load(folder)).items():
            self.known[test_of(key)][key] = text
        self.lines = Lines()
        self.written: dict[str, str] = {}
        self.passed: list[str] = []
        self.seen: set[str] = set()
        self.gone: list[str] = []
        self.now = _Now()
        self.base = ""
        self.invoke = invoke = CliRunner.invoke
        outcomes = self

        @functools.wraps(invoke)
        def command(*arguments: Any, **options: Any) -> Any:
            return outcomes.of("command", lambda: invoke(*arguments, **options))

        CliRunner.invoke = command

    def of(self, name: str, call: Callable[[], Any]) -> Any:
        """What a call returns, noted if the test asked and its text is known, or written down."""
        now = self.now
        if not now.test or now.is_inside:
            return call()
        now.calls[name] += 1
        key = f"{now.test} {name} {now.calls[name]}"
        now.is_inside = True
        try:
            if self.is_choosing:
                return self._chosen(key, call)
            result = call()
            if key in self.known.get(now.test, ()):
                now.found[key] = self._text(result)
            return result
        finally:
            now.is_inside = False

    def _chosen(self, key: str, call: Callable[[], Any]) -> Any:
        kind = key.partition("[")[0], key.split()[-2]
        was_known = key in self.known.get(self.now.test, ())
        if not was_known and self.lines.is_dull(kind):
            return call()
        with self.lines.noted() as ran:
            result = call()
        lines = ran()
        if was_known or (lines and type(result) not in PLAIN):
            self.lines.hold(lines, kind)
            self.now.found[key] = self._text(result)
        return result

    def _text(self, result: Any) -> str:
        # What a command of the runner says; its time and its exception are no part of that.
        shown = getattr(result, "output", None) if hasattr(result, "exit_code") else None
        return normal(text_of(result) if shown is None else shown, self.base)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Listen to the modules of tests whose outcomes are known, or of all to choose from."""
        asked = (item for item in items if self.is_choosing or item.nodeid in self.known)
        modules = {item.module for item in asked if isinstance(item, pytest.Function)}
        if modules:
            listen(modules, self.of)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Listen to a test, and compare what it got if it did not fail."""
        self.base = str(item.config._tmp_path_factory.getbasetemp())
        is_random = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        ignored = is_random or item.nodeid.startswith(VARYING)
        self.now = now = _Now("" if ignored else item.nodeid)
        result = yield
        self.now = _Now()
        if ignored or result.excinfo is not None:
            return
        if self.is_writing:
            self.passed.append(item.nodeid)
            self.written |= {key: kept(text) for key, text in now.found.items()}
            if not self.is_worker:
                for key, text in now.found.items():
                    item.add_report_section("call", key.rsplit(" ", 2)[1], text)
            return
        said = differences(now.found, self.known.get(item.nodeid, {}))
        if said:
            text = "\n".join(said[:MOST])
            hint = f"Where that is meant: pytest '{item.nodeid}' --update-outcomes"
            result.force_exception(pytest.fail.Exception(f"{text}\n{hint}", pytrace=False))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker of pytest-xdist wrote down."""
        written, passed = getattr(node, "workeroutput", {}).get("outcomes", ({}, ()))
        self.written |= written
        self.passed += passed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that there is such a test."""
        self.seen.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the outcomes, or fail a whole run without tests whose outcomes are known."""
        if self.is_worker:
            self.config.workeroutput["outcomes"] = self.written, self.passed
            return
        if is_of_all(self.config) and not (session.shouldstop or session.shouldfail):
            self.gone = sorted(self.known.keys() - self.seen)
        if self.is_writing:
            write(self.folder, self.written, (*self.passed, *self.gone))
        elif self.gone and exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The tests that are gone."""
        if self.gone and not self.is_writing:
            terminalreporter.write_sep("=", "outcomes of tests that are not there", red=True)
            for test in self.gone:
                terminalreporter.write_line(test)
            terminalreporter.write_line("pytest --update-outcomes leaves them out.", red=True)

    def pytest_unconfigure(self) -> None:
        """Give the runner of commands back what it had."""
        CliRunner.invoke = self.invoke


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-outcomes`` and ``--write-outcomes``: write down what functions return."""
    for option, what in (("--update-outcomes", "that are there"), ("--write-outcomes", "new ones")):
        parser.addoption(
            option, action="store_true", help=f"write down what functions return to tests: {what}"
        )


def pytest_configure(config: pytest.Config) -> None:
    """Compare what functions return."""
    config.pluginmanager.register(Outcomes(config, FOLDER), "outcomes")
