"""Convolutions with more taps than their windows: weights that packed kernels cannot hold.

Channels that share a half hold a weight of eight bits each, but for -128 above a negative one, see
``words``. What is left of a wider weight, or of such a -128, is the weight of another tap, which
reads the same activation again: ``x * (w1 + w2) = x * w1 + x * w2``. Of a trained layer on uint8,
whose weights have another zero point than 128, a few of hundreds of taps are read again. Where that
would cost more, and in code for blobs, ``summed`` has another way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks import fours
from tinyrt.backends.c.blocks.block import PairBlock, pair_block
from tinyrt.backends.c.blocks.cost import FOUR
from tinyrt.backends.c.blocks.dense import (
    COLUMNS_POINTER,
    columns_scratch,
    is_pointwise,
    matrix_of,
    tiles_of,
    window_groups,
    winograd_kernel,
)
from tinyrt.backends.c.blocks.form_cost import Sizes, dense_form_cost, patches_of, prices_of
from tinyrt.backends.c.blocks.four_cost import window_four_cost
from tinyrt.backends.c.blocks.layer import BLOCK_SETS, QUAD, constants_of, simplify
from tinyrt.backends.c.blocks.relu import relu_of, suffix
from tinyrt.backends.c.blocks.stored import stored_fields
from tinyrt.backends.c.blocks.summed import MAX_TAPS, place_of, sum_fields, summed_block
from tinyrt.backends.c.blocks.words import fit_halves
from tinyrt.backends.c.clamp import clamp_calls
from tinyrt.backends.c.fields import nhwc, window_fields
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Calls, Data, Fields, Kernel, Params, Scratch, Target, call
from tinyrt.backends.c.weights import Cost, Weights
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ir import BoundNode, DType
from tinyrt.memory.sweep import Sweep, columns, windows
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window


@dataclass(frozen=True, slots=True, eq=False)
class More:
    """A layer with more taps than its window has.

    Attributes:
        block: the layer on all taps.
        again: those of the window that the last ones of them read; None where these are sums.
        tiles: the layer on its own taps, for the kernel by tiles.

    """

    block: PairBlock
    again: NDArray[np.int16] | None
    tiles: PairBlock

    @property
    def fields(self) -> Fields:
        """``tinyrt_more_taps``."""
        if self.again is None:
            return sum_fields(self.tiles.layer.w.shape[1], self.block.isa)
        return _fields_of(self.block, self.again)


AGAIN, SUMMED = (8.0, 0.8), 1.5
"""Instructions of a tap that is read again, and of it for each output channel; and of one that is
summed."""


def takes_all(target: Target) -> bool:
    """Whether kernels need not be cut into slices, nor fit other weights than the model's."""
    return target.choices is None and math.isinf(target.in_one_go)


def takes_more(target: Target) -> bool:
    """Whether such a layer has a kernel, which is not cut into slices."""
    return target.isa in BLOCK_SETS and math.isinf(target.in_one_go)


def more_of(node: BoundNode, x_zp: int, requant: Requant, target: Target) -> More | None:
    """The layer with more taps; None where it needs none.

    Nor where its sums are too long, or its scale is finer than theirs. Which taps are read again
    follows from the weights: code for blobs has sums.
    """
    if node.input(1).dtype is DType.INT4:
        return None
    isa, again = target.isa, target.choices is None
    key = "more" if again else "summed", isa
    return node.noted_of_constants(key, lambda: _more_of(node, x_zp, requant, isa, again))


def _more_of(
    node: BoundNode, x_zp: int, requant: Requant, isa: InstructionSet, may_read_again: bool
) -> More | None:
    constants = constants_of(node)
    if constants is None:
        return None
    w, bias = constants
    by_channel = w.reshape(len(w), -1)
    if w.dtype == np.int8 and fit_halves(by_channel):
        return None
    wide = by_channel.astype(np.int16)
    whole = simplify(wide, bias, x_zp, requant, bits=16)
    if whole is None:
        return None
    tiles = PairBlock(whole, x_zp, isa)
    summed = summed_block(wide, bias, x_zp, requant, isa)
    weights, taps = with_more(by_channel)
    c_out, own = by_channel.shape
    is_dearer = len(taps) * (AGAIN[0] + AGAIN[1] * c_out) > SUMMED * own + AGAIN[1] * c_out
    if summed is not None and (is_dearer or not may_read_again):
        return More(summed, None, tiles)
    if weights.shape[1] > MAX_TAPS or not may_read_again:
        return None
    block = pair_block(weights, bias, x_zp, requant, isa)
    return None if block is None else More(block, taps, tiles)


