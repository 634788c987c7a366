"""The function behind ``tinyrt convert``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from numpy.typing import ArrayLike

from tinyrt.api.reading import lost_channels, open_model
from tinyrt.attached import carried_on
from tinyrt.convert.channels.lost import LostChannels
from tinyrt.convert.over_time.windows import stream as stream_graph
from tinyrt.convert.passes.known import KNOWN_PASSES, apply_known
from tinyrt.convert.passes.targets import lower_for
from tinyrt.convert.tflite.lost import lost_entry
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.entry import entry
from tinyrt.errors import error_context
from tinyrt.ir import Graph, RewriteLog, Shape
from tinyrt.memory import schedule


@dataclass(frozen=True, slots=True)
class Stream:
    """How a model is streamed over time; see ``tinyrt.convert.over_time.windows``.

    Attributes:
        axis: the input's dimension that is time.
        hop: new rows per inference.
        input: which input moves in time, where the model has several.

    """

    axis: int
    hop: int = 1
    input: str | None = None


@entry
def convert_model(
    model: str | Path,
    output: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
    values: Mapping[str, ArrayLike] | None = None,
    keep_layout: bool = False,
    sequence_lstm: bool = False,
    stream: Stream | None = None,
    passes: Collection[str] | None = None,
    skip_passes: Collection[str] = (),
    target: str | None = None,
    log: RewriteLog | None = None,
) -> Graph:
    """Convert a model to an optimised .tflite file of the same precision.

    Args:
        model: .onnx or .tflite.
        output: the .tflite file to write.
        shapes: input name -> shape, for dimensions that the model leaves open.
        values: ONNX input name -> its elements, or one number for all of them; such inputs
            become constants.
        keep_layout: keep NCHW inputs and outputs instead of NHWC.
        sequence_lstm: keep an ONNX model's LSTMs whole where TFLite's op for sequences fits; other
            interpreters must reset its state before each run.
        stream: have the model take its window's newest rows only, and keep the rest as state.
        passes: names of the passes to run; all by default.
        skip_passes: names of passes to leave out.
        target: write a float model in ops that this runtime has: ``tflm``. Of models of integers,
            only moves of more dimensions than it has are others.
        log: what the passes did and refused is added to it.

    Returns:
        The graph that was written.

    Raises:
        TinyrtError: the model cannot be read or the file cannot be written.

    """
    graph = open_model(
        model,
        shapes=shapes,
        values=values,
        keep_layout=keep_layout,
        sequence_lstm=sequence_lstm,
        passes=passes,
        skip_passes=skip_passes,
        log=log,
    )
    lost: LostChannels = {}
    with error_context(file=str(model)):
        if graph.is_quantized:
            lost = lost_channels(model, graph)
            chosen = KNOWN_PASSES if passes is None else passes
            graph = apply_known(graph, frozenset(chosen) - frozenset(skip_passes), log, lost)
        if stream is not None:
            graph = stream_graph(graph, stream.axis, stream.hop, stream.input).graph
        if target is not None:
            graph = lower_for(graph, target, log)
        graph = schedule(graph)
        carried = carried_on(model, graph, streamed=stream is not None)
        save_tflite(graph, output, lost_entry(lost, graph) | carried)
    return graph
