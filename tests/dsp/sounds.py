"""Sounds for front ends: whole numbers from seeds, and recordings that Python brings along."""

from __future__ import annotations

import sysconfig
import wave
from pathlib import Path

import numpy as np

KINDS = ("noise", "silence", "full scale", "clicks", "tone", "quiet", "words")
LOWEST, HIGHEST = -(2**15), 2**15 - 1


def sound(kind: str, seed: int, samples: int) -> np.ndarray:
    """int16 (samples,), the same on every machine."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples)
    match kind:
        case "noise":
            x = rng.integers(LOWEST, HIGHEST + 1, samples) >> rng.integers(0, 15)
        case "silence":
            x = np.zeros(samples, np.int64)
        case "full scale":
            x = rng.choice([LOWEST, HIGHEST], samples)
        case "clicks":
            x = np.zeros(samples, np.int64)
            x[rng.integers(0, samples, 8)] = rng.choice([LOWEST, HIGHEST, -1, 1, 1000], 8)
        case "tone":  # of a triangle wave
            period = int(rng.integers(2, 200))
            ramp = np.abs(t * 2 * HIGHEST // period % (2 * HIGHEST) - HIGHEST)
            x = 2 * ramp - HIGHEST >> rng.integers(0, 12)
        case "quiet":
            x = rng.integers(-2, 3, samples)
        case _:  # tones and noise that come and go
            loud = np.abs(t * 7 % 16_000 - 8_000)
            x = (rng.integers(-900, 900, samples) + (t * 331 % 5_000) - 2_500) * loud // 8_000
    return x.astype(np.int16)


def mixed(seed: int, samples: int) -> np.ndarray:
    """One of the kinds, by its seed."""
    return sound(KINDS[seed % len(KINDS)], seed, samples)


def recordings() -> list[np.ndarray]:
    """Channels of 16-bit sound from the files of Python's own tests, where these are installed."""
    folder = Path(sysconfig.get_path("stdlib")) / "test"
    found = []
    for path in sorted(folder.rglob("*pcm16.wav")):
        with wave.open(str(path)) as file:
            frames = np.frombuffer(file.readframes(file.getnframes()), "<i2")
            found += [*frames.reshape(-1, file.getnchannels()).T.astype(np.int16)]
    return found
