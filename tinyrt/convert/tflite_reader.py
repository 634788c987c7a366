""".tflite flatbuffer -> ir.Graph; constants are views into the (memory-mapped) file."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from tinyrt.convert import tflite_schema as schema
from tinyrt.convert.hybrid import dequantize_weights
from tinyrt.convert.tflite_codec import Codec
from tinyrt.convert.tflite_directory import Directory, read_directory
from tinyrt.convert.tflite_ops import DECODERS
from tinyrt.convert.tflite_states import read_states
from tinyrt.errors import ModelFormatError, UnsupportedError, error_context
from tinyrt.ir import DType, Graph, Node, QParams, Shape, Value, unpack_int4
from tinyrt.ops import verify

Buffer = bytes | mmap.mmap

# What the flatbuffers bindings raise on bytes that are not what they claim to be.
ZERO_POINTS = {
    DType.INT4: range(-8, 8),
    DType.INT8: range(-128, 128),
    DType.UINT8: range(256),
    DType.INT16: range(-(2**15), 2**15),
}
"""Zero points that a dtype can hold."""

_CORRUPT = (struct.error, IndexError, ValueError, TypeError, OverflowError, UnicodeDecodeError)


def map_file(path: str | Path) -> Buffer:
    """The file's bytes, mapped read-only.

    Raises:
        ModelFormatError: the file is missing, not readable, or empty.

    """
    try:
        with Path(path).open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise ModelFormatError(
            f"cannot read the model: {error.strerror}", file=str(path), hint="check the path"
        ) from error
    except ValueError as error:
        raise ModelFormatError("the model file is empty", file=str(path)) from error


def read_tflite(path: str | Path) -> Graph:
    """Read a .tflite file; its constants stay views into the mapped file.

    Raises:
        ModelFormatError: the file is not a .tflite model, is cut short, or contradicts itself.
        UnsupportedError: it uses ops or dtypes that tinyrt does not have; all of them are named.

    """
    with error_context(file=str(path)):
        return parse_tflite(map_file(path), name=Path(path).stem)


def parse_tflite(data: Buffer, name: str = "model") -> Graph:
    """Read a .tflite model from bytes or a map; raises as ``read_tflite``."""
    return parse_with_directory(data, name)[0]


def parse_with_directory(data: Buffer, name: str = "model") -> tuple[Graph, Directory]:
    """As ``parse_tflite``, with what the file says about its tensors and signatures."""
    if len(data) < 8 or bytes(data[4:8]) != schema.IDENTIFIER:
        raise ModelFormatError(
            "this is not a .tflite file",
            expected=f"the identifier {schema.IDENTIFIER.decode()} at byte 4",
            hint="make one with tinyrt convert (float) or tinyrt quantize (int8)",
        )
    try:
        with _hopping(data):
            reader = _Reader(data, name)
            graph = reader.read()
            directory = read_directory(reader.model, reader.graph, reader.values)
    except _CORRUPT as error:
        raise ModelFormatError(
            f"the .tflite file is cut short or corrupt ({error})",
            hint="copy or export the model again",
        ) from error
    return verify(dequantize_weights(graph)), directory


@contextmanager
def _hopping(data: Buffer) -> Iterator[None]:
    """Keep the system from mapping megabytes of weights around every small table that is read."""
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_RANDOM"):
        data.madvise(mmap.MADV_RANDOM)
        try:
            yield
        finally:
            data.madvise(mmap.MADV_NORMAL)
    else:
        yield


class _Reader:
    """One model being read: its first subgraph, and its tensors by index."""

    def __init__(self, data: Buffer, name: str) -> None:
        self.data = data
        self.model = tflite.Model.GetRootAs(data)
        self.name = name
        if self.model.Version() != schema.VERSION:
            raise ModelFormatError(
                f"the file has schema version {self.model.Version()}", expected=str(schema.VERSION)
            )
        if self._count(self.model.SubgraphsLength()) != 1:
            raise UnsupportedError(
                f"the model has {self.model.SubgraphsLength()} subgraphs",
                expected="1",
                hint="export the model without control flow",
            )
        self.graph = self.model.Subgraphs(0)
        self.values: list[Value] = []
        self.changing: set[str] = set()
        self.variables: list[tuple[str, str]] = []
        self.added: dict[str, Value] = {}

    def read(self) -> Graph:
        codecs = self._codecs()
        values = self.values = self._tensors()
        nodes: list[Node] = []
        for i in range(self._count(self.graph.OperatorsLength())):
            operator = self.graph.Operators(i)
            codec, builtin = codecs[operator.OpcodeIndex()]
            with error_context(op=f"#{i} {builtin}"):
                nodes.append(self._node(operator, codec, values))
        inputs = self._names(self.graph.InputsAsNumpy(), values)
        outputs = self._names(self.graph.OutputsAsNumpy(), values)
        states = (*read_states(self.model, inputs, outputs), *self.variables)
        inputs += tuple(before for before, _ in self.variables)
        outputs += tuple(after for _, after in self.variables)
        used = {n for node in nodes for n in (*node.inputs, *node.outputs) if n}
        used.update(inputs, outputs)
        kept = {v.name: v for v in values if v.name in used}
        return Graph(self.name, inputs, outputs, kept | self.added, tuple(nodes), states)

    def _count(self, length: int) -> int:
        """A vector's length, which can't exceed the file's own size."""
        if not 0 <= length <= len(self.data):
            raise ModelFormatError(f"a vector of {length} entries in {len(self.data)} bytes")
        return length

    def _codecs(self) -> dict[int, tuple[Codec, str]]:
        """Operator code -> how to read such an op, and its builtin name, for the codes in use."""
        operators = range(self._count(self.graph.OperatorsLength()))
        used = sorted({self.graph.Operators(i).OpcodeIndex() for i in operators})
        names = {i: self._builtin(i) for i in used}
        missing = sorted({name for name in names.values() if name not in DECODERS})
        if missing:
            raise UnsupportedError(
                f"the model uses ops that tinyrt does not have: {', '.join(missing)}",
                expected="ops of the table that 'tinyrt ops' prints",
                hint="replace these ops in the model, or convert the part before them",
            )
        return {i: (DECODERS[name], name) for i, name in names.items()}

    def _builtin(self, index: int) -> str:
        if not 0 <= index < self.model.OperatorCodesLength():
            raise ModelFormatError(f"op code {index} of {self.model.OperatorCodesLength()}")
        code = self.model.OperatorCodes(index)
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        name = schema.OP_NAME.get(number, f"builtin {number}")
        if name == "CUSTOM":
            return f"CUSTOM ({(code.CustomCode() or b'?').decode(errors='replace')})"
        return name

    def _tensors(self) -> list[Value]:
        names: set[str] = set()
        values = []
        for i in range(self._count(self.graph.TensorsLength())):
            tensor = self.graph.Tensors(i)
            name = (tensor.Name() or b"").decode() or f"tensor_{i}"
            if name in names:
                name = f"{name}:{i}"
            names.add(name)
            if tensor.IsVariable():
                self.changing.add(name)
            values.append(self._value(tensor, name))
        return values

    def _value(self, tensor: Any, name: str) -> Value:
        shape = tuple(int(n) for n in tensor.ShapeAsNumpy()) if tensor.ShapeLength() else ()
        what = f"'{name}' [{','.join(map(str, shape))}]"
        if any(n < 0 for n in shape):
            raise _empty(what)
        dtype = schema.DTYPE.get(tensor.Type())
        if dtype is None:
            raise UnsupportedError(
                f"a tensor has dtype {schema.TYPE_NAME.get(tensor.Type(), tensor.Type())}",
                tensor=what,
                expected=", ".join(d.value for d in schema.DTYPE.values()),
            )
        value = Value(
            name, dtype, shape, self._quantization(tensor.Quantization(), dtype, shape, what)
        )
        data = self._buffer(tensor.Buffer())
        if data is None:
            # Lists without entries have no bytes; what is not constant is found empty where used.
            listed = len(shape) == 1 and dtype in (DType.INT32, DType.INT64) and not value.size
            return replace(value, data=np.empty(shape, dtype.numpy)) if listed else value
        if data.nbytes != value.nbytes:
            raise ModelFormatError(
                f"its buffer has {data.nbytes} bytes", tensor=what, expected=f"{value.nbytes}"
            )
        if dtype is DType.INT4:
            return Value(name, dtype, shape, value.q, unpack_int4(data, value.size).reshape(shape))
        return Value(name, dtype, shape, value.q, data.view(dtype.numpy).reshape(shape))

    def _quantization(self, q: Any, dtype: DType, shape: Shape, what: str) -> QParams | None:
        if q is None or q.ScaleLength() == 0:
            return None
        scales = tuple(float(s) for s in q.ScaleAsNumpy())
        zero_points = {int(z) for z in q.ZeroPointAsNumpy()} if q.ZeroPointLength() else {0}
        if len(zero_points) != 1:
            raise UnsupportedError(
                "zero points differ between channels", tensor=what, expected="one zero point"
            )
        axis = q.QuantizedDimension() if len(scales) > 1 else None
        try:
            found = QParams(scales, zero_points.pop(), axis)
        except ValueError as error:
            raise ModelFormatError(str(error), tensor=what) from error
        _check_quantization(found, dtype, shape, what)
        return found

    def _buffer(self, index: int) -> NDArray[np.uint8] | None:
        """The bytes of a buffer as a view into the file; None where it is empty."""
        if not 0 <= index < self.model.BuffersLength():
            raise ModelFormatError(f"buffer {index} of {self.model.BuffersLength()}")
        buffer = self.model.Buffers(index)
        if buffer.DataLength():
            data: NDArray[np.uint8] = buffer.DataAsNumpy()
            return data
        if buffer.Offset() > 1:
            # Buffers of very large models lie behind the flatbuffer.
            return np.frombuffer(self.data, np.uint8, buffer.Size(), buffer.Offset())
        return None

    def _node(self, operator: Any, codec: Codec, values: Sequence[Value]) -> Node:
        indices = operator.InputsAsNumpy() if operator.InputsLength() else ()
        inputs = [_filled(values, int(i)) if i >= 0 else None for i in indices]
        outputs = self._names(operator.OutputsAsNumpy(), values)
        options = None
        if codec.table:
            if operator.BuiltinOptionsType() != schema.options_code(codec.table):
                raise ModelFormatError("the op's options are missing", expected=codec.table)
            options = schema.options_reader(codec.table)
            table = operator.BuiltinOptions()
            options.Init(table.Bytes, table.Pos)
        decoded = codec.decode(options, inputs, _tensor(values, int(operator.Outputs(0))))
        kept = [inputs[i] for i in decoded.picked or range(min(decoded.inputs, len(inputs)))]
        names = tuple(v.name if v else "" for v in kept)
        outputs += tuple(self._next(kept[i]) for i in decoded.states)
        while names and not names[-1]:
            names = names[:-1]
        return Node(codec.op, outputs[0], names, outputs, decoded.attrs)

    def _next(self, state: Value | None) -> str:
        """The name of what a variable becomes."""
        if state is None or state.name not in self.changing:
            raise ModelFormatError(
                "the op's state is no variable",
                tensor=state.describe() if state else None,
                expected="a tensor with is_variable set",
            )
        if any(state.name == before for before, _ in self.variables):
            raise UnsupportedError("two ops change this state", tensor=state.describe())
        name = _unused(f"{state.name}/next", {v.name for v in self.values})
        self.added[name] = replace(state, name=name, data=None)
        self.variables.append((state.name, name))
        return name

    def _names(self, indices: Any, values: Sequence[Value]) -> tuple[str, ...]:
        return tuple(_filled(values, int(i)).name for i in np.atleast_1d(indices))


