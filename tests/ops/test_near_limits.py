"""What lies exactly at a limit of an op is taken, and what is one step beyond is refused."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.ops.quantised import constant, node_of, s8, s16, value, weights
from tinyrt.errors import TinyrtError
from tinyrt.ir import DType, TensorType
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.detection_postprocess import MOST_DETECTIONS, DetectionPostprocessAttrs
from tinyrt.ops.detection_postprocess import infer as detections
from tinyrt.ops.dynamic_update_slice import infer as updated
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.l2_normalization import MAX_LENGTH, L2NormalizationAttrs
from tinyrt.ops.log_softmax import require_summable as summable
from tinyrt.ops.shared.requant import MIN_RIGHT, multiplier, reduced
from tinyrt.ops.shared.spec import NoAttrs, qparams
from tinyrt.ops.shared.walks import MAX_RANK, merge_axes
from tinyrt.ops.shared.window import MAX_EXTENT, Window
from tinyrt.ops.signal_fft import SignalFftAttrs, infer_rfft
from tinyrt.ops.slice_at import SliceAtAttrs
from tinyrt.ops.slice_at import infer as picked
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs
from tinyrt.ops.unidirectional_sequence_lstm import require_summable as require_sums


@dataclass(frozen=True)
class Limit:
    """A call with the last number that is taken, and with the first that is refused."""

    call: Callable[[Any], object]
    taken: Any
    refused: Any
    problem: str


def normalised(length: int) -> object:
    x, out = s8(1, 2, length), s8(1, 2, length, scale=1 / 128)
    node = node_of("l2_normalization", L2NormalizationAttrs(), [x], [out])
    return OPS["l2_normalization"].prepared(node)


def detected(**options: Any) -> object:
    numbers = {"score_threshold": 0.1, "iou_threshold": 0.5, "max_detections": 3, "num_classes": 2}
    scales = dict.fromkeys(("y_scale", "x_scale", "h_scale", "w_scale"), 1.0)
    attrs = DetectionPostprocessAttrs(**{**numbers, **scales, **options})
    shapes = (1, 5, 4), (1, 5, 2), (5, 4)
    return detections(attrs, [TensorType(DType.FLOAT32, shape) for shape in shapes])


def window(kernel: int = 1, dilation: int = 1, stride: int = 1, size: int = 1) -> object:
    steps = (stride, 1), "SAME", (dilation, 1)
    return Window.of((size, 1), (kernel, 1), *steps)


def places(rank: int) -> list[TensorType]:
    return [TensorType(DType.INT32, (rank,))]


def part_of(rank: int) -> object:
    x = TensorType(DType.FLOAT32, (2,) * rank)
    return updated(NoAttrs(), [x, x, *places(rank)])


def picked_of(rank: int, size: int = 2) -> object:
    x = TensorType(DType.FLOAT32, (2,) * rank)
    return picked(SliceAtAttrs((size,) * rank), [x, *places(rank)])


def walked(rank: int) -> object:
    """Axes of which no two can be one."""
    return merge_axes([2] * rank, [3**i for i in range(rank)])


def fixed(right: int) -> object:
    """A multiplier whose right shift is that."""
    return reduced(1 << 30, 15 - right, s16(1))


def compared(scale: float) -> object:
    ports = [s8(2, scale=scale), s8(2)], [value(DType.BOOL, 2, scale=0.0)]
    return OPS["less"].prepared(node_of("less", NoAttrs(), *ports))


def on_grid(scale: float = 0.5, zp: int = 0, dtype: DType = DType.INT8) -> object:
    types = [TensorType(DType.FLOAT32, (2,))]
    return OPS["fake_quantize"].infer(FakeQuantizeAttrs(scale, zp, dtype), types)


def by_softmax(beta: float) -> object:
    return OPS["softmax"].infer(SoftmaxAttrs(beta), [TensorType(DType.FLOAT32, (2,))])


def spectrum(length: int) -> object:
    return infer_rfft(SignalFftAttrs(length), [TensorType(DType.INT16, (4,))])


def summed(bias: int, dtype: DType, bias_dtype: DType) -> object:
    """The sums of an LSTM of one unit, one input and weights of 1."""
    biases = [constant(bias_dtype, 1, fill=n) for n in (0, bias, 0, 0)]
    ports = [value(dtype, 1, 1, 1), *[weights(1, 1)] * 8, *biases], [s8(1, 1, 1)]
    node = node_of("unidirectional_sequence_lstm", LstmAttrs(), *ports)
    return require_sums(node, SimpleNamespace(h_dtype=dtype))


TINY, MOST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
LEAST = float(np.finfo(np.float32).smallest_subnormal)

LIMITS = {
    "a scale of what is compared": Limit(compared, 1 - 2.0**-24, 1.0, "scale 1"),
    "the least scale of a grid": Limit(on_grid, TINY, TINY / 2, "a grid of"),
    "the greatest scale of a grid": Limit(on_grid, MOST, 2 * MOST, "a grid of"),
    "the least zero point of a grid": Limit(lambda n: on_grid(zp=n), -128, -129, "a grid of"),
    "the greatest": Limit(lambda n: on_grid(zp=n), 127, 128, "a grid of"),
    "the greatest of int16": Limit(
        lambda n: on_grid(zp=n, dtype=DType.INT16), 32767, 32768, "a grid of"
    ),
    "the least scale": Limit(lambda x: qparams(s8(2, scale=x)), LEAST, LEAST / 2, "scale"),
    "the greatest scale": Limit(lambda x: qparams(s8(2, scale=x)), MOST, 2 * MOST, "scale"),
    "the least beta": Limit(by_softmax, LEAST, 0.0, "beta"),
    "the greatest beta": Limit(by_softmax, MOST, 2 * MOST, "beta"),
    "samples of a spectrum": Limit(spectrum, 1 << 16, 10 * 3**8, "fft_length"),
    "all factors of a spectrum": Limit(spectrum, 240, 84, "fft_length"),
    "a row's length of log_softmax": Limit(
        lambda n: summable(s8(1, n)), (1 << 12) - 1, 1 << 12, "over 4096 elements"
    ),
    "a sum of an LSTM": Limit(
        lambda n: summed(n, DType.INT8, DType.INT32), 2**31 - 257, 2**31 - 256, "accumulator"
    ),
    "a sum of an LSTM of int16": Limit(
        lambda n: summed(n, DType.INT16, DType.INT64),
        *(2**47 - 2**15 - 1, 2**47 - 2**15, "accumulator"),
    ),
    "a row's length": Limit(normalised, MAX_LENGTH, MAX_LENGTH + 1, "rows of 33001 elements"),
    "detections": Limit(
        lambda n: detected(max_detections=n), MOST_DETECTIONS, MOST_DETECTIONS + 1, "detections"
    ),
    "one detection": Limit(lambda n: detected(max_detections=n), 1, 0, "0 detections"),
    "one of a class": Limit(lambda n: detected(detections_per_class=n), 1, 0, "0 of a class"),
    "an overlap of all": Limit(
        lambda x: detected(iou_threshold=x), 1.0, 1.0 + 2.0**-20, "iou_threshold"
    ),
    "no overlap": Limit(lambda x: detected(iou_threshold=x), 1e-9, 0.0, "iou_threshold"),
    "classes": Limit(lambda n: detected(num_classes=n), 1, 0, "0 classes"),
    "as many classes as scores": Limit(lambda n: detected(num_classes=n), 2, 3, "3 classes"),
    "taps": Limit(lambda n: window(kernel=n), MAX_EXTENT, MAX_EXTENT + 1, "kernel is"),
    "one tap": Limit(lambda n: window(kernel=n), 1, 0, "kernel is"),
    "a stride": Limit(lambda n: window(stride=n), MAX_EXTENT, MAX_EXTENT + 1, "stride is"),
    "steps between taps": Limit(
        lambda n: window(kernel=2, dilation=n), MAX_EXTENT - 1, MAX_EXTENT, "reaches over 65,537"
    ),
    "dimensions of a part": Limit(part_of, MAX_RANK, MAX_RANK + 1, "input is"),
    "dimensions of what is picked from": Limit(picked_of, MAX_RANK, MAX_RANK + 1, "input is"),
    "all there is": Limit(lambda n: picked_of(3, n), 2, 3, "elements of"),
    "one element": Limit(lambda n: picked_of(3, n), 1, 0, "elements of"),
    "axes": Limit(walked, MAX_RANK, MAX_RANK + 1, "7 dim"),
    "a right shift": Limit(fixed, MIN_RIGHT, MIN_RIGHT - 1, "differ by too much"),
    "a ratio": Limit(multiplier, 2.0**30 - 2.0**-20, 2.0**30, "differ by a factor"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_what_lies_at_a_limit_is_taken_and_the_next_is_not(name):
    limit = LIMITS[name]
    limit.call(limit.taken)
    with pytest.raises(TinyrtError, match=limit.problem):
        limit.call(limit.refused)


@pytest.mark.parametrize("make", [s8, s16])
@pytest.mark.parametrize("op", ["mean", "sum"])
def test_no_reduction_shifts_by_more_bits_than_a_sum_has(op, make):
    """However many elements it has, and however fine their steps are beside the output's."""
    for count, bits in product((1, 3, 300, 4096, 1 << 20), (-9, 0, 8, 20, 30, 31, 40)):
        given, made = make(count, scale=0.5), make(1, scale=0.5 * 2.0**bits)
        attrs = OPS[op].attrs((0,), keep_dims=True)
        record = OPS[op].prepared(node_of(op, attrs, [given], [made]))
        assert -31 <= record.shift <= 30
        wanted = 2.0**-bits / (count if op == "mean" else 1)
        found = record.mult * 2.0 ** (record.shift - 31)
        assert found == pytest.approx(wanted, rel=1e-4, abs=2.0**-32)


