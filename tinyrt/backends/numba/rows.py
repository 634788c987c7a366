"""Groups of arguments that several kernels have in common."""

from __future__ import annotations

from typing import NamedTuple

from tinyrt.backends.finishes import Finish
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window


class Images(NamedTuple):
    """A batch of images (height, width, channels), one behind the other."""

    batch: int
    height: int
    width: int
    channels: int


class Border(NamedTuple):
    """Height and width of an image with its border; where the image begins; what the border is."""

    height: int
    width: int
    top: int
    left: int
    fill: int


class Slide(NamedTuple):
    """How a window slides along an axis: so many elements go in, so many come out.

    The first window begins ``before`` elements in front of the input.
    """

    inputs: int
    outputs: int
    kernel: int
    stride: int
    before: int

    @classmethod
    def of(cls, window: Window, inputs: int, outputs: int, axis: int) -> Slide:
        """Along the rows (axis 0) or the columns (axis 1)."""
        kernel, stride, before = window.kernel, window.stride, window.before
        return cls(inputs, outputs, kernel[axis], stride[axis], before[axis])


class Output(NamedTuple):
    """The output's zero point, the limits of its raw values, and how sums become it."""

    zero_point: int
    low: int
    high: int
    finish: int

    @classmethod
    def of(cls, requant: Requant, finish: Finish = Finish.GENERAL) -> Output:
        """That of a layer with weights."""
        return cls(requant.y_zp, requant.act_min, requant.act_max, finish)


class Scale(NamedTuple):
    """What ``requant`` multiplies with: mantissa and shifts, one of which is 0."""

    mult: int
    left: int
    right: int

    @classmethod
    def of(cls, mult: int, shift: int) -> Scale:
        """From mantissa and exponent."""
        return cls(mult, max(shift, 0), max(-shift, 0))


class Axes(NamedTuple):
    """Some axes: how many, and tables of their sizes and of the distances along each."""

    rank: int
    dims: int
    steps: int


class Side(NamedTuple):
    """How a walk moves in one tensor: blocks lie along ``axes``, runs and elements so far apart."""

    at: int
    axes: Axes
    row: int
    step: int


class Groups(NamedTuple):
    """How many groups of channels there are, and what lies between those of two."""

    number: int
    w_bytes: int
    quant_bytes: int


class Product(NamedTuple):
    """What ``product_tile`` takes besides input, weights, constants and output.

    Attributes:
        pixels: outputs of an image; their windows begin at ``offsets``.
        steps: where each of ``step_count`` steps of four bytes lies from there.
        tiles: the shape of each of ``tile_count`` groups of vectors of channels.
        channels: outputs of a pixel.
        stride: bytes between two pixels of the output.

    """

    pixels: int
    offsets: int
    steps: int
    step_count: int
    tiles: int
    tile_count: int
    channels: int
    stride: int
    out: Output
