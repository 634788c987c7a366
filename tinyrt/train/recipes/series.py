"""Time series that ship inside the package aeon, read without importing it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tinyrt.errors import ModelFormatError, ToolError, boundary
from tinyrt.train.core.function import Array
from tinyrt.train.core.module import Module
from tinyrt.train.data import Labels
from tinyrt.train.nn import BatchNorm, ReLU
from tinyrt.train.recipes.recipe import Dataset


def aeon_file(*parts: str) -> Path:
    """A data file of the package; only its files are used, so nothing it needs must be there.

    Raises:
        ToolError: the package is not installed, or has no such file.

    """
    hint = "pip install 'tinyrt[recipes]', or without aeon's own needs: pip install --no-deps aeon"
    spec = find_spec("aeon")
    if spec is None or not spec.submodule_search_locations:
        raise ToolError("the series come with aeon, which is not installed", hint=hint)
    path = Path(spec.submodule_search_locations[0], "datasets", "data", *parts)
    if not path.is_file():
        raise ToolError("the installed aeon lacks a data file", expected=str(path), hint=hint)
    return path


def read_ts(path: Path) -> tuple[list[Array], list[str]]:
    """The series of a ``.ts`` file, each (t, channels) and of a length of its own, and labels.

    After ``@data`` each line is a series: its channels parted by colons, each a list of numbers
    parted by commas; the last part is the label.

    Raises:
        ModelFormatError: the file is not of that form.

    """
    header, separator, data = path.read_text(encoding="utf-8").partition("@data")
    del header
    if not separator:
        raise ModelFormatError("no @data in the file", file=str(path), expected="a .ts file")
    series, labels = [], []
    with boundary(".ts file", file=str(path), corrupt=(ValueError,)):
        for line in data.split():
            *channels, label = line.split(":")
            rows = [np.asarray(channel.split(","), np.float32) for channel in channels]
            series.append(np.stack(rows, axis=1))
            labels.append(label)
    return series, labels


def padded(series: Sequence[Array], length: int) -> Array:
    """Series (t, channels) as images (n, 1, length, channels); what is missing is 0."""
    images = np.zeros((len(series), 1, length, series[0].shape[1]), np.float32)
    for image, values in zip(images, series, strict=True):
        count = min(length, len(values))
        image[0, :count] = values[:count]
    return images


def classes_of(labels: Sequence[str], names: Sequence[str]) -> Labels:
    """The position of each label among the sorted names."""
    order = {name: i for i, name in enumerate(names)}
    return np.asarray([order[label] for label in labels], np.int64)


def load_series(name: str, length: int) -> Dataset:
    """A classification problem of aeon with its own split, as images of height 1.

    Each channel is shifted and scaled by the training part's mean and deviation.

    Args:
        name: of the problem.
        length: steps per series; longer ones are cut, shorter ones end in zeros.

    Raises:
        ToolError: aeon is not installed.

    """
    parts = {part: read_ts(aeon_file(name, f"{name}_{part}.ts")) for part in ("TRAIN", "TEST")}
    names = sorted(set(parts["TRAIN"][1]))
    values = np.concatenate(parts["TRAIN"][0])
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    images, labels = {}, {}
    for part, (series, marks) in parts.items():
        images[part] = padded([(s - mean) / deviation for s in series], length)
        labels[part] = classes_of(marks, names)
    return Dataset(images["TRAIN"], labels["TRAIN"], images["TEST"], labels["TEST"])


def varied(x: Array, rng: np.random.Generator, *, scale: float, noise: float, steps: int) -> Array:
    """Series as they might also have been measured: stronger, noisier, later.

    Args:
        x: series, (n, 1, t, channels).
        rng: draws for each series on its own.
        scale: deviation of a factor on all of a series' values.
        noise: deviation of what is added to each value.
        steps: greatest shift in time, either way; what moves in is 0.

    """
    n, _, t, _ = x.shape
    factors = 1 + scale * rng.normal(size=(n, 1, 1, 1))
    moved = np.pad(x, ((0, 0), (0, 0), (steps, steps), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(moved, t, axis=2)  # (n, 1, shifts, c, t)
    chosen = windows[np.arange(n), :, rng.integers(0, 2 * steps + 1, n)]
    result = chosen.transpose(0, 1, 3, 2) * factors + noise * rng.normal(size=x.shape)
    return result.astype(np.float32)


def normed(name: str, layer: Module, channels: int) -> dict[str, Module]:
    """A layer without bias, its batch norm and ReLU, under names that begin alike."""
    return {name: layer, f"{name}_bn": BatchNorm(channels), f"{name}_relu": ReLU()}
