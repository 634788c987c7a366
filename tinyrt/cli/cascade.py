"""The command ``cascade``."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tinyrt.amounts import parse_bytes
from tinyrt.cli import tables
from tinyrt.cli.console import progress_bar, reporting
from tinyrt.cli.options import (
    Alignment,
    ByRows,
    Core,
    Json,
    Layout,
    MadeFor,
    MaxArena,
    MaxMemory,
    NoUnaligned,
    WeightsSection,
    require_without,
)

if TYPE_CHECKING:
    from tinyrt.api import CascadeEvaluation
    from tinyrt.dsp.cascade import Choice
    from tinyrt.emulate.cascade import CascadeRun


def cascade(
    first: Annotated[Path, typer.Argument(help="The small int8 .tflite, which answers first.")],
    second: Annotated[Path, typer.Argument(help="The large one, or the rest behind an exit.")],
    data: Annotated[
        Path, typer.Option("-d", "--data", help=".npz with x and y, to choose a threshold by.")
    ],
    test: Annotated[
        Path | None,
        typer.Option("--test", help=".npz with x and y, to judge it by; --data by default."),
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option("--accuracy", help="Least share right, 0 to 1; the large model's by default."),
    ] = None,
    exits: Annotated[
        float | None,
        typer.Option("--exits", help="Least share that the small model answers, 0 to 1."),
    ] = None,
    threshold: Annotated[
        int | None,
        typer.Option("--threshold", help="The least margin, 0 to 256, where none is chosen."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The folder to write a C project to.")
    ] = None,
    core: Core = "cortex-m4",
    optimize: MadeFor = "balanced",
    max_arena: MaxArena = None,
    by_rows: ByRows = False,
    alignment: Alignment = 4,
    weights_section: WeightsSection = None,
    name: Annotated[str, typer.Option("--name", help="What it is called in C.")] = "cascade",
    prefix: Annotated[
        str | None, typer.Option("--prefix", help="What stands before its name and its models'.")
    ] = None,
    info: Annotated[
        bool, typer.Option("--info", help="Bring tensors' names and labels along, of each model.")
    ] = False,
    no_unaligned: NoUnaligned = False,
    layout: Layout = "cmake",
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Ask a large model only where a small one is not sure."""
    from tinyrt import api
    from tinyrt.export import ExportOptions, Memories

    with reporting(json, max_memory) as report:
        chooses = threshold is None
        require_without("--accuracy", accuracy, "--threshold", there=not chooses)
        require_without("--exits", exits, "--threshold", there=not chooses)
        judged = test or data
        pair = api.Cascade(first, second)
        choice = pair.choose_threshold(data, accuracy=accuracy, exits=exits) if chooses else None
        pair.threshold = pair.threshold if threshold is None else threshold
        evaluation = pair.evaluate(judged)
        alone = api.Cascade(first, second).evaluate(judged)
        made: dict[str, Any] = {"core": core, "optimize": optimize}
        placed = ExportOptions(
            max_arena=None if max_arena is None else parse_bytes(max_arena),
            by_rows=by_rows,
            memories=Memories(alignment=alignment, weights_section=weights_section),
        )
        asked = replace(
            placed,
            name=name,
            prefix=prefix,
            info=info,
            unaligned=not no_unaligned,
            layout=layout,
        )
        exported = None if output is None else pair.export(output, **made, options=asked)
        with progress_bar("emulating") as progress:
            run = pair.emulate(judged, **made, options=placed, progress=progress)
        large = None
        if pair.joint.carried is None:
            large = api.run_emulated(second, **made, samples=1).instructions
        found = _figures(pair.threshold, choice, evaluation, alone, run, large)
        if exported is not None:
            found |= {"output": str(output), "identity": exported.project.identity}
        report(found, tables.facts(_rows(found)))
    if not run.emulation.agrees:
        raise typer.Exit(1)


def _figures(
    threshold: int,
    choice: Choice | None,
    evaluation: CascadeEvaluation,
    alone: CascadeEvaluation,
    run: CascadeRun,
    large: int | None,
) -> dict[str, Any]:
    """What a cascade does and costs, for ``--json``."""
    emulation, mean = run.emulation, run.mean_instructions
    return {
        "threshold": threshold,
        "chosen": None if choice is None else asdict(choice),
        **evaluation.as_dict(),
        "second_top1": alone.top1,
        "core": emulation.core,
        "board": emulation.board,
        "instructions": {
            "mean": mean,
            "first_answers": run.mean_of(0),
            "second_answers": run.mean_of(1),
            "second_alone": large,
        },
        "cost": None if large is None or mean is None else mean / large,
        "arena_bytes": emulation.ram.arena,
        "stack_bytes": emulation.ram.stack,
        "flash": {"code": emulation.flash.code, "weights": emulation.flash.weights},
        "bit_exact": emulation.bit_exact,
    }


def _rows(found: dict[str, Any]) -> dict[str, object]:
    """The same for people."""
    chosen, counts, flash = found["chosen"], found["instructions"], found["flash"]
    where = found["board"] or "this machine"
    of_choice = {
        "threshold": found["threshold"],
        "  chosen by samples": chosen["samples"] if chosen else None,
        "  accuracy on them": tables.percent(chosen["accuracy"] if chosen else None),
    }
    return of_choice | {
        "samples": found["samples"],
        "accuracy": tables.percent(found["top1"]),
        "  of the second model alone": tables.percent(found["second_top1"]),
        "answered by the first": tables.percent(found["exits"]),
        "core": f"{found['core']} ({where})",
        "bit-exact with the host": found["bit_exact"],
        "instructions, mean": _whole(counts["mean"]),
        "  where the first answers": _whole(counts["first_answers"]),
        "  where the second does": _whole(counts["second_answers"]),
        "  of the second alone": counts["second_alone"],
        "cost beside the second alone": tables.percent(found["cost"]),
        "flash, code bytes": flash["code"],
        "flash, weight bytes": flash["weights"],
        "RAM, arena bytes": found["arena_bytes"],
        "RAM, stack bytes": found["stack_bytes"],
        **({"written to": found["output"]} if "output" in found else {}),
    }


def _whole(mean: float | None) -> int | None:
    return None if mean is None else round(mean)
