"""Inputs in every form that the Python interface takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.data import LABELS, load_inputs, load_npz
from tinyrt.errors import DataError, TinyrtError, error_context
from tinyrt.ir import Graph, Shape

Array = NDArray[Any]
Data = str | Path | Array | Mapping[str, Array]


def as_inputs(data: Data) -> dict[str, Array]:
    """Arrays by input name; a single array is called ``x``."""
    if isinstance(data, str | Path):
        return load_inputs(data)
    return dict(data) if isinstance(data, Mapping) else {"x": data}


def labels_of(data: Data) -> Array | None:
    """The class indices that a file of samples holds."""
    return load_npz(data).get(LABELS) if isinstance(data, str | Path) else None


def file_of(data: object) -> str | None:
    """The file that errors about these data should name."""
    return str(data) if isinstance(data, str | Path) else None


@contextmanager
def running(model: str | Path, data: object) -> Iterator[None]:
    """Where errors name the data's file if the data do not fit, else the model's."""
    try:
        yield
    except TinyrtError as error:
        with error_context(file=file_of(data) if isinstance(error, DataError) else str(model)):
            raise


def require_float(inputs: dict[str, Array]) -> dict[str, Array]:
    """The calibration inputs as they are: real values, or indices, which are int32 or wider.

    Raises:
        DataError: they are quantised, or no numbers.

    """
    for name, array in inputs.items():
        if array.dtype.kind != "f" and (array.dtype.kind != "i" or array.dtype.itemsize < 4):
            raise DataError(
                f"calibration input '{name}' has dtype {array.dtype}",
                expected="float values as the float model takes them",
                hint="dequantise the data: (x - zero_point) * scale",
            )
    return inputs


def layout_as(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Inputs as the converted model takes them: channels move last where only that fits."""
    if len(inputs) == 1 and len(graph.fed) == 1:
        inputs = {graph.fed[0]: next(iter(inputs.values()))} if set(inputs) == {"x"} else inputs
    return {
        name: _channels_last(array, graph.values[name].shape) if name in graph.inputs else array
        for name, array in inputs.items()
    }


def _channels_last(array: Array, shape: Shape) -> Array:
    if array.ndim == len(shape) > 2 and array.shape[1:] != shape[1:]:
        turned = np.moveaxis(array, 1, -1)
        if turned.shape[1:] == shape[1:]:
            return np.ascontiguousarray(turned)
    return array
