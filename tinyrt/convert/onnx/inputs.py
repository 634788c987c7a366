"""The inputs of an ONNX model: which they are, and what becomes of dimensions left open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import onnx

from tinyrt.convert.onnx.weights import element_type
from tinyrt.errors import DataError, ModelFormatError, ShapeError, UnsupportedError
from tinyrt.ir import DType, Shape, Value

Dim = int | str
"""A dimension: its size, or the symbol that stands for it."""


@dataclass(frozen=True, slots=True)
class _Input:
    """An input as the file describes it; ``dims`` is None where even the rank is open."""

    name: str
    dims: tuple[Dim, ...] | None
    dtype: DType = DType.FLOAT32
    is_quantized: bool = False


QUANTIZED = frozenset({onnx.TensorProto.INT8, onnx.TensorProto.UINT8})
"""Element types of quantised inputs."""

REALS = frozenset({"FLOAT16", "BFLOAT16", "DOUBLE"})
"""Element types of models that can be exported in float32 instead."""

INDICES = frozenset({onnx.TensorProto.INT32, onnx.TensorProto.INT64})
"""Element types of inputs that count: tokens, classes, places. All become int32."""


def input_values(graph: onnx.GraphProto, shapes: Mapping[str, Shape]) -> list[tuple[Value, bool]]:
    """The model's inputs with their shapes, and whether they are of quantised integers.

    A symbolic first dimension is the batch and becomes 1, wherever its symbol occurs.

    Args:
        graph: the file's graph.
        shapes: input name -> shape, where the user gives one.

    Raises:
        ShapeError: a dimension is open, or a given shape contradicts the file.
        UnsupportedError: an input is no tensor, or has an element type that no input can have.
        DataError: a shape is given for an input that does not exist.

    """
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [_described(info) for info in graph.input if info.name not in constants]
    twice = [name for name, count in Counter(i.name for i in inputs).items() if count > 1]
    if twice:
        raise ModelFormatError(f"two inputs are called '{twice[0]}'", hint="export the model again")
    unknown = sorted(shapes.keys() - {i.name for i in inputs})
    if unknown:
        raise DataError(
            f"a shape is given for '{unknown[0]}', which is no input",
            expected=", ".join(f"'{i.name}'" for i in inputs),
            hint="correct the name in --shape",
        )
    sizes: dict[str, int] = {}
    for entry in inputs:
        if entry.name in shapes:
            _bind_symbols(entry, shapes[entry.name], sizes)
    for entry in inputs:
        if entry.name not in shapes and entry.dims and isinstance(entry.dims[0], str):
            sizes.setdefault(entry.dims[0], 1)
    return [
        (Value(i.name, i.dtype, shapes.get(i.name) or _resolved(i, sizes)), i.is_quantized)
        for i in inputs
    ]


def _described(info: onnx.ValueInfoProto) -> _Input:
    kind = info.type.tensor_type
    is_quantized = kind.elem_type in QUANTIZED
    dtype = DType.INT32 if kind.elem_type in INDICES else DType.FLOAT32
    is_number = kind.elem_type in {*QUANTIZED, *INDICES, onnx.TensorProto.FLOAT}
    if not info.type.HasField("tensor_type") or not is_number:
        type_name = element_type(kind.elem_type) if kind.elem_type else "no tensor"
        raise UnsupportedError(
            f"the input '{info.name}' is {type_name}",
            expected="a tensor of FLOAT, INT32 or INT64, or of INT8 or UINT8 that is dequantised",
            hint="export the model in float32 (PyTorch: model.float()); tinyrt quantises it itself"
            if type_name in REALS
            else "export the part of the model that computes on numbers",
        )
    if not info.name:
        raise ModelFormatError("an input has no name", hint="export the model again")
    if not kind.HasField("shape"):
        return _Input(info.name, None, dtype, is_quantized)
    dims = (
        int(d.dim_value) if d.dim_value > 0 else d.dim_param or f"{info.name}.dim{i}"
        for i, d in enumerate(kind.shape.dim)
    )
    return _Input(info.name, tuple(dims), dtype, is_quantized)


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
            hint=f"give a shape that fits, such as --shape {_example(entry, {})}",
        )


def _resolved(entry: _Input, sizes: Mapping[str, int]) -> Shape:
    """The input's shape, all symbols replaced by their sizes."""
    if entry.dims is None:
        raise ShapeError(
            f"the input '{entry.name}' has no shape",
            hint=f"give it, with your numbers: --shape {entry.name}=1,49,10,1",
        )
    dims = [sizes.get(d, d) if isinstance(d, str) else d for d in entry.dims]
    for i, dim in enumerate(dims):
        if isinstance(dim, str):
            raise ShapeError(
                f"the input '{entry.name}' has an open dimension: number {i} ('{dim}')",
                tensor=_text(entry),
                expected="a fixed size for every dimension but the first",
                hint=f"give it, with your numbers: --shape {_example(entry, sizes)}",
            )
    return tuple(d for d in dims if isinstance(d, int))


def _text(entry: _Input) -> str:
    dims = ("any shape",) if entry.dims is None else map(str, entry.dims)
    return f"'{entry.name}' {entry.dtype.short}[{','.join(dims)}]"


def _example(entry: _Input, sizes: Mapping[str, int]) -> str:
    """``input=1,49,10,1``: the fixed sizes, and example sizes for the open dimensions."""
    dims = (
        sizes.get(d, 32 if i else 1) if isinstance(d, str) else d
        for i, d in enumerate(entry.dims or ())
    )
    return f"{entry.name}={','.join(map(str, dims))}"
