"""Which layers of a quantised model, kept more precise, win back what it lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tinyrt.answering import Judging, held_by, here
from tinyrt.cluster.pieces import Crew
from tinyrt.cluster.workers import workers_of
from tinyrt.convert.channels.lost import Lost
from tinyrt.interpreter.model import Model
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import BoundNode, DType, Graph, QParams
from tinyrt.metrics import Evaluation
from tinyrt.ops import is_weighted
from tinyrt.ops.shared.spec import limits_of
from tinyrt.quantize.apply import apply_plan
from tinyrt.quantize.calibration.search import search_samples
from tinyrt.quantize.config import QuantConfig, Scheme
from tinyrt.quantize.explain.matching import as_quantized, quantized_constants, require_pair
from tinyrt.quantize.explain.parted import as_parted
from tinyrt.quantize.explain.restored import restored
from tinyrt.quantize.mixed.assign import Assignment, configured
from tinyrt.quantize.mixed.budget import Budget, Judge
from tinyrt.quantize.mixed.noise import NoiseModel, noise_of
from tinyrt.quantize.mixed.steps import Steps
from tinyrt.quantize.plan import QuantPlan, make_plan
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.schemes import lay_out, pattern_for
from tinyrt.quantize.simulate import Array, simulator_of

FLOAT_LOSS = 0.01
"""With labels, the default target: the float model's accuracy less this."""
GOOD_DB = 40.0
"""Without labels, the default target."""


@dataclass(frozen=True, slots=True)
class BisectStep:
    """One step of the greedy search.

    Attributes:
        layers: output names of the ops that became more precise.
        scheme: their new scheme.
        why: the expected gain, in words.
        sqnr_db: SQNR of the model with this step and those before it.
        top1: its accuracy, None without labels.

    """

    layers: tuple[str, ...]
    scheme: Scheme
    why: str
    sqnr_db: float | None
    top1: float | None


@dataclass(frozen=True, slots=True)
class BisectReport:
    """The layers to widen, and the accuracy that this wins back.

    Attributes:
        start: accuracy and SQNR of the quantised model.
        float_top1: accuracy of the float model, None without labels.
        reached: whether the target was met.
        steps: in their order; empty where nothing was lost.
        kept: output name -> scheme of the layers that it takes, without those that proved needless.
        result: accuracy and SQNR with these.
        options: the options of ``tinyrt quantize`` that keep them so.

    """

    start: Evaluation
    float_top1: float | None
    reached: bool
    steps: tuple[BisectStep, ...]
    kept: dict[str, Scheme]
    result: Evaluation
    options: tuple[str, ...]


def bisect(
    graph: Graph,
    quantized: Graph,
    data: Mapping[str, Array],
    labels: Array | None = None,
    target: Budget | None = None,
    progress: Progress | None = None,
    lost: Mapping[str, Lost] | None = None,
    crew: Crew | None = None,
) -> BisectReport:
    """Widen the layers of a quantised model, greedily, until its accuracy is back.

    Each step is the one that by ``NoiseModel`` takes away the most noise for its cost; the model
    with it is built from the quantised one's own grids and weights, and measured. In the end,
    layers that turn out not to be needed are left as they were.

    Args:
        graph: the optimised float model.
        quantized: the model made from it.
        data: input name -> samples, float.
        labels: class indices, where there are any.
        target: what accuracy or SQNR to win back, and with which schemes. Where it names neither,
            within 1 % of the float model's accuracy, or 40 dB where there are no labels.
        progress: called with the models measured and how many there may be.
        lost: the channels that the quantised model lost.
        crew: who shares the samples that models are measured on; None for this process.

    Raises:
        DataError: the data do not fit, or the models have nothing in common.
        ToolError: Dask is missing, or a worker failed.
        UnsupportedError: the first model is not float or the second not quantised.

    """
    require_pair(graph, quantized)
    feeds = Model(graph).check_inputs(data)
    with _judging(crew, feeds) as judging:
        judge = Judge(graph, feeds, labels, judging)
        return _bisected(graph, quantized, feeds, judge, target or Budget(), progress, lost or {})


@contextmanager
def _judging(crew: Crew | None, feeds: Mapping[str, Array]) -> Iterator[Judging]:
    """Who has the models answer."""
    if crew is None:
        yield here
        return
    with workers_of(feeds, crew.workers, crew.scheduler) as workers:
        yield held_by(workers)


