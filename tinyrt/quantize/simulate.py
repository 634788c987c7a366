"""The float model with any of its tensors rounded as the quantised model would round them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.answering import logits_name
from tinyrt.decibels import CEILING_DB
from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, Graph, QParams
from tinyrt.metrics import sqnr_db
from tinyrt.ops import OPS
from tinyrt.ops.quantize import Affine, dequantize_array, quantize_array
from tinyrt.ops.shared.batch import rebatch
from tinyrt.ops.shared.evaluate import as_tuple
from tinyrt.quantize.plan import QuantPlan
from tinyrt.quantize.schemes import has_constant_weights

Array = NDArray[Any]
Arrays = dict[str, Array]
Weights = Mapping[str, tuple[Array, ...]]
"""Node output name -> weights and bias as real values, in place of the graph's own."""


class Simulator:
    """A float graph on fixed samples; activations are (samples, ...) arrays.

    A model that mixes samples has (runs, ...) arrays instead, each run of as many rows as it takes.

    Quantised tensors are rounded to their grids and stay real values, sums run in float32: the
    result differs from the integer model's by rare single steps.

    Args:
        graph: the float graph.
        feeds: input name -> samples, as ``Model.check_inputs`` returns them.
        dtypes: dtype of the tensors that are rounded, where it is not int8.

    Attributes:
        reference: value name -> what the float model computes, for every activation.

    """

    def __init__(
        self,
        graph: Graph,
        feeds: Mapping[str, Array],
        dtypes: Mapping[str, DType] | None = None,
    ) -> None:
        self._dtypes = dtypes or {}
        name, first = next(iter(feeds.items()))
        self.samples = len(first)
        self.graph = graph
        try:
            batched = rebatch(graph, self.samples)
            self._nodes, self._stacked = list(batched.bound()), False
        except ShapeError:
            # The model mixes samples: each run is computed for itself, along a new first axis.
            self._nodes, self._stacked = list(graph.bound()), True
            self.samples //= next(iter(graph.value(name).shape), 1)
        self._constants = {n: v.data for n, v in graph.values.items() if v.data is not None}
        self._feeds = {
            name: array.reshape(self.samples, *graph.value(name).shape) if self._stacked else array
            for name, array in feeds.items()
        }
        ends = dict.fromkeys((logits_name(graph), *graph.outputs[1:]))
        self.targets = tuple(name for name in ends if name not in self._constants)
        self.reference = self.run({}, {})

    def run(
        self,
        activations: Mapping[str, QParams],
        weights: Weights,
        earlier: Arrays | None = None,
        changed: Collection[str] = (),
    ) -> Arrays:
        """Every activation, rounded.

        Args:
            activations: value name -> grid that the tensor is rounded to; others stay exact.
            weights: weights to compute with in place of the graph's.
            earlier: the result of an earlier run, to compute only what depends on ``changed``.
            changed: tensors whose grid, or whose node's weights, differ from the earlier run.

        """
        dirty = set(changed)
        live: Arrays = dict(earlier or {})
        for name, array in self._feeds.items():
            if earlier is None or name in dirty:
                live[name] = self.rounded(name, array, activations)
        for node in self._nodes:
            name = node.output.name
            reads = {v.name for v in node.inputs if v is not None}
            if earlier is None or name in dirty or dirty & reads:
                dirty.update(self.compute(node, live, activations, weights))
        return live

    def rounded(self, name: str, exact: Array, activations: Mapping[str, QParams]) -> Array:
        """The tensor's values on its grid, if it has one among the activations."""
        return round_to(exact, activations.get(name), self._dtypes.get(name, DType.INT8))

    def run_plan(self, plan: QuantPlan) -> Arrays:
        """Every activation as the plan quantises it."""
        return self.run(plan.activations, plan.real_weights(self.graph))

    def compute(
        self,
        node: BoundNode,
        live: Arrays,
        activations: Mapping[str, QParams],
        weights: Weights,
    ) -> list[str]:
        """Compute one node from the activations in ``live``, and add what it answers, rounded.

        Returns:
            The names of what was added: the first output, and of others those that are read.

        """
        names = [v.name for v in node.outputs]
        added = [n for n in names if n == names[0] or self.graph.consumers(n)]
        answers = dict(zip(names, self._computed(node, live, activations, weights), strict=True))
        live.update((n, self.rounded(n, answers[n], activations)) for n in added)
        return added

    def _computed(
        self,
        node: BoundNode,
        live: Mapping[str, Array],
        activations: Mapping[str, QParams],
        weights: Weights,
    ) -> tuple[Array, ...]:
        """One node's outputs before they are rounded."""
        reference = OPS[node.op].ref_f32
        assert reference is not None, "the plan refuses ops without a float form"
        first = 1 if has_constant_weights(node) else len(node.inputs)
        inputs: list[Array | None] = []
        for value in node.inputs[:first]:
            if value is None or value.name in live:
                inputs.append(live[value.name] if value is not None else None)
            else:
                inputs.append(self.rounded(value.name, self._constants[value.name], activations))
        fixed: list[Array | None] = [
            None if v is None else self._constants[v.name] for v in node.inputs[first:]
        ]
        fixed = list(weights.get(node.output.name, fixed))
        if not self._stacked:
            return as_tuple(reference(node.attrs, *inputs, *fixed))
        moving = [v is not None and v.name in live for v in node.inputs[:first]]

        def sample(i: int) -> tuple[Array, ...]:
            own = (a[i] if m and a is not None else a for a, m in zip(inputs, moving, strict=True))
            return as_tuple(reference(node.attrs, *own, *fixed))

        return tuple(map(np.stack, zip(*map(sample, range(self.samples)), strict=True)))

    @property
    def nodes(self) -> list[BoundNode]:
        """The nodes, for the batch that is computed at once."""
        return self._nodes

    def sqnr_db(self, live: Mapping[str, Array]) -> float:
        """Mean over samples and outputs (before a final softmax) of the SQNR against float.

        Infinite where all outputs are constants.
        """
        if not self.targets:
            return math.inf
        return float(np.mean([ratios.mean() for ratios in self._ratios_db(live)]))

    def ratios_db(self, live: Mapping[str, Array]) -> NDArray[np.float64]:
        """The same for each sample, finite."""
        # Of an output that depends on no sample, all get the mean.
        parts = [r if len(r) == self.samples else r.mean() for r in self._ratios_db(live)]
        finite = [np.clip(part, -CEILING_DB, CEILING_DB) for part in parts] or [CEILING_DB]
        return np.asarray(sum(finite, np.zeros(self.samples)) / len(finite))

    def _ratios_db(self, live: Mapping[str, Array]) -> list[NDArray[np.float64]]:
        return [sqnr_db(self.reference[name], live[name]) for name in self.targets]


def round_to(x: Array, q: QParams | None, dtype: DType = DType.INT8) -> Array:
    """Real values rounded to the grid; as they are without one."""
    if q is None:
        return x
    steps = quantize_array(x, np.float32(q.scale), q.zero_point, dtype)
    return dequantize_array(Affine(q.scale, q.zero_point), steps)


def simulator_of(plan: QuantPlan, graph: Graph, feeds: Mapping[str, Array]) -> Simulator:
    """A simulator of the graph that the plan is for."""
    if plan.layout is None:
        return Simulator(graph, feeds)
    return Simulator(plan.layout.graph, feeds, plan.layout.dtypes)
