"""Opening a model file of either format."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from tinyrt.budget import limited
from tinyrt.convert.file_kinds import LONGEST, refuse_foreign
from tinyrt.convert.tflite.reader import import_tflite, map_file
from tinyrt.convert.tflite.schema import IDENTIFIER
from tinyrt.errors import DataError, ModelFormatError, boundary
from tinyrt.ir import Graph, RewriteLog, Shape

if TYPE_CHECKING:
    from tinyrt.convert.channels.lost import LostChannels


def open_model(
    path: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
    values: Mapping[str, ArrayLike] | None = None,
    keep_layout: bool = False,
    sequence_lstm: bool = False,
    optimize: bool = True,
    passes: Collection[str] | None = None,
    skip_passes: Collection[str] = (),
    log: RewriteLog | None = None,
) -> Graph:
    """Read a .tflite or .onnx model; a float model comes back optimised.

    An ONNX model that brings its own quantisation comes back with the integers it asks for.

    Args:
        path: the model file.
        shapes: input name -> shape, for dimensions that the file leaves open.
        values: for ONNX, input name -> its elements, or one number for all of them; such inputs
            become constants.
        keep_layout: keep an ONNX model's NCHW inputs and outputs.
        sequence_lstm: keep an ONNX model's LSTMs whole where TFLite's op for sequences fits.
        optimize: run the graph passes on a float model.
        passes: names of the passes to run; all by default.
        skip_passes: names of passes to leave out.
        log: what the passes did and refused is added to it.

    Raises:
        ModelFormatError: the file is neither, or is corrupt.
        UnsupportedError: it uses something that tinyrt does not have.
        ShapeError: a dimension is open.
        DataError: an option says nothing about such a model.
        BudgetError: it takes more memory or work than a file of its size may cost.

    """
    path = Path(path)
    if path.exists() and not path.is_file():
        refuse_foreign(path, b"")
    data = map_file(path)
    refuse_foreign(path, bytes(data[:LONGEST]))
    with boundary("model", file=str(path)), limited(file_bytes=len(data)):
        if bytes(data[4:8]) == IDENTIFIER:
            _refuse_options_of_onnx(values, sequence_lstm)
            graph, _ = import_tflite(data, name=path.stem, shapes=shapes or {})
        elif path.suffix == ".onnx":
            # onnx is only imported where an ONNX file is read.
            from tinyrt.convert.onnx.reader import import_onnx

            graph = import_onnx(path, shapes or {}, values or {}, sequence_lstm=sequence_lstm)
        else:
            raise ModelFormatError(
                "this is neither a .tflite nor an .onnx model",
                expected="a .tflite file (identifier 'TFL3' at byte 4), or a file named *.onnx",
                hint="name the file *.onnx if it is an ONNX model, or export the model to one",
            )
        if not optimize:
            return graph
        if graph.is_quantized:
            _refuse_passes_of_floats(passes, skip_passes)
            return graph
        from tinyrt.convert.passes import optimize as run_passes
        from tinyrt.quantize.imported.prequantized import has_own_grids, quantize_on_own_grids

        graph = run_passes(graph, keep_layout=keep_layout, log=log, passes=passes, skip=skip_passes)
        return quantize_on_own_grids(graph, log) if has_own_grids(graph) else graph


def lost_channels(path: str | Path, graph: Graph) -> LostChannels:
    """Which channels the tensors of a model lost when it was written; none of an ONNX model.

    Args:
        path: the model file.
        graph: the graph that was read from it.

    Raises:
        ModelFormatError: the file says what cannot be.

    """
    from tinyrt.convert.tflite.lost import read_lost

    data = map_file(path)
    if bytes(data[4:8]) != IDENTIFIER:
        return {}
    with boundary("model", file=str(path)), limited(file_bytes=len(data)):
        return read_lost(data, graph)


def _refuse_options_of_onnx(values: Mapping[str, ArrayLike] | None, sequence_lstm: bool) -> None:
    """Raise ``DataError`` for what would be ignored: a .tflite file says it all."""
    if values:
        raise DataError(
            f"a value is given for '{min(values)}', but this is a .tflite model",
            expected="values for .onnx models only",
            hint="leave out --value, or fix the input where the model is made",
        )
    if sequence_lstm:
        raise DataError(
            "LSTMs of a .tflite model stay as they are",
            expected="--sequence-lstm for .onnx models only",
            hint="leave out --sequence-lstm",
        )


def _refuse_passes_of_floats(passes: Collection[str] | None, skipped: Collection[str]) -> None:
    """Raise ``DataError`` for passes that would be ignored, for they run on float models."""
    if not passes and not skipped:
        return
    from tinyrt.convert.passes.known import KNOWN_PASSES

    others = {*(passes or ()), *skipped}.difference(KNOWN_PASSES)
    if others:
        raise DataError(
            f"pass '{min(others)}' does not run on a model that is quantised",
            expected=", ".join(KNOWN_PASSES),
            hint="leave it out, or choose passes for the float model that it was made from",
        )


def with_float_weights(graph: Graph, log: RewriteLog | None = None) -> Graph:
    """The optimised float model behind one that stores nothing but its weights in fewer bits.

    float16 is widened exactly, integers become the float32 that ops on floats read.

    Args:
        graph: a model as ``open_model`` gives it.
        log: what the passes did and refused is added to it.

    Returns:
        A graph without quantised values; the same graph where activations are quantised, too, or
        where nothing is.

    """
    from tinyrt.convert.passes import optimize as run_passes

    stored = [v for v in graph.values.values() if v.is_quantized]
    if not stored or not all(v.is_constant for v in stored):
        return graph
    return run_passes(graph, log=log)
