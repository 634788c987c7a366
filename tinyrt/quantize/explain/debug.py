"""Where a quantised model loses accuracy: each layer's own and accumulated error, and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.channels.lost import Lost
from tinyrt.interpreter.model import Model
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import BoundNode, DType, Graph, Value
from tinyrt.metrics import sqnr_db
from tinyrt.ops import is_weighted
from tinyrt.ops.shared.spec import limits_of
from tinyrt.quantize.calibration.search import search_samples
from tinyrt.quantize.explain.causes import Symptoms, diagnose
from tinyrt.quantize.explain.matching import (
    Constants,
    as_quantized,
    quantized_constants,
    require_pair,
    stored_constant,
)
from tinyrt.quantize.explain.parted import as_parted
from tinyrt.quantize.explain.restored import restored, with_lost
from tinyrt.quantize.flat import decided
from tinyrt.quantize.methods.channels import free_spaces
from tinyrt.quantize.methods.layers import weight_axis
from tinyrt.quantize.simulate import Array, Arrays, Simulator, round_to


@dataclass(frozen=True, slots=True)
class LayerReport:
    """One tensor of the quantised model, with the layer that computes it.

    Attributes:
        name: the tensor's name.
        index: its place in the order of execution; 0 for the first model input.
        op: the op that computes it; ``input`` for a model input.
        impact_db: SQNR of the model's output if this layer alone is quantised.
        own_db: SQNR of the tensor if this layer alone is quantised, its inputs exact.
        own_cosine: cosine similarity of that with the float tensor.
        own_max_error: largest difference between the two, in the tensor's real units.
        accumulated_db: SQNR of the tensor in the quantised model.
        cosine: cosine similarity of the tensor in the quantised model with the float one.
        max_error: largest difference between the two, in the tensor's real units.
        range_use: share of the tensor's integers that its values span; 1 for floats.
        saturation: share of the float values that lie outside the integers' range.
        dead_channels: channels (last axis) that are constant in the quantised model only.
        weight_spread: largest over smallest of the channels' greatest weights; None without.
        cause: what the layer's error likely comes from.
        cure: the option that helps, None where there is nothing to cure.
        part_of: the float model's layer that this one was taken from, where quantisation made
            several of it; None for others.

    """

    name: str
    index: int
    op: str
    impact_db: float
    own_db: float
    own_cosine: float
    own_max_error: float
    accumulated_db: float
    cosine: float
    max_error: float
    range_use: float
    saturation: float
    dead_channels: int
    weight_spread: float | None
    cause: str
    cure: str | None
    part_of: str | None = None


@dataclass(frozen=True, slots=True)
class DebugReport:
    """The errors of all layers.

    Attributes:
        samples: how many samples were looked at.
        sqnr_db: SQNR of the quantised model's output, before a final softmax.
        equalized: whether channels were rescaled before quantisation: layers are then compared in
            the rescaled channels.
        layers: worst first, by ``impact_db``.

    """

    samples: int
    sqnr_db: float
    equalized: bool
    layers: tuple[LayerReport, ...]


def debug_graphs(
    graph: Graph,
    quantized: Graph,
    data: Mapping[str, Array],
    progress: Progress | None = None,
    lost: Mapping[str, Lost] | None = None,
) -> DebugReport:
    """Compare a quantised model with the float model that it was made from, layer by layer.

    The error of a layer by itself is that of its weights, its bias and the rounding of its output.

    Args:
        graph: the optimised float model.
        quantized: the quantised model; tensors are matched by name.
        data: input name -> samples, float; the first 16 to 128 are looked at.
        progress: called with the layers done and their total.
        lost: the channels that the quantised model lost: they count as dead.

    Raises:
        DataError: the data do not fit, or the models have nothing in common.
        UnsupportedError: the first model is not float or the second not int8.

    """
    require_pair(graph, quantized)
    graph, origins = as_parted(graph, quantized)
    model, count = Model(graph), search_samples(graph)
    feeds = {n: a[: count * model.rows[n]] for n, a in model.check_inputs(data).items()}
    lost = lost or {}
    matched = as_quantized(graph, quantized, lost)
    whole = restored(quantized, matched, lost)
    dtypes = {v.name: v.dtype for v in quantized.values.values()}
    simulator = Simulator(matched, feeds, dtypes)
    outputs = _run(quantized, dict(zip(quantized.inputs, feeds.values(), strict=True)))
    nodes = {node.output.name: node for node in whole.bound()}
    names = [
        name
        for name in simulator.reference
        if name in outputs and _is_rounded(quantized, name) and not _is_alias(nodes.get(name))
    ]
    norms, layers = _behind_norms(simulator.graph), []
    for index, name in enumerate(names, 1):
        exact, actual = simulator.reference[name], outputs[name]
        if name in lost:
            actual = with_lost(actual, exact, quantized.value(name).q, lost[name])
        layer = _layer(simulator, whole, nodes.get(name), name, actual, norms)
        layers.append(replace(layer, index=index - 1, part_of=origins.get(name)))
        if progress is not None:
            progress(index, len(names))
    output = {n: outputs.get(n, simulator.reference[n]) for n in simulator.targets}
    return DebugReport(
        samples=simulator.samples,
        sqnr_db=simulator.sqnr_db(output),
        equalized=matched is not graph,
        layers=tuple(sorted(layers, key=lambda layer: layer.impact_db)),
    )


def _behind_norms(graph: Graph) -> frozenset[str]:
    """Outputs of layer norms, scaled per channel, and of the layers that read them."""
    spaces = [space for space in free_spaces(graph) if space.affine]
    readers = (node.output.name for space in spaces for node in space.consumers)
    return frozenset((*readers, *(name for space in spaces for name in space.tensors)))


def _is_rounded(quantized: Graph, name: str) -> bool:
    """Whether the tensor's values, or the weights that it is computed with, are."""
    node = quantized.producer(name)
    if quantized.value(name).q is not None:
        return True
    if node is None or not is_weighted(node):
        return False
    return stored_constant(quantized, node.inputs[1]).q is not None


