"""Layer by layer: rounded weights and corrected biases for a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tinyrt.interpreter.progress import Progress
from tinyrt.ir import BoundNode, DType
from tinyrt.quantize.config import BiasCorrection, QuantConfig
from tinyrt.quantize.methods.layers import by_output, layer_rows, per_output, weight_axis
from tinyrt.quantize.methods.rounding import round_weights, round_with_scales, second_moments
from tinyrt.quantize.plan import QuantPlan
from tinyrt.quantize.ranges import dequantize_weights, least_scales, weight_max
from tinyrt.quantize.simulate import Array, Arrays, Simulator

MAX_ROWS = 2**22
"""Elements of a layer's rows that its moments are computed from."""


def refine(
    simulator: Simulator, plan: QuantPlan, config: QuantConfig, progress: Progress | None = None
) -> QuantPlan:
    """The plan with optimised weights and corrected biases, as configured.

    Each layer sees its input as the layers before it, refined already, deliver it. Bias correction
    is that of Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias
    Correction", ICCV 2019, section 4.2: the mean error of every output channel before its
    activation is taken off the bias. ``ANALYTIC`` computes it from the float model's input means
    and the weights' errors alone; ``EMPIRICAL`` (appendix D) measures it on the quantised inputs.

    Args:
        simulator: the float graph on calibration samples.
        plan: grids of activations and weights.
        config: which methods.
        progress: called with the layers done and their total.

    """
    if not config.optimize_rounding and config.bias_correction is BiasCorrection.NONE:
        return plan
    nodes = simulator.nodes
    live: Arrays = {
        name: simulator.rounded(name, simulator.reference[name], plan.activations)
        for name in simulator.graph.inputs
    }
    for index, node in enumerate(nodes, 1):
        name = node.output.name
        weights: dict[str, tuple[Array, ...]] = {}
        if name in plan.weights:
            plan = _refined(simulator, plan, node, live, config)
            weights[name] = plan.real_constants(node)
        simulator.compute(node, live, plan.activations, weights)
        if progress is not None:
            progress(index, len(nodes))
    return plan


def _refined(
    simulator: Simulator,
    plan: QuantPlan,
    node: BoundNode,
    live: Mapping[str, Array],
    c: QuantConfig,
) -> QuantPlan:
    name = node.output.name
    if c.optimize_rounding:
        plan = _rounded(plan, node, live[node.input(0).name])
    if c.bias_correction is not BiasCorrection.NONE:
        before = simulator.reference[node.input(0).name]
        is_measured = c.bias_correction is BiasCorrection.EMPIRICAL
        error = _mean_error(plan, node, before, live[node.input(0).name] if is_measured else before)
        bias_before = plan.bias(node)
        bias = -error if bias_before is None else bias_before - error
        plan = replace(plan, biases=plan.biases | {name: bias.astype(np.float32)})
    return plan


def _rounded(plan: QuantPlan, node: BoundNode, x: Array) -> QuantPlan:
    """The plan with optimised weights of the node, and scales where int4 has too few steps."""
    name, dtype = node.output.name, plan.weight_dtype(node)
    axis, shape, q = weight_axis(node), node.input(1).shape, plan.weights[name]
    weights = per_output(node)
    samples = max(1, MAX_ROWS // layer_rows(node, x[:1]).size)
    moments = second_moments(layer_rows(node, x[:samples]))
    scales = np.broadcast_to(np.asarray(q.scales), len(weights)).reshape(len(moments), -1)
    blocked, most = weights.reshape(*scales.shape, -1), weight_max(dtype)
    integers = round_weights(blocked, scales, moments, most)
    if dtype is DType.INT4:
        solved, finer = round_with_scales(blocked, scales, moments, most, q.axis is None)
        fits = finer >= _least_scales(plan, node, q.axis is None).reshape(finer.shape)
        integers = np.where(fits[..., None], solved, integers)
        flat = np.where(fits, finer, scales).reshape(-1)[: len(q.scales)]
        q = replace(q, scales=tuple(float(s) for s in flat))
    channels_first = [shape[axis], *(n for i, n in enumerate(shape) if i != axis)]
    rounded = np.ascontiguousarray(np.moveaxis(integers.reshape(channels_first), 0, axis))
    return replace(plan, weights=plan.weights | {name: q}, rounded=plan.rounded | {name: rounded})


def _least_scales(plan: QuantPlan, node: BoundNode, tied: bool) -> NDArray[np.float64]:
    """(c_out,) the least scales of weights with which the bias still fits."""
    bias, x = plan.bias(node), plan.activations[node.input(0).name]
    channels = node.input(1).shape[weight_axis(node)]
    least = np.zeros(channels) if bias is None else least_scales(bias, x.scale)
    return np.full(channels, least.max()) if tied else least


def _mean_error(
    plan: QuantPlan, node: BoundNode, before: Array, after: Array
) -> NDArray[np.float64]:
    """(c_out,) the quantised layer's mean output on ``after`` less the float one on ``before``."""
    axis = weight_axis(node)
    stored = dequantize_weights(plan.stored_weights(node), plan.weights[node.output.name])
    mean = _means(node, after, by_output(stored, axis).astype(np.float64))
    return mean - _means(node, before, per_output(node))


def _means(node: BoundNode, x: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """(c_out,) mean over samples and positions of the layer's products."""
    # Rows are linear in the inputs: those of the mean sample are far fewer.
    typical = x.mean(axis=0, keepdims=True, dtype=np.float64)
    means = layer_rows(node, typical).mean(axis=1)
    blocked = weights.reshape(len(means), -1, weights.shape[1])
    return np.asarray((blocked * means[:, None]).sum(axis=2).reshape(-1))
