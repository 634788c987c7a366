"""Every path, module and link that the documentation names is there."""

import re
import subprocess
from functools import cache
from importlib.util import find_spec

import pytest

from tests.docs.pages import PAGES, ROOT, blocks

CODE = re.compile(r"`([^`\n]+)`")
FOLDERS = ("tinyrt", "tests", "tools", "docs", "benchmarks", "firmware_examples", ".github")
FOREIGN = {
    "tinyrt.states",
    "tinyrt.front_end",
    "tinyrt.samples",
    "tinyrt.detected",
    "tinyrt.alarms",
}
"""Names that look like modules and are none: of a file's metadata, and of arrays."""


def words(page):
    """Words of the page's inline code, and the files of its examples, which need not exist."""
    text = page.read_text(encoding="utf-8")
    made = {file for _, file, _ in blocks(page) if file}
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return {word.strip(",;:") for code in CODE.findall(prose) for word in code.split()} - made


@cache
def files():
    """All files that git knows or would add, and their folders."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    known = {line for line in done.stdout.splitlines() if (ROOT / line).exists()}
    return known | {str(p) for line in known for p in (ROOT / line).relative_to(ROOT).parents}


def is_path(word):
    """Whether a word names a file or folder of the project, and no pattern."""
    plain = re.fullmatch(r"[\w./-]+", word)
    return plain and "/" in word and any(part in word for part in (".py", ".c", ".h", ".md", "/"))


def is_there(word):
    """Whether the path, from the root or from a folder below the package, exists."""
    path = word.rstrip("/")
    places = (path, f"tinyrt/{path}", f"tinyrt/kernels_c/{path}")
    return any(place in files() for place in places)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_paths_exist(page):
    named = {w for w in words(page) if is_path(w) and w.split("/")[0] in (*FOLDERS, *ROOMS)}
    assert sorted(w for w in named if not is_there(w.split("::")[0])) == []


ROOMS = {p.name for p in (ROOT / "tinyrt").iterdir() if p.is_dir()}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_exist(page):
    named = {w for w in words(page) if re.fullmatch(r"(tinyrt|tests|benchmarks)(\.\w+)+", w)}
    assert sorted(w for w in named - FOREIGN if not _names_something(w)) == []


def _names_something(name):
    """Whether it is a module, or a name of one."""
    module, _, attribute = name.rpartition(".")
    try:
        if find_spec(name) is not None:
            return True
    except ModuleNotFoundError:
        pass
    try:
        return hasattr(__import__(module, fromlist=["_"]), attribute)
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
