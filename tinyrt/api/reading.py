"""Opening a model file of either format."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from tinyrt.budget import limited
from tinyrt.convert.file_kinds import LONGEST, refuse_foreign
from tinyrt.convert.tflite.reader import map_file, parse_tflite
from tinyrt.convert.tflite.schema import IDENTIFIER
from tinyrt.errors import ModelFormatError, boundary
from tinyrt.ir import DType, Graph, RewriteLog, Shape


def open_model(
    path: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
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
        shapes: for ONNX, input name -> shape, for dimensions that the file leaves open.
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
        BudgetError: it takes more memory or work than a file of its size may cost.

    """
    path = Path(path)
    if path.exists() and not path.is_file():
        refuse_foreign(path, b"")
    data = map_file(path)
    refuse_foreign(path, bytes(data[:LONGEST]))
    with boundary("model", file=str(path)), limited(file_bytes=len(data)):
        if bytes(data[4:8]) == IDENTIFIER:
            graph = parse_tflite(data, name=path.stem)
        elif path.suffix == ".onnx":
            # onnx is only imported where an ONNX file is read.
            from tinyrt.convert.onnx.reader import import_onnx

            graph = import_onnx(path, shapes or {}, sequence_lstm=sequence_lstm)
        else:
            raise ModelFormatError(
                "this is neither a .tflite nor an .onnx model",
                expected="a .tflite file (identifier 'TFL3' at byte 4), or a file named *.onnx",
                hint="name the file *.onnx if it is an ONNX model, or export the model to one",
            )
        if not optimize or is_quantized(graph):
            return graph
        from tinyrt.convert.passes import optimize as run_passes
        from tinyrt.quantize.imported.prequantized import has_own_grids, quantize_on_own_grids

        graph = run_passes(graph, keep_layout=keep_layout, log=log, passes=passes, skip=skip_passes)
        return quantize_on_own_grids(graph, log) if has_own_grids(graph) else graph


def is_quantized(graph: Graph) -> bool:
    """Whether any activation or weight of the model is."""
    return any(
        (v.q is not None and v.dtype is not DType.FLOAT32) or v.dtype is DType.FLOAT16
        for v in graph.values.values()
    )
