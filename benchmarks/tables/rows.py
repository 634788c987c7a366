"""Ops that run row by row, and inferences cut into slices: docs/memory.md and docs/slices.md."""

from __future__ import annotations

import tempfile
from functools import cache

from benchmarks.mcu import MODELS
from benchmarks.tables.runs import (
    golden_run,
    instructions,
    markdown,
    more,
    path_of,
    percent,
)
from tinyrt.export import ExportOptions, export_c

M0, M4, M55, RV32 = "cortex-m0", "cortex-m4", "cortex-m55", "rv32imc"
BY_ROWS, INPUT_ROWS = ExportOptions(by_rows=True), ExportOptions(input_rows=True)
SLICES = ExportOptions(slices=50_000)
LARGE = ("resnet8", "dscnn_kws", "mobilenet_vww")
"""Models that rows make smaller."""


def small(max_arena: int, input_rows: bool = False) -> ExportOptions:
    """Rows in so many bytes."""
    return ExportOptions(max_arena=max_arena, input_rows=input_rows)


ON_M4 = (
    ("resnet8", BY_ROWS),
    ("resnet8", small(13_800)),
    ("resnet8", INPUT_ROWS),
    ("dscnn_kws", BY_ROWS),
    ("dscnn_kws", INPUT_ROWS),
    ("dscnn_kws", small(4_300)),
    ("mobilenet_vww", BY_ROWS),
    ("mobilenet_vww", INPUT_ROWS),
    ("mobilenet_vww", small(12_000, input_rows=True)),
    ("streaming_wakeword", BY_ROWS),
    ("autoencoder_ad", BY_ROWS),
)
ON_M55 = (
    ("resnet8", BY_ROWS),
    ("resnet8", INPUT_ROWS),
    ("mobilenet_vww", BY_ROWS),
    ("mobilenet_vww", INPUT_ROWS),
    ("dscnn_kws", BY_ROWS),
    ("dscnn_kws", small(8_500)),
    ("dscnn_kws", small(6_500)),
)


def rows() -> str:
    """Arena, instructions and code of rows on a Cortex-M4."""
    header = (
        *("model", "how", "arena, plain", "arena", "no placement below"),
        *("instructions", "code"),
    )
    return markdown(header, (_rows_on(M4, *one, bound=True) for one in ON_M4))


def rows_on_vectors() -> str:
    """The same on a Cortex-M55."""
    header = ("model", "how", "arena, plain", "arena", "instructions", "code")
    return markdown(header, (_rows_on(M55, *one, bound=False) for one in ON_M55))


def _rows_on(core: str, name: str, options: ExportOptions, bound: bool) -> list[object]:
    plain = golden_run(name, core)
    report = golden_run(name, core, options=options)
    least = [_no_placement_below(name, core, options)] if bound else []
    before = [name, how(options), plain.ram.arena]
    if report.ram.arena == plain.ram.arena:
        return [*before, "as plain", *least, "", ""]
    code = percent(report.flash.code, plain.flash.code)
    return [*before, report.ram.arena, *least, more(report, plain), code]


def how(options: ExportOptions) -> str:
    """What a user types for rows."""
    asked = ["--by-rows"] * options.by_rows + ["--input-rows"] * options.input_rows
    asked += [f"--max-arena {options.max_arena}"] * (options.max_arena is not None)
    return f"`{' '.join(asked)}`"


@cache
def _no_placement_below(name: str, core: str, options: ExportOptions) -> int:
    with tempfile.TemporaryDirectory() as folder:
        project = export_c(path_of(name), f"{folder}/project", core=core, options=options)
    return project.arena_lower_bound


def few_rows() -> str:
    """What kinds of layers of dscnn_kws take where few rows are computed at a time."""
    plain = golden_run("dscnn_kws", M55, profile=True)
    few = [golden_run("dscnn_kws", M55, options=small(n), profile=True) for n in (6_500, 8_500)]
    found = []
    for title, op, first in (
        ("pointwise convolutions", "conv2d", 1),
        ("depthwise convolutions", "depthwise_conv2d", 0),
        ("first convolution", "conv2d", 0),
    ):
        costs = []
        for report in (plain, *few):
            taken = [one.instructions for one in report.ops or () if one.op == op]
            costs.append(sum(taken[:1] if title.startswith("first") else taken[first:]))
        found.append([title, *(percent(cost, costs[0], 0) for cost in costs[1:])])
    return markdown(("layers", "two rows at a time", "four"), found)


def code_of_rows() -> str:
    """What rows add to the code on cores whose calls take more bytes."""
    header = ("model", "`--by-rows`, M0", "RV32IMC", "`--input-rows`, M0", "RV32IMC")
    return markdown(
        header,
        (
            [
                name,
                *(
                    percent(
                        golden_run(name, core, options=options).flash.code,
                        golden_run(name, core).flash.code,
                    )
                    for options in (BY_ROWS, INPUT_ROWS)
                    for core in (M0, RV32)
                ),
            ]
            for name in LARGE
        ),
    )


def slices() -> str:
    """What slices of 50,000 instructions are and cost on a Cortex-M4."""
    header = (
        *("model", "instructions", "slices", "the longest", "of `invoke` without slices"),
        "code bytes",
    )
    return markdown(header, (_slices_of(name) for name in sorted(MODELS)))


def _slices_of(name: str) -> list[object]:
    plain, report = golden_run(name, M4), golden_run(name, M4, options=SLICES)
    run = report.slices
    assert run is not None
    assert run.longest is not None
    code = report.flash.code - plain.flash.code
    return [
        *(name, instructions(report), run.plan.count, run.longest),
        *(more(report, plain, 2), f"{code:+,}"),
    ]


def slices_on_other_cores() -> str:
    """What they cost on other cores, and how long the longest is."""
    cores = {M0: "Cortex-M0", "cortex-m3": "Cortex-M3", M55: "Cortex-M55", RV32: "RV32IMC"}
    found = []
    for core, title in cores.items():
        reports = {name: golden_run(name, core, options=SLICES) for name in sorted(MODELS)}
        longest = max(r.slices.longest or 0 for r in reports.values() if r.slices)
        costs = (more(r, golden_run(name, core), 2) for name, r in reports.items())
        found.append([title, *costs, longest])
    return markdown(("core", *sorted(MODELS), "the longest"), found)


def blobs() -> str:
    """What a blob adds to each model."""
    found = []
    for name in sorted(MODELS):
        for core in (M0, M4, M55):
            plain = golden_run(name, core)
            blob = golden_run(name, core, options=ExportOptions(blob=True))
            counts = [instructions(plain), instructions(blob)]
            share = f"{100 * (counts[1] / counts[0] - 1):.3f} %"
            found.append([name, core, *counts, share, blob.ram.stack - plain.ram.stack])
    return markdown(("model", "core", "compiled in", "blob", "more", "stack"), found)
