"""Depthwise convolutions on packed constants: what their kernels need, and their calls.

Filters of 3 x 3 with one stride for both axes have a kernel that computes one channel's plane after
the other. It holds the whole filter in registers and slides along the longer axis, so it reads
every activation once for each output line that uses it. A line of outputs may overwrite a line of
inputs, of which the kernel saves one channel's elements. This one line is all its scratch memory.

The other filters have a kernel that computes four channels' planes at a time, along rows, over a
list of taps with widened weights, dilated or not. Where the window reaches over the input's border,
the kernel copies these channels of each input row once, into as many lines as the window is high,
with the zero point around them: then no output needs to know of the border. It also copies where
several filters read one input channel: the copy repeats the channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.block import Packed
from tinyrt.backends.c.blocks.layer import (
    BLOCK_SETS,
    MAX_SINGLE_SUM,
    QUAD,
    Layer,
    PackedRequant,
    constants_of,
    pack_requant,
    simplify,
)
from tinyrt.backends.c.blocks.nibbles import pack_filters_s4, pack_nibbles
from tinyrt.backends.c.blocks.stored import requant_arrays
from tinyrt.backends.c.clamp import clamp_calls
from tinyrt.backends.c.fields import nhwc, window_fields
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import (
    Arg,
    Call,
    Data,
    Fields,
    Kernel,
    Null,
    Number,
    Params,
    Scratch,
    Target,
    call,
)
from tinyrt.fixedpoint import INT8_MIN
from tinyrt.ir import BoundNode, DType, Shape
from tinyrt.memory.sweep import Sweep, planes_by_lines, planes_by_rows
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window

TAPS_PER_ENTRY = {InstructionSet.SCALAR: 1, InstructionSet.DSP: 2}
"""Taps of one ``tinyrt_tap_entry``: an offset for each, and one word for each of four channels."""

LONG_ROW = 16
"""Columns from which a row counts as long."""

FILTER_ORDER = [0, 1, 3, 4, 2, 6, 5, 7, 8]
"""Taps of a 3 x 3 filter, row by row, in the order that makes pairs of one column of four bytes."""


WIDE_ORDER = [0, 3, 1, 4, 2, 5, 6, 7, 8]
"""The same of taps of 16 bits, which lie in pairs as they are."""

BITS = {DType.INT4: 4, DType.INT8: 8, DType.INT16: 16}
"""Dtype of weights -> their bits."""

FACTOR_BIT = 1 << 5
"""The bit in shifts beside 4-bit weights that stands for a factor of two of a channel's weights."""


@dataclass(frozen=True, eq=False)
class Filters:
    """A depthwise layer that the packed kernels can take.

    Attributes:
        layer: its integers, (channels, taps).
        x_zp: the input's zero point.
        bits: of a weight as the kernel reads it.
        slides: whether ``tinyrt_depthwise3x3_s8`` takes the layer.

    """

    layer: Layer
    x_zp: int
    bits: int
    slides: bool

    @cached_property
    def w(self) -> NDArray[Any]:
        """Weights (taps, channels): int8, or int16 where they are wide."""
        w = self.layer.w
        if self.bits == 4 and self.slides:
            w = w >> self.layer.raised[:, None]
        return np.asarray(w.T, np.int16 if self.bits == 16 else np.int8)

    @property
    def suffix(self) -> str:
        """What the names of its kernels end in."""
        return "wide_s8" if self.bits == 16 else f"s{self.bits}"

    @cached_property
    def listed(self) -> NDArray[np.int8]:
        """Weights as lists of taps are filled from them: bytes, of four bits two to each."""
        if self.bits == 16:
            return as_bytes(self.w)
        return pack_nibbles(self.w) if self.bits == 4 else self.w

    @cached_property
    def init(self) -> NDArray[np.int32]:
        """``bias - x_zp * sum(w)`` for each channel."""
        return self.layer.first_sums(self.x_zp).astype(np.int32)

    @cached_property
    def requant(self) -> PackedRequant:
        """Mantissas and shifts."""
        if self.bits == 4 and self.slides:
            return pack_requant(self.layer, more=1 + self.layer.raised * FACTOR_BIT)
        return pack_requant(self.layer, more=int(self.slides))


def filters_of(
    node: BoundNode, window: Window, x_zp: int, requant: Requant, isa: InstructionSet
) -> Filters | None:
    """The layer for the packed kernels, found once; None where only the general one will do."""
    if isa not in BLOCK_SETS:
        return None
    key = "filters", isa  # kernel, dilation and strides are the same on a few rows
    return node.noted_of_constants(key, lambda: _filters_of(node, window, x_zp, requant))


