"""What kernels cost, each row worked out by hand from the terms of its kernel's loops."""

import numpy as np
import pytest

from tests.backends.c.test_zeros import block_of
from tinyrt.backends.c.blocks.cost import dense_cost, max_pool_cost, window_cost
from tinyrt.backends.c.blocks.form_cost import DSP as DSP_PRICES
from tinyrt.backends.c.blocks.form_cost import (
    MLA,
    SMALL,
    Sizes,
    blocks_cost,
    dense_form_cost,
    kept_cost,
    patches_of,
)
from tinyrt.backends.c.blocks.form_cost import RISCV as RISCV_PRICES
from tinyrt.backends.c.blocks.four_cost import (
    SMALL_FOURS,
    WindowGroups,
    dense_four_cost,
    window_four_cost,
)
from tinyrt.backends.c.blocks.row_cost import (
    dense_row_cost,
    lstm_cost,
    narrow_lstm_cost,
    plain_depthwise_cost,
    plain_groups_cost,
    svdf_cost,
    wide_conv_cost,
    wide_lstm_cost,
)
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.mve import cost as mve
from tinyrt.ops.shared.window import Window

DSP, SCALAR, AVX2 = InstructionSet.DSP, InstructionSet.SCALAR, InstructionSet.AVX2

SIX, FIVE = 4 * 4 + 2 + 24, 4 * 4 + 2 + 24
"""Products of a row of six taps, or of five, on DSP cores: four, a turn, and what is left."""

