"""What a packed layer costs in every form of its weights, in instructions.

Kernels for weights without their zeros run over two columns at a time and over the last one alone,
or over one row where it lies, block by block of channels; so do those for dense weights that take
no four pixels at once. Constants are counts of the emulator on Cortex-M4, M3 and M0 and on RISC-V;
``tests/firmware/test_sparse.py`` compares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tinyrt.backends.c.blocks.block import Block, Runs
from tinyrt.backends.c.blocks.four_cost import FOURS, RISCV_FOURS, SMALL_FOURS, Fours
from tinyrt.backends.c.blocks.layer import QUAD
from tinyrt.backends.c.blocks.row_cost import (
    RISCV_ROW_BYTES,
    ROW_BYTES,
    SMALL_ROW_BYTES,
    RowBytes,
    dense_row_cost,
)
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Target
from tinyrt.ir import Shape
from tinyrt.ops.shared.window import Window


@dataclass(frozen=True, slots=True)
class Loop:
    """Costs of products with a block of channels.

    Attributes:
        tap: per tap.
        block: per block, without taps.
        run: per run of taps, where zeros are left out.
        more: per tap of such runs, beside the above.
        relu: what dense weights save per block where outputs take no sign.

    """

    tap: float
    block: float
    run: float
    more: float = 0
    relu: float = 0


@dataclass(frozen=True, slots=True)
class Patch:
    """Costs of a window that is copied to a column.

    Attributes:
        tap: per tap.
        pixel: per window.
        row: per row of a window.
        border: per row of one that reads beyond the input.

    """

    tap: float
    pixel: float
    row: float
    border: float


@dataclass(frozen=True, slots=True)
class Kept:
    """Costs of N of 4.

    Attributes:
        taps: per weight that is kept, for one of four and for two.
        output: per output, without taps.
        row: per row of several, which are copied, and per element of it.

    """

    taps: tuple[float, float]
    output: float
    row: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Prices:
    """The constants of one kind of core.

    Attributes:
        two: for two columns and four channels.
        one: for one column and four channels.
        row: for one row and the channels that are computed together.
        row_set: of such a row, without blocks.
        widen: per element of a row that is copied to a column: of two rows, and of one.
        pixel: per such row.
        patch: of windows.
        kept: of N of 4.
        tiles: instructions of convolutions by tiles, to those of their formula.
        eights: of dense weights for one row on scalar cores.
        fours: of dense weights for four pixels there.

    """

    two: Loop
    one: Loop
    row: Loop
    row_set: float
    widen: tuple[float, float]
    pixel: float
    patch: Patch
    kept: Kept
    tiles: float = 1
    eights: RowBytes = ROW_BYTES
    fours: Fours = FOURS


DSP = Prices(
    two=Loop(6.2, 107, 27, relu=66),
    one=Loop(4.15, 88, 17, more=0.25, relu=25),
    row=Loop(4.36, 60, 15.3),
    row_set=62,
    widen=(1.8, 0.9),
    pixel=49,
    patch=Patch(2.9, 86, 10.6, 21),
    kept=Kept((6.25, 6), 33, (62, 1.15)),
)
"""Those of Cortex-M4."""

MLA = Prices(
    two=Loop(13.2, 116, 29, relu=47),
    one=Loop(8.75, 74.5, 23.5, relu=17),
    row=Loop(17.4, 162, 18),
    row_set=36,
    widen=(2.4, 7.8),
    pixel=72,
    patch=Patch(3.45, 86, 9.75, 41),
    kept=Kept((6.25, 6), 34, (60, 1.15)),
)
"""Those of Cortex-M3."""

SMALL = Prices(
    two=Loop(28.8, 339, 52),
    one=Loop(15.4, 198, 48),
    row=Loop(30.75, 419, 62),
    row_set=48,
    widen=(3.4, 8.9),
    pixel=110,
    patch=Patch(6, 98, 0, 91),
    kept=Kept((13.7, 13.4), 120, (72, 6.1)),
    eights=SMALL_ROW_BYTES,
    fours=SMALL_FOURS,
)
"""Those of Cortex-M0."""

RISCV = Prices(
    two=Loop(23.3, 169, 18.5),
    one=Loop(13.7, 105, 17, more=1.1),
    row=Loop(36, 422, 20),
    row_set=63,
    widen=(2.3, 8.9),
    pixel=88,
    patch=Patch(4.9, 37, 0, 76),
    kept=Kept((8, 8), 37.7, (71, 4.6)),
    tiles=1.6,
    eights=RISCV_ROW_BYTES,
    fours=RISCV_FOURS,
)
"""Those of RISC-V, and of all scalar cores beside the above."""


def prices_of(target: Target) -> Prices:
    """The constants for the cores of a target."""
    if target.isa is InstructionSet.DSP:
        return DSP
    return MLA if target.mla else SMALL if target.raised else RISCV


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a layer's kernel computes, whatever the form of its weights.

    Attributes:
        rows: rows or pixels of the output.
        taps: of a channel, as the kernel reads them.
        channels: that a block of weights without zeros has.
        alone: whether the kernel for one row takes it, which reads activations where they lie.
        patches: of a convolution with larger windows: rows of a window, and how many windows read
            beyond the input.
        four: instructions with dense weights, where these go by four pixels at once.

    """

    rows: int
    taps: int
    channels: int = QUAD
    alone: bool = False
    patches: tuple[int, int] | None = None
    four: float | None = None


