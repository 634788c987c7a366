"""Which tests reach a line: what one covered run of all tests recorded, and a table for C.

The record is coverage.py's, with the test as the context of each line. Lines that run on import
say nothing: for them the tests of the module's other lines are taken, and those of files that
import it by name. Functions without
any line in the record, such as those that Numba compiles, are reached through what uses them, and C
through what compiles it: ``kernels.py``.
"""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from coverage import CoverageData

from tools.covered import ROOT, Record
from tools.mutants.faults import Place
from tools.mutants.kernels import tests_of_kernel
from tools.mutants.renewed import changed_tests
from tools.mutants.users import bodies, function_at, functions, uses

READ_SOURCES = (
    "tests/test_error_fields.py",
    "tests/test_imports.py::test_a_package_that_only_gathers_names_lists_each",
)
"""Tests that read the package's text, and so reach all of its lines."""

PHASE = re.compile(r"( \((setup|call|teardown)\)|\|(setup|run|teardown))$")
SETUP = re.compile(r"( \(setup\)|\|setup)$")
UNKNOWN_S, UNKNOWN_FILE_S = 5.0, 10.0
"""Seconds of a test, or of a file of tests, that no record has."""


@dataclass(frozen=True)
class Reach:
    """The tests of each line, from the record of a covered run."""

    record: Record
    _known: dict[str, dict[int, set[str]]] = field(default_factory=dict, init=False, repr=False)
    _ready: dict[str, dict[int, set[str]]] = field(default_factory=dict, init=False, repr=False)

    def tests_of(self, place: Place) -> list[str]:
        """Tests that run the line, quick ones first, and few of a function before many of it.

        Tests that changed since, of files that name what the module defines, are before them all.
        Behind them all are those that may have what an earlier one's fixture made.
        """
        if place.is_c:
            return tests_of_kernel(place.path)
        tests = self._tests_at(place.path, place.line, set())
        if place.line not in bodies(place.path):
            tests = tests | self._of_importers(place.path)
        same = {test for test in tests if not self._is_changed(test)}
        near = {_file(test) for test in tests} | set(_of(place, self._changed_tests))
        first = self._now(file for file in near if _names(file, place.path))
        others = (same | self._now(near) | set(READ_SOURCES)) - first
        beside = self._beside(place) - others
        return [
            *sorted(first),
            *_spread(others, self.seconds_of),
            *_spread(beside, self.seconds_of),
        ]

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Test -> how long it took."""
        if not self.record.times.is_file():
            return {}
        return {
            f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}": float(
                case.get("time", 0)
            )
            for case in ET.parse(self.record.times).iter("testcase")
        }

    @cached_property
    def _sums(self) -> dict[str, float]:
        """File of tests, or test with all of its parameters -> how long it took."""
        sums: dict[str, float] = {}
        for test, seconds in self.seconds.items():
            for whole in (_file(test), _function(test)):
                sums[whole] = sums.get(whole, 0.0) + seconds
        return sums

    def seconds_of(self, test: str) -> float:
        """How long the test, or the file of tests, takes."""
        unknown = UNKNOWN_S if "::" in test else UNKNOWN_FILE_S
        return self.seconds.get(test, self._sums.get(test, unknown))

    @cached_property
    def _data(self) -> CoverageData:
        data = CoverageData(str(self.record.data))
        data.read()
        return data

    @cached_property
    def _commit(self) -> str:
        """What the tree was when the record was made."""
        return self.record.commit.read_text()

    def _tests_at(self, path: str, line: int, seen: set[tuple[str, str]]) -> set[str]:
        """Tests that run the line; those of the function's users where none is known to."""
        by_line = self._contexts(path)
        if tests := by_line.get(line):
            return tests
        function = function_at(path, line)
        unknown = {
            name
            for name in ([function] if function else functions(path))
            if (path, name) not in seen and not any(map(by_line.get, functions(path)[name]))
        }
        seen |= {(path, name) for name in unknown}
        used = {use for name in unknown for use in uses(path, name)}
        tests = set().union(*(self._tests_at(*use, seen) for use in sorted(used)))
        return tests or set().union(*by_line.values())

    def _of_importers(self, path: str) -> set[str]:
        """Tests in files that import the module by name."""
        package, _, name = path.removesuffix(".py").replace("/", ".").rpartition(".")
        pattern = rf"^ *from {package}(\.{name} import| import .*\b{name}\b)"
        files = set(_git("grep", "-lE", pattern, "--", "tests").split())
        return self._recorded(files)

    def _beside(self, place: Place) -> set[str]:
        """Tests in files in which a fixture ran the line: the record names the first that asked."""
        self._contexts(place.path)
        first = self._ready.get(place.path, {}).get(place.line, set())
        return self._recorded({_file(test) for test in first})

    def _recorded(self, files: set[str]) -> set[str]:
        """Tests of the files that the record has, as they still are."""
        return {t for t in self.seconds if _file(t) in files and not self._is_changed(t)}

    def _lines_now(self, path: str) -> dict[int, int]:
        """Numbers that lines had when the record was made -> those that they have."""
        then = _git("show", f"{self._commit}:{path}").splitlines()
        now = (ROOT / path).read_text().splitlines()
        matcher = difflib.SequenceMatcher(None, then, now, autojunk=False)
        return {
            block.a + i + 1: block.b + i + 1
            for block in matcher.get_matching_blocks()
            for i in range(block.size)
        }

    @cached_property
    def _changed_tests(self) -> dict[str, dict[str, bool]]:
        """Files of tests that changed -> their tests that did -> whether those are there."""
        files = _git("diff", "--name-only", self._commit, "--", "tests/*test_*.py").split()
        now = {file: ROOT / file for file in files}
        return {
            file: changed_tests(
                _git("show", f"{self._commit}:{file}"), path.read_text() if path.is_file() else ""
            )
            for file, path in now.items()
        }

    def _is_changed(self, test: str) -> bool:
        """Whether the record says nothing of the test any more, or it has another name by now."""
        if _function(test).partition("::")[2] in self._changed_tests.get(_file(test), ()):
            return True
        return bool(self._changed_tests) and test not in self._collected

    @cached_property
    def _collected(self) -> set[str]:
        """All tests that there are now: cases of one file may have names from another."""
        return set(_collect())

    def _now(self, files: Iterable[str]) -> set[str]:
        """Tests of the files that changed, and are there."""
        of = ((file, self._changed_tests.get(file, {}).items()) for file in files)
        return {f"{file}::{name}" for file, tests in of for name, there in tests if there}

    def _contexts(self, path: str) -> dict[int, set[str]]:
        """Line of a function's body, as it is numbered now -> tests.

        Other lines run on import, in whichever test comes first. What writes machine code runs
        only where none of an earlier test is kept: that says nothing.
        """
        if "llvmlite" in (ROOT / path).read_text():
            return {}
        file = next((f for f in self._data.measured_files() if f.endswith(f"/{path}")), None)
        if file is None:
            return {}
        if path not in self._known:
            now, inside = self._lines_now(path), bodies(path)
            ran = self._data.contexts_by_lineno(file).items()
            by_line = {now[line]: of for line, of in ran if now.get(line) in inside}
            for kept, all_of in ((self._known, True), (self._ready, False)):
                kept[path] = {
                    line: {_test(c) for c in of if c and (all_of or SETUP.search(_phase(c)))}
                    for line, of in by_line.items()
                }
        return self._known[path]


