"""The external programs: found, run, and turned into errors where they fail."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tinyrt.errors import ToolError

PREFIX = "arm-none-eabi-"
PACKAGES = {
    f"{PREFIX}gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    f"{PREFIX}ar": "binutils-arm-none-eabi",
    f"{PREFIX}size": "binutils-arm-none-eabi",
    "make": "make",
    "qemu-system-arm": "qemu-system-arm",
}
"""Program -> the Debian and Ubuntu packages that bring it."""

MOST_LINES = 20
"""Lines of a failed program's output that an error shows."""


def require(*programs: str) -> None:
    """Check that the programs are installed.

    Raises:
        ToolError: some are not; the hint is the command that installs them.

    """
    missing = [p for p in programs if shutil.which(p) is None]
    if missing:
        packages = sorted({name for p in missing for name in PACKAGES[p].split()})
        raise ToolError(
            f"not installed: {', '.join(missing)}",
            hint=f"apt-get install {' '.join(packages)}",
        )


def run(command: Sequence[object], *, doing: str, cwd: Path | None = None) -> str:
    """Run a program and return what it wrote to standard output.

    Raises:
        ToolError: it returned an error; its last lines are shown.

    """
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ToolError(f"{doing} failed:\n{last_lines(done.stdout + done.stderr)}")
    return done.stdout


def last_lines(text: str) -> str:
    """The end of a program's output."""
    return "\n".join(text.strip().splitlines()[-MOST_LINES:])
