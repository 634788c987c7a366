"""Tensors of ONNX files as arrays: their elements lie in the file, or in others beside it."""

from __future__ import annotations

import math
import mmap
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from tinyrt import budget
from tinyrt.errors import ModelFormatError, UnsupportedError

Array = NDArray[Any]

_TENSOR = onnx.TensorProto
DTYPES: dict[int, str] = {
    _TENSOR.FLOAT: "float32",
    _TENSOR.DOUBLE: "float64",
    _TENSOR.FLOAT16: "float32",
    _TENSOR.BFLOAT16: "float32",
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
"""ONNX element type -> NumPy's name for what it is computed with: numbers of 16 bits as float32."""

_STORED: dict[int, str] = {_TENSOR.FLOAT16: "float16", _TENSOR.BFLOAT16: "uint16"}
"""The same, for how elements lie in a file, where that is something else."""

KNOWN_TYPES = ", ".join(_TENSOR.DataType.Name(number).lower() for number in DTYPES)
"""All element types, for messages."""

_FIELDS: dict[int, str] = {
    _TENSOR.FLOAT: "float_data",
    _TENSOR.DOUBLE: "double_data",
    _TENSOR.INT64: "int64_data",
    _TENSOR.UINT32: "uint64_data",
    _TENSOR.UINT64: "uint64_data",
}
"""Element type -> the field of elements that are not raw; all others use ``int32_data``."""

MAX_DIMENSIONS = 64
"""NumPy's limit."""

LONGEST_DIMENSION = 2**31 - 1
"""Limit of the .tflite format."""

ON_LABELS = (
    "train on classes 0 to n - 1 (scikit-learn: LabelEncoder), or delete the model's output of "
    "labels: the place of the greatest score says the class"
)
"""What to do about labels that are text, or other numbers than the places of their classes."""

TYPED = 50
"""Work, and bytes, for each element that is handled as an object, not in an array."""


def in_type(array: Array, number: int) -> Array:
    """An array in an ONNX element type; of 16 bits, the values of that type in float32."""
    if number == _TENSOR.FLOAT16:
        return array.astype(np.float16).astype(np.float32)
    if number == _TENSOR.BFLOAT16:
        bits = array.astype(np.float32).view(np.uint32)
        # To the nearest, of two to the even one.
        rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
        return np.where(np.isnan(array), np.float32(np.nan), rounded.view(np.float32))
    return array.astype(DTYPES[number])


def _widened(elements: Array, number: int, where: str) -> Array:
    """Elements as they are computed with."""
    if number not in _STORED:
        return elements

    def wide() -> Array:
        if number == _TENSOR.FLOAT16:
            return elements.astype(np.float32)
        return (elements.astype(np.uint32) << 16).view(np.float32)

    return budget.current().computed(f"{where} in float32", 8 * elements.size, wide)


def element_type(number: int) -> str:
    """The name of an ONNX element type, for messages."""
    is_standard = number in _TENSOR.DataType.values()
    return str(_TENSOR.DataType.Name(number)) if is_standard else f"type {number}"


LONGEST_NAME = 100
"""Characters that a message shows of a name."""


def listed(items: Sequence[object], most: int = 8) -> str:
    """``[3, 224, 224]``; of a long list the beginning, and how much more there is."""
    text = ", ".join(str(item)[:LONGEST_NAME] for item in items[:most])
    return f"[{text}]" if len(items) <= most else f"[{text}, and {len(items) - most} more]"


def checked_shape(dims: Sequence[int], what: str, tensor: str | None = None) -> tuple[int, ...]:
    """The dimensions as a shape that arrays and .tflite files can have.

    Args:
        dims: as a file gives them.
        what: what has the shape, as messages name it.
        tensor: the same, as errors name tensors.

    Raises:
        ModelFormatError: there are too many of them, or one is negative or too large.

    """
    if len(dims) > MAX_DIMENSIONS:
        problem, expected = f"{len(dims)} dimensions", f"at most {MAX_DIMENSIONS}"
    elif any(not 0 <= d <= LONGEST_DIMENSION for d in dims):
        problem, expected = f"shape {listed(dims)}", f"dimensions of 0 to {LONGEST_DIMENSION}"
    elif math.prod(max(d, 1) for d in dims) > 2**48:
        problem, expected = f"shape {listed(dims)}", f"at most {2**48} elements"
    else:
        return tuple(dims)
    raise ModelFormatError(
        f"{what} has {problem}",
        tensor=tensor,
        expected=expected,
        hint="the file is damaged: export or copy the model again",
    )


class WeightsReader:
    """Reads the tensors of one file; each is read once.

    Args:
        folder: where the model lies, which is where its weights may lie.

    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, memoryview] = {}
        # With the messages, so that no other gets their identity.
        self._read: dict[int, tuple[onnx.TensorProto, Array]] = {}

    def array(self, tensor: onnx.TensorProto) -> Array:
        """A tensor's elements, read-only where they are raw.

        Args:
            tensor: the initialiser or attribute.

        Raises:
            ModelFormatError: the elements are missing, or do not match type and shape.
            UnsupportedError: the element type has no NumPy equivalent here.
            BudgetError: they take too much memory.

        """
        entry = self._read.get(id(tensor))
        if entry is None:
            entry = self._read[id(tensor)] = (tensor, self._decoded(tensor))
        return entry[1]

    def _decoded(self, tensor: onnx.TensorProto) -> Array:
        where = f"'{tensor.name}' {element_type(tensor.data_type)}{listed(tensor.dims)}"
        if tensor.data_type not in DTYPES or tensor.HasField("segment"):
            is_part = tensor.data_type in DTYPES
            raise UnsupportedError(
                "a constant comes in segments"
                if is_part
                else f"a constant has element type {element_type(tensor.data_type)}",
                tensor=where,
                expected="whole constants" if is_part else KNOWN_TYPES,
                hint=ON_LABELS
                if tensor.data_type == _TENSOR.STRING
                else "export the model in float32",
            )
        number = tensor.data_type
        dtype = np.dtype(_STORED.get(number, DTYPES[number]))
        shape = checked_shape(tensor.dims, "a constant", where)
        nbytes = math.prod(shape) * dtype.itemsize
        if tensor.data_location == _TENSOR.EXTERNAL:
            data = self._external(tensor, where, nbytes)
        elif tensor.HasField("raw_data"):
            data = np.frombuffer(tensor.raw_data, np.uint8)
        else:
            return _widened(_typed_elements(tensor, dtype, shape, where), number, where)
        if data.size != nbytes:
            raise _wrong_size(where, f"{data.size} bytes", f"{nbytes} bytes")
        elements = data.view(dtype.newbyteorder("<"))
        aligned = np.require(elements.astype(dtype, copy=False), requirements="A").reshape(shape)
        return _widened(aligned, number, where)

    def _external(self, tensor: onnx.TensorProto, where: str, nbytes: int) -> NDArray[np.uint8]:
        """The bytes of a tensor in another file: a view into it."""
        entry = {e.key: e.value for e in tensor.external_data}
        location = entry.get("location", "")
        file = self._mapped(location, where)
        numbers = [entry.get("offset") or "0", entry.get("length") or ""]
        if not all(n.isascii() and n.isdigit() and len(n) < 19 for n in numbers if n):
            text = " and ".join(n[:24] or "absent" for n in numbers)
            raise _unreadable(location, where, f"offset and length are {text}")
        offset = int(numbers[0])
        length = int(numbers[1]) if numbers[1] else max(len(file) - offset, 0)
        if length != nbytes:
            raise _wrong_size(where, f"{length} bytes", f"{nbytes} bytes")
        if offset + length > len(file):
            available = max(len(file) - offset, 0)
            raise _wrong_size(where, f"{available} bytes in '{location[:200]}'", f"{nbytes} bytes")
        return np.frombuffer(file[offset : offset + length], np.uint8)

    def _mapped(self, location: str, where: str) -> memoryview:
        """A file in the model's folder; others, however they are named, are refused."""
        if location in self._files:
            return self._files[location]
        folder = os.path.realpath(self._folder)
        try:
            if not location or "\0" in location:
                raise FileNotFoundError
            path = os.path.realpath(Path(folder) / location)
            if os.path.commonpath([folder, path]) != folder:
                raise ModelFormatError(
                    f"the weights file '{location[:200]}' is outside the model's folder",
                    tensor=where,
                    expected=f"it beside the model, in {self._folder}",
                    hint="copy it there, or export the model with its weights inside",
                )
            content = _map_regular(path)
        except FileNotFoundError as error:
            raise ModelFormatError(
                f"the weights file '{location[:200]}' is missing",
                tensor=where,
                expected=f"it beside the model, in {self._folder}",
                hint="copy it there, or export the model with its weights inside",
            ) from error
        except OSError as error:
            raise _unreadable(location, where, error.strerror or str(error)) from error
        self._files[location] = content
        return content


def _map_regular(path: str) -> memoryview:
    """The bytes of a regular file, mapped read-only; they add to what the model may cost.

    Raises:
        OSError: it is no regular file, or not readable.

    """
    # Opening a pipe would wait for its writer.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(None, "it is no regular file")
        # Allocated blocks, not the length: a sparse file takes no room.
        budget.current().extend(min(status.st_size, status.st_blocks * 512))
        if not status.st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(handle, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(handle)


def _typed_elements(
    tensor: onnx.TensorProto, dtype: np.dtype, shape: tuple[int, ...], where: str
) -> Array:
    values, count = getattr(tensor, _FIELDS.get(tensor.data_type, "int32_data")), math.prod(shape)
    if len(values) != count:
        raise _wrong_size(where, f"{len(values)} elements", f"{count} elements")
    limits = budget.current()
    limits.spend(TYPED * count, f"reading {where}")
    limits.reserve((8 + dtype.itemsize) * count, f"the constant {where}")
    if tensor.data_type in _STORED:
        return np.asarray(values, np.int64).astype(np.uint16).view(dtype).reshape(shape)
    wide = np.float64 if dtype.kind == "f" else np.uint64 if dtype.kind == "u" else np.int64
    return np.asarray(values, wide).astype(dtype).reshape(shape)


def _wrong_size(where: str, actual: str, expected: str) -> ModelFormatError:
    return ModelFormatError(
        f"a constant has {actual}",
        tensor=where,
        expected=expected,
        hint="the file is damaged: export or copy the model again",
    )


def _unreadable(location: str, where: str, reason: str) -> ModelFormatError:
    return ModelFormatError(
        f"the weights file '{location[:200]}' cannot be read: {reason}",
        tensor=where,
        hint="export or copy the model again, with its weights file",
    )
