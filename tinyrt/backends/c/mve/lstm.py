"""LSTMs with vectors: four units at a time, one gate after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.lstm import gate_scales
from tinyrt.backends.c.blocks.lstm_wide import WideLstm
from tinyrt.backends.c.blocks.nibble_rows import are_narrow
from tinyrt.backends.c.blocks.rows import Scale
from tinyrt.backends.c.kernel import Fields
from tinyrt.backends.c.mve.packing import (
    LANES,
    QUAD,
    VECTOR,
    pack_filters,
    pack_filters_s4,
    whole_quads,
)
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
    return _by_quads([[pack_filters(rows, block) for rows in _by_gate(a)] for a in (w, r)])


def narrowest_quad_filters(
    w: NDArray[np.int8], r: NDArray[np.int8]
) -> tuple[int, NDArray[np.int8]]:
    """How many bits a weight takes, and ``quad_filters`` of them: four where they hold all."""
    if are_narrow(w, r):
        found = [[pack_filters_s4(rows) for rows in _by_gate(a)] for a in (w, r)]
        packed = [[part for part in parts if part is not None] for parts in found]
        if sum(map(len, packed)) == 2 * len(GATES):
            return 4, _by_quads(packed)
    return 8, quad_filters(w, r)


def _by_gate(rows: NDArray[np.int8]) -> list[NDArray[np.int8]]:
    return np.split(rows, len(GATES))


def _by_quads(packed: list[list[NDArray[np.int8]]]) -> NDArray[np.int8]:
    """Filters of each gate, of both operands, as (quads, gates, bytes)."""
    both = [np.stack(gates, axis=1) for gates in packed]
    return np.concatenate([part.reshape(*part.shape[:2], -1) for part in both], axis=2)


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
