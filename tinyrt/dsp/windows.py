"""Front ends before a network: what it sees of windows of raw samples, or of frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tinyrt.dsp.camera import Camera
from tinyrt.dsp.cepstra import cepstra_of
from tinyrt.dsp.log_mel import LogMel
from tinyrt.dsp.motion import Motion
from tinyrt.dsp.motion_stream import MotionStream
from tinyrt.dsp.pipeline import Pipeline
from tinyrt.dsp.steps import bands_of, cleaned, spectra_of
from tinyrt.dsp.steps import features_of as logarithms_of
from tinyrt.dsp.tables import tables_of
from tinyrt.dsp.vision import Vision
from tinyrt.errors import DataError, ShapeError
from tinyrt.ir import Shape

Array = NDArray[Any]
FrontEnd = LogMel | Motion | Camera

LIMITS = np.iinfo(np.int16)

FRAMES_AT_ONCE = 4_096
"""Frames of sound that are in memory together."""


def shape_behind(front_end: FrontEnd, window: Shape) -> Shape:
    """What a network sees of a window of raw samples, or of a frame.

    Args:
        front_end: what makes features, or images.
        window: shape of a window: (samples, axes) of motion, (samples,) of sound; or of a frame as
            bytes, (height, line_bytes).

    Returns:
        Features of motion as a series (1, rows, features), which are no neighbours; those of sound
        as an image (rows, features, 1); the image of a camera (rows, columns, channels).

    Raises:
        ShapeError: the windows are of other axes, or too short for a row; or frames are of another
            size.

    """
    if isinstance(front_end, Camera):
        return _image_of(front_end, window)
    is_motion = isinstance(front_end, Motion)
    axes = (front_end.axes,) if isinstance(front_end, Motion) else ()
    if len(window) != 1 + is_motion or window[1:] != axes:
        raise ShapeError(
            f"windows of samples are {list(window)}",
            expected=f"(samples, {front_end.axes}), as the front end has axes"
            if isinstance(front_end, Motion)
            else "(samples,), as sound has one number at a time",
        )
    rows = front_end.frames(window[0])
    if not rows:
        raise ShapeError(
            f"windows have {window[0]} samples",
            expected=f"{front_end.window} at least, which the front end makes a row of",
        )
    return (1, rows, front_end.features) if is_motion else (rows, front_end.features, 1)


def _image_of(camera: Camera, frame: Shape) -> Shape:
    lines = camera.height, camera.line_bytes
    if frame != lines:
        raise ShapeError(
            f"frames are {list(frame)}",
            expected=f"{list(lines)}: lines, and bytes of {camera.width} pixels of {camera.pixels}",
        )
    return camera.rows, camera.columns, camera.channels


def raw_of(x: Array) -> NDArray[np.int16]:
    """Windows as the sensor gives them.

    Raises:
        DataError: they are no integers of 16 bits.

    """
    with np.errstate(invalid="ignore"):
        raw = x.astype(np.int16)
    if not np.array_equal(raw, x):
        raise DataError(
            f"samples from {x.min():g} to {x.max():g} are no integers of 16 bits",
            expected=f"whole numbers, {LIMITS.min} to {LIMITS.max}: front ends take what sensors "
            "give",
            hint="multiply real values by one scale and round; see docs/motion.md",
        )
    return raw


def features_of(front_end: FrontEnd, windows: Array) -> Array:
    """Features of windows, each from a new beginning: (n, rows, features), int16 or uint16.

    Images of frames: (n, rows, columns, channels), uint8.

    Args:
        front_end: what makes features, or images.
        windows: int16 (n, samples, ...); or frames, uint8 (n, height, line_bytes).

    """
    if isinstance(front_end, Camera):
        return np.stack([front_end.image(frame) for frame in windows])
    if isinstance(front_end, LogMel):
        at_once = max(1, FRAMES_AT_ONCE // front_end.frames(windows.shape[1]))
        parts = [windows[i : i + at_once] for i in range(0, len(windows), at_once)]
        return np.concatenate([_of_sound(front_end, part) for part in parts])
    count, samples, axes = windows.shape
    frames = front_end.frames(samples)
    starts = samples * np.arange(count)[:, None] + front_end.step * np.arange(frames)
    rows = MotionStream(front_end).rows_at(windows.reshape(-1, axes), starts.reshape(-1))
    return rows.reshape(count, frames, front_end.features)


def _of_sound(front: LogMel, windows: NDArray[np.int16]) -> Array:
    """Features of windows (n, samples) as ``LogMelStream`` has them, side by side."""
    tables = tables_of(front)
    frames = sliding_window_view(windows, front.window, axis=1)[:, :: front.step]
    made = spectra_of(front, tables, frames.reshape(-1, front.window))
    bands = bands_of(tables, made.spectra, made.shifts).reshape(*frames.shape[:2], front.bands)
    estimate = np.zeros((len(windows), front.bands), np.uint32)
    for i in range(frames.shape[1]):
        bands[:, i], estimate = cleaned(tables, bands[:, i], estimate)
    features = logarithms_of(front, bands)
    return features if tables.cepstra is None else cepstra_of(tables.cepstra, features)


def learnt(front_end: FrontEnd, rows: Array) -> Pipeline | Vision:
    """A front end whose features come out with a mean of 0 and a deviation of 1.

    All bytes of a camera's images have one mean and one scale, so that one table holds them.

    Args:
        front_end: what makes features, or images.
        rows: those of the samples to train on, (..., features), or (..., channels) of images.

    """
    if isinstance(front_end, Camera):
        return Vision(front_end, float(1 / max(rows.std(), 1)), float(rows.mean()))
    taught = rows.reshape(-1, front_end.features)
    offset = tuple(int(n) for n in np.rint(taught.mean(axis=0)))
    scale = tuple(float(s) for s in 1 / np.maximum(taught.std(axis=0), 1))
    if isinstance(front_end, LogMel):
        return Pipeline(front_end, scale, offset)
    return Pipeline(scale=scale, offset=offset, motion=front_end)
