"""What the int8 kernels cost on cores with MVE: instructions on a Cortex-M55.

As in ``tinyrt.backends.c.blocks.cost``, each formula has the terms of its kernel's loops. They say
what an op costs on a few rows, and as a whole; ``tests/firmware/test_costs.py`` compares them with
what the emulator counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.mve.layout import (
    convolution_lines,
    copied_bytes,
    depthwise_band,
    depthwise_extent,
    points_at_once,
)
from tinyrt.backends.c.mve.packing import LANES, QUAD, VECTOR, lines_of, point_pairs, turned
from tinyrt.backends.c.mve.planes import Planes, planes_of
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.window import Window

CALL = 130
"""Instructions of any kernel's call, including the caller's."""

ELEMENT = 4
"""Instructions per output of other ops; one per input, where inputs outnumber outputs."""

PAIR = 27
"""Instructions per four channels of two patches, without their taps."""

UNCLAMPED = 5
"""Additional instructions of these where results below zero are not all equal."""

ALONE = 46
"""Instructions per four channels of a last patch, without their taps."""

ROW = 36
"""Instructions per eight channels of one row, without their taps."""

CHAIN = 8
"""Blocks of taps behind the first one that are written out, one behind the other."""

KEPT_PAIR, KEPT_ALONE = 30, 22
"""As ``PAIR`` and ``ALONE`` where blocks of zeros are left out: of two patches, and of one."""

ANY_ROUNDING = 2
"""``packing.rounding`` that pairs of patches do not know there."""

KEPT_SET_UP = 46
"""Instructions of each four channels before their first pair there."""

AGAIN = 6
"""Instructions per point and eight bytes of it that are read again."""

GATHER = 5
"""Instructions per point that is copied as one vector with what is read again."""

COPY = 100
"""Instructions per copy of several points, without these."""

CODE_BYTES = {"conv2d": 3_100, "depthwise_conv2d": 3_300, "add": 1_000}
"""Op -> bytes of code of its kernels."""


def element_cost(node: BoundNode) -> int:
    """Instructions of a call of a kernel that has no formula of its own."""
    inputs = (v.size for v in node.inputs if v is not None and not v.is_constant)
    more = max(max(inputs, default=0) - node.output.size, 0)
    return CALL + ELEMENT * node.output.size + more


Kept = tuple[NDArray[np.intp], int]
"""How many blocks of every four filters are not zero, and the rounding of results."""


def convolution_cost(node: BoundNode, window: Window, kept: Kept | None = None) -> int:
    """Instructions of a call of ``tinyrt_conv2d_s8``; of one image.

    Args:
        node: the convolution.
        window: how it slides.
        kept: for ``tinyrt_conv2d_sparse_s8``.

    """
    if node.output.shape[0] != 1:
        return element_cost(node)
    x, w = node.input(0).shape, node.input(1).shape
    groups = x[3] // w[3]
    at_once = points_at_once(node, window)
    if window.kernel == (1, 1):
        lines, points = 1, window.out[0] * window.out[1]
        copy = 3 * points * w[3] // VECTOR if copied_bytes(node, window) else 0
    else:
        window = turned(window, convolution_lines(window))
        lines, points = window.out
        copy = _copied_windows(window, w[3])
    return CALL + groups * lines * (_products(node, points, at_once, kept) + copy)


def _copied_windows(window: Window, c_in: int) -> int:
    """Elements of one group that a line of windows reads."""
    read = (window.out[1] - 1) * window.stride[1] + window.kernel[1]
    small = c_in <= 5
    each = 17 * -(-read * c_in // (VECTOR - 1)) if small else 7 * read * -(-c_in // VECTOR)
    return window.kernel[0] * (60 + each)


def _products(node: BoundNode, points: int, at_once: int, kept: Kept | None) -> int:
    """Instructions for a number of patches, some at once: pairs, and the last one alone."""
    calls, rest = divmod(points, at_once)
    return calls * _product(node, at_once, kept) + (_product(node, rest, kept) if rest else 0)


def _product(node: BoundNode, patches: int, kept: Kept | None) -> int:
    if kept is not None:
        return kept_cost(patches, *kept)
    x, w = node.input(0).shape, node.input(1).shape
    length, c_out = w[1] * w[2] * w[3], w[0] * w[3] // x[3]
    return product_cost(patches, length, c_out, fused_activation(node) == "NONE")


def product_cost(patches: int, length: int, c_out: int, plain: bool) -> int:
    """Instructions of ``tinyrt_product_s8``: of pairs of patches, and of the last one alone.

    Args:
        patches: how many.
        length: taps of a patch.
        c_out: output channels.
        plain: whether results below zero differ.

    """
    blocks, quads = -(-length // VECTOR), -(-c_out // QUAD)
    turns = max(0, -(-(blocks - 1 - CHAIN) // QUAD))
    four = PAIR + UNCLAMPED * plain + 14 * blocks + (4 if turns else 0) + 2 * turns
    pairs, alone = divmod(patches, 2)
    total = 30
    if pairs:
        total += 60 + pairs * (12 + quads * four)
    return total + alone * (90 + quads * (ALONE + 10 * blocks))


def kept_cost(patches: int, counts: NDArray[np.intp], rounding: int) -> int:
    """Instructions of ``tinyrt_product_sparse_s8``: of pairs of patches, and of others alone.

    Args:
        patches: how many.
        counts: how many blocks of every four filters are kept.
        rounding: of results, by ``packing.rounding``.

    """
    quads, blocks = len(counts), int(counts.sum())
    pairs = 0 if rounding == ANY_ROUNDING else patches // 2
    turns = int(np.maximum(0, -(-(counts - 1 - CHAIN) // QUAD)).sum())
    total = 30
    if pairs:
        total += 30 + quads * KEPT_SET_UP + pairs * (quads * KEPT_PAIR + 17 * blocks + 4 * turns)
    return total + (patches - 2 * pairs) * (50 + quads * KEPT_ALONE + 23 * blocks // 2)


def more_cost(node: BoundNode, window: Window, at_once: int, lengths: tuple[int, int]) -> int:
    """Instructions of a call of ``tinyrt_conv2d_more_s8``.

    Args:
        node: the convolution.
        window: with lines and points as its rows and columns.
        at_once: points that are copied together.
        lengths: bytes of a patch, and those of a point that are read again.

    """
    length, more = lengths
    c_in = node.input(1).shape[3]
    groups, plain = node.input(0).shape[3] // c_in, fused_activation(node) == "NONE"
    c_out = node.output.shape[3] // groups
    calls, rest = divmod(window.out[1], at_once)
    products = calls * product_cost(at_once, length, c_out, plain)
    products += product_cost(rest, length, c_out, plain) if rest else 0
    read = (window.out[1] - 1) * window.stride[1] + window.kernel[1]
    if window.kernel == (1, 1) and length == VECTOR:
        copied = GATHER * read
    else:
        copied = _copied_windows(window, c_in) + AGAIN * read * -(-more // LANES)
    lines = node.output.shape[0] * groups * window.out[0]
    return CALL + lines * (products + copied + COPY * calls)


def row_cost(length: int, c_out: int) -> int:
    """Instructions of ``tinyrt_fully_connected_row_s8``."""
    blocks, eights = -(-length // VECTOR), -(-c_out // LANES)
    return 100 + eights * (ROW + 18 * blocks)


def depthwise_cost(node: BoundNode, window: Window) -> int:
    """Instructions of a call of a depthwise kernel; of one image."""
    if node.output.shape[0] != 1:
        return element_cost(node)
    planes = faster_planes(node, window)
    return _planes_cost(node, planes) if planes is not None else eights_cost(node, window)


def faster_planes(node: BoundNode, window: Window) -> Planes | None:
    """The layout for one channel after the other, where eight at a time take longer."""
    planes = planes_of(node, window)
    if planes is None or _planes_cost(node, planes) > eights_cost(node, window):
        return None
    return planes


def planes_cost(node: BoundNode, planes: Planes, rounding: int) -> int:
    """Instructions of ``tinyrt_depthwise_planes_s8``, of one image.

    Args:
        node: the depthwise convolution.
        planes: its layout.
        rounding: of its results, by ``packing.rounding``.

    """
    if node.output.shape[0] != 1:
        return element_cost(node)
    eights = -(-node.output.shape[3] // LANES)
    return CALL + planes.set_up() + eights * planes.cost(rounding)


def _planes_cost(node: BoundNode, planes: Planes) -> int:
    """The same, by what is known before scales are."""
    return planes_cost(node, planes, int(fused_activation(node) == "NONE"))


def eights_cost(node: BoundNode, window: Window) -> int:
    """Instructions of ``tinyrt_depthwise_conv2d_s8``, of an image.

    Eight channels after the other: lines are copied, then pairs of points computed.
    """
    window = turned(window, lines_of(window))
    lines, points = window.out
    band = min(depthwise_band(window), lines)
    read = (points - 1) * window.stride[1] + window.kernel[1]
    copied = (lines - 1) * window.stride[0] + depthwise_extent(window)
    bands = -(-lines // band)
    reread = (bands - 1) * max(depthwise_extent(window) - window.stride[0], 0)
    plain = fused_activation(node) == "NONE" or (window.kernel, window.dilation) != ((3, 3), (1, 1))
    rows, columns = window.kernel
    line = 9 + 25 * (columns // 2) + 16 * (columns % 2)
    pair = 62 + rows * line if plain else 53 + 9 * rows * columns
    called = lines // 2 + lines % 2 * ((points > 1) + points % 2)
    block = 45 + 60 * bands + copied * (15 + 4 * read) + 2 * reread * read
    block += 45 * called + point_pairs(lines, points) * pair
    filled = ((band - 1) * window.stride[0] + depthwise_extent(window)) * read
    return CALL + 150 + filled - (-node.output.shape[3] // LANES) * block


def _blocks(length: int, vector: int = VECTOR) -> int:
    """Blocks of a vector's patch, without the first one."""
    return -(-length // vector) - 1


def lstm_cost(steps: int, c_in: int, units: int, bits: int = 8) -> int:
    """Instructions of ``tinyrt_lstm_quads_s8``, of the steps of all samples.

    Args:
        steps: of all samples.
        c_in: inputs.
        units: hidden units.
        bits: of the kernel's name; 4 of weights, or 16 of activations.

    """
    vector = LANES if bits == 16 else VECTOR
    quad = {4: 509, 8: 485, 16: 440}[bits] + 40 * (_blocks(c_in, vector) + _blocks(units, vector))
    return CALL + steps * (75 + -(-units // QUAD) * quad)


def svdf_cost(c_in: int, units: int, length: int, filters: int, size: int) -> int:
    """Instructions of ``tinyrt_svdf_quads_s8`` or ``tinyrt_svdf_quads_s8_s16``, of one sample.

    Args:
        c_in: inputs.
        units: outputs.
        length: features of a unit.
        filters: in all.
        size: bytes of a feature.

    """
    features = -(-filters // QUAD) * (43 + 10 * _blocks(c_in))
    moved = 3 * units * length * size // VECTOR
    times = units * (9 + 4 * -(-length * size // VECTOR)) + 26 * -(-units // QUAD)
    return CALL + 70 + features + moved + times
