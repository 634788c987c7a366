"""The inputs of an ONNX model: which they are, and what becomes of dimensions left open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import ArrayLike

from tinyrt.convert.examples import example_size
from tinyrt.convert.onnx.quantized import MOVES, PLACES
from tinyrt.convert.onnx.weights import DTYPES, Array, element_type
from tinyrt.errors import DataError, ModelFormatError, ShapeError, UnsupportedError
from tinyrt.ir import DType, Shape, Value

Dim = int | str
"""A dimension: its size, or the symbol that stands for it."""

_TENSOR = onnx.TensorProto

QUANTIZED = frozenset({_TENSOR.INT8, _TENSOR.UINT8})
"""Element types of quantised inputs; those that a Cast reads, as an image's, are numbers."""

REALS = (_TENSOR.FLOAT, _TENSOR.DOUBLE, _TENSOR.FLOAT16, _TENSOR.BFLOAT16)
"""Element types of numbers, all of which are computed with as float32."""

INDICES = frozenset({_TENSOR.INT32, _TENSOR.INT64})
"""Element types of inputs that count: tokens, classes, places. All become int32."""

KINDS: dict[int, DType] = {
    **dict.fromkeys(REALS, DType.FLOAT32),
    **dict.fromkeys(QUANTIZED, DType.FLOAT32),
    **dict.fromkeys(INDICES, DType.INT32),
    _TENSOR.BOOL: DType.BOOL,
}
"""Element types of inputs -> what they are here."""

UNNAMED = frozenset({"", "?", "-1", "None"})
"""What exporters write for a dimension that they know nothing of: two of them are not the same."""


@dataclass(frozen=True, slots=True)
class _Input:
    """An input as the file describes it; ``dims`` is None where even the rank is open."""

    name: str
    dims: tuple[Dim, ...] | None
    kind: int

    @property
    def is_index(self) -> bool:
        return self.kind in INDICES

    def shown(self, i: int) -> str:
        """Dimension ``i``, as messages show it."""
        dim = (self.dims or ())[i]
        return "?" if dim == _unnamed(self.name, i) else str(dim)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a model takes.

    Attributes:
        values: inputs with their shapes.
        quantized: those that are quantised integers, and their element types.
        fixed: inputs that the user fixes, by name.

    """

    values: list[Value]
    quantized: dict[str, str]
    fixed: dict[str, Array]


def input_values(
    graph: onnx.GraphProto, shapes: Mapping[str, Shape], fixed: Mapping[str, ArrayLike]
) -> Inputs:
    """The model's inputs with their shapes; those that are fixed become constants.

    A symbolic first dimension is the batch and becomes 1, wherever its symbol occurs.

    Args:
        graph: the file's graph.
        shapes: input name -> shape, where the user gives one.
        fixed: input name -> its elements, or one number for all of them.

    Raises:
        ShapeError: a dimension is open, or a given shape contradicts the file.
        UnsupportedError: an input is no tensor, or has an element type that no input can have.
        DataError: a shape or value is given for an input that does not exist, a value does not
            fit, or no input is left.

    """
    constants = {tensor.name for tensor in graph.initializer}
    infos = [info for info in graph.input if info.name not in constants]
    inputs = [_described(info, info.name in fixed) for info in infos]
    twice = [name for name, count in Counter(i.name for i in inputs).items() if count > 1]
    if twice:
        raise ModelFormatError(f"two inputs are called '{twice[0]}'", hint="export the model again")
    _check_names(inputs, shapes, "shape")
    _check_names(inputs, fixed, "value")
    sizes: dict[str, int] = {}
    for entry in inputs:
        if entry.name in shapes:
            _bind_symbols(entry, shapes[entry.name], sizes)
    for entry in inputs:
        if entry.name not in shapes and entry.dims and isinstance(entry.dims[0], str):
            sizes.setdefault(entry.dims[0], 1)
    _check_open([i for i in inputs if i.name not in shapes], sizes)
    resolved = {i.name: shapes.get(i.name) or _resolved(i, sizes) for i in inputs}
    left = [i for i in inputs if i.name not in fixed]
    if fixed and not left:
        raise DataError(
            "all inputs are fixed: nothing is left to compute",
            expected="one input at least that is not",
            hint="leave one --value out",
        )
    numbers = {i.name for i in left if i.kind in QUANTIZED and _is_cast(graph, i.name)}
    kinds = {
        i.name: DType.of(np.dtype(DTYPES[i.kind])) if i.name in numbers else KINDS[i.kind]
        for i in left
    }
    return Inputs(
        [Value(i.name, kinds[i.name], resolved[i.name]) for i in left],
        {i.name: DTYPES[i.kind] for i in left if i.kind in QUANTIZED and i.name not in numbers},
        {i.name: _elements(i, resolved[i.name], fixed[i.name]) for i in inputs if i.name in fixed},
    )


def _is_cast(graph: onnx.GraphProto, name: str) -> bool:
    """Whether Cast is what reads an input, behind ops that only move it."""
    moved, casts = {name}, False
    for node in graph.node:
        if moved.isdisjoint(node.input):
            continue
        if node.op_type in MOVES:
            moved.update(node.output)
        elif node.op_type == "Cast":
            casts = True
        elif node.op_type not in PLACES:
            return False
    return casts


def _check_names(inputs: Iterable[_Input], given: Iterable[str], what: str) -> None:
    """Raise ``DataError`` where something is given for an input that does not exist."""
    unknown = sorted(set(given) - {i.name for i in inputs})
    if unknown:
        raise DataError(
            f"a {what} is given for '{unknown[0]}', which is no input",
            expected=", ".join(f"'{i.name}'" for i in inputs),
            hint=f"correct the name in --{what}",
        )


def _described(info: onnx.ValueInfoProto, is_fixed: bool) -> _Input:
    kind = info.type.tensor_type
    known = DTYPES if is_fixed else KINDS
    if kind.elem_type not in known:  # 0 of what is no tensor
        type_name = element_type(kind.elem_type) if kind.elem_type else "no tensor"
        raise UnsupportedError(
            f"the input '{info.name}' is {type_name}",
            expected="a tensor of numbers, INT32, INT64 or BOOL, or of INT8 or UINT8 that is "
            "dequantised or cast",
            hint="export the part of the model that computes on numbers",
        )
    if not info.name:
        raise ModelFormatError("an input has no name", hint="export the model again")
    if not kind.HasField("shape"):
        return _Input(info.name, None, kind.elem_type)
    dims = (
        int(d.dim_value)
        if d.dim_value > 0
        else _unnamed(info.name, i)
        if d.dim_param.strip() in UNNAMED
        else d.dim_param
        for i, d in enumerate(kind.shape.dim)
    )
    return _Input(info.name, tuple(dims), kind.elem_type)


def _unnamed(name: str, i: int) -> str:
    """The symbol of a dimension that has none in the file."""
    return f"{name}.dim{i}"


def _bind_symbols(entry: _Input, shape: Shape, sizes: dict[str, int]) -> None:
    """Bind the symbols of an input to the sizes of the shape that the user gives."""
    dims = entry.dims if entry.dims is not None else shape
    fits = len(dims) == len(shape) and all(size > 0 for size in shape)
    for dim, size in zip(dims, shape, strict=False):
        bound = sizes.setdefault(dim, size) if isinstance(dim, str) else dim
        fits = fits and bound == size
    if not fits:
        raise ShapeError(
            f"the shape {list(shape)} given for '{entry.name}' contradicts the model",
            expected=_text(entry),
            hint=f"{_other_batch(entry, shape)}such as --shape {_example(entry, {})}",
        )


def _other_batch(entry: _Input, shape: Shape) -> str:
    """What to do about a shape that contradicts the file, perhaps in its batch alone."""
    fixed = entry.dims or ()
    if len(fixed) == len(shape) and fixed[1:] == shape[1:] and isinstance(fixed[0], int):
        return (
            "export the model with that batch, or with an open one (in PyTorch: dynamic_axes or "
            "dynamic_shapes), for ops behind the input hold on to the file's; or give what fits, "
        )
    return "give a shape that fits, "


def _check_open(inputs: list[_Input], sizes: Mapping[str, int]) -> None:
    """Raise ``ShapeError`` where a dimension is open; what to give for all of them."""
    first, options, guessed = None, [], dict(sizes)
    for entry in inputs:
        if entry.dims is None or any(isinstance(d, str) and d not in guessed for d in entry.dims):
            options.append(f"--shape {_example(entry, guessed)}")
            first = first or entry
    if first is None:
        return
    hint = f"give it, with your numbers: {' '.join(options)}"
    if first.dims is None:
        raise ShapeError(f"the input '{first.name}' has no shape", hint=hint)
    places = [i for i, d in enumerate(first.dims) if isinstance(d, str) and d not in sizes]
    numbers = " and ".join(f"number {i} ('{first.shown(i)}')" for i in places)
    raise ShapeError(
        f"the input '{first.name}' has "
        f"{'an open dimension' if len(places) == 1 else 'open dimensions'}: {numbers}",
        tensor=_text(first),
        expected="a fixed size for every dimension but the first",
        hint=hint,
    )


def _resolved(entry: _Input, sizes: Mapping[str, int]) -> Shape:
    """The input's shape, all symbols replaced by their sizes."""
    return tuple(sizes[d] if isinstance(d, str) else d for d in entry.dims or ())


