"""Small trees of files, for runs of pytest of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def write_tree(folder: Path, files: Mapping[str, str]) -> Path:
    """Write texts, without what they are indented by, below the folder; the folder itself."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def run_pytest(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A run of the tests below the folder, with this project's modules and no other plugins."""
    own = {"PYTHONPATH": f"{folder}:{ROOT}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(
        command, cwd=folder, env=own | environment, capture_output=True, text=True
    )
