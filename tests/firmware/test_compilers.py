"""What the zoo's models cost when other compilers than GCC build them, to what they cost by GCC.

Counts are exact for one release of a compiler; another one may be off by a few parts in a hundred.
"""

import re

import numpy as np
import pytest

from tests.docs.pages import ROOT
from tests.firmware.compilers import OTHER, by_clang, with_options
from tests.firmware.test_zoo import MODELS
from tests.sampling import sampled
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.emulate import build_image, run_image
from tinyrt.emulate.run import unpack_outputs
from tinyrt.export import export_graph

pytestmark = pytest.mark.slow

CORES = ("cortex-m4", "cortex-m55")
COMPILERS = ("clang", "others")

LIMITS = {"clang": 1.15, "others": 1.3}
"""Compiler -> most instructions, to those of GCC's code."""

WARNINGS = "-Wall -Wextra -Wconversion -Wpedantic -Werror"

ROUNDED = 0.01
"""What a figure on the page may be off by."""


def figures():
    """(core, model) -> what the page says of each compiler."""
    page = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
    section = page.split("## Compilers\n")[1].split("\n## ")[0]
    found = {}
    for line in section.splitlines():
        row = re.fullmatch(r"\| (\w+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", line)
        if row:
            ratios = [float(text) for text in row.groups()[1:]]
            found["cortex-m4", row[1]] = dict(zip(COMPILERS, ratios[:2], strict=True))
            found["cortex-m55", row[1]] = dict(zip(COMPILERS, ratios[2:], strict=True))
    return found


def instructions(zoo, name, folder, core, compiler):
    """Of one inference, whose answer is what is golden."""
    graph = read_tflite(zoo / "models" / f"{name}_int8.tflite")
    golden = np.load(zoo / "golden" / f"{name}_int8.npz")
    folder.mkdir()
    project = export_graph(graph, folder / "project", core=core)
    if compiler != "GCC":
        with_options(project, f"-O2 {OTHER}" if compiler == "others" else "-O2", WARNINGS)
    if compiler == "clang":
        by_clang(project)
    found = run_image(build_image(project, folder), golden["inputs"][:1].tobytes(), folder)
    (answer,) = unpack_outputs(project.outputs, found.outputs, 1).values()
    np.testing.assert_array_equal(answer.ravel(), golden["outputs"][:1].ravel())
    return found.instructions


def test_page_has_figures_of_all_models():
    assert set(figures()) == {(core, name) for core in CORES for name in MODELS}


@pytest.mark.parametrize(
    ("core", "name"),
    sampled(
        [("cortex-m4", "dscnn_kws"), ("cortex-m55", "streaming_wakeword")],
        [(core, name) for core in CORES for name in MODELS],
    ),
)
def test_other_compilers_code_is_nearly_as_fast(zoo, tmp_path, core, name):
    by_gcc = instructions(zoo, name, tmp_path / "GCC", core, "GCC")
    shown = figures()[core, name]
    for compiler in COMPILERS:
        ratio = instructions(zoo, name, tmp_path / compiler, core, compiler) / by_gcc
        assert ratio <= LIMITS[compiler], compiler
        assert abs(ratio - shown[compiler]) <= ROUNDED, compiler
