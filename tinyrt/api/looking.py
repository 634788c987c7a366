"""A model with a camera, at work on frames."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.api.carried import require_carried
from tinyrt.api.inputs import Array
from tinyrt.api.listening import tflite_graph
from tinyrt.budget import current
from tinyrt.data import load_npz
from tinyrt.datasets.images import ENDINGS, colours_of
from tinyrt.dsp import Camera, Found, Vision
from tinyrt.entry import entry
from tinyrt.errors import DataError, error_context
from tinyrt.interpreter import DEFAULT_BACKEND
from tinyrt.interpreter.model import Model
from tinyrt.interpreter.progress import Progress
from tinyrt.sighted import Sighted, sighted

FRAMES_AT_ONCE = 64
"""Images that are in memory together."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What a model answered to frames.

    Attributes:
        raw: output -> its answers as the model stores them, (frames, ...).
        outputs: the same as real values.
        boxes: what is found in each frame; None without boxes.
        backend: the backend that ran the model.

    """

    raw: dict[str, Array]
    outputs: dict[str, Array]
    boxes: tuple[Found, ...] | None
    backend: str


@entry
def look_model(
    model: str | Path,
    frames: str | Path | ArrayLike,
    *,
    backend: str = DEFAULT_BACKEND,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> Seen:
    """What a model with a camera answers to frames.

    Args:
        model: a .tflite file that carries a camera.
        frames: an .npy file, or an array: a frame as for ``Camera.lines_of``, or several of them
            along a first side. Or a picture in the size of a frame, which becomes what the sensor
            would send of it.
        backend: the interpreter's backend.
        max_memory: bytes that model and frames may cost; by default 640 MiB and 8 times the files
            that are read.
        progress: called with the answers given and their total.

    Raises:
        DataError: the model has no camera, or the frames are of another size or type.
        UnsupportedError: the camera does not fit the model.
        BudgetError: the model or the frames ask for more memory.

    """
    del max_memory  # taken by ``entry``
    vision = require_carried(model, Vision)
    graph = tflite_graph(model)
    x = frames_of(frames, vision.camera)
    with error_context(file=str(model)):
        fit = sighted(vision, graph)
        runner = Model(graph, backend=backend, file=str(model))
        raw = _answers(fit, runner, x, progress)
    boxes = None
    if vision.boxes is not None:
        boxes = tuple(fit.found({n: a[i] for n, a in raw.items()}) for i in range(len(x)))
    real = {name: runner.real(name, array) for name, array in raw.items()}
    return Seen(raw, real, boxes, runner.backend)


def frames_of(frames: str | Path | ArrayLike, camera: Camera) -> Array:
    """Frames as bytes, uint8 (frames, height, line_bytes).

    Raises:
        DataError: they cannot be read, there is none, or they are of another size or type.

    """
    if isinstance(frames, str | Path):
        ending = Path(frames).suffix.lower()
        if ending in ENDINGS:
            with error_context(file=str(frames)):
                return camera.frame_of(colours_of(Path(frames)))[None]
        if ending != ".npy":
            raise DataError(
                f"frames in a file called *{Path(frames).suffix}",
                file=str(frames),
                expected=f"an .npy file, or a picture: {' '.join(ENDINGS)}",
                hint="numpy.save(FILE, frames): bytes as the sensor sends them, or 16-bit pixels",
            )
        with error_context(file=str(frames)):
            return frames_of(load_npz(frames)["x"], camera)
    x = np.asarray(frames)
    is_one = x.shape[:1] == (camera.height,) and x.nbytes == camera.height * camera.line_bytes
    each = [x] if is_one or x.ndim < 2 or not len(x) else x
    current().reserve(len(each) * camera.height * camera.line_bytes, "all frames")
    return np.stack([camera.lines_of(frame) for frame in each])


def _answers(
    fit: Sighted, runner: Model, frames: Array, progress: Progress | None
) -> dict[str, Array]:
    """The raw answers to all frames, (frames, ...)."""
    parts: dict[str, list[Array]] = {name: [] for name in runner.graph.answers}
    values = {name: runner.graph.value(name) for name in parts}
    current().reserve(2 * len(frames) * sum(v.nbytes for v in values.values()), "all answers")
    for start in range(0, len(frames), FRAMES_AT_ONCE):
        images = [fit.stored(frame) for frame in frames[start : start + FRAMES_AT_ONCE]]
        raw = runner.run_raw({fit.input.name: np.concatenate(images)})
        for name, array in raw.items():
            shape = values[name].shape
            parts[name].append(array.reshape(len(images), *shape[shape[:1] == (1,) :]))
        if progress is not None:
            progress(start + len(images), len(frames))
    return {name: np.concatenate(parts[name]) for name in parts}
