"""Scales of layers whose output zero point is -128, as a ReLU leaves it, in fewer steps.

Requantisation rounds twice, and halves away from 0. Where the zero point is -128, negative sums all
give -128, so that the second rounding needs no sign, and outputs only have to count how many of 255
thresholds a sum reaches. The kernel ``tinyrt_block_relu_s8`` counts by one multiplication:

    output + 128 = floor((floor(factor * sum * 2**(8 + raised) / 2**32) + addend) / 2**16)

limited to [0, 255]. Outputs stand in upper halves then, so that one instruction joins those of two
channels, and another limits both. Both formulas rise with the sum, so they agree for every sum if
they have the same thresholds; ``relu_scales`` compares all that weights and bias let a sum reach.

Every two channels share an addend: first sums make up for it, see ``addends``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.addends import COUNTS, Ranges, shared
from tinyrt.backends.c.blocks.block import Block, PairBlock
from tinyrt.backends.c.blocks.layer import MAX_SUM, QUAD, Layer, padded
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Data, Fields, Target
from tinyrt.backends.c.weights import Weights
from tinyrt.fixedpoint import INT8_MIN, INT32_MAX
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.requant import Requant

LEAST_SHIFT = 9
"""The right shift from which sums need not be raised: 16 bits below an output, 7 of them by the
mantissa's size."""

ONE = 1 << 16
"""What one output counts in the kernel."""

PER_PAIR, PER_QUAD = 3, 6
"""Entries of two channels: a factor, the addend of both, and the other factor; and of four."""

_CLOSE = (1, -1, 2, -2)
"""Differences from the nearest factor, in the order of trial."""


@dataclass(frozen=True, slots=True, eq=False)
class ReluScales:
    """Scales as ``tinyrt_block_relu_s8`` reads them, or for kernels that read these and others.

    Attributes:
        scales: ``PER_QUAD`` entries for each quad; those of one quad where all channels are alike.
        step: entries from one quad to the next, or 0.
        raised: bits by which sums are raised.
        first: first sums of all channels.
        shifts: of kernels that read both: 0 where these are scales for ``tinyrt_block_relu_s8``,
            else right shifts, with mantissas for scales and the zero point for ``raised``. None for
            kernels that read no others.

    """

    scales: NDArray[np.int32]
    step: int
    raised: int
    first: NDArray[np.int64]
    shifts: NDArray[np.int8] | None = None

    @property
    def fields(self) -> Fields:
        """The scales as fields of ``tinyrt_block_s8_params``."""
        own: Fields = {"mult": Data("mult", self.scales), "requant_step": self.step}
        if self.shifts is not None:
            own["shift"] = Data("shift", self.shifts, "int8_t")
        return own


def relu_of(node: BoundNode, block: Block, requant: Requant, target: Target) -> ReluScales | None:
    """The scales for ``tinyrt_block_relu_s8``, found once; None where other kernels are to do.

    Cores need an instruction for the upper half of a product. Scales take a few bytes more, and are
    for dense weights alone. They follow from weights: code for blobs, which may hold others, takes
    what there is; without an instruction for a product and a sum, four pixels at once are worth
    more there.
    """
    if not counts(block, target):
        return None
    scales = node.noted_of_constants(
        ("relu", block.isa), lambda: relu_scales(block.layer, block.x_zp, requant.y_zp)
    )
    if target.choices is None:
        return scales
    return either(scales, block, requant) if node.index in target.choices.relus else None


def counts(block: Block, target: Target) -> bool:
    """Whether a core has kernels for such scales, and they are worth their bytes."""
    as_blobs = block.isa is InstructionSet.DSP or target.mla
    pays = as_blobs or (target.high_products and target.choices is None)
    return pays and isinstance(block, PairBlock) and not target.small


def either(scales: ReluScales | None, block: Block, requant: Requant) -> ReluScales:
    """These scales, or the block's own if there are none, of the same size."""
    quads = padded(block.layer.c_out) // QUAD
    if scales is not None:
        entries = np.resize(scales.scales, (quads, PER_QUAD)).ravel()
        return ReluScales(
            entries, PER_QUAD, scales.raised, scales.first, np.zeros(entries.size, np.int8)
        )
    own, behind = block.packed.requant, (0, PER_QUAD - QUAD)
    mult, shift = (
        np.pad(np.resize(array, (quads, QUAD)), ((0, 0), behind)).ravel()
        for array in (own.mult, own.shift)
    )
    first = block.layer.first_sums(block.x_zp)
    return ReluScales(mult, PER_QUAD, requant.y_zp, first, shift)


