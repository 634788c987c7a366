"""Changes of samples that keep their class, for ``fit(augment=...)``.

Each takes a batch, samples first, and a generator that all randomness comes from, and returns a new
batch. ``chain`` joins several.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tinyrt.errors import DataError
from tinyrt.ops.shared.spec import Array

Augment = Callable[[Array, np.random.Generator], Array]


def chain(*steps: Augment) -> Augment:
    """One after the other."""

    def all_of(x: Array, rng: np.random.Generator) -> Array:
        for step in steps:
            x = step(x, rng)
        return x

    return all_of


def flip_images(x: Array, rng: np.random.Generator, *, share: float = 0.5) -> Array:
    """Mirror a random share of the images, left and right: (n, h, w, c)."""
    _require_dims(x, 4, "images (n, h, w, c)")
    chosen = (rng.random(len(x)) < share)[:, None, None, None]
    return np.asarray(np.where(chosen, x[:, :, ::-1], x))


def change_contrast(
    x: Array, rng: np.random.Generator, *, contrast: float = 0.2, brightness: float = 0.1
) -> Array:
    """Spread the values of each sample around their mean, and move them.

    ``y = mean + a (x - mean) + b``, with ``a`` in [1 - contrast, 1 + contrast] and ``b`` in
    [-brightness, brightness], in the units of ``x``.
    """
    shape = (len(x), *[1] * (x.ndim - 1))
    mean = x.mean(axis=tuple(range(1, x.ndim)), keepdims=True)
    a = rng.uniform(1 - contrast, 1 + contrast, shape)
    b = rng.uniform(-brightness, brightness, shape)
    return np.asarray(mean + a * (x - mean) + b, x.dtype)


def erase_patch(
    x: Array, rng: np.random.Generator, *, size: int, fill: float = 0.0, share: float = 0.5
) -> Array:
    """Fill a square of each of a random share of the images (cutout: DeVries, Taylor 2017).

    The square's centre lies anywhere in the image, so that a part may lie outside.
    """
    _require_dims(x, 4, "images (n, h, w, c)")
    n, h, w, _ = x.shape
    top = rng.integers(0, h, (n, 1)) - size // 2
    left = rng.integers(0, w, (n, 1)) - size // 2
    chosen = rng.random((n, 1, 1)) < share
    rows, columns = np.arange(h), np.arange(w)
    inside_rows = (rows >= top) & (rows < top + size)
    inside_columns = (columns >= left) & (columns < left + size)
    patch = chosen & inside_rows[:, :, None] & inside_columns[:, None, :]
    return np.asarray(np.where(patch[..., None], np.asarray(fill, x.dtype), x))


def shift_time(x: Array, rng: np.random.Generator, *, steps: int, fill: float = 0.0) -> Array:
    """Move each sample by up to ``steps`` along time, the first dimension of a sample.

    What moves in is ``fill``.
    """
    _require_dims(x, 2, "samples (n, time, ...)")
    by = rng.integers(-steps, steps + 1, len(x))
    y = np.full_like(x, fill)
    length = x.shape[1]
    for i, d in enumerate(np.clip(by, -length, length)):
        y[i, max(d, 0) : length + min(d, 0)] = x[i, max(-d, 0) : length - max(d, 0)]
    return y


def add_noise(x: Array, rng: np.random.Generator, *, sigma: float) -> Array:
    """Normal noise of this standard deviation on every element."""
    return np.asarray(x + rng.normal(0, sigma, x.shape), x.dtype)


def mix_background(
    x: Array, rng: np.random.Generator, *, backgrounds: Array, gain: float = 0.3, share: float = 0.8
) -> Array:
    """Add to a random share of the samples a piece of a background, at up to ``gain``.

    Args:
        x: samples (n, time), sounds.
        rng: draws which pieces, and how loud.
        backgrounds: (m, longer), of which a piece as long as a sample is taken.
        gain: the greatest factor.
        share: of samples, as a fraction.

    Raises:
        DataError: a background is shorter than a sample.

    """
    _require_dims(x, 2, "sounds (n, time)")
    room = backgrounds.shape[1] - x.shape[1] if backgrounds.ndim == 2 else -1
    if room < 0:
        raise DataError(
            f"backgrounds {backgrounds.shape} for sounds {x.shape}",
            expected=f"(m, {x.shape[1]}) or longer ones",
        )
    n = len(x)
    which, start = rng.integers(0, len(backgrounds), n), rng.integers(0, room + 1, n)
    pieces = np.stack(
        [backgrounds[k, s : s + x.shape[1]] for k, s in zip(which, start, strict=True)]
    )
    loud = rng.uniform(0, gain, n) * (rng.random(n) < share)
    return np.asarray(x + loud[:, None] * pieces, x.dtype)


def mask_features(
    x: Array,
    rng: np.random.Generator,
    *,
    bands: int = 0,
    frames: int = 0,
    count: int = 2,
    fill: float = 0.0,
) -> Array:
    """Hide stripes of features (SpecAugment without warping: Park et al. 2019).

    Args:
        x: features (n, frames, bands) or (n, frames, bands, 1).
        rng: draws widths and places.
        bands: the widest stripe of bands; 0 for none.
        frames: the widest stripe of frames; 0 for none.
        count: stripes of each kind.
        fill: what stands there then.

    """
    if x.ndim not in (3, 4):
        _require_dims(x, 3, "features (n, frames, bands)")
    y = x.copy()
    for axis, most in ((1, frames), (2, bands)):
        length = x.shape[axis]
        places = np.arange(length)
        for _ in range(count if most else 0):
            width = rng.integers(0, min(most, length) + 1, len(x))
            start = (rng.random(len(x)) * (length - width + 1)).astype(np.int64)
            hidden = (places >= start[:, None]) & (places < (start + width)[:, None])
            shape = [len(x), *[1] * (x.ndim - 1)]
            shape[axis] = length
            y = np.where(hidden.reshape(shape), np.asarray(fill, x.dtype), y)
    return y


def scale_series(x: Array, rng: np.random.Generator, *, spread: float = 0.1) -> Array:
    """Scale each channel of each series (n, time, channels), by factors in 1 ± spread."""
    _require_dims(x, 3, "series (n, time, channels)")
    factors = rng.uniform(1 - spread, 1 + spread, (len(x), 1, x.shape[2]))
    return np.asarray(x * factors, x.dtype)


def warp_time(x: Array, rng: np.random.Generator, *, spread: float = 0.1) -> Array:
    """Play each series (n, time, ...) faster or slower by up to ``spread`` around its middle.

    Values between samples are interpolated linearly; beyond the ends the last one stays.
    """
    _require_dims(x, 2, "series (n, time, ...)")
    length = x.shape[1]
    middle = (length - 1) / 2
    speed = rng.uniform(1 - spread, 1 + spread, len(x))
    at = np.clip(middle + speed[:, None] * (np.arange(length) - middle), 0, length - 1)
    low = np.minimum(at.astype(np.int64), max(length - 2, 0))
    high = np.minimum(low + 1, length - 1)
    part = (at - low).reshape(*at.shape, *[1] * (x.ndim - 2))
    rows = np.arange(len(x))[:, None]
    return np.asarray(x[rows, low] * (1 - part) + x[rows, high] * part, x.dtype)


def _require_dims(x: Array, least: int, expected: str) -> None:
    exact = expected.count("...") == 0
    if x.ndim < least or (exact and x.ndim != least):
        raise DataError(f"samples of shape {x.shape}", expected=expected)
