"""Convolutions and dense layers as products of columns with quads of output channels.

A pointwise convolution of stride 1 is a dense layer whose rows are pixels; other windows are copied
into columns pixel by pixel. General kernels compute the layers that ``block`` refuses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tinyrt.backends.c.blocks import fours, row_bytes, winograd
from tinyrt.backends.c.blocks.block import Block, LongBlock, Packed, pair_block
from tinyrt.backends.c.blocks.cost import FOUR, TILES, TilePairs
from tinyrt.backends.c.blocks.form_cost import Prices, Sizes, patches_of, prices_of
from tinyrt.backends.c.blocks.four_cost import WindowGroups, dense_four_cost, window_four_cost
from tinyrt.backends.c.blocks.layer import BLOCK_SETS, QUAD, constants_of
from tinyrt.backends.c.blocks.nibbles import nibble_block
from tinyrt.backends.c.blocks.relu import ReluScales, relu_of, suffix
from tinyrt.backends.c.blocks.stored import block_fields, stored_fields
from tinyrt.backends.c.blocks.words import (
    column_bytes,
    rows_at_a_time,
    single_bytes,
)
from tinyrt.backends.c.blocks.zeros import blocks_bytes, costs, kept_call, runs_of
from tinyrt.backends.c.clamp import clamp_calls
from tinyrt.backends.c.fields import nhwc, window_fields
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import (
    Arg,
    Calls,
    Fields,
    Kernel,
    Number,
    Params,
    Scratch,
    Target,
    call,
    unordered,
)
from tinyrt.backends.c.weights import Cost, Stored, Weights
from tinyrt.ir import BoundNode, DType, Shape, Value
from tinyrt.memory.sweep import columns, windows, windows_together
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window

COLUMNS = 2
"""Columns that the kernels multiply at once."""

WINDOW_KERNEL, ROWS_KERNEL = "tinyrt_window_block", "tinyrt_window_rows"
"""Starts of the names of kernels for images, and for rows."""


def block_of(node: BoundNode, x_zp: int, requant: Requant, isa: InstructionSet) -> Block | None:
    """The layer for the packed kernels, found once; None where only the general one will do."""
    if isa not in BLOCK_SETS:
        return None
    return node.noted_of_constants(("block", isa), lambda: _block_of(node, x_zp, requant, isa))


def _block_of(node: BoundNode, x_zp: int, requant: Requant, isa: InstructionSet) -> Block | None:
    constants = constants_of(node)
    if constants is None or node.input(1).dtype is DType.INT16:
        return None
    w, bias = constants
    by_channel = w.reshape(w.shape[0], -1)
    wide = pair_block(by_channel, bias, x_zp, requant, isa)
    if node.input(1).dtype is not DType.INT4:
        return wide
    narrow = nibble_block(by_channel, bias, x_zp, requant, isa)
    if narrow is None or _is_mostly_zeros(wide, narrow):
        return wide
    return narrow


def _is_mostly_zeros(wide: Block | None, narrow: Block) -> bool:
    """Whether 8-bit weights without blocks of zeros take fewer bytes than all weights in 4 bits."""
    if wide is None:
        return False
    # Sums of nibbles are too short for runs of zeros that are too long.
    return blocks_bytes(runs_of(wide, QUAD, wide.taps), QUAD) <= narrow.nbytes


def _stored(node: BoundNode, block: Block, forms: Mapping[Weights, Cost], target: Target) -> Stored:
    """The form of the weights: 4-bit ones take no 8 bits whole where blocks take fewer bytes."""
    stored, blocks = target.stored(node.index, forms), forms.get(Weights.BLOCKS)
    is_whole = stored.form is Weights.DENSE and node.input(1).dtype is DType.INT4
    if is_whole and target.choices is None and blocks is not None and blocks.nbytes < block.nbytes:
        return replace(stored, form=Weights.BLOCKS)
    return stored


def is_pointwise(window: Window) -> bool:
    """Whether output pixels read just the input pixel of the same place."""
    return window.kernel == (1, 1) and window.stride == (1, 1)


def matrix_of(node: BoundNode) -> tuple[int, int]:
    """The input matrix of a dense layer or pointwise convolution: elements of a row, and rows."""
    c_in = node.input(1).size // node.output.shape[-1]
    return c_in, node.input(0).size // c_in


def columns_scratch(block: Block, rows: int) -> int:
    """Bytes of one or two columns."""
    if rows == 1:
        return single_bytes(block.taps, block.isa)
    return COLUMNS * column_bytes(block.taps, block.isa)


COLUMNS_POINTER = "tinyrt_taps_word *"
"""The type of scratch memory as columns."""


@dataclass(frozen=True, slots=True)
class _Dense:
    """A dense layer, or a pointwise convolution.

    Attributes:
        node: the op.
        block: its weights.
        requant: limits and zero point of its output.
        c_in: elements of a row.
        rows: how many rows.
        fours: whether dense weights go through ``tinyrt_dense_four_s8``.
        raised: whether these have no sign there.
        sliced: whether it may be made in parts.
        thresholds: whether outputs count thresholds, as kernels for eight channels do not.

    """

    node: BoundNode
    block: Block
    requant: Requant
    c_in: int
    rows: int
    fours: bool
    raised: bool
    sliced: bool
    thresholds: bool = False

    @property
    def eights(self) -> bool:
        """Whether ``tinyrt_dense_row_s8`` reads weights of eight channels by tap."""
        scalar = self.block.isa is InstructionSet.SCALAR
        return self.rows == 1 and scalar and self.block.bits == 8 and not self.thresholds

    @property
    def is_row(self) -> bool:
        """Whether ``tinyrt_dense_row_s8`` takes it, which reads activations where they lie."""
        scalar = self.block.isa is InstructionSet.SCALAR
        fits = not self.eights or row_bytes.fits(self.block.channels)
        return self.rows == 1 and fits and not (scalar and self.thresholds)

    def keeps(self, form: Weights) -> bool:
        """Whether parts keep the sum of a row's activations: rows of sparse weights need none."""
        return self.sliced and self.is_row and self.eights and form is Weights.DENSE

    @property
    def layout(self) -> tuple[int, int]:
        """Channels of a block of weights, and taps of each."""
        if self.is_row and self.eights:
            return row_bytes.CHANNELS, self.c_in
        return QUAD, self.block.taps

    def sizes(self, prices: Prices, relu: bool) -> Sizes:
        """What the kernel computes; relu where outputs take no sign with dense weights."""
        channels, taps = self.layout
        c_out, four = self.block.layer.c_out, None
        if self.fours:
            four = dense_four_cost(self.rows, self.c_in, c_out, relu, prices.fours)
        return Sizes(self.rows, taps, channels, self.is_row, four=four)

    def scratch_bytes(self, form: Weights) -> int:
        """Bytes of columns, or of what parts of a row keep, for weights so stored."""
        if not self.is_row:
            return columns_scratch(self.block, self.rows)
        if self.keeps(form):
            return row_bytes.SUM_BYTES
        in_place = self.block.isa is InstructionSet.SCALAR or self.c_in % QUAD == 0
        return 0 if in_place else self.block.taps

    def calls(self, form: Weights, relu: ReluScales | None) -> Calls:
        """The call of ``tinyrt_dense_s8`` or one of its like, for weights and scales so stored."""
        x, y = self.node.input(0), self.node.output
        if form in (Weights.ONE_OF_4, Weights.TWO_OF_4):
            product = kept_call(self.node, self.block, self.requant.y_zp, (self.rows, self.c_in))
        elif form is Weights.DENSE and self.fours:
            layer = self.block, self.requant.y_zp, relu
            product = fours.dense_call(self.node, *layer, (self.rows, self.c_in), self.raised)
        else:
            fields: Fields = {} if self.is_row else {"rows": self.rows}
            own = stored_fields(self.node, self.block, form, self.layout, self.requant, relu)
            fields |= {"c_in": self.c_in, "block": own}
            kernel = "tinyrt_dense_row" if self.is_row else "tinyrt_dense"
            params = Params(f"{kernel}_s8_params", fields)
            scratch = Scratch(pointer=COLUMNS_POINTER)
            fills: tuple[Arg, ...] = ()
            if self.keeps(form):
                kernel, fills = f"{kernel}_part", (Number(1),)
            function = f"{kernel}_{suffix(self.block, form, relu)}"
            product = call(function, params, *fills, x, scratch, y)
        return (product, *clamp_calls(self.node, self.requant.act_min, self.requant.act_max))


