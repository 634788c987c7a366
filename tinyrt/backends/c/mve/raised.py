"""Kernels of int16 activations whose accumulators fit 32 bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.kernel import Data, Fields
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.requant import Requant, WideRequant

QUAD = 4
"""Channels of a vector."""

SHIFTS = range(17, 33)
"""Shifts at which a product's rounded upper half is the output, its mantissa raised."""

MAX_ACCUMULATOR = 1 << 31
"""What accumulators of 32 bits stay below."""


@dataclass(frozen=True, slots=True)
class Raised:
    """Requantisation by the upper half of one product.

    Attributes:
        own: the field that is ``tinyrt_raised_s16``.
        bias: of 32 bits, for as many channels as the kernel reads.

    """

    own: Fields
    bias: Data


def raised_requant(
    node: BoundNode,
    requant: WideRequant | Requant,
    axis: int,
    groups: int = 1,
    limit: int = MAX_ACCUMULATOR,
) -> Raised | None:
    """What the kernels for accumulators of 32 bits need; None where they do not serve.

    They do where weights and bias are stored, whatever the inputs no accumulator reaches the limit,
    and each group's channels are whole vectors, or all channels are one group's.

    Args:
        node: the op; input 1 is the weights, input 2 the bias or absent.
        requant: its requantisation.
        axis: of the weights' output channels.
        groups: of output channels.
        limit: what accumulators stay below.

    """
    w, bias = node.input(1), node.optional(2)
    if not isinstance(requant, WideRequant) or w.data is None:
        return None
    if bias is not None and bias.data is None:
        return None
    channels = w.shape[axis]
    if groups > 1 and channels // groups % QUAD:
        return None
    right = np.broadcast_to(requant.right, (channels,))
    if right.min() not in SHIFTS or right.max() not in SHIFTS:
        return None
    offsets = np.zeros(channels, np.int64) if bias is None else np.asarray(bias.data, np.int64)
    if int(_largest(np.asarray(w.data), offsets, axis).max()) >= limit:
        return None
    mult, mult_step = _by_quads(np.broadcast_to(requant.mult, (channels,)) << (32 - right))
    first, bias_step = _by_quads(offsets)
    fields: Fields = {
        "mult": Data("mult", mult, "int32_t"),
        "mult_step": mult_step,
        "bias_step": bias_step,
        "act_min": requant.act_min,
        "act_max": requant.act_max,
    }
    return Raised({"raised": fields}, Data("bias", first))


def _largest(w: NDArray[np.int8], bias: NDArray[np.int64], axis: int) -> NDArray[np.float64]:
    """A bound of each channel's accumulator, and of its sum on the way there."""
    others = tuple(i for i in range(w.ndim) if i != axis)
    sums = np.abs(w.astype(np.int64)).sum(axis=others).astype(np.float64)
    return np.asarray(sums * 2.0**15 + np.abs(bias.astype(np.float64)))


def _by_quads(values: NDArray[np.int64]) -> tuple[NDArray[np.int32], int]:
    """Values of channels up to a whole vector with step 1; one vector with step 0 if all agree."""
    if bool((values == values[0]).all()):
        return np.full(QUAD, values[0], np.int32), 0
    return np.pad(values, (0, -values.size % QUAD)).astype(np.int32), 1
