"""Other values for the fields of a .tflite file's tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.values import Rng, number, real, shape, small, text


def other(value: Any, rng: Rng) -> Any:
    """Something of the same kind in place of the value."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return small(rng) if rng.random() < 0.5 else number(rng, value)
    if isinstance(value, float):
        return real(rng, value)
    if isinstance(value, bytes | str):
        return text(rng).encode("utf-8", "surrogatepass") if rng.random() < 0.9 else None
    if isinstance(value, np.ndarray | list):
        return other_vector(value, rng)
    return None if value is not None else value


def other_vector(values: Any, rng: Rng) -> Any:
    if len(values) and hasattr(values[0], "Pack"):
        values = list(values)
        i, j = int(rng.integers(len(values))), int(rng.integers(len(values)))
        kind = int(rng.integers(5))
        if kind == 0:
            del values[i]
        elif kind == 1:
            values.insert(j, values[i])
        elif kind == 2:
            values[i], values[j] = values[j], values[i]
        elif kind == 3:
            values[i] = values[j]
        else:
            values = values[:i]
        return values
    array = np.array(values)
    kind = int(rng.integers(6))
    if kind == 0 or not array.size:
        return None
    at = int(rng.integers(array.size))
    if kind == 1:
        return np.delete(array, at)
    if kind == 2:
        return np.insert(array, at, array[at])
    if kind == 3 and array.dtype.kind in "iu" and array.size < 4096:
        return np.array(shape(rng, array.tolist())).astype(array.dtype)
    with np.errstate(all="ignore"):
        new = real(rng, array[at]) if array.dtype.kind == "f" else _wrapped(rng, array, at)
        array[at] = np.array(new).astype(array.dtype)
    return array


def _wrapped(rng: Rng, array: np.ndarray, at: int) -> Any:
    """A hard number that the array's integers can hold."""
    wish = number(rng, int(array[at])) if rng.random() < 0.6 else small(rng)
    bits = 8 * array.dtype.itemsize
    wish %= 2**bits
    return wish - 2**bits if array.dtype.kind == "i" and wish >= 2 ** (bits - 1) else wish
