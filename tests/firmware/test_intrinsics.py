"""The plain C of vector intrinsics against the instructions of an emulated Cortex-M55."""

import numpy as np
import pytest

from tests.c.mve_calls import digests_here, functions, source
from tests.dsp.counting import with_kernels
from tests.dsp.device import run_invoke
from tests.firmware.device import require_core

pytestmark = pytest.mark.device

CORE = "cortex-m55"
TIMES = 300

INVOKE = """
#include "clip.h"

int clip_invoke(const clip_io_t *io, void *arena) {
    uint32_t *const out = (uint32_t *)(void *)((uint8_t *)arena + CLIP_OUTPUT_0_OFFSET);
    (void)io;
"""


@pytest.mark.whole
def test_every_function_answers_as_its_instruction(tmp_path):
    """By the same arguments, drawn there and here."""
    require_core(CORE)
    called = functions()
    there = with_kernels([], CORE, tmp_path)
    makefile = there / "Makefile"
    makefile.write_text(makefile.read_text().replace("-Werror", ""))
    text = source(called, TIMES, INVOKE)
    data = np.zeros((1, 4), np.uint8)
    where = (there, "top_k", CORE, tmp_path)
    _, done = run_invoke(*where, text, data, 8, 4 * len(called))
    found = np.frombuffer(done.outputs, np.uint32).tolist()
    here = digests_here(called, TIMES, tmp_path)
    assert [f.name for f, a, b in zip(called, found, here, strict=True) if a != b] == []
