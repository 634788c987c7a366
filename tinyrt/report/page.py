"""``tinyrt report``: one page of everything that is known of one or more models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tinyrt.api.inputs import Data
from tinyrt.entry import entry
from tinyrt.errors import DataError
from tinyrt.files import write_atomic
from tinyrt.interpreter.progress import Progress
from tinyrt.report.arena import draw_arena
from tinyrt.report.bars import draw_bars
from tinyrt.report.compare import compared
from tinyrt.report.errors_chart import draw_errors
from tinyrt.report.facts import CycleFacts, ModelFacts, Report
from tinyrt.report.gather import Asked, gather
from tinyrt.report.graph import draw_graph
from tinyrt.report.parts import fits
from tinyrt.report.rendering import cleaned, embedded, rendered

MAX_OPS = 2_000
"""Ops that the page lists; ``--json`` has all of them."""
MAX_BARS = 40
"""Ops whose costs are drawn as bars."""
MHZ = 100
"""The clock that the page begins with."""


@entry
def write_report(
    models: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    cores: Sequence[str] = ("cortex-m4",),
    optimize: str = "balanced",
    estimate: bool = False,
    cycles: bool = False,
    data: Data | None = None,
    against: str | Path | None = None,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Write a page that says what models cost and how good they are; see ``docs/report.md``.

    Args:
        models: .tflite files, quantised or float; all others are compared with the first.
        output: the .html file.
        cores: whose code is built and counted.
        optimize: what the code is made for: ``speed``, ``balanced`` or ``size``.
        estimate: whether costs are computed by formula, so that nothing is built.
        cycles: whether cycles are told, too, of each op as well; see ``docs/cycles.md``.
        data: an .npz file with ``x`` and, where there are labels, ``y``; or arrays.
        against: the float model that the others were made from, for the error of each layer; it
            takes data.
        max_memory: bytes that models and data may cost.
        progress: called with the steps done and their total.

    Returns:
        The data behind the page; in a notebook it shows the page.

    Raises:
        DataError: no model or core is given, one is given twice, the data do not fit, or a float
            model is given without data, or cycles of what is not built.
        UnsupportedError: cycles of a core are not known.
        ToolError: the cross-compiler or the emulator is missing or failed.
        OutputError: the file cannot be written.

    """
    if against is not None and data is None:
        raise DataError(
            f"{Path(against).name} is there to compare with, and there are no samples to do it on",
            expected="data beside it",
            hint="add data, or leave the float model out",
        )
    if cycles and estimate:
        raise DataError(
            "cycles are counted, and nothing is built for an estimate",
            expected="one of both",
            hint="leave the estimate out, or the cycles",
        )
    several = [models] if isinstance(models, str | Path) else list(models)
    asked = Asked(tuple(cores), optimize, estimate, cycles, data, against)
    report = gather(several, asked, progress)
    page = render_report(report)
    write_atomic(output, lambda file: file.write(page.encode()))
    return replace(report, page=page)


def render_report(report: Report) -> str:
    """The page as HTML without outside references."""
    shown = cleaned(report)
    return rendered(
        "report.html.j2",
        report=shown,
        mhz=MHZ,
        rows=compared(shown.models) if len(shown.models) > 1 else (),
        sections=[_section(model) for model in shown.models],
        range=_range,
        data=embedded([_details(model) for model in shown.models]),
    )


def _section(model: ModelFacts) -> dict[str, Any]:
    """What the templates need of a model, beside its facts."""
    order = sorted(range(len(model.ops)), key=lambda i: (-_cost(model, i), i))
    return {
        "model": model,
        "order": order[:MAX_OPS],
        "left_out": len(order[MAX_OPS:]),
        "bars": draw_bars(model, order[:MAX_BARS]),
        "more_bars": len(order[MAX_BARS:]),
        "rest": sum(model.cores[0].ops[i].instructions or 0 for i in order[MAX_BARS:]),
        "kinds": sorted({op.op for op in model.ops}),
        "graph": draw_graph(model),
        "arenas": [draw_arena(core.arena, len(model.ops)) for core in model.cores],
        "errors": None if model.errors is None else draw_errors(model.errors),
        "fits": fits(model.cores),
    }


def _cost(model: ModelFacts, index: int) -> int:
    """What the table of ops is sorted by: instructions on the first core, else products."""
    instructions = model.cores[0].ops[index].instructions
    return model.ops[index].macs if instructions is None else instructions


def _details(model: ModelFacts) -> list[dict[str, Any]]:
    """What the page's own dialogue says of each op."""
    return [
        {
            "title": f"{op.index} {op.op}",
            "name": op.name,
            "attributes": dict(op.attributes),
            "inputs": [_tensor(tensor) for tensor in op.inputs],
            "outputs": [_tensor(tensor) for tensor in op.outputs],
            "macs": op.macs,
            "cores": [
                {
                    "core": core.core,
                    "instructions": core.ops[i].instructions,
                    "cycles": _range(core.ops[i].cycles),
                    "baseline": core.ops[i].baseline,
                    "arena": core.ops[i].arena,
                    "kernel": core.ops[i].kernel or "",
                    "why": core.ops[i].why,
                }
                for core in model.cores
            ],
        }
        for i, op in enumerate(model.ops[:MAX_OPS])
    ]


def _range(cycles: CycleFacts | None) -> str:
    """A range of cycles as text; empty where they are not told."""
    if cycles is None:
        return ""
    ends = dict.fromkeys((cycles.low, cycles.high))
    return " to ".join(f"{end:,}" for end in ends)


def _tensor(tensor: Any) -> list[str]:
    """Name, type and quantisation of a tensor, as text."""
    shape = ",".join(map(str, tensor.shape))
    kind = f"{tensor.dtype}[{shape}]{', constant' if tensor.constant else ''}"
    if not tensor.scale_count:
        return [tensor.name, kind, ""]
    scale = f"{tensor.scale_count} scales" if tensor.scale_count > 1 else "scale"
    first = f"{tensor.scales[0]:.6g}{' and on' if tensor.scale_count > 1 else ''}"
    return [tensor.name, kind, f"{scale} {first}, zero point {tensor.zero_point}"]
