"""Quantised graphs of ops that keep state, and sequences of runs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.tflite.ops import codec_for
from tinyrt.ir import DType, Graph, QParams, Value
from tinyrt.ops.svdf import STATE
from tinyrt.ops.unidirectional_sequence_lstm import CELL, HIDDEN

Rng = np.random.Generator
Arrays = list[NDArray[Any]]

PLACES = {"svdf": (STATE,), "unidirectional_sequence_lstm": (HIDDEN, CELL)}
"""Op -> its inputs that are state."""


def _scale(rng: Rng, low: float, high: float) -> float:
    return float(np.float32(np.exp(rng.uniform(np.log(low), np.log(high)))))


def _values(rng: Rng, shape: tuple[int, ...], dtype: DType, least: int | None = None) -> Any:
    limits = np.iinfo(dtype.numpy)
    least = limits.min if least is None else least
    if rng.random() < 0.15:
        return rng.choice(np.array([least, limits.max], dtype.numpy), shape)
    return rng.integers(least, limits.max + 1, shape).astype(dtype.numpy)


def inputs_of(case: Any, rng: Rng, dtype: DType) -> tuple[list[Value], Arrays, list[QParams]]:
    """Values and data of the inputs, and the outputs' quantisation."""
    make = _svdf if case.op == "svdf" else _lstm
    described, outputs = make(case, rng, dtype)
    values, arrays = [], []
    for i, (shape, (kind, q)) in enumerate(zip(case.shapes, described, strict=True)):
        bias = kind in (DType.INT32, DType.INT64)
        data = rng.integers(-5000, 5000, shape).astype(kind.numpy) if bias else None
        if data is None:
            data = _values(rng, shape, kind, -127 if i in case.constant else None)
        arrays.append(data)
        held = data if i in case.constant else None
        values.append(Value(f"in{i}", kind, shape, q, held))
    return values, arrays, outputs


def _zero_point(rng: Rng) -> int:
    return int(rng.choice([-128, 127, 0, rng.integers(-128, 128)]))


def _svdf(case: Any, rng: Rng, dtype: DType) -> tuple[list[tuple[DType, QParams]], list[QParams]]:
    del dtype
    held = DType.INT16 if rng.random() < 0.6 else DType.INT8
    step = 1 / 256 if held is DType.INT16 else 1.0
    x = QParams((_scale(rng, 5e-3, 0.1),), _zero_point(rng))
    features = QParams((_scale(rng, 2e-3, 0.02),))
    state_zp = _zero_point(rng) if held is DType.INT8 else 0
    state = QParams((_scale(rng, 5e-3, 0.1) * step,), state_zp)
    time = QParams((_scale(rng, 2e-3, 0.02) * step,))
    bias = QParams((float(np.float32(state.scale) * np.float32(time.scale)),))
    y = QParams((_scale(rng, 5e-3, 0.2),), _zero_point(rng))
    described = [(DType.INT8, x), (DType.INT8, features), (held, time), (DType.INT32, bias)]
    return [*described, (held, state)], [y, state]


def _lstm(case: Any, rng: Rng, dtype: DType) -> tuple[list[tuple[DType, QParams]], list[QParams]]:
    wide = dtype is DType.INT16
    step, zps = (1 / 256, (0, 0)) if wide else (1.0, (_zero_point(rng), _zero_point(rng)))
    x = QParams((_scale(rng, 2e-3, 0.05) * step,), zps[0])
    h = QParams((float(np.float32(1 / 128 * step)) * float(rng.choice([1, 0.75])),), zps[1])
    cell = QParams((2.0 ** float(rng.integers(-15, -8)),))
    weights = [QParams((_scale(rng, 1e-3, 0.02),)) for _ in range(8)]
    bias_dtype = DType.INT64 if wide else DType.INT32
    biases = [QParams((float(np.float32(x.scale) * np.float32(w.scale)),)) for w in weights[:4]]
    described = [(dtype, x), *((DType.INT8, w) for w in weights)]
    described += [(bias_dtype, b) for b in biases]
    return [*described, (dtype, h), (DType.INT16, cell)], [h, h, cell]


def keeping(graph: Graph) -> Graph:
    """The graph of one op, its states declared as such."""
    (node,) = graph.bound()
    places = codec_for(node).encode(node).variables
    before = [node.node.inputs[i] for i in places]
    after = node.node.outputs[len(node.outputs) - len(places) :]
    states = tuple(zip(before, after, strict=True))
    return replace(graph, outputs=node.node.outputs, states=states)


def sequence(graph: Graph, rng: Rng, runs: int) -> list[NDArray[Any]]:
    """Data for some runs of a graph with one input beside its states."""
    (name,) = graph.fed
    value = graph.value(name)
    if value.q is None:
        return [rng.normal(size=value.shape).astype(np.float32) for _ in range(runs)]
    return [_values(rng, value.shape, value.dtype) for _ in range(runs)]


def answers(interpreter: Any, inputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The first output of an allocated interpreter, run after run."""
    (given,), (answer, *_) = interpreter.get_input_details(), interpreter.get_output_details()
    found = []
    for x in inputs:
        interpreter.set_tensor(given["index"], x)
        interpreter.invoke()
        found.append(interpreter.get_tensor(answer["index"]))
    return found
