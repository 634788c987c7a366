"""Post-training quantisation: calibrate, plan, apply."""

from __future__ import annotations

from tinyrt.interpreter.model import Progress
from tinyrt.ir import Graph
from tinyrt.quantize.apply import apply_plan
from tinyrt.quantize.calibrate import calibrate
from tinyrt.quantize.config import Calibrator, QuantConfig, QuantizationWarning
from tinyrt.quantize.plan import QuantPlan, make_plan
from tinyrt.quantize.samples import Samples


def quantize_graph(
    graph: Graph,
    data: Samples,
    config: QuantConfig | None = None,
    progress: Progress | None = None,
) -> Graph:
    """Calibrate on the data, then plan and apply full-int8 quantisation.

    Args:
        graph: an optimised float graph.
        data: calibration inputs, float, samples first; see ``samples.read_batches``.
        config: the user's choices.
        progress: called with the samples done and their total.

    Raises:
        DataError: the data do not fit the model.
        UnsupportedError: an op has no integer form.

    """
    return apply_plan(graph, make_plan(graph, calibrate(graph, data, progress, config), config))


__all__ = [
    "Calibrator",
    "QuantConfig",
    "QuantPlan",
    "QuantizationWarning",
    "apply_plan",
    "calibrate",
    "make_plan",
    "quantize_graph",
]
