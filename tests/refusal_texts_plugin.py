"""What refusals say, field by field, stands in tests/refusal_texts/ and is compared in every run.

An error that a test expects (``pytest.raises``) is compared with the entry of that test, if there
is one. There is one entry for each ``raise`` statement and each set of fields that its errors have,
so that every field that users read is held by some test. A run of all tests fails where such an
entry is missing, or belongs to no test any more.

``pytest TESTS --write-refusals`` writes the entries of the tests that run; look at the difference.
"""

from __future__ import annotations

import enum
import functools
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pytest
from _pytest.raises import RaisesExc

import tinyrt.errors
from tests.outcome_texts import LINE
from tests.refusals_plugin import Reads, is_of_all
from tinyrt.errors import TinyrtError

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "refusal_texts"
FIELDS = ("problem", "file", "op", "tensor", "expected", "hint")

VARYING = ("tests/fuzz/", "tests/faults/test_tools.py", "tests/cuda/")
"""Tests whose errors tell of random searches, or of programs that are installed."""


class Refusal(NamedTuple):
    """An error that a test expected.

    Attributes:
        part: the package that raised it: ``tinyrt/ops``.
        statement: its ``raise`` statement, by file and line, and where it was made, if elsewhere.
        key: the test, and which of its errors this is.
        text: its fields, a line each.

    """

    part: str
    statement: str
    key: str
    text: str

    @property
    def kind(self) -> tuple[str, tuple[str, ...]]:
        """What one entry is enough for: the statement and the fields that it has."""
        names = tuple(line.split(":", 1)[0] for line in self.text.splitlines())
        return self.statement, names


def normal(text: str, base: str) -> str:
    """The text without what differs between runs or machines, or lists all there is."""
    text = re.sub(rf"{re.escape(base)}/[^/\s']+", "TMP", text)
    zoo = os.environ.get("TINYRT_ZOO")
    for folder, name in ((zoo, "ZOO"), (str(ROOT), "ROOT")):
        text = text.replace(folder, name) if folder else text
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    text = LINE.sub(r"\1N", text)
    text = re.sub(r"tcp://127\.0\.0\.1:\d+", "tcp://HERE", text)
    text = re.sub(r"(?:\S+, ){8,}\S+", "NAMES", text)
    text = re.sub(r"[\d.]+ dB", "N dB", text)
    text = re.sub(r"(\d\.\d{4})\d+", r"\1...", text)
    # Half a pair of surrogates, as damaged files have, is no UTF-8.
    return text.encode(errors="backslashreplace").decode()


def text_of(error: TinyrtError, base: str) -> str:
    """The fields of an error, a line each; what a library said is left out."""
    others = [cause for cause in _causes(error) if not isinstance(cause, TinyrtError)]
    said = {str(each) for cause in others for each in (cause, getattr(cause, "strerror", ""))}
    lines = []
    for name in FIELDS:
        value = vars(error).get(name)
        if value:
            for words in sorted(filter(None, said), key=len, reverse=True):
                value = value.replace(words, "CAUSE")
            lines.append(f"{name}: {normal(' '.join(value.split()), base)}")
    return "\n".join(lines)


def holds_another(error: TinyrtError) -> bool:
    """Whether its problem repeats the fields of an error that was complete before."""
    others = (str(cause) for cause in _causes(error) if isinstance(cause, TinyrtError))
    return any("\n" in text and text in error.problem for text in others)


def _causes(error: BaseException) -> Iterable[BaseException]:
    cause = error.__cause__ or error.__context__
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def load(folder: Path) -> dict[str, str]:
    """Key of a test's error -> its text, of all files of the folder."""
    entries = {}
    for file in sorted(folder.glob("*.txt")):
        for block in file.read_text(encoding="utf-8").split("\n\n"):
            key, _, text = block.strip().partition("\n")
            if key:
                entries[key] = text
    return entries


def chosen(refusals: Iterable[Refusal], old: dict[str, str]) -> dict[str, Refusal]:
    """Key -> the refusal that stands for its kind: the one that did before, or the first."""
    by_kind: dict[object, Refusal] = {}
    for one in sorted(refusals, key=lambda one: (one.key not in old, one.key)):
        by_kind.setdefault(one.kind, one)
    return {one.key: one for one in by_kind.values()}


def faults(seen: Iterable[Refusal], entries: dict[str, str], skipped: set[str]) -> list[str]:
    """Kinds of refusals without an entry, and entries that nothing was compared with."""
    keys = {one.key for one in seen}
    held = {one.kind for one in seen if one.key in entries}
    missing = chosen((one for one in seen if one.kind not in held), {})
    gone = [key for key in entries.keys() - keys if _test_of(key) not in skipped]
    return [
        *(f"no entry for tinyrt/{one.statement}, in {key}" for key, one in missing.items()),
        *(f"no error for the entry {key}" for key in gone),
    ]


def write(folder: Path, refusals: Iterable[Refusal], ran: set[str]) -> None:
    """Write the entries of tests that ran, beside those of others that are there."""
    old = load(folder)
    parts = {
        key: file.stem
        for file in folder.glob("*.txt")
        for key in load_file(file)
        if _test_of(key) not in ran
    }
    kept = {key: (part, old[key]) for key, part in parts.items()}
    new = {key: (one.part, one.text) for key, one in chosen(refusals, old).items()}
    entries = kept | new
    folder.mkdir(exist_ok=True)
    for file in folder.glob("*.txt"):
        file.unlink()
    for part in sorted({part for part, _ in entries.values()}):
        blocks = [f"{key}\n{text}" for key, (p, text) in sorted(entries.items()) if p == part]
        (folder / f"{part}.txt").write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def load_file(file: Path) -> list[str]:
    """The keys of a file."""
    return [b.strip().split("\n", 1)[0] for b in file.read_text(encoding="utf-8").split("\n\n")]