def dense_kernel(node: BoundNode, block: Block, requant: Requant, target: Target) -> Kernel:
    """The kernel of a dense layer, or of a pointwise convolution, in the form that pays."""
    c_in, rows = matrix_of(node)
    ways = fours.fits(block, rows, target), target.raised, not math.isinf(target.in_one_go)
    layer = _Dense(node, block, requant, c_in, rows, *ways)
    # Rows of eight channels gain less than the kernel's code is worth.
    relu = None if layer.eights else relu_of(node, block, requant, target)
    prices, unsigned = prices_of(target), relu is not None
    forms = costs(block, layer.sizes(prices, unsigned), prices, matrix=True, relu=unsigned)
    stored = _stored(node, block, forms, target)
    by_fours = layer.fours and stored.form is Weights.DENSE
    at_once = FOUR if by_fours else COLUMNS
    return Kernel(
        lambda: layer.calls(stored.form, relu if stored.form is Weights.DENSE else None),
        fours.scratch_bytes(block, target) if by_fours else layer.scratch_bytes(stored.form),
        unordered if layer.is_row else lambda: columns(node, layer.rows, at_once),
        stored=stored,
    )


def counted_kernel(
    node: BoundNode, block: Block, requant: Requant, relu: ReluScales, target: Target
) -> Kernel:
    """The kernel of a dense layer whose outputs count thresholds, whatever their zero point.

    Its weights have a sign on all cores.

    Args:
        node: the op.
        block: its weights.
        requant: limits of the output.
        relu: what counts.
        target: what the kernel is chosen for.

    """
    c_in, rows = matrix_of(node)
    by_fours = fours.fits(block, rows, target)
    layer = _Dense(node, block, requant, c_in, rows, by_fours, False, False, True)
    at_once = FOUR if by_fours else COLUMNS
    return Kernel(
        lambda: layer.calls(Weights.DENSE, relu),
        fours.scratch_bytes(block, target) if by_fours else layer.scratch_bytes(Weights.DENSE),
        unordered if layer.is_row else lambda: columns(node, rows, at_once),
    )


