"""Records and helpers that the codecs, pairs of an encoder and a decoder, share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import current
from tinyrt.convert.tflite import schema
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import BoundNode, DType, QParams, TensorType, Value
from tinyrt.ops.shared.spec import NoAttrs

Operands = Sequence[Value | None]


@dataclass(frozen=True, slots=True)
class Encoded:
    """An op as the file holds it.

    Attributes:
        fields: of its options table.
        extra: name suffix and data of constants that follow its inputs.
        fill_q: quantisation of those of them that are int8 or int16.
        order: the places of the op's inputs, and then of the constants, in the file; as they come
            by default; -1 for an absent one.
        variables: which of the op's inputs are state that the op changes.
        hidden: whether the file has no tensors for that state, since the op keeps it inside.
        intermediates: dtypes and quantisation of values inside the op that the file describes.

    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    extra: tuple[tuple[str, NDArray[Any]], ...] = ()
    fill_q: QParams | None = None
    order: tuple[int, ...] | None = None
    variables: tuple[int, ...] = ()
    hidden: bool = False
    intermediates: tuple[tuple[DType, QParams], ...] = ()


@dataclass(frozen=True, slots=True)
class Decoded:
    """An op as the graph holds it.

    Attributes:
        attrs: its attributes.
        inputs: how many of the file's inputs stay, from the first on.
        picked: which ones stay, in the graph's order, where those are others.
        states: which of those that stay are state that the op changes.
        hidden: types of the state that the op keeps inside, without tensors in the file.
        op: the op's name in the graph, where it is not the codec's.

    """

    attrs: object
    inputs: int
    picked: tuple[int, ...] | None = None
    states: tuple[int, ...] = ()
    hidden: tuple[TensorType, ...] = ()
    op: str = ""


@dataclass(frozen=True, slots=True)
class Codec:
    """One op's form in the file.

    Attributes:
        op: the op's name in the graph.
        builtin: its name in the schema.
        table: the schema table of its options, or None.
        encode: graph -> file.
        decode: ``(options, inputs, output)`` -> graph.
        version: the lowest op version that expresses the node.
        options: names of a custom op's options, in their order in the file; None for a builtin.

    """

    op: str
    builtin: str
    table: str | None
    encode: Callable[[BoundNode], Encoded]
    decode: Callable[[Any, Operands, Value], Decoded]
    version: Callable[[BoundNode], int]
    options: tuple[str, ...] | None = None


def is_s16(node: BoundNode) -> bool:
    """Whether the node works on int16."""
    return DType.INT16 in (node.input(0).dtype, node.output.dtype)


def is_s8(node: BoundNode) -> bool:
    """Whether the node works on int8."""
    return DType.INT8 in (node.input(0).dtype, node.output.dtype)


def since_s8(version: int, s16: int = 1, boolean: int = 1) -> Callable[[BoundNode], int]:
    """``version`` for int8, ``s16`` for int16, ``boolean`` for truth values, 1 for all others."""

    def lowest(node: BoundNode) -> int:
        if is_s16(node):
            return s16
        if node.input(0).dtype is DType.BOOL:
            return boolean
        return version if is_s8(node) else 1

    return lowest


def widening(version: int, lowest: Callable[[BoundNode], int]) -> Callable[[BoundNode], int]:
    """``version`` where inputs of unlike shapes have more than four dimensions, else ``lowest``."""

    def raised(node: BoundNode) -> int:
        shapes = [v.shape for v in node.inputs if v is not None]
        is_wide = len(set(shapes)) > 1 and max(map(len, shapes)) > 4
        return max(version if is_wide else 1, lowest(node))

    return raised


def of_rank(version: int, lowest: Callable[[BoundNode], int]) -> Callable[[BoundNode], int]:
    """``version`` at least where the input has more than four dimensions, else ``lowest``."""
    return lambda node: max(version if len(node.input(0).shape) > 4 else 1, lowest(node))


def activation_of(options: Any) -> str:
    """The activation that the options name."""
    code = options.FusedActivationFunction()
    name = schema.ACTIVATION_NAME.get(code, str(code))
    if name not in schema.ACTIVATION:
        raise UnsupportedError(f"fused activation {name}", expected=", ".join(schema.ACTIVATION))
    return name


def padding_of(options: Any) -> str:
    """The padding that the options name."""
    code = options.Padding()
    if code not in schema.PADDING_NAME:
        raise ModelFormatError(f"padding {code}", expected="SAME (0) or VALID (1)")
    return schema.PADDING_NAME[code]


def finite(number: float, what: str) -> float:
    """An option that is a number.

    Raises:
        ModelFormatError: it is none, or without end.

    """
    if not math.isfinite(number):
        raise ModelFormatError(f"{what} is {number}", expected="a finite number")
    return number


def operand(inputs: Operands, i: int) -> Value:
    """Input ``i``, which must be there."""
    value = inputs[i] if i < len(inputs) else None
    if value is None:
        raise ModelFormatError(f"input {i} is missing", expected="a tensor")
    return value


def ranked(inputs: Operands, i: int) -> Value:
    """Input ``i``, which must be there and have dimensions: files leave out those they don't know.

    Raises:
        ModelFormatError: it is missing.
        UnsupportedError: it has no dimensions.

    """
    value = operand(inputs, i)
    if not value.shape:
        raise UnsupportedError(
            "the input has no dimensions: the file does not say its shape",
            tensor=value.describe(),
            expected="a size of every dimension",
            hint="export the model with a fixed input shape",
        )
    return value


def only(outputs: Sequence[Value]) -> Value:
    """The output of an op that has one."""
    if len(outputs) != 1:
        raise ModelFormatError(f"{len(outputs)} outputs", expected="1")
    return outputs[0]


NUMBER = 64
"""Bytes of a number in a tuple; its work, too."""


def constant_ints(inputs: Operands, index: int, what: str) -> tuple[int, ...]:
    """A constant integer input, flattened.

    Raises:
        UnsupportedError: it is none.
        BudgetError: it holds more numbers than the file may cost.

    """
    value = inputs[index] if index < len(inputs) else None
    if value is None or value.data is None or value.dtype not in (DType.INT32, DType.INT64):
        raise UnsupportedError(
            f"{what} is computed at run time",
            tensor=value.describe() if value else None,
            expected=f"constant int32 {what}",
            hint="export the model with fixed shapes",
        )
    budget = current()
    budget.spend(NUMBER * value.size, f"reading {what}")
    budget.hold(NUMBER * value.size, f"{what}, {value.describe()},")
    return tuple(int(n) for n in value.data.reshape(-1))


def i32(values: Sequence[Any]) -> NDArray[np.int32]:
    """An array for the file.

    Raises:
        UnsupportedError: a number does not fit 32 bits, as all are in the format.

    """
    try:
        return np.asarray(values, np.int32)
    except OverflowError as error:
        raise UnsupportedError(
            f"a .tflite file cannot hold sizes and places such as {list(values)[:8]}",
            expected="numbers of 32 bits",
            hint="make the tensor smaller",
        ) from error


def encode_plain(node: BoundNode) -> Encoded:
    """No options, no further constants."""
    del node
    return Encoded()


def decode_plain(options: Any, inputs: Operands, output: Value) -> Decoded:
    """No attributes."""
    del options, output
    return Decoded(NoAttrs(), len(inputs))


def plain(op: str, builtin: str, version: Callable[[BoundNode], int]) -> Codec:
    """The codec of an op without attributes."""
    return Codec(op, builtin, None, encode_plain, decode_plain, version)