def _bisected(
    graph: Graph,
    quantized: Graph,
    feeds: Mapping[str, Array],
    judge: Judge,
    target: Budget,
    progress: Progress | None,
    lost: Mapping[str, Lost],
) -> BisectReport:
    target = _with_default(target, judge)
    start = judge.measure(quantized)
    if judge.holds(start, target):
        return BisectReport(start, judge.of_float.top1, True, (), {}, start, ())
    count, rows = search_samples(graph), Model(graph).rows
    head = {name: array[: count * rows[name]] for name, array in feeds.items()}
    parted, _ = as_parted(graph, quantized)
    matched = as_quantized(parted, quantized, lost)
    rebuilt = _Remade(matched, restored(quantized, matched, lost), head)
    steps = Steps(
        rebuilt.graph,
        rebuilt.ranges,
        rebuilt.config,
        target,
        rebuilt.noise(head),
        rebuilt.assignment,
        by_gain=True,
    )
    search = _Search(judge, target, rebuilt, steps, progress)
    return search.run(start)


def _with_default(target: Budget, judge: Judge) -> Budget:
    """The target, with something to hold where it names nothing."""
    if target.min_accuracy is not None or target.min_sqnr_db is not None:
        return target
    if judge.of_float.top1 is None:
        return replace(target, min_sqnr_db=GOOD_DB)
    return replace(target, min_accuracy=max(judge.of_float.top1 - FLOAT_LOSS, 1e-9))


class _Search:
    """The greedy search."""

    def __init__(
        self,
        judge: Judge,
        target: Budget,
        rebuilt: _Remade,
        steps: Steps,
        progress: Progress | None,
    ) -> None:
        self.judge, self.target, self.rebuilt, self.steps = judge, target, rebuilt, steps
        self.progress, self.measured = progress, 0

    def run(self, start: Evaluation) -> BisectReport:
        evaluation, steps, index = start, [], 0
        assignment = dict(self.rebuilt.assignment)
        while not self.judge.holds(evaluation, self.target):
            if self.steps.reach(index + 1) == index:
                break
            index += 1
            before, state = assignment, self.steps[index]
            assignment = dict(state.assignment)
            evaluation = self._measure(assignment)
            names = tuple(n for n, s in assignment.items() if before.get(n) is not s)
            why = state.why[names[0]]
            steps.append(
                BisectStep(names, assignment[names[0]], why, evaluation.sqnr_db, evaluation.top1)
            )
        reached = self.judge.holds(evaluation, self.target)
        if reached:
            assignment, evaluation = self._without_needless(assignment, evaluation)
        changes = {n: s for n, s in assignment.items() if self.rebuilt.assignment.get(n) is not s}
        return BisectReport(
            start=start,
            float_top1=self.judge.of_float.top1,
            reached=reached,
            steps=tuple(steps),
            kept=changes,
            result=evaluation,
            options=tuple(
                _option(self.rebuilt.graph, name, scheme) for name, scheme in changes.items()
            ),
        )

    def _measure(self, assignment: Assignment) -> Evaluation:
        self.measured += 1
        evaluation = self.judge.measure(
            apply_plan(self.rebuilt.graph, self.rebuilt.plan(assignment))
        )
        if self.progress is not None:
            self.progress(self.measured, max(self.measured, 2 * len(self.rebuilt.graph.nodes)))
        return evaluation

    def _without_needless(
        self, assignment: dict[str, Scheme], evaluation: Evaluation
    ) -> tuple[dict[str, Scheme], Evaluation]:
        """Narrow each widened op again where the target still holds without it."""
        for name, scheme in list(assignment.items()):
            was = self.rebuilt.assignment.get(name)
            if was is scheme:
                continue
            fewer = {n: s for n, s in assignment.items() if n != name}
            if was is not None:
                fewer[name] = was
            trial = self._measure(fewer)
            if self.judge.holds(trial, self.target):
                assignment, evaluation = fewer, trial
        return assignment, evaluation


def _option(graph: Graph, name: str, scheme: Scheme) -> str:
    pattern = pattern_for(graph, name)
    if scheme is Scheme.FLOAT:
        return f"--keep-float '{pattern}'"
    return f"--scheme-for '{pattern}={scheme}'"


def _is_wide(quantized: Graph) -> bool:
    """Whether inputs are mostly int16, or, where all of them are float, other activations."""
    activations = [v for v in quantized.values.values() if v.q is not None and not v.is_constant]
    inputs = [v for v in activations if v.name in quantized.inputs]
    dtypes = [v.dtype for v in inputs or activations]
    return 2 * dtypes.count(DType.INT16) > len(dtypes)


