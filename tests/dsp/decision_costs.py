"""Instructions of decisions behind a network on emulated cores."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.dsp.counting import APART, counted, hooked, invoking, renamed, with_kernels
from tinyrt.dsp import Boxes, Detector, TopK
from tinyrt.dsp.anomaly import AnomalyNumbers
from tinyrt.export import detector as detector_code
from tinyrt.export import text as c_text
from tinyrt.export.boxes import definitions_of

Decision = Detector | TopK | Boxes | AnomalyNumbers

KERNELS = ("tinyrt_detector_s8", "tinyrt_boxes_s8", "tinyrt_anomaly_s8")

BEGIN = """
#include "clip.h"
#include "tinyrt/tinyrt_anomaly.h"
#include "tinyrt/tinyrt_boxes.h"
#include "tinyrt/tinyrt_detector.h"
#include "tinyrt/tinyrt_top_k.h"

static int32_t state[3000];
static tinyrt_box found[1024];
"""

DETECTOR = """
    tinyrt_detector_reset(&params_NUMBER, state);
    for (int32_t i = 0; i < WINDOW; ++i) {
        tinyrt_detector_s8(&params_NUMBER, rising_NUMBER, state);
    }
    BEGIN(0); tinyrt_detector_s8(&params_NUMBER, rising_NUMBER, state); END(0);
    BEGIN(1); tinyrt_detector_s8(&params_NUMBER, rising_NUMBER, state); END(1);
    tinyrt_detector_s8(&params_NUMBER, random_NUMBER, state);
    BEGIN(2); tinyrt_detector_s8(&params_NUMBER, random_NUMBER, state); END(2);
"""
TOP_K = """
    BEGIN(0); tinyrt_top_k_s8(low_NUMBER, SIZE, -127, MOST, state); END(0);
    BEGIN(1); tinyrt_top_k_s8(rising_NUMBER, SIZE, -127, MOST, state); END(1);
    BEGIN(2); tinyrt_top_k_s8(random_NUMBER, SIZE, -127, MOST, state); END(2);
"""
BOXES = """
    BEGIN(0); tinyrt_boxes_s8(&params_NUMBER, low_NUMBER, zeros_NUMBER, found, state); END(0);
    BEGIN(1); tinyrt_boxes_s8(&params_NUMBER, rising_NUMBER, zeros_NUMBER, found, state); END(1);
    BEGIN(2); tinyrt_boxes_s8(&params_NUMBER, random_NUMBER, codes_NUMBER, found, state); END(2);
"""
ANOMALY = """
    uint64_t sum;
    state[0] = 0;
    BEGIN(0); tinyrt_anomaly_s8(&params_NUMBER, random_NUMBER, rising_NUMBER, state, &sum); END(0);
    BEGIN(2); tinyrt_anomaly_s8(&params_NUMBER, low_NUMBER, random_NUMBER, state, &sum); END(2);
"""


def kept(across: int, down: int, classes: int, candidates: int, most: int, iou: float) -> Boxes:
    """Boxes of the whole frame, all kept where ``iou`` is 1; the last class may be ignored."""
    sides = 32 * down, 32 * across
    anchors = tuple((8 + 16 * y, 8 + 16 * x, *sides) for y in range(down) for x in range(across))
    ignored = (classes - 1,) if classes > 2 else ()
    return Boxes(
        *(16 * down, 16 * across, anchors, classes, -127, iou, candidates, most),
        *(0.02, 0.01, 0, False, ignored),
    )


def fitted_ones() -> list[Decision]:
    """Decisions of many sizes: constants are read off these."""
    sizes = (3, 8, 12, 25, 40, 64, 100, 200)
    return [
        *(Detector(n, window=3 + i % 3, threshold=-128, hold=1) for i, n in enumerate(sizes)),
        *(TopK(n, 1 + (5 * i) % 11, -127) for i, n in enumerate((*sizes, 30, 90, 150, 250))),
        *(
            kept(4 + i, 3 + i % 3, 1 + i % 3, found, 1 + (5 * i) % found, 1.0)
            for i in range(20)
            for found in [4 + (7 * i) % 40]
        ),
        *(AnomalyNumbers(n, -3, 5, 4096, 3000, 1 << 30, 1.0, 2) for n in sizes),
    ]


def scores_of(decision: Decision, seed: int) -> dict[str, np.ndarray]:
    """Scores in C that none reaches, that all rise, and random ones; and encodings."""
    rng = np.random.default_rng(seed)
    match decision:
        case Detector(classes=size) | TopK(size=size) | AnomalyNumbers(size=size):
            codes = {}
        case Boxes():
            size = len(decision.anchors) * decision.classes
            count = 4 * len(decision.anchors)
            codes = {"zeros": np.zeros(count), "codes": rng.integers(-60, 60, count)}
    rising = np.floor(np.linspace(-126, 127, max(size, 2)))[:size]
    each = {"low": np.full(size, -128), "rising": rising, "random": rng.integers(-128, 128, size)}
    return {name: array.astype(np.int8) for name, array in (each | codes).items()}


def code_of(decision: Decision) -> tuple[list[str], str]:
    """Parameters in C, and the calls that are measured."""
    match decision:
        case Detector(window=window):
            made = detector_code.definitions_of(decision, "params")
            return made, DETECTOR.replace("WINDOW", str(window))
        case TopK(size=size, k=k):
            return [], TOP_K.replace("SIZE", str(size)).replace("MOST", str(k))
        case Boxes():
            return definitions_of(decision, "params"), BOXES
        case _:
            names = ("size", "x_zp", "y_zp", "x_mult", "y_mult", "consecutive", "limit")
            fields = {name: getattr(decision, name) for name in names}
            return [c_text.struct("tinyrt_anomaly_params", "params", fields)], ANOMALY


def measured(decisions: list[Decision], core: str, folder: Path) -> list[dict[int, int]]:
    """Hook -> instructions of a call: none or waiting, the most that is met; random data at 2."""
    parts, calls = [BEGIN], []
    for k, decision in enumerate(decisions):
        arrays = scores_of(decision, k)
        definitions, code = code_of(decision)
        made = [c_text.array("static const", "int8_t", n, a) for n, a in arrays.items()]
        names = [*arrays, "params", "anchors", "moves", "growths", "ignored"]
        parts.append(renamed("\n".join([*made, *definitions]), names, k))
        body = hooked(code.replace("NUMBER", str(k)), k)
        parts.append(f"static void decide_{k}(void) {{{body}}}\n")
        calls.append(f"    decide_{k}();")
    parts.append(invoking("\n".join(calls)))
    there = with_kernels(KERNELS, core, folder)
    counts = counted(there, "top_k", core, "\n".join(parts), folder)
    return [
        {i: counts[APART * k + i] for i in range(3) if APART * k + i in counts}
        for k in range(len(decisions))
    ]
