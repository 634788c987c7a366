"""The way from the default scheme to a mix: narrower until it fits, then wider step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import BudgetError
from tinyrt.ir import Graph
from tinyrt.memory import schedule
from tinyrt.ops import OPS
from tinyrt.quantize.apply import apply_plan
from tinyrt.quantize.config import BiasCorrection, QuantConfig, Scheme
from tinyrt.quantize.mixed.assign import (
    WIDER,
    Assignment,
    bit_operations,
    configured,
    raised,
    try_layout,
    weight_bytes,
)
from tinyrt.quantize.mixed.budget import Budget
from tinyrt.quantize.mixed.noise import NoiseModel
from tinyrt.quantize.plan import make_plan
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.schemes import Layout, lay_out, named_schemes

WORTHWHILE = (0.05, 0.005)
"""Share of the noise that a step must take away: the first of these that any step does."""


@dataclass(frozen=True, slots=True)
class State:
    """One mix.

    Attributes:
        assignment: schemes of the ops that do not have the default one.
        layout: what follows from it.
        why: op's output -> the reason for its scheme, in words.

    """

    assignment: Assignment
    layout: Layout
    why: Mapping[str, str] = field(default_factory=dict)


class Steps:
    """Mixes in the order of their precision.

    Weights become int4 where that costs the least noise for a byte; layers or whole tensors are
    widened where that takes away the most noise for a bit operation.

    Args:
        graph: the float graph.
        ranges: value name -> range.
        config: the user's choices; ops that its patterns name keep their schemes.
        budget: the file's size and the schemes to choose among.
        noise: what each source adds.
        assignment: schemes of the ops that do not start from the default one.
        by_gain: widen where that takes away the most noise whatever it costs; of steps alike
            within a tenth, the cheapest.

    Attributes:
        fixed: output names of the ops that patterns name.

    """

    def __init__(
        self,
        graph: Graph,
        ranges: Mapping[str, Range],
        config: QuantConfig,
        budget: Budget,
        noise: NoiseModel,
        assignment: Assignment | None = None,
        *,
        by_gain: bool = False,
    ) -> None:
        self.graph, self.ranges, self.config = graph, ranges, config
        self.budget, self.noise = budget, noise
        self.fixed = frozenset(named_schemes(graph, config))
        self._start, self._by_gain = dict(assignment or {}), by_gain
        self._states: list[State] = []

    def reach(self, index: int) -> int:
        """The last existing step up to this one; the first one is 0.

        Raises:
            BudgetError: nothing is small enough.

        """
        if not self._states:
            self._states.append(self._narrowed(self.plain()))
        while len(self._states) <= index:
            wider = self._widened(self._states[-1])
            if wider is None:
                break
            self._states.append(wider)
        return min(index, len(self._states) - 1)

    def __getitem__(self, index: int) -> State:
        return self._states[index]

    def plain(self) -> State:
        """The first mix: the default scheme, except where patterns name another."""
        return State(self._start, self._laid_out(self._start))

    def _laid_out(self, assignment: Assignment) -> Layout:
        return lay_out(self.graph, configured(self.config, assignment))

    def bytes_of(self, state: State) -> int:
        """Size of the file; of what refines the model, only biases that are new change it."""
        plan = make_plan(self.graph, self.ranges, configured(self.config, state.assignment))
        if self.config.bias_correction is not BiasCorrection.NONE:
            biases = {
                node.output.name: np.zeros(node.output.shape[-1], np.float32)
                for node in self.graph.bound()
                if node.output.name in plan.weights
            }
            plan = replace(plan, biases=biases)
        return len(write_tflite(schedule(apply_plan(self.graph, plan))))

    def _fits(self, state: State) -> bool:
        return self.budget.max_bytes is None or self.bytes_of(state) <= self.budget.max_bytes

    def _narrowed(self, state: State) -> State:
        """With int4 weights in as many layers as it takes to fit."""
        if self._fits(state):
            return state
        prices = self._prices(state)
        layers: list[str] = []
        for name in sorted(prices, key=lambda n: prices[n][0] / max(prices[n][1], 1)):
            layers.append(name)
            state = self._with_int4(layers, prices)
            if self._fits(state):
                return self._without_needless(state, layers, prices)
        raise BudgetError(
            f"the smallest file has {self.bytes_of(state):,} bytes",
            expected=f"at most {self.budget.max_bytes:,}",
            hint="allow int4 weights, prune channels, or train a smaller model",
        )

    def _prices(self, state: State) -> dict[str, tuple[float, int]]:
        """Op's output -> the noise of int4 weights there, and the bytes that they save."""
        if Scheme.INT4 not in self.budget.allowed:
            return {}
        noise, schemes = self.noise.total(state.layout), state.layout.op_schemes()
        prices = {}
        for node in self.graph.bound():
            name = node.output.name
            wide = schemes[name] in WIDER[1:] and OPS[node.op].int4_weights
            if not wide or name in self.fixed:
                continue
            layout = try_layout(self.graph, self.config, {**self._start, name: Scheme.INT4})
            if layout is not None:
                saved = weight_bytes(node, schemes[name]) - weight_bytes(node, Scheme.INT4)
                prices[name] = max(self.noise.total(layout) - noise, 0.0), saved
        return prices

    def _with_int4(self, names: list[str], prices: Mapping[str, tuple[float, int]]) -> State:
        assignment = {**self._start, **dict.fromkeys(names, Scheme.INT4)}
        total = sum(prices[name][0] for name in names) or 1.0
        why = {
            name: f"saves {prices[name][1]:,} bytes for {prices[name][0] / total:.0%} of the noise "
            "that int4 weights add"
            for name in names
        }
        return State(assignment, self._laid_out(assignment), why)

    def _without_needless(
        self, state: State, layers: list[str], prices: Mapping[str, tuple[float, int]]
    ) -> State:
        """Drop early int4 layers, the noisiest first, that the size no longer needs."""
        for name in sorted(layers, key=lambda n: -prices[n][0]):
            trial = self._with_int4([n for n in layers if n != name], prices)
            if self._fits(trial):
                layers, state = [n for n in layers if n != name], trial
        return state

    def _widened(self, state: State) -> State | None:
        """The step that takes away the most noise for a bit operation, of those that fit."""
        noise, cost = self.noise.total(state.layout), bit_operations(state.layout)
        candidates = []
        for scheme, assignment in raised(
            self.graph,
            state.layout,
            state.assignment,
            self.noise.activations,
            self.fixed,
            self.budget.allowed,
        ):
            layout = try_layout(self.graph, self.config, assignment)
            gain = noise - self.noise.total(layout) if layout is not None else 0.0
            if layout is not None and gain > WORTHWHILE[-1] * noise:
                price = max(bit_operations(layout) - cost, 1)
                text = f"{scheme} takes away {gain / noise:.0%} of the noise that was left then"
                rank = (float(gain < WORTHWHILE[0] * noise), -gain / price)
                if self._by_gain:
                    rank = (-round(10 * gain / noise), float(price))
                candidates.append((rank, text, State(assignment, layout)))
        for _, text, wider in sorted(candidates, key=lambda f: f[0]):
            names = [n for n, s in wider.assignment.items() if state.assignment.get(n) is not s]
            wider = replace(wider, why={**state.why, **dict.fromkeys(names, text)})
            if self._fits(wider):
                return wider
        return None
