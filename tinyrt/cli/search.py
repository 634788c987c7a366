"""The command ``search``: networks within a budget, none of which another beats in everything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinyrt.amounts import parse_bytes
from tinyrt.cli import tables
from tinyrt.cli.console import ERR, noting, progress_bar, reporting
from tinyrt.cli.options import Core, Json, MaxMemory
from tinyrt.cli.sharing import Scheduler
from tinyrt.errors import DataError

if TYPE_CHECKING:
    from tinyrt.api.fitting import DeviceBudget
    from tinyrt.search import SearchResult
    from tinyrt.search.store import Record

REASONS = 8
"""Trials that were refused or failed which are shown; --json has them all."""


def search(
    space: Annotated[
        str,
        typer.Argument(
            help="A space: cnn, dscnn, exits, mobilenet, resnet, tcn, transformer, autoencoder; "
            "motion or sound, for windows of raw samples; camera, for frames; or FILE.py:FUNCTION."
        ),
    ],
    data: Annotated[
        Path,
        typer.Option(
            "-d",
            "--data",
            help=".npz with x and y; without y, x is reproduced; rate, of samples; pixels, of "
            "frames.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where models, C code and the study go.")
    ],
    core: Core = "cortex-m4",
    max_arena: Annotated[
        str | None,
        typer.Option("--max-arena", metavar="BYTES", help="Arena on the core at most, e.g. 4k."),
    ] = None,
    max_flash: Annotated[
        str | None,
        typer.Option(
            "--max-flash", metavar="BYTES", help="Code and weights on the core at most, e.g. 32k."
        ),
    ] = None,
    max_instructions: Annotated[
        str | None,
        typer.Option(
            "--max-instructions",
            metavar="NUMBER",
            help="Instructions per inference at most, e.g. 500000 or 2M.",
        ),
    ] = None,
    max_cycles: Annotated[
        str | None,
        typer.Option(
            "--max-cycles",
            metavar="NUMBER",
            help="Cycles per inference at most, without wait states, e.g. 2M.",
        ),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            metavar="COST",
            help="Trade arena, flash, instructions or cycles for quality. May be repeated.",
            show_default="what is limited",
        ),
    ] = None,
    trials: Annotated[int, typer.Option(help="Candidates in all.", min=1)] = 100,
    epochs: Annotated[
        int, typer.Option(help="Passes over the data for the best candidates.", min=1)
    ] = 30,
    validation: Annotated[
        float, typer.Option(help="Share of the samples that candidates are judged by.")
    ] = 0.2,
    folds: Annotated[
        int,
        typer.Option(
            help="Judge the best by so many parts of the samples, each held out once; then train "
            "them on all samples.",
            min=1,
        ),
    ] = 1,
    share: Annotated[
        int,
        typer.Option(
            help="Train weights that all networks share for so many passes over the data, and "
            "choose by them whom to train on; 0 does not.",
            min=0,
        ),
    ] = 0,
    scouts: Annotated[
        int, typer.Option(help="Candidates that shared weights judge before the trials.", min=1)
    ] = 300,
    seed: Annotated[int, typer.Option(help="Seed of all that is drawn.", min=0)] = 0,
    study: Annotated[
        Path | None,
        typer.Option(
            "--study", help="The file of the study.", show_default="study.log in the folder"
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the study in the file.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            help="Processes on this machine.",
            show_default="one for each processor",
        ),
    ] = None,
    scheduler: Scheduler = None,
    teacher: Annotated[
        Path | None,
        typer.Option(
            "--teacher",
            help=".tflite or .onnx model of the same classes, whose answers candidates learn from; "
            "its file may carry a front end.",
        ),
    ] = None,
    begin_with: Annotated[
        Path | None,
        typer.Option(
            "--begin-with",
            help="JSON list of the first trials' choices, or front.json of an earlier search.",
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            "--test", help=".npz of samples that are not in the data: the front is judged by them."
        ),
    ] = None,
    emulate: Annotated[
        int,
        typer.Option(
            "--emulate", help="Samples that the front's models answer on the emulated core.", min=0
        ),
    ] = 0,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write a page: the front, and which choices matter."),
    ] = None,
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Search for networks that fit a core.

    What does not fit is never trained.
    """
    with reporting(json, max_memory) as report:
        from tinyrt.search import SearchSetting, search_networks
        from tinyrt.search.standing import Standing

        setting = SearchSetting(
            budget=search_budget(core, max_arena, max_flash, max_instructions, max_cycles),
            trials=trials,
            objectives=tuple(objective or ()),
            epochs=epochs,
            seed=seed,
            folds=folds,
            share=share,
            scouts=scouts,
        )
        standing = Standing(setting.budget.limits)

        def told(done: int, total: int, record: Record) -> None:
            standing.add(record)
            advance(done, total, standing.line())

        with noting() as notes, progress_bar("trials") as advance:
            result = search_networks(
                space,
                data,
                output,
                setting,
                validation=validation,
                study=study,
                resume=resume,
                workers=workers,
                scheduler=scheduler,
                teacher=teacher,
                begin=begin_with or (),
                test=test,
                emulate=emulate,
                on_trial=told,
                on_dashboard=lambda address: ERR.print(f"dashboard: {address}", soft_wrap=True),
            )
        if html is not None:
            from tinyrt.report.search_page import write_search_page

            write_search_page(result.as_dict(), html)
        report({**result.as_dict(), "warnings": notes}, shown(result))
    if not result.front or not result.agrees:
        raise typer.Exit(1)


