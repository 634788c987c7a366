"""Spaces for raw samples and frames: front end, network and deployment are chosen together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tinyrt.dsp import Camera, LogMel, Motion
from tinyrt.dsp.pixels import FORMATS
from tinyrt.dsp.resizing import METHODS
from tinyrt.errors import DataError, ShapeError
from tinyrt.quantize.config import Preset, Scheme
from tinyrt.search.candidate import Candidate
from tinyrt.search.deployment import IN_INT8, Deployment
from tinyrt.search.problem import Problem
from tinyrt.search.spaces import QUAD, Rng, channels_of, dscnn, normed, trained
from tinyrt.train.nn import Flatten, Linear, Module, Sequential

if TYPE_CHECKING:
    from optuna.trial import BaseTrial

DEPLOYMENTS = {
    "int8": IN_INT8,
    "int8-untrained": Deployment(preset=Preset.BALANCED),
    "int4": Deployment(Scheme.INT4),
    "int16x8": Deployment(Scheme.INT16X8, preset=Preset.BEST),
}
"""Name -> deployment; ``int8-untrained`` is quantised after training, as by tinyrt quantize."""

OF_BYTES = {name: of for name, of in DEPLOYMENTS.items() if of.scheme is not Scheme.INT16X8}
"""Those whose input takes the bytes of an image."""

ROWS = {
    "held": Deployment(),
    "by-rows": Deployment(by_rows=True),
    "pushed": Deployment(input_rows=True),
}
"""Name -> what becomes of an image: whole, read by ops that run row by row, or never held."""

VIEWS = (1.0, 0.85, 0.7)
"""Shares of a frame's sides that are looked at, in its middle."""

LEAST_SIDE, MOST_SIDE = 8, 64
"""Pixels of an image's shorter side."""

LEAST_WINDOW = 16
"""Samples of a row of features."""

FRAMES_MS = (16, 32, 64)
"""Milliseconds of a frame of sound."""

LOWEST_HZ = 60
"""Where the bands of sound begin."""


