"""LSTMs with vectors: four units at a time, one gate after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.kernel import Fields
from tinyrt.backends.c.mve.packing import QUAD, pack_filters
from tinyrt.fixedpoint import wrap_int32
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.unidirectional_sequence_lstm import GATES, LstmInteger


def quad_filters(w: NDArray[np.int8]) -> NDArray[np.int8]:
    """Weights (4 units, taps), gate by gate, as (units / 4, gate, blocks, 4, 16)."""
    by_gate = np.stack([pack_filters(rows) for rows in np.split(w, len(GATES))])
    return by_gate.swapaxes(0, 1)


def quad_sums(sums: NDArray[np.int64]) -> NDArray[np.int32]:
    """First sums (4 units,), gate by gate, as (units / 4, gate, 4)."""
    by_gate = sums.reshape(len(GATES), -1)
    padded = np.pad(by_gate, ((0, 0), (0, -by_gate.shape[1] % QUAD)))
    quads = padded.reshape(len(GATES), -1, QUAD).swapaxes(0, 1)
    return wrap_int32(quads).astype(np.int32)


def quad_scales(p: LstmInteger) -> Fields:
    """The fields of ``tinyrt_lstm_quads_s8_params`` with which it rescales."""
    gates: Fields = {
        gate: {"x": _scale(*_pair(x)), "h": _scale(*_pair(h))}
        for gate, x, h in zip(GATES, p.from_x, p.from_h, strict=True)
    }
    units = {"kept": p.forget, "update": p.update, "shown": p.output}
    return gates | {name: _scale(*pair) for name, pair in units.items()}


def _pair(scale: object) -> tuple[int, int]:
    assert isinstance(scale, Requant)
    return int(scale.mult[0]), int(scale.shift[0])


def _scale(mult: int, shift: int) -> Fields:
    """``tinyrt_lstm_quads_scale``."""
    right = min(shift, 0)
    return {"mult": mult, "left": max(shift, 0), "below": int(right < 0), "right": right}