def _check_quantization(q: QParams, dtype: DType, shape: Shape, what: str) -> None:
    """Raise ``ModelFormatError`` unless the parameters fit the tensor."""
    if q.axis is not None and not (0 <= q.axis < len(shape) and shape[q.axis] == len(q.scales)):
        raise ModelFormatError(
            f"quantization has {len(q.scales)} scales along dimension {q.axis}",
            tensor=what,
            expected="one scale, or one for each slice along quantized_dimension",
        )
    if dtype in ZERO_POINTS and q.zero_point not in ZERO_POINTS[dtype]:
        raise ModelFormatError(
            f"quantization has zero_point {q.zero_point}",
            tensor=what,
            expected=f"{ZERO_POINTS[dtype].start} to {ZERO_POINTS[dtype].stop - 1}",
        )


def _empty(what: str) -> ModelFormatError:
    return ModelFormatError(
        "a tensor has an empty or unknown dimension",
        tensor=what,
        expected="sizes of at least 1",
        hint="export the model with a fixed input shape",
    )


def _filled(values: Sequence[Value], index: int) -> Value:
    """A tensor that an op or a port names."""
    value = _tensor(values, index)
    if not value.is_constant and not value.size:
        raise _empty(value.describe())
    return value


def _unused(wish: str, taken: set[str]) -> str:
    name, i = wish, 0
    while name in taken:
        name, i = f"{wish}_{i}", i + 1
    return name


def _tensor(values: Sequence[Value], index: int) -> Value:
    if not 0 <= index < len(values):
        raise ModelFormatError(f"tensor {index} of {len(values)}")
    return values[index]
