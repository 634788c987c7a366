"""What models answer to samples: by this process, or by several that share them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.cluster.pieces import Crew, Pieces, evenly
from tinyrt.cluster.tasks import Task
from tinyrt.cluster.workers import SPARE, Workers, workers_of
from tinyrt.data import Source
from tinyrt.errors import UnsupportedError
from tinyrt.interpreter import DEFAULT_BACKEND
from tinyrt.interpreter.model import BATCH, Model
from tinyrt.interpreter.progress import Progress, later
from tinyrt.ir import DType, Graph
from tinyrt.ops.arg import CHOICES

Array = NDArray[Any]

PIECES = 4
"""Pieces for each worker at least, so that none waits long for the last."""

PIECE_BYTES = 1 << 22
"""Inputs of a piece at most, if a sample has fewer: a scheduler holds those that are under way."""

PLACES = (DType.INT32, DType.INT64)
"""Dtypes of indices, such as arg_max's."""
_ON_PLACES = (*CHOICES, "cast", "reshape", "transpose")


@dataclass(frozen=True, slots=True)
class Setting:
    """Backend and budget of the models, and threads of each; None for all processors."""

    backend: str = DEFAULT_BACKEND
    max_memory: int | None = None
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """A model's first output and the logits before its final softmax, as real values.

    Attributes:
        outputs: (samples, ...).
        logits: (samples, ...), what ``logits_name`` names.
        seconds: how long it took.
        runs: how often the model ran for them.
        are_places: whether the outputs are places already, of the largest of something.

    """

    outputs: Array
    logits: Array
    seconds: float
    runs: int
    are_places: bool = False

    @property
    def classes(self) -> NDArray[np.int64]:
        """(samples, places): where the largest output is, or what the model says to that."""
        rows = self.outputs.reshape(len(self.outputs), -1)
        return rows.astype(np.int64) if self.are_places else rows.argmax(axis=1)[:, None]

    def part(self, start: int, samples: int) -> Answers:
        """The answers to ``samples`` samples from ``start`` on."""
        rows = slice(start, start + samples)
        return replace(self, outputs=self.outputs[rows], logits=self.logits[rows])


def logits_name(graph: Graph) -> str:
    """The value before a final softmax, else the first output itself.

    For arg_max and arg_min, their input counts as the output.
    """
    name, is_choice = graph.outputs[0], False
    producer = graph.producer(name)
    while producer is not None and producer.op in ("dequantize", "quantize", *_ON_PLACES):
        source = producer.inputs[0]
        if producer.op in CHOICES or (is_choice and producer.op == "reshape"):
            is_choice, name = True, source
        elif producer.op in _ON_PLACES and graph.value(source).dtype not in PLACES:
            break
        producer = graph.producer(source)
    if producer is not None and producer.op == "softmax":
        return producer.inputs[0]
    return name


def answers_of(
    graph: Graph, inputs: Mapping[str, Array], setting: Setting | None = None
) -> Answers:
    """A model's answers; arguments and errors as for ``evaluate_graph``."""
    runner = Runner(graph, setting or Setting())
    feeds = runner.model.check_inputs(inputs)
    return runner.answers(feeds, runner.model.runs(feeds))