def _test_of(key: str) -> str:
    """The test of an error's key."""
    return key.rpartition(" ")[0]


@dataclass
class _Now:
    """The test that runs: its name without the phase, and how many errors it has expected."""

    name: str = ""
    errors: int = 0


class Texts:
    """Compares what errors say, and collects it."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self.config, self.folder = config, folder
        self.is_worker = hasattr(config, "workeroutput")
        self.is_writing: bool = config.getoption("write_refusals")
        self.entries = {} if self.is_writing else load(folder)
        self.places = Reads(Path(tinyrt.errors.__file__).parent, TinyrtError)
        self.seen: list[Refusal] = []
        self.ran: set[str] = set()
        self.skipped: set[str] = set()
        self.now = _Now()
        self.base = ""
        self.lines: list[str] = []
        self.leave, self.make = RaisesExc.__exit__, TinyrtError.__init__
        texts = self

        @functools.wraps(self.make)
        def make(error: TinyrtError, *arguments, **fields) -> None:
            error.made = texts.place(sys._getframe(1))
            texts.make(error, *arguments, **fields)

        def leave(raises: RaisesExc, kind, error, traceback) -> bool:
            is_expected = texts.leave(raises, kind, error, traceback)
            if is_expected and isinstance(error, TinyrtError) and texts.now.name:
                texts.expect(error)
            return is_expected

        RaisesExc.__exit__, TinyrtError.__init__ = leave, make

    def place(self, frame: FrameType | None) -> str:
        """File and line of the innermost call that belongs to the package; empty without one."""
        folder = self.places.folder
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(folder) and file != tinyrt.errors.__file__:
                return f"{file.removeprefix(folder)}:{frame.f_lineno}"
            frame = frame.f_back
        return ""

    def expect(self, error: TinyrtError) -> None:
        """Compare an error with the entry of the test that expected it, if there is one."""
        statements = list(self.places.statements(error))
        if not statements:
            return
        self.now.errors += 1
        file, line = statements[-1]
        part = file.split("/")[0].removesuffix(".py")
        key = f"{self.now.name} {self.now.errors}"
        raised, made = f"{file}:{line}", getattr(error, "made", "")
        place = raised if made in (raised, "") else f"{raised}, made in {made}"
        found = Refusal(part, place, key, text_of(error, self.base))
        self.seen.append(found)
        if holds_another(error):
            pytest.fail(f"an error says all that another says:\n{error}", pytrace=False)
        wanted = self.entries.get(key)
        if wanted is not None and found.text != wanted:
            pytest.fail(
                f"an error says\n{found.text}\nand not, as in tests/refusal_texts/,\n{wanted}\n"
                "Where that is meant: pytest THIS TEST --write-refusals",
                pytrace=False,
            )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Begin to listen."""
        self.base = str(item.config._tmp_path_factory.getbasetemp())
        is_random = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        ignored = is_random or item.nodeid.startswith(VARYING)
        self.now = _Now("" if ignored else item.nodeid)
        self.ran.add(item.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self) -> None:
        """Listen no more."""
        self.now = _Now()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember who lacked what it needs: a program, a model."""
        if report.skipped:
            self.skipped.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node) -> None:
        """Take over what a worker of pytest-xdist collected."""
        sent = getattr(node, "workeroutput", {}).get("refusal_texts", ((), ()))
        self.seen.extend(Refusal(*fields) for fields in sent[0])
        self.ran.update(sent[1])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the entries, or fail a whole run that lacks one."""
        if self.is_worker:
            seen = [tuple(one) for one in self.seen]
            self.config.workeroutput["refusal_texts"] = (seen, sorted(self.ran))
        elif self.is_writing:
            write(self.folder, self.seen, self.ran)
        elif exitstatus == 0 and is_of_all(self.config) and not session.shouldstop:
            self.lines = faults(self.seen, self.entries, self.skipped)
            if self.lines:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter) -> None:
        """What is missing."""
        if not self.lines:
            return
        terminalreporter.write_sep("=", "refusals whose text is written down nowhere", red=True)
        for line in sorted(self.lines):
            terminalreporter.write_line(line)
        terminalreporter.write_line("Run these tests with --write-refusals.", red=True)

    def pytest_unconfigure(self) -> None:
        """Put pytest's own back, and the package's."""
        RaisesExc.__exit__, TinyrtError.__init__ = self.leave, self.make


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name what has no name of its own without its place: a new row renames no others."""
    named = (str, bytes, int, float, complex, re.Pattern, enum.Enum)
    has_name = val is None or isinstance(val, named) or hasattr(val, "__name__")
    return None if has_name else argname


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--write-refusals``: write down what errors say."""
    parser.addoption(
        "--write-refusals", action="store_true", help="write the texts of expected errors down"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Compare what errors of tinyrt say."""
    config.pluginmanager.register(Texts(config, FOLDER), "refusal texts")