def with_more(w: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.int16]]:
    """Weights (c_out, taps) -> those of all taps, which fit in halves, and what the last read."""
    wide = w.astype(np.int32)
    first = np.clip(wide, INT8_MIN, INT8_MAX)
    odd = first[1::2]
    odd[(odd == INT8_MIN) & (first[: 2 * len(odd) : 2] < 0)] = -INT8_MAX
    parts, taps, rest = [first], [np.zeros(0, np.int64)], wide - first
    while rest.any():
        part = np.clip(rest, -INT8_MAX, INT8_MAX)
        used = np.flatnonzero(part.any(axis=0))
        parts.append(part[:, used])
        taps.append(used)
        rest = rest - part
    return np.hstack(parts).astype(np.int8), np.concatenate(taps).astype(np.int16)


def _fields_of(block: PairBlock, taps: NDArray[np.int16]) -> Fields:
    """``tinyrt_more_taps``: of a column the places where taps are read again, and written."""
    read = taps.astype(np.int64)
    written = block.layer.w.shape[1] - len(taps) + np.arange(len(taps))
    places = np.stack([place_of(read, block.isa), place_of(written, block.isa)], axis=1).ravel()
    return {
        "count": len(taps),
        "taps": Data("taps", taps, "int16_t"),
        "places": Data("places", places.astype(np.int16), "int16_t"),
    }


def more_kernel(
    node: BoundNode, more: More, window: Window, requant: Requant, target: Target
) -> Kernel:
    """The kernel ``tinyrt_window_more_s8``, or one of its like, or the one by tiles."""
    block, sums = more.block, more.again is None
    rows = node.output.size // node.output.shape[-1]
    by_fours = not window.on_rows and fours.fits(block, rows, target)
    relu = relu_of(node, block, requant, target)
    each = _cost(node, block, window, relu is not None, by_fours, target)
    forms = {Weights.DENSE: Cost(each, block.nbytes)}
    forms |= tiles_of(node, more.tiles, window, target)
    stored = target.stored(node.index, forms)
    if stored.form is Weights.WINOGRAD:
        return winograd_kernel(node, more.tiles, window, more.tiles.x_zp, requant, stored)
    # Sums of what is left over stand in one of two columns, too.
    in_columns = columns_scratch(block, max(rows, 2) if sums else rows)
    in_columns = fours.scratch_bytes(block, target) if by_fours else in_columns
    as_matrix = is_pointwise(window) and not by_fours and not sums
    shapes = _image(node, window) | {"x_zp": block.x_zp}
    c_in = matrix_of(node)[0] if is_pointwise(window) else node.input(0).shape[3]
    if as_matrix:
        shapes = {"rows": rows, "c_in": c_in}

    def calls() -> Calls:
        kind = "dense" if as_matrix else "window"
        if by_fours:
            own = fours.fields(block, requant.y_zp, relu, target.raised)
            kernel = f"tinyrt_{kind}_four_more_{fours.suffix(relu, target.raised)}"
        else:
            layout = QUAD, block.taps
            own = stored_fields(node, block, Weights.DENSE, layout, requant, relu)
            kernel = f"tinyrt_{kind}_more_{suffix(block, Weights.DENSE, relu)}"
        params = Params(
            f"tinyrt_{kind}_more_s8_params",
            {"layer": shapes | {"block": own}, "more": more.fields},
        )
        words = Scratch(pointer=fours.POINTER if by_fours else COLUMNS_POINTER)
        patch = () if as_matrix else (Scratch(in_columns),)
        product = call(kernel, params, node.input(0), words, *patch, node.output)
        return (product, *clamp_calls(node, requant.act_min, requant.act_max))

    def sweep() -> Sweep | None:
        if is_pointwise(window):
            return columns(node, rows, FOUR if by_fours else 2)
        return windows(node, window)

    in_patch = FOUR * window.kernel[1] * c_in if by_fours else 0 if as_matrix else block.taps
    if sums and not by_fours and rows % 2:
        in_patch = max(in_patch, 2 * node.output.shape[-1])
    return Kernel(calls, in_columns + in_patch, sweep, stored=stored)


def _cost(
    node: BoundNode, block: PairBlock, window: Window, relu: bool, by_fours: bool, target: Target
) -> float:
    """Instructions of the kernel that is not by tiles: all of its taps as if of one pixel."""
    prices, x, taps = prices_of(target), node.input(0).shape, block.layer.w.shape[1]
    if by_fours:
        groups = window_groups(window, x)
        return window_four_cost(groups, (1, 1), taps, block.layer.c_out, relu, prices.fours)
    patches = None if is_pointwise(window) else patches_of(window, x)
    sizes = Sizes(node.output.size // node.output.shape[-1], block.taps, patches=patches)
    return dense_form_cost(block, sizes, prices, relu)


def _image(node: BoundNode, window: Window) -> Fields:
    """Shapes and window; pixels of a pointwise convolution are one line."""
    x, y = node.input(0).shape, node.output.shape
    if is_pointwise(window):
        c_in, rows = matrix_of(node)
        x, y = (1, 1, rows, c_in), (1, 1, rows, y[-1])
        window = Window.of((1, rows), (1, 1), (1, 1), "VALID")
    return {"x": nhwc(x), "y": nhwc(y), "window": window_fields(window)}
