"""ONNX files as checked Python values: the parsed model, tensors, nodes with typed attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from numpy.typing import NDArray

from tinyrt.errors import ModelFormatError, UnsupportedError

Array = NDArray[Any]

_TENSOR = onnx.TensorProto
DTYPES: dict[int, str] = {
    _TENSOR.FLOAT: "float32",
    _TENSOR.DOUBLE: "float64",
    _TENSOR.FLOAT16: "float16",
    _TENSOR.INT8: "int8",
    _TENSOR.INT16: "int16",
    _TENSOR.INT32: "int32",
    _TENSOR.INT64: "int64",
    _TENSOR.UINT8: "uint8",
    _TENSOR.UINT16: "uint16",
    _TENSOR.UINT32: "uint32",
    _TENSOR.UINT64: "uint64",
    _TENSOR.BOOL: "bool",
}
"""ONNX element type -> NumPy's name for it."""

_FIELDS: dict[int, str] = {
    _TENSOR.FLOAT: "float_data",
    _TENSOR.DOUBLE: "double_data",
    _TENSOR.INT64: "int64_data",
    _TENSOR.UINT32: "uint64_data",
    _TENSOR.UINT64: "uint64_data",
}
"""Where elements lie that are not raw; types not named here share ``int32_data``."""


def element_type(number: int) -> str:
    """The name of an ONNX element type, for messages."""
    known = number in _TENSOR.DataType.values()
    return str(_TENSOR.DataType.Name(number)) if known else f"type {number}"


def parse_model(path: Path) -> onnx.ModelProto:
    """The parsed file; weights kept in other files are not read yet.

    Raises:
        ModelFormatError: the file is missing, not readable, or not a whole ONNX model.

    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelFormatError(
            f"cannot read the model: {error.strerror or error}", hint="check the path"
        ) from error
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except (DecodeError, RuntimeError) as error:
        raise _not_a_model("the file cannot be parsed: it is cut short or damaged") from error
    if not _all_text(model):
        raise _not_a_model("the file is damaged: a name in it is no text")
    if not model.opset_import or not model.graph.output:
        raise _not_a_model("the file holds no graph with outputs and operator set versions")
    return model


def _all_text(message: Any) -> bool:
    """Whether all strings of a message are UTF-8; those that are not come as bytes."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            texts = value if not isinstance(value, str | bytes) else [value]
            if any(isinstance(text, bytes) for text in texts):
                return False
        elif field.type == field.TYPE_MESSAGE:
            inner = [value] if hasattr(value, "ListFields") else value
            if not all(_all_text(part) for part in inner):
                return False
    return True


def _not_a_model(problem: str) -> ModelFormatError:
    return ModelFormatError(
        problem, expected="an ONNX model", hint="check the path, or export or copy the model again"
    )


def decode_tensor(tensor: onnx.TensorProto, folder: Path) -> Array:
    """A tensor's elements, read-only where they are raw.

    Args:
        tensor: the initialiser or attribute.
        folder: where the model lies; external data is looked up from there.

    Raises:
        ModelFormatError: the elements are missing, or do not match type and shape.
        UnsupportedError: the element type has no NumPy equivalent here.

    """
    where = f"'{tensor.name}' {element_type(tensor.data_type)}{list(tensor.dims)}"
    if tensor.data_type not in DTYPES:
        raise UnsupportedError(
            f"a constant has element type {element_type(tensor.data_type)}",
            tensor=where,
            expected=", ".join(DTYPES.values()),
            hint="export the model in float32",
        )
    dtype = np.dtype(DTYPES[tensor.data_type])
    shape = tuple(tensor.dims)
    if any(d < 0 for d in shape):
        raise ModelFormatError("a constant has a negative dimension", tensor=where)
    count = math.prod(shape)
    if tensor.data_location == _TENSOR.EXTERNAL:
        data = np.frombuffer(_external_bytes(tensor, folder, where), np.uint8)
    elif tensor.HasField("raw_data"):
        data = np.frombuffer(tensor.raw_data, np.uint8)
    else:
        return _typed_elements(tensor, dtype, shape, where)
    if data.size != count * dtype.itemsize:
        raise _wrong_size(where, f"{data.size} bytes", f"{count * dtype.itemsize} bytes")
    return data.view(dtype.newbyteorder("<")).astype(dtype, copy=False).reshape(shape)


def _typed_elements(
    tensor: onnx.TensorProto, dtype: np.dtype, shape: tuple[int, ...], where: str
) -> Array:
    values = getattr(tensor, _FIELDS.get(tensor.data_type, "int32_data"))
    if len(values) != math.prod(shape):
        raise _wrong_size(where, f"{len(values)} elements", f"{math.prod(shape)} elements")
    if tensor.data_type == _TENSOR.FLOAT16:
        return np.asarray(values, np.int64).astype(np.uint16).view(np.float16).reshape(shape)
    wide = np.float64 if dtype.kind == "f" else np.uint64 if dtype.kind == "u" else np.int64
    return np.asarray(values, wide).astype(dtype).reshape(shape)


def _wrong_size(where: str, found: str, expected: str) -> ModelFormatError:
    return ModelFormatError(
        f"a constant has {found}",
        tensor=where,
        expected=expected,
        hint="the file is damaged: export or copy the model again",
    )


