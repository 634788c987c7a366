"""Each contributors' page is carried out in a copy of the tree, and its commands run there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import CONTRIBUTING, ROOT, blocks, carry_out, changed, commands, copy_of_tree

MAKE = re.compile(r"make ([\w-]+)")
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
ON_BOARDS = {"add_a_core", "add_a_board", "add_a_kernel_variant"}
EXAMPLES = [page for page in CONTRIBUTING if page.stem.startswith("add_")]


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.device if page.stem in ON_BOARDS else ())
        for page in EXAMPLES
    ],
    ids=lambda page: page.stem,
)
def test_page_suffices(page, tmp_path):
    tree = copy_of_tree(tmp_path / "tree")
    carry_out(page, tree)
    ours = [line for line in commands(page) if not MAKE.match(line)]
    assert ours, "the page has no command that checks its example"
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    env = os.environ | {"PATH": path, "PYTHONPATH": str(tree)}
    for line in ours:
        command = ["bash", "-euo", "pipefail", "-c", line]
        done = subprocess.run(
            command, cwd=tree, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_lines_that_a_page_changes_are_there(page):
    texts = {}
    for language, _, text in blocks(page):
        if language == "diff":
            target, _, change = text.removeprefix("+++ ").partition("\n")
            before = texts.get(target) or (ROOT / target).read_text(encoding="utf-8")
            texts[target] = changed(before, change, target)


@pytest.mark.parametrize("page", [*CONTRIBUTING, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_make_has_the_targets_that_the_pages_name(page):
    named = {target for line in commands(page) for target in MAKE.findall(line)}
    assert named <= TARGETS


def test_a_change_is_made_in_one_place_or_refused():
    assert changed("a\nb\nc\n", " a\n-b\n+B\n", "file") == "a\nB\nc\n"
    with pytest.raises(AssertionError, match="2 times"):
        changed("a\nb\na\n", " a\n+B\n", "file")
    with pytest.raises(AssertionError, match="0 times"):
        changed("a\n", " b\n", "file")
