"""What a model answers to raw samples: by what stands before it, from a new beginning each."""

from __future__ import annotations

import numpy as np

from tinyrt.attached import Fitted, at_model
from tinyrt.dsp import Pipeline, Vision
from tinyrt.dsp.windows import Array, features_of, raw_of
from tinyrt.errors import error_context
from tinyrt.interpreter.model import Model
from tinyrt.ir import Graph
from tinyrt.sighted import Sighted


def answered(
    graph: Graph,
    front_end: Pipeline | Vision | None,
    x: Array,
    file: str | None = None,
    threads: int | None = None,
) -> Array:
    """Real values of the first output, (n, ...).

    With a front end, features or images become the input's integers as on a device.

    Args:
        graph: the model.
        front_end: what makes its input of samples; None where it takes them as they are.
        x: raw samples, (n, ...).
        file: of the model, for messages.
        threads: of the interpreter; None for one to each processor.

    Raises:
        DataError: samples are of another shape or type.
        UnsupportedError: the front end does not fit the model.

    """
    runner, name = Model(graph, file=file, num_threads=threads), graph.answers[0]
    if front_end is None:
        return np.asarray(runner.run(runner.named(x.astype(np.float32, copy=False)))[name])
    with error_context(file=file):
        fit = at_model(front_end, graph)
    raw = runner.run_raw({fit.input.name: _stored(fit, x)})
    return np.asarray(runner.real(name, raw[name]))


def _stored(fit: Fitted | Sighted, x: Array) -> Array:
    """The input's integers, (n, ...)."""
    if isinstance(fit, Sighted):
        return np.concatenate([fit.stored(frame) for frame in x])
    stored = fit.stored_windows(features_of(fit.pipeline.front, raw_of(x)))
    shaped: Array = np.ascontiguousarray(stored.reshape(len(x), *fit.input.shape[1:]))
    return shaped
