"""The commands. Each reads its arguments, calls ``tinyrt.api``, and reports."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType

from tinyrt import __version__
from tinyrt.cli import tables
from tinyrt.cli.bench import bench
from tinyrt.cli.console import noting, progress_bar, reporting
from tinyrt.cli.debug import debug
from tinyrt.cli.deploy import blob, export
from tinyrt.cli.emulate import emulate
from tinyrt.cli.options import (
    AllowFallback,
    Backend,
    ByRows,
    Core,
    Explain,
    InputRows,
    Json,
    MaxMemory,
    Model,
    SequenceLstm,
    Shapes,
    TfliteOut,
    Values,
    parse_bytes,
    parse_shapes,
    parse_stream,
    parse_values,
    require_with,
)
from tinyrt.cli.placement import placement
from tinyrt.cli.qat import qat
from tinyrt.cli.quantize import quantize
from tinyrt.cli.report import report
from tinyrt.cli.search import search
from tinyrt.cli.train import train
from tinyrt.interpreter import DEFAULT_BACKEND
from tinyrt.ir import DType, RewriteLog
from tinyrt.memory import require_budget

app = typer.Typer(
    name="tinyrt",
    help="From a trained model to a microcontroller program that answers what the host answers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"tinyrt {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that come before a command."""
    del version


