"""The weights of a layer in quantisation-aware training, with the batch norm folded into them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tinyrt.convert.passes import optimize
from tinyrt.errors import warn
from tinyrt.floatmath import elementary
from tinyrt.ir import BoundNode, Graph, QParams
from tinyrt.ops import OPS
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.shared.activation import with_activation
from tinyrt.quantize.config import QuantizationWarning
from tinyrt.quantize.ranges import WEIGHT_MAX, weight_params
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.fake_quant import fake_quantize_weights
from tinyrt.train.nn import Buffer, Module, Parameter

NORM_MOMENTUM = 0.1


@dataclass(frozen=True, slots=True)
class _Norm:
    """A convolution and the batch norm behind it, as they were before folding."""

    name: str
    epsilon: float
    weight: Array
    bias: Array | None
    gamma: Array
    beta: Array
    mean: Array
    variance: Array


class WeightedLayer(Module):
    """The weights of one node, with the batch norm that was folded into them, if any.

    Args:
        node: a convolution or dense layer of the optimised graph.
        q: the weights' parameters to start from; their number of scales stays.
        source: the graph that ``with_norms`` gave, to find the layer's in.
        bits: of the integers that stand for weights, 8 or 4.
        learned: whether the scales are trained, by their logarithms.
        learns_from_rounding: what they are trained on, as in ``fake_quant.Steps``.

    Attributes:
        norm: name of the batch norm's node in the source; empty where there is none.

    """

    def __init__(
        self,
        node: BoundNode,
        q: QParams,
        source: Graph | None,
        *,
        bits: int = 8,
        learned: bool = False,
        learns_from_rounding: bool = True,
    ) -> None:
        self._scale_axis, self._learns_from_rounding = q.axis, learns_from_rounding
        self.bits, self._greatest = bits, 2 ** (bits - 1) - 1
        self._channel_axis = OPS[node.op].weight_axis
        weight, bias = node.input(1).data, node.optional(2)
        assert weight is not None, "the plan refuses weights that are not constant"
        start = _starting_scales(weight, q, self._greatest)
        self.log_scales = Parameter(elementary.log(start)) if learned else None
        norm = None if source is None else _find_norm(source, node)
        self.norm = "" if norm is None else norm.name
        self.weight = Parameter((weight if norm is None else norm.weight).copy())
        own_bias = (bias.data if bias is not None else None) if norm is None else norm.bias
        self.bias = None if own_bias is None else Parameter(own_bias.copy())
        if norm is not None:
            self.gamma, self.beta = Parameter(norm.gamma.copy()), Parameter(norm.beta.copy())
            self.mean, self.variance = Buffer(norm.mean.copy()), Buffer(norm.variance.copy())
            self._epsilon = norm.epsilon

    def share(self, other: WeightedLayer) -> None:
        """Have weights, bias and norm of another layer of the same node; scales stay apart."""
        for name in ("weight", "bias", "gamma", "beta", "mean", "variance"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

    def weights_q(self, w: Tensor, bias: Tensor | None, x_scale: float) -> QParams:
        """The weights' parameters: learned, or by the quantiser's rule.

        Args:
            w: the folded weights.
            bias: the bias, where it must fit int32.
            x_scale: the input's scale.

        """
        if self.log_scales is not None:
            scales = elementary.exp(self.log_scales.data)
            return QParams(tuple(float(s) for s in scales), 0, self._scale_axis)
        biases = None if bias is None else bias.data
        q = weight_params(w.data, biases, x_scale, self._scale_axis)
        coarser = WEIGHT_MAX / self._greatest
        return replace(q, scales=tuple(s * coarser for s in q.scales))

    def rounded(self, w: Tensor, q: QParams) -> tuple[Tensor, Array]:
        """Folded weights as their integers keep them, and these."""
        return fake_quantize_weights(
            w,
            q,
            None if self.log_scales is None else self.log_scales.exp(),
            greatest=self._greatest,
            learns_from_rounding=self._learns_from_rounding,
        )

    def folded(self, node: BoundNode, x: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Weights and bias with the batch norm in them.

        Args:
            node: the op.
            x: the batch whose statistics count, and move the running ones; None for the latter.

        """
        if not self.norm:
            return self.weight, self.bias
        mean, variance = self._statistics(node, x)
        factor = self.gamma * (variance + self._epsilon) ** -0.5
        along = [1] * self.weight.ndim
        along[self._channel_axis] = -1
        offset = -mean if self.bias is None else self.bias - mean
        return self.weight * factor.reshape(tuple(along)), self.beta + offset * factor

    def _statistics(self, node: BoundNode, x: Tensor | None) -> tuple[Tensor, Tensor]:
        if x is None:
            return self.mean, self.variance
        y = apply(node.op, with_activation(node, "NONE"), x, self.weight, self.bias)
        axes = tuple(range(y.ndim - 1))
        mean = y.mean(axes)
        centred = y - mean
        variance = (centred * centred).mean(axes)
        for average, value in ((self.mean, mean), (self.variance, variance)):
            average.data = average.data + NORM_MOMENTUM * (value.data - average.data)
        return mean, variance


