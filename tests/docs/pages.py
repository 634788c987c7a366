"""What the contributors' pages show: files to write, lines to change, commands to run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTRIBUTING = sorted((ROOT / "docs" / "contributing").glob("*.md"))
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *CONTRIBUTING,
    *DECISIONS,
]

CARRIED = ("tinyrt", "tests", "tools", "docs", "benchmarks", "pyproject.toml", "Makefile")
"""What the copy of the tree has in which a page's example is carried out."""

_FENCE = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Language, file (empty where none is named) and text of each block of code, in order."""
    return _FENCE.findall(page.read_text(encoding="utf-8"))


def rows_of(page: str, header: str) -> list[list[str]]:
    """The cells of the one table of docs/page whose header begins so, a list to a row."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    begin = f"\n| {header}"
    assert text.count(begin) == 1, f"docs/{page} has {text.count(begin)} tables {header!r}"
    _, _, *lines = text[text.index(begin) + 1 :].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def copy_of_tree(folder: Path) -> Path:
    """A copy of what the examples change, which git knows nothing of."""
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    for name in CARRIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=left_out)
        else:
            shutil.copy(source, folder / name)
    return folder


def carry_out(page: Path, tree: Path) -> None:
    """Write the page's files into the tree, and change its lines as the page's diffs say."""
    for language, file, text in blocks(page):
        if language == "diff":
            target, _, change = text.removeprefix("+++ ").partition("\n")
            path = tree / target
            path.write_text(changed(path.read_text(encoding="utf-8"), change, target))
        elif file:
            path = tree / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def changed(text: str, change: str, where: str) -> str:
    """The text with one change: lines of a diff without numbers, to be found in one place."""
    lines = change.splitlines(keepends=True)
    old = "".join(line[1:] for line in lines if line[0] in " -")
    new = "".join(line[1:] for line in lines if line[0] in " +")
    count = ("\n" + text).count("\n" + old)
    assert count == 1, f"{where} has these lines {count} times, not once:\n{old}"
    return ("\n" + text).replace("\n" + old, "\n" + new)[1:]


def commands(page: Path) -> list[str]:
    """The page's shell commands, one a line."""
    texts = (text for language, _, text in blocks(page) if language == "sh")
    return [line for text in texts for line in text.replace("\\\n", "").splitlines() if line]
