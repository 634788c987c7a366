"""Copies of the tree, where faults are put in and tests run, away from the tree itself."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.covered import ROOT

MOST_BYTES = 6 << 30
"""Memory of one run of tests: some faults make loops that never end and lists that grow."""
STEP_S = 0.5
NO_SUCH_TEST = 4
"""How pytest ends where it is asked for a test that it does not find."""
NO_TEST_LEFT = 5
AT_ONCE = 400
"""Tests to a run: more would not fit into one list of arguments."""


@dataclass(frozen=True)
class Outcome:
    """What a run of tests said.

    Attributes:
        noticed: whether a test failed.
        by: the test, or ``time`` or ``memory`` where one never ended.

    """

    noticed: bool
    by: str = ""


@dataclass
class Copy:
    """One copy of the tree."""

    folder: Path

    @contextmanager
    def changed(self, path: str, after: str) -> Iterator[None]:
        """The file says ``after`` inside."""
        file = self.folder / path
        before = file.read_text()
        file.write_text(after)
        try:
            yield
        finally:
            file.write_text(before)
            # Compiled files are told apart by whole seconds and size: this one may have both.
            shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)

    def run(self, tests: Sequence[str], limit_s: float, but: Sequence[str] = ()) -> Outcome:
        """The tests in this order, but for some, up to the first that fails."""
        end = time.monotonic() + limit_s
        tests = [test for test in tests if test not in but]
        for start in range(0, len(tests), AT_ONCE):
            outcome = self._run(tests[start : start + AT_ONCE], end, but)
            if outcome.noticed:
                return outcome
        return Outcome(False)

    def _run(self, tests: Sequence[str], end: float, but: Sequence[str]) -> Outcome:
        command = [sys.executable, "-m", "pytest", "-x", "--no-header", "-p", "no:cacheprovider"]
        command += ["-o", "addopts=", "-q", "--tb=no", *tests]
        command += [f"--deselect={test}" for test in but]
        environment = os.environ | {
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TINYRT_CACHE": str(self.folder / "build" / "cache"),
            "TINYRT_ZOO": str(Path(os.environ.get("TINYRT_ZOO") or ROOT / "zoo").resolve()),
        }
        with tempfile.TemporaryFile("w+") as out:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            stopped = _watch(process, end)
            if stopped:
                _end_all(environment["TINYRT_CACHE"])
            out.seek(0)
            text = out.read()
        if stopped:
            return Outcome(True, stopped)
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text, re.MULTILINE)
        if process.returncode in (0, NO_TEST_LEFT):
            return Outcome(False)
        if process.returncode == NO_SUCH_TEST and any("::" in test for test in tests):
            # The fault changes the names of cases: whole files are asked.
            return self._run(sorted({test.partition("::")[0] for test in tests}), end, but)
        return Outcome(True, failed.group(1) if failed else text.strip().splitlines()[-1][:100])


def copy_tree(folder: Path) -> Copy:
    """The files that git knows, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # Some tests ask git which files there are.
    for command in (["git", "init", "-q"], ["git", "add", "--all"]):
        subprocess.run(command, cwd=folder, check=True)
    # Tests that look for the tree's own environment find it.
    if (ROOT / ".venv").exists():
        (folder / ".venv").symlink_to((ROOT / ".venv").resolve())
    return Copy(folder)


def _watch(process: subprocess.Popen[bytes], end: float) -> str:
    """Wait until it ends; say why it was ended, if it was."""
    while True:
        try:
            process.wait(STEP_S)
            return ""
        except subprocess.TimeoutExpired:
            why = "time" if time.monotonic() > end else ""
            if not why and _resident(process.pid) > MOST_BYTES:
                why = "memory"
            if why:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return why


def _end_all(cache: str) -> None:
    """End what goes on in a session of its own, such as an emulator that a test waited for."""
    mark = f"TINYRT_CACHE={cache}\0".encode()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environment.read_bytes():
                os.kill(int(environment.parent.name), signal.SIGKILL)
        except OSError:
            continue  # it has ended, or is somebody else's


def _resident(session: int) -> int:
    """Bytes of memory that the processes of the session hold."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[3]) == session:
            total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return total
