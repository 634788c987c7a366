"""floor, ceil and round: to whole numbers, in float."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tinyrt.ops.shared.lut import infer_float
from tinyrt.ops.shared.spec import Array, NoAttrs, OpSpec, Quant
from tinyrt.ops.shared.traits import Traits
from tinyrt.ops.sign import no_vjp


def _ref_f32(function: Any, attrs: NoAttrs, x: Array) -> Array:
    del attrs
    return np.asarray(function(x))


FLOOR, CEIL, ROUND = (
    OpSpec(
        name=name,
        attrs=NoAttrs,
        arity=(1, 1),
        infer=infer_float,
        quant=Quant.BY_TABLE,
        ref_f32=partial(_ref_f32, function),
        vjp=no_vjp,
        traits=Traits(elementwise=True),
    )
    # NumPy rounds halves to even, as TFLite does.
    for name, function in (("floor", np.floor), ("ceil", np.ceil), ("round", np.round))
)
