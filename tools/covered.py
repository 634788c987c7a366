"""A run of all tests, covered: what ran of each file, in which test, and how long each test took.

``make coverage`` shows the shares; ``make mutants`` asks which tests reach a line. What Numba
compiles runs as machine code, which coverage.py does not see: it is left out of the shares.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CONFIG = """
[run]
branch = true
source = {root}/tinyrt
data_file = {folder}/.coverage
parallel = true
patch = subprocess, _exit
context = ${{PYTEST_CURRENT_TEST-}}

[report]
exclude_also =
    if TYPE_CHECKING:
    \\.\\.\\.$
    @compiled
    @subroutine
    @intrinsic
    @overload
    def \\w+\\(address: int\\) -> None
    @_binary
    def run\\(p: Any\\) -> None
    def run\\(board: Any
    def _run_span
"""


@dataclass(frozen=True)
class Record:
    """What a covered run leaves.

    Attributes:
        folder: where it is kept.

    """

    folder: Path = ROOT / "build" / "coverage"

    @property
    def data(self) -> Path:
        """Coverage.py's data, with the test as the context."""
        return self.folder / ".coverage"

    @property
    def config(self) -> Path:
        """Coverage.py's settings."""
        return self.folder / "coveragerc"

    @property
    def times(self) -> Path:
        """Pytest's report in XML."""
        return self.folder / "times.xml"

    @property
    def commit(self) -> Path:
        """What the tree was."""
        return self.folder / "commit"

    @property
    def exists(self) -> bool:
        """Whether there was such a run."""
        return all(p.is_file() for p in (self.data, self.config, self.times, self.commit))

    def make(self) -> bool:
        """Run all tests, in some two times as long as without; whether they passed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.glob(".coverage*"):
            old.unlink()
        self.config.write_text(CONFIG.format(root=ROOT, folder=self.folder))
        command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "worksteal"]
        command += [f"--cov-config={self.config}", "--cov", "--cov-context=test", "--cov-report="]
        command += [f"--junitxml={self.times}"]
        # What writes machine code runs only where none is kept from an earlier run.
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"TINYRT_CACHE": cache}
            done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        head = ["git", "rev-parse", "HEAD"]
        self.commit.write_text(subprocess.check_output(head, cwd=ROOT, text=True).strip())
        return done.returncode == 0
