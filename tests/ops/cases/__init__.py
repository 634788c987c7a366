"""Random cases of every op: shapes and attributes only; ``build`` makes graphs of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial

import numpy as np

from tests.ops.build import Case, Rng
from tests.ops.cases import (
    elementwise,
    moving,
    pairs,
    reducing,
    shaping,
    signal,
    stateful,
    unary,
    windowed,
)
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import NoAttrs

PLAIN = sorted(
    name
    for name, spec in OPS.items()
    if spec.traits.elementwise and not spec.traits.truth and spec.arity == (1, 1)
    if spec.attrs is NoAttrs
)
"""Element-wise ops of one input without attributes: nothing more is to be said for their cases."""

CASES: dict[str, Callable[[Rng], Case]] = {
    **{op: partial(elementwise.unary, op, NoAttrs()) for op in PLAIN},
    "add": elementwise.add,
    "arg_max": reducing.arg_max,
    "arg_min": reducing.arg_min,
    "average_pool2d": windowed.average_pool2d,
    "batch_matmul": reducing.batch_matmul,
    "batch_norm": elementwise.batch_norm,
    "broadcast_to": moving.broadcast_to,
    "cast": reducing.cast,
    "concatenation": shaping.concatenation,
    "conv2d": windowed.conv2d,
    "cumsum": reducing.cumsum,
    "depth_to_space": moving.depth_to_space,
    "depthwise_conv2d": windowed.depthwise_conv2d,
    "detection_postprocess": reducing.detection_postprocess,
    "div": pairs.div,
    "embedding": moving.embedding,
    "equal": pairs.equal,
    "fake_quantize": unary.fake_quantize,
    "floor_div": pairs.floor_div,
    "floor_mod": pairs.floor_mod,
    "fully_connected": windowed.fully_connected,
    "gather": moving.gather,
    "gather_nd": moving.gather_nd,
    "gelu": unary.gelu,
    "greater": pairs.greater,
    "greater_equal": pairs.greater_equal,
    "l2_normalization": reducing.l2_normalization,
    "leaky_relu": unary.leaky_relu,
    "less": pairs.less,
    "less_equal": pairs.less_equal,
    "log_softmax": reducing.log_softmax,
    "logical_and": pairs.logical_and,
    "logical_not": pairs.logical_not,
    "logical_or": pairs.logical_or,
    "max_pool2d": windowed.max_pool2d,
    "maximum": elementwise.maximum,
    "mean": shaping.mean,
    "minimum": elementwise.minimum,
    "mirror_pad": moving.mirror_pad,
    "mul": elementwise.mul,
    "not_equal": pairs.not_equal,
    "pad": shaping.pad,
    "pointwise": unary.pointwise,
    "pow": pairs.pow_,
    "prelu": pairs.prelu,
    "quantize": elementwise.quantize,
    "reduce_max": reducing.reduce_max,
    "reduce_min": reducing.reduce_min,
    "reduce_prod": reducing.reduce_prod,
    "reshape": shaping.reshape,
    "resize_bilinear": moving.resize_bilinear,
    "resize_nearest_neighbor": moving.resize_nearest_neighbor,
    "select_v2": pairs.select_v2,
    "signal_delay": signal.delay,
    "signal_energy": signal.energy,
    "signal_fft_auto_scale": signal.fft_auto_scale,
    "signal_filter_bank": signal.filter_bank,
    "signal_filter_bank_log": signal.filter_bank_log,
    "signal_filter_bank_spectral_subtraction": signal.spectral_subtraction,
    "signal_filter_bank_square_root": signal.filter_bank_square_root,
    "signal_framer": signal.framer,
    "signal_irfft": signal.irfft,
    "signal_overlap_add": signal.overlap_add,
    "signal_pcan": signal.pcan,
    "signal_rfft": signal.rfft,
    "signal_stacker": signal.stacker,
    "signal_window": signal.window,
    "slice": moving.slice_,
    "dynamic_update_slice": moving.dynamic_update_slice,
    "slice_at": moving.slice_at,
    "softmax": elementwise.softmax,
    "space_to_depth": moving.space_to_depth,
    "squared_difference": pairs.squared_difference,
    "sub": elementwise.sub,
    "sum": reducing.sum_,
    "svdf": stateful.svdf,
    "tile": moving.tile,
    "topk_v2": reducing.topk_v2,
    "transpose": shaping.transpose,
    "transpose_conv": windowed.transpose_conv,
    "unidirectional_sequence_lstm": stateful.lstm,
}


def rng_of(op: str, seed: int) -> Rng:
    """The generator of one case: the same in every run and on every machine."""
    return np.random.default_rng([zlib.crc32(op.encode()), seed])
