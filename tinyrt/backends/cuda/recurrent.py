"""How ops that keep state are written for a GPU; their states are ports, before and after."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.cuda.writer import C_TYPES, DeviceWriter, Ints
from tinyrt.ir import BoundNode
from tinyrt.ops import OPS
from tinyrt.ops.shared.requant import WideRequant
from tinyrt.ops.shared.spec import Array, Form, limits_of
from tinyrt.ops.svdf import STATE, SvdfS8
from tinyrt.ops.unidirectional_sequence_lstm import (
    CELL,
    GATE_TABLE,
    GATES,
    HIDDEN,
    LstmInteger,
    require_summable,
)

WORD = 4
"""Weights of a gate that a thread reads at once, with those of the other three."""


def emit_svdf(node: BoundNode, p: SvdfS8, w: DeviceWriter) -> None:
    """One output per thread, which moves its filters' past on."""
    x, features, time, bias = node.input(0), node.input(1), node.input(2), node.optional(3)
    (filters, c), (batches, units) = features.shape, node.output.shape
    ints: Ints = {
        "BATCHES": batches, "UNITS": units, "C": c, "RANK": filters // units,
        "MEMORY": time.shape[1], "X_ZP": p.x_zp, "STATE_ZP": p.state_zp, "Y_ZP": p.y_zp,
        "FEATURE_MULT": p.feature[0], "FEATURE_SHIFT": p.feature[1],
        "TIME_MULT": p.time[0], "TIME_SHIFT": p.time[1],
    }  # fmt: skip
    tensors = {
        "x": x, "features": features, "time": time,
        "before": node.input(STATE), "after": node.outputs[1], "y": node.output,
    }  # fmt: skip
    start = np.zeros(units, np.int32) if bias is None else np.asarray(bias.data)
    types = {"State": C_TYPES[p.state_dtype]}
    blobs = {"bias": start}
    work = batches * units
    w.op("filters_in_time", "recurrent", work, ints=ints, tensors=tensors, types=types, blobs=blobs)


def pack_gates(weights: list[Array]) -> NDArray[np.int8]:
    """Four matrices (units, k) as ``four_products`` reads them: (k / 4, units, gates, 4 bytes)."""
    stacked = np.stack([np.asarray(w, np.int8) for w in weights], axis=1)  # (units, gates, k)
    padded = np.pad(stacked, ((0, 0), (0, 0), (0, -stacked.shape[2] % WORD)))
    units, gates, length = padded.shape
    return padded.reshape(units, gates, length // WORD, WORD).transpose(2, 0, 1, 3)


def emit_lstm(node: BoundNode, p: LstmInteger, w: DeviceWriter) -> None:
    """One unit per thread, one barrier per step in time."""
    x, h, y = node.input(0), node.input(HIDDEN), node.output
    require_summable(node, p)
    (batches, units), c_in = h.shape, x.shape[2]
    steps = x.shape[0 if p.time_major else 1]
    wide = isinstance(p.from_x[0], WideRequant)
    least, most = limits_of(p.h_dtype)
    ints: Ints = {
        "BATCHES": batches, "STEPS": steps, "UNITS": units, "C": c_in,
        "ROW": 1 if p.time_major else steps, "STEP": batches if p.time_major else 1,
        "X_ZP": p.x_zp, "H_ZP": p.h_zp, "WIDE": wide, "LEAST": least, "MOST": most,
        "CELL_LEAST": -p.cell_clip if p.cell_clip else -32768,
        "CELL_MOST": p.cell_clip or 32767,
        "FORGET_MULT": p.forget[0], "FORGET_SHIFT": p.forget[1],
        "UPDATE_MULT": p.update[0], "UPDATE_SHIFT": p.update[1],
        "OUTPUT_MULT": p.output[0], "OUTPUT_SHIFT": p.output[1],
    }  # fmt: skip
    gates = range(len(GATES))
    bias = np.stack([np.asarray(node.input(9 + k).data) for k in gates], axis=1)
    shifts = [r.right if isinstance(r, WideRequant) else r.shift for r in (*p.from_x, *p.from_h)]
    mults = [r.mult for r in (*p.from_x, *p.from_h)]
    values = np.arange(-32768, 32768).astype(np.int16)
    logistic, tanh = (OPS[op].forms[Form.INT16X8].ref for op in ("logistic", "tanh"))
    tensors = {
        "x": x, "hidden": h, "cell": node.input(CELL), "y": y,
        "hidden_after": node.outputs[1], "cell_after": node.outputs[2],
    }  # fmt: skip
    types = {"X": C_TYPES[x.dtype], "Acc": "i64" if wide else "i32"}
    blobs = {
        "input_weights": pack_gates([np.asarray(node.input(1 + k).data) for k in gates]),
        "hidden_weights": pack_gates([np.asarray(node.input(5 + k).data) for k in gates]),
        "bias": bias.astype(np.int64 if wide else np.int32),
        "mults": np.concatenate(mults).astype(np.int32),
        "shifts": np.concatenate(shifts).astype(np.int32),
        "logistic": logistic(GATE_TABLE, values),
        "tanh": tanh(GATE_TABLE, values),
        "cell_tanh": tanh(p.cell_tanh, values),
    }
    work = batches * units
    w.op(
        "lstm_step",
        "recurrent",
        work,
        ints=ints,
        tensors=tensors,
        types=types,
        blobs=blobs,
        steps=steps,
    )
