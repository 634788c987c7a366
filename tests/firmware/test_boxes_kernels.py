"""Boxes on emulated cores, of all numbers around a vector's, up to areas at their limits."""

import numpy as np
import pytest

from tests.docs.pages import ROOT, rows_of
from tests.dsp import decision_costs
from tests.dsp.counting import APART, counted, hooked, invoking, renamed, with_kernels
from tests.dsp.device import run_invoke
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.dsp import Boxes
from tinyrt.dsp.boxes import MAX_UNITS
from tinyrt.export import text as c_text
from tinyrt.export.boxes import definitions_of

pytestmark = pytest.mark.device

CORES = ["cortex-m55", "cortex-m4", "cortex-m0", "rv32imc"]
ANCHORS, CLASSES, MOST = 40, 4, 40
"""Most of a record."""

HEAD = 10
INVOKE = f"""
#include "clip.h"
#include "tinyrt/tinyrt_boxes.h"

/* A record's numbers, anchors, tables, encodings, scores, and which classes are ignored. */
int clip_invoke(const clip_io_t *io, void *arena) {{
    static int32_t places[{MOST}];
    const int32_t *const head = arena;
    const int16_t *const anchors = (const int16_t *)(const void *)(head + {HEAD});
    const int16_t *const moves = anchors + 4 * {ANCHORS};
    const int8_t *const codes = (const int8_t *)(moves + 512);
    const int8_t *const scores = codes + 4 * {ANCHORS};
    const uint8_t *const ignored = (const uint8_t *)(scores + {ANCHORS * CLASSES});
    int8_t *const out = (int8_t *)arena + CLIP_OUTPUT_0_OFFSET;
    const tinyrt_boxes_params p = {{head[0], head[1], head[2], head[3], head[4], head[5], head[6],
                                   (int16_t)head[7], (int16_t)head[8], anchors, moves, moves + 256,
                                   ignored}};
    (void)io;
    for (int32_t i = 0; i < 4 + 12 * {MOST}; ++i) {{
        out[i] = -7;
    }}
    *(int32_t *)(void *)out = tinyrt_boxes_s8(&p, scores, (head[9] != 0) ? codes : NULL,
                                              (tinyrt_box *)(void *)(out + 4), places);
    return 0;
}}
"""


