"""A model cut before its last layer, and that layer as one that goes on learning on the device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tinyrt.api.reading import open_model
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp import Learner
from tinyrt.entry import entry
from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, Graph, Node

OUTER = ("softmax", "dequantize", "quantize", "reshape")
"""Ops behind a last layer that do not change which class is the greatest."""


@entry
def split_last_layer(
    model: str | Path,
    features: str | Path,
    *,
    rate: float = 0.05,
    max_step: float = 0.25,
    max_drift: float = 4.0,
    bits: int | None = None,
) -> Learner:
    """Write a model without its last dense layer, and give that layer as one that learns.

    Args:
        model: an int8 .tflite that ends with a dense layer, and softmax behind it or none.
        features: the .tflite to write, whose output are the layer's features.
        rate: learning rate.
        max_step: the most that one sample moves a weight, in real units of a logit per feature.
        max_drift: the most that a weight or bias ever moves, likewise.
        bits: fraction bits of a logit; None for as many as leave room.

    Returns:
        The layer, which begins with the model's weights and biases.

    Raises:
        UnsupportedError: the model does not end so.
        DataError: an option is out of range.
        OutputError: the file cannot be written.

    """
    graph = open_model(model)
    layer = _last_layer(graph, str(model))
    x, w = (graph.value(name) for name in layer.inputs[:2])
    bias = graph.value(layer.inputs[2]) if len(layer.inputs) > 2 and layer.inputs[2] else None
    assert w.data is not None
    assert w.q is not None
    assert x.q is not None
    scales = np.asarray(w.q.scales, np.float64).reshape(-1, 1)
    weights = w.data.astype(np.float64) * scales
    biases = np.zeros(len(weights))
    if bias is not None:
        assert bias.data is not None
        biases = bias.data.astype(np.float64) * scales.ravel() * x.q.scale
    limits = {"rate": rate, "max_step": max_step, "max_drift": max_drift}
    learner = Learner.from_layer(
        weights, biases, scale=x.q.scale, zero_point=x.q.zero_point, bits=bits, **limits
    )
    save_tflite(_before(graph, layer), features)
    return learner


def _last_layer(graph: Graph, file: str) -> Node:
    """The dense layer that the only output comes from."""
    name = graph.outputs[0]
    node = graph.producer(name)
    while node is not None and node.op in OUTER:
        node = graph.producer(node.inputs[0])
    fits = (
        len(graph.outputs) == 1
        and node is not None
        and node.op == "fully_connected"
        and graph.value(node.inputs[0]).dtype is DType.INT8
        and graph.value(node.inputs[1]).data is not None
        and graph.value(node.inputs[0]).shape[0] == 1
    )
    if not fits:
        found = "an input" if node is None else f"{node.op} '{node.name}'"
        raise UnsupportedError(
            f"the model's first output of {len(graph.outputs)} comes from {found}",
            file=file,
            expected="one output, of a dense layer on int8 with constant weights and one sample, "
            "and softmax behind it or none",
            hint="quantise the model first: tinyrt quantize",
        )
    assert node is not None
    return node


def _before(graph: Graph, layer: Node) -> Graph:
    """What the layer's input is computed by."""
    name = layer.inputs[0]
    if graph.producer(name) is None:
        raise UnsupportedError(
            "nothing comes before the model's only layer",
            op=f"{layer.op} '{layer.name}'",
            expected="layers that give features",
            hint="export the layer alone: Learner.from_layer",
        )
    needed: set[str] = {name}
    nodes = []
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            nodes.append(node)
            needed.update(node.inputs)
    values = {n: v for n, v in graph.values.items() if n in needed or n in graph.inputs}
    made = {output for node in nodes for output in node.outputs}
    values |= {n: graph.value(n) for n in made}
    return replace(
        graph,
        name=f"{graph.name}_features",
        outputs=(name,),
        values=values,
        nodes=tuple(reversed(nodes)),
    )
