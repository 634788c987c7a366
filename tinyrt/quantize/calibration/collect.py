"""Run the float model on calibration data and record the values of its tensors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.cluster.pieces import Crew
from tinyrt.errors import warn
from tinyrt.interpreter.model import Model
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import Graph
from tinyrt.quantize.calibration.observers import Every, make_observer
from tinyrt.quantize.calibration.samples import Samples, read_batches, split_head
from tinyrt.quantize.calibration.search import search_ranges, search_samples
from tinyrt.quantize.calibration.watching import AnyObserver, Maker, Watch, seen_by
from tinyrt.quantize.config import CHOOSING, Calibrator, QuantConfig, QuantizationWarning
from tinyrt.quantize.plan import make_plan
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.simulate import simulator_of

Arrays = dict[str, NDArray[Any]]

FEW_SAMPLES = 10
"""With fewer samples, a range depends on the samples more than on the model."""


def calibrate(
    graph: Graph,
    data: Samples,
    progress: Progress | None = None,
    config: QuantConfig | None = None,
    crew: Crew | None = None,
) -> dict[str, Range]:
    """The range of every activation over the data, found by the configured calibrator.

    Memory does not grow with the number of samples, where ``data`` are read as they are needed.

    Args:
        graph: a float graph.
        data: inputs, samples first; see ``read_batches``.
        progress: called with the samples done and their total, as far as it is known.
        config: the user's choices; min-max by default.
        crew: who shares the samples, with the same ranges; None for this process.

    Raises:
        DataError: the data do not fit the model's inputs, or it computes infinity from them.
        ToolError: Dask is missing, or a worker failed.

    Warns:
        QuantizationWarning: there are few samples, or a tensor never changed.

    """
    config = config or QuantConfig()
    if config.calibrator in CHOOSING:
        return _choose(graph, data, progress, config, crew)
    make = partial(make_observer, config.calibrator, config)
    observers = observe(graph, data, make, progress, crew=crew)
    return {name: observer.range() for name, observer in observers.items()}


def _choose(
    graph: Graph,
    data: Samples,
    progress: Progress | None,
    config: QuantConfig,
    crew: Crew | None,
) -> dict[str, Range]:
    """The calibrator's ranges that serve the model's output best; with ``AUTO``, by tensor."""
    model = Model(graph)
    head, batches = split_head(checked_batches(model, data), search_samples(graph), model.rows)
    tried = CHOOSING[config.calibrator]
    every = observe(graph, batches, partial(Every, config, tried), progress, crew=crew)
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


def observe(
    graph: Graph,
    data: Samples,
    make: Maker[AnyObserver],
    progress: Progress | None = None,
    *,
    quiet: bool = False,
    crew: Crew | None = None,
) -> dict[str, AnyObserver]:
    """One observer per activation, each shown every value that the activation takes.

    Args, raised errors and warnings as in ``calibrate``; ``make`` makes an observer. A quiet one
    warns of nothing: it sees but a part of the data. A crew shares the samples.
    """
    batches = checked_batches(Model(graph), data)
    if crew is not None:
        seen = seen_by(crew, graph, make, batches, progress)
    else:
        watch = Watch(graph, make)
        for feeds in batches:
            watch.add(feeds, progress)
        seen = watch.seen
    if not quiet:
        _warn(graph, seen.samples, {name: e.range() for name, e in seen.extents.items()})
    return seen.observers


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
