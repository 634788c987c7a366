"""How much each channel of a graph matters, by the loss or by its weights."""

from __future__ import annotations

import numpy as np

from tinyrt.ir import BoundNode, Graph
from tinyrt.ops import OPS, is_weighted
from tinyrt.train.core.function import Array
from tinyrt.train.distill import recording
from tinyrt.train.fit import Loss, Objective, objective_of
from tinyrt.train.graph_model import GraphModel, applied_once
from tinyrt.train.losses import cross_entropy


def channel_scores(
    model: GraphModel,
    x: Array,
    y: Array,
    *,
    loss: Loss = cross_entropy,
    objective: Objective | None = None,
    batch: int = 32,
) -> dict[str, Array]:
    """How much the loss would change without each channel, to first order.

    Molchanov et al. 2017, "Pruning Convolutional Neural Networks for Resource Efficient
    Inference", section 2.2: ``|sum of activation * gradient|`` per sample and channel; here the
    mean of its square over the samples (Molchanov et al. 2019).

    Args:
        model: the trained float model.
        x: samples, (n, ...).
        y: what the loss compares with.
        loss: what matters, of the model's output and ``y``.
        objective: in its place, as for ``fit``.
        batch: samples per pass; a model that takes them one by one gets one.

    Returns:
        Value name -> (channels,), for the output of each layer; for that of the batch norm where
        one follows.

    """
    objective = objective or objective_of(loss)
    batch = 1 if model.one_by_one else batch
    outputs = {node.name: node.output.name for node in _scored(model.graph)}
    sums: dict[str, Array] = {}
    with model.evaluating():
        for start in range(0, len(x), batch):
            samples, labels = x[start : start + batch], y[start : start + batch]
            with recording(model, outputs) as activations:
                value = objective(model, samples, labels) * len(samples)
            for tensor in activations.values():
                tensor.retain_grad()
            value.backward()
            for name, tensor in activations.items():
                assert tensor.grad is not None
                inner = tuple(range(1, tensor.ndim - 1))
                change = (tensor.data * tensor.grad).sum(axis=inner)
                earlier = sums.get(outputs[name], np.zeros(change.shape[-1]))
                sums[outputs[name]] = earlier + (change.astype(np.float64) ** 2).sum(axis=0)
    for parameter in model.parameters():
        parameter.grad = None
    return {name: total / len(x) for name, total in sums.items()}


def magnitude_scores(graph: Graph) -> dict[str, Array]:
    """Each filter's squared norm, as a share of its layer's mean; needs no data.

    Li et al. 2017, "Pruning Filters for Efficient ConvNets".
    """
    scores = {}
    for node in graph.bound():
        if is_weighted(node):
            w = node.input(1).data
            assert w is not None
            others = tuple(i for i in range(w.ndim) if i != OPS[node.op].weight_axis)
            norms = np.square(w.astype(np.float64)).sum(axis=others)
            scores[node.output.name] = norms / max(norms.mean(), np.finfo(np.float64).tiny)
    return scores


def _scored(graph: Graph) -> list[BoundNode]:
    """Layers whose outputs count: not those that a batch norm still rescales."""
    layers = []
    for node in graph.bound():
        behind = graph.consumers(node.output.name)
        normed = len(behind) == 1 and behind[0].op == "batch_norm"
        if is_layer(node) and applied_once(graph, node) and not normed:
            layers.append(node)
    return layers


def is_layer(node: BoundNode) -> bool:
    """Whether a node has weights, or norms its channels."""
    return is_weighted(node) or node.op == "batch_norm"
