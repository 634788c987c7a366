"""Shared parts of kernels of ops with weights on int16 activations."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.layer import BLOCK_SETS
from tinyrt.backends.c.blocks.row16 import MAX_SUM, row16_words
from tinyrt.backends.c.blocks.words import fit_halves
from tinyrt.backends.c.general import require_constants
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import (
    Arg,
    Call,
    Data,
    Fields,
    Kernel,
    Null,
    Params,
    Place,
    Scratch,
    call,
)
from tinyrt.backends.c.mve.raised import raised_requant
from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, DType
from tinyrt.ops.shared.constants import has_computed_weights, stored_data
from tinyrt.ops.shared.requant import Requant, WideRequant

FILTERS = 4
"""Output channels that ``tinyrt_conv2d_s16`` computes side by side."""

LANES = 8
"""Taps that a vector of int16 has."""

MAX_NARROW_TAPS = 511
"""Taps whose products with weights down to -128 add up in 32 bits, whatever their values."""

MAX_ACCUMULATOR = 1 << 47
"""Bound of accumulators, so that the product with a mantissa of 15 bits fits."""


def requant_s16_fields(requant: WideRequant | Requant) -> Fields:
    """``tinyrt_requant_s16_params``, with tables of one entry where all channels are alike."""
    mult = requant.mult
    shift = requant.right if isinstance(requant, WideRequant) else requant.shift
    alike = bool((mult == mult[0]).all() and (shift == shift[0]).all())
    if alike:
        mult, shift = mult[:1], shift[:1]
    return {
        "mult": Data("mult", mult, "int32_t"),
        "shift": Data("shift", shift, "int8_t"),
        "step": 0 if alike else 1,
        "wide": isinstance(requant, WideRequant),
        "act_min": requant.act_min,
        "act_max": requant.act_max,
    }


def weights_of(node: BoundNode) -> NDArray[np.int8]:
    """The int8 weights of a node whose accumulators fit.

    Raises:
        UnsupportedError: weights or bias are computed at run time, or an accumulator is too large.

    """
    require_constants(node)
    w = node.input(1)
    largest = node.noted_of_constants("wide accumulator", lambda: _largest_accumulator(node))
    if largest >= MAX_ACCUMULATOR:
        raise UnsupportedError(
            f"an accumulator may reach {largest}",
            tensor=w.describe(),
            expected=f"less than {MAX_ACCUMULATOR}",
            hint="split the layer, or train with smaller biases",
        )
    return np.asarray(w.data)


def _largest_accumulator(node: BoundNode) -> int:
    """An upper bound of all accumulators, from the sum of all weights and the largest bias."""
    w, bias = np.asarray(node.input(1).data), node.optional(2)
    largest = int(np.abs(w.astype(np.int64)).sum()) << 15
    if bias is not None:
        largest += int(np.abs(np.asarray(bias.data).astype(object)).max())
    return largest


def bias_s64(node: BoundNode) -> Arg:
    """The bias, widened to int64; NULL without a bias.

    Raises:
        UnsupportedError: one of 32 bits is computed while the model runs.

    """
    bias = node.optional(2)
    if bias is None:
        return Null()
    if bias.data is None and bias.dtype is DType.INT64:
        return Place(bias)
    stored_data(bias)
    return Data("bias", np.asarray(bias.data).astype(np.int64))


def in_pairs(w: NDArray[np.int8], groups: int) -> NDArray[np.int8]:
    """Filters (c_out, ...) in the order in which ``tinyrt_conv2d_s16`` reads them, flattened."""
    filters = w.reshape(groups, w.shape[0] // groups, -1)
    channels, taps = filters.shape[1:]
    padding = ((0, 0), (0, -channels % FILTERS), (0, taps % 2))
    blocks = np.pad(filters, padding).reshape(groups, -1, 2, 2, (taps + 1) // 2, 2)
    # (group, block, channel pair, channel, tap pair, tap)
    return blocks.transpose(0, 1, 4, 2, 5, 3).reshape(-1)


def in_eights(w: NDArray[np.int8], groups: int) -> NDArray[np.int8]:
    """As ``in_pairs``, for cores with vectors."""
    filters = w.reshape(groups, w.shape[0] // groups, -1)
    channels, taps = filters.shape[1:]
    padded = np.pad(filters, ((0, 0), (0, -channels % FILTERS), (0, -taps % LANES)))
    blocks = padded.reshape(groups, -1, FILTERS, padded.shape[2] // LANES, LANES)
    return blocks.transpose(0, 1, 3, 2, 4).reshape(-1)


def convolution_s16(
    node: BoundNode,
    fields: Fields,
    groups: int,
    requant: WideRequant | Requant,
    isa: InstructionSet,
) -> Kernel:
    """The kernel ``tinyrt_conv2d_s16`` of an op with filters (c_out, ...).

    With weights or biases that the model computes, it is ``tinyrt_conv2d_plain_s16``. Where sums
    keep within 32 bits, it is ``tinyrt_conv2d_block_s16``, with vectors
    ``tinyrt_conv2d_raised_s16``.

    Args:
        node: the op; input 1 is the weights, input 2 the bias or absent.
        fields: shapes and window.
        groups: of input and output channels.
        requant: its requantisation.
        isa: the instruction set.

    """
    if has_computed_weights(node):
        return Kernel(lambda: (_plain(node, fields, groups, requant),))
    block = _block(node, fields, groups, requant, isa)
    if block is not None:
        return block
    vectors = isa is InstructionSet.MVE
    multiple, order = (LANES, in_eights) if vectors else (2, in_pairs)
    direct, taps = _reads_pixels(node, multiple), _padded_taps(node, multiple)

    def make_call() -> Call:
        w = weights_of(node)
        own = {"groups": groups, "taps": taps, "direct": direct}
        packed = node.noted_of_constants(order.__name__, lambda: Data("w", order(w, groups)))
        column: Arg = Null() if direct else Scratch(pointer="int16_t *")
        x, y = node.input(0), node.output
        raised = raised_requant(node, requant, 0, groups) if vectors else None
        if raised is not None:
            params = Params("tinyrt_conv2d_raised_s16_params", fields | own | raised.own)
            return call("tinyrt_conv2d_raised_s16", params, x, packed, raised.bias, column, y)
        requantized = {"requant": requant_s16_fields(requant)}
        params = Params("tinyrt_conv2d_s16_params", fields | own | requantized)
        return call("tinyrt_conv2d_s16", params, x, packed, bias_s64(node), column, y)

    return Kernel(lambda: (make_call(),), 0 if direct else 2 * taps)


def _block(
    node: BoundNode,
    fields: Fields,
    groups: int,
    requant: WideRequant | Requant,
    isa: InstructionSet,
) -> Kernel | None:
    """The kernel of scalar and DSP cores for sums that keep within 32 bits; else None."""
    if isa not in BLOCK_SETS:
        return None
    raised = raised_requant(node, requant, 0, groups, MAX_SUM[isa])
    rows = _quads(np.asarray(node.input(1).data), groups)
    if raised is None or (isa is InstructionSet.DSP and not fit_halves(rows)):
        return None
    direct, taps = _reads_pixels(node, 1), rows.shape[1]

    def make_call() -> Call:
        own = {"groups": groups, "taps": taps, "direct": direct}
        words = partial(row16_words, rows, isa)
        packed = node.noted_of_constants(f"row16 {isa.value}", lambda: Data("w", words()))
        params = Params("tinyrt_conv2d_raised_s16_params", fields | own | raised.own)
        column: Arg = Null() if direct else Scratch(pointer="int16_t *")
        tensors = node.input(0), packed, raised.bias, column, node.output
        return call("tinyrt_conv2d_block_s16", params, *tensors)

    return Kernel(lambda: (make_call(),), 0 if direct else 2 * taps)


def _quads(w: NDArray[np.int8], groups: int) -> NDArray[np.int8]:
    """Filters (c_out, ...) as rows, those of each group padded with zeros to a multiple of four."""
    filters = w.reshape(groups, w.shape[0] // groups, -1)
    padded = np.pad(filters, ((0, 0), (0, -filters.shape[1] % FILTERS), (0, 0)))
    return padded.reshape(-1, filters.shape[2])


def _plain(node: BoundNode, fields: Fields, groups: int, requant: WideRequant | Requant) -> Call:
    """The call of the kernel that reads weights as they lie."""
    own = fields | {"groups": groups, "requant": requant_s16_fields(requant)}
    params = Params("tinyrt_conv2d_plain_s16_params", own)
    tensors = node.input(0), node.input(1), bias_s64(node), node.output
    return call("tinyrt_conv2d_plain_s16", params, *tensors)


def _reads_pixels(node: BoundNode, multiple: int) -> bool:
    """Whether every output reads one input row with such a number of elements."""
    x, w = node.input(0), node.input(1)
    if w.shape[-1] % multiple:
        return False
    return len(w.shape) == 2 or (w.shape[1:3] == (1, 1) and w.shape[3] == x.shape[3])


def _padded_taps(node: BoundNode, multiple: int) -> int:
    w = node.input(1)
    taps = w.size // w.shape[0]
    return taps + -taps % multiple
