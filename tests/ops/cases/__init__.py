"""Random cases of every op: shapes and attributes only; ``build`` makes graphs of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np

from tests.ops.build import Case, Rng
from tests.ops.cases import elementwise, shaping, unary, windowed

CASES: dict[str, Callable[[Rng], Case]] = {
    "abs": unary.abs_,
    "add": elementwise.add,
    "average_pool2d": windowed.average_pool2d,
    "batch_norm": elementwise.batch_norm,
    "ceil": unary.ceil,
    "concatenation": shaping.concatenation,
    "conv2d": windowed.conv2d,
    "cos": unary.cos,
    "depthwise_conv2d": windowed.depthwise_conv2d,
    "dequantize": elementwise.dequantize,
    "elu": unary.elu,
    "exp": unary.exp,
    "floor": unary.floor,
    "fully_connected": windowed.fully_connected,
    "gelu": unary.gelu,
    "hard_swish": unary.hard_swish,
    "leaky_relu": unary.leaky_relu,
    "log": unary.log,
    "logistic": elementwise.logistic,
    "max_pool2d": windowed.max_pool2d,
    "maximum": elementwise.maximum,
    "mean": shaping.mean,
    "minimum": elementwise.minimum,
    "mul": elementwise.mul,
    "neg": unary.neg,
    "pad": shaping.pad,
    "quantize": elementwise.quantize,
    "relu": elementwise.relu,
    "relu6": elementwise.relu6,
    "relu_0_to_1": unary.relu_0_to_1,
    "relu_n1_to_1": elementwise.relu_n1_to_1,
    "reshape": shaping.reshape,
    "round": unary.round_,
    "rsqrt": unary.rsqrt,
    "sign": unary.sign,
    "sin": unary.sin,
    "softmax": elementwise.softmax,
    "sqrt": unary.sqrt,
    "square": unary.square,
    "sub": elementwise.sub,
    "tanh": elementwise.tanh,
    "transpose": shaping.transpose,
}


def rng_of(op: str, seed: int) -> Rng:
    """The generator of one case: the same in every run and on every machine."""
    return np.random.default_rng([zlib.crc32(op.encode()), seed])
