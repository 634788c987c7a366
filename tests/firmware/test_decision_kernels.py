"""Scores of anomalies and the best of scores on emulated cores, of all sizes around a vector's."""

import numpy as np
import pytest

from tests.dsp.counting import with_kernels
from tests.dsp.device import run_invoke
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.dsp import TopK
from tinyrt.dsp.anomaly import AnomalyNumbers, AnomalyStream

pytestmark = pytest.mark.device

CORES = ["cortex-m55", "cortex-m4", "cortex-m0", "rv32imc"]
SIZE, MOST = 100, 40
"""Most numbers of a record, and most places."""

INVOKE = f"""
#include "clip.h"
#include "tinyrt/tinyrt_anomaly.h"
#include "tinyrt/tinyrt_top_k.h"
#include "tinyrt/tinyrt_best_scores.h"

/* A record's kind, its numbers, and two rows of int8. */
int clip_invoke(const clip_io_t *io, void *arena) {{
    const int32_t *const head = arena;
    const int8_t *const x = (const int8_t *)(head + 10), *const y = x + {SIZE};
    int32_t *const out = (int32_t *)(void *)((uint8_t *)arena + CLIP_OUTPUT_0_OFFSET);
    (void)io;
    for (int32_t i = 0; i < {MOST} + 1; ++i) {{
        out[i] = -7;
    }}
    if (head[0] == 0) {{
        const tinyrt_anomaly_params p = {{head[1], head[2], head[3], head[4], head[5], head[6],
                                         ((uint64_t)(uint32_t)head[8] << 32) | (uint32_t)head[7]}};
        uint64_t sum;
        out[3] = head[9];
        out[0] = tinyrt_anomaly_s8(&p, x, y, &out[3], &sum);
        out[1] = (int32_t)(uint32_t)sum;
        out[2] = (int32_t)(uint32_t)(sum >> 32);
    }} else if (head[0] == 1) {{
        out[0] = tinyrt_top_k_s8(x, head[1], head[2], head[3], out + 1);
    }} else {{
        out[0] = tinyrt_best_scores(x, head[1], head[4], (const uint8_t *)y, head[2], head[3],
                                    out + 1);
    }}
    return 0;
}}
"""


def scores(rng, size):
    """All values, few of them, mostly low ones, or extremes."""
    return rng.choice(
        [
            rng.integers(-128, 128, size),
            rng.integers(-3, 3, size),
            np.where(rng.random(size) < 0.1, rng.integers(-128, 128, size), -128),
            rng.choice([-128, 127], size),
        ]
    ).astype(np.int8)


def an_anomaly(rng):
    """What is put in, and what comes out: the alarm, the sum, and sums in a row above the limit."""
    size = int(rng.integers(1, SIZE + 1))
    zero_points = rng.integers(-128, 128, 2).tolist()
    mults = rng.permutation([4096, int(rng.integers(0, 4097))]).tolist()
    x, y = scores(rng, size), scores(rng, size)
    free = AnomalyNumbers(size, *zero_points, *mults, 1 << 61, 1.0, 3)
    total = int(AnomalyStream(free).push(x[None], y[None])[0][0])
    limit, before = max(0, total + int(rng.integers(-2, 2))), int(rng.integers(0, 4))
    above = min(before + 1, 3) if total > limit else 0
    split = [total & 0xFFFFFFFF, total >> 32]
    head = [0, size, *zero_points, *mults, 3, limit & 0xFFFFFFFF, limit >> 32, before]
    return head, x, y, [int(above == 3), *split, above]


def the_best(rng, *, ignores):
    """Of scores by turns of some classes, some of which may be ignored."""
    classes = int(rng.integers(1, 7)) if ignores else 1
    size = int(rng.integers(1, SIZE // classes + 1)) * classes
    threshold = int(rng.choice([-128, -127, 0, 127, *rng.integers(-128, 128, 4)]))
    k = int(rng.integers(1, MOST + 1)) if rng.random() < 0.7 else 1
    x, ignored = scores(rng, size), rng.integers(0, 2, classes) * ignores
    counts = np.flatnonzero(ignored[np.arange(size) % classes] == 0)
    if len(counts):
        places = counts[TopK(len(counts), min(k, len(counts)), threshold).find(x[counts])]
    else:
        places = counts
    head = [1 + ignores, size, threshold, k, classes, 0, 0, 0, 0, 0]
    return head, x, ignored.astype(np.int8), [len(places), *places.tolist()]


def records(count):
    rng = np.random.default_rng(5)
    kinds = [an_anomaly, lambda r: the_best(r, ignores=0), lambda r: the_best(r, ignores=1)]
    return [kinds[i % 3](rng) for i in range(count)]


@pytest.mark.parametrize("core", sampled(CORES[:2], CORES))
def test_decisions_are_the_hosts(core, tmp_path):
    require_core(core)
    ones = records(sampled(300, 3_000))
    data = np.zeros((len(ones), 40 + 2 * SIZE), np.uint8)
    for row, (head, x, y, _) in zip(data, ones, strict=True):
        row[:40] = np.array(head, np.int64).astype(np.uint32).view(np.uint8)
        row[40 : 40 + len(x)] = x.view(np.uint8)
        row[40 + SIZE : 40 + SIZE + len(y)] = y.view(np.uint8)
    there = with_kernels(["tinyrt_anomaly_s8", "tinyrt_boxes_s8"], core, tmp_path)
    where = (there, "top_k", core, tmp_path)
    _, done = run_invoke(*where, INVOKE, data, 8, 4 * (MOST + 1))
    found = np.frombuffer(done.outputs, np.uint32).reshape(len(ones), MOST + 1)
    for row, (head, *_, want) in zip(found, ones, strict=True):
        assert row[: len(want)].tolist() == want, head
        assert head[0] == 0 or (row[len(want) :] == np.uint32(2**32 - 7)).all(), head
    alarms = [want[0] for head, *_, want in ones if head[0] == 0]
    assert 0 < sum(alarms) < len(alarms)
    assert {want[0] for head, *_, want in ones if head[0]} >= {0, 1, 7}