def _external_bytes(tensor: Any, folder: Path, where: str) -> bytes:
    """What the tensor's entry in another file holds, which must lie in the model's folder."""
    entry = {e.key: e.value for e in tensor.external_data}
    location = entry.get("location", "")
    path = folder / location
    inside = path.resolve().is_relative_to(folder.resolve())
    if not location or not inside or not path.is_file():
        raise ModelFormatError(
            f"the weights file '{location}' is "
            + ("missing" if inside else "outside the model's folder"),
            tensor=where,
            expected=f"it beside the model, in {folder}",
            hint="copy it there, or export the model with its weights inside",
        )
    try:
        offset, length = int(entry.get("offset", 0)), int(entry.get("length", -1))
        with path.open("rb") as file:
            file.seek(offset)
            data: bytes = file.read(length) if length >= 0 else file.read()
    except (OSError, ValueError, OverflowError) as error:
        raise ModelFormatError(
            f"the weights file '{location}' cannot be read: {error}",
            tensor=where,
            hint="export or copy the model again, with its weights file",
        ) from error
    return data


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """One node with typed access to its attributes.

    Attributes:
        index: its position in the file's graph.
        op: the operator's type, such as ``Conv``.
        domain: the operator set's domain; empty for ONNX's own.
        name: as in the file, or ``Conv_3`` where it has none.
        inputs: tensor names, empty where an optional input is absent.
        outputs: tensor names.
        opset: the version that the model imports of the domain; 0 where it imports none.
        attributes: by name, as in the file.
        folder: the model's folder.

    """

    index: int
    op: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opset: int
    attributes: Mapping[str, onnx.AttributeProto]
    folder: Path

    @classmethod
    def of(cls, proto: onnx.NodeProto, index: int, opset: int, folder: Path) -> OnnxNode:
        """The node as it stands in the file."""
        return cls(
            index=index,
            op=proto.op_type,
            domain="" if proto.domain == "ai.onnx" else proto.domain,
            name=proto.name or f"{proto.op_type}_{index}",
            inputs=tuple(proto.input),
            outputs=tuple(proto.output),
            opset=opset,
            attributes={a.name: a for a in proto.attribute},
            folder=folder,
        )

    @property
    def qualified_op(self) -> str:
        """The operator's type with its domain, where that is not ONNX's own."""
        return f"{self.domain}.{self.op}" if self.domain else self.op

    def describe(self) -> str:
        """``#3 Conv 'stem/conv' (ONNX opset 13)``, for messages."""
        version = f" opset {self.opset}" if self.opset else ""
        return f"#{self.index} {self.op} '{self.name}' ({self.domain or 'ONNX'}{version})"

    def has(self, name: str) -> bool:
        """Whether the file gives the attribute."""
        return name in self.attributes

    def get_int(self, name: str, default: int) -> int:
        """An integer attribute."""
        found = self._attribute(name, onnx.AttributeProto.INT)
        return default if found is None else int(found.i)

    def get_float(self, name: str, default: float) -> float:
        """A float attribute."""
        found = self._attribute(name, onnx.AttributeProto.FLOAT)
        return default if found is None else float(found.f)

    def get_string(self, name: str, default: str) -> str:
        """A string attribute."""
        found = self._attribute(name, onnx.AttributeProto.STRING)
        return default if found is None else found.s.decode(errors="replace")

    def get_ints(self, name: str, length: int | None = None) -> tuple[int, ...] | None:
        """A list of integers, of that length if one is given; None where it is absent."""
        found = self._attribute(name, onnx.AttributeProto.INTS)
        if found is not None and length is not None and len(found.ints) != length:
            raise ModelFormatError(
                f"attribute '{name}' is {list(found.ints)}", expected=f"{length} integers"
            )
        return None if found is None else tuple(found.ints)

    def get_floats(self, name: str) -> tuple[float, ...] | None:
        """A list of floats; None where it is absent."""
        found = self._attribute(name, onnx.AttributeProto.FLOATS)
        return None if found is None else tuple(found.floats)

    def get_tensor(self, name: str) -> Array | None:
        """A tensor attribute's elements; None where it is absent."""
        found = self._attribute(name, onnx.AttributeProto.TENSOR)
        return None if found is None else decode_tensor(found.t, self.folder)

    def get_strings(self, name: str) -> tuple[str, ...] | None:
        """A list of strings; None where it is absent."""
        found = self._attribute(name, onnx.AttributeProto.STRINGS)
        return None if found is None else tuple(s.decode(errors="replace") for s in found.strings)

    def get_graph(self, name: str) -> onnx.GraphProto:
        """A body, which must be there."""
        found = self._attribute(name, onnx.AttributeProto.GRAPH)
        if found is None:
            raise ModelFormatError(f"attribute '{name}' is missing", expected="a graph")
        return found.g

    def _attribute(self, name: str, kind: int) -> onnx.AttributeProto | None:
        found = self.attributes.get(name)
        if found is not None and found.type != kind:
            kinds = onnx.AttributeProto.AttributeType
            is_known = found.type in kinds.values()
            raise ModelFormatError(
                f"attribute '{name}' is of type {kinds.Name(found.type) if is_known else '?'}",
                expected=kinds.Name(kind),
            )
        return found
