"""The command ``convert``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group, RenderableType

from tinyrt.cli import tables
from tinyrt.cli.console import noting, reporting
from tinyrt.cli.options import (
    Explain,
    Json,
    MaxMemory,
    Model,
    SequenceLstm,
    Shapes,
    TfliteOut,
    Values,
    parse_shapes,
    parse_stream,
    parse_values,
    require_with,
)
from tinyrt.ir import DType, RewriteLog


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
