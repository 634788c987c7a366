"""The Python interface for quantising a model and for finding where it loses accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from tinyrt.api.inputs import (
    Array,
    Data,
    as_inputs,
    file_of,
    labels_of,
    layout_as,
    require_float,
    running,
    source_of,
)
from tinyrt.api.layouts import warn_of_layout
from tinyrt.api.reading import lost_channels, open_model, with_float_weights
from tinyrt.attached import carried_on
from tinyrt.cluster.pieces import Crew
from tinyrt.convert.channels.lost import LostChannels
from tinyrt.convert.lstm_states import States, begun_anew, kept_on
from tinyrt.convert.passes.known import CUT_CHANNELS, KNOWN_PASSES, apply_known
from tinyrt.convert.tflite.lost import lost_entry
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.entry import entry
from tinyrt.errors import BudgetError, UnsupportedError, error_context
from tinyrt.interpreter.feeds import check_types
from tinyrt.interpreter.model import Model
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import DType, Graph, RewriteLog, Shape
from tinyrt.memory import schedule

if TYPE_CHECKING:
    from tinyrt.quantize import QuantConfig
    from tinyrt.quantize.calibration.samples import Samples
    from tinyrt.quantize.explain.bisect import BisectReport
    from tinyrt.quantize.explain.debug import DebugReport
    from tinyrt.quantize.mixed.budget import Budget
    from tinyrt.quantize.mixed.choose import MixedReport


@entry
def quantize_model(
    model: str | Path,
    calibration: Samples | None,
    output: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
    values: Mapping[str, ArrayLike] | None = None,
    sequence_lstm: bool = False,
    keep_channels: bool = False,
    config: QuantConfig | None = None,
    progress: Progress | None = None,
    log: RewriteLog | None = None,
    workers: int | None = 1,
    scheduler: Any = None,
) -> Graph:
    """Quantise a float model, to int8 by default, and write it as .tflite.

    Args:
        model: a float .onnx or .tflite model; its weights may be stored in fewer bits (float16,
            or the integers of a hybrid model).
        calibration: an .npz or .npy file, a folder of .npy files, an array, arrays by input name,
            or an iterable of arrays; float, samples first. None for schemes that only store
            weights in fewer bits.
        output: the .tflite file to write.
        shapes: input name -> shape, for dimensions that the model leaves open.
        values: as for ``convert_model``.
        sequence_lstm: as for ``convert_model``.
        keep_channels: keep channels that no answer depends on once the model has integers.
        config: schemes and methods; by default those of ``tinyrt quantize``.
        progress: called with the samples done and their total.
        log: what the passes did and refused is added to it.
        workers: processes of this machine that share the samples which ranges are taken from; None
            for one to each processor. The model is the same.
        scheduler: the address of a Dask scheduler, or a client of it, in place of these.

    Returns:
        The graph that was written.

    Raises:
        DataError: the calibration data do not fit the model.
        TinyrtError: the model cannot be read or quantised, or the file cannot be written.

    """
    from tinyrt.quantize import quantize_graph

    graph, states = float_model(model, shapes, values, sequence_lstm, log)
    with running(model, calibration):
        batches = _batches(graph, calibration) if calibration is not None else None
        made = quantize_graph(graph, batches, config, progress, Crew.of(workers, scheduler))
        quantized = kept_on(made, states)
    graph, lost = plainer(quantized, keep_channels, log)
    save_plain(graph, lost, output, carried_on(model, graph))
    return graph


@entry
def quantize_within(
    model: str | Path,
    calibration: Samples,
    output: str | Path,
    budget: Budget,
    *,
    data: Data | None = None,
    labels: Array | None = None,
    shapes: Mapping[str, Shape] | None = None,
    values: Mapping[str, ArrayLike] | None = None,
    sequence_lstm: bool = False,
    keep_channels: bool = False,
    config: QuantConfig | None = None,
    progress: Progress | None = None,
    log: RewriteLog | None = None,
    workers: int | None = 1,
    scheduler: Any = None,
) -> MixedReport:
    """Quantise a float model so that its size and accuracy hold a budget, layer by layer.

    Args:
        model: a float .onnx or .tflite model.
        calibration: as for ``quantize_model``.
        output: the .tflite file to write.
        budget: what must hold.
        data: what accuracy is measured on: an .npz file with ``x`` and ``y``, or arrays. By
            default the calibration file where that is an .npz, else the first of its samples.
        labels: class indices, where ``data`` does not hold them.
        shapes: input name -> shape, for dimensions that the model leaves open.
        values: as for ``convert_model``.
        sequence_lstm: as for ``convert_model``.
        keep_channels: as for ``quantize_model``.
        config: schemes and methods; by default preset ``best``.
        progress: called with what is done and the total, of one part of the work after the other.
        log: what the passes did and refused is added to it.
        workers: as for ``quantize_model``.
        scheduler: likewise.

    Returns:
        What was chosen for every layer, and why.

    Raises:
        BudgetError: no mix holds the budget.
        DataError: the data do not fit the model, or labels are missing.
        TinyrtError: the model cannot be read or quantised, or the file cannot be written.

    """
    from tinyrt.quantize import PRESETS, Preset
    from tinyrt.quantize.mixed.budget import Judge
    from tinyrt.quantize.mixed.choose import quantize_within as within

    graph, states = float_model(model, shapes, values, sequence_lstm, log)
    if data is None and isinstance(calibration, str | Path) and Path(calibration).suffix == ".npz":
        data = calibration
    judge = None
    if data is not None:
        with error_context(file=file_of(data)):
            labels = labels_of(data) if labels is None else labels
            judge = Judge(graph, _float_inputs(graph, data), labels)
    with running(model, calibration):
        batches = _batches(graph, calibration)
        config = config or PRESETS[Preset.BEST]
        crew = Crew.of(workers, scheduler)
        quantized, report = within(graph, batches, config, budget, judge, progress, crew)
    graph, lost = plainer(kept_on(quantized, states), keep_channels, log)
    save_plain(graph, lost, output, carried_on(model, graph), budget.max_bytes)
    return report


def plainer(
    graph: Graph, keep_channels: bool = False, log: RewriteLog | None = None
) -> tuple[Graph, LostChannels]:
    """The quantised graph without what changes no answer, and which channels are gone."""
    passes = frozenset(KNOWN_PASSES) - ({CUT_CHANNELS} if keep_channels else set())
    lost: LostChannels = {}
    return schedule(apply_known(graph, passes, log, lost)), lost


def save_plain(
    graph: Graph,
    lost: LostChannels,
    output: str | Path,
    carried: Mapping[str, bytes],
    max_bytes: int | None = None,
) -> None:
    """Write the graph; the file says which channels are gone, if there is room for that.

    Args:
        graph: the model.
        lost: which channels of its tensors are gone.
        output: the file.
        carried: what its metadata have to say.
        max_bytes: of the file; None for any number.

    Raises:
        BudgetError: what is carried does not fit in.

    """
    entry = {**lost_entry(lost, graph), **carried}
    if max_bytes is not None and len(write_tflite(graph, entry)) > max_bytes:
        entry = dict(carried)
        size = len(write_tflite(graph, entry))
        if entry and size > max_bytes:
            raise BudgetError(
                f"the model has {size:,} bytes with the front end that its file carries",
                expected=f"at most {max_bytes:,}",
                hint=f"--max-bytes {2 * max_bytes - size} leaves room for it",
            )
    save_tflite(graph, output, entry)


def float_model(
    model: str | Path,
    shapes: Mapping[str, Shape] | None,
    values: Mapping[str, ArrayLike] | None,
    sequence_lstm: bool,
    log: RewriteLog | None,
) -> tuple[Graph, States]:
    """The optimised model, which must be one that can be quantised, and the states that it keeps.

    In the model itself these are constants.
    """
    graph = open_model(model, shapes=shapes, values=values, sequence_lstm=sequence_lstm, log=log)
    with error_context(file=str(model)):
        graph = with_float_weights(graph, log)
        if graph.is_quantized:
            raise UnsupportedError(
                "the model is quantised already",
                expected="activations in float32; weights may be in float16, int8 or int4",
                hint="pass the float model it was made from, or use this one as it is: "
                "tinyrt convert, tinyrt export",
            )
        anew = begun_anew(graph)
        if anew.states:
            in_float = all(graph.value(before).dtype is DType.FLOAT32 for before, _ in anew.states)
            raise UnsupportedError(
                "the model keeps state from sample to sample",
                expected="no state but that of UNIDIRECTIONAL_SEQUENCE_LSTM",
                hint="quantise the model of the whole window, then stream the result: "
                "tinyrt convert INT8.tflite --stream AXIS"
                if in_float
                else "quantise the network behind the audio front end as a model of its own",
            )
    warn_of_layout(model, anew, shapes=shapes, values=values, sequence_lstm=sequence_lstm)
    return anew, graph.states


def _batches(graph: Graph, calibration: Samples) -> Iterator[dict[str, Array]]:
    """The calibration samples as the model takes them, read lazily."""
    from tinyrt.quantize.calibration.samples import read_batches

    batches = read_batches(calibration)
    return (require_float(graph, layout_as(graph, batch)) for batch in batches)


@entry
def debug_model(
    model: str | Path,
    quantized: str | Path,
    data: Data,
    *,
    progress: Progress | None = None,
) -> DebugReport:
    """Where a quantised model loses accuracy, layer by layer, worst first.

    Args:
        model: the float .onnx or .tflite model.
        quantized: the quantised .tflite made from it.
        data: an .npz file with ``x``, an array, or arrays by input name; float, samples first.
        progress: called with the layers done and their total.

    Raises:
        DataError: the data do not fit, or the models have nothing in common.
        UnsupportedError: the first model is not float or the second not quantised.

    """
    from tinyrt.quantize.explain.debug import debug_graphs

    graph, other = with_float_weights(open_model(model)), open_model(quantized)
    inputs = _head(graph, data)
    with error_context(file=str(quantized)):
        return debug_graphs(graph, other, inputs, progress, lost_channels(quantized, other))


@entry
def bisect_model(
    model: str | Path,
    quantized: str | Path,
    data: Data,
    *,
    labels: Array | None = None,
    target: Budget | None = None,
    progress: Progress | None = None,
    workers: int | None = 1,
    scheduler: Any = None,
) -> BisectReport:
    """Which layers of a quantised model, kept in int16x8 or float, win its accuracy back.

    Args:
        model: the float .onnx or .tflite model.
        quantized: the quantised .tflite made from it.
        data: as for ``debug_model``; with labels ``y``, accuracy is what counts.
        labels: class indices, where ``data`` does not hold them.
        target: the accuracy or SQNR to win back; by default within 1 % of the float model's
            accuracy, or 40 dB without labels.
        progress: called with the models measured and how many there may be.
        workers: processes of this machine that share the samples; None for one to each processor.
            The report is the same.
        scheduler: the address of a Dask scheduler, or a client of it, in place of these.

    Raises:
        DataError: the data do not fit, or the models have nothing in common.
        UnsupportedError: the first model is not float or the second not quantised.

    """
    from tinyrt.quantize.explain.bisect import bisect

    graph, other = with_float_weights(open_model(model)), open_model(quantized)
    inputs = _float_inputs(graph, data)
    labels = labels_of(data) if labels is None else labels
    with error_context(file=str(quantized)):
        lost = lost_channels(quantized, other)
        crew = Crew.of(workers, scheduler)
        return bisect(graph, other, inputs, labels, target, progress, lost, crew)


def _head(graph: Graph, data: Data) -> dict[str, Array]:
    """The first samples, as many as the layer-by-layer analysis uses."""
    from tinyrt.quantize.calibration.search import search_samples

    model = Model(graph)
    with error_context(file=file_of(data)):
        source = source_of(graph, data)
        check_types(model.graph, source.types, model.rows)
        count = search_samples(graph)
        piece = next(source.pieces({n: count * r for n, r in model.rows.items()}))
        return model.check_inputs(require_float(graph, piece))


def _float_inputs(graph: Graph, data: Data) -> dict[str, Array]:
    with error_context(file=file_of(data)):
        inputs = require_float(graph, layout_as(graph, as_inputs(data)))
        return Model(graph).check_inputs(inputs)