def _of(place: Place, tests: Iterable[str]) -> Iterator[str]:
    """Those that lie in the folder of the place's package."""
    folder = "/".join(["tests", *place.package.split("/")[1:]])
    for file in tests:
        parent = str(Path(file).parent)
        if parent == folder or (folder != "tests" and parent.startswith(f"{folder}/")):
            yield file


def _names(file: str, path: str) -> bool:
    """Whether a file of tests names what the module defines: of it no record says how much."""
    text = (ROOT / file).read_text() if (ROOT / file).is_file() else ""
    words = set(re.findall(r"\w+", text))
    return any(name in words for name in functions(path) if not name.startswith("_"))


def _collect() -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-o", "addopts=", "-n", "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def _git(*arguments: str) -> str:
    """What git says; nothing where it knows no such thing."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def _phase(context: str) -> str:
    """A context's test and its phase: that of a process has its own behind it."""
    return context.split("|tests/")[0]


def _test(context: str) -> str:
    """The test alone."""
    return PHASE.sub("", _phase(context))


def _file(test: str) -> str:
    return test.partition("::")[0]


def _function(test: str) -> str:
    """A test with all of its parameters."""
    return test.partition("[")[0]


def _spread(tests: set[str], seconds_of: Callable[[str], float]) -> list[str]:
    """In an order in which quick ones come first, and few of a function before many of it."""
    of: dict[str, list[tuple[float, str]]] = {}
    for test in sorted(tests):
        of.setdefault(_function(test), []).append((seconds_of(test), test))
    ranked = [
        ((i + 1) * took, test)
        for group in of.values()
        for i, (took, test) in enumerate(sorted(group))
    ]
    return [test for _, test in sorted(ranked)]