def patches_of(window: Window, x: Shape) -> tuple[int, int]:
    """Rows of a window, and how many windows of an input (n, h, w, c) read beyond it."""
    images, *sizes, _ = x
    inside = images
    for axis, size in enumerate(sizes):
        step, before = window.stride[axis], window.before[axis]
        reach = (window.kernel[axis] - 1) * window.dilation[axis]
        firsts = range(-before, window.out[axis] * step - before, step)
        inside *= sum(0 <= first < size - reach for first in firsts)
    return window.kernel[0], images * window.out[0] * window.out[1] - inside


def dense_form_cost(block: Block, sizes: Sizes, prices: Prices, relu: bool) -> float:
    """Instructions with dense weights; relu where outputs take no sign with them."""
    if sizes.four is not None:
        return sizes.four
    if sizes.alone:
        own = prices.eights
        return dense_row_cost(block.isa, sizes.taps, block.layer.c_out, relu, own=own)
    blocks = block.channels // QUAD

    def products(loop: Loop) -> float:
        return blocks * (loop.block - (loop.relu if relu else 0) + loop.tap * sizes.taps)

    return _by_columns(sizes, prices, products)


def blocks_cost(runs: list[Runs], sizes: Sizes, prices: Prices) -> float:
    """Instructions with runs of taps between blocks of zeros."""
    count, read = sum(map(len, runs)), sum(b - a for own in runs for a, b in own)

    def products(loop: Loop) -> float:
        return len(runs) * loop.block + count * loop.run + (loop.tap + loop.more) * read

    if sizes.alone:
        return prices.row_set + products(prices.row)
    return _by_columns(sizes, prices, products)


def kept_cost(n: int, kept: int, c_out: int, sizes: Sizes, prices: Prices) -> float:
    """Instructions with so many weights, of which n are kept of four."""
    own = prices.kept
    row = own.row[0] + own.row[1] * sizes.taps if sizes.rows > 1 else 0
    return sizes.rows * (own.taps[n - 1] * kept + own.output * c_out + row)


def _by_columns(sizes: Sizes, prices: Prices, products: Callable[[Loop], float]) -> float:
    """Two columns at a time, and the last one alone."""
    pairs, odd = divmod(sizes.rows, 2)
    return pairs * products(prices.two) + odd * products(prices.one) + _columns(sizes, prices)


def _columns(sizes: Sizes, prices: Prices) -> float:
    """What all columns take."""
    if sizes.patches is None:
        odd = sizes.rows % 2
        widened = (sizes.rows - odd) * prices.widen[0] + odd * prices.widen[1]
        return sizes.rows * prices.pixel + widened * sizes.taps
    patch, (rows, border) = prices.patch, sizes.patches
    each = patch.tap * sizes.taps + patch.pixel + patch.row * rows
    return sizes.rows * each + border * rows * patch.border
