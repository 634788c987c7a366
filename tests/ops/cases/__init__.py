"""Random cases of every op: shapes and attributes only; ``build`` makes graphs of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np

from tests.ops.build import Case, Rng
from tests.ops.cases import elementwise, moving, pairs, reducing, shaping, stateful, unary, windowed

CASES: dict[str, Callable[[Rng], Case]] = {
    "abs": unary.abs_,
    "add": elementwise.add,
    "arg_max": reducing.arg_max,
    "arg_min": reducing.arg_min,
    "average_pool2d": windowed.average_pool2d,
    "batch_matmul": reducing.batch_matmul,
    "batch_norm": elementwise.batch_norm,
    "broadcast_to": moving.broadcast_to,
    "cast": reducing.cast,
    "ceil": unary.ceil,
    "concatenation": shaping.concatenation,
    "conv2d": windowed.conv2d,
    "cos": unary.cos,
    "cumsum": reducing.cumsum,
    "depth_to_space": moving.depth_to_space,
    "depthwise_conv2d": windowed.depthwise_conv2d,
    "dequantize": elementwise.dequantize,
    "div": pairs.div,
    "elu": unary.elu,
    "equal": pairs.equal,
    "erf": unary.erf,
    "exp": unary.exp,
    "fake_quantize": unary.fake_quantize,
    "floor": unary.floor,
    "fully_connected": windowed.fully_connected,
    "gather": moving.gather,
    "gelu": unary.gelu,
    "greater": pairs.greater,
    "greater_equal": pairs.greater_equal,
    "hard_swish": unary.hard_swish,
    "leaky_relu": unary.leaky_relu,
    "less": pairs.less,
    "less_equal": pairs.less_equal,
    "log": unary.log,
    "log_softmax": reducing.log_softmax,
    "logical_and": pairs.logical_and,
    "logical_not": pairs.logical_not,
    "logical_or": pairs.logical_or,
    "logistic": elementwise.logistic,
    "max_pool2d": windowed.max_pool2d,
    "maximum": elementwise.maximum,
    "mean": shaping.mean,
    "minimum": elementwise.minimum,
    "mirror_pad": moving.mirror_pad,
    "mul": elementwise.mul,
    "neg": unary.neg,
    "not_equal": pairs.not_equal,
    "pad": shaping.pad,
    "pow": pairs.pow_,
    "prelu": pairs.prelu,
    "quantize": elementwise.quantize,
    "reduce_max": reducing.reduce_max,
    "reduce_min": reducing.reduce_min,
    "reduce_prod": reducing.reduce_prod,
    "relu": elementwise.relu,
    "relu6": elementwise.relu6,
    "relu_0_to_1": unary.relu_0_to_1,
    "relu_n1_to_1": elementwise.relu_n1_to_1,
    "reshape": shaping.reshape,
    "resize_bilinear": moving.resize_bilinear,
    "resize_nearest_neighbor": moving.resize_nearest_neighbor,
    "round": unary.round_,
    "rsqrt": unary.rsqrt,
    "select_v2": pairs.select_v2,
    "sign": unary.sign,
    "sin": unary.sin,
    "slice": moving.slice_,
    "softmax": elementwise.softmax,
    "space_to_depth": moving.space_to_depth,
    "sqrt": unary.sqrt,
    "square": unary.square,
    "squared_difference": pairs.squared_difference,
    "sub": elementwise.sub,
    "sum": reducing.sum_,
    "svdf": stateful.svdf,
    "tanh": elementwise.tanh,
    "tile": moving.tile,
    "transpose": shaping.transpose,
    "transpose_conv": windowed.transpose_conv,
    "unidirectional_sequence_lstm": stateful.lstm,
}


def rng_of(op: str, seed: int) -> Rng:
    """The generator of one case: the same in every run and on every machine."""
    return np.random.default_rng([zlib.crc32(op.encode()), seed])