def suffix(block: Block, form: Weights, relu: ReluScales | None) -> str:
    """The suffix of the names of kernels for weights of that form, and such scales."""
    if relu is not None:
        return "relu_s8" if relu.shifts is None else "any_s8"
    return f"s{block.bits}" if form is Weights.DENSE else "sparse_s8"


def relu_scales(layer: Layer, x_zp: int, y_zp: int) -> ReluScales | None:
    """The scales of a layer; None where the kernel's formula cannot give all of its outputs.

    Args:
        layer: right shifts are 1 or more, absolute sums below ``MAX_SUM``.
        x_zp: the input's zero point.
        y_zp: the output's.

    """
    if y_zp != INT8_MIN:
        return None
    # Half an output, and half of what the first rounding rounds to.
    expected = ONE // 2 + (ONE // 2 >> layer.shift)
    return _scales(layer, x_zp, _thresholds(layer.mult, layer.shift), expected)


def legacy_scales(
    layer: Layer, x_zp: int, y_zp: int, thresholds: NDArray[np.int64]
) -> ReluScales | None:
    """The same for outputs that are rounded as on uint8, around any zero point.

    Args:
        layer: as above; scales are about those of the outputs.
        x_zp: the input's zero point.
        y_zp: the output's.
        thresholds: the least sum of each output above -128.

    """
    expected = np.full(layer.c_out, ONE // 2 + (y_zp - INT8_MIN) * ONE, np.int64)
    return _scales(layer, x_zp, np.tile(thresholds, (layer.c_out, 1)), expected)


def _scales(
    layer: Layer, x_zp: int, thresholds: NDArray[np.int64], expected: NDArray[np.int64]
) -> ReluScales | None:
    """The scales that reach all thresholds (channels, 255), near the addends expected."""
    least, greatest = layer.reach(x_zp)
    live = least < greatest
    raised = max(0, LEAST_SHIFT - int(layer.shift[live].min(initial=LEAST_SHIFT)))
    room = (MAX_SUM - 1 >> raised) - np.maximum(-least, greatest)
    if room.min() < 0:
        return None

    def ranges(factors: NDArray[np.int64]) -> Ranges:
        return Ranges.of(factors << 8 + raised, thresholds, (least, greatest), room)

    factors = _factors(layer, raised)
    own = ranges(factors)
    for close in _CLOSE:
        if own.exist.all():
            break
        tried = np.clip(_factors(layer, raised) + close, 1, INT32_MAX)
        factors = np.where(own.exist, factors, tried)
        own = ranges(factors)
    if not own.exist.all():
        return None
    found = shared(own, expected)
    if found is None:
        return None
    addends, moves = found
    scales, step = _packed(factors, addends)
    return ReluScales(scales, step, raised, layer.first_sums(x_zp) + moves)


def _thresholds(mult: NDArray[np.int64], shift: NDArray[np.int64]) -> NDArray[np.int64]:
    """The least sum of each output above -128, (channels, 255), by the reference's two roundings.

    With ``h = round(2 * sum * mult / 2**32)``, an output is n above the least one from
    ``h >= n * 2**shift - 2**(shift - 1)`` on.
    """
    high = (COUNTS << shift[:, None]) - (1 << shift[:, None] - 1)
    return -(-((high << 32) - (1 << 31)) // (2 * mult[:, None]))


def _factors(layer: Layer, raised: int) -> NDArray[np.int64]:
    """Mantissas, scaled to outputs of 2**16; channels of one output may take any."""
    steps = np.maximum(layer.shift + raised - LEAST_SHIFT, 0)
    return np.asarray((layer.mult + (1 << steps >> 1)) >> steps, np.int64)


def _packed(
    factors: NDArray[np.int64], addends: NDArray[np.int64]
) -> tuple[NDArray[np.int32], int]:
    """Factors, and an addend for every two channels, as entries, and those of a quad."""
    if (factors == factors[0]).all() and (addends == addends[0]).all():
        return np.tile([factors[0], addends[0], factors[0]], 2).astype(np.int32), 0
    one, other = np.pad(factors, (0, padded(len(factors)) - len(factors))).reshape(-1, 2).T
    both = np.pad(addends, (0, len(one) - len(addends)))
    return np.stack([one, both, other], axis=1).ravel().astype(np.int32), PER_QUAD
