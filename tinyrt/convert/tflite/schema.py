"""Names and numbers of the .tflite schema, on the ``tflite`` package's bindings."""

from __future__ import annotations

from typing import Any

import flatbuffers
import tflite

from tinyrt.errors import ModelFormatError
from tinyrt.ir import DType

IDENTIFIER = b"TFL3"
VERSION = 3
ALIGNMENT = 16

OP_CODE: dict[str, int] = {
    name: code for name, code in vars(tflite.BuiltinOperator).items() if isinstance(code, int)
}
OP_NAME: dict[int, str] = {code: name for name, code in OP_CODE.items()}

TENSOR_TYPE: dict[DType, int] = {dtype: getattr(tflite.TensorType, dtype.name) for dtype in DType}
DTYPE: dict[int, DType] = {code: dtype for dtype, code in TENSOR_TYPE.items()}
TYPE_NAME: dict[int, str] = {
    code: name for name, code in vars(tflite.TensorType).items() if isinstance(code, int)
}

ACTIVATION: dict[str, int] = {
    name: getattr(tflite.ActivationFunctionType, name)
    for name in ("NONE", "RELU", "RELU_N1_TO_1", "RELU6")
}
ACTIVATION_NAME: dict[int, str] = {
    code: name
    for name, code in vars(tflite.ActivationFunctionType).items()
    if isinstance(code, int)
}
PADDING: dict[str, int] = {"SAME": tflite.Padding.SAME, "VALID": tflite.Padding.VALID}
PADDING_NAME: dict[int, str] = {code: name for name, code in PADDING.items()}

_BUILTIN_SLOT = 10
"""Place of an operator code's ``builtin_code`` in its table of fields."""


def builtin_name(model: Any, index: int) -> str:
    """Name of the op that an operator code stands for.

    The code is the larger one of its two fields, as in LiteRT. The bindings' ``BuiltinCode`` gives
    the old one wherever that could hold the code, whether it was set or not.

    Raises:
        ModelFormatError: there is no such operator code.

    """
    if not 0 <= index < model.OperatorCodesLength():
        raise ModelFormatError(
            f"op code {index} of {model.OperatorCodesLength()}",
            expected=f"0 to {model.OperatorCodesLength() - 1}",
        )
    code = model.OperatorCodes(index)
    table = code._tab
    at = table.Offset(_BUILTIN_SLOT)
    new = table.Get(flatbuffers.number_types.Int32Flags, at + table.Pos) if at else 0
    number = max(new, code.DeprecatedBuiltinCode())
    name = OP_NAME.get(number, f"builtin {number}")
    return custom_name(bytes(code.CustomCode() or b"?")) if name == "CUSTOM" else name


CUSTOM = "CustomOptions"
"""Stands for the options table of a custom op, whose options are bytes of its own."""

LONGEST = 64
"""Bytes of a custom op's name that messages show."""

_CUSTOM = "CUSTOM ("


def custom_name(code: bytes) -> str:
    """``CUSTOM (SignalWindow)``: what stands for a builtin op's name."""
    return f"{_CUSTOM}{code[:LONGEST].decode(errors='replace')})"


def custom_code(name: str) -> str | None:
    """The op's own name, of ``custom_name``; None for a builtin op."""
    return name.removeprefix(_CUSTOM)[:-1] if name.startswith(_CUSTOM) else None


def options_code(table: str) -> int:
    """The union number of an options table, such as ``Conv2DOptions``."""
    union = tflite.BuiltinOptions2 if is_second(table) else tflite.BuiltinOptions
    return int(getattr(union, table))


def is_second(table: str) -> bool:
    """Whether the options lie in the second of an op's two unions, as those of newer ops do."""
    return hasattr(tflite.BuiltinOptions2, table)


def options_reader(table: str) -> Any:
    """A new reader object for an options table."""
    return getattr(tflite, table)()


def default_options(table: str) -> Any:
    """A reader of an options table without fields: all have their defaults."""
    builder = flatbuffers.Builder(64)
    start_table(builder, table)
    builder.Finish(end_table(builder, table))
    return getattr(tflite, table).GetRootAs(bytes(builder.Output()))


def add_field(builder: Any, table: str, field: str, value: Any) -> None:
    """Set a scalar field of the table that the builder is in."""
    getattr(tflite, f"{table}Add{field}")(builder, value)


def start_table(builder: Any, table: str) -> None:
    """Begin a table."""
    getattr(tflite, f"{table}Start")(builder)


def end_table(builder: Any, table: str) -> int:
    """Finish a table and return its offset."""
    return int(getattr(tflite, f"{table}End")(builder))
