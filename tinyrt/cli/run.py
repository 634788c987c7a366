"""The commands that compute on this machine: ``run`` and ``eval``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from tinyrt.cli import tables
from tinyrt.cli.answers import answers
from tinyrt.cli.console import progress_bar, reporting
from tinyrt.cli.options import (
    AllowFallback,
    Backend,
    Json,
    MaxMemory,
    Model,
    Shapes,
    Values,
    parse_shapes,
    parse_values,
    require_without,
)
from tinyrt.cli.placement import Segments, placement
from tinyrt.cli.sharing import Scheduler, Workers
from tinyrt.data import save_npz
from tinyrt.errors import DataError
from tinyrt.interpreter import DEFAULT_BACKEND

LABELS_WANTED = "Class indices in an array 'y' beside 'x' are labels."


def run(
    model: Model,
    audio: Annotated[
        Path | None,
        typer.Argument(
            help="For a model with a front end: WAV, .npy or .csv of motion, .npy of frames, or a "
            "picture."
        ),
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option("-i", "--input", help=".npz with the inputs.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="The .npz file to write; without one, answers are printed."
        ),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            "--backend",
            help="What computes on the host: auto, cuda, native, numba or reference.",
            show_default="reference for little work on integers, else numba",
        ),
    ] = None,
    allow_fallback: AllowFallback = False,
    max_memory: MaxMemory = None,
    profile: Annotated[bool, typer.Option("--profile", help="Time every op, too.")] = False,
    json: Json = False,
) -> None:
    """Run a model: float in, float out; int8 in, raw int8 out."""
    from tinyrt import api

    with reporting(json, max_memory) as report:
        chosen, segments = backend, Segments()
        if backend is not None or allow_fallback or profile:
            chosen, segments = placement(model, backend or DEFAULT_BACKEND, allow_fallback)
        if audio is not None:
            require_without("--input", inputs, "a recording", there=True)
            require_without("--profile", profile or None, "a recording", there=True)
            from tinyrt.cli.listen import run_on_audio

            heard, renderable = run_on_audio(model, audio, output, chosen or DEFAULT_BACKEND)
            report(heard | segments.data, renderable)
            return
        if inputs is None:
            raise DataError(
                "there is nothing to run the model on",
                expected="--input FILE.npz, or a recording",
                hint="tinyrt run MODEL -i IN.npz, or tinyrt run MODEL RECORDING.wav",
            )
        with progress_bar("running") as progress:
            ran = api.run_with_backend(model, inputs, backend=chosen, progress=progress)
        shapes = {name: list(array.shape) for name, array in ran.outputs.items()}
        data: dict[str, object] = {} if output is None else {"output": str(output)}
        data |= {"outputs": shapes, "backend": ran.backend}
        parts: list[RenderableType] = [tables.facts(data | segments.facts)]
        data |= segments.data
        if output is not None:
            save_npz(output, ran.outputs)
        else:
            data["answers"] = {name: array.tolist() for name, array in ran.outputs.items()}
            parts += [answers(name, array) for name, array in ran.outputs.items()]
        if profile:
            times = api.profile_model(model, backend=chosen or DEFAULT_BACKEND)
            data["profile"] = [asdict(time) for time in times]
            parts.append(tables.profile(times))
        report(data, Group(*parts))


def evaluate(
    model: Model,
    data: Annotated[Path, typer.Option("-d", "--data", help=".npz with x and y.")],
    against: Annotated[
        Path | None, typer.Option("--against", help="A model to compare with.")
    ] = None,
    shape: Shapes = None,
    value: Values = None,
    backend: Backend = DEFAULT_BACKEND,
    allow_fallback: AllowFallback = False,
    workers: Workers = None,
    scheduler: Scheduler = None,
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
                shapes=parse_shapes(shape),
                values=parse_values(value),
                backend=backend,
                progress=progress,
                workers=workers or 1,
                scheduler=scheduler,
            )
        rows = {
            "samples": evaluation.samples,
            "correct": evaluation.correct,
            "top-1": tables.percent(evaluation.top1),
            "agreement": tables.percent(evaluation.agreement),
            "SQNR, dB": tables.decibels(evaluation.sqnr_db),
            "samples per second": evaluation.samples_per_second,
            "backend": evaluation.backend,
        }
        parts: list[RenderableType] = [tables.facts(rows | segments.facts)]
        if evaluation.top1 is None:
            parts.append(Text(f"  No accuracy: {data} has no labels. {LABELS_WANTED}"))
        if against is None and evaluation.top1 is None:
            parts.append(Text("  Nothing is compared: --against MODEL says how near another is."))
        report(asdict(evaluation) | segments.data, Group(*parts))
