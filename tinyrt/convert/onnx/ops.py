"""ONNX ops that compute on activations: one small function each, and the table ``IMPORTERS``.

An importer takes a call and returns the value of the op's first output. Ops with weights are in
``onnx_dense``, ops with windows in ``onnx_window``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from onnx.helper import np_dtype_to_tensor_dtype

from tinyrt.convert.onnx.arithmetic import (
    binary,
    clip,
    div,
    modulo,
    neg,
    operands,
    sub,
    variadic,
)
from tinyrt.convert.onnx.border import pad
from tinyrt.convert.onnx.call import Call, Importer, Operand
from tinyrt.convert.onnx.dense import batch_normalization, gemm, matmul
from tinyrt.convert.onnx.einsum import einsum
from tinyrt.convert.onnx.grid import Quantized
from tinyrt.convert.onnx.inverse import INVERSE
from tinyrt.convert.onnx.lookup import top_k
from tinyrt.convert.onnx.move import MOVE, split
from tinyrt.convert.onnx.pointwise import POINTWISE
from tinyrt.convert.onnx.recurrent import KINDS, recurrent
from tinyrt.convert.onnx.reduce import REDUCE, layer_normalization
from tinyrt.convert.onnx.resize import RESIZE
from tinyrt.convert.onnx.scatter import scatter_elements, scatter_nd
from tinyrt.convert.onnx.shapes import (
    flattened,
    normal_axes,
    permutation,
    reduced_axes,
    reshaped,
    squeezed,
    unsqueezed,
)
from tinyrt.convert.onnx.upsample import conv_transpose, global_lp_pool, lp_pool
from tinyrt.convert.onnx.weights import element_type
from tinyrt.convert.onnx.window import (
    average_pool,
    conv,
    global_average_pool,
    global_max_pool,
    max_pool,
)
from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, Value


def identity(call: Call) -> Value:
    """The operand itself."""
    return call.value(0)


def dropout(call: Call) -> Value:
    """The operand itself: nothing is dropped in inference."""
    if call.has(2) and bool(call.array(2, "training_mode").any()):
        raise UnsupportedError(
            "Dropout is in training mode",
            expected="training_mode false",
            hint="export the model for inference (in PyTorch: model.eval())",
        )
    return call.value(0)


CASTS = {
    "FLOAT": DType.FLOAT32,
    "DOUBLE": DType.FLOAT32,
    "FLOAT16": DType.FLOAT32,
    "BFLOAT16": DType.FLOAT32,
    "UINT8": DType.UINT8,
    "INT8": DType.INT8,
    "INT32": DType.INT32,
    "INT64": DType.INT64,
    "BOOL": DType.BOOL,
}


def cast(call: Call) -> Value:
    """Another element type, among those that graphs compute with; all floats are float32."""
    return _cast_to(call, call.value(0), element_type(call.node.get_int("to", 0)))


def _cast_to(call: Call, x: Value, to: str) -> Value:
    if to not in CASTS:
        raise UnsupportedError(
            f"an activation is cast to {to}",
            expected=", ".join(CASTS),
            hint="export the model in float32 without conversions",
        )
    return x if CASTS[to] is x.dtype else call.emit("cast", x, dtype=CASTS[to])


def cast_like(call: Call) -> Operand:
    """The element type of another tensor."""
    like = call.operand(1)
    if call.is_constant_input(0) and isinstance(like, Value):
        return call.array(0).astype(like.dtype.numpy)
    x = call.value(0)
    if isinstance(like, Quantized):
        raise UnsupportedError(
            "an activation is cast to the integers of another",
            tensor=like.value.describe(),
            expected=", ".join(CASTS),
            hint="quantise the model in QDQ form",
        )
    if not isinstance(like, Value):
        return _cast_to(call, x, element_type(np_dtype_to_tensor_dtype(like.dtype)))
    return x if like.dtype is x.dtype else call.emit("cast", x, dtype=like.dtype)


def reshape(call: Call) -> Value:
    """Another shape."""
    return call.reshape(call.value(0), reshaped(call))


def flatten(call: Call) -> Value:
    """Two dimensions."""
    return call.reshape(call.value(0), flattened(call))


def squeeze(call: Call) -> Value:
    """Without dimensions of 1."""
    return call.reshape(call.value(0), squeezed(call))


def unsqueeze(call: Call) -> Value:
    """With more dimensions of 1."""
    return call.reshape(call.value(0), unsqueezed(call))


def transpose(call: Call) -> Value:
    """Dimensions in another order."""
    return call.transpose(call.value(0), permutation(call))


def concat(call: Call) -> Value:
    """All operands along an axis; what has no elements is left out."""
    count = max(len(call.node.inputs), 1)
    parts = [i for i in range(count) if not (call.is_constant_input(i) and 0 in call.shape(i))]
    values = operands(call, parts or (0,))
    (axis,) = normal_axes([call.node.get_int("axis", 1)], len(values[0].shape))
    return values[0] if len(values) == 1 else call.emit("concatenation", *values, axis=axis)


def reduce_mean(call: Call) -> Value:
    """The mean along axes."""
    axes = reduced_axes(call, input_since=18)
    if not axes:
        return call.value(0)
    keep = call.node.get_int("keepdims", 1) != 0
    return call.emit("mean", call.value(0), axes=axes, keep_dims=keep)


def _softmax(op: str) -> Importer:
    """Along one axis; before opset 13, over all dimensions from the axis on, as one row."""

    def convert(call: Call) -> Value:
        x = call.value(0)
        rank = len(x.shape)
        coerces = call.opset < 13
        (axis,) = normal_axes([call.node.get_int("axis", 1 if coerces else -1)], rank)
        if axis == rank - 1:
            return call.emit(op, x)
        if coerces:
            rows = int(np.prod(x.shape[:axis], dtype=np.int64))
            flat = call.reshape(x, (rows, x.size // rows), f"{call.result}.rows")
            return call.reshape(call.emit(op, flat, name=f"{call.result}.{op}"), x.shape)
        order = (*(i for i in range(rank) if i != axis), axis)
        last = call.transpose(x, order, f"{call.result}.axis_last")
        result = call.emit(op, last, name=f"{call.result}.{op}")
        return call.transpose(result, tuple(int(i) for i in np.argsort(order)))

    return convert


IMPORTERS: dict[str, Importer] = {
    **INVERSE,
    **MOVE,
    **POINTWISE,
    **REDUCE,
    **RESIZE,
    "Add": binary("add"),
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Cast": cast,
    "CastLike": cast_like,
    "Clip": clip,
    "Concat": concat,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Div": div,
    "Dropout": dropout,
    "Einsum": einsum,
    "Flatten": flatten,
    "Gemm": gemm,
    "GlobalAveragePool": global_average_pool,
    "GlobalLpPool": global_lp_pool,
    "GlobalMaxPool": global_max_pool,
    "Identity": identity,
    "LpPool": lp_pool,
    "MatMul": matmul,
    "Max": variadic("maximum"),
    "MaxPool": max_pool,
    "Min": variadic("minimum"),
    "Mod": modulo,
    "Mul": binary("mul"),
    "Neg": neg,
    "Pad": pad,
    "ReduceMean": reduce_mean,
    "Reshape": reshape,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "LogSoftmax": _softmax("log_softmax"),
    "Softmax": _softmax("softmax"),
    "Squeeze": squeeze,
    "Sub": sub,
    "Sum": variadic("add"),
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
"""ONNX op type -> its importer; ops on constants alone are in ``onnx_static.STATIC``."""

SEVERAL: dict[str, Callable[[Call], Sequence[Operand]]] = {
    **dict.fromkeys(KINDS, recurrent),
    "LayerNormalization": layer_normalization,
    "Split": split,
    "TopK": top_k,
}
"""The same, for ops whose other outputs may be used too."""
