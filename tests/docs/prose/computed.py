"""Sentences of pages whose figures are constants of the code, or limits that tests hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.docs.pages import ROOT, rows_of

Sentences = Iterator[str]

TABLE = 1 << 8
"""A byte for each value of a byte."""


def percent(share: float) -> str:
    """As pages write it."""
    return f"{100 * share:.3g} %"


def audio() -> Sentences:
    from tinyrt.dsp.options import MAX_BYTES

    yield f"JSON in UTF-8, at most {MAX_BYTES >> 10} KiB"


def boards() -> Sentences:
    from tinyrt.api.validating import ANSWER_S
    from tinyrt.export.board import PAYLOAD_BYTES

    yield f"two frames of {PAYLOAD_BYTES} bytes"
    yield f"Payloads have {PAYLOAD_BYTES} bytes at most"
    yield f"within twice `--timeout`, which is {ANSWER_S:.0f} seconds"


def camera() -> Sentences:
    from tinyrt.dsp import Camera
    from tinyrt.dsp.costs import step_costs

    frame = Camera(height=120, width=160, rows=48, columns=64)
    pixel = sum(step_costs(frame, "cortex-m4").values()) / (120 * 160)
    yield f"they become one table of {TABLE} bytes"
    yield f"Each pixel of a frame costs {pixel:.0f} instructions on a Cortex-M7"


def cascades() -> Sentences:
    yield f"a table of {TABLE} bytes converts it"


def contributing_testing() -> Sentences:
    from tools.branches import LEAST

    yield f"where tests take less than {LEAST:.0f} % of a room's branches"


def add_an_op() -> Sentences:
    yield f"one table of {TABLE} bytes"


def debug() -> Sentences:
    from tinyrt.quantize.calibration.search import MAX_SAMPLES, MIN_SAMPLES
    from tinyrt.quantize.explain import bisect, causes

    yield f"its first {MIN_SAMPLES} to {MAX_SAMPLES} samples"
    yield f"leave the output within {causes.GOOD_DB:.0f} dB"
    yield f"within {percent(bisect.FLOAT_LOSS)} of the float model"
    yield f"else {bisect.GOOD_DB:.0f} dB"


def emulate() -> Sentences:
    from tinyrt.tools import EMULATOR_S, LIMIT_S

    yield f"may take {EMULATOR_S:.0f} seconds (`--timeout SECONDS`)"
    yield f"each call of a compiler {LIMIT_S / 60:.0f} minutes"


def export() -> Sentences:
    from tests.firmware.test_slices import LIMIT
    from tinyrt.export.info import MAX_LABEL_BYTES
    from tinyrt.memory.rows.costs import MAX_GROWTH

    yield f"as small as {MAX_GROWTH} % of instructions and code allow"
    yield f"slices of about {LIMIT:,} instructions at most"
    yield f"a table of {TABLE} bytes (uint8)"
    yield f"Text beyond {MAX_LABEL_BYTES >> 20} MiB in all is refused"


def kernels() -> Sentences:
    from tests.firmware.test_costs import TOLERANCE, VECTOR_TOLERANCE
    from tests.firmware.test_cut_channels import WEIGHTS

    yield f"formulas are right to {percent(TOLERANCE)} (most"
    yield f"holds it within {percent(VECTOR_TOLERANCE)}"
    (m0,) = (
        row
        for row in rows_of("benchmarks.md", "core | model")
        if row[:2] == ["cortex-m0", "mobilenet_vww"]
    )
    yield f"On the M0 its weights take {m0[7]} instead of 230,552 bytes"
    yield f"it has these channels no longer: at most {max(WEIGHTS.values()):,} bytes"


def motion() -> Sentences:
    from tinyrt.dsp.motion import MAX_WINDOW

    yield f"With at most {MAX_WINDOW:,} samples of 16 bits"
    table = {row[0]: row for row in rows_of("motion.md", "core | instructions | arena and state")}
    second = int(table["cortex-m0"][1].replace(",", "")) / 0.64
    yield f"a Cortex-M0 executes {round(second, -3):,.0f} instructions a second"


def quantize() -> Sentences:
    from tinyrt.quantize.calibration.search import MAX_SAMPLES
    from tinyrt.quantize.methods.chosen import FEWEST

    yield f"on up to {MAX_SAMPLES} samples"
    yield f"With fewer than {FEWEST} samples"


def run() -> Sentences:
    from tinyrt.budget import MAX_MEMORY, MEMORY_PER_BYTE
    from tinyrt.npz import MAX_UNPACKED, UNPACKED_PER_BYTE
    from tinyrt.tools import LIMIT_S, PROBE_S

    yield f"may be {MAX_UNPACKED >> 20} MiB and {UNPACKED_PER_BYTE} times its size"
    yield f"A compiler may take {LIMIT_S / 60:.0f} minutes"
    yield f"and {PROBE_S:.0f} seconds to say what it is"
    yield f"The budget is {MAX_MEMORY >> 20} MiB, and {MEMORY_PER_BYTE} times the size of the files"


def slices() -> Sentences:
    from tests.firmware.test_slices import LIMIT

    yield f"No slice takes more than about {LIMIT:,} instructions"


def dsp() -> Sentences:
    from tests.dsp import test_other_costs as others
    from tests.dsp import test_step_costs as steps
    from tinyrt.dsp import Detector, LogMel
    from tinyrt.dsp.cost_table import CONSTANTS, MET
    from tinyrt.dsp.costs import decision_costs

    *_, decoded, compared = CONSTANTS["cortex-m4"][MET]
    yield f"with one that is kept in {compared:.0f} instructions instead of 45"
    yield f"cores, {decoded:.0f} instructions: each number"
    front = LogMel()
    m4, m0 = (decision_costs(Detector(12), core) for core in ("cortex-m4", "cortex-m0"))
    yield f"takes {m4['waits']} to {m4['decides']} instructions on a Cortex-M4, {m0['waits']} to "
    yield f"a row of 12 classes takes {m4['waits']} to {m4['decides']} instructions, of the"
    yield f"A frame is a window of {front.window} samples ({front.window // 16} ms)"
    near = {name: percent(most) for name, most in others.BY_SAMPLES.items()}
    yield f"a frame is within {percent(steps.TOLERANCE)}"
    roots, window = (percent(steps.BY_SAMPLES[name]) for name in ("roots", "window"))
    yield f"{roots} and {window}"
    yield f"within {percent(others.TOLERANCE)}, or {others.FEW} instructions"
    yield f"roots {near['roots']}, logarithms {near['logarithm']}"
    yield f"bands and peaks {near['bands and peaks']}"
    yield f"means and deviations {percent(others.WINDOWS)}"
    yield f"tables on cores with vectors, {percent(others.GATHERED)}"


def learning() -> Sentences:
    from tests.dsp.test_learner_c import MOST
    from tests.dsp.test_nearest_mean import MOST as MEANS

    yield f"a step of 12 classes and 33 features takes less than {MOST['cortex-m4']:,} instructions"
    yield f"a step of 33 features takes about {MEANS['cortex-m4']:,} instructions"


def convert() -> Sentences:
    from tinyrt.ops.signal_fft import MAX_LENGTH

    yield f"to {MAX_LENGTH:,} samples"


def memory() -> Sentences:
    from tinyrt.memory.rows.costs import MAX_GROWTH

    yield f"costs at most {MAX_GROWTH} % more instructions and {MAX_GROWTH} % more code"
    yield f"costs {MAX_GROWTH} % of instructions and code, or else {MAX_GROWTH} % of instructions"


def rows() -> Sentences:
    from tinyrt.memory.rows.costs import MAX_GROWTH

    yield f"only if it costs at most {MAX_GROWTH} % of instructions and code"


def train() -> Sentences:
    from tinyrt.floatmath.buffers import MAX_BYTES, MIN_BYTES

    yield f"Results of {MIN_BYTES >> 10} KiB and more"
    yield f"At most {MAX_BYTES >> 20} MiB are kept"


def training_core() -> Sentences:
    """Lines of the files that the table names, and of the package's own, to the next hundred."""
    table = (cells for cells in rows_of("training_core.md", "read | to learn"))
    named = {name for row in table for name in re.findall(r"`([\w/]+)\.py`", row[0])}
    found = [_core_file(name) for name in named]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in found)
    yield f"{len(found)} files of `tinyrt/train` and its folder `core`, together under " + (
        f"{100 * (lines // 100 + 1):,} lines"
    )


