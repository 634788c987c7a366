"""A model's inputs and outputs, as its C header describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyrt.export import text as c_text
from tinyrt.export.rendering import Source
from tinyrt.ir import DType, Shape, Value
from tinyrt.memory import ArenaPlan
from tinyrt.text import clean


@dataclass(frozen=True, slots=True)
class Port:
    """A model input or output, as the C header describes it.

    Attributes:
        name: the tensor's name in the model.
        dtype: element type.
        shape: as in the model.
        offset: its reserved place in its region of the arena, in bytes; None without one, such as
            for an input that is pushed row by row.
        nbytes: its size.
        scale: real value of one step; None for a tensor that is not quantised.
        zero_point: the value that stands for zero; None likewise.
        region: which region of the arena the reserved place is in, in the order of their cost.

    """

    name: str
    dtype: DType
    shape: Shape
    offset: int | None
    nbytes: int
    scale: float | None
    zero_point: int | None
    region: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The port as plain data, for ``--json``."""
        return {
            "name": self.name,
            "dtype": self.dtype.value,
            "shape": list(self.shape),
            "scale": self.scale,
            "zero_point": self.zero_point,
            "offset": self.offset,
            "bytes": self.nbytes,
        }

    @property
    def c_type(self) -> str:
        """C type of an element."""
        return c_text.c_type(self.dtype)

    @property
    def c_shape(self) -> Source:
        """Initialiser of the shape."""
        return Source(c_text.literal(self.shape))

    @property
    def c_scale(self) -> str:
        """Literal of the scale."""
        return c_text.literal(self.scale)

    @property
    def limits(self) -> tuple[int, int] | None:
        """Least and greatest value of a quantised port of up to 16 bits; None of any other."""
        if self.scale is None or self.dtype not in (DType.INT8, DType.UINT8, DType.INT16):
            return None
        info = np.iinfo(self.dtype.numpy)
        return int(info.min), int(info.max)

    @property
    def c_far(self) -> str:
        """Literal of steps that are beyond the limits from whatever zero point."""
        low, high = self.limits or (0, 0)
        return c_text.literal(float(high - low + 1))

    @property
    def c_name(self) -> Source:
        """The name in quotes, for a comment."""
        return Source(f"'{clean(self.name)}'")


def port_of(value: Value, plan: ArenaPlan) -> Port:
    """The port of a model input or output."""
    q = value.q if value.q is not None and len(value.q.scales) == 1 else None
    return Port(
        value.name,
        value.dtype,
        value.shape,
        plan.offsets.get(value.name),
        value.nbytes,
        q.scale if q else None,
        q.zero_point if q else None,
        plan.region_of.get(value.name, 0),
    )
