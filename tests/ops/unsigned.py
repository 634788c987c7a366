"""Graphs of one int8 layer that is rounded as on uint8, as the uint8 files that they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.ops.build import Built
from tinyrt.ir import DType, Value

PADDING = {"SAME": 0, "VALID": 1}
ACTIVATION = {"NONE": 0, "RELU": 1}


def answer_of_litert(built: Built) -> NDArray[np.int8]:
    """What LiteRT's reference kernels say to the same values 128 higher, 128 lower again."""
    litert = pytest.importorskip(
        "ai_edge_litert.interpreter", reason="package ai-edge-litert is not installed"
    )
    interpreter = litert.Interpreter(
        model_content=unsigned_file(built),
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
    )
    interpreter.allocate_tensors()
    (x,) = built.feeds.values()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], _up(x))
    interpreter.invoke()
    y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    return (y ^ np.uint8(128)).view(np.int8)


def unsigned_file(built: Built) -> bytes:
    """The bytes of a .tflite file."""
    graph = built.graph
    (node,) = graph.nodes
    tensors = [_tensor(graph.value(name)) for name in (*node.inputs, *node.outputs)]
    builtin, table, fields = OPTIONS[node.op](node.attrs)
    inputs = list(node.inputs)
    if node.op == "resize_bilinear":
        size = np.array(node.attrs.size, np.int32)
        tensors.append(Tensor("size", (2,), "INT32", size))
        inputs.append("size")
    op = Op(builtin, inputs, node.outputs, table, fields)
    return build(Subgraph(tensors, [op], graph.inputs, graph.outputs))


def _up(data: NDArray[np.int8]) -> NDArray[np.uint8]:
    return data.view(np.uint8) ^ np.uint8(128)


def _tensor(value: Value) -> Tensor:
    q, data = value.q, value.data
    if value.dtype is not DType.INT8:
        return Tensor(value.name, value.shape, "INT32", data, q.scale)
    data = None if data is None else _up(np.ascontiguousarray(data))
    return Tensor(value.name, value.shape, "UINT8", data, q.scale, q.zero_point + 128)


def _dense(attrs: Any) -> tuple[str, str, dict[str, Any]]:
    fields = {
        "FusedActivationFunction": ACTIVATION[attrs.activation],
        "KeepNumDims": attrs.keep_num_dims,
    }
    return "FULLY_CONNECTED", "FullyConnectedOptions", fields


def _pool(attrs: Any) -> tuple[str, str, dict[str, Any]]:
    (height, width), (down, across) = attrs.kernel, attrs.stride
    fields = {
        "Padding": PADDING[attrs.padding],
        "StrideH": down,
        "StrideW": across,
        "FilterHeight": height,
        "FilterWidth": width,
        "FusedActivationFunction": ACTIVATION[attrs.activation],
    }
    return "AVERAGE_POOL_2D", "Pool2DOptions", fields


def _resize(attrs: Any) -> tuple[str, str, dict[str, Any]]:
    fields = {"AlignCorners": attrs.align_corners, "HalfPixelCenters": attrs.half_pixel_centers}
    return "RESIZE_BILINEAR", "ResizeBilinearOptions", fields


def _norm(attrs: Any) -> tuple[str, str, dict[str, Any]]:
    del attrs
    return "L2_NORMALIZATION", "L2NormOptions", {}


def _joined(attrs: Any) -> tuple[str, str, dict[str, Any]]:
    """What rescales a tensor like this is a concatenation of it alone."""
    del attrs
    return "CONCATENATION", "ConcatenationOptions", {"Axis": 0}


OPTIONS = {
    "quantize": _joined,
    "l2_normalization": _norm,
    "fully_connected": _dense,
    "average_pool2d": _pool,
    "resize_bilinear": _resize,
}
