"""SVDF over packed feature weights: filters are the output channels of a dense layer of one row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.layer import BLOCK_SETS
from tinyrt.backends.c.blocks.rows import (
    Rows,
    are_mostly_padding,
    even_move,
    odd_move,
    rounding_fields,
)
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Fields
from tinyrt.ops.svdf import SvdfS8


def svdf_rows(
    features: NDArray[np.int8], start: NDArray[np.int64], p: SvdfS8, isa: InstructionSet
) -> Rows | None:
    """The filters for ``tinyrt_svdf_block_s8``; None where only the general kernel will do."""
    if isa not in BLOCK_SETS:
        return None
    rows = Rows(features, start)
    fits = rows.fits((p.feature,)) and not are_mostly_padding((rows,), isa)
    return rows if fits else None


def feature_fields(p: SvdfS8) -> Fields:
    """The fields of ``tinyrt_svdf_block_params`` with which features are rescaled."""
    mult, shift = p.feature
    rounding = {f"feature_{name}": value for name, value in rounding_fields(shift).items()}
    moves = {"feature_even": even_move(shift), "feature_odd": odd_move(shift)}
    return {"feature_mult": mult, **moves, **rounding}
