"""Arrays that are fed to a model: checked against its inputs, and as the model stores them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.data import ArrayType
from tinyrt.errors import DataError, ShapeError
from tinyrt.ir import DType, Graph, Value
from tinyrt.ops.quantize import quantize_array
from tinyrt.ops.shared.batch import rebatch

Array = NDArray[Any]

SHOWN = 8
"""Names that a message lists."""


def named(graph: Graph, x: Array | Mapping[str, Array]) -> dict[str, Array]:
    """Inputs by the model's own names: a single array, or one called ``x``, is the only one."""
    arrays = x if isinstance(x, Mapping) else {graph.fed[0]: x}
    if len(graph.fed) == 1 and set(arrays) == {"x"}:
        arrays = {graph.fed[0]: arrays["x"]}
    return {name: np.asarray(array) for name, array in arrays.items()}


def rows_of(graph: Graph) -> dict[str, int]:
    """Rows of each input, by name, that belong together: 1 where samples are kept apart."""
    own = {name: (graph.value(name).shape or (1,))[0] for name in graph.fed}
    if set(own.values()) != {1}:
        try:
            rebatch(graph, 1)
        except ShapeError:
            return own
    return dict.fromkeys(own, 1)


def new_batch(graph: Graph, value: Value, size: Sequence[int], closed: bool) -> int:
    """The batch size of a model that one of its inputs is resized for.

    Args:
        graph: the model.
        value: what is resized.
        size: its new shape, which may differ in its first element only.
        closed: whether that one may not differ either.

    Raises:
        ShapeError: the input is a single number.
        DataError: another dimension changes, or a closed one does.

    """
    shape = tuple(int(n) for n in size)
    if not value.shape:
        raise ShapeError(
            "a single number has no batch axis",
            tensor=value.describe(),
            expected="an input (n, ...)",
        )
    if value.name not in graph.inputs or not shape or shape[1:] != value.shape[1:]:
        raise DataError(
            f"cannot resize to {list(shape)}",
            tensor=value.describe(),
            expected="a model input, and a change of its batch size only",
        )
    if closed and shape[0] != value.shape[0]:
        raise DataError(
            f"cannot resize to {list(shape)}: the batch size is fixed",
            tensor=value.describe(),
            expected=f"{value.shape[0]}: the file leaves no other open",
            hint="leave out strict=True",
        )
    return shape[0]


def whole_runs(value: Value, rows: int, together: int) -> int:
    """The number of runs in ``rows`` rows of an input; each run takes ``together`` rows.

    Raises:
        DataError: the last run is not whole.

    """
    runs, remainder = divmod(rows, together)
    if remainder or not runs:
        raise DataError(
            f"the data have {rows} rows",
            tensor=value.describe(),
            expected=f"{together} for each run, as the model mixes them",
            hint="pass whole runs, one behind the other along the first axis",
        )
    return runs


def check_types(graph: Graph, types: Mapping[str, ArrayType], rows: Mapping[str, int]) -> None:
    """Check names, shapes and dtypes of inputs against a model.

    Args:
        graph: the model.
        types: what is given, by name.
        rows: how many rows of each input belong together.

    Raises:
        DataError: they do not fit it.

    """
    expected = list(graph.fed)
    if set(types) != set(expected):
        raise DataError(
            f"inputs are named {_listed(types)}",
            expected=_listed(expected),
            hint="name the arrays as the model's inputs, or 'x' for its only input",
        )
    for name in expected:
        _check(graph.value(name), types[name])
    lengths = {n: types[n].shape[0] for n in expected}
    if len({length / rows[n] for n, length in lengths.items()}) != 1:
        raise DataError(
            f"inputs have different numbers of samples: {lengths}",
            expected=f"for each run as many rows as {rows}",
        )


def _check(value: Value, array_type: ArrayType) -> None:
    """Refuse an array whose shape or dtype does not fit the model's input."""
    dtypes = dict.fromkeys((value.dtype.value, *(["float32"] if _is_real(value) else [])))
    want = f"{' or '.join(dtypes)} ({', '.join(map(str, ['N', *value.shape[1:]]))})"
    shape, dtype = array_type.shape, array_type.dtype
    if shape[1:] != value.shape[1:] or not shape or not shape[0]:
        raise DataError(
            f"the data have shape {shape}",
            tensor=value.describe(),
            expected=want,
            hint="pass samples as the model takes them, stacked along a first axis",
        )
    as_real = _is_real(value) and dtype.kind == "f"
    narrowed = value.dtype is DType.INT32 and dtype == np.int64
    if not as_real and not narrowed and dtype != value.dtype.numpy:
        raise DataError(
            f"the data have dtype {dtype}",
            tensor=value.describe(),
            expected=want,
            hint=f"convert the array: x.astype('{next(reversed(dtypes))}')",
        )


def _is_real(value: Value) -> bool:
    return value.q is not None or value.dtype is DType.FLOAT32


def fitting(value: Value, array: Array, first: int) -> Array:
    """An array of a type that ``_check`` lets pass, in the dtype that is run or quantised.

    Raises:
        DataError: a value is not finite.

    """
    if array.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            array = array.astype(np.float32, copy=False)
        if not np.isfinite(array).all():
            bad = first + int(np.argmax(~np.isfinite(array).reshape(len(array), -1).all(axis=1)))
            raise DataError(
                f"the data hold NaN or infinity, or more than float32 holds, first in sample {bad}",
                tensor=value.describe(),
                expected="finite values",
                hint="look at how the features of that sample were computed",
            )
    if value.dtype is DType.INT32 and array.dtype == np.int64:
        small = np.iinfo(np.int32)
        return array.clip(small.min, small.max).astype(np.int32)
    return array


def stored(value: Value, array: Array) -> Array:
    """The array as the model stores it: floats quantised with the model's own parameters."""
    if value.q is not None and array.dtype.kind == "f":
        return quantize_array(array, np.float32(value.q.scale), value.q.zero_point, value.dtype)
    return array


def _listed(names: Collection[str]) -> str:
    quoted_names = [f"'{name[:60]}'" for name in names][:SHOWN]
    return ", ".join(quoted_names) + (
        f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    )
