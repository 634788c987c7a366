"""Ops with state: svdf and unidirectional_sequence_lstm. Their states lie outside the arena."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.lstm import LstmBlock, LstmConstants, lstm_block, side_by_side
from tinyrt.backends.c.blocks.lstm_wide import WideLstm, block_fields, wide_lstm
from tinyrt.backends.c.blocks.row16 import row16_words
from tinyrt.backends.c.blocks.rows import Rows
from tinyrt.backends.c.blocks.svdf import feature_fields, svdf_rows
from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Call, Calls, Data, Fields, Params, Target, call
from tinyrt.backends.c.mve.lstm import (
    narrowest_quad_filters,
    quad_scale,
    quad_scales,
    quad_sums,
    wide_quad_filters,
    wide_quad_scales,
    wide_quad_sums,
)
from tinyrt.backends.c.mve.packing import pack_filters, whole_quads
from tinyrt.backends.c.tables import sigmoid_data
from tinyrt.fixedpoint import wrap_int32
from tinyrt.ir import BoundNode, DType, Value
from tinyrt.ops import prepared
from tinyrt.ops.shared.activation import bounds, fused_activation
from tinyrt.ops.shared.constants import stored_data
from tinyrt.ops.shared.requant import Requant, WideRequant
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.svdf import STATE, SvdfAttrs, SvdfS8
from tinyrt.ops.unidirectional_sequence_lstm import (
    CELL,
    HIDDEN,
    LstmAttrs,
    LstmInteger,
    joined,
    require_summable,
)


def svdf_s8_calls(node: BoundNode, target: Target) -> Calls:
    """The call of the kernel of packed weights that takes it, else of ``tinyrt_svdf_s8``.

    Those of int16 states are named ``tinyrt_svdf_s8_s16``, and likewise.

    Raises:
        UnsupportedError: the weights are computed at run time.

    """
    p = prepared(node, SvdfS8)
    features, time = stored_data(node.input(1)), stored_data(node.input(2))
    start = -p.x_zp * features.sum(axis=1, dtype=np.int64)
    if target.isa is InstructionSet.MVE:
        return (_svdf_quads(node, p, features, start, time),)
    rows = svdf_rows(features, start, p, target.isa)
    if rows is not None:
        return (_svdf_block(node, p, rows, time, target.isa),)
    fields = _svdf_fields(node) | {
        "feature_mult": p.feature[0],
        "feature_shift": p.feature[1],
        "state_zp": p.state_zp,
        **_time_fields(p),
    }
    params = Params("tinyrt_svdf_s8_params", fields)
    first = Data("start", wrap_int32(start).astype(np.int32))
    weights = (node.input(1), first, node.input(2), node.optional(3))
    return (_svdf(_svdf_name("", p), params, node, *weights),)


def _svdf_block(
    node: BoundNode, p: SvdfS8, rows: Rows, time: NDArray[Any], isa: InstructionSet
) -> Call:
    """Of scalar and DSP cores."""
    fields = _svdf_fields(node) | feature_fields(p) | {"state_zp": p.state_zp, **_time_fields(p)}
    first = Data("w", rows.words(isa)), Data("start", rows.starts(isa))
    bias = Data("bias", wrap_int32(_time_sums(node, p, time)).astype(np.int32))
    params = Params("tinyrt_svdf_block_params", fields)
    return _svdf(_svdf_name("_block", p), params, node, *first, node.input(2), bias)


def _svdf_quads(
    node: BoundNode,
    p: SvdfS8,
    features: NDArray[np.int8],
    start: NDArray[np.int64],
    time: NDArray[Any],
) -> Call:
    """Of cores with vectors."""
    scales: Fields = {
        "feature": quad_scale(p.feature),
        "state_zp": p.state_zp,
        "time": quad_scale(p.time),
    }
    params = Params("tinyrt_svdf_quads_params", _svdf_fields(node) | scales | {"y_zp": p.y_zp})
    first = Data("w", pack_filters(features)), Data("start", whole_quads(start))
    bias = Data("bias", whole_quads(_time_sums(node, p, time)))
    return _svdf(_svdf_name("_quads", p), params, node, *first, node.input(2), bias)


def _svdf_name(variant: str, p: SvdfS8) -> str:
    return f"tinyrt_svdf{variant}_s8" + ("_s16" if p.state_dtype is DType.INT16 else "")


def _time_fields(p: SvdfS8) -> Fields:
    return {"time_mult": p.time[0], "time_shift": p.time[1], "y_zp": p.y_zp}


def _time_sums(node: BoundNode, p: SvdfS8, time: NDArray[Any]) -> NDArray[np.int64]:
    """What each unit's products with the state begin with: the bias, and the zero point's share."""
    bias = node.optional(3)
    first = 0 if bias is None else stored_data(bias).astype(np.int64)
    of_zp = p.state_zp * time.reshape(-1, p.rank * time.shape[1]).sum(axis=1, dtype=np.int64)
    return np.asarray(first - of_zp)


def svdf_f32_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_svdf_f32``."""
    del target
    low, high = bounds(fused_activation(node))
    fields = _svdf_fields(node) | {"act_min": low, "act_max": high}
    weights = (node.input(1), node.input(2), node.optional(3))
    return (_svdf("tinyrt_svdf_f32", Params("tinyrt_svdf_f32_params", fields), node, *weights),)


def _svdf_fields(node: BoundNode) -> Fields:
    """What the parameters begin with."""
    (filters, k), memory = node.input(1).shape, node.input(2).shape[1]
    return {
        "batches": node.input(0).shape[0],
        "c_in": k,
        "units": filters // node.attrs_as(SvdfAttrs).rank,
        "rank": node.attrs_as(SvdfAttrs).rank,
        "memory": memory,
    }


def _svdf(kernel: str, params: Params, node: BoundNode, *weights: Data | Value | None) -> Call:
    """Input, weights and what is added to their products, time weights, bias, states, output."""
    states = (node.input(STATE), node.outputs[1])
    return call(kernel, params, node.input(0), *weights, *states, node.output)


def lstm_s8_calls(node: BoundNode, target: Target) -> Calls:
    """The call of the kernel of packed weights that takes the LSTM, else of ``tinyrt_lstm_s8``.

    Raises:
        UnsupportedError: weights are computed at run time, or a sum of products is too large.

    """
    p = prepared(node, LstmInteger)
    require_summable(node, p)
    if target.isa is InstructionSet.MVE:
        return (_lstm_quads(node, p),)
    block = lstm_block(_lstm_constants(node, p), p, target.isa)
    return lstm_calls(node, target) if block is None else (_lstm_block(node, block, target.isa),)


def _lstm_block(node: BoundNode, block: LstmBlock, isa: InstructionSet) -> Call:
    """Of scalar and DSP cores."""
    weights = Data("w", block.x.words(isa)), Data("r", block.h.words(isa))
    sums = Data("start", block.x.starts(isa)), Data("restart", block.h.starts(isa))
    fields = block.scale_fields() | _unit_fields(block.p, isa)
    return _packed_lstm(block.kernel, node, fields, weights, sums)


def _lstm_quads(node: BoundNode, p: LstmInteger) -> Call:
    """Of cores with vectors."""
    w, r, start, restart = _lstm_constants(node, p)
    bits, filters = narrowest_quad_filters(w, r)
    weights = (Data("w", filters),)
    sums = (Data("start", quad_sums(start, restart)),)
    fields = quad_scales(p) | _unit_fields(p, InstructionSet.MVE)
    return _packed_lstm(f"tinyrt_lstm_quads_s{bits}", node, fields, weights, sums)


def lstm_s16_calls(node: BoundNode, target: Target) -> Calls:
    """The call of the kernel of packed weights that takes the LSTM, else of ``tinyrt_lstm_s16``.

    Raises:
        UnsupportedError: weights are computed at run time, or a sum of products is too large.

    """
    p = prepared(node, LstmInteger)
    require_summable(node, p)
    lstm = wide_lstm(_lstm_constants(node, p), p, target.isa)
    if lstm is None:
        return lstm_calls(node, target)
    if target.isa is InstructionSet.MVE:
        return (_wide_quads(node, lstm, p),)
    return (_wide_block(node, lstm, p, target.isa),)


def _wide_block(node: BoundNode, lstm: WideLstm, p: LstmInteger, isa: InstructionSet) -> Call:
    """Of scalar and DSP cores."""
    both = {"w": lstm.w, "r": lstm.r}
    weights = tuple(Data(n, row16_words(side_by_side(rows), isa)) for n, rows in both.items())
    sums = (Data("start", side_by_side(lstm.start)),)
    fields = block_fields(lstm, p) | _unit_fields(p, isa)
    return _packed_lstm("tinyrt_lstm_block_s16", node, fields, weights, sums)


def _wide_quads(node: BoundNode, lstm: WideLstm, p: LstmInteger) -> Call:
    """Of cores with vectors."""
    weights = (Data("w", wide_quad_filters(lstm)),)
    sums = (Data("start", wide_quad_sums(lstm)),)
    fields = wide_quad_scales(lstm, p) | _unit_fields(p, InstructionSet.MVE)
    return _packed_lstm("tinyrt_lstm_quads_s16", node, fields, weights, sums)


def _packed_lstm(
    kernel: str,
    node: BoundNode,
    fields: Fields,
    weights: tuple[Data, ...],
    sums: tuple[Data, ...],
) -> Call:
    """The call; kernels for weights of four bits have the parameters of those for int8."""
    params = Params(f"{kernel.replace('_s4', '_s8')}_params", _lstm_fields(node) | fields)
    made = call(kernel, params, node.input(0), *weights, *sums, *_states(node), node.output)
    return replace(made, data=(*sums, *weights))


def lstm_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_lstm_s8`` or ``tinyrt_lstm_s16``.

    Raises:
        UnsupportedError: weights are computed at run time, or a sum of products is too large.

    """
    p = prepared(node, LstmInteger)
    require_summable(node, p)
    wide = p.h_dtype is DType.INT16
    w, r, start, restart = _lstm_constants(node, p)
    weights = Data("w", w), Data("r", r)
    sums = [Data("start", start)]
    if not wide:
        sums = [Data("start", start.astype(np.int32)), Data("restart", restart.astype(np.int32))]
    params = Params("tinyrt_lstm_params", _lstm_fields(node) | _gate_fields(p, target.isa))
    kernel = "tinyrt_lstm_s16" if wide else "tinyrt_lstm_s8"
    lstm_call = call(kernel, params, node.input(0), *weights, *sums, *_states(node), node.output)
    return (replace(lstm_call, data=(*sums, *weights)),)


def _lstm_constants(node: BoundNode, p: LstmInteger) -> LstmConstants:
    """Weights of x and of the hidden state, gate by gate, and what their sums begin with.

    The zero points' share of the products with weights is constant.
    """
    w, r, bias = (joined(node, i) for i in (1, 5, 9))
    start = bias.astype(np.int64) - p.x_zp * w.sum(axis=1, dtype=np.int64)
    return w, r, start, -p.h_zp * r.sum(axis=1, dtype=np.int64)


def lstm_f32_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_lstm_f32``."""
    del target
    fields = _lstm_fields(node) | {"cell_clip": float(node.attrs_as(LstmAttrs).cell_clip)}
    params = Params("tinyrt_lstm_f32_params", fields)
    weights = (Data(role, joined(node, i)) for role, i in (("w", 1), ("r", 5), ("bias", 9)))
    return (call("tinyrt_lstm_f32", params, node.input(0), *weights, *_states(node), node.output),)


def _lstm_fields(node: BoundNode) -> Fields:
    """What the parameters begin with."""
    first, second, k = node.input(0).shape
    samples, steps = (second, first) if node.attrs_as(LstmAttrs).time_major else (first, second)
    shape: Fields = {
        "samples": samples,
        "steps": steps,
        "c_in": k,
        "units": node.output.shape[2],
        "time_major": node.attrs_as(LstmAttrs).time_major,
    }
    return {"shape": shape}


def _gate_fields(p: LstmInteger, isa: InstructionSet) -> Fields:
    """Parameters with which the integer kernels rescale sums and products."""
    mult, shift = _table((*p.from_x, *p.from_h))
    return {
        "mult": Data("mult", mult, "int32_t"),
        "shift": Data("shift", shift, "int8_t"),
        "forget_mult": p.forget[0],
        "forget_shift": p.forget[1],
        "update_mult": p.update[0],
        "update_shift": p.update[1],
        "output_mult": p.output[0],
        "output_shift": p.output[1],
        **_unit_fields(p, isa),
    }


def _unit_fields(p: LstmInteger, isa: InstructionSet) -> Fields:
    """What the parameters of integer kernels end with."""
    state: Fields = {
        "h_zp": p.h_zp,
        "cell_clip": p.cell_clip,
        "tanh_mult": p.cell_tanh.mult,
        "tanh_right": p.cell_tanh.right,
        "table": sigmoid_data(isa),
    }
    return {"state": state}


def _table(p: tuple[Requant | WideRequant, ...]) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    shifts = [r.right[0] if isinstance(r, WideRequant) else r.shift[0] for r in p]
    return np.array([r.mult[0] for r in p], np.int32), np.array(shifts, np.int8)


def _states(node: BoundNode) -> tuple[Value, ...]:
    """Before and after."""
    return node.input(HIDDEN), node.input(CELL), node.outputs[1], node.outputs[2]


KERNELS: Choosers = {
    "svdf": {Form.INT8: always(svdf_s8_calls), Form.FLOAT: always(svdf_f32_calls)},
    "unidirectional_sequence_lstm": {
        Form.INT8: always(lstm_s8_calls),
        Form.INT16X8: always(lstm_s16_calls),
        Form.FLOAT: always(lstm_f32_calls),
    },
}
