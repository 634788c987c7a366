"""The share of the output's error that each tensor and each layer's weights cause alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tinyrt.floatmath import elementary
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import DType, Graph
from tinyrt.ops import is_weighted
from tinyrt.quantize.config import QuantConfig, Scheme
from tinyrt.quantize.plan import QuantPlan, make_plan, shared_parameters
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.schemes import Layout
from tinyrt.quantize.simulate import Array, Arrays, Simulator, Weights, simulator_of

OF_INT8 = {DType.INT8: 1.0, DType.INT16: 2.0**-14, DType.FLOAT32: 0.0}
"""Noise power of a tensor's dtype over that of int8; int16 is symmetric, which costs a bit."""
WEIGHTS_OF = {
    Scheme.INT4: Scheme.INT4,
    Scheme.INT8: Scheme.INT8,
    Scheme.INT16X8: Scheme.INT8,
    Scheme.WEIGHTS_INT8: Scheme.INT8,
}
"""Scheme -> that whose weights it has; float weights, and those of float16, cause no noise."""


@dataclass(frozen=True, slots=True)
class NoiseModel:
    """Noise power at the model's output over the signal's, by source; sources add up.

    They do as far as rounding errors are independent of each other, which is the assumption of
    Lin, Talathi and Annapureddy, "Fixed Point Quantization of Deep Convolutional Networks", ICML
    2016, section 3.

    Attributes:
        activations: tensors that share their parameters -> noise if they alone are int8.
        weights: node output name -> scheme (INT8 or INT4) -> noise of its weights alone.

    """

    activations: Mapping[tuple[str, ...], float]
    weights: Mapping[str, Mapping[Scheme, float]]

    def total(self, layout: Layout) -> float:
        """The noise of a graph whose ops have these schemes."""
        steps: dict[str, float] = {}
        for name, dtype in layout.dtypes.items():
            origin = layout.origins.get(name, name)
            steps[origin] = max(steps.get(origin, 0.0), OF_INT8[dtype])
        noise = sum(
            power * max(steps.get(name, 0.0) for name in names)
            for names, power in self.activations.items()
        )
        for node in layout.graph.bound():
            name = node.output.name
            table = self.weights.get(layout.origins.get(name, name), {})
            if is_weighted(node):
                noise += table.get(WEIGHTS_OF.get(layout.schemes[name], Scheme.FLOAT), 0.0)
        return noise


def measure_noise(
    graph: Graph,
    ranges: Mapping[str, Range],
    config: QuantConfig,
    feeds: Mapping[str, Array],
    progress: Progress | None = None,
) -> NoiseModel:
    """The noise of every source, each by itself.

    Args:
        graph: an optimised float graph.
        ranges: value name -> range, from calibration.
        config: the user's choices; ops that these keep in other schemes have them here, too.
        feeds: input name -> samples, as ``Model.check_inputs`` returns them.
        progress: called with the sources done and their total.

    """
    plans = {
        scheme: make_plan(graph, ranges, replace(config, scheme=scheme))
        for scheme in (Scheme.INT8, Scheme.INT4)
    }
    simulator = simulator_of(plans[Scheme.INT8], graph, feeds)
    constants = {scheme: plan.real_weights(simulator.graph) for scheme, plan in plans.items()}
    return noise_of(simulator, plans[Scheme.INT8], constants, progress)


def noise_of(
    simulator: Simulator,
    plan: QuantPlan,
    constants: Mapping[Scheme, Weights],
    progress: Progress | None = None,
) -> NoiseModel:
    """The noise of the plan's grids and of these weights.

    Args:
        simulator: the float graph, with the plan's layout.
        plan: grids of the activations.
        constants: scheme of the weights -> node output name -> weights and bias, as stored.
        progress: called with the sources done and their total.

    """
    groups = _groups(simulator.graph, plan)
    total, count = len(groups) + sum(map(len, constants.values())), 0

    def advance() -> None:
        nonlocal count
        count += 1
        if progress is not None:
            progress(count, total)

    activations = {}
    for names in groups:
        grids = {name: plan.activations[name] for name in names}
        activations[names] = _power(simulator, simulator.run(grids, {}, simulator.reference, names))
        advance()
    weights: dict[str, dict[Scheme, float]] = {}
    for scheme, table in constants.items():
        for name, values in table.items():
            live = simulator.run({}, {name: values}, simulator.reference, (name,))
            weights.setdefault(name, {})[scheme] = _power(simulator, live)
            advance()
    return NoiseModel(activations, weights)


def _groups(graph: Graph, plan: QuantPlan) -> list[tuple[str, ...]]:
    """int8 tensors that share their parameters; of constants, those that are data."""
    groups: dict[str, list[str]] = {}
    dtypes = plan.layout.dtypes if plan.layout is not None else {}
    for name, root in shared_parameters(graph, plan.layout).items():
        if name in plan.activations and dtypes.get(name, DType.INT8) is DType.INT8:
            groups.setdefault(root, []).append(name)
    return [tuple(names) for names in groups.values()]


def _power(simulator: Simulator, live: Arrays) -> float:
    return float(elementary.power(10.0, -simulator.sqnr_db(live) / 10))