def search_budget(
    core: str,
    arena: str | None,
    flash: str | None,
    instructions: str | None,
    cycles: str | None,
) -> DeviceBudget:
    """The limits from the options.

    Raises:
        DataError: there are none, or one is no number.

    """
    from tinyrt.api.fitting import DeviceBudget

    return DeviceBudget(
        core,
        arena=None if arena is None else parse_bytes(arena),
        flash=None if flash is None else parse_bytes(flash),
        instructions=None if instructions is None else parse_count(instructions),
        cycles=None if cycles is None else parse_count(cycles, "cycles"),
    )


def parse_count(option: str, what: str = "instructions") -> int:
    """``2M`` -> 2,000,000; ``k`` and ``M`` are thousands and millions.

    Raises:
        DataError: it is no number.

    """
    digits, factor = option, 1
    for letter, value in (("k", 1_000), ("M", 1_000_000)):
        if option.endswith(letter):
            digits, factor = option.removesuffix(letter), value
    try:
        return round(float(digits) * factor)
    except (ValueError, OverflowError):
        raise DataError(
            f"'{option}' is no number of {what}",
            expected="a number, with k for thousands or M for millions",
            hint=f"--max-{what} 2M",
        ) from None


def shown(result: SearchResult) -> RenderableType:
    """The front as a table, how trials ended, and why some were refused."""
    table = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    names = ["arena", "flash", "instructions"]
    names += ["cycles"] if any("cycles" in point.costs for point in result.front) else []
    judged = ["accuracy", "loss"] if result.measure == "accuracy" else [result.measure]
    columns = ["trial", *judged, *names]
    if result.looks:
        columns.append("test")
    if any(point.emulated for point in result.front):
        columns.append("emulated")
    for column in columns:
        table.add_column(column, justify="right")
    for point in result.front:
        costs = [tables.number(point.costs.get(name)) for name in names]
        checked = [_score(point.test, result.measure)] if result.looks else []
        if point.emulated:
            says = "exact" if point.emulated.agrees else "DIFFERS"
            checked.append(f"{says} ({tables.number(point.emulated.samples)})")
        loss = "-" if point.loss is None else f"{point.loss:.4f}"
        found = [_score(point.score, result.measure), loss][: len(judged)]
        table.add_row(str(point.trial), *found, *costs, *checked)
    facts = {"trials": len(result.records), **result.ends, "study": str(result.study)}
    if result.scout_ends:
        told = [f"{count} {end}" for end, count in result.scout_ends.items() if count]
        facts["scouts"] = ", ".join(told)
    if result.looks:
        facts["looks at the test"] = result.looks
    if result.front:
        facts["models and C code"] = str(result.front[0].model.parents[1])
    if result.refused_early is not None:
        facts["of misfits, refused before training"] = tables.percent(result.refused_early)
    others = [
        f"  trial {number} {record.end.value} ({record.stage}): {record.reason.splitlines()[0]}"
        for number, record in sorted(result.records.items(), reverse=True)
        if record.end.value in ("failed", "misfit", "refused")
    ]
    others.sort(key=lambda line: "refused" in line.split("(")[0])
    return Group(table, tables.facts(facts), *map(Text, others[:REASONS]))


def _score(score: float | None, measure: str) -> str:
    if score is None:
        return ""
    return tables.percent(score) if measure == "accuracy" else f"{-score:.4g}"
