"""LSTMs with vectors: four units at a time, one gate after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.lstm import gate_scales
from tinyrt.backends.c.blocks.lstm_wide import WideLstm
from tinyrt.backends.c.blocks.rows import Scale
from tinyrt.backends.c.kernel import Fields
from tinyrt.backends.c.mve.packing import LANES, QUAD, VECTOR, pack_filters, whole_quads
from tinyrt.ops.unidirectional_sequence_lstm import GATES, LstmInteger


def quad_filters(w: NDArray[np.int8], r: NDArray[np.int8], block: int = VECTOR) -> NDArray[np.int8]:
    """Weights of both operands as the kernel reads them.

    Args:
        w: weights (4 units, taps) of x, gate by gate.
        r: those of the hidden state.
        block: as many as a vector has activations.

    Returns:
        For every four units and each gate, (blocks, 4, block) of x, then of the hidden state.

    """
    both = [
        np.stack([pack_filters(rows, block) for rows in np.split(rows_of_all, len(GATES))], axis=1)
        for rows_of_all in (w, r)
    ]
    quads = both[0].shape[0]
    return np.concatenate([part.reshape(quads, len(GATES), -1) for part in both], axis=2)


def quad_sums(start: NDArray[np.int64], restart: NDArray[np.int64]) -> NDArray[np.int32]:
    """First sums (4 units,) of both operands, gate by gate, as (units / 4, gate, operand, 4)."""
    by_gate = np.stack([start, restart]).reshape(2, len(GATES), -1)
    quads = whole_quads(by_gate).reshape(2, len(GATES), -1, QUAD)
    return quads.transpose(2, 1, 0, 3)


def quad_scales(p: LstmInteger) -> Fields:
    """The fields of ``tinyrt_lstm_quads_s8_params`` with which it rescales."""
    pairs = zip(gate_scales(p.from_x), gate_scales(p.from_h), strict=True)
    gates: Fields = {
        gate: {"x": quad_scale(x), "h": quad_scale(h)}
        for gate, (x, h) in zip(GATES, pairs, strict=True)
    }
    return gates | _unit_scales(p)


def wide_quad_filters(lstm: WideLstm) -> NDArray[np.int8]:
    """As ``quad_filters``, for int16."""
    return quad_filters(lstm.w, lstm.r, LANES)


def wide_quad_sums(lstm: WideLstm) -> NDArray[np.int32]:
    """First sums of x as (units / 4, gate, 4)."""
    quads = whole_quads(lstm.start.reshape(len(GATES), -1).astype(np.int64))
    return quads.reshape(len(GATES), -1, QUAD).swapaxes(0, 1)


def wide_quad_scales(lstm: WideLstm, p: LstmInteger) -> Fields:
    """The fields of ``tinyrt_lstm_quads_s16_params`` with which it rescales."""
    mults = zip(GATES, lstm.from_x, lstm.from_h, strict=True)
    return {gate: {"x": x, "h": h} for gate, x, h in mults} | _unit_scales(p)


def _unit_scales(p: LstmInteger) -> Fields:
    units = {"kept": p.forget, "update": p.update, "shown": p.output}
    return {name: quad_scale(scale) for name, scale in units.items()}


def quad_scale(scale: Scale) -> Fields:
    """``tinyrt_quads_scale``."""
    mult, shift = scale
    right = min(shift, 0)
    return {"mult": mult, "left": max(shift, 0), "below": int(right < 0), "right": right}
