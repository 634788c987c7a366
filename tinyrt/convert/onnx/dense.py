"""ONNX matrix products and batch normalisation."""

from __future__ import annotations

import numpy as np

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.grid import turned, weight_params
from tinyrt.convert.onnx.weights import Array
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Value


def _dense(call: Call, x: Value, w: Array, w_name: str, bias: Value | None, name: str) -> Value:
    """``x @ w.T + bias`` for x (..., k) and weights (c_out, k)."""
    weights = call.constant(w_name, np.asarray(w), weight_params(w, 0, 0))
    if x.shape[-1] != w.shape[1]:
        raise ModelFormatError(
            f"a product of {list(x.shape)} and {list(w.T.shape)}",
            tensor=x.describe(),
            expected="as many columns as rows",
        )
    keep = len(x.shape) > 2
    return call.emit("fully_connected", x, weights, bias, name=name, keep_num_dims=keep)


def _two_dimensions(call: Call, i: int) -> None:
    if len(call.shape(i)) != 2:
        raise ModelFormatError(f"input {i} has shape {list(call.shape(i))}", expected="a matrix")


def gemm(call: Call) -> Value:
    """``alpha * A' @ B' + beta * C``, where A or B is constant and ' may transpose."""
    _two_dimensions(call, 0)
    _two_dimensions(call, 1)
    if not call.is_constant_input(0) and not call.is_constant_input(1):
        return _gemm_of_activations(call)
    alpha = np.float32(call.node.get_float("alpha", 1.0))
    trans_a, trans_b = call.node.get_int("transA", 0) != 0, call.node.get_int("transB", 0) != 0
    if not call.is_constant_input(1):
        return _gemm_of_constant(call, alpha, trans_a, trans_b)
    w = call.array(1, "the weights")
    w = w if trans_b else turned(w, (1, 0))
    w = w if alpha == 1 else alpha * w
    x = call.value(0)
    x = call.transpose(x, (1, 0), f"{call.result}.a_transposed") if trans_a else x
    bias, rest = _bias(call, w.shape[0])
    name = f"{call.result}.product" if rest is not None else ""
    y = _dense(call, x, w, call.node.inputs[1], bias, name)
    return y if rest is None else call.emit("add", y, rest)


def _gemm_of_activations(call: Call) -> Value:
    """``alpha * A' @ B' + beta * C``, both computed."""
    alpha, r = call.node.get_float("alpha", 1.0), call.result
    plain, added = alpha == 1, call.has(2)
    product = call.emit(
        "batch_matmul",
        call.value(0),
        call.value(1),
        name="" if plain and not added else f"{r}.product",
        adj_x=call.node.get_int("transA", 0) != 0,
        adj_y=call.node.get_int("transB", 0) != 0,
    )
    if not plain:
        factor = call.constant(f"{r}.alpha", np.full(1, alpha, np.float32))
        product = call.emit("mul", product, factor, name=f"{r}.scaled" if added else "")
    return call.emit("add", product, _scaled_addend(call)) if added else product


def _gemm_of_constant(call: Call, alpha: np.float32, trans_a: bool, trans_b: bool) -> Value:
    """``A @ B = (B.T @ A.T).T`` for a constant A."""
    a = call.array(0, "neither operand is constant: the first")
    x = call.value(1)
    x = x if trans_b else call.transpose(x, (1, 0), f"{call.result}.b_transposed")
    w = turned(a, (1, 0)) if trans_a else a
    w = w if alpha == 1 else alpha * w
    y = _dense(call, x, w, call.node.inputs[0], None, f"{call.result}.transposed")
    addend = _scaled_addend(call) if call.has(2) else None
    product = call.transpose(y, (1, 0), f"{call.result}.product" if addend is not None else "")
    return product if addend is None else call.emit("add", product, addend)


def _bias(call: Call, channels: int) -> tuple[Value | None, Value | None]:
    """C of Gemm as a bias of one element per channel, or else as an addend of its own."""
    if not call.has(2):
        return None, None
    if not call.is_constant_input(2):
        return None, _scaled_addend(call)
    c = call.array(2)
    if c.size != 1 and (c.size != channels or c.shape[-1] != channels):
        return None, _scaled_addend(call)
    beta = np.float32(call.node.get_float("beta", 1.0))
    vector = np.broadcast_to(c.reshape(-1) * beta, (channels,))
    return call.constant(call.node.inputs[2], vector), None


def _scaled_addend(call: Call) -> Value:
    beta = np.float32(call.node.get_float("beta", 1.0))
    if call.is_constant_input(2):
        return call.constant(call.node.inputs[2], call.array(2) * beta)
    if beta == 1:
        return call.value(2)
    factor = call.constant(f"{call.result}.beta", np.full(1, beta))
    return call.emit("mul", call.value(2), factor, name=f"{call.result}.addend")


def _is_matrix(call: Call, i: int) -> bool:
    """Whether operand ``i`` is constant, and one matrix or vector."""
    shape = call.shape(i)
    leads = shape[:-2] == (1,) * (len(shape) - 2) and len(shape) <= max(len(call.shape(1 - i)), 2)
    return call.is_constant_input(i) and leads