def _elements(entry: _Input, shape: Shape, given: ArrayLike) -> Array:
    """The elements that the user gives, in the input's own type and shape."""
    array, dtype = np.asarray(given), np.dtype(DTYPES[entry.kind])
    if array.dtype.kind not in "biuf":
        raise _misfit(entry, shape, f"is {array.dtype}")
    with np.errstate(all="ignore"):
        elements = array.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(elements, array):
        raise _misfit(entry, shape, f"is no {dtype}")
    if elements.size == int(np.prod(shape)):
        return elements.reshape(shape)
    if elements.size != 1:
        raise _misfit(entry, shape, f"has {elements.size} elements")
    return np.full(shape, elements.reshape(()))


def _misfit(entry: _Input, shape: Shape, what: str) -> DataError:
    return DataError(
        f"the value given for '{entry.name}' {what}",
        expected=f"{DTYPES[entry.kind]}{list(shape)}, or one number for all elements",
        hint=f"such as --value {entry.name}=1",
    )


def _text(entry: _Input) -> str:
    dims = "any shape"
    if entry.dims is not None:
        dims = ",".join(entry.shown(i) for i in range(len(entry.dims)))
    return f"'{entry.name}' {DTYPES[entry.kind]}[{dims}]"


def _example(entry: _Input, sizes: dict[str, int]) -> str:
    """``input=1,49,10,1``: the fixed sizes, and usual ones for the open dimensions.

    These are entered among the sizes: other inputs may share the symbol.
    """
    if entry.dims is None:
        return f"{entry.name}=" + ("1,128" if entry.is_index else "1,49,10,1")
    for i, dim in enumerate(entry.dims):
        if isinstance(dim, str) and dim not in sizes:
            place = (i, len(entry.dims))
            sizes[dim] = example_size(entry.shown(i), *place, is_index=entry.is_index)
    return f"{entry.name}={','.join(map(str, _resolved(entry, sizes)))}"
