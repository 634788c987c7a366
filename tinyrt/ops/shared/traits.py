"""What is true of an op whatever its tensors are: passes and training ask here, not for names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Dims(Enum):
    """What an attribute says of dimensions."""

    AXIS = "the number of one dimension"
    AXES = "the numbers of several dimensions"
    EACH = "one entry for each dimension"


@dataclass(frozen=True, slots=True)
class Traits:
    """Facts that others rely on: each one that is set holds. One that is not set may hold, too.

    Attributes:
        elementwise: each element of the output follows from the inputs' elements at its place, of
            which some may repeat.
        truth: element by element, it gives truth values, reads them, or changes the type; it is no
            function of real numbers.
        channelwise: where the channels, the last dimension, stay a dimension of their own, each of
            the output follows from the inputs' same channel alone.
        homogeneous: likewise, a positive factor on a channel of all inputs is the same factor on
            that channel of the output.
        nonnegative: no element of the output is below 0.
        selects: each element of the output is one of the inputs', or 0 around them.
        dims: attribute -> what it says of dimensions, where the op works in any layout that inputs
            and output share. None where it is tied to one, and where ``elementwise`` says it all.
        activation: what the op is called where it is fused into the op in front of it.
        fuses: whether an activation right behind the op may become its attribute ``activation``.
        biased: whether files hold its bias, zeros where it has none: several runtimes refuse such
            ops without, or read past their inputs.
        skips_zeros: whether there are C kernels that leave out zeros among its weights.
        in_tflite: whether the .tflite format has the op.
        not_in_integers: why it makes no sense in integers, where it has no such form.
        not_on_devices: why it makes no sense on a device, where it has no C kernel on floats.

    """

    elementwise: bool = False
    truth: bool = False
    channelwise: bool = False
    homogeneous: bool = False
    nonnegative: bool = False
    selects: bool = False
    dims: Mapping[str, Dims] | None = None
    activation: str = ""
    fuses: bool = False
    biased: bool = False
    skips_zeros: bool = False
    in_tflite: bool = True
    not_in_integers: str = ""
    not_on_devices: str = ""


NO_TRAITS = Traits()
"""Of an op of which nothing is known beyond its record."""