def long_row_kernel(node: BoundNode, block: LongBlock, requant: Requant) -> Kernel:
    """The kernel ``tinyrt_dense_row_long_s8``: a row of any sums, read where it lies."""
    c_in, _ = matrix_of(node)

    def calls() -> Calls:
        packed = block.packed
        words = packed.w
        if block.isa is InstructionSet.SCALAR:
            words = rows_at_a_time(words, block.taps, c_in)
        stored = Packed(words, packed.init, packed.requant)
        own = block_fields(stored, block.taps, block.layer.c_out, requant.y_zp)
        params = Params("tinyrt_dense_row_s8_params", {"c_in": c_in, "block": own})
        product = call("tinyrt_dense_row_long_s8", params, node.input(0), node.output)
        return (product, *clamp_calls(node, requant.act_min, requant.act_max))

    return Kernel(calls)


def convolution_kernel(
    node: BoundNode, block: Block, window: Window, x_zp: int, requant: Requant, target: Target
) -> Kernel:
    """The kernel of a convolution: of a dense layer, or ``tinyrt_window_block_s8`` or its like.

    For rows, ``tinyrt_window_rows_s8``: all that is above and below is among them.
    """
    if is_pointwise(window):
        # A segment has kernels for several numbers of rows: these share their weights.
        own = replace(target, fours=False) if window.on_rows else target
        return dense_kernel(node, block, requant, own)
    images, height, width, _ = node.output.shape
    pixels = images * height * width
    scales = relu_of(node, block, requant, target)
    by_fours = not window.on_rows and fours.fits(block, pixels, target)
    unsigned = scales is not None
    prices = prices_of(target)
    sizes = _window_sizes(node, block, window, prices, by_fours, unsigned)
    forms = costs(block, sizes, prices, matrix=False, relu=unsigned)
    forms |= tiles_of(node, block, window, target)
    stored = _stored(node, block, forms, target)
    if stored.form is Weights.WINOGRAD:
        return winograd_kernel(node, block, window, x_zp, requant, stored)
    relu = scales if stored.form is Weights.DENSE else None

    if stored.form is Weights.DENSE and by_fours:
        fields = _image_fields(window, node.input(0), node.output) | {"x_zp": x_zp}
        scaled = requant, relu, target
        return fours.window_kernel(node, block, window, fields, *scaled, stored)
    in_columns = columns_scratch(block, pixels)

    def calls() -> Calls:
        x, y = node.input(0), node.output
        on_rows = window.on_rows and target.row_kernels
        fields = _row_fields(window, x, y) if on_rows else _image_fields(window, x, y)
        own = stored_fields(node, block, stored.form, (QUAD, block.taps), requant, relu)
        kernel = ROWS_KERNEL if on_rows else WINDOW_KERNEL
        params = Params(f"{kernel}_s8_params", fields | {"x_zp": x_zp, "block": own})
        scratch = Scratch(pointer=COLUMNS_POINTER), Scratch(in_columns)
        product = call(f"{kernel}_{suffix(block, stored.form, relu)}", params, x, *scratch, y)
        return (product, *clamp_calls(node, requant.act_min, requant.act_max))

    return Kernel(calls, in_columns + block.taps, lambda: windows(node, window), stored=stored)


