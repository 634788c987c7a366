"""Observers of every activation while a float model runs: in this process, or in several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tinyrt.cluster.pieces import Crew, Pieces
from tinyrt.cluster.tasks import Task
from tinyrt.cluster.workers import workers_of
from tinyrt.errors import DataError
from tinyrt.interpreter.model import BATCH, Model
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import BoundNode, DType, Graph
from tinyrt.quantize.calibration.observers import MinMax, Watcher
from tinyrt.quantize.recurrent import begins_anew, cell_states
from tinyrt.quantize.scores import lift, masks, score_depths

Arrays = dict[str, NDArray[Any]]

LARGEST = np.finfo(np.float32).max

AnyObserver = TypeVar("AnyObserver", bound=Watcher)
Made = TypeVar("Made", bound=Watcher, covariant=True)


class Maker(Protocol[Made]):
    """Makes an observer; one for a part of the samples is merged into another."""

    def __call__(self, *, is_part: bool = ...) -> Made:
        """One that has seen nothing yet."""
        ...


@dataclass(slots=True, eq=False)
class Seen(Generic[AnyObserver]):
    """What was seen of some samples.

    Attributes:
        observers: value name -> what watched it.
        extents: value name -> its least and greatest value.
        samples: how many.

    """

    observers: dict[str, AnyObserver] = field(default_factory=dict)
    extents: dict[str, MinMax] = field(default_factory=dict)
    samples: int = 0

    def merge(self, later: Seen[AnyObserver], make: Maker[AnyObserver]) -> None:
        """Take what was seen of the samples that come next."""
        self.samples += later.samples
        for name, observer in later.observers.items():
            self.observers.setdefault(name, make()).merge(observer)
            self.extents.setdefault(name, MinMax()).merge(later.extents[name])


class Watch(Generic[AnyObserver]):
    """A model that runs with an observer on each activation.

    Args:
        graph: a float graph.
        make: makes the observers.
        is_part: whether they see a part of the samples.

    Attributes:
        seen: what was seen so far.

    """

    def __init__(self, graph: Graph, make: Maker[AnyObserver], *, is_part: bool = False) -> None:
        self._graph, self._make, self._is_part = graph, make, is_part
        self._depths, self._hiding = score_depths(graph), masks(graph)
        lstms = [node for node in graph.bound() if begins_anew(node)]
        self._inputs = {node.input(0).name: np.empty(0) for node in lstms}
        self._model = Model(graph, on_op=self._on_op)
        self.seen = Seen[AnyObserver]()

    def add(self, feeds: Arrays, progress: Progress | None = None) -> None:
        """Run samples, which are checked already.

        Raises:
            DataError: the model computes infinity from them.

        """
        for name, array in feeds.items():
            self._record(name, array)
        for part in _single_runs(self._model, feeds) if self._inputs else (feeds,):
            self._inputs |= {name: part[name] for name in self._inputs.keys() & part.keys()}
            self._model.run_raw(part, _shifted(progress, self.seen.samples))
            self.seen.samples += self._model.runs(part)

    def taken(self) -> Seen[AnyObserver]:
        """What was seen; from here on, it begins anew."""
        seen, self.seen = self.seen, Seen()
        return seen

    def _on_op(self, node: BoundNode, output: NDArray[Any]) -> None:
        if node.output.dtype is DType.FLOAT32:
            self._record(node.output.name, output)
        if node.output.name in self._inputs:
            self._inputs[node.output.name] = output.copy()
        if begins_anew(node):
            # The op puts out its last cell state only.
            states = cell_states(node, self._inputs[node.input(0).name])
            self._record(node.outputs[2].name, states)

    def _record(self, name: str, array: NDArray[Any]) -> None:
        array = lift(array, self._depths[name]) if name in self._depths else array
        array = np.maximum(array, -LARGEST) if name in self._hiding else array
        if not np.isfinite(array).all():
            raise _endless(self._graph, name)
        array = np.atleast_1d(array)
        if name not in self.seen.observers:
            self.seen.observers[name] = self._make(is_part=self._is_part)
            self.seen.extents[name] = MinMax()
        self.seen.observers[name].add(array)
        self.seen.extents[name].add(array)


@dataclass(slots=True, eq=False)
class _Parts(Generic[AnyObserver]):
    """What workers have: a model, what makes observers, and those who wait for samples."""

    graph: Graph
    make: Maker[AnyObserver]
    idle: list[Watch[AnyObserver]] = field(default_factory=list)


def seen_by(
    crew: Crew,
    graph: Graph,
    make: Maker[AnyObserver],
    batches: Iterable[Arrays],
    progress: Progress | None,
) -> Seen[AnyObserver]:
    """What several processes or machines see together: the same as one.

    Args:
        crew: who runs the model.
        graph: a float graph.
        make: makes the observers.
        batches: checked samples.
        progress: called with the samples done, as far as they are known.

    Raises:
        DataError: the model computes infinity from the samples.
        ToolError: Dask is missing, or a worker failed.

    """
    seen, model = Seen[AnyObserver](), Model(graph)
    with workers_of(_Parts(graph, make), crew.workers, crew.scheduler) as workers:
        tasks = (Task(_watched, (part,)) for part in _parts(model, batches))
        for part in Pieces(workers, tasks).results():
            seen.merge(part, make)
            if progress is not None:
                progress(seen.samples, seen.samples)
    return seen


def _watched(feeds: Arrays, shared: _Parts[AnyObserver]) -> Seen[AnyObserver]:
    watch = shared.idle.pop() if shared.idle else Watch(shared.graph, shared.make, is_part=True)
    watch.add(feeds)
    seen = watch.taken()
    shared.idle.append(watch)
    return seen


def _parts(model: Model, batches: Iterable[Arrays]) -> Iterator[Arrays]:
    """Batches as large as the model takes at once."""
    for feeds in batches:
        for start in range(0, model.runs(feeds), BATCH):
            rows = {n: slice(start * r, (start + BATCH) * r) for n, r in model.rows.items()}
            yield {name: array[rows[name]] for name, array in feeds.items()}


def _endless(graph: Graph, name: str) -> DataError:
    maker = graph.producer(name)
    where = graph.bind(graph.nodes.index(maker)).describe() if maker is not None else None
    return DataError(
        "the model computes infinity, or what is no number, from the calibration data",
        op=where,
        tensor=graph.value(name).describe(),
        expected="finite values, that a scale can cover",
        hint="keep its input within bounds (log(x + 1e-6) for log(x)), or correct the data",
    )


def _single_runs(model: Model, feeds: Arrays) -> Iterator[Arrays]:
    """The inputs of one run after the other."""
    for i in range(model.runs(feeds)):
        yield {n: a[i * model.rows[n] : (i + 1) * model.rows[n]] for n, a in feeds.items()}


def _shifted(progress: Progress | None, offset: int) -> Progress | None:
    if progress is None:
        return None
    return lambda now, total: progress(offset + now, offset + total)
