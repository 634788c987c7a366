"""The options of an op of a .tflite file."""

from __future__ import annotations

from typing import Any

import tflite

from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.custom import options_of
from tinyrt.errors import ModelFormatError


def options_in(operator: Any, table: str | None) -> Any:
    """The op's options; their defaults where the file leaves them out, as writers may.

    Raises:
        ModelFormatError: they are another op's, or missing.

    """
    if table is None:
        return None
    if table == schema.CUSTOM:
        return options_of(operator)
    second = schema.is_second(table)
    kind = operator.BuiltinOptions2Type() if second else operator.BuiltinOptionsType()
    if kind == tflite.BuiltinOptions.NONE:
        return schema.default_options(table)
    if kind != schema.options_code(table):
        raise ModelFormatError(f"options of kind {kind}", expected=table)
    table_data = operator.BuiltinOptions2() if second else operator.BuiltinOptions()
    if table_data is None:
        raise ModelFormatError("the op's options are missing", expected=table)
    options = schema.options_reader(table)
    options.Init(table_data.Bytes, table_data.Pos)
    return options