class Runner:
    """A model that returns the logits before a final softmax beside its first output."""

    def __init__(self, graph: Graph, setting: Setting) -> None:
        self._output, self._logits = graph.outputs[0], logits_name(graph)
        names = dict.fromkeys((self._output, self._logits, *(after for _, after in graph.states)))
        self.model = Model(
            replace(graph, outputs=tuple(names)),
            backend=setting.backend,
            num_threads=setting.threads,
            max_memory=setting.max_memory,
        )
        self._warm = False

    def answers(
        self, feeds: Mapping[str, Array], total: int, progress: Progress | None = None
    ) -> Answers:
        """The model's answers to a piece of ``total`` runs."""
        model = self.model
        if not self._warm:
            model.allocate(total)
            self._warm = True
        start = time.perf_counter()
        raw = model.run_raw(feeds, progress, of=total)
        seconds = time.perf_counter() - start
        real = {name: model.real(name, array) for name, array in raw.items()}
        return Answers(
            real[self._output],
            real[self._logits],
            seconds,
            model.runs(feeds),
            model.graph.value(self._output).dtype in PLACES,
        )

    def fed_like(self, model: Model, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Another model's inputs as this one takes them: as real values, matched by position."""
        real = (
            feeds[name] if feeds[name].dtype.kind == "f" else model.real(name, feeds[name])
            for name in model.graph.fed
        )
        return self.model.check_inputs(dict(zip(self.model.graph.fed, real, strict=False)))


Judged = tuple[int, int, Answers, Answers | None]
"""How many runs came before a piece, how many there are in all, a model's answers, and another's
if there is one."""


@dataclass(slots=True, eq=False)
class Pair:
    """A model, and one to compare it with, as they travel to workers.

    Attributes:
        graph: the model.
        against: the other one, or None.
        setting: of both.
        idle: prepared models that nobody uses just now.

    """

    graph: Graph
    against: Graph | None
    setting: Setting
    idle: list[tuple[Runner, Runner | None]] = field(default_factory=list)

    @property
    def model(self) -> Model:
        """The model itself, which cuts samples into pieces."""
        if not self.idle:
            self.idle.append(self._ready())
        return self.idle[0][0].model

    def _ready(self) -> tuple[Runner, Runner | None]:
        """Both models for one thread, which gives them back to ``idle``."""
        if self.idle:
            return self.idle.pop()
        other = None if self.against is None else Runner(self.against, self.setting)
        return Runner(self.graph, self.setting), other

    def answers(
        self, feeds: Mapping[str, Array], total: int, progress: Progress | None = None
    ) -> tuple[Answers, Answers | None]:
        """Both models' answers to a piece of ``total`` runs."""
        runner, other = self._ready()
        own, others = runner.answers(feeds, total, progress), None
        if other is not None:
            others = other.answers(other.fed_like(runner.model, feeds), total)
        self.idle.append((runner, other))
        return own, others


Judging = Callable[[Pair, Source, Progress | None], Iterator[Judged]]
"""Has the models of a pair answer the samples of a source."""


def here(pair: Pair, source: Source, progress: Progress | None) -> Iterator[Judged]:
    """By this process."""
    for start, total, feeds in pair.model.pieces(source):
        yield start, total, *pair.answers(feeds, total, later(progress, start, total))


def shared_by(crew: Crew) -> Judging:
    """By several processes or machines, which are sent the samples.

    Raises:
        ToolError: Dask is missing, or a worker failed.
        UnsupportedError: a model keeps state from sample to sample.

    """

    def judged(pair: Pair, source: Source, progress: Progress | None) -> Iterator[Judged]:
        for graph in filter(None, (pair.graph, pair.against)):
            _require_apart(graph)
        sent = Pair(pair.graph, pair.against, replace(pair.setting, threads=1))
        model = replace(sent, against=None, idle=[]).model
        with workers_of(sent, crew.workers, crew.scheduler) as workers:
            places: deque[tuple[int, int]] = deque()
            size = sum(kind.nbytes for kind in source.types.values())
            least = max(PIECES * workers.slots, -(-size // PIECE_BYTES))

            def tasks() -> Iterator[Task]:
                for start, total, feeds in model.pieces(source, least):
                    places.append((start, total))
                    yield Task(_both_answered, (feeds, total))

            for own, others in Pieces(workers, tasks()).results():
                start, total = places.popleft()
                if progress is not None:
                    progress(start + own.runs, total)
                yield start, total, own, others

    return judged


def held_by(workers: Workers) -> Judging:
    """By workers that have the samples, input name -> float samples, and are sent each model."""

    def judged(pair: Pair, source: Source, progress: Progress | None) -> Iterator[Judged]:
        name, kind = next(iter(source.types.items()))
        total = pair.model.whole_runs(name, kind.shape[0])
        setting = replace(pair.setting, threads=1)
        parts = [
            range(part.start * BATCH, min(part.stop * BATCH, total))
            for part in evenly(-(-total // BATCH), _workers_of(workers.slots))
        ]
        tasks = (Task(_answered, (pair.graph, setting, part, total)) for part in parts)
        for part, own in zip(parts, Pieces(workers, tasks).results(), strict=True):
            if progress is not None:
                progress(part.stop, total)
            yield part.start, total, own, None

    return judged


def _workers_of(slots: int) -> int:
    """How many workers there are: each has one piece, for which it has to prepare a model first."""
    return max(1, slots * SPARE // (SPARE + 1))


def _both_answered(
    feeds: Mapping[str, Array], total: int, pair: Pair
) -> tuple[Answers, Answers | None]:
    return pair.answers(feeds, total)


def _answered(
    graph: Graph, setting: Setting, part: range, total: int, held: Mapping[str, Array]
) -> Answers:
    runner = Runner(graph, setting)
    model = runner.model
    feeds = {
        name: x[part.start * model.rows[name] : part.stop * model.rows[name]]
        for name, x in model.named(held).items()
    }
    return runner.answers(model.check_inputs(feeds), total)


def _require_apart(graph: Graph) -> None:
    if graph.states:
        raise UnsupportedError(
            "samples of a model that keeps state are not shared: they come one after the other",
            tensor=graph.value(graph.states[0][0]).describe(),
            expected="a model that begins anew with each sample",
            hint="leave out --workers and --scheduler",
        )
