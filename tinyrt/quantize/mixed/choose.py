"""Mixed precision: the scheme of every layer, chosen to hold a budget of bytes or of accuracy."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyrt.cluster.pieces import Crew
from tinyrt.errors import BudgetError, TinyrtError
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import Graph
from tinyrt.metrics import Evaluation
from tinyrt.ops import is_weighted
from tinyrt.quantize.calibration.samples import Samples
from tinyrt.quantize.config import REFINING, Calibrator, QuantConfig, Scheme
from tinyrt.quantize.mixed.assign import WIDER, configured, weight_bytes
from tinyrt.quantize.mixed.budget import Budget, Judge, figures
from tinyrt.quantize.mixed.noise import measure_noise
from tinyrt.quantize.mixed.steps import State, Steps
from tinyrt.quantize.pipeline import Prepared, prepare
from tinyrt.quantize.slopes import with_slopes_written_out
from tinyrt.quantize.tables import gather_tables


@dataclass(frozen=True, slots=True)
class LayerChoice:
    """One op's scheme.

    Attributes:
        name: the op's output.
        op: its kind.
        scheme: what it got.
        weight_bytes: bytes of its weights in that scheme, without biases and scales.
        why: in words.

    """

    name: str
    op: str
    scheme: Scheme
    weight_bytes: int
    why: str


@dataclass(frozen=True, slots=True)
class MixedReport:
    """The chosen mix and its figures.

    Attributes:
        bytes: size of the .tflite file.
        plain_bytes: that with the default scheme everywhere.
        evaluation: accuracy and SQNR of the chosen model.
        float_top1: accuracy of the float model; None without labels.
        tried: models that were measured.
        layers: every op with weights, and whatever else does not have the default scheme.

    """

    bytes: int
    plain_bytes: int
    evaluation: Evaluation
    float_top1: float | None
    tried: int
    layers: tuple[LayerChoice, ...]


def quantize_within(
    graph: Graph,
    data: Samples,
    config: QuantConfig,
    budget: Budget,
    judge: Judge | None = None,
    progress: Progress | None = None,
    crew: Crew | None = None,
) -> tuple[Graph, MixedReport]:
    """Quantise so that the file's size and the model's accuracy hold the budget.

    Layers depart from the default scheme only as far as the budget asks. To save bytes, weights
    become int4, those first that cost the least noise for a byte. For accuracy, layers or whole
    tensors are widened, those first that take away the most noise for a bit operation. Noise is
    that of ``NoiseModel``; how far to go is found by measuring whole models, with the configured
    methods, on the judge's data.

    Args:
        graph: an optimised float graph.
        data: calibration inputs, as for ``quantize_graph``.
        config: the user's choices; ops that its patterns name keep their schemes.
        budget: what must hold.
        judge: what accuracy is measured on; by default, the first calibration samples.
        progress: called with what is done and the total, of one part of the work after the other.
        crew: as for ``quantize_graph``.

    Raises:
        BudgetError: there is no such model; says how near the nearest one comes.
        DataError: the data do not fit the model, or lack labels.
        ToolError: Dask is missing, or a worker failed.

    """
    if config.scheme not in WIDER:
        raise TinyrtError(
            f"scheme {config.scheme} cannot be mixed under a budget",
            expected="--scheme int8, int4 or int16x8",
        )
    if config.calibrator is Calibrator.MEASURED:
        # What int8 gains by cutting values off, int16 and float would lose.
        config = replace(config, calibrator=Calibrator.MINMAX)
    # The judge measures every mix as a whole.
    config = replace(config, measured=config.measured - REFINING)
    # Chains of ops may want int16, which tables have not.
    graph = gather_tables(with_slopes_written_out(graph, config), config, chains=False)
    prepared = prepare(graph, data, config, progress, crew)
    judge = judge or Judge(graph, prepared.head)
    if budget.min_accuracy is not None:
        judge.require_labels()
    noise = measure_noise(prepared.graph, prepared.ranges, config, prepared.head, progress)
    steps = Steps(prepared.graph, prepared.ranges, config, budget, noise)
    search = _Search(prepared, steps, judge, progress)
    mix = search.tuned(search.first_that_holds())
    report = MixedReport(
        bytes=steps.bytes_of(mix.state),
        plain_bytes=steps.bytes_of(steps.plain()),
        evaluation=mix.evaluation,
        float_top1=judge.of_float.top1,
        tried=search.tried,
        layers=_layers(steps, mix.state),
    )
    return mix.graph, report


@dataclass(frozen=True, slots=True)
class _Built:
    """A measured model."""

    graph: Graph
    state: State
    evaluation: Evaluation


class _Search:
    """Looks for the first step that is precise enough."""

    def __init__(
        self, prepared: Prepared, steps: Steps, judge: Judge, progress: Progress | None
    ) -> None:
        self.prepared, self.steps, self.judge, self.progress = prepared, steps, judge, progress
        self.tried = 0

    def first_that_holds(self) -> _Built:
        """With strides that double until one holds, then by bisection."""
        low, high, stride = -1, self.steps.reach(0), 1
        best = self._built(high)
        while not self._holds(best):
            low, high = high, self.steps.reach(high + stride)
            stride *= 2
            if high == low:
                raise self._unmet(best)
            best = self._built(high)
        while high - low > 1:
            middle = (low + high) // 2
            candidate = self._built(middle)
            if self._holds(candidate):
                best, high = candidate, middle
            else:
                low = middle
        return best

    def tuned(self, best: _Built) -> _Built:
        """The same mix with tuned ranges, if these are configured and do not break the budget."""
        if not self.steps.config.tune_ranges:
            return best
        candidate = self._measured(best.state, self.steps.config)
        return candidate if self._holds(candidate) else best

    def _built(self, index: int) -> _Built:
        # Tuning takes as long as all the rest, and does not change the order of the steps.
        return self._measured(self.steps[index], replace(self.steps.config, tune_ranges=False))

    def _measured(self, state: State, config: QuantConfig) -> _Built:
        config = configured(config, state.assignment)
        graph = self.prepared.quantized(config, self.progress)
        self.tried += 1
        return _Built(graph, state, self.judge.measure(graph))

    def _holds(self, built: _Built) -> bool:
        return self.judge.holds(built.evaluation, self.steps.budget)

    def _unmet(self, nearest: _Built) -> BudgetError:
        budget = self.steps.budget
        least = budget.min_accuracy
        target = f"{least:.2%} right" if least is not None else f"{budget.min_sqnr_db:g} dB"
        within = "" if budget.max_bytes is None else f" within {budget.max_bytes:,} bytes"
        return BudgetError(
            f"the most precise mix{within} reaches {figures(nearest.evaluation)}",
            expected=f"at least {target}",
            hint="--io float32 where int8 inputs set the limit, more bytes, more schemes to "
            "--allow, or quantisation-aware training",
        )


def _layers(steps: Steps, state: State) -> tuple[LayerChoice, ...]:
    """Scheme and reason of every op that has weights or another than the default scheme."""
    schemes, layers = state.layout.op_schemes(), []
    for node in steps.graph.bound():
        name = node.output.name
        weighted = is_weighted(node)
        if not weighted and name not in state.assignment:
            continue
        size = weight_bytes(node, schemes[name]) if weighted else 0
        why = "named by a pattern" if name in steps.fixed else "the default"
        layers.append(LayerChoice(name, node.op, schemes[name], size, state.why.get(name, why)))
    return tuple(layers)
