"""Folders of WAV files as samples of one length, or as the features of a front end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tinyrt.datasets.dataset import Dataset, files_by_class, stacked
from tinyrt.dsp import LogMel, LogMelStream
from tinyrt.errors import DataError
from tinyrt.wav import read_wav

MOST_SECONDS = 600.0


def load_sounds(
    folder: str | Path,
    *,
    rate: int = 16_000,
    seconds: float = 1.0,
    front_end: LogMel | None = None,
) -> Dataset:
    """Sounds, whose folders are their classes.

    Of a longer sound the middle is taken; a shorter one has zeros on both sides.

    Args:
        folder: one folder of WAV files for each class, or files without classes.
        rate: samples in a second, which all files must have.
        seconds: length of a sample.
        front_end: what turns the sound into features; None for the sound itself.

    Returns:
        ``x`` of shape (n, samples), in [-1, 1), or (n, frames, bands), the front end's features.

    Raises:
        DataError: there are no such files, one has another rate, or as ``read_wav``.
        BudgetError: there is no room for all.

    """
    if rate < 1 or not 1 / rate <= seconds <= MOST_SECONDS:
        raise DataError(
            f"sounds of {seconds:g} seconds at {rate:,} Hz",
            expected=f"at least one sample, at most {MOST_SECONDS:g} seconds",
        )
    count = round(rate * seconds)
    if front_end is not None and front_end.frames(count) == 0:
        raise DataError(
            f"sounds of {count:,} samples, and a front end with a window of {front_end.window:,}",
            expected="a sound that is as long as a window, or longer",
        )
    if front_end is not None and front_end.sample_rate != rate:
        raise DataError(
            f"the front end is for {front_end.sample_rate:,} Hz, and the sounds have {rate:,}",
            expected="the same rate",
            hint=f"LogMel(sample_rate={rate})",
        )
    found = files_by_class(folder, (".wav",), "sounds")

    def read(file: Path) -> NDArray[np.float32]:
        sound = centred(recorded(file, rate), count)
        if front_end is None:
            return (sound / np.float32(1 << 15)).astype(np.float32)
        return LogMelStream(front_end).push(sound).astype(np.float32)

    shape = read(found.files[0]).shape
    x = stacked(found.files, shape, read)
    y = np.array(found.labels, np.int64) if found.classes else None
    return Dataset(x, y, found.classes, found.left_out)


def centred(sound: NDArray[np.int16], count: int) -> NDArray[np.int16]:
    """The middle of a sound, or the sound in the middle of zeros: (count,)."""
    if len(sound) >= count:
        start = (len(sound) - count) // 2
        return sound[start : start + count]
    before = (count - len(sound)) // 2
    return np.pad(sound, (before, count - len(sound) - before))


def recorded(file: Path, rate: int) -> NDArray[np.int16]:
    """The samples of a recording: (samples,).

    Raises:
        DataError: as ``read_wav``, or it has another rate.

    """
    sound = read_wav(file)
    if sound.rate != rate:
        raise DataError(
            f"the sound has {sound.rate:,} samples a second",
            file=str(file),
            expected=f"{rate:,}",
            hint=f"ffmpeg -i SOUND -ar {rate} SOUND.wav",
        )
    return sound.samples
