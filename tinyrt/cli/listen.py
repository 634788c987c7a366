"""The command ``front-end``, and what ``run`` says of a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from tinyrt.cli import tables
from tinyrt.cli.console import progress_bar, reporting
from tinyrt.cli.look import camera_facts, run_on_frames
from tinyrt.cli.options import Json, MaxMemory, TfliteOut
from tinyrt.errors import DataError
from tinyrt.sighted import Sighted

if TYPE_CHECKING:
    from tinyrt.api import Heard
    from tinyrt.attached import Fitted
    from tinyrt.dsp import Pipeline


def front_end(
    model: Annotated[Path, typer.Argument(help="A .tflite model.")],
    output: TfliteOut,
    options: Annotated[
        Path | None,
        typer.Argument(
            help="A .toml or .json file: log_mel or motion, scale, offset, stride, detector; or"
            " camera, scale, mean, boxes."
        ),
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take the front end off instead.")
    ] = False,
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Attach what makes features of sound or motion, or a camera.

    Decisions by its scores, or boxes, may follow.
    """
    from tinyrt import api

    with reporting(json, max_memory) as report:
        if remove != (options is None):
            raise DataError(
                "a front end is attached or taken off",
                expected="a file of options, or --remove",
                hint="tinyrt front-end MODEL.tflite OPTIONS.toml -o OUT.tflite",
            )
        fit = api.attach_front_end(model, options, output)
        data: dict[str, Any] = {"output": str(output), "bytes": output.stat().st_size}
        data |= front_end_data(fit)
        facts = {"output": str(output), "bytes": data["bytes"]}
        report(data, tables.facts(facts | ({} if fit is None else front_end_facts(fit))))


def front_end_data(fit: Fitted | Sighted | None) -> dict[str, Any]:
    """What ``--json`` says of a front end: of samples, or of frames."""
    if isinstance(fit, Sighted):
        return {"front_end": None, "vision": fit.vision.as_dict()}
    return {"front_end": None if fit is None else fit.pipeline.as_dict()}


def front_end_facts(fit: Fitted | Sighted) -> dict[str, object]:
    """What a table says of a front end."""
    if isinstance(fit, Sighted):
        return camera_facts(fit)
    front, pipeline = fit.pipeline.front, fit.pipeline
    ms = 1000 / front.sample_rate
    facts: dict[str, object] = {
        "front end": _features(pipeline),
        "  frame": f"{front.window} samples every {front.step}"
        f" ({front.window * ms:.4g} ms every {front.step * ms:.4g} ms)",
        "  input": f"{fit.rows} rows, then {fit.stride} new ones each"
        f" ({fit.stride * front.step * ms:.4g} ms)",
        "  feature": _scaling(pipeline),
    }
    if pipeline.normalize is not None:
        whose = "all features" if pipeline.normalize == "window" else "each feature"
        facts["  normal"] = f"256ths of deviations of {whose} in a window"
    if pipeline.detector is not None:
        d = pipeline.detector
        facts["  detector"] = (
            f"mean of {d.window} scores, at least {d.threshold}; then {d.hold} without"
        )
    if pipeline.anomaly is not None:
        a = pipeline.anomaly
        facts["  alarm"] = f"mean squared error above {a.threshold:.6g}, {a.consecutive} in a row"
    return facts


def _features(pipeline: Pipeline) -> str:
    """What features there are."""
    sound, motion = pipeline.log_mel, pipeline.motion
    if motion is not None:
        what = f"{motion.features} features of motion on {motion.axes} axes"
        return f"{what} at {motion.sample_rate:,} Hz"
    bands = f"{sound.bands} log-mel bands at {sound.sample_rate:,} Hz"
    more = f", {sound.coefficients} cepstral coefficients"
    return bands if sound.coefficients is None else bands + more


def _scaling(pipeline: Pipeline) -> str:
    """What the network takes of a feature."""
    if pipeline.is_each:
        return "each by a scale and an offset of its own"
    return f"{pipeline.scale:.6g} * (feature - {pipeline.offset})"


def run_on_audio(
    model: Path, audio: Path, output: Path | None, backend: str
) -> tuple[dict[str, Any], RenderableType]:
    """What a model answers to a recording or to frames, for ``--json`` and as a table.

    Outputs are written where asked.

    Raises:
        TinyrtError: as ``listen_model`` and ``look_model``, or the file cannot be written.

    """
    from tinyrt import api
    from tinyrt.attached import front_end_of
    from tinyrt.data import save_npz
    from tinyrt.dsp import Vision

    if isinstance(front_end_of(model), Vision):
        return run_on_frames(model, audio, output, backend)
    with progress_bar("listening") as progress:
        heard = api.listen_model(model, audio, backend=backend, progress=progress)
    own: dict[str, NDArray[Any]] = {"tinyrt.samples": heard.samples}
    for name in ("detected", "errors", "alarms"):
        if (found := getattr(heard, name)) is not None:
            own[f"tinyrt.{name}"] = found
    if output is not None:
        save_npz(output, {**heard.outputs, **own})
    shapes = {name: list(array.shape) for name, array in heard.outputs.items()}
    data: dict[str, Any] = {
        "output": None if output is None else str(output),
        "outputs": shapes,
        "backend": heard.backend,
        "seconds": [int(n) / heard.rate for n in heard.samples],
        "best": best_of(heard).tolist(),
        "detected": None if heard.detected is None else heard.detected.tolist(),
        "errors": None if heard.errors is None else heard.errors.tolist(),
        "alarms": None if heard.alarms is None else heard.alarms.tolist(),
    }
    facts = {"outputs": shapes, "backend": heard.backend}
    facts |= {} if output is None else {"output": str(output)}
    table = _table(heard) if heard.errors is None else _errors(heard, heard.errors)
    return data, Group(table, tables.facts(facts))


def _errors(heard: Heard, errors: NDArray[np.float64]) -> Table:
    """A line for each answer of an autoencoder."""
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("seconds", "error", "alarm"):
        table.add_column(column, justify="right")
    assert heard.alarms is not None
    for at, error, is_alarm in zip(heard.samples, errors, heard.alarms, strict=True):
        table.add_row(f"{at / heard.rate:.3f}", f"{error:.4g}", "alarm" if is_alarm else "")
    return table


def best_of(heard: Heard) -> NDArray[np.int64]:
    """The place of the greatest score of each answer, in the first output."""
    first = next(iter(heard.raw.values()))
    return np.array([scores.argmax() for scores in first], np.int64)


def _table(heard: Heard) -> Table:
    """A line for each answer."""
    table = Table(box=box.SIMPLE_HEAD)
    columns = ["seconds", "best", "score", *(["detected"] if heard.detected is not None else [])]
    for column in columns:
        table.add_column(column, justify="right")
    scores = next(iter(heard.outputs.values()))
    for i, best in enumerate(best_of(heard)):
        score = scores[i].reshape(-1)[best]
        row = [f"{heard.samples[i] / heard.rate:.3f}", str(best), f"{score:.4g}"]
        if heard.detected is not None:
            row.append(str(heard.detected[i]) if heard.detected[i] >= 0 else "")
        table.add_row(*row)
    return table
