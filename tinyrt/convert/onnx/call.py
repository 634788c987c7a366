"""What an ONNX op's importer works with: its operands, and the graph being built."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tinyrt import budget
from tinyrt.convert.onnx.grid import Quantized, tensor_params
from tinyrt.convert.onnx.proto import OnnxNode
from tinyrt.convert.onnx.weights import TYPED, Array, checked_shape
from tinyrt.errors import ModelFormatError, ShapeError, UnsupportedError
from tinyrt.ir import DType, Node, QParams, Shape, Value
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import NoAttrs

ON_INTEGERS = (
    "cast the integers to FLOAT in front of it, or compute them before the model and make the "
    "result its input; where they never change, fix them with --value NAME=NUMBER"
)
"""What to do about arithmetic on integers that no op has at run time."""

Operand = Value | Quantized | Array
"""An activation of the graph, of numbers or of integers, or an array known on import."""


@dataclass(slots=True)
class Builder:
    """The graph being built: values by name, nodes in order.

    Attributes:
        values: inputs, constants and results so far.
        nodes: in execution order.
        tensors: ONNX tensor name -> what it is, in the body that is being imported.
        defined: ONNX tensor names that inputs and nodes of that body have defined.
        read: ONNX tensor names that nodes, or outputs of bodies, read.
        sequence_lstm: whether LSTMs become one op each where that fits.
        producers: the node that computes a value, by the value's name.

    """

    values: dict[str, Value] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    tensors: ChainMap[str, Operand] = field(default_factory=ChainMap)
    defined: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    sequence_lstm: bool = False
    producers: dict[str, Node] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def add_value(self, value: Value) -> Value:
        """Enter a value whose name is free.

        Raises:
            ModelFormatError: it has more, or larger, dimensions than tensors can have.
            BudgetError: it is larger than all that the model may hold.

        """
        if not value.is_constant:
            checked_shape(value.shape, f"'{value.name}'")
            budget.current().reserve(value.nbytes, f"the tensor {value.describe()}")
        self.values[value.name] = value
        return value

    def add_node(self, node: Node) -> None:
        """Append a node.

        Raises:
            BudgetError: there are more than a file of this size may expand to.

        """
        budget.current().spend(budget.OP, "expanding the model's layers, loops and functions")
        self.nodes.append(node)
        self.producers.update(dict.fromkeys(node.outputs, node))

    def unique_name(self, wish: str) -> str:
        """``wish``, with a number where the name is taken."""
        name, i = wish, self._numbers.get(wish, 0)
        while name in self.values:
            i += 1
            name = f"{wish}_{i}"
        self._numbers[wish] = i
        return name

    def entered(self, wish: str, data: Array, q: QParams | None) -> Value | None:
        """The existing constant of that name, if data and grid are equal; else None."""
        existing = self.values.get(wish)
        if existing is None or existing.data is None or existing.q != q:
            return None
        if existing.dtype.numpy != data.dtype or existing.shape != data.shape:
            return None
        places = (existing.data.__array_interface__["data"], data.__array_interface__["data"])
        if places[0] == places[1] and existing.data.strides == data.strides:
            return existing
        budget.current().spend(data.size, f"comparing the constants named '{wish}'")
        return existing if np.array_equal(existing.data, data) else None

    def narrowed(self, name: str, data: Array) -> Array:
        """Doubles as float32: as such they are computed with."""
        what = f"the constant '{name}' in float32"
        return budget.current().computed(what, 4 * data.size, lambda: np.asarray(data, np.float32))

    def constant(self, wish: str, data: Array, q: QParams | None = None) -> Value:
        """A constant of that name; equal data under the same wish is entered once.

        Raises:
            BudgetError: it is too large.

        """
        data = np.asarray(data)
        existing = self.entered(wish, data, q)
        if existing is not None:
            return existing
        name, limits = self.unique_name(wish), budget.current()
        if not data.flags.c_contiguous:
            data = limits.computed(
                f"the constant '{name}'", data.nbytes, lambda: np.ascontiguousarray(data)
            )
        limits.keep(data, f"the constant '{name}'")
        return self.add_value(Value.constant(name, data, q))


@dataclass(frozen=True, slots=True)
class Call:
    """One ONNX node with its operands looked up, and a way to emit ops."""

    node: OnnxNode
    builder: Builder

    @property
    def opset(self) -> int:
        """The operator set version that the model imports."""
        return self.node.opset

    @property
    def result(self) -> str:
        """The name of the first output."""
        return self.node.outputs[0]

    def has(self, i: int) -> bool:
        """Whether input ``i`` is present."""
        return i < len(self.node.inputs) and self.node.inputs[i] != ""

    def operand(self, i: int) -> Operand:
        """Input ``i``: an activation, integers, or a constant array.

        Raises:
            ModelFormatError: it is absent, or not computed by any node before.

        """
        if not self.has(i):
            raise ModelFormatError(f"input {i} is missing", expected="a tensor")
        name = self.node.inputs[i]
        if name not in self.builder.tensors:
            raise ModelFormatError(
                f"input '{name}' is not defined",
                expected="an input, an initialiser or the output of an earlier node",
                hint="the file is damaged: export the model again",
            )
        return self.builder.tensors[name]

    def operands(self) -> list[Operand]:
        """All inputs; there must be at least one."""
        return [self.operand(i) for i in range(max(len(self.node.inputs), 1))]

    def is_constant_input(self, i: int) -> bool:
        """Whether input ``i``, which must be present, is known on import."""
        return not isinstance(self.operand(i), Value | Quantized)

    def all_inputs_constant(self) -> bool:
        """Whether every input that is present is known on import."""
        present = (i for i in range(len(self.node.inputs)) if self.has(i))
        return all(self.is_constant_input(i) for i in present)

    def shape(self, i: int) -> Shape:
        """The shape of input ``i``."""
        return tuple(self.operand(i).shape)

    def array(self, i: int, what: str = "") -> Array:
        """Input ``i``, which must be known on import.

        Raises:
            UnsupportedError: it depends on the model's input.

        """
        operand = self.operand(i)
        if isinstance(operand, Value | Quantized):
            value = operand if isinstance(operand, Value) else operand.value
            raise UnsupportedError(
                f"{what or f'input {i}'} depends on the model's input",
                tensor=value.describe(),
                expected="a constant",
                hint="export the model with fixed shapes and weights, or rewrite this part",
            )
        return operand

    def optional_array(self, i: int, what: str = "") -> Array | None:
        """Input ``i`` as ``array`` gives it, or None where it is absent."""
        return self.array(i, what) if self.has(i) else None

    def scalar(self, i: int, what: str) -> float | int:
        """Input ``i``, which must be one number that is known on import.

        Raises:
            ModelFormatError: it has several elements, or none.

        """
        array = self.array(i, what)
        if array.size != 1:
            raise ModelFormatError(f"{what} has shape {list(array.shape)}", expected="one number")
        number: float | int = array.reshape(-1)[0].item()
        return number

    def whole(self, i: int, what: str) -> int:
        """Input ``i``, which must be one whole number that is known on import.

        Raises:
            ModelFormatError: it is none, or several.

        """
        number = self.scalar(i, what)
        if not float(number).is_integer():
            raise ModelFormatError(f"{what} is {number}", expected="a whole number")
        return int(number)

    def ints(self, i: int, what: str = "") -> tuple[int, ...]:
        """Input ``i`` as a list of integers.

        Raises:
            ModelFormatError: it is not a vector of integers.
            BudgetError: it is too long.

        """
        array = self.array(i, what)
        if array.dtype.kind not in "iu" or array.ndim > 1:
            raise ModelFormatError(
                f"{what or f'input {i}'} is {array.dtype}{list(array.shape)}",
                expected="a vector of integers",
            )
        limits = budget.current()
        limits.reserve(TYPED * array.size, what or f"input {i}")
        limits.spend(TYPED * array.size, what or f"input {i}")
        return tuple(array.reshape(-1).tolist())

    def axes(self, input_since: int) -> tuple[int, ...] | None:
        """The op's ``axes``: an attribute before opset ``input_since``, then input 1."""
        if self.opset < input_since:
            return self.node.get_ints("axes")
        return self.ints(1, "axes") if self.has(1) else None

    def value(self, i: int) -> Value:
        """Input ``i`` as a float value of the graph; known arrays become constants.

        Raises:
            UnsupportedError: its element type is not float32.

        """
        operand = self.operand(i)
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, Quantized):
            raise UnsupportedError(
                f"{self.node.op} on a tensor of integers",
                tensor=operand.value.describe(),
                expected="DequantizeLinear in front of it, or an op that only moves data",
                hint="quantise the model in QDQ form",
            )
        return self.constant(self.node.inputs[i], operand, tensor_params(operand))

    def constant(self, name: str, data: Array, q: QParams | None = None) -> Value:
        """A float constant of the graph; scalars get one dimension.

        Args:
            name: its name, or what it starts with.
            data: its elements.
            q: scale and zero point of the integers that these stand for, where they do.

        Raises:
            UnsupportedError: its element type is neither float32 nor float64.
            ModelFormatError: it holds something that is not a number.

        """
        if data.dtype == np.float64:
            data = self.builder.narrowed(name, data)
        if data.dtype != np.float32:
            raise UnsupportedError(
                f"'{name}' has element type {data.dtype}",
                expected="float32",
                hint=ON_INTEGERS
                if data.dtype.kind in "iu"
                else "export the model in float32; tinyrt quantises it itself",
            )
        data = np.atleast_1d(data)
        existing = self.builder.entered(name, data, q)
        if existing is not None:
            return existing
        limits = budget.current()
        limits.spend(data.size, f"the constant '{name}'")
        limits.reserve(data.size, f"the constant '{name}'")
        if np.isnan(data).any():
            raise ModelFormatError(
                f"the constant '{name}' holds NaN",
                expected="numbers",
                hint="check that the training converged, and export the model again",
            )
        return self.builder.constant(name, data, q)

    def emit(self, op: str, *inputs: Value | None, name: str = "", **attrs: Any) -> Value:
        """Append an op and return its output.

        Args:
            op: the op's name in ``OPS``.
            inputs: its inputs.
            name: what the output is called; the ONNX node's first output by default.
            attrs: the fields of the op's attribute record.

        Raises:
            ShapeError: the inputs do not fit.

        """
        return self.emit_all(op, *inputs, name=name, **attrs)[0]

    def emit_all(self, op: str, *inputs: Value | None, name: str = "", **attrs: Any) -> list[Value]:
        """As ``emit``, for ops of several outputs."""
        spec, builder = OPS[op], self.builder
        record = spec.attrs(**attrs) if attrs or spec.attrs is not NoAttrs else NoAttrs()
        try:
            kinds = spec.infer(record, [v.type if v else None for v in inputs])
        except ShapeError as error:
            integers = [v for v in inputs if v and v.dtype in (DType.INT32, DType.INT64)]
            if integers and any(what in (error.expected or "") for what in ("float32", "dtype")):
                raise UnsupportedError(
                    f"{self.node.op} on integers that depend on the model's input",
                    tensor=integers[0].describe(),
                    expected="float32; integers are added, multiplied, compared, and pick rows",
                    hint=ON_INTEGERS,
                ) from error
            raise
        outputs = [
            builder.add_value(
                Value(builder.unique_name(name or self.result), kind.dtype, kind.shape)
            )
            for kind in kinds
        ]
        names, results = (tuple(v.name if v else "" for v in vs) for vs in (inputs, outputs))
        builder.add_node(Node(op, name or self.node.name, names, results, record))
        return outputs

    def reshape(self, x: Value, shape: Sequence[int], name: str = "") -> Value:
        """``x`` in another shape, or ``x`` itself where it has that shape."""
        if tuple(shape) == x.shape:
            return x
        return self.emit("reshape", x, name=name, new_shape=tuple(shape))

    def transpose(self, x: Value, perm: Sequence[int], name: str = "") -> Value:
        """``x`` with permuted dimensions, or ``x`` itself where the order stays."""
        if tuple(perm) == tuple(range(len(x.shape))):
            return x
        return self.emit("transpose", x, name=name, perm=tuple(perm))

    def as_number(self, result: Operand) -> Operand:
        """The result without dimensions, where none of the inputs has any.

        Constants get one dimension, and so does what is computed with them alone.
        """
        if not isinstance(result, Value) or result.shape != (1,) or self.node.op == "Unsqueeze":
            return result
        if any(self.shape(i) for i in range(len(self.node.inputs)) if self.has(i)):
            return result
        return self.reshape(result, (), f"{self.result}.number")


Importer = Callable[[Call], Operand]
"""Adds an ONNX op to the graph and returns its output."""