class _Remade:
    """The quantised model as a plan for the float one, so that single schemes can be changed.

    Args:
        graph: the float model, channels as in the quantised one.
        quantized: the model made from it.
        head: samples, for the ranges of tensors that are not quantised there.

    Attributes:
        config: its default scheme.
        assignment: output name -> scheme of the weighted ops that have another one.
        ranges: value name -> range that gives the quantised model's parameters.

    """

    def __init__(self, graph: Graph, quantized: Graph, head: Mapping[str, Array]) -> None:
        self.graph, self.quantized = graph, quantized
        self.quantized_nodes = {node.output.name: node for node in quantized.bound()}
        port = quantized.input_values[0].dtype
        self.config = QuantConfig(
            scheme=Scheme.INT16X8 if _is_wide(quantized) else Scheme.INT8,
            float_io=port is DType.FLOAT32,
        )
        self.assignment = {
            node.output.name: scheme
            for node in graph.bound()
            if is_weighted(node) and (scheme := self._scheme(node)) is not self.config.scheme
        }
        self._grids = self._stored_grids()
        self.ranges = self._ranges(head)

    def _scheme(self, node: BoundNode) -> Scheme:
        partner = self.quantized_nodes.get(node.output.name, node)
        x, w = partner.input(0), partner.input(1)
        if x.q is None:
            return Scheme.FLOAT
        if x.dtype is DType.INT16:
            return Scheme.INT16X8
        return Scheme.INT4 if w.dtype is DType.INT4 else Scheme.INT8

    def _stored_grids(self) -> dict[tuple[str, DType], QParams]:
        """The float model's tensor and a dtype in which the quantised one has it -> its grid."""
        layout = lay_out(self.graph, configured(self.config, self.assignment))
        stored = ((name, self.quantized.values.get(name)) for name in layout.dtypes)
        return {
            (layout.origins.get(name, name), value.dtype): value.q
            for name, value in stored
            if value is not None and value.q is not None
        }

    def _ranges(self, head: Mapping[str, Array]) -> dict[str, Range]:
        ranges = {
            name: Range.of(array)
            for name, array in simulator_of(QuantPlan(), self.graph, head).reference.items()
        }
        for (name, dtype), q in self._grids.items():
            low, high = limits_of(dtype)
            ranges[name] = Range((low - q.zero_point) * q.scale, (high - q.zero_point) * q.scale)
        return ranges

    def plan(self, assignment: Assignment) -> QuantPlan:
        """The plan with these schemes; tensors that keep their dtype keep their parameters."""
        config = configured(self.config, assignment)
        plan = make_plan(self.graph, self.ranges, config)
        assert plan.layout is not None, "made by make_plan"
        layout, activations = plan.layout, dict(plan.activations)
        for name, q in plan.activations.items():
            place = layout.origins.get(name, name), layout.dtypes[name]
            activations[name] = self._grids.get(place, q)
        weights: dict[str, QParams] = {}
        rounded, biases = {}, {}
        for node in layout.graph.bound():
            name = node.output.name
            partner = self.quantized_nodes.get(layout.origins.get(name, name))
            if name not in plan.weights or partner is None:
                continue
            stored = partner.input(1)
            if (
                stored.q is None
                or stored.data is None
                or stored.dtype is not plan.weight_dtype(node)
            ):
                continue
            weights[name], rounded[name] = stored.q, stored.data
            constants = quantized_constants(self.quantized, partner)
            if len(constants) > 1:
                biases[name] = constants[1]
        return replace(
            plan,
            activations=activations,
            weights={**plan.weights, **weights},
            rounded=rounded,
            biases=biases,
        )

    def noise(self, head: Mapping[str, Array]) -> NoiseModel:
        """The noise of each of the model's grids and weights."""
        plan = self.plan(self.assignment)
        simulator = simulator_of(plan, self.graph, head)
        narrow = {n for n, scheme in self.assignment.items() if scheme is Scheme.INT4}
        eight = self.plan({n: s for n, s in self.assignment.items() if n not in narrow})
        stored = plan.real_weights(simulator.graph)
        constants = {
            Scheme.INT8: eight.real_weights(simulator.graph),
            Scheme.INT4: {name: stored[name] for name in narrow},
        }
        return noise_of(simulator, plan, constants)
