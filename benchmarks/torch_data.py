"""Seeded data for the accuracy table's networks: shape of one sample -> (count, *shape)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Samples = Callable[[int, np.random.Generator, tuple[int, ...]], np.ndarray]


def images(count: int, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Noise of 1/f amplitude, contrasts of many sizes, in [-1, 1]."""
    c, h, w = shape
    frequency = np.hypot(np.fft.fftfreq(h)[:, None], np.fft.fftfreq(w)[None, :])
    frequency[0, 0] = 1 / max(h, w)
    white = np.fft.fft2(rng.normal(size=(count, c, h, w)))
    noise = np.fft.ifft2(white / frequency).real
    noise = noise + noise.mean(axis=1, keepdims=True)
    noise = noise / np.abs(noise).max(axis=(1, 2, 3), keepdims=True)
    return noise * rng.uniform(0.3, 1, (count, 1, 1, 1))


def spectrograms(count: int, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Logarithms of decaying notes over a floor: mostly silence, (count, 1, frames, bands)."""
    _, frames, bands = shape
    power = rng.gamma(0.5, 1e-5, (count, frames, bands))
    for sample in power:
        for _ in range(rng.integers(0, 6)):
            start, band = rng.integers(frames), rng.integers(bands)
            decay = np.exp(-np.arange(frames - start) / rng.uniform(2, 12))
            shape_of_band = np.exp(-((np.arange(bands) - band) ** 2) / 2)
            sample[start:] += rng.lognormal(0, 1.5) * decay[:, None] * shape_of_band
    return np.log(power + 1e-6)[:, None]


def features(count: int, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Random walks along the longer dimension, of channels that differ in size."""
    time = int(np.argmax(shape)) + 1
    walk = np.cumsum(rng.normal(size=(count, *shape)), axis=time) / np.sqrt(max(shape))
    sizes = rng.lognormal(0, 0.7, min(shape))
    return walk * (sizes[:, None] if time == 2 else sizes)


def waves(count: int, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Bursts of harmonics between near silence, in [-1, 1]."""
    n = shape[-1]
    t, loud = np.arange(n), rng.random((count, 1, 1)) < 0.6
    pitch = rng.uniform(0.02, 0.2, (count, 1, 1))
    tone = sum(np.sin(pitch * k * t) / k for k in range(1, 6))
    envelope = np.clip(np.sin(t / rng.uniform(20, 120, (count, 1, 1))), 0, 1)
    gain = rng.uniform(0.05, 0.5, (count, 1, 1))
    return np.clip(loud * tone * envelope * gain + rng.normal(size=(count, *shape)) * 0.01, -1, 1)


def words(count: int, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of tokens, few of which are frequent."""
    return np.minimum(99, rng.exponential(20, (count, *shape))).astype(np.int64)