def _core_file(name: str) -> Path:
    places = (ROOT / "tinyrt", ROOT / "tinyrt" / "train" / "core", ROOT / "tinyrt" / "train")
    return next(place / f"{name}.py" for place in places if (place / f"{name}.py").is_file())


def updates() -> Sentences:
    from tinyrt.export.blob.format import HEADER_BYTES

    yield f"and {HEADER_BYTES} bytes of header"


def search() -> Sentences:
    from tinyrt.dsp import Camera
    from tinyrt.dsp.costs import step_costs

    def thousands(rows: int, columns: int) -> str:
        cost = step_costs(Camera(48, 64, rows, columns), "cortex-m4")
        return f"{round(sum(cost.values()), -3):,}"

    yield (
        f"Of {48 * 64:,} pixels of RGB565 the camera makes 8 x 11 in {thousands(8, 11)} "
        f"instructions, 12 x 16 in {thousands(12, 16)} and 24 x 32 in {thousands(24, 32)}"
    )


PAGES: dict[str, Callable[[], Sentences]] = {
    "docs/audio.md": audio,
    "docs/boards.md": boards,
    "docs/camera.md": camera,
    "docs/cascades.md": cascades,
    "docs/contributing/add_an_op.md": add_an_op,
    "docs/contributing/testing.md": contributing_testing,
    "docs/convert.md": convert,
    "docs/debug.md": debug,
    "docs/dsp.md": dsp,
    "docs/emulate.md": emulate,
    "docs/export.md": export,
    "docs/kernels.md": kernels,
    "docs/learning.md": learning,
    "docs/memory.md": memory,
    "docs/motion.md": motion,
    "docs/quantize.md": quantize,
    "docs/run.md": run,
    "docs/search.md": search,
    "docs/slices.md": slices,
    "docs/train.md": train,
    "docs/training_core.md": training_core,
    "docs/updates.md": updates,
    "docs/decisions/rows.md": rows,
}
"""Page -> sentences, or parts of them, that it must have."""
