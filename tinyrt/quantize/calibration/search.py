"""Choose activation ranges by the error that they cause at the model's output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tinyrt.interpreter.progress import Progress
from tinyrt.ir import DType, Graph
from tinyrt.ops import OPS
from tinyrt.quantize.plan import QuantPlan, shared_ranges
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.simulate import Simulator

MAC_BUDGET = 3e8
"""Multiply-accumulates of one run of the search: what sets its number of samples."""
MIN_SAMPLES, MAX_SAMPLES = 16, 128
MIN_GAIN_DB = 0.05
"""A range is changed only for more than this: the samples tell no finer."""


def search_samples(graph: Graph) -> int:
    """How many samples the methods that run the model many times look at."""
    macs = sum(OPS[node.op].macs(node) for node in graph.bound())
    return int(min(max(MAC_BUDGET / max(macs, 1), MIN_SAMPLES), MAX_SAMPLES))


def search_ranges(
    simulator: Simulator,
    plan: QuantPlan,
    ranges: Mapping[str, Range],
    candidates: Callable[[tuple[str, ...], Range], Sequence[Range]],
    progress: Progress | None = None,
) -> dict[str, Range]:
    """Ranges that raise the SQNR at the output, tensor by tensor in the graph's order.

    Every tensor is quantised as the plan says while one is varied (coordinate descent), as in
    Nahshan et al., "Loss Aware Post-training Quantization", Machine Learning 110, 2021,
    section 4.2. Tensors that share their parameters are varied together.

    Args:
        simulator: the float graph on the samples to measure with.
        plan: the parameters at the start.
        ranges: value name -> the range that these parameters stem from.
        candidates: from a set of tied tensors and their present range, what to try in its place.
        progress: called with the tensors done and their total.

    """
    weights = plan.real_weights(simulator.graph)
    activations = dict(plan.activations)
    best_ranges = dict(ranges)
    live = simulator.run(activations, weights)
    best = simulator.sqnr_db(live)
    assert plan.layout is not None, "made by make_plan"
    groups = shared_ranges(plan.layout, ranges)
    for index, (names, start) in enumerate(groups.items(), 1):
        if not any(name in live for name in names):
            continue  # constants: their range is known
        dtype = plan.layout.dtypes[names[0]]
        if dtype is DType.INT16:
            continue  # steps are fine enough: cutting values off can only lose
        for candidate in candidates(names, start):
            params = candidate.params(dtype)
            trial = activations | dict.fromkeys(names, params)
            result = simulator.run(trial, weights, live, names)
            ratio = simulator.sqnr_db(result)
            if ratio > best + MIN_GAIN_DB:
                best, live, activations = ratio, result, trial
                best_ranges.update(dict.fromkeys(names, candidate))
        if progress is not None:
            progress(index, len(groups))
    return best_ranges


SHRINKS = (0.95, 0.9, 0.85, 0.8, 0.7)


def narrower(names: tuple[str, ...], start: Range) -> list[Range]:
    """Narrower ranges to try: both ends, then each by itself."""
    del names
    both = [Range(start.low * f, start.high * f) for f in SHRINKS]
    if start.low >= 0 or start.high <= 0:
        return both
    low = [Range(start.low * f, start.high) for f in SHRINKS[1::2]]
    high = [Range(start.low, start.high * f) for f in SHRINKS[1::2]]
    return both + low + high
