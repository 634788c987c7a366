"""The plugin's counts beside those of a few lines of Python, over random runs."""

import shutil
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tinyrt.emulate.cycles.counts import Counts, Edge, read_counts, sum_of
from tinyrt.emulate.cycles.plugin import FLAGS, SOURCE

DRIVER = Path(__file__).with_name("driver.c")
CODE, FLASH = (0x100, 0x1FF), (0x100, 0x4FF)
MARK = 0x40


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    program = tmp_path_factory.mktemp("driver") / "driver"
    options = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror")
    sanitized = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    defined = ("-DTINYRT_PLUGIN_VERSION=1", f"-I{SOURCE.parent}")
    command = ["cc", *options, *sanitized, *defined, DRIVER, "-o", program]
    subprocess.run(command, check=True)
    return program


class Kept:
    """The lines used last."""

    def __init__(self, count):
        self.lines, self.count = [], count

    def misses(self, line):
        is_new = line not in self.lines
        self.lines = [line, *(x for x in self.lines if x != line)][: self.count]
        return is_new


def accesses_beyond_one(address, shift):
    """Of each word, or of a half one: a word at an odd address takes three, at an even one two."""
    if shift == 0:
        return 0
    if shift == 1:
        return address % 2
    return {0: 0, 1: 2, 2: 1, 3: 2}[address % 4] * (1 << (shift - 2))


def counted(run, line, code_lines, data_lines):
    """What the plugin should write of a run."""
    code_cache, data_cache = Kept(code_lines), Kept(data_lines)
    stretches, before, is_model = [(0, Counts())], None, False
    for what, first, second in run:
        counts = stretches[-1][1]
        if what == "b":
            if before is not None:
                edge = Edge(*before, first)
                counts.edges[edge] = counts.edges.get(edge, 0) + 1
            before = first, second
            if first == MARK:
                stretches.append((MARK, counts := Counts()))
            is_model = CODE[0] <= first <= CODE[1]
            ends = range(first // line, (first + 2 * second - 1) // line + 1)
            counts.code_misses += is_model and sum(code_cache.misses(each) for each in ends)
        elif is_model and second & 0x10:
            counts.stores_apart += accesses_beyond_one(first, second & 0xF)
        elif is_model:
            counts.loads_apart += accesses_beyond_one(first, second)
            if FLASH[0] <= first <= FLASH[1]:
                counts.flash_loads += 1
                counts.data_misses += data_cache.misses(first // line)
    return stretches


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_the_plugin_counts_what_ran(driver, tmp_path, seed):
    rng = np.random.default_rng(seed)
    line, code_lines, data_lines = (int(rng.choice(n)) for n in ([4, 16, 32], [1, 3], [1, 2, 7]))
    starts = [MARK, 0x80, *rng.choice(range(0x100, 0x1C0, 2), 12, replace=False)]
    blocks = [(int(start), int(rng.integers(1, 12))) for start in starts]
    run = []
    for _ in range(600):
        run.append(("b", *blocks[rng.choice(len(blocks), p=[0.02, *[0.98 / 13] * 13])]))
        for _ in range(rng.integers(0, 3)):
            kind = int(rng.integers(0, 4)) | int(rng.choice([0, 0x10]))
            run.append(("m", int(rng.integers(0xF0, 0x510)), kind))
    text = "\n".join(f"{what} {first:x} {second:x}" for what, first, second in run)
    told = [f"mark={MARK:x}", "mark=999", f"code={CODE[0]:x}-{CODE[1]:x}", f"line={line:x}"]
    told += [f"flash={FLASH[0]:x}-{FLASH[1]:x}"]
    told += [f"code_lines={code_lines:x}", f"data_lines={data_lines:x}"]
    path = tmp_path / "counts.txt"
    subprocess.run([driver, f"out={path}", *told], input=text, text=True, check=True)
    found, expected = read_counts(path), counted(run, line, code_lines, data_lines)
    assert found == expected
    assert len(found) > 3
    total, edges = sum_of(counts for _, counts in found), Counter()
    for (_, a, n), (_, b, _) in pairwise(step for step in run if step[0] == "b"):
        edges[Edge(a, n, b)] += 1
    assert total.edges == edges
    assert total.instructions == sum(n for what, _, n in run if what == "b") - before_last(run)
    assert total.flash_loads > total.data_misses > 0
    assert total.loads_apart > 0 < total.stores_apart


def before_last(run):
    """Instructions of the last block, which is in no edge."""
    return [n for what, _, n in run if what == "b"][-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mark=40"], "needs a file"),
        (["out=/dev/null", "line=0"], "lines that are not empty"),
        (["out=/dev/null", "code_lines=0"], "lines that are not empty"),
        (["out=/dev/null", "other=1"], "does not know other=1"),
        (["out=/dev/null", *["mark=1"] * 9], "does not know mark=1"),
    ],
)
def test_what_the_plugin_is_told_wrong_it_refuses(driver, arguments, words):
    found = subprocess.run([driver, *arguments], input="", text=True, capture_output=True)
    assert found.returncode == 1
    assert words in found.stderr


def test_the_library_hides_its_own_names():
    assert "-fvisibility=hidden" in FLAGS