def motion(trial: BaseTrial, problem: Problem, rng: Rng) -> Candidate:
    """Statistics and spectra of parts of a window, then dense layers."""
    if len(problem.input_shape) != 2:
        raise ShapeError(
            f"the space is for windows of motion, samples are {list(problem.input_shape)}",
            expected="(samples, axes), the integers that the sensor gives",
            hint="x of one axis is x[..., None]",
        )
    samples, axes = problem.input_shape
    most = max(1, min(4, samples // LEAST_WINDOW))
    window = samples // trial.suggest_int("parts", 1, most)
    front_end = _motion(trial, axes, _rate(problem), window)
    view = problem.behind(front_end)
    size, layers = int(np.prod(view.input_shape)), dict[str, Module](flat=Flatten())
    for i in range(trial.suggest_int("layers", 0, 2)):
        width = channels_of(trial, f"width{i}", 32)
        layers |= normed(f"dense{i}", Linear(size, width, rng=rng, bias=False), width)
        size = width
    layers["out"] = Linear(size, view.outputs, rng=rng)
    made = trained(trial, Sequential(**layers))
    return replace(made, front_end=front_end, deployment=_deployment(trial))


def sound(trial: BaseTrial, problem: Problem, rng: Rng) -> Candidate:
    """Mel bands or cepstra of frames, then the networks of ``dscnn``."""
    if len(problem.input_shape) != 1:
        raise ShapeError(
            f"the space is for windows of sound, samples are {list(problem.input_shape)}",
            expected="(samples,), 16-bit samples of one channel",
        )
    front_end = _log_mel(trial, _rate(problem), problem.input_shape[0])
    made = dscnn(trial, problem.behind(front_end), rng)
    deployment = replace(
        _deployment(trial), by_rows=trial.suggest_categorical("by_rows", [False, True])
    )
    return replace(made, front_end=front_end, deployment=deployment)


def camera(trial: BaseTrial, problem: Problem, rng: Rng) -> Candidate:
    """Images of a camera's frames, grey or in colours, then the networks of ``dscnn``."""
    front_end = _camera(trial, problem)
    made = dscnn(trial, problem.behind(front_end), rng)
    deployment = OF_BYTES[trial.suggest_categorical("deployment", list(OF_BYTES))]
    rows = ROWS[trial.suggest_categorical("image", list(ROWS))]
    deployment = replace(deployment, by_rows=rows.by_rows, input_rows=rows.input_rows)
    return replace(made, front_end=front_end, deployment=deployment)


def _camera(trial: BaseTrial, problem: Problem) -> Camera:
    """The middle of a frame, in its proportions."""
    frame = problem.frame
    assert problem.pixels is not None, "who has frames says how their pixels are stored"
    share = trial.suggest_categorical("view", list(VIEWS))
    height, width = (max(2, round(share * side)) for side in frame)
    crop = (frame[0] - height) // 2, (frame[1] - width) // 2, height, width
    shorter = min(height, width)
    # Whatever is looked at: a choice is from the same values in all trials.
    least, most = (min(limit, *frame) for limit in (LEAST_SIDE, MOST_SIDE))
    most -= (most - least) % QUAD
    side = min(trial.suggest_int("side", least, most, step=QUAD), shorter)
    has_colours = FORMATS[problem.pixels].nbytes > 1
    rows, columns = (round(length * side / shorter) for length in (height, width))
    return Camera(
        *(*frame, rows, columns),
        pixels=problem.pixels,
        channels=trial.suggest_categorical("channels", [1, 3] if has_colours else [1]),
        crop=None if share == 1 else crop,
        resize=trial.suggest_categorical("resize", list(METHODS)),
    )


def _motion(trial: BaseTrial, axes: int, rate: float, window: int) -> Motion:
    """Bands of about the same ratio, from the first frequency of the transform on."""
    plain = Motion(axes, rate, window, window, edges=(0, rate / 2))
    last = max(2, int(plain.fft_size / 2 * trial.suggest_categorical("top", [0.25, 0.5, 1.0])))
    bands = trial.suggest_int("bands", 1, 8)
    bins = np.unique(np.rint(np.geomspace(1, last, bands + 1)))
    # Between two frequencies of the transform, so that no rounding moves a band.
    edges = tuple(float(b - 0.5) * rate / plain.fft_size for b in bins)
    return replace(plain, edges=edges, peaks=trial.suggest_int("peaks", 0, 2))


def _log_mel(trial: BaseTrial, rate: float, samples: int) -> LogMel:
    """Frames without noise reduction, whose estimate would be of the window alone."""
    lengths = [ms for ms in FRAMES_MS if round(rate * ms / 1000) <= samples]
    frame = trial.suggest_categorical("frame_ms", lengths or list(FRAMES_MS[:1]))
    window = round(rate * frame / 1000)
    overlap = trial.suggest_categorical("overlap", [False, True])
    bands = trial.suggest_int("bands", 8, 40, step=8)
    has_cepstra = trial.suggest_categorical("cepstra", [False, True])
    return LogMel(
        sample_rate=round(rate),
        window=window,
        step=window // 2 if overlap else window,
        bands=bands,
        lower_hz=LOWEST_HZ,
        upper_hz=0.45 * rate,
        noise_reduction=None,
        pcan=None,
        coefficients=bands // 2 if has_cepstra else None,
    )


def _deployment(trial: BaseTrial) -> Deployment:
    return DEPLOYMENTS[trial.suggest_categorical("deployment", list(DEPLOYMENTS))]


def _rate(problem: Problem) -> float:
    if problem.rate is None:
        raise DataError(
            "the data do not say how many samples a second has",
            expected="'rate' beside 'x' and 'y'",
            hint="np.savez(FILE, x=x, y=y, rate=100)",
        )
    return problem.rate