@app.command()
def convert(
    model: Model,
    output: TfliteOut,
    shape: Shapes = None,
    value: Values = None,
    keep_layout: Annotated[
        bool, typer.Option("--keep-layout", help="Keep NCHW inputs and outputs.")
    ] = False,
    sequence_lstm: SequenceLstm = False,
    stream: Annotated[
        str | None,
        typer.Option(
            "--stream",
            metavar="[INPUT=]AXIS",
            help="Take only the newest rows along this axis; keep the others as state.",
        ),
    ] = None,
    hop: Annotated[
        int | None,
        typer.Option("--hop", help="With --stream: new rows per run.", show_default="1"),
    ] = None,
    passes: Annotated[str, typer.Option("--passes", help="Passes to run, with commas.")] = "",
    skip_pass: Annotated[
        list[str] | None, typer.Option("--skip-pass", help="Name of a pass to leave out.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", help="Write a float model in ops that this runtime has: tflm."),
    ] = None,
    explain: Explain = False,
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Convert a model to an optimised .tflite file."""
    from tinyrt import api

    with reporting(json, max_memory) as report:
        require_with("--hop", hop, "--stream", there=stream is not None)
        log = RewriteLog()
        with noting() as notes:
            graph = api.convert_model(
                model,
                output,
                shapes=parse_shapes(shape),
                values=parse_values(value),
                keep_layout=keep_layout,
                sequence_lstm=sequence_lstm,
                passes=[name.strip() for name in passes.split(",")] if passes else None,
                skip_passes=skip_pass or (),
                stream=None if stream is None else parse_stream(stream, 1 if hop is None else hop),
                target=target,
                log=log,
            )
        data = {
            "output": str(output),
            "bytes": output.stat().st_size,
            "ops": len(graph.nodes),
            "inputs": {name: list(graph.value(name).shape) for name in graph.fed},
            "outputs": {name: list(graph.value(name).shape) for name in graph.answers},
        }
        if graph.is_quantized:
            kinds = [graph.value(node.outputs[0]).dtype for node in graph.nodes]
            data["integer_ops"] = sum(kind in (DType.INT8, DType.INT16) for kind in kinds)
        if graph.states:
            data["state_bytes"] = sum(graph.value(name).nbytes for name, _ in graph.states)
        parts: list[RenderableType] = [tables.facts(data)]
        if explain:
            data |= tables.explained(log)
            parts.append(tables.passes(log))
        report(data | {"warnings": notes}, Group(*parts))


@app.command()
def run(
    model: Model,
    inputs: Annotated[Path, typer.Option("-i", "--input", help=".npz with the inputs.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The .npz file to write.")],
    backend: Backend = DEFAULT_BACKEND,
    allow_fallback: AllowFallback = False,
    max_memory: MaxMemory = None,
    profile: Annotated[bool, typer.Option("--profile", help="Time every op, too.")] = False,
    json: Json = False,
) -> None:
    """Run a model: float inputs give float outputs, int8 inputs raw int8 outputs."""
    from tinyrt import api
    from tinyrt.data import save_npz

    with reporting(json, max_memory) as report:
        backend, segments = placement(model, backend, allow_fallback)
        with progress_bar("running") as progress:
            ran = api.run_with_backend(model, inputs, backend=backend, progress=progress)
        save_npz(output, ran.outputs)
        shapes = {name: list(array.shape) for name, array in ran.outputs.items()}
        facts = {"output": str(output), "outputs": shapes, "backend": ran.backend}
        data = facts | segments.data
        if not profile:
            report(data, tables.facts(facts | segments.facts))
            return
        times = api.profile_model(model, backend=backend)
        renderable = Group(tables.facts(facts | segments.facts), tables.profile(times))
        report({**data, "profile": [asdict(time) for time in times]}, renderable)


@app.command("eval")
def evaluate(
    model: Model,
    data: Annotated[Path, typer.Option("-d", "--data", help=".npz with x and y.")],
    against: Annotated[
        Path | None, typer.Option("--against", help="A model to compare with.")
    ] = None,
    backend: Backend = DEFAULT_BACKEND,
    allow_fallback: AllowFallback = False,
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Accuracy on labelled data, and the distance from another model."""
    from tinyrt import api

    with reporting(json, max_memory) as report:
        backend, segments = placement(model, backend, allow_fallback)
        with progress_bar("evaluating") as progress:
            evaluation = api.evaluate(
                model,
                data,
                against=against,
                backend=backend,
                progress=progress,
            )
        rows = {
            "samples": evaluation.samples,
            "correct": evaluation.correct,
            "top-1": tables.percent(evaluation.top1),
            "agreement": tables.percent(evaluation.agreement),
            "SQNR, dB": evaluation.sqnr_db,
            "samples per second": evaluation.samples_per_second,
            "backend": evaluation.backend,
        }
        report(asdict(evaluation) | segments.data, tables.facts(rows | segments.facts))


@app.command()
def inspect(
    model: Model,
    shape: Shapes = None,
    value: Values = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the report as a page.")] = None,
    core: Core = "cortex-m4",
    by_rows: ByRows = False,
    input_rows: InputRows = False,
    backend: Annotated[
        str | None,
        typer.Option("--backend", help="Say which ops run on a GPU, too: cuda. Needs none."),
    ] = None,
    max_arena: Annotated[
        str | None,
        typer.Option("--max-arena", metavar="BYTES", help="Refuse a larger arena, e.g. 32k."),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--all", help="Show all ops and tensors of a large model, too.")
    ] = False,
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Ops, shapes, quantisation, cost, and the arena over time."""
    from tinyrt import api

    with reporting(json, max_memory) as report:
        inspection = api.inspect_model(
            model,
            shapes=parse_shapes(shape),
            values=parse_values(value),
            core=core,
            by_rows=by_rows,
            input_rows=input_rows,
            backend=backend,
        )
        if max_arena is not None:
            require_budget(inspection.graph, inspection.plan, parse_bytes(max_arena))
        if html is not None:
            from tinyrt.report import write_page

            write_page(inspection, html)
        data = {
            "ops": [{**asdict(op), "output_shape": list(op.output_shape)} for op in inspection.ops],
            "macs": inspection.macs,
            "weight_bytes": inspection.weight_bytes,
            "packed_bytes": inspection.packed_bytes,
            "arena_bytes": inspection.arena_bytes,
            "segments": [
                {"first": s.first, "last": s.stop - 1, "rows": {r.value: r.rows for r in s.images}}
                for s in inspection.plan.segments
            ],
            "arena_lower_bound": inspection.plan.lower_bound,
            "arena_optimal": inspection.plan.optimal,
            "advice": [asdict(advice) for advice in inspection.advice],
            "placement": [segment.as_dict() for segment in inspection.placement],
        }
        report(data, tables.inspection(inspection, whole))


@app.command()
def ops(json: Json = False) -> None:
    """Which op runs where, and for which dtypes."""
    from tinyrt.backends.support import support_rows

    with reporting(json) as report:
        rows = support_rows()
        report({"ops": rows}, tables.op_table(rows))


@app.command()
def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the artifacts go.")] = Path(
        "build/demo"
    ),
    seed: Annotated[int, typer.Option(help="Seed of data split and training.")] = 0,
    json: Json = False,
) -> None:
    """The whole way on handwritten digits: train, quantise, export, run in QEMU."""
    from tinyrt.cli.demo import run_demo

    with reporting(json) as report:
        result = run_demo(output, seed=seed)
        report(result.as_dict(), result.renderable())
    if not result.device.agrees:
        raise typer.Exit(1)


app.command()(quantize)
app.command()(debug)
app.command()(export)
app.command()(blob)
app.command()(emulate)
app.command()(bench)
app.command()(train)
app.command()(qat)
app.command()(search)
app.command()(report)
