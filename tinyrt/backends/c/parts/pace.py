"""How many instructions cores take that have no formulas of their own, to what formulas say.

The formulas (``tinyrt.backends.c.blocks.cost`` and ``mve.cost``) are those of Cortex-M4, M3 and
M55. Factors are counts on the emulator to what these say; ``tests/firmware/test_slice_costs.py``
compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tinyrt.backends.c.blocks.four_cost import (
    FOURS,
    RISCV_BITS_FOURS,
    RISCV_FOURS,
    SMALL_FOURS,
    Fours,
)
from tinyrt.backends.c.kernel import Call

SHORT = "short"
"""Stands for convolutions whose windows are copied in short runs."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Instructions of a core, to those of the formulas.

    Attributes:
        factors: by how the names of kernels begin, and ``SHORT``.
        others: of all other kernels.
        fours: the formulas' constants for four pixels.

    """

    factors: Mapping[str, float]
    others: float
    fours: Fours = FOURS

    def factor(self, call: Call, short: bool) -> float:
        """How many times as many instructions a call takes; that of the longest beginning."""
        if short and SHORT in self.factors:
            return self.factors[SHORT]
        name = call.function.removeprefix("tinyrt_")
        begins = [begin for begin in self.factors if name.startswith(begin)]
        return self.factors[max(begins, key=len)] if begins else self.others


AS_SAID = Pace({}, 1.0)
"""Cores that have formulas, or are like one that has."""

SMALL = Pace(
    {
        **{SHORT: 3.2, "window_block": 2.3, "lut_s8": 1.0, "average": 1.6},
        **{"average_pool2d_s16": 3.9, "max_pool2d_s16": 1.5, "add_s16": 3.1, "sub_s16": 3.1},
        **{"dense_row": 1.7, "dense_row_long": 1.9, "dense_row_sparse": 1.9},
        **{"window_four": 1.0, "dense_four": 1.0, "depthwise3x3": 2.15},
        **{"dense_sparse": 2.2, "linear_sum_s8": 1.9},
        **{"depthwise_conv2d_s16": 2.3, "conv2d_s16": 2.0},
        **{"logistic_short": 1.45, "tanh_short": 1.5},
    },
    others=2.5,
    fours=SMALL_FOURS,
)
"""Cores with products of 32 bits, which load words at multiples of four, only."""

RISCV = Pace(
    {
        **{SHORT: 2.4, "window": 1.75, "dense": 1.75, "group": 2.4},
        **{"dense_row": 1.75, "dense_row_long": 2.15, "dense_row_sparse": 2.15},
        **{"depthwise": 1.4, "depthwise3x3": 1.32, "dense_sparse": 1.55},
        **{"linear_sum_s8": 1.5, "sum_s8": 1.5, "lut_s8": 1.15},
        **{"softmax": 1.1, "mean": 1.0, "average": 1.0, "max_pool2d": 1.0, "concatenation": 1.7},
        **{"average_pool2d_s16": 1.3, "max_pool2d_s16": 0.8},
        **{"lstm_block_s4": 1.78, "lstm_block_s16": 1.67, "conv2d_block": 1.72},
        **{"depthwise_conv2d_s16": 0.93, "conv2d_s16": 1.2},
        **{"logistic_short": 1.02, "tanh_short": 1.08},
        **{"lstm_block": 2.15, "svdf_block": 2.15, "window_four": 1.0, "dense_four": 1.0},
        "winograd": 1.6,
    },
    others=1.35,
    fours=RISCV_FOURS,
)
"""RISC-V: no instruction for a product and a sum, none that loads at an offset in a register."""

RISCV_BITS = Pace(
    {
        **RISCV.factors,
        **{"depthwise3x3": 1.28, "linear_sum_s8": 1.45, "softmax_table": 1.0, "times_s8": 1.25},
        **{"maximum_s8": 0.9, "minimum_s8": 0.9, "max_pool2d_s16": 0.9},
        **{"logistic_short": 0.96, "tanh_short": 0.99},
    },
    others=1.35,
    fours=RISCV_BITS_FOURS,
)
"""RISC-V with Zba and Zbb: single instructions for addresses, for limits, and for a byte's sign."""

RISCV_VECTORS = Pace(
    {
        **RISCV.factors,
        **dict.fromkeys(("conv2d_strips", "depthwise_strips", "dense_strips"), 1.0),
        **{"linear_sum_s8": 0.06, "lut_s8": 0.06, "max_pool2d_s8": 0.1},
    },
    others=1.35,
    fours=RISCV_FOURS,
)
"""RISC-V with vectors of 128 bits."""

PACES = {
    **dict.fromkeys(("cortex-m0", "cortex-m0plus", "cortex-m23"), SMALL),
    **{"rv32imc": RISCV, "rv32imcb": RISCV_BITS, "rv32imcv": RISCV_VECTORS},
}
"""Core -> its pace, where no formulas hold."""


def pace_of(core: str) -> Pace:
    """The pace of a core, by its name."""
    return PACES.get(core, AS_SAID)
