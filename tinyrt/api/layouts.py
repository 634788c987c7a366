"""Which way samples are taken that fit a model with channels first and last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tinyrt.api.reading import open_model
from tinyrt.convert.lstm_states import begun_anew
from tinyrt.errors import ConversionWarning, warn
from tinyrt.ir import Graph
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.samples import random_inputs


def warn_of_layout(model: str | Path, graph: Graph, **options: Any) -> None:
    """Say so where samples fit both ways, and answers depend on the way that is meant.

    Args:
        model: the file.
        graph: the model as it is run; with channels last, if it is a float model of ONNX.
        options: as it was opened with.

    """
    if Path(model).suffix != ".onnx" or graph.is_quantized:
        return
    doubtful = [
        value
        for value in graph.input_values
        if len(value.shape) > 2 and len(set(value.shape[1:])) == 1 and value.shape[1] > 1
    ]
    if not doubtful:
        return
    feeds = random_inputs(graph, 1)
    as_it_is = open_model(model, keep_layout=True, **options)
    both = (evaluate(begun_anew(each), feeds).values() for each in (graph, as_it_is))
    for own, other in zip(*both, strict=True):
        if own.shape != other.shape or not np.allclose(own, other, rtol=1e-3, atol=1e-4):
            warn(
                f"samples of '{doubtful[0].name}' fit with channels first and last: they are taken "
                f"as {list(doubtful[0].shape)}, channels last",
                ConversionWarning,
            )
            return
