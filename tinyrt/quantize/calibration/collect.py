"""Run the float model on calibration data and record the values of its tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import DataError, warn
from tinyrt.interpreter.model import Model
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import BoundNode, DType, Graph
from tinyrt.quantize.calibration.observers import Every, MinMax, Watcher, make_observer
from tinyrt.quantize.calibration.samples import Samples, read_batches, split_head
from tinyrt.quantize.calibration.search import search_ranges, search_samples
from tinyrt.quantize.config import CHOOSING, Calibrator, QuantConfig, QuantizationWarning
from tinyrt.quantize.plan import make_plan
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.recurrent import begins_anew, cell_states
from tinyrt.quantize.scores import lift, masks, score_depths
from tinyrt.quantize.simulate import simulator_of

Arrays = dict[str, NDArray[Any]]

LARGEST = np.finfo(np.float32).max

FEW_SAMPLES = 10
"""With fewer samples, a range depends on the samples more than on the model."""


def calibrate(
    graph: Graph,
    data: Samples,
    progress: Progress | None = None,
    config: QuantConfig | None = None,
) -> dict[str, Range]:
    """The range of every activation over the data, found by the configured calibrator.

    Memory does not grow with the number of samples, where ``data`` are read as they are needed.

    Args:
        graph: a float graph.
        data: inputs, samples first; see ``read_batches``.
        progress: called with the samples done and their total, as far as it is known.
        config: the user's choices; min-max by default.

    Raises:
        DataError: the data do not fit the model's inputs, or it computes infinity from them.

    Warns:
        QuantizationWarning: there are few samples, or a tensor never changed.

    """
    config = config or QuantConfig()
    if config.calibrator in CHOOSING:
        return _choose(graph, data, progress, config)
    observers = observe(graph, data, lambda: make_observer(config.calibrator, config), progress)
    return {name: observer.range() for name, observer in observers.items()}


def _choose(
    graph: Graph, data: Samples, progress: Progress | None, config: QuantConfig
) -> dict[str, Range]:
    """The calibrator's ranges that serve the model's output best; with ``AUTO``, by tensor."""
    model = Model(graph)
    head, batches = split_head(checked_batches(model, data), search_samples(graph), model.rows)
    tried = CHOOSING[config.calibrator]
    every = observe(graph, batches, lambda: Every(config, tried), progress)
    proposals = {name: observer.candidates() for name, observer in every.items()}
    columns = zip(*proposals.values(), strict=True)
    tables = [dict(zip(proposals, column, strict=True)) for column in columns]

    def candidates(names: tuple[str, ...], start: Range) -> list[Range]:
        del start
        observed = [o for name in names if (o := origins.get(name, name)) in proposals]
        return [reduce(Range.union, (t[n] for n in observed)) for t in tables if observed]

    plans = [make_plan(graph, table, config) for table in tables]
    simulator = simulator_of(plans[0], graph, head)
    ratios = [simulator.sqnr_db(simulator.run_plan(plan)) for plan in plans]
    best = ratios.index(max(ratios))
    if config.calibrator is Calibrator.MEASURED:
        return tables[best]
    layout = plans[best].layout
    origins = layout.origins if layout is not None else {}
    return search_ranges(simulator, plans[best], tables[best], candidates)


AnyObserver = TypeVar("AnyObserver", bound=Watcher)


def observe(
    graph: Graph,
    data: Samples,
    make: Callable[[], AnyObserver],
    progress: Progress | None = None,
    *,
    quiet: bool = False,
) -> dict[str, AnyObserver]:
    """One observer per activation, each shown every value that the activation takes.

    Args, raised errors and warnings as in ``calibrate``; ``make`` makes an observer. A quiet one
    warns of nothing: it sees but a part of the data.
    """
    observers: dict[str, AnyObserver] = {}
    extent: dict[str, MinMax] = {}
    depths, hiding = score_depths(graph), masks(graph)

    def record(name: str, array: NDArray[Any]) -> None:
        array = lift(array, depths[name]) if name in depths else array
        array = np.maximum(array, -LARGEST) if name in hiding else array
        if not np.isfinite(array).all():
            raise _endless(graph, name)
        array = np.atleast_1d(array)
        observers.setdefault(name, make()).add(array)
        extent.setdefault(name, MinMax()).add(array)

    lstms = [node for node in graph.bound() if begins_anew(node)]
    inputs = {node.input(0).name: np.empty(0) for node in lstms}

    def on_op(node: BoundNode, output: NDArray[Any]) -> None:
        if node.output.dtype is DType.FLOAT32:
            record(node.output.name, output)
        if node.output.name in inputs:
            inputs[node.output.name] = output.copy()
        if begins_anew(node):
            # The op puts out its last cell state only.
            record(node.outputs[2].name, cell_states(node, inputs[node.input(0).name]))

    model = Model(graph, on_op=on_op)
    sample_count = 0
    for feeds in checked_batches(model, data):
        for name, array in feeds.items():
            record(name, array)
        for part in _single_runs(model, feeds) if lstms else (feeds,):
            inputs |= {name: part[name] for name in inputs.keys() & part.keys()}
            model.run_raw(part, _shifted(progress, sample_count))
            sample_count += model.runs(part)
    if not quiet:
        _warn(graph, sample_count, {name: e.range() for name, e in extent.items()})
    return observers


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


def checked_batches(model: Model, data: Samples) -> Iterator[Arrays]:
    """The data's batches, each of whole runs and checked against the model's inputs.

    Raises:
        DataError: the data do not fit the model's inputs.

    """
    remainder: Arrays = {}
    rows_read: dict[str, int] = {}
    for batch in read_batches(data):
        feeds = model.check_inputs(batch, rows_read)
        rows_read = {n: rows_read.get(n, 0) + len(a) for n, a in feeds.items()}
        feeds = {
            n: np.concatenate([remainder[n], a]) if n in remainder else a for n, a in feeds.items()
        }
        whole = {n: len(a) // model.rows[n] * model.rows[n] for n, a in feeds.items()}
        remainder = {n: a[whole[n] :] for n, a in feeds.items() if len(a) > whole[n]}
        if all(whole.values()):
            yield {n: a[: whole[n]] for n, a in feeds.items()}
    if remainder:
        model.runs(remainder)


def _shifted(progress: Progress | None, offset: int) -> Progress | None:
    if progress is None:
        return None
    return lambda now, total: progress(offset + now, offset + total)


def _warn(graph: Graph, samples: int, extent: dict[str, Range]) -> None:
    if samples < FEW_SAMPLES:
        name = graph.value(graph.inputs[0]).describe()
        _say(f"only {samples} samples for {name} and all that follows: ranges may be too narrow")
    for name, bounds in extent.items():
        if bounds.low == bounds.high:
            what = graph.value(name).describe()
            _say(f"{what} was {bounds.low:g} in every sample: its range rests on that value alone")


def _say(message: str) -> None:
    warn(message, QuantizationWarning)
