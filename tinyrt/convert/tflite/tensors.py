"""Tensors of a .tflite file as values; what is constant stays a view into the file."""

from __future__ import annotations

import math
import mmap
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from tinyrt.budget import OP, current
from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.sparse import Places, densified, places_of
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType, QParams, Shape, Value, unpack_int4

Buffer = bytes | mmap.mmap

ZERO_POINTS = {
    DType.INT4: range(-8, 8),
    DType.INT8: range(-128, 128),
    DType.UINT8: range(256),
    DType.INT16: range(-(2**15), 2**15),
}
"""Zero points that a dtype can hold."""
ANY_ZERO_POINT = range(-(2**31), 2**31)
"""Zero points of other dtypes."""

CENTRED = (DType.INT4, DType.INT8, DType.UINT8)
"""Dtypes of which each slice may have a zero point of its own."""

IN_BLOCKS = 2
"""The kind of details whose scales are another tensor; the package ``tflite`` does not name it."""

MAX_DIMENSIONS = 16
"""Dimensions of a tensor; no op of the format takes more than 8."""
MAX_ELEMENTS = 2**31 - 1
"""Elements of a tensor, which kernels count in 32 bits."""

TENSOR, TENSOR_BYTES = OP, 1000
"""Work and memory of reading one tensor, without its name."""
SCALE = 100
"""Bytes of a scale and its zero point, in all forms in which they are held; its work, too."""


class TensorReader:
    """The tensors of one subgraph.

    Attributes:
        changing: names of those that ops may change from run to run.

    """

    def __init__(self, data: Buffer, model: Any, graph: Any) -> None:
        self.data = data
        self.model = model
        self.graph = graph
        self.changing: set[str] = set()
        self._budget = current()

    def read(self) -> list[Value]:
        """All tensors, by number; each with a name of its own."""
        names: set[str] = set()
        values = []
        for i in range(self.graph.TensorsLength()):
            tensor = self.graph.Tensors(i)
            text = tensor.Name() or b""
            self._budget.spend(TENSOR + len(text), "reading tensors")
            self._budget.hold(TENSOR_BYTES + len(text), "reading tensors")
            name = text.decode() or f"tensor_{i}"
            while name in names:
                name = f"{name}:{i}"
            names.add(name)
            if tensor.IsVariable():
                self.changing.add(name)
            values.append(self._value(tensor, name, i))
        return values

    @cached_property
    def _stored(self) -> set[int]:
        """Tensors that ops dequantise and do nothing else with."""
        dequantized: set[int] = set()
        others = set(self.graph.OutputsAsNumpy() if self.graph.OutputsLength() else ())
        for i in range(self.graph.OperatorsLength()):
            operator = self.graph.Operators(i)
            inputs = operator.InputsAsNumpy() if operator.InputsLength() else ()
            name = schema.builtin_name(self.model, operator.OpcodeIndex())
            (dequantized if name == "DEQUANTIZE" else others).update(inputs)
        return dequantized - others

    def _value(self, tensor: Any, name: str, index: int) -> Value:
        if tensor.ShapeLength() > MAX_DIMENSIONS:
            raise UnsupportedError(
                f"a tensor has {tensor.ShapeLength()} dimensions",
                tensor=f"'{name}'",
                expected=f"at most {MAX_DIMENSIONS}",
            )
        shape = tuple(int(n) for n in tensor.ShapeAsNumpy()) if tensor.ShapeLength() else ()
        what = f"'{name}' [{','.join(map(str, shape))}]"
        if any(n < 0 for n in shape):
            raise empty(what)
        check_elements(shape, what)
        code = tensor.Type()
        dtype = schema.DTYPE.get(code)
        if code == tflite.TensorType.RESOURCE:
            return Value(name, DType.INT32, (1,))  # the name of a variable
        if dtype is None:
            raise UnsupportedError(
                f"a tensor has dtype {schema.TYPE_NAME.get(code, code)}",
                tensor=what,
                expected=", ".join(d.value for d in schema.DTYPE.values()),
            )
        data = self._buffer(tensor.Buffer())
        offsets = _differing_zero_points(tensor.Quantization())
        stored = data is not None and index in self._stored and dtype in CENTRED
        if offsets and not stored:
            raise UnsupportedError(
                "zero points differ between channels", tensor=what, expected="one zero point"
            )
        value = Value(
            name, dtype, shape, self._quantization(tensor.Quantization(), dtype, shape, what)
        )
        sparsity = tensor.Sparsity()
        if sparsity is not None:
            return self._densified(value, data, places_of(sparsity, shape, what))
        if data is None:
            # Lists without entries have no bytes; what is not constant is found empty where used.
            listed = len(shape) == 1 and dtype in (DType.INT32, DType.INT64) and not value.size
            return replace(value, data=np.empty(shape, dtype.numpy)) if listed else value
        value = replace(value, data=self._elements(value, data).reshape(shape))
        return self._centred(value, offsets) if offsets else value

    def _densified(self, value: Value, data: NDArray[np.uint8] | None, places: Places) -> Value:
        """A constant that is stored without its zeros."""
        stored = replace(value, shape=(len(places),))
        elements = self._elements(stored, np.zeros(0, np.uint8) if data is None else data)
        self._budget.hold(value.size * value.dtype.itemsize, f"the constant {value.describe()}")
        return replace(value, data=densified(elements, places, value.shape))

    def _centred(self, value: Value, offsets: tuple[int, ...]) -> Value:
        """The constant with all its zero points at 0, in int16, which has room for it.

        TFLM takes the first scale and zero point for all slices; LiteRT takes each slice's own.
        """
        assert value.q is not None
        assert value.data is not None
        for offset in (min(offsets), max(offsets)):
            q = replace(value.q, zero_point=offset)
            check_quantization(q, value.dtype, value.shape, value.describe())
        self._budget.hold(2 * value.size, f"the constant {value.describe()}")
        shape = [len(offsets) if i == value.q.axis else 1 for i in range(len(value.shape))]
        data = value.data.astype(np.int16)
        data -= np.asarray(offsets, np.int16).reshape(shape)
        return replace(value, dtype=DType.INT16, data=data)

    def _elements(self, value: Value, data: NDArray[np.uint8]) -> NDArray[Any]:
        """Elements of a constant: a view of its bytes, where these are what the dtype asks for."""
        if data.nbytes != value.nbytes:
            raise ModelFormatError(
                f"its buffer has {data.nbytes} bytes",
                tensor=value.describe(),
                expected=f"{value.nbytes}",
            )
        unequal = value.dtype is DType.BOOL and bool(np.max(data, initial=0) > 1)
        aligned = data.ctypes.data % value.dtype.itemsize == 0
        if value.dtype is not DType.INT4 and not unequal and aligned:
            return data.view(value.dtype.numpy)
        self._budget.hold(value.size * value.dtype.itemsize, f"the constant {value.describe()}")
        if value.dtype is DType.INT4:
            return unpack_int4(data, value.size)
        return data != 0 if unequal else data.copy().view(value.dtype.numpy)

    def _quantization(self, q: Any, dtype: DType, shape: Shape, what: str) -> QParams | None:
        if q is not None and q.DetailsType() == IN_BLOCKS:
            raise UnsupportedError(
                "the tensor is quantised in blocks",
                tensor=what,
                expected="one scale, or one for each slice along quantized_dimension",
                hint="quantise the model per channel, or leave the layers that read this in float",
            )
        if q is None or q.ScaleLength() == 0:
            return None
        count = q.ScaleLength()
        if (count > 1 and count not in shape) or q.ZeroPointLength() not in (0, 1, count):
            raise ModelFormatError(
                f"quantization has {count} scales and {q.ZeroPointLength()} zero points",
                tensor=what,
                expected="one scale, or one for each slice along quantized_dimension; as many zero "
                "points",
            )
        self._budget.spend(SCALE * count, "reading scales")
        self._budget.hold(SCALE * count, "scales")
        scales = tuple(float(s) for s in q.ScaleAsNumpy())
        same = q.ZeroPointLength() and not _differing_zero_points(q)
        zero_point = int(q.ZeroPoint(0)) if same else 0
        axis = q.QuantizedDimension() if count > 1 else None
        if shape == (count,) and count > 1:
            axis = 0  # there is no other: some files say 3, for biases as for filters
        try:
            params = QParams(scales, zero_point, axis)
        except ValueError as error:
            raise ModelFormatError(str(error), tensor=what, expected="finite, above 0") from error
        check_quantization(params, dtype, shape, what)
        return params

    def _buffer(self, index: int) -> NDArray[np.uint8] | None:
        """The bytes of a buffer as a view into the file; None where it is empty."""
        if not 0 <= index < self.model.BuffersLength():
            raise ModelFormatError(
                f"buffer {index} of {self.model.BuffersLength()}",
                expected=f"0 to {self.model.BuffersLength() - 1}",
            )
        buffer = self.model.Buffers(index)
        if buffer.DataLength():
            data: NDArray[np.uint8] = buffer.DataAsNumpy()
            return data
        if buffer.Offset() > 1:
            # Buffers of very large models lie behind the flatbuffer.
            if buffer.Offset() + buffer.Size() > len(self.data):
                raise ModelFormatError(
                    f"buffer {index} is bytes {buffer.Offset()} to "
                    f"{buffer.Offset() + buffer.Size()} of {len(self.data)}",
                    hint="the file is cut short: copy or export the model again",
                )
            return np.frombuffer(self.data, np.uint8, buffer.Size(), buffer.Offset())
        return None


