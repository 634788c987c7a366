"""Run the float model on calibration data and record what its tensors take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from tinyrt.interpreter.model import Model, Progress
from tinyrt.ir import BoundNode, Graph
from tinyrt.quantize.ranges import Range


def calibrate(
    graph: Graph,
    data: NDArray[Any] | Mapping[str, NDArray[Any]],
    progress: Progress | None = None,
) -> dict[str, Range]:
    """The range of every activation over the data (min-max calibration).

    Memory does not grow with the number of samples.

    Args:
        graph: a float graph.
        data: inputs, samples first; a dict by name where the model has several.
        progress: called with the samples done and their total.

    Raises:
        DataError: the data do not fit the model's inputs.

    """
    ranges: dict[str, Range] = {}

    def record(name: str, array: NDArray[Any]) -> None:
        found = Range.of(array)
        ranges[name] = ranges[name].union(found) if name in ranges else found

    def on_op(node: BoundNode, output: NDArray[Any]) -> None:
        record(node.output.name, output)

    model = Model(graph, on_op=on_op)
    feeds = model.check_inputs(data)
    for name, array in feeds.items():
        record(name, array)
    model.run_raw(feeds, progress)
    return ranges