RATIOS = {
    "add": (AddAttrs(), 2, lambda bits, x: 2 * x / 2.0**bits, (20, 15)),
    "sub": (AddAttrs(), 2, lambda bits, x: 2 * x / 2.0**bits, (20, 15)),
    "squared_difference": (NoAttrs(), 2, lambda bits, x: 4 * x * x / 4.0**bits, (7, 0)),
    "cumsum": (CumsumAttrs(0), 1, lambda bits, x: 2 * x / 2.0**bits, (20,)),
}
"""Op -> its attributes, its inputs' number, the output's scale from which on there is no multiplier
below 1, and bits by which inputs of int8, and of int16 where there are such, are raised."""


@pytest.mark.parametrize(
    ("op", "make", "bits"),
    [
        (op, *one)
        for op, (*_, raised) in RATIOS.items()
        for one in zip((s8, s16), raised, strict=False)
    ],
)
def test_an_output_has_steps_that_its_inputs_fit(op, make, bits):
    attrs, count, limit_of, _ = RATIOS[op]
    limit = limit_of(bits, 0.5)
    for scale, fits in ((np.nextafter(np.float32(limit), np.float32(1e9)), True), (limit, False)):
        node = node_of(op, attrs, [make(4, scale=0.5)] * count, [make(4, scale=float(scale))])
        if fits:
            OPS[op].prepared(node)
        else:
            with pytest.raises(TinyrtError, match="differ by a factor of 1"):
                OPS[op].prepared(node)
