"""fake_quantize: float values rounded to a quantisation grid, where the model prescribes one.

The op stands for a pair of ONNX's QuantizeLinear and DequantizeLinear on an activation while the
passes run. After that, its grid becomes the quantisation parameters of its output tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import DType, QParams, TensorType
from tinyrt.ir.verifier import QUANTIZED
from tinyrt.ops.shared.lut import infer_float
from tinyrt.ops.shared.spec import Array, OpSpec, Quant, limits_of
from tinyrt.ops.shared.traits import Traits


@dataclass(frozen=True, slots=True)
class FakeQuantizeAttrs:
    """The grid ``scale * (q - zero_point)``, for all integers q of the dtype."""

    scale: float = 1.0
    zero_point: int = 0
    dtype: DType = DType.INT8

    @property
    def q(self) -> QParams:
        """The parameters of an integer tensor on this grid."""
        return QParams((self.scale,), self.zero_point)


def infer(attrs: FakeQuantizeAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """float32 of any shape -> the same."""
    types = infer_float(attrs, inputs)
    limits = limits_of(attrs.dtype) if attrs.dtype in QUANTIZED else (0, -1)
    tiny, most = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    if not limits[0] <= attrs.zero_point <= limits[1] or not tiny <= attrs.scale <= most:
        raise ShapeError(
            f"a grid of {attrs.dtype.value}: scale {attrs.scale}, zero point {attrs.zero_point}",
            expected="int8 or int16, a float32 scale above 0, and a zero point of that dtype",
        )
    return types


def ref_f32(attrs: FakeQuantizeAttrs, x: Array) -> Array:
    """``scale * (clip(round(x / scale) + zero_point) - zero_point)``, halves to even as in ONNX."""
    scale = np.float32(attrs.scale)
    steps = np.rint(x / scale).astype(np.float64) + attrs.zero_point
    steps = np.clip(steps, *limits_of(attrs.dtype)) - attrs.zero_point
    return np.asarray(steps * scale, x.dtype)


FAKE_QUANTIZE = OpSpec(
    name="fake_quantize",
    attrs=FakeQuantizeAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.FLOAT_ONLY,
    ref_f32=ref_f32,
    traits=Traits(
        elementwise=True,
        in_tflite=False,
        not_in_integers="it is what says which integers a model asks for",
        not_on_devices="it stands for a tensor's parameters while a model is converted; "
        "quantise it",
    ),
)
