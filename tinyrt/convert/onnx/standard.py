"""Ops that ONNX itself defines by a function of other ops, which is imported in their place."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import defs, helper

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.grid import Quantized
from tinyrt.ir import DType, Value

_WINDOWS = ("BlackmanWindow", "HammingWindow", "HannWindow")
STANDARD = frozenset(
    {
        "Attention",
        "CausalConvWithState",
        "CenterCropPad",
        "LinearAttention",
        "RotaryEmbedding",
        "SwiGLU",
        *_WINDOWS,
    }
)
"""Ops that have such a function and no importer."""

_TYPES = {DType.BOOL: onnx.TensorProto.BOOL, DType.INT64: onnx.TensorProto.INT64}
"""dtypes -> element types of ONNX; integers of 32 bits are what int64 of a file became."""


def function_of(call: Call) -> onnx.FunctionProto:
    """The function by which ONNX defines the op of a call, for operands of its types."""
    node = call.node
    schema: Any = defs.get_schema(node.op, node.opset, "")
    if not schema.has_context_dependent_function:
        return _with_defaults(schema)
    proto = helper.make_node(node.op, node.inputs, node.outputs)
    proto.attribute.extend(node.attributes.values())
    types = [_type_of(call, i) for i in range(len(node.inputs))]
    found = schema.get_context_dependent_function(proto.SerializeToString(), types)
    function = onnx.FunctionProto()
    function.ParseFromString(found)
    return function


def _with_defaults(schema: Any) -> onnx.FunctionProto:
    """The function of an op for all types, with what its attributes are where none are given."""
    function = onnx.FunctionProto()
    function.CopyFrom(schema.function_body)
    defaults = [attribute.default_value for attribute in schema.attributes.values()]
    function.attribute_proto.extend(value for value in defaults if value.type)
    return function


def _type_of(call: Call, i: int) -> bytes:
    """The type of input ``i`` as ONNX writes it; empty where it is absent."""
    if not call.has(i):
        return b""
    operand, shape = call.operand(i), call.shape(i)
    if isinstance(operand, Value | Quantized):
        dtype = operand.dtype if isinstance(operand, Value) else DType.FLOAT32
        kind = _TYPES.get(dtype, onnx.TensorProto.FLOAT)
        kind = onnx.TensorProto.INT64 if dtype is DType.INT32 else kind
    else:
        kind = helper.np_dtype_to_tensor_dtype(np.asarray(operand).dtype)
    return bytes(helper.make_tensor_type_proto(kind, shape).SerializeToString())