def _matmul_of_activations(call: Call) -> Value:
    """``A @ B`` for every matrix; a vector counts as a row on the left, a column on the right."""
    a, b = call.value(0), call.value(1)
    row, column = len(a.shape) == 1, len(b.shape) == 1
    left = call.reshape(a, (1, *a.shape), f"{call.result}.row") if row else a
    right = call.reshape(b, (*b.shape, 1), f"{call.result}.column") if column else b
    y = call.emit(
        "batch_matmul", left, right, name=f"{call.result}.product" if row or column else ""
    )
    rows = y.shape[:-2] if row else y.shape[:-1]
    return call.reshape(y, rows if column else (*rows, y.shape[-1]))


def matmul(call: Call) -> Value:
    """``A @ B``; with a constant matrix, a dense layer."""
    if not (call.shape(0) and call.shape(1)):
        raise ModelFormatError("a product with a scalar", expected="one dimension or more")
    if not _is_matrix(call, 1) and not (_is_matrix(call, 0) and len(call.shape(0)) > 1):
        return _matmul_of_activations(call)
    if not call.is_constant_input(1):
        return _matmul_of_constant(call)
    w = _matrix(call, 1)
    x = call.value(0)
    is_vector = len(x.shape) == 1
    row = call.reshape(x, (1, *x.shape), f"{call.result}.row") if is_vector else x
    columns = w[:, None] if w.ndim == 1 else w
    rows = turned(columns, (1, 0))
    dropped = is_vector or w.ndim == 1
    name = f"{call.result}.product" if dropped else ""
    y = _dense(call, row, rows, call.node.inputs[1], None, name)
    return call.reshape(y, (*x.shape[:-1], *w.shape[1:]))


def _matmul_of_constant(call: Call) -> Value:
    """``A @ B = (B.T @ A.T).T`` over the last two dimensions, for a constant A."""
    a, x = _matrix(call, 0), call.value(1)
    if len(x.shape) == 1:
        row = call.reshape(x, (1, *x.shape), f"{call.result}.row")
        y = _dense(call, row, a, call.node.inputs[0], None, f"{call.result}.product")
        return call.reshape(y, (a.shape[0],))
    rank = len(x.shape)
    swap = (*range(rank - 2), rank - 1, rank - 2)
    columns = call.transpose(x, swap, f"{call.result}.b_transposed")
    y = _dense(call, columns, a, call.node.inputs[0], None, f"{call.result}.transposed")
    return call.transpose(y, swap)


def _matrix(call: Call, i: int) -> Array:
    """Operand ``i``, constant, without leading dimensions of 1 beyond the second."""
    matrix = call.array(i, "neither operand is constant: the first" if i == 0 else "the weights")
    if matrix.ndim > 2:
        if matrix.shape[:-2] != (1,) * (matrix.ndim - 2) or matrix.ndim > len(call.shape(1 - i)):
            raise UnsupportedError(
                f"a product with constant weights of shape {list(matrix.shape)}",
                expected="one matrix",
                hint="split the product into one per matrix",
            )
        matrix = matrix.reshape(matrix.shape[-2:])
    return matrix


def _normalized(call: Call, x: Value) -> Value:
    """The same where parameters are computed: op by op."""
    r, shape = call.result, (x.shape[1], *(1,) * (len(x.shape) - 2))
    scale, bias, mean, variance = (
        call.reshape(call.value(i), shape, f"{r}.{name}")
        for i, name in enumerate(("scale", "bias", "mean", "variance"), start=1)
    )
    epsilon = call.constant(
        f"{r}.epsilon", np.full(1, call.node.get_float("epsilon", 1e-5), np.float32)
    )
    spread = call.emit("add", variance, epsilon, name=f"{r}.spread")
    slope = call.emit(
        "mul", scale, call.emit("rsqrt", spread, name=f"{r}.rsqrt"), name=f"{r}.slope"
    )
    centred = call.emit("sub", x, mean, name=f"{r}.centred")
    return call.emit("add", call.emit("mul", centred, slope, name=f"{r}.scaled"), bias)


def batch_normalization(call: Call) -> Value:
    """``(x - mean) / sqrt(var + epsilon) * scale + B``, per channel (dimension 1)."""
    node = call.node
    is_training = node.get_int("training_mode", 0) != 0 or any(node.outputs[1:])
    if is_training or not node.get_int("spatial", 1):
        raise UnsupportedError(
            "BatchNormalization " + ("in training mode" if is_training else "with spatial=0"),
            expected="inference with one scale per channel",
            hint="export the model for inference (in PyTorch: model.eval())",
        )
    x = call.value(0)
    rank, names = len(x.shape), ("scale", "B", "mean", "var")
    if rank < 2:
        raise ModelFormatError(f"the input is {x.type}", expected="(n, c, ...)")
    if not all(call.is_constant_input(i) for i in range(1, 5)):
        return _normalized(call, x)
    arrays = [call.array(i, f"'{name}'") for i, name in enumerate(names, start=1)]
    parameters = [call.constant(node.inputs[i], array) for i, array in enumerate(arrays, start=1)]
    epsilon = node.get_float("epsilon", 1e-5)
    if np.any(call.array(4) + np.float32(epsilon) <= 0):
        raise ModelFormatError(
            "the variance is not positive",
            tensor=parameters[3].describe(),
            hint="check that the training converged, and export the model again",
        )
    last = call.transpose(x, (0, *range(2, rank), 1), f"{x.name}.nhwc")
    y = call.emit("batch_norm", last, *parameters, epsilon=epsilon)
    return call.transpose(y, (0, rank - 1, *range(1, rank - 1)), f"{call.result}.nchw")