def _differing_zero_points(q: Any) -> tuple[int, ...]:
    """Each slice's zero point, where they are not all the same; else nothing."""
    if q is None or q.ZeroPointLength() < 2 or q.ZeroPointLength() != q.ScaleLength():
        return ()
    zero_points = tuple(int(z) for z in q.ZeroPointAsNumpy())
    return zero_points if len(set(zero_points)) > 1 else ()


def check_quantization(q: QParams, dtype: DType, shape: Shape, what: str) -> None:
    """Raise ``ModelFormatError`` unless the parameters fit the tensor."""
    if q.axis is not None and not (0 <= q.axis < len(shape) and shape[q.axis] == len(q.scales)):
        raise ModelFormatError(
            f"quantization has {len(q.scales)} scales along dimension {q.axis}",
            tensor=what,
            expected="one scale, or one for each slice along quantized_dimension",
        )
    zero_points = ZERO_POINTS.get(dtype, ANY_ZERO_POINT)
    if q.zero_point not in zero_points:
        raise ModelFormatError(
            f"quantization has zero_point {q.zero_point}",
            tensor=what,
            expected=f"{zero_points.start} to {zero_points.stop - 1}",
        )


def check_elements(shape: Shape, what: str) -> None:
    """Raise ``UnsupportedError`` unless kernels can count the tensor's elements."""
    if math.prod(shape) > MAX_ELEMENTS:
        raise UnsupportedError(
            f"a tensor has {math.prod(shape):,} elements",
            tensor=what,
            expected=f"at most {MAX_ELEMENTS:,}",
        )


def empty(what: str) -> ModelFormatError:
    """The refusal of a tensor without elements, or of unknown size."""
    return ModelFormatError(
        "a tensor has an empty or unknown dimension",
        tensor=what,
        expected="sizes of at least 1",
        hint="export the model with fixed input shapes, for which all its tensors have elements",
    )