def _filters_of(node: BoundNode, window: Window, x_zp: int, requant: Requant) -> Filters | None:
    constants = constants_of(node)
    if constants is None:
        return None
    w, bias = constants
    channels = node.output.shape[3]
    by_channel = w.reshape(-1, channels).T
    bits = BITS[node.input(1).dtype]
    if channels == node.input(0).shape[3] and is_3x3(window):
        layer = simplify(by_channel, bias, x_zp, requant, MAX_SINGLE_SUM, bits=max(bits, 8))
        if layer is not None:
            return Filters(layer, x_zp, bits, slides=True)
    if channels % QUAD:
        return None
    layer = simplify(by_channel, bias, x_zp, requant, MAX_SINGLE_SUM, raises=False)
    return None if layer is None else Filters(layer, x_zp, bits, slides=False)


def is_3x3(window: Window) -> bool:
    """Whether the window is one of ``tinyrt_depthwise3x3_s8``."""
    plain = window.kernel == (3, 3) and window.dilation == (1, 1)
    return plain and window.stride in ((1, 1), (2, 2))


def has_few_rows(window: Window, x: Shape) -> bool:
    """Whether ``tinyrt_depthwise_rows3_s8`` takes the layer: a few short rows of a segment.

    Where rows are long, the set-up per row costs little, and the kernel for whole tensors serves.
    """
    columns = window.before[1] == window.after[1] == 1
    return window.on_rows and window.stride == (1, 1) and columns and 1 < x[2] < LONG_ROW


def slides_down(window: Window, x: Shape) -> bool:
    """Whether that kernel slides along columns: set-up costs less if columns are the longer lines.

    Only where outputs lie as inputs do, so that outputs may overwrite inputs.
    """
    return window.out == x[1:3] and x[1] > x[2]


def pack_filters(w: NDArray[Any], down: bool, bits: int = 8) -> NDArray[np.int8]:
    """Filters of 3 x 3, (taps, channels), as the kernel for weights of so many bits reads them.

    Those of eight are (channels, 9), see ``tinyrt_load_filter3_s8``; those of 16 likewise, of two
    bytes each, see ``tinyrt_load_filter3_wide``; for four, see ``pack_filters_s4``.
    """
    planes = w.reshape(3, 3, -1)
    lines = planes.transpose(1, 0, 2) if down else planes
    taps = lines.reshape(9, -1)
    if bits == 16:
        return as_bytes(taps[WIDE_ORDER].T)
    return pack_filters_s4(taps.T) if bits == 4 else taps[FILTER_ORDER].T


def as_bytes(wide: NDArray[np.int16]) -> NDArray[np.int8]:
    """Weights of 16 bits as pairs of bytes, the lower one first."""
    return np.ascontiguousarray(wide, np.dtype("<i2")).view(np.int8)


def depthwise_kernel(
    node: BoundNode, filters: Filters, window: Window, requant: Requant, target: Target
) -> Kernel:
    """The kernel ``tinyrt_depthwise3x3_s8``, ``_rows3_s8`` or ``_block_s8``."""
    chosen = _Sliding if filters.slides else _Listed
    layer = chosen(node, filters, window, requant, target)
    limits = requant.act_min, requant.act_max
    return Kernel(
        lambda: (layer.call(), *clamp_calls(node, *limits)), layer.scratch_bytes, layer.sweep
    )


@dataclass(frozen=True, slots=True)
class _Depthwise:
    """A layer with its kernel's choices.

    Attributes:
        node: the op.
        filters: its constants.
        window: how they slide.
        requant: limits and zero point of the output.
        target: the instruction set, and whether code is to be small.

    """

    node: BoundNode
    filters: Filters
    window: Window
    requant: Requant
    target: Target

    @property
    def shapes(self) -> tuple[Shape, Shape]:
        """Of input and output."""
        return self.node.input(0).shape, self.node.output.shape

    def constants(self) -> Fields:
        """First sums, mantissas and shifts."""
        init, requant = self.filters.init, self.filters.requant
        packed = Packed(init, init, requant)
        return {"init": Data("init", init), **requant_arrays(packed), "y_zp": self.requant.y_zp}