def _is_alias(node: BoundNode | None) -> bool:
    return node is not None and node.op == "reshape"


def _run(quantized: Graph, feeds: Mapping[str, Array]) -> Arrays:
    """Every activation of the quantised model as real values."""
    parts: dict[str, list[Array]] = {}

    def on_op(node: BoundNode, output: NDArray[Any]) -> None:
        parts.setdefault(node.output.name, []).append(model.real(node.output.name, output.copy()))

    model = Model(quantized, on_op=on_op)
    stored = model.stored_inputs(feeds)
    model.run_raw(stored)
    inputs = {name: model.real(name, array) for name, array in stored.items()}
    return inputs | {name: np.concatenate(arrays) for name, arrays in parts.items()}


def _layer(
    simulator: Simulator,
    quantized: Graph,
    node: BoundNode | None,
    name: str,
    actual: Array,
    norms: frozenset[str],
) -> LayerReport:
    value, decide = quantized.value(name), _decided(simulator, quantized, name)
    exact = decide(simulator.reference[name])
    actual = decide(actual.reshape(exact.shape))
    grids = {name: value.q} if value.q is not None else {}
    weighted = node is not None and is_weighted(node)
    constants = quantized_constants(quantized, node) if node is not None and weighted else ()
    live = simulator.run(
        grids, {name: constants} if constants else {}, simulator.reference, (name,)
    )
    own = decide(live[name])
    symptoms = replace(
        _symptoms(simulator, quantized, node if weighted else None, name, live, constants),
        behind_norm=name in norms,
    )
    cause, cure = diagnose(symptoms)
    return LayerReport(
        name=name,
        index=0,
        op=node.op if node is not None else "input",
        impact_db=symptoms.impact_db,
        own_db=_db(exact, own),
        own_cosine=_cosine(exact, own),
        own_max_error=float(np.abs(exact - own).max()),
        accumulated_db=_db(exact, actual),
        cosine=_cosine(exact, actual),
        max_error=float(np.abs(exact - actual).max()),
        range_use=_range_use(value, actual),
        saturation=symptoms.saturation,
        dead_channels=_dead(exact, actual),
        weight_spread=symptoms.weight_spread,
        cause=cause,
        cure=cure,
    )


