"""Kernels on emulated cores: the tables of docs/kernels.md."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from benchmarks.cmsis_nn import has_twin
from benchmarks.kernels import FLOAT_LAYERS, LAYERS, measure, share_of_cmsis_nn
from benchmarks.mcu import MODELS
from benchmarks.narrow import narrow_twin
from benchmarks.sparse import PATTERNS, forms_of, patterns_of
from benchmarks.tables.runs import (
    golden_run,
    instructions,
    markdown,
    path_of,
    random_run,
    zoo,
)
from benchmarks.unsigned import UNSIGNED
from benchmarks.unsigned import measure as measure_unsigned
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import EmulationReport

M0, M3, M4, M55 = "cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55"
CORES = {M0: "M0", M3: "M3", M4: "M4", M55: "M55"}
FLOAT_CORES = {M4: "M4", "cortex-m7": "M7", "cortex-m33": "M33", M55: "M55"}
"""Cores with a unit for floats."""

RECURRENT = {
    "lstm_29_12_24": ("LSTM, 29 steps, 12 to 24", 619_096, 277_424),
    "lstm_28_28_20": ("LSTM, 28 steps, 28 to 20", 556_336, 248_432),
    "lstm_49_40_64": ("LSTM, 49 steps, 40 to 64", 4_259_204, 1_484_575),
    "lstm_1_128_128": ("LSTM, 1 step, 128 to 128", 318_363, 93_680),
    "lstm_49_257_80": ("LSTM, 49 steps, 257 to 80", 12_194_360, 3_597_334),
    "svdf_40_64_1_10_s16": ("SVDF, 40 to 64, memory 10, int16", 19_030, 8_043),
    "svdf_40_64_1_10_s8": ("the same, int8", 17_024, 6_365),
    "svdf_128_256_2_8_s16": ("SVDF, 128 to 128 of rank 2, memory 8, int16", 104_058, 43_867),
    "svdf_128_256_2_8_s8": ("the same, int8", 100_250, 33_737),
}
"""File -> what it is; instructions of CMSIS-NN's kernel on a Cortex-M4 and on a Cortex-M55, called
directly, with the compiler and the emulator that count tinyrt's."""

NARROW = (M4, M3, M55)
NARROW_LSTMS = ("lstm_29_12_24", "lstm_49_40_64", "lstm_49_257_80")
"""Cores and LSTMs of the table of four bits."""

ROW, PIXELS, IMAGE = (
    *("dense 640 to 128, one row", "1 x 1, 64 to 64, 125 pixels"),
    "3 x 3, 32 to 32, 256 pixels",
)
PRUNED = (
    *((ROW, pattern) for pattern in PATTERNS if pattern != "blocks, nine tenths"),
    *((PIXELS, pattern) for pattern in PATTERNS if "tenths" not in pattern),
    *((IMAGE, pattern) for pattern in ("blocks, half", "blocks, three quarters")),
)
"""Layers and patterns of zeros, of those that can be stored without."""

WIDE = ("conv 3 x 3, int16", "conv 1 x 1, int16", "depthwise 3 x 3, int16")
EXTREMA = tuple(name for name in LAYERS if name.startswith("arg_max"))


def tiles() -> str:
    """resnet8 by tiles: what a core gains for which weights."""
    header = ("core", "`size`", "`balanced`", "`speed`")
    return markdown(
        header,
        (
            [
                title,
                *(_cost_and_weights("resnet8", core, way) for way in ("size", "balanced", "speed")),
            ]
            for core, title in ((M4, "Cortex-M4"), (M3, "Cortex-M3"))
        ),
    )


def _cost_and_weights(name: str, core: str, optimize: str) -> str:
    report = golden_run(name, core, optimize)
    return f"{instructions(report):,}, {report.flash.weights:,} B"


def one_row() -> str:
    """A model whose features are one row."""
    file = zoo() / "models" / "public" / "openmv__micro_speech.tflite"
    found = []
    for core, title in CORES.items():
        report = random_run(file, core)
        found.append([title, instructions(report), report.ram.arena])
    return markdown(("core", "instructions", "arena, bytes"), found)


def modes() -> str:
    """What ``--optimize`` does on a Cortex-M4: instructions and bytes of code."""
    ways = ("speed", "balanced", "size")
    header = ("model", *(f"`{way}`" for way in ways))
    return markdown(
        header, ([name, *(_cost_and_code(name, way) for way in ways)] for name in MODELS)
    )


def _cost_and_code(name: str, optimize: str) -> str:
    report = golden_run(name, M4, optimize)
    return f"{instructions(report):,}, {report.flash.code:,} B"


