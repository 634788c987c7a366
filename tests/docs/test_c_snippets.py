"""Pieces of C in the pages are C99, and compile beside what is exported."""

import re
import subprocess

import numpy as np
import pytest

from tests import moving, seeing
from tests.asked import asked
from tests.c.host import host_compiler
from tests.cascades import pair
from tests.docs.pages import ROOT
from tests.export.models import dense, echo, views
from tests.listening import PIPELINE, int8_net, saved
from tests.memory.nets import random_net
from tinyrt.dsp import Anomaly, Boxes, Detector, Learner, LogMel, TopK
from tinyrt.export import (
    Memories,
    export_anomaly,
    export_boxes,
    export_cascade,
    export_detector,
    export_front_end,
    export_graph,
    export_learner,
    export_top_k,
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
    ("cascades.md", 0): (pair, "cascade", {}),
    ("boards.md", 0): (dense, "digits", {"board": True}),
    ("audio.md", 0): (int8_net, "ears", HEARING),
    ("camera.md", 0): (seeing.int8_net, "eyes", {"front_end": seeing.GREY, "input_rows": True}),
    ("dsp.md", 0): (LogMel, "ears", {}),
    ("dsp.md", 1): (Detector, "wake", {}),
    ("dsp.md", 2): (Boxes, "eyes", {}),
    ("dsp.md", 3): (TopK, "best", {}),
    ("export.md", 0): (dense, "digits", {}),
    ("learning.md", 0): (Learner, "head", {}),
    ("memory.md", 0): (views, "digits", {"memories": REGIONS}),
    ("memory.md", 1): (echo, "streamed", {}),
    ("motion.md", 0): (Anomaly, "alarm", {}),
    ("motion.md", 1): (moving.int8_net, "arm", {"front_end": moving.PIPELINE}),
    ("rtos.md", 0): (dense, "digits", {}),
    ("rtos.md", 1): (dense, "digits", {}),
    ("selftest.md", 0): (dense, "digits", {"selftest": 2}),
    ("slices.md", 0): (dense, "digits", {"slices": 1000}),
    ("updates.md", 0): (dense, "digits", {"blob": True}),
    ("memory.md", 2): (lambda: random_net(28), "camera_net", {"input_rows": True}),
}
"""Page and number of its piece of C -> the model, or what stands around one, that it speaks of."""

ZEPHYR = """#include <stddef.h>
#include <stdint.h>
struct k_thread { int unused; };
typedef char k_thread_stack_t;
typedef struct { int64_t ticks; } k_timeout_t;
typedef void (*k_thread_entry_t)(void *, void *, void *);
typedef struct k_thread *k_tid_t;
#define K_THREAD_STACK_DEFINE(name, size) k_thread_stack_t name[size]
#define K_THREAD_STACK_SIZEOF(name) sizeof(name)
#define K_NO_WAIT ((k_timeout_t){0})
k_tid_t k_thread_create(struct k_thread *, k_thread_stack_t *, size_t, k_thread_entry_t, void *,
                        void *, void *, int, uint32_t, k_timeout_t);
int32_t k_msleep(int32_t ms);
"""
TASK_WDT = """#include <stdint.h>
int task_wdt_add(uint32_t period, void (*callback)(int, void *), void *user);
int task_wdt_feed(int channel);
"""
THREADX = """typedef void VOID;
typedef char CHAR;
typedef unsigned int UINT;
typedef unsigned long ULONG;
typedef struct { UINT unused; } TX_THREAD, TX_TIMER;
#define TX_NO_TIME_SLICE ((ULONG)0)
#define TX_AUTO_START ((UINT)1)
#define TX_AUTO_ACTIVATE ((UINT)1)
UINT tx_thread_create(TX_THREAD *, CHAR *, VOID (*)(ULONG), ULONG, VOID *, ULONG, UINT, UINT, ULONG,
                      UINT);
UINT tx_thread_sleep(ULONG ticks);
UINT tx_timer_create(TX_TIMER *, CHAR *, VOID (*)(ULONG), ULONG, ULONG, ULONG, UINT);
"""
STAND_INS = {
    "zephyr/kernel.h": ZEPHYR,
    "zephyr/task_wdt/task_wdt.h": TASK_WDT,
    "tx_api.h": THREADX,
}
"""Headers of kernels that are not here: what a page calls of them."""


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
    if graph is pair:
        export_cascade(*pair(tmp_path), tmp_path / "out", threshold=9, core="host")
    elif graph is LogMel:
        export_front_end(LogMel(), tmp_path / "out", core="host", name=name)
    elif graph is Detector:
        export_detector(Detector(4), tmp_path / "out", core="host", name=name)
    elif graph is Anomaly:
        path = saved(tmp_path / "engine.tflite", dense(size=2), None)
        export_anomaly(Anomaly(1.0), path, tmp_path / "out", core="host", name=name)
    elif graph is Boxes:
        export_boxes(Boxes(9, 9, ((1, 1, 2, 2),), 1), tmp_path / "out", core="host", name=name)
    elif graph is TopK:
        export_top_k(TopK(10, 3), tmp_path / "out", core="host", name=name)
    elif graph is Learner:
        learner = Learner.from_layer(np.eye(4), np.zeros(4), scale=0.1, zero_point=0)
        export_learner(learner, tmp_path / "out", core="host", name=name)
    else:
        export_graph(graph(), tmp_path / "out", core="host", **asked(name=name, **options))
    for header, text in STAND_INS.items():
        (tmp_path / "out" / header).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / header).write_text(text)
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