def window_groups(window: Window, x: Shape) -> WindowGroups:
    """Four outputs at a time of a convolution of an input (n, h, w, c)."""
    images, height, width, _ = x
    slides, places = (window.kernel, window.stride), (window.before, window.out)
    return WindowGroups.of(images, (height, width), slides, places)


def _window_sizes(
    node: BoundNode, block: Block, window: Window, prices: Prices, fours: bool, relu: bool
) -> Sizes:
    """What the kernel of a convolution computes; fours and relu for dense weights."""
    x, y, four = node.input(0).shape, node.output, None
    if fours:
        sizes = window_groups(window, x), window.kernel, x[3], block.layer.c_out
        four = window_four_cost(*sizes, relu, prices.fours)
    pixels = y.size // y.shape[-1]
    return Sizes(pixels, block.taps, patches=patches_of(window, x), four=four)


def tiles_of(node: BoundNode, block: Block, window: Window, target: Target) -> dict[Weights, Cost]:
    """The form for the kernel by tiles, and its cost, if it takes the layer."""
    if not winograd.fits(block, window, target) or winograd.least(block) > target.in_one_go:
        return {}
    images, x_height, x_width, _ = node.input(0).shape
    pairs = TilePairs.of(images, (x_height, x_width), window.out, window.before)
    return {Weights.WINOGRAD: winograd.form(block, pairs, prices_of(target).tiles)}


def winograd_kernel(
    node: BoundNode, block: Block, window: Window, x_zp: int, requant: Requant, stored: Stored
) -> Kernel:
    """The kernel ``tinyrt_winograd_s8``."""
    x, y = node.input(0), node.output
    channels = x.shape[3]
    in_tiles = winograd.tiles_bytes(channels, block.isa)

    def calls() -> Calls:
        packed = winograd.pack(block)
        own = block_fields(packed, channels, block.layer.c_out, requant.y_zp)
        line_step = y.shape[2] * y.shape[3]
        fields = _image_fields(window, x, y) | {"y_line_step": line_step, "x_zp": x_zp}
        params = Params("tinyrt_winograd_s8_params", fields | {"block": own})
        scratch = Scratch(pointer=COLUMNS_POINTER), Scratch(in_tiles, "int32_t *")
        product = call("tinyrt_winograd_s8", params, x, *scratch, y)
        return (product, *clamp_calls(node, requant.act_min, requant.act_max))

    return Kernel(
        calls,
        in_tiles + winograd.sums_bytes(channels),
        lambda: windows_together(node, window, TILES[0]),
        stored=stored,
    )


def _image_fields(window: Window, x: Value, y: Value) -> Fields:
    """Of ``tinyrt_window_block_s8_params``."""
    return {"x": nhwc(x.shape), "y": nhwc(y.shape), "window": window_fields(window)}


def _row_fields(window: Window, x: Value, y: Value) -> Fields:
    """Of ``tinyrt_window_rows_s8_params``."""
    _, _, width, channels = x.shape
    return {
        "rows": y.shape[1],
        "width": y.shape[2],
        "kernel_h": window.kernel[0],
        "row_bytes": width * channels,
        "row_step": window.stride[0] * width * channels,
        "run": window.kernel[1] * channels,
        "step": window.stride[1] * channels,
        "pad": window.before[1] * channels,
    }


def has_doubled_kernels(functions: Iterable[str]) -> bool:
    """Whether there are kernels for rows beside those for images: one serves both."""
    called = set(functions)
    return any(k.replace(ROWS_KERNEL, WINDOW_KERNEL) in called for k in called if ROWS_KERNEL in k)
