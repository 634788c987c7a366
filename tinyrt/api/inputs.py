"""Inputs in every form that the Python interface takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import current
from tinyrt.data import ArrayType, FromFile, InMemory, Source, load_inputs, load_labels
from tinyrt.errors import DataError, TinyrtError, error_context
from tinyrt.ir import Graph, Shape

Array = NDArray[Any]
Data = str | Path | Array | Mapping[str, Array]
Item = TypeVar("Item")


def as_inputs(data: Data) -> dict[str, Array]:
    """Arrays by input name; a single array is called ``x``."""
    if isinstance(data, str | Path):
        return load_inputs(data)
    arrays = data if isinstance(data, Mapping) else {"x": data}
    return {str(name): np.asarray(array) for name, array in arrays.items()}


def labels_of(data: Data) -> Array | None:
    """The class indices that a file of samples holds."""
    return load_labels(data) if isinstance(data, str | Path) else None


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


def require_float(graph: Graph, inputs: dict[str, Array]) -> dict[str, Array]:
    """The calibration inputs as they are: real values, or indices, which are int32 or wider.

    An input that is uint8 or truth values in the float model itself may be so.

    Raises:
        DataError: they are quantised, or no numbers.

    """
    for name, array in inputs.items():
        if name in graph.inputs and array.dtype == graph.value(name).dtype.numpy:
            continue
        if array.dtype.kind != "f" and (array.dtype.kind != "i" or array.dtype.itemsize < 4):
            raise DataError(
                f"calibration input '{name}' has dtype {array.dtype}",
                expected="float values as the float model takes them",
                hint="dequantise the data: (x - zero_point) * scale",
            )
    return inputs


def layout_as(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Inputs as the converted model takes them: channels move last where only that fits."""
    return {
        name: turned(array, graph.values[name].shape) if name in graph.inputs else array
        for name, array in _named(graph, inputs).items()
    }


def turned(array: Array, target: Shape) -> Array:
    """An array, its channels moved last where only that fits the shape."""
    if not _turns(array.shape, target):
        return array
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))


def source_of(graph: Graph, data: Data) -> Source:
    """The inputs, a piece at a time, as the converted model takes them.

    Args:
        graph: the model.
        data: a data file, or arrays.

    Raises:
        DataError: the data are a file that cannot be read, or holds no inputs.
        BudgetError: it is too large.

    """
    if isinstance(data, str | Path):
        return _LaidOut(graph, FromFile(data))
    arrays = as_inputs(data)
    current().allow_for(sum(array.nbytes for array in arrays.values()))
    return _LaidOut(graph, InMemory(arrays))


class _LaidOut:
    """A source as a model takes it."""

    def __init__(self, graph: Graph, source: Source) -> None:
        self._graph, self._source = graph, source

    @property
    def types(self) -> dict[str, ArrayType]:
        """Shapes and dtypes of the arrays, channels last."""
        types = _named(self._graph, self._source.types)
        for name, array_type in types.items():
            if name in self._graph.inputs and _turns(
                array_type.shape, self._graph.value(name).shape
            ):
                n, channels, *others = array_type.shape
                types[name] = ArrayType((n, *others, channels), array_type.dtype)
        return types

    def pieces(self, rows: Mapping[str, int]) -> Iterator[dict[str, Array]]:
        """The pieces, turned."""
        own = dict(zip(self._source.types, _named(self._graph, self._source.types), strict=True))
        for piece in self._source.pieces({name: rows[new] for name, new in own.items()}):
            yield layout_as(self._graph, piece)


def _named(graph: Graph, inputs: Mapping[str, Item]) -> dict[str, Item]:
    """The inputs by the model's own names: ``x`` stands for its only one."""
    if len(graph.fed) == 1 and set(inputs) == {"x"}:
        return {graph.fed[0]: inputs["x"]}
    return dict(inputs)


def _turns(shape: Shape, target: Shape) -> bool:
    """Whether samples fit only with their channels moved last."""
    if len(shape) != len(target) or shape[1:] == target[1:]:
        return False
    return (*shape[2:], shape[1]) == target[1:]
