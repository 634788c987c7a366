"""The ops, one file each, and their table ``OPS``, which all other packages read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from tinyrt.ir import BoundNode, Graph, Node, Stage
from tinyrt.ir import verify as _verify
from tinyrt.ops.add import ADD, SUB
from tinyrt.ops.arg import ARG_MAX, ARG_MIN
from tinyrt.ops.average_pool2d import AVERAGE_POOL2D
from tinyrt.ops.batch_matmul import BATCH_MATMUL
from tinyrt.ops.batch_norm import BATCH_NORM
from tinyrt.ops.cast import CAST
from tinyrt.ops.comparison import (
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    NOT_EQUAL,
)
from tinyrt.ops.concatenation import CONCATENATION
from tinyrt.ops.conv2d import CONV2D
from tinyrt.ops.cumsum import CUMSUM
from tinyrt.ops.depth_to_space import DEPTH_TO_SPACE, SPACE_TO_DEPTH
from tinyrt.ops.depthwise_conv2d import DEPTHWISE_CONV2D
from tinyrt.ops.detection_postprocess import DETECTION_POSTPROCESS
from tinyrt.ops.div import DIV
from tinyrt.ops.dynamic_update_slice import DYNAMIC_UPDATE_SLICE
from tinyrt.ops.elu import ELU
from tinyrt.ops.embedding import EMBEDDING
from tinyrt.ops.erf import ERF
from tinyrt.ops.exponential import EXP, LOG
from tinyrt.ops.fake_quantize import FAKE_QUANTIZE
from tinyrt.ops.floor_div import FLOOR_DIV
from tinyrt.ops.floor_mod import FLOOR_MOD
from tinyrt.ops.fully_connected import FULLY_CONNECTED
from tinyrt.ops.gather import GATHER
from tinyrt.ops.gather_nd import GATHER_ND
from tinyrt.ops.gelu import GELU
from tinyrt.ops.hard_swish import HARD_SWISH
from tinyrt.ops.l2_normalization import L2_NORMALIZATION
from tinyrt.ops.leaky_relu import LEAKY_RELU
from tinyrt.ops.log_softmax import LOG_SOFTMAX
from tinyrt.ops.logical import LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR
from tinyrt.ops.logistic import LOGISTIC
from tinyrt.ops.max_pool2d import MAX_POOL2D
from tinyrt.ops.mean import MEAN
from tinyrt.ops.minimum_maximum import MAXIMUM, MINIMUM
from tinyrt.ops.mirror_pad import MIRROR_PAD
from tinyrt.ops.mul import MUL
from tinyrt.ops.pad import PAD
from tinyrt.ops.pointwise import pointwise_of
from tinyrt.ops.pow import POW
from tinyrt.ops.prelu import PRELU
from tinyrt.ops.quantize import DEQUANTIZE, QUANTIZE
from tinyrt.ops.reduce import REDUCE_MAX, REDUCE_MIN, SUM
from tinyrt.ops.reduce_prod import REDUCE_PROD
from tinyrt.ops.relu import RELU, RELU6, RELU_0_TO_1, RELU_N1_TO_1
from tinyrt.ops.repeat import BROADCAST_TO, TILE
from tinyrt.ops.reshape import RESHAPE
from tinyrt.ops.resize import RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR
from tinyrt.ops.roots import RSQRT, SQRT, SQUARE
from tinyrt.ops.rounding import CEIL, FLOOR, ROUND
from tinyrt.ops.select_v2 import SELECT_V2
from tinyrt.ops.shared.lut import lut_s8
from tinyrt.ops.shared.spec import Form, OpSpec, PreparedT, Quant
from tinyrt.ops.sign import ABS, NEG, SIGN
from tinyrt.ops.signal_fft import SIGNAL_FFT_AUTO_SCALE, SIGNAL_IRFFT, SIGNAL_RFFT
from tinyrt.ops.signal_filter_bank import (
    SIGNAL_ENERGY,
    SIGNAL_FILTER_BANK,
    SIGNAL_FILTER_BANK_LOG,
    SIGNAL_FILTER_BANK_SQUARE_ROOT,
)
from tinyrt.ops.signal_frames import (
    SIGNAL_DELAY,
    SIGNAL_FRAMER,
    SIGNAL_OVERLAP_ADD,
    SIGNAL_STACKER,
)
from tinyrt.ops.signal_noise import SIGNAL_FILTER_BANK_SPECTRAL_SUBTRACTION, SIGNAL_PCAN
from tinyrt.ops.signal_window import SIGNAL_WINDOW
from tinyrt.ops.slice import SLICE
from tinyrt.ops.slice_at import SLICE_AT
from tinyrt.ops.softmax import SOFTMAX
from tinyrt.ops.squared_difference import SQUARED_DIFFERENCE
from tinyrt.ops.svdf import SVDF
from tinyrt.ops.tanh import TANH
from tinyrt.ops.topk_v2 import TOPK_V2
from tinyrt.ops.transpose import TRANSPOSE
from tinyrt.ops.transpose_conv import TRANSPOSE_CONV
from tinyrt.ops.trigonometry import COS, SIN
from tinyrt.ops.unidirectional_sequence_lstm import UNIDIRECTIONAL_SEQUENCE_LSTM

OPS: dict[str, OpSpec[Any]] = {}
OPS |= {
    spec.name: spec
    for spec in (
        ABS,
        ADD,
        ARG_MAX,
        ARG_MIN,
        AVERAGE_POOL2D,
        BATCH_MATMUL,
        BATCH_NORM,
        BROADCAST_TO,
        CAST,
        CEIL,
        CONCATENATION,
        CONV2D,
        COS,
        CUMSUM,
        DEPTHWISE_CONV2D,
        DEPTH_TO_SPACE,
        DEQUANTIZE,
        DETECTION_POSTPROCESS,
        DIV,
        DYNAMIC_UPDATE_SLICE,
        ELU,
        EMBEDDING,
        EQUAL,
        ERF,
        EXP,
        FLOOR,
        FLOOR_DIV,
        FLOOR_MOD,
        FAKE_QUANTIZE,
        FULLY_CONNECTED,
        GATHER,
        GATHER_ND,
        GELU,
        GREATER,
        GREATER_EQUAL,
        HARD_SWISH,
        L2_NORMALIZATION,
        LEAKY_RELU,
        LESS,
        LESS_EQUAL,
        LOG,
        LOGICAL_AND,
        LOGICAL_NOT,
        LOGICAL_OR,
        LOGISTIC,
        LOG_SOFTMAX,
        MAXIMUM,
        MAX_POOL2D,
        MEAN,
        MINIMUM,
        MIRROR_PAD,
        MUL,
        NEG,
        NOT_EQUAL,
        PAD,
        pointwise_of(OPS),
        POW,
        PRELU,
        QUANTIZE,
        REDUCE_MAX,
        REDUCE_MIN,
        REDUCE_PROD,
        RELU,
        RELU6,
        RELU_0_TO_1,
        RELU_N1_TO_1,
        RESHAPE,
        RESIZE_BILINEAR,
        RESIZE_NEAREST_NEIGHBOR,
        ROUND,
        RSQRT,
        SELECT_V2,
        SIGN,
        SIGNAL_DELAY,
        SIGNAL_ENERGY,
        SIGNAL_FFT_AUTO_SCALE,
        SIGNAL_FILTER_BANK,
        SIGNAL_FILTER_BANK_LOG,
        SIGNAL_FILTER_BANK_SPECTRAL_SUBTRACTION,
        SIGNAL_FILTER_BANK_SQUARE_ROOT,
        SIGNAL_FRAMER,
        SIGNAL_IRFFT,
        SIGNAL_OVERLAP_ADD,
        SIGNAL_PCAN,
        SIGNAL_RFFT,
        SIGNAL_STACKER,
        SIGNAL_WINDOW,
        SIN,
        SLICE,
        SLICE_AT,
        SOFTMAX,
        SPACE_TO_DEPTH,
        SQRT,
        SQUARE,
        SQUARED_DIFFERENCE,
        SUB,
        SUM,
        SVDF,
        TANH,
        TILE,
        TOPK_V2,
        TRANSPOSE,
        TRANSPOSE_CONV,
        UNIDIRECTIONAL_SEQUENCE_LSTM,
    )
}


def ops_where(holds: Callable[[OpSpec[Any]], bool]) -> frozenset[str]:
    """Names of the ops whose record satisfies ``holds``."""
    return frozenset(name for name, spec in OPS.items() if holds(spec))


TABLES = ops_where(lambda spec: Form.INT8 in spec.forms and spec.forms[Form.INT8].ref is lut_s8)
"""Ops whose int8 form is a table of 256 entries."""


def prepared(node: BoundNode, kind: type[PreparedT]) -> PreparedT:
    """The precomputed constants of a quantised node, checked to have the type ``kind``.

    See ``OpSpec.prepared``.

    Raises:
        VerifyError: the op has no such form, or parameters break its rules.
        TypeError: the constants have another type.

    """
    record = OPS[node.op].prepared(node)
    if not isinstance(record, kind):
        raise TypeError(f"{node.op} prepares {type(record).__name__}, not {kind.__name__}")
    return record


def is_weighted(node: BoundNode | Node) -> bool:
    """Whether the node multiplies with weights: a convolution or a dense layer."""
    return OPS[node.op].quant is Quant.WEIGHTED


def verify(
    graph: Graph,
    stage: Stage | None = None,
    placed: Collection[str] = (),
    verified: dict[int, BoundNode] | None = None,
) -> Graph:
    """Check a graph against ``OPS`` and return it; see ``tinyrt.ir.verifier``."""
    return _verify(graph, OPS, stage, placed, verified)


__all__ = ["OPS", "TABLES", "OpSpec", "is_weighted", "ops_where", "prepared", "verify"]
