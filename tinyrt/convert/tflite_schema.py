"""Names and numbers of the .tflite schema, on the ``tflite`` package's bindings."""

from __future__ import annotations

from typing import Any

import flatbuffers
import tflite

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


def options_code(table: str) -> int:
    """The union number of an options table, such as ``Conv2DOptions``."""
    return int(getattr(tflite.BuiltinOptions, table))


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