def _symptoms(
    simulator: Simulator,
    quantized: Graph,
    node: BoundNode | None,
    name: str,
    live: Arrays,
    constants: Constants,
) -> Symptoms:
    """The error figures of a layer.

    Args:
        simulator: the float model.
        quantized: the quantised one.
        node: the layer in the quantised model, if it has weights.
        name: its output.
        live: every activation if this layer alone is quantised.
        constants: its real weights, and its bias if it has one, as they are stored.

    """
    exact, value = simulator.reference[name], quantized.value(name)
    common = Symptoms(
        impact_db=simulator.sqnr_db(live),
        rounding_db=math.inf,
        saturation=0.0,
        outlier=1.0,
        channel_spread=1.0,
    )
    if value.q is not None:
        q, limits = value.q, limits_of(value.dtype)
        sides = zip(limits, (1, -1), strict=True)
        low, high = ((end - q.zero_point - side / 2) * q.scale for end, side in sides)
        exact = _decided(simulator, quantized, name)(exact)
        outer = float(np.quantile(np.abs(exact), 0.999))
        common = replace(
            common,
            rounding_db=_db(exact, round_to(exact, q, value.dtype)),
            saturation=float(((exact < low) | (exact > high)).mean()),
            outlier=float(max(-low, high) / outer) if outer > 0 else 1.0,
            channel_spread=_spread(np.abs(exact), -1),
        )
    if node is None:
        return common
    exact = simulator.reference[name]
    before = simulator.run({}, {name: constants}, simulator.reference, (name,))[name]
    error = (before - exact).reshape(-1, exact.shape[-1]).astype(np.float64)
    power = float((error**2).mean())
    magnitudes = np.abs(constants[0])
    stored = stored_constant(quantized, node.input(1).name)
    return replace(
        common,
        weights_db=_db(exact, before),
        weight_spread=_spread(magnitudes, weight_axis(node)),
        input_spread=1.0 if node.op == "depthwise_conv2d" else _spread(magnitudes, -1),
        per_tensor=stored.q is not None and stored.q.axis is None,
        weight_bits=4 if stored.dtype is DType.INT4 else 8,
        mean_share=float((error.mean(axis=0) ** 2).mean() / power) if power else 0.0,
    )


def _decided(simulator: Simulator, quantized: Graph, name: str) -> Callable[[Array], Array]:
    """Moves values of the tensor that change no answer to where answers begin to change."""
    dtypes = {v.name: v.dtype for v in quantized.values.values()}
    part = decided(simulator.graph, name, simulator.reference, dtypes)
    if part is None:
        return lambda x: x
    return lambda x: np.clip(x, part.low, part.high).astype(x.dtype)


def _range_use(value: Value, actual: Array) -> float:
    if value.q is None:
        return 1.0
    low, high = limits_of(value.dtype)
    return min(float(actual.max() - actual.min()) / ((high - low) * value.q.scale), 1.0)


def _spread(magnitudes: Array, axis: int) -> float:
    """Largest over smallest of the channels' peaks, of those that have any."""
    peaks = np.moveaxis(magnitudes, axis, 0).reshape(magnitudes.shape[axis], -1).max(axis=1)
    alive = peaks[peaks > 0]
    return float(alive.max() / alive.min()) if len(alive) else 1.0


def _dead(exact: Array, actual: Array) -> int:
    def constant(x: Array) -> NDArray[np.bool_]:
        rows = x.reshape(-1, x.shape[-1])
        return np.asarray(rows.min(axis=0) == rows.max(axis=0))

    return int((constant(actual) & ~constant(exact)).sum())


def _db(exact: Array, actual: Array) -> float:
    return float(sqnr_db(exact, actual).mean())


def _cosine(a: Array, b: Array) -> float:
    x, y = a.reshape(-1).astype(np.float64), b.reshape(-1).astype(np.float64)
    size = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum()) / size if size else float(np.array_equal(x, y))
