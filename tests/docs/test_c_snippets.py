"""Pieces of C in the pages are C99, and compile beside what is exported."""

import re
import subprocess

import numpy as np
import pytest

from tests import moving
from tests.c.host import host_compiler
from tests.docs.pages import ROOT
from tests.export.models import dense, echo, views
from tests.listening import PIPELINE, int8_net
from tests.memory.nets import random_net
from tinyrt.dsp import Detector, Learner, LogMel
from tinyrt.export import (
    Memories,
    export_detector,
    export_front_end,
    export_graph,
    export_learner,
)
from tinyrt.memory import Region

FENCE = re.compile(r"^```c\n(.*?)^```", re.MULTILINE | re.DOTALL)
BEFORE = """#include <stddef.h>
#include <stdint.h>
#include "{name}.h"
extern const int8_t *frame;
const int8_t *next_row(void);
"""
REGIONS = Memories((Region("dtcm", 16), Region("sram")), inputs_in_arena=False)
HEARING = {"front_end": PIPELINE}
SNIPPETS = {
    ("boards.md", 0): (dense, "digits", {"board": True}),
    ("audio.md", 0): (int8_net, "ears", HEARING),
    ("dsp.md", 0): (LogMel, "ears", {}),
    ("dsp.md", 1): (Detector, "wake", {}),
    ("export.md", 0): (dense, "digits", {}),
    ("learning.md", 0): (Learner, "head", {}),
    ("memory.md", 0): (views, "digits", {"memories": REGIONS}),
    ("memory.md", 1): (echo, "streamed", {}),
    ("motion.md", 0): (moving.int8_net, "arm", {"front_end": moving.PIPELINE}),
    ("selftest.md", 0): (dense, "digits", {"selftest": 2}),
    ("slices.md", 0): (dense, "digits", {"slices": 1000}),
    ("updates.md", 0): (dense, "digits", {"blob": True}),
    ("memory.md", 2): (lambda: random_net(28), "camera_net", {"input_rows": True}),
}
"""Page and number of its piece of C -> the model, or what stands around one, that it speaks of."""


def snippets(page):
    return FENCE.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


def test_every_piece_is_compiled():
    pages = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    there = {(page, i) for page in pages for i in range(len(snippets(page)))}
    assert there == set(SNIPPETS)


@pytest.mark.parametrize(("page", "number"), SNIPPETS)
def test_it_is_c99(tmp_path, page, number):
    """What comes before the first empty line behind declarations stands outside of a function."""
    graph, name, options = SNIPPETS[page, number]
    if graph is LogMel:
        export_front_end(LogMel(), tmp_path / "out", core="host", name=name)
    elif graph is Detector:
        export_detector(Detector(4), tmp_path / "out", core="host", name=name)
    elif graph is Learner:
        learner = Learner.from_layer(np.eye(4), np.zeros(4), scale=0.1, zero_point=0)
        export_learner(learner, tmp_path / "out", core="host", name=name)
    else:
        export_graph(graph(), tmp_path / "out", core="host", name=name, **options)
    lines = snippets(page)[number].splitlines()
    last = max((i for i, s in enumerate(lines) if s.startswith(("static", "#"))), default=-1)
    outside, inside = lines[: last + 1], lines[last + 1 :]
    arena = "extern uint8_t arena[];" if "arena[" not in "\n".join(outside) else ""
    text = [BEFORE.format(name=name), arena, *outside, "void all(void);", "void all(void) {"]
    text += [*inside, *["(void)output;"] * ("*output" in "".join(inside)), "}", ""]
    (tmp_path / "main.c").write_text("\n".join(text))
    options = ["-std=c99", "-Wall", "-Wextra", "-pedantic-errors", "-Werror", "-fsyntax-only"]
    command = [host_compiler(), *options, "-Wno-unused", f"-I{tmp_path / 'out'}", "main.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