class _Sliding(_Depthwise):
    """Filters of 3 x 3 that slide, each in registers."""

    @property
    def few(self) -> bool:
        """Whether there are a few rows only."""
        return has_few_rows(self.window, self.shapes[0])

    @property
    def signed(self) -> bool:
        """Whether two lines at once pay for code that takes the signs of sums.

        Not where the code is to fit other scales: with some zero points it needs none.
        """
        alike = self.window.stride == (1, 1) and self.window.out == self.shapes[0][1:3]
        signs = self.requant.y_zp != INT8_MIN and self.filters.bits == 8
        fast = self.target.isa is InstructionSet.DSP and not self.target.small
        return alike and signs and fast and self.target.choices is None

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the saved line."""
        saves = self.window.stride == (1, 1) and not self.few
        return max(self.shapes[0][1:3]) if saves else 0

    def sweep(self) -> Sweep | None:
        """Line by line of each channel; none for a few rows."""
        down = slides_down(self.window, self.shapes[0])
        return None if self.few else planes_by_lines(self.node, self.window, down)

    def call(self) -> Call:
        """The call of ``tinyrt_depthwise3x3_s8`` or ``tinyrt_depthwise_rows3_s8``."""
        (x, y), window, filters = self.shapes, self.window, self.filters
        down = slides_down(window, x) and not self.few
        rows, columns = (_axis(x, y, window, axis) for axis in (0, 1))
        if self.few:
            rows = {name: rows[name] for name in ("x_step", "y_step")}
        fields: Fields = {
            "images": x[0],
            "channels": x[3],
            "stride": window.stride[0],
            "along": rows if down else columns,
            "across": columns if down else rows,
            "x_zp": filters.x_zp,
            "w": Data("w", self._packed(down)),
            **self.constants(),
        }
        params = Params("tinyrt_depthwise3x3_s8_params", fields)
        source, target = self.node.input(0), self.node.output
        if self.few:
            kernel = f"tinyrt_depthwise_rows3_{filters.suffix}"
            return call(kernel, params, Number(window.out[0]), source, target)
        kernel = f"tinyrt_depthwise3x3{'_signed' if self.signed else ''}_{filters.suffix}"
        return call(kernel, params, source, Scratch(), target)

    def _packed(self, down: bool) -> NDArray[np.int8]:
        """The filters as the kernel reads them, packed once."""
        w, bits = self.filters.w, self.filters.bits
        key = "sliding", self.target.isa, down
        return self.node.noted_of_constants(key, lambda: pack_filters(w, down, bits))


def _axis(x: Shape, y: Shape, window: Window, axis: int) -> Fields:
    """``tinyrt_axis`` of rows (0) or columns (1)."""
    count = slice(2 + axis, 4)
    return {
        "x_count": x[1 + axis],
        "x_step": int(np.prod(x[count])),
        "y_count": y[1 + axis],
        "y_step": int(np.prod(y[count])),
        "pad": window.before[axis],
    }


class _Listed(_Depthwise):
    """Filters as lists of taps, four channels at a time."""

    @property
    def spread(self) -> bool:
        """Whether several filters read one channel."""
        return self.shapes[0][3] != self.shapes[1][3]

    @property
    def line_bytes(self) -> int:
        """Of four channels of one padded input row; 0 where rows are read in place.

        They are where each channel has a single filter that never leaves the input.
        """
        window = self.window
        if not self.spread and not any((*window.before, *window.after)):
            return 0
        return ((window.out[1] - 1) * window.stride[1] + self._reach(1)) * QUAD

    def _reach(self, axis: int) -> int:
        """Rows (0) or columns (1) from the window's first tap to its last."""
        return (self.window.kernel[axis] - 1) * self.window.dilation[axis] + 1

    @property
    def list_bytes(self) -> int:
        """Of the list of taps."""
        taps = TAPS_PER_ENTRY[self.target.isa]
        entries = -(-self.window.kernel[0] * self.window.kernel[1] // taps)
        return entries * 4 * (taps + QUAD)

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the tap list and the lines."""
        return self.list_bytes + self._reach(0) * self.line_bytes

    def sweep(self) -> Sweep | None:
        """Row by row of four channels; none where several filters read one channel."""
        if self.spread:
            return None
        return planes_by_rows(self.node, self.window, copied=self.line_bytes > 0)

    def call(self) -> Call:
        """The call of ``tinyrt_depthwise_block_s8`` or one of its like."""
        (x, y), filters = self.shapes, self.filters
        fields: Fields = {
            "x": nhwc(x),
            "y": nhwc(y),
            "window": window_fields(self.window),
            "x_zp": filters.x_zp,
            "line_bytes": self.line_bytes,
            "w": Data("w", filters.listed),
            **self.constants(),
        }
        params = Params("tinyrt_depthwise_block_s8_params", fields)
        taps = Scratch(pointer="tinyrt_tap_entry *")
        lines: Arg = Scratch(self.list_bytes) if self.line_bytes else Null()
        fine = "_fine" if filters.requant.shift.min() < 1 else ""
        if filters.bits == 16:
            fine = ""  # its requantisation takes any scale
        kernel = f"tinyrt_depthwise_block{'_spread' if self.spread else fine}_{filters.suffix}"
        return call(kernel, params, self.node.input(0), taps, lines, self.node.output)
