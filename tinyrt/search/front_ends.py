"""Front ends before a network: the features of windows of raw samples, and their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.dsp import LogMel, LogMelStream, Motion, MotionStream
from tinyrt.errors import DataError, ShapeError
from tinyrt.ir import Shape

Array = NDArray[Any]
FrontEnd = LogMel | Motion

LIMITS = np.iinfo(np.int16)


def shape_behind(front_end: FrontEnd, window: Shape) -> Shape:
    """What a network sees of a window of raw samples.

    Args:
        front_end: what makes features.
        window: shape of a window: (samples, axes) of motion, (samples,) of sound.

    Returns:
        Features of motion as a series (1, rows, features), which are no neighbours; those of sound
        as an image (rows, features, 1).

    Raises:
        ShapeError: the windows are of other axes, or too short for a row.

    """
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


def features_of(front_end: FrontEnd, windows: NDArray[np.int16]) -> Array:
    """Features of windows, each from a new beginning: (n, rows, features), int16 or uint16."""
    if isinstance(front_end, LogMel):
        return np.stack([LogMelStream(front_end).push(window) for window in windows])
    count, samples, axes = windows.shape
    frames = front_end.frames(samples)
    starts = samples * np.arange(count)[:, None] + front_end.step * np.arange(frames)
    rows = MotionStream(front_end).rows_at(windows.reshape(-1, axes), starts.reshape(-1))
    return rows.reshape(count, frames, front_end.features)
