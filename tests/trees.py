"""Small trees of files, for runs of pytest of their own."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path


def write_tree(folder: Path, files: Mapping[str, str]) -> Path:
    """Write texts, without what they are indented by, below the folder; the folder itself."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder
