"""How ops that keep state are written to and read from a .tflite file.

The file holds their state in variable tensors, which ops change in place. The graph holds it as
pairs of an input and an output (``Graph.states``), and such an op has an output more for each.
"""

from __future__ import annotations

from typing import Any

import tflite

from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.codec import (
    Codec,
    Decoded,
    Encoded,
    Operands,
    activation_of,
    finite,
    since_s8,
)
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import BoundNode, DType, QParams, Value
from tinyrt.ops.svdf import STATE, SvdfAttrs
from tinyrt.ops.unidirectional_sequence_lstm import CELL, GATE_SCALE, HIDDEN, LstmAttrs

LSTM_INPUTS = 24
PLACES = (*range(9), *range(12, 16), 18, 19)
"""The op's inputs, by their places among the file's."""
OPTIONAL = {
    **dict.fromkeys(range(9, 12), "peepholes"),
    **dict.fromkeys((16, 17), "a projection"),
    **dict.fromkeys(range(20, LSTM_INPUTS), "layer normalisation"),
}
"""Other inputs of the file, and what it means that they are there."""


def _encode_svdf(node: BoundNode) -> Encoded:
    a = node.attrs_as(SvdfAttrs)
    fields = {"Rank": a.rank, "FusedActivationFunction": schema.ACTIVATION[a.activation]}
    return Encoded(fields, variables=(STATE,))


def _decode_svdf(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    if len(inputs) != STATE + 1:
        raise ModelFormatError(f"{len(inputs)} inputs", expected=f"{STATE + 1}")
    attrs = SvdfAttrs(rank=options.Rank(), activation=activation_of(options))
    return Decoded(attrs, len(inputs), states=(STATE,))


def _encode_lstm(node: BoundNode) -> Encoded:
    a, h = node.attrs_as(LstmAttrs), node.input(HIDDEN)
    fields = {
        "FusedActivationFunction": tflite.ActivationFunctionType.TANH,
        "CellClip": a.cell_clip,
        "ProjClip": 0.0,
        "TimeMajor": a.time_major,
        "AsymmetricQuantizeInputs": False,
    }
    order = tuple(PLACES.index(i) if i in PLACES else -1 for i in range(LSTM_INPUTS))
    inside: tuple[tuple[DType, QParams], ...] = ()
    if h.q is not None:
        inside = (*((DType.INT16, QParams((GATE_SCALE,))),) * 4, (h.dtype, h.q))
    return Encoded(fields, order=order, variables=(HIDDEN, CELL), intermediates=inside)


def _decode_lstm(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    if len(inputs) not in (20, LSTM_INPUTS):
        raise ModelFormatError(f"{len(inputs)} inputs", expected=f"20 or {LSTM_INPUTS}")
    for i, what in OPTIONAL.items():
        if i < len(inputs) and inputs[i] is not None:
            raise UnsupportedError(f"an LSTM with {what}", expected="one without")
    if any(inputs[i] is None for i in PLACES):
        raise UnsupportedError(
            "an LSTM without an input gate", expected="four gates, each with weights and a bias"
        )
    activation = options.FusedActivationFunction()
    if activation != tflite.ActivationFunctionType.TANH:
        name = schema.ACTIVATION_NAME.get(activation, str(activation))
        raise UnsupportedError(f"an LSTM with activation {name}", expected="TANH")
    if options.DiagonalRecurrentTensors():
        raise UnsupportedError("an LSTM with diagonal recurrent weights", expected="full ones")
    clip = finite(options.CellClip(), "the cell's clip")
    attrs = LstmAttrs(cell_clip=clip, time_major=bool(options.TimeMajor()))
    return Decoded(attrs, len(PLACES), picked=PLACES, states=(HIDDEN, CELL))


STATEFUL: tuple[Codec, ...] = (
    Codec("svdf", "SVDF", "SVDFOptions", _encode_svdf, _decode_svdf, since_s8(3)),
    Codec(
        "unidirectional_sequence_lstm",
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "UnidirectionalSequenceLSTMOptions",
        _encode_lstm,
        _decode_lstm,
        since_s8(1, s16=5),
    ),
)
"""Codecs of ops that keep state."""