ROWS = {
    "two fours of channels": (dense_row_cost(DSP, 20, 5), 81 + 2 * (80 + 2 * 2 + 56)),
    "without a sign": (dense_row_cost(DSP, 20, 5, True), 81 + 2 * (80 + 2 * 2 + 48)),
    "bytes": (
        dense_row_cost(SCALAR, 20, 9),
        45 + 2.75 * 20 + 2 * (12 * 20 + 3 * 3 + 214),
    ),
    "halves": (dense_row_cost(SCALAR, 20, 9, halves=True), 45 + 2 * (17 * 20 + 3 * 3 + 175)),
    "LSTM": (lstm_cost(DSP, 3, 6, 20), 3 * (351 * 20 + 20 * (SIX + 80 + 2 * 2))),
    "LSTM by eights": (
        lstm_cost(SCALAR, 3, 6, 9),
        3 * (347 * 9 + 5 * (17 * 6 + 3 + 17 * 9 + 3 * 2)),
    ),
    "LSTM of int4": (
        narrow_lstm_cost(DSP, 3, 8, 21),
        3 * (21 * (395 + 4.75 * 8 + 2 + 4.75 * 20 + 2 * 2 + 20) + 1.75 * 29),
    ),
    "LSTM of int4, scalar": (
        narrow_lstm_cost(SCALAR, 3, 6, 9),
        3 * (9 * (409 + 9 * 6 + 3 * 2 + 9 * 9 + 3 * 3) + 4 * 15),
    ),
    "LSTM of int16": (
        wide_lstm_cost(DSP, 3, 7, 18),
        3 * (48 + 18 * (324 + 4 * 6 + 1.7 + 24 + 4 * 18 + 1.7 * 2)),
    ),
    "SVDF": (
        svdf_cost(DSP, 5, 2, 7, (9, 1)),
        24 * 9 + 3 * FIVE + 0.81 * 2 * 7 + 2 * (45.5 + 10.9 + 6.3 * 3),
    ),
    "SVDF of int16": (
        svdf_cost(DSP, 5, 2, 7, (9, 2)),
        24 * 9 + 3 * FIVE + 0.81 * 2 * 7 * 2 + 2 * (45.5 + 5.5 * 3 + 6.3 * 2 / 2),
    ),
    "columns of int16": (
        wide_conv_cost(DSP, 5, (3, 19), 6),
        5 * (97 + 3 * 34 + 2.7 * 19 + 2 * (130 + 4 * 18 + 1.7 * 2 + 24)),
    ),
    "no columns": (
        wide_conv_cost(SCALAR, 5, (0, 19), 6),
        5 * (16 + 2 * (104 + 9 * 19 + 1.5 * 2)),
    ),
    "taps of int16": (plain_depthwise_cost(5, 3, (2, 4)), 5 * (120 + 3 * (86 + 2 * (17 + 44)))),
    "groups of int16": (
        plain_groups_cost(DSP, 5, (3, 18), 6),
        5 * (160 + 3 * 36 + 3 * 18 + 5.3 * 18 * 2 + 43 * 6),
    ),
    "groups of int16 in place": (
        plain_groups_cost(AVX2, 5, (0, 18), 6),
        5 * (160 + 11 * 18 * 2 + 43 * 6),
    ),
}
BLOCKS = {
    "pixels": (dense_cost(DSP, 6, 18, 5), 3 * 2 * (6 * 20 + 3 * 2 + 127) + 6 * (1.75 * 18 + 29)),
    "windows": (
        window_cost(SCALAR, 6, (3, 2), 3, 5),
        3 * 2 * (13 * 20 + 3 * 2 + 124) + 6 * (2.5 * 18 + 180 + 3.5 * 3),
    ),
    "windows without a sign": (
        window_cost(DSP, 6, (3, 2), 3, 5, True),
        3 * 2 * (6 * 20 + 3 * 2 + 61) + 6 * (2 * 18 + 182 + 5 * 3),
    ),
    "four rows": (
        dense_four_cost(5, 18, 5),
        2 * (13.1 * 18 + 3 * (9 * 20 + 3 * 2 + 170.3) + 90),
    ),
    "four rows without a sign": (
        dense_four_cost(5, 18, 5, True),
        2 * (13.1 * 18 + 3 * (9 * 20 + 3 * 2 + 107) + 90),
    ),
    "four pixels": (
        window_four_cost(WindowGroups(7, 5, 19), (3, 2), 3, 5, k=SMALL_FOURS),
        7 * (25.5 * 18 + 3 * (17 * 20 + 3 * 5 + 436) + 341) + 3 * (5 * 84 + 19 * 3 * 6.2),
    ),
    "four pixels without a sign": (
        window_four_cost(WindowGroups(7, 5, 19), (3, 2), 3, 5, True),
        7 * (13.1 * 18 + 3 * (9 * 20 + 3 * 2 + 107) + 243) + 3 * (5 * 89 + 19 * 3),
    ),
    "maxima": (max_pool_cost(5, 6), 5 * (6 + 14)),
}
VECTORS = {
    "a row": (mve.row_cost(20, 9), 100 + 2 * (36 + 18 * 2)),
    "pairs and one": (
        mve.product_cost(5, 20, 9, plain=True),
        30 + 60 + 2 * (12 + 3 * (27 + 5 + 14 * 2)) + 90 + 3 * (46 + 10 * 2),
    ),
    "pairs of many blocks": (
        mve.product_cost(4, 16 * 14, 9, plain=False),
        30 + 60 + 2 * (12 + 3 * (27 + 14 * 14 + 4 + 2 * 2)),
    ),
    "pairs of nine blocks": (
        mve.product_cost(2, 16 * 9, 4, plain=False),
        30 + 60 + 12 + 27 + 14 * 9,
    ),
    "LSTM": (mve.lstm_cost(3, 20, 5), 130 + 3 * (75 + 2 * (485 + 40))),
    "LSTM of int4": (mve.lstm_cost(3, 20, 50, 4), 130 + 3 * (75 + 13 * (509 + 40 * (1 + 3)))),
    "LSTM of int16": (mve.lstm_cost(3, 20, 9, 16), 130 + 3 * (75 + 3 * (440 + 40 * (2 + 1)))),
    "SVDF": (
        mve.svdf_cost(20, 2, 9, 6, 1),
        130 + 70 + 2 * (43 + 10) + 3 * 2 * 9 // 16 + 2 * (9 + 4) + 26,
    ),
    "SVDF of int16": (
        mve.svdf_cost(40, 5, 9, 10, 2),
        130 + 70 + 3 * (43 + 20) + 3 * 5 * 9 * 2 // 16 + 5 * (9 + 4 * 2) + 26 * 2,
    ),
}
RUNS = [[(0, 8), (12, 16)], [(4, 8)]]
"""Of two blocks: three runs, 16 taps in all."""
WINDOW = Window.of((6, 5), (3, 3), (2, 1), "SAME")
"""Of 3 x 5 outputs one row below reads beyond the input, and of the others the first and last."""
EIGHTEEN = block_of(np.ones((5, 18), int), SCALAR), Sizes(5, 20)
FORMS = {
    "pairs and one": (
        blocks_cost(RUNS, Sizes(5, 20), MLA),
        2 * (2 * 116 + 3 * 29 + 13.2 * 16)
        + (2 * 74.5 + 3 * 23.5 + 8.75 * 16)
        + (5 * 72 + (4 * 2.4 + 7.8) * 20),
    ),
    "taps of runs": (
        blocks_cost(RUNS, Sizes(1, 20), RISCV_PRICES),
        2 * 105 + 3 * 17 + (13.7 + 1.1) * 16 + 88 + 8.9 * 20,
    ),
    "a row": (
        blocks_cost(RUNS, Sizes(1, 20, 8, alone=True), SMALL),
        48 + 2 * 419 + 3 * 62 + 30.75 * 16,
    ),
    "windows": (
        blocks_cost(RUNS, Sizes(4, 20, patches=(3, 2)), SMALL),
        2 * (2 * 339 + 3 * 52 + 28.8 * 16) + 4 * (6 * 20 + 98 + 3 * 0) + 2 * 3 * 91,
    ),
    "dense pairs and one": (
        dense_form_cost(*EIGHTEEN, MLA, False),
        2 * 2 * (116 + 13.2 * 20) + 2 * (74.5 + 8.75 * 20) + 5 * 72 + (4 * 2.4 + 7.8) * 20,
    ),
    "dense without a sign": (
        dense_form_cost(*EIGHTEEN, DSP_PRICES, True),
        2 * 2 * (107 - 66 + 6.2 * 20) + 2 * (88 - 25 + 4.15 * 20) + (5 * 49 + (4 * 1.8 + 0.9) * 20),
    ),
    "a dense row": (
        dense_form_cost(EIGHTEEN[0], Sizes(1, 18, 8, alone=True), SMALL, False),
        80 + 3.75 * 18 + 19.75 * 18 + 481,
    ),
    "dense by fours": (dense_form_cost(EIGHTEEN[0], Sizes(9, 20, four=7.5), MLA, False), 7.5),
    "one of four": (
        kept_cost(1, 30, 6, Sizes(3, 20), SMALL),
        3 * (13.7 * 30 + 120 * 6 + 72 + 6.1 * 20),
    ),
    "two of four in a row": (kept_cost(2, 60, 6, Sizes(1, 20), SMALL), 13.4 * 60 + 120 * 6),
    "windows at the border": (patches_of(WINDOW, (2, 6, 5, 1))[1], 2 * (5 + 2 * 2)),
}
CASES = {
    f"{part}: {name}": row
    for part, rows in (("rows", ROWS), ("blocks", BLOCKS), ("vectors", VECTORS), ("forms", FORMS))
    for name, row in rows.items()
}


@pytest.mark.parametrize("name", CASES)
def test_every_loop_is_counted(name):
    found, by_hand = CASES[name]
    assert found == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize(("isa", "prices"), [(DSP, DSP_PRICES), (SCALAR, MLA)], ids=["M4", "M3"])
def test_pairs_cost_the_same_by_both_formulas(isa, prices):
    """That of dense layers, and that of all forms, whose loops are the same."""
    for rows, taps, c_out in ((2, 64, 32), (6, 96, 20), (100, 32, 24)):
        block = block_of(np.ones((c_out, taps), int), isa)
        found = dense_form_cost(block, Sizes(rows, taps), prices, False)
        assert found == pytest.approx(dense_cost(isa, rows, taps, c_out), rel=0.04)