def zeros() -> str:
    """Pruned layers stored without zeros, beside the dense form: instructions and flash."""
    found = []
    for layer, pattern in PRUNED:
        form = pattern if ":" in pattern else "blocks"
        cells = []
        for core in ("m0", "m3", "m4", "m55"):
            if pattern not in patterns_of(core):
                cells.append("")
                continue
            row = next(r for r in forms_of(zoo(), core, layer, pattern) if r["form"] == form)
            fast, least = "*" * row["fastest"], "*" * row["smallest"]
            cells.append(f"{row['instructions']:.2f}{fast} / {row['bytes']:.2f}{least}")
        found.append([layer, pattern, *cells])
    return markdown(("layer", "zeros", "M0", "M3", "M4", "M55"), found)


def narrow() -> str:
    """Weights of four bits beside int8."""
    found = []
    for name in MODELS:
        runs = ((golden_run(name, core), random_run(_twin(path_of(name)), core)) for core in NARROW)
        found.append([name, *_narrow_cells(runs)])
    for file in NARROW_LSTMS:
        path = zoo() / "models" / "kernels" / f"{file}.tflite"
        runs = ((random_run(path, core), random_run(_twin(path), core)) for core in NARROW)
        found.append([RECURRENT[file][0], *_narrow_cells(runs)])
    return markdown(("model", "weights", "instructions, M4", "M3", "M55"), found)


def _narrow_cells(runs: Iterable[tuple[EmulationReport, EmulationReport]]) -> list[str]:
    """Bytes of weights on the first core, and instructions, as multiples of the int8 twin's."""
    each = list(runs)
    wide, twin = each[0]
    ratios = (instructions(narrow) / instructions(plain) for plain, narrow in each)
    return [f"{ratio:.2f}" for ratio in (twin.flash.weights / wide.flash.weights, *ratios)]


@cache
def _twin(path: Path) -> Path:
    folder = Path(tempfile.mkdtemp())
    return save_tflite(narrow_twin(path), folder / path.name)


def recurrent() -> str:
    """LSTM and SVDF beside CMSIS-NN's."""
    found = []
    for file, (title, *peers) in RECURRENT.items():
        row: list[object] = [title]
        for core, peer in zip((M4, M55), peers, strict=True):
            count = instructions(random_run(zoo() / "models" / "kernels" / f"{file}.tflite", core))
            row += [count, f"{count / peer:.2f}"]
        found.append(row)
    return markdown(("op", "M4", "of CMSIS-NN", "M55", "of CMSIS-NN"), found)


def wide() -> str:
    """Activations of int16."""
    return _layers(WIDE)


def unsigned() -> str:
    """Weights on uint8 beside int8."""
    found = []
    for blob in (False, True):
        cores = [measure_unsigned(core, UNSIGNED, blob=blob) for core in (M0, M4, M55)]
        for rows in zip(*cores, strict=True):
            name = f"{rows[0]['layer']}{', blob' if blob else ''}"
            found.append([name, *(f"{row['uint8'] / row['int8']:.2f}" for row in rows)])
    return markdown(("layer", "M0", "M4", "M55"), found)


def extrema() -> str:
    """Places of extrema."""
    return _layers(EXTREMA)


def cases() -> str:
    """All other layers."""
    return _layers([name for name in LAYERS if name not in (*WIDE, *EXTREMA)])


def floats() -> str:
    """Layers on floats, on cores with a unit for these."""
    by_core = [{row["layer"]: row for row in measure(core, FLOAT_LAYERS)} for core in FLOAT_CORES]
    found = [
        [name.removesuffix(", float"), *(f"{rows[name]['each']:.2f}" for rows in by_core)]
        for name in FLOAT_LAYERS
    ]
    return markdown(("layer", *FLOAT_CORES.values()), found)


def beside() -> str:
    """Shares of what CMSIS-NN's functions take."""
    found: list[list[object]] = []
    for name, layer in LAYERS.items():
        if has_twin(layer):
            shares = [share_of_cmsis_nn(_measured(core)[name]) for core in (M4, M55)]
            found.append([name, *(f"{share:.2f}" for share in shares)])
    return markdown(("layer", "M4", "M55"), found)


def _layers(names: Sequence[str]) -> str:
    found = []
    for name in names:
        rows = [_measured(core)[name] for core in CORES]
        found.append([name, rows[0]["per"], *(f"{row['each']:.2f}" for row in rows)])
    return markdown(("layer", "per", *CORES.values()), found)


@cache
def _measured(core: str) -> dict[str, dict[str, object]]:
    """Layer -> its figures; all layers of a core are one boot."""
    return {str(row["layer"]): row for row in measure(core, LAYERS)}
