"""An autoencoder's errors and alarms on inputs that need no front end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.api.inputs import Data
from tinyrt.api.models import compared_inputs
from tinyrt.api.reading import open_model
from tinyrt.attached import alarm_at
from tinyrt.dsp import Anomaly, AnomalyStream
from tinyrt.entry import entry
from tinyrt.errors import error_context


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What an alarm says of inputs, one after the other.

    Attributes:
        errors: float64 (n,): the mean squared error of each.
        alarms: (n,): whether each is an alarm.
        sums: uint64 (n,): the same errors in integers, as a device computes them.

    """

    errors: NDArray[np.float64]
    alarms: NDArray[np.bool_]
    sums: NDArray[np.uint64]


@entry
def judge_model(
    model: str | Path, inputs: Data, anomaly: Anomaly, *, max_memory: int | None = None
) -> Judged:
    """How far an autoencoder is from its inputs, and where that is an alarm.

    Args:
        model: an int8 .tflite file, whose first output gives its only input back.
        inputs: as for ``run_model``, in the order in which a device would see them.
        anomaly: when there is an alarm.
        max_memory: bytes that model and data may cost; by default 640 MiB and 8 times the files
            that are read.

    Raises:
        UnsupportedError: the model reconstructs nothing.
        DataError: the inputs do not fit the model.
        BudgetError: model or data ask for more memory.

    """
    del max_memory  # taken by ``entry``
    with error_context(file=str(model)):
        graph = open_model(model, optimize=False)
        numbers = alarm_at(anomaly, graph)
    feeds, answers = compared_inputs(model, inputs, 0)
    x, y = feeds[graph.fed[0]], answers[graph.answers[0]]
    sums, alarms = AnomalyStream(numbers).push(_rows(x), _rows(y))
    return Judged(np.asarray(sums * numbers.scale, np.float64), alarms, sums)


def _rows(x: NDArray[Any]) -> NDArray[Any]:
    """A row for each run."""
    return x.reshape(len(x), -1)
