"""One file per op; ``OPS`` is the table that everything else reads."""

from __future__ import annotations

from collections.abc import Collection

from tinyrt.ir import Graph, Stage
from tinyrt.ir import verify as _verify
from tinyrt.ops.add import ADD, SUB
from tinyrt.ops.average_pool2d import AVERAGE_POOL2D
from tinyrt.ops.batch_norm import BATCH_NORM
from tinyrt.ops.concatenation import CONCATENATION
from tinyrt.ops.conv2d import CONV2D
from tinyrt.ops.depthwise_conv2d import DEPTHWISE_CONV2D
from tinyrt.ops.elu import ELU
from tinyrt.ops.exponential import EXP, LOG
from tinyrt.ops.fully_connected import FULLY_CONNECTED
from tinyrt.ops.gelu import GELU
from tinyrt.ops.hard_swish import HARD_SWISH
from tinyrt.ops.leaky_relu import LEAKY_RELU
from tinyrt.ops.logistic import LOGISTIC
from tinyrt.ops.max_pool2d import MAX_POOL2D
from tinyrt.ops.mean import MEAN
from tinyrt.ops.minimum_maximum import MAXIMUM, MINIMUM
from tinyrt.ops.mul import MUL
from tinyrt.ops.pad import PAD
from tinyrt.ops.quantize import DEQUANTIZE, QUANTIZE
from tinyrt.ops.relu import RELU, RELU6, RELU_0_TO_1, RELU_N1_TO_1
from tinyrt.ops.reshape import RESHAPE
from tinyrt.ops.roots import RSQRT, SQRT, SQUARE
from tinyrt.ops.rounding import CEIL, FLOOR, ROUND
from tinyrt.ops.sign import ABS, NEG, SIGN
from tinyrt.ops.softmax import SOFTMAX
from tinyrt.ops.spec import OpSpec
from tinyrt.ops.tanh import TANH
from tinyrt.ops.transpose import TRANSPOSE
from tinyrt.ops.trigonometry import COS, SIN

OPS: dict[str, OpSpec] = {
    spec.name: spec
    for spec in (
        ABS,
        ADD,
        AVERAGE_POOL2D,
        BATCH_NORM,
        CEIL,
        CONCATENATION,
        CONV2D,
        COS,
        DEPTHWISE_CONV2D,
        DEQUANTIZE,
        ELU,
        EXP,
        FLOOR,
        FULLY_CONNECTED,
        GELU,
        HARD_SWISH,
        LEAKY_RELU,
        LOG,
        LOGISTIC,
        MAXIMUM,
        MAX_POOL2D,
        MEAN,
        MINIMUM,
        MUL,
        NEG,
        PAD,
        QUANTIZE,
        RELU,
        RELU6,
        RELU_0_TO_1,
        RELU_N1_TO_1,
        RESHAPE,
        ROUND,
        RSQRT,
        SIGN,
        SIN,
        SOFTMAX,
        SQRT,
        SQUARE,
        SUB,
        TANH,
        TRANSPOSE,
    )
}


def verify(graph: Graph, stage: Stage | None = None, placed: Collection[str] = ()) -> Graph:
    """Check a graph against ``OPS`` and return it; see ``tinyrt.ir.verify``."""
    return _verify(graph, OPS, stage, placed)


__all__ = ["OPS", "OpSpec", "verify"]
