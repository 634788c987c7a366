"""Whether each layer of a model with int8 weights answers what LiteRT's does, given the same input.

LiteRT rounds the activations that such a layer reads to int8, by the range that each sample or row
has. Here each layer reads what LiteRT's read, rounded in that way: what layers in front of it have
added up to does not count.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.public_answers import Answers, Array, gap
from tinyrt.api.reading import open_model
from tinyrt.ir import BoundNode, Graph
from tinyrt.ops.shared.evaluate import as_tuple, reference_kernel

ROWWISE = ("fully_connected", "batch_matmul")
"""Ops of which each row has a range of its own; of others each sample has one."""
STATEFUL = ("unidirectional_sequence_lstm", "svdf")
"""Ops that round their states, too."""


def layers_apart(path: Path, inputs: Answers) -> float:
    """The largest part of a layer's largest element by which it is off LiteRT's."""
    graph = open_model(path, optimize=False)
    return max(_apart(graph, _tensors_of(path, sample)) for sample in inputs)


def _tensors_of(path: Path, sample: list[Array]) -> dict[str, Array]:
    """Tensor name -> what LiteRT computes."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    model = Interpreter(
        str(path),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    model.allocate_tensors()
    for detail, x in zip(model.get_input_details(), sample, strict=True):
        model.set_tensor(detail["index"], x)
    model.invoke()
    found = {}
    for detail in model.get_tensor_details():
        try:
            found[detail["name"]] = model.get_tensor(detail["index"]).copy()
        except ValueError:  # temporary tensors have nothing to show
            continue
    return found


def _apart(graph: Graph, theirs: dict[str, Array]) -> float:
    live = {v.name: v.data for v in graph.values.values() if v.data is not None}
    live |= {n: _told(graph, n, theirs) for n in graph.inputs}
    worst = 0.0
    for node in graph.bound():
        arrays = [live[v.name] if v is not None else None for v in node.inputs]
        trials = [_computed(graph, node, arrays, symmetric) for symmetric in (False, True)]
        for i, value in enumerate(node.outputs):
            told = _told(graph, value.name, theirs)
            live[value.name] = trials[0][i] if told is None else told
            if told is not None and told.dtype == np.float32 and node.op not in STATEFUL:
                apart = (gap([[trial[i]]], [[told]]).part for trial in trials)
                worst = max(worst, min(apart))
    return worst


def _told(graph: Graph, name: str, theirs: dict[str, Array]) -> Array | None:
    found, value = theirs.get(name), graph.value(name)
    fits = found is not None and found.size == value.size and found.dtype == value.dtype.numpy
    return found.reshape(value.shape) if found is not None and fits else None


def _computed(
    graph: Graph, node: BoundNode, arrays: list[Array | None], symmetric: bool
) -> tuple[Array, ...]:
    first = arrays[0] if arrays else None
    if first is not None and _is_hybrid(graph, node):
        rows = first.reshape(-1, _depth(node)) if node.op in ROWWISE else first
        arrays = [rounded(rows, node.op in ROWWISE, symmetric).reshape(first.shape), *arrays[1:]]
    return as_tuple(reference_kernel(node)(*arrays))


def _is_hybrid(graph: Graph, node: BoundNode) -> bool:
    """Whether a layer on floats reads weights that are stored as integers."""
    if node.op == "dequantize" or node.input(0).is_constant:
        return False
    makers = [graph.producer(v.name) for v in node.inputs[1:] if v is not None]
    return any(
        m is not None and m.op == "dequantize" and graph.value(m.inputs[0]).is_constant
        for m in makers
    )


def _depth(node: BoundNode) -> int:
    """Elements of a row: a dense layer reads as many as its weights have, over dimensions."""
    return node.input(1 if node.op == "fully_connected" else 0).shape[-1]


def rounded(x: Array, rowwise: bool, symmetric: bool) -> Array:
    """Numbers on the grid of int8 that their row, or their sample, has.

    The range goes from the least to the greatest number, or is symmetric about zero. As in LiteRT,
    float32 alone decides between two steps, and halves go away from zero.
    """
    rows = x.reshape(-1, x.shape[-1]) if rowwise else x.reshape(len(x), -1)
    low = np.minimum(rows.min(axis=1, keepdims=True), 0).astype(np.float64)
    high = np.maximum(rows.max(axis=1, keepdims=True), 0).astype(np.float64)
    width = np.maximum(-low, high) / 127 if symmetric else (high - low) / 255
    width = np.where(width > 0, width, 1)
    step = width.astype(np.float32)
    zero_point = np.zeros_like(step) if symmetric else _zero_point(low / width, high / width)
    places = _half_away(rows * (np.float32(1) / step)) + zero_point
    integers = np.clip(places, -127 if symmetric else -128, 127)
    return ((integers - zero_point) * step).astype(np.float32).reshape(x.shape)


def _zero_point(low: Array, high: Array) -> Array:
    """From the end of the range, in steps, that is nearer to 0."""
    from_low = 128 + np.abs(low) < 127 + np.abs(high)
    nearest = _half_away(np.where(from_low, -128 - low, 127 - high))
    return np.clip(nearest, -128, 127).astype(np.float32)


def _half_away(x: Array) -> Array:
    """The nearest integer, of two the one away from zero."""
    return np.copysign(np.floor(np.abs(x.astype(np.float64)) + 0.5), x)
