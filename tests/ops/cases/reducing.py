"""Random cases of reductions, casts and products of two activations."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.ops.build import Case, Rng
from tests.ops.cases.elementwise import shape_of
from tests.ops.cases.shaping import mean
from tests.ops.cases.windowed import ints
from tinyrt.ir import DType
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.cast import CASTABLE, CastAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.detection_postprocess import DetectionPostprocessAttrs
from tinyrt.ops.l2_normalization import L2NormalizationAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.topk_v2 import TopkV2Attrs


def _reduce(op: str, rng: Rng) -> Case:
    found = mean(rng)
    return Case(op, ReduceAttrs(found.attrs.axes, found.attrs.keep_dims), found.shapes)


sum_ = partial(_reduce, "sum")
reduce_max = partial(_reduce, "reduce_max")
reduce_min = partial(_reduce, "reduce_min")


def reduce_prod(rng: Rng) -> Case:
    """Up to nine factors: more of random sizes would leave what float32 holds."""
    shape = ints(rng, 1, 3, int(rng.integers(1, 5)))
    axes = rng.choice(len(shape), size=int(rng.integers(1, min(len(shape), 2) + 1)), replace=False)
    attrs = ReduceAttrs(tuple(int(a) for a in axes), bool(rng.random() < 0.5))
    return Case("reduce_prod", attrs, (shape,))


def _arg(op: str, rng: Rng) -> Case:
    shape = ints(rng, 1, 6, int(rng.integers(2, 5)))
    axis = int(rng.integers(-len(shape), len(shape)))
    if rng.random() < 0.4:  # rows, which have kernels of their own where they are long
        shape, axis = (shape[0], int(rng.integers(1, 70))), -1
    dtype = DType.INT32 if rng.random() < 0.5 else DType.INT64
    return Case(op, ArgAttrs(axis, dtype), (shape,))


arg_max = partial(_arg, "arg_max")
arg_min = partial(_arg, "arg_min")


def topk_v2(rng: Rng) -> Case:
    """Of rows of any length, up to all of their elements."""
    shape = ints(rng, 1, 9, int(rng.integers(1, 4)))
    return Case("topk_v2", TopkV2Attrs(int(rng.integers(1, shape[-1] + 1))), (shape,))


def cast(rng: Rng) -> Case:
    """From any type to any other."""
    source, target = rng.choice(len(CASTABLE), 2, replace=False)
    attrs = CastAttrs(CASTABLE[int(target)])
    return Case("cast", attrs, (shape_of(rng),), input_dtypes=(CASTABLE[int(source)],))


def log_softmax(rng: Rng) -> Case:
    """Rows of any length."""
    return Case("log_softmax", NoAttrs(), (shape_of(rng),))


def l2_normalization(rng: Rng) -> Case:
    """Rows of any length."""
    return Case("l2_normalization", L2NormalizationAttrs(), (shape_of(rng),))


def batch_matmul(rng: Rng) -> Case:
    """Either operand transposed; batches that broadcast."""
    m, k, n = ints(rng, 1, 6, 3)
    attrs = BatchMatmulAttrs(bool(rng.random() < 0.4), bool(rng.random() < 0.4))
    batch = ints(rng, 1, 3, int(rng.integers(0, 3)))
    a = (*batch, *((k, m) if attrs.adj_x else (m, k)))
    single = batch[1:] if batch and rng.random() < 0.4 else batch
    b = (*single, *((n, k) if attrs.adj_y else (k, n)))
    return Case("batch_matmul", attrs, (a, b))


def cumsum(rng: Rng) -> Case:
    """Any axis, in either direction."""
    shape = ints(rng, 1, 6, int(rng.integers(1, 5)))
    axis = int(rng.integers(-len(shape), len(shape)))
    attrs = CumsumAttrs(axis, bool(rng.random() < 0.5), bool(rng.random() < 0.5))
    return Case("cumsum", attrs, (shape,))


def detection_postprocess(rng: Rng) -> Case:
    """A few boxes, class by class; the other way TFLM does not write what it has no box for."""
    boxes, classes, background = int(rng.integers(1, 40)), int(rng.integers(1, 5)), rng.integers(2)
    attrs = DetectionPostprocessAttrs(
        max_detections=int(rng.integers(1, 12)),
        num_classes=classes,
        score_threshold=float(np.float32(rng.choice([-5.0, 0.0, 0.3]))),
        iou_threshold=float(np.float32(rng.choice([0.1, 0.5, 1.0]))),
        y_scale=10.0,
        x_scale=8.0,
        h_scale=5.0,
        w_scale=4.0,
        use_regular_nms=True,
        detections_per_class=int(rng.integers(1, 6)),
    )
    coordinates = 4 + int(rng.integers(3))
    shapes = (1, boxes, coordinates), (1, boxes, classes + int(background)), (boxes, 4)
    return Case("detection_postprocess", attrs, shapes, frozenset({2} if background else ()))