def with_norms(source: Graph) -> Graph:
    """The graph optimised, but with its batch norms.

    Their factors count as inputs meanwhile, so that no pass can fold them into anything.
    """
    norms = [node for node in source.nodes if node.op == "batch_norm"]
    factors = {name: source.value(name) for name in (node.inputs[1] for node in norms)}
    unknown = {name: replace(value, data=None) for name, value in factors.items()}
    inputs = tuple(name for name in factors if name not in source.inputs)
    opened = replace(source, inputs=(*source.inputs, *inputs), values={**source.values, **unknown})
    graph = optimize(opened)
    graph = replace(graph, inputs=tuple(name for name in graph.inputs if name not in inputs))
    return graph.with_nodes(graph.nodes, factors.values())


ELSEWHERE = (
    "their layers' weights are not those of the source: pass the graph that the model was "
    "optimised from"
)
"""Why batch norms that the source has are not found in the graph."""


def warn_of_folded(
    source: Graph, graph: Graph, found: Container[str], why: str = ELSEWHERE
) -> None:
    """Name the source's batch norms that are neither in a layer nor ops of the graph."""
    norms = [node.name for node in source.nodes if node.op == "batch_norm"]
    kept = {node.name for node in graph.nodes}
    lost = [name for name in norms if name not in found and name not in kept]
    if lost:
        warn(
            f"{len(lost)} of {len(norms)} batch norms are not trained, but folded as they stand: "
            f"{_first_of(lost)}; {why}",
            QuantizationWarning,
        )


def warn_of_untrained(graph: Graph) -> None:
    """Name batch norms whose running statistics are those that every norm starts with."""
    norms = [node for node in graph.nodes if node.op == "batch_norm"]
    untrained = [n.name for n in norms if _has_first_statistics(graph, n.inputs[3:])]
    if untrained:
        warn(
            f"{len(untrained)} of {len(norms)} batch norms have running means of 0 and variances "
            f"of 1, as before any training: {_first_of(untrained)}; train the float model before, "
            "or call it in training mode on some batches, so that ranges are those of use",
            QuantizationWarning,
        )


def _has_first_statistics(graph: Graph, names: Sequence[str]) -> bool:
    """Whether they are a mean of zeros and a variance of ones."""
    arrays = [graph.value(name).data for name in names]
    return all(a is not None and bool((a == i).all()) for i, a in enumerate(arrays))


def _first_of(names: Sequence[str]) -> str:
    return f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"


def _starting_scales(weights: Array, q: QParams, greatest: int) -> Array:
    """Where learned scales start: as LSQ does, ``2 * mean(|w|) / sqrt(greatest)``, or less.

    Esser et al. 2020, section 2.1; less where no weight is as great as that scale could hold.
    """
    others = None if q.axis is None else tuple(i for i in range(weights.ndim) if i != q.axis)
    mean = np.abs(weights).mean(axis=others, dtype=np.float64).reshape(-1)
    whole = np.asarray(q.scales) * (WEIGHT_MAX / greatest)
    usual = 2 * mean / np.sqrt(greatest)
    return np.where(usual > 0, np.minimum(usual, whole), whole).astype(np.float32)


def _find_norm(source: Graph, node: BoundNode) -> _Norm | None:
    """The batch norm that was folded into a node, if the fold of both gives the node's weights."""
    producer = source.producer(node.output.name)
    while producer is not None and OPS[producer.op].traits.activation:
        producer = source.producer(producer.inputs[0])
    if producer is None or producer.op != "batch_norm":
        return None
    convolution = source.producer(producer.inputs[0])
    if convolution is None or convolution.op != node.op:
        return None
    if getattr(convolution.attrs, "activation", "NONE") != "NONE":
        return None
    names = (*producer.inputs[1:], *filter(None, convolution.inputs[1:]))
    parts = [source.value(name).data for name in names]
    arrays = [p for p in parts if p is not None]
    if len(arrays) < len(parts):
        return None
    gamma, beta, mean, variance, weight, *bias = arrays
    epsilon = producer.attrs_as(BatchNormAttrs).epsilon
    norm = _Norm(
        producer.name, epsilon, weight, bias[0] if bias else None, gamma, beta, mean, variance
    )
    return norm if _folds_to(norm, node) else None


def _folds_to(norm: _Norm, node: BoundNode) -> bool:
    folded = node.input(1).data
    if folded is None or folded.shape != norm.weight.shape:
        return False
    along = [1] * folded.ndim
    along[OPS[node.op].weight_axis] = -1
    factor = norm.gamma / np.sqrt(norm.variance + norm.epsilon)
    return bool(np.allclose(norm.weight * factor.reshape(along), folded, rtol=1e-4, atol=1e-6))
