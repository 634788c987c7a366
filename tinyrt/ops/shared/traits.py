"""Traits of ops that hold for all tensors; passes and training read them instead of op names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Dims(Enum):
    """How an attribute refers to dimensions."""

    AXIS = "the number of one dimension"
    AXES = "the numbers of several dimensions"
    EACH = "one entry for each dimension"


TABLE_BY_A_NUMBER = "that of two tensors has none, while by one constant number it is a table"
"""Of ops that are tables where their second operand is one number."""


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of an op. A trait that is set holds; a trait that is not set may hold too.

    Attributes:
        elementwise: each output element follows from the inputs' elements at the same position;
            inputs may be broadcast.
        truth: an element-wise op that reads or returns truth values or changes the type, and so is
            no function of real numbers.
        channelwise: each output channel follows from the same channel of the inputs alone, as long
            as the channels stay the last dimension.
        homogeneous: under the same condition, a positive factor on a channel of all inputs is the
            same factor on that channel of the output.
        nonnegative: no element of the output is below 0.
        keeps_positive: a function of one number that gives back each one from 0 on.
        selects: each output element is an element of an input, or 0 in a border around them.
        dims: attribute -> how it refers to dimensions, for an op that works in any layout that
            inputs and output share. None if the op needs one layout, or if it is ``elementwise``.
        activation: the op's name as an activation fused into its producer.
        fuses: whether an activation op that follows may become its attribute ``activation``.
        biased: whether a file always holds a bias, of zeros if the op has none. Without a bias,
            several runtimes refuse the op or read past its inputs.
        skips_zeros: whether C kernels exist that skip zero weights.
        plain_integers: whether the op also takes integers that stand for themselves, of any type
            that its shape rule takes: int8 and int16 without a scale, and unsigned ones.
        takes: what the op takes without a scale, for tables of ops: ``f32``, or ``int`` for plain
            integers, or both.
        in_tflite: whether the .tflite format has the op.
        not_in_integers: the reason why the op has no integer form.
        not_on_devices: the reason why the op has no C kernel on floats.

    """

    elementwise: bool = False
    truth: bool = False
    channelwise: bool = False
    homogeneous: bool = False
    nonnegative: bool = False
    keeps_positive: bool = False
    selects: bool = False
    dims: Mapping[str, Dims] | None = None
    activation: str = ""
    fuses: bool = False
    biased: bool = False
    skips_zeros: bool = False
    plain_integers: bool = False
    takes: str = "f32"
    in_tflite: bool = True
    not_in_integers: str = ""
    not_on_devices: str = ""


NO_TRAITS = Traits()
"""For an op with no known traits."""
