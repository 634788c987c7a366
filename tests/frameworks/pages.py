"""The pages for users of other frameworks as programs.

Blocks of Python marked ``needs=NAME`` want that package; the others want none. A page is one
program: its blocks run in the page's order, in one process, so that each sees what those before it
made.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = {page.stem: page for page in sorted((ROOT / "docs").glob("from-*.md"))}

FENCE = re.compile(r"^```(sh|python)(?: needs=(\w+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)

SHELL = "import subprocess\nsubprocess.run(['bash', '-euo', 'pipefail', '-c', {!r}], check=True)\n"


def packages(page: str) -> set[str]:
    """The packages that blocks of the page name."""
    return {need for _, need, _ in FENCE.findall(PAGES[page].read_text()) if need}


def program(page: str, stand_in: str = "") -> str:
    """The page's blocks as Python.

    Args:
        page: its name, without ``.md``.
        stand_in: a program that writes the files of all blocks that need a package, and runs
            instead of them.

    """
    parts = [stand_in]
    for language, need, text in FENCE.findall(PAGES[page].read_text()):
        if language == "sh":
            parts.append(SHELL.format(text))
        elif not (need and stand_in):
            parts.append(text)
    return "\n".join(parts)


def carried_out(text: str, folder: Path) -> str:
    """What the program prints, run in the folder with the code beside this file."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    env = {"PATH": path, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    env |= {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    env |= {name: os.environ[name] for name in ("HOME", "XDG_CACHE_HOME") if name in os.environ}
    command = [sys.executable, "-W", "ignore", "-c", text]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
