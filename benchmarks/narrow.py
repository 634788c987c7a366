"""The zoo's models with weights of four bits, made from their int8 twins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.recurrent import LSTM
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.ir import DType, Graph, QParams, Value
from tinyrt.ops import OPS

MOST = 7
"""Most steps of a weight of four bits, symmetric."""


def narrow_twin(path: Path) -> Graph:
    """An int8 model with the same layers and scales, but weights rounded to [-7, 7].

    LSTMs have no int4: their weights stay int8, but no number is above 7. Not what a user would
    deploy, as no accuracy is sought, but the same work for kernels.
    """
    graph = read_tflite(path)
    values = dict(graph.values)
    for node in graph.bound():
        if OPS[node.op].int4_weights:
            w, bias = node.input(1), node.optional(2)
            values[w.name] = _coarser(w, np.int8, DType.INT4)
            if bias is not None:
                values[bias.name] = _coarser(bias, np.int32, DType.INT32)
        if node.op == LSTM:
            weights, biases = (map(node.input, places) for places in (range(1, 9), range(9, 13)))
            values |= {w.name: _coarser(w, np.int8, DType.INT8) for w in weights}
            values |= {b.name: _coarser(b, np.int32, DType.INT32) for b in biases}
    return replace(graph, values=values)


def _coarser(value: Value, kind: type[np.signedinteger], dtype: DType) -> Value:
    q = value.q
    assert q is not None
    steps = np.round(np.asarray(value.data) * (MOST / 127)).astype(kind)
    scales = tuple(float(np.float32(s * 127 / MOST)) for s in q.scales)
    return Value.constant(value.name, steps, QParams(scales, 0, q.axis), dtype)