def some_boxes(rng):
    """Close together or far apart, of one size or of all, up to the whole of the largest frame."""
    height, width = (int(n) for n in rng.choice([1, 2, 9, 100, 4_096, MAX_UNITS], 2))
    count, classes = int(rng.integers(1, ANCHORS + 1)), int(rng.integers(1, CLASSES + 1))
    near = rng.choice([1, 3, 40, MAX_UNITS])
    middles = rng.integers(0, [height + 1, width + 1], (count, 2)) // near * near
    sides = rng.integers(1, rng.choice([2, 12, 200, MAX_UNITS]) + 1, (count, 2))
    sides[rng.random(count) < 0.3] = rng.choice([1, 7, MAX_UNITS])
    if rng.random() < 0.1:  # all of the frame, each of them
        middles[:], sides[:] = (height // 2, width // 2), MAX_UNITS
    candidates = int(rng.integers(1, MOST + 1))
    ignored = np.flatnonzero(rng.random(classes) < 0.2)[: classes - 1]
    return Boxes(
        *(height, width, tuple(map(tuple, np.hstack([middles, sides]).tolist())), classes),
        threshold=int(rng.choice([-128, -20, 0, 127])),
        iou=int(rng.choice([0, 1, 100, 128, 255, 256, rng.integers(0, 257)])) / 256,
        candidates=candidates,
        most=candidates if rng.random() < 0.5 else int(rng.integers(1, candidates + 1)),
        center_scale=float(rng.choice([0, 0.01, 0.1, 8])),
        size_scale=float(rng.choice([0, 0.01, 0.1, 8])),
        zero_point=int(rng.integers(-128, 128)),
        by_class=bool(rng.random() < 0.5),
        ignored=tuple(int(one) for one in ignored),
    )


def a_record(rng):
    """What is put in, and what comes out."""
    boxes, coded = some_boxes(rng), rng.random() < 0.7
    count, classes = len(boxes.anchors), boxes.classes
    spread = int(rng.choice([1, 3, 128]))
    scores = rng.integers(-spread, spread, (count, classes)).astype(np.int8)
    codes = rng.choice([-128, 127, 0, *rng.integers(-128, 128, 9)], (count, 4)).astype(np.int8)
    row = np.zeros(4 * HEAD + 8 * ANCHORS + 1_024 + (4 + CLASSES) * ANCHORS + CLASSES, np.uint8)
    head = [count, classes, boxes.threshold, boxes.share, boxes.candidates, boxes.most]
    head += [int(boxes.by_class), boxes.height, boxes.width, int(coded)]
    ignored = np.isin(np.arange(CLASSES), boxes.ignored).astype(np.uint8)
    parts = [np.array(head, np.int32), np.array(boxes.anchors, np.int16), boxes.moves]
    parts += [boxes.growths, codes, scores, ignored]
    room = [4 * HEAD, 8 * ANCHORS, 512, 512, 4 * ANCHORS, CLASSES * ANCHORS, CLASSES]
    for part, at in zip(parts, np.cumsum([0, *room]), strict=False):
        row[at : at + part.nbytes] = np.frombuffer(part.tobytes(), np.uint8)
    return row, boxes.find(scores, codes if coded else None)


@pytest.mark.parametrize("core", sampled(CORES[:1], CORES))
def test_boxes_are_the_hosts(core, tmp_path):
    require_core(core)
    rng = np.random.default_rng(11)
    ones = [a_record(rng) for _ in range(sampled(300, 4_000))]
    there = with_kernels(["tinyrt_boxes_s8"], core, tmp_path)
    where = (there, "top_k", core, tmp_path)
    data = np.stack([row for row, _ in ones])
    _, done = run_invoke(*where, INVOKE, data, 8, 4 + 12 * MOST)
    found = np.frombuffer(done.outputs, np.int8).reshape(len(ones), -1)
    counts = found[:, :4].copy().view(np.int32).ravel()
    for i, (_, want) in enumerate(ones):
        count = len(want.scores)
        assert counts[i] == count, i
        told = found[i, 4 : 4 + 12 * count].copy().view(np.int16).reshape(count, 6)
        np.testing.assert_array_equal(told[:, :4], want.boxes, str(i))
        assert (told[:, 4].tolist(), told[:, 5].tolist()) == (
            want.classes.tolist(),
            want.scores.tolist(),
        )
        assert (found[i, 4 + 12 * count :] == -7).all(), f"nothing behind the last box of {i}"
    assert {*counts} >= {0, 1, 7, 8, 9, 17}
    areas = [np.prod(w.boxes[:, 2:].astype(int) - w.boxes[:, :2], axis=1) for _, w in ones]
    areas = np.concatenate(areas)
    assert (areas.min(), areas.max()) == (0, MAX_UNITS**2)


FIVE = [(20, 20), (20, 100), (60, 60), (95, 20), (95, 120)]
AROUND = tuple(
    (y + 2 * (i // 5), x + 2 * (i // 5), 40, 40) for i in range(16) for y, x in [FIVE[i % 5]]
)
WHOLE = ((60, 80, 120, 160),) * 64
CALLS = {
    "16": Boxes(120, 160, AROUND, 1, -128, 0.3, 16, 16, 0.01, 0.01, by_class=False),
    "64, one": Boxes(120, 160, WHOLE, 1, -128, 0.3, 64, 64, 0.01, 0.01),
    "64, all": Boxes(120, 160, WHOLE, 1, -128, 1.0, 64, 64, 0.01, 0.01),
}
"""Boxes whose scores and encodings are all 0."""


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES[:2])
def test_the_page_has_what_calls_take(core, tmp_path):
    require_core(core)
    parts, body = [decision_costs.BEGIN], []
    for k, boxes in enumerate(CALLS.values()):
        count = len(boxes.anchors)
        given = {"scores": np.zeros(count, np.int8), "codes": np.zeros(4 * count, np.int8)}
        made = [c_text.array("static const", "int8_t", n, array) for n, array in given.items()]
        made += definitions_of(boxes, "params")
        names = [*given, "params", "anchors", "moves", "growths", "ignored"]
        parts.append(renamed("\n".join(made), names, k))
        call = f"tinyrt_boxes_s8(&params_{k}, scores_{k}, codes_{k}, found, state)"
        body.append(hooked(f"BEGIN(0); {call}; END(0);", k))
    source = "\n".join([*parts, invoking("\n".join(body))])
    there = with_kernels(decision_costs.KERNELS, core, tmp_path)
    found = counted(there, "top_k", core, source, tmp_path)
    counts = {name: f"{found[APART * k]:,}" for k, name in enumerate(CALLS)}
    if core == "cortex-m55":
        rows = rows_of("dsp.md", "instructions on a Cortex-M55 | one by one")
        told = [now for what, _, now in rows if what[:3] in ("16 ", "64 ")]
        assert told == [*counts.values()], counts
    else:
        page = " ".join((ROOT / "docs" / "dsp.md").read_text(encoding="utf-8").split())
        assert f"all are kept take {counts['64, all']} instead of" in page
        assert f"of which 5 are kept {counts['16']} instead of" in page
