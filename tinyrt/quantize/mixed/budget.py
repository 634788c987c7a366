"""The budget of a mixed-precision model, and how it is measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tinyrt.answering import Judging, answers_of, here
from tinyrt.errors import DataError, TinyrtError
from tinyrt.ir import Graph
from tinyrt.metrics import Evaluation, evaluate_graph
from tinyrt.quantize.config import Scheme
from tinyrt.quantize.mixed.assign import WIDER
from tinyrt.quantize.simulate import Array


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits that the model must keep.

    Attributes:
        max_bytes: size of the .tflite file at most.
        min_accuracy: share of the evaluation's samples that must be right.
        min_sqnr_db: SQNR of the output before a final softmax, against the float model.
        allowed: schemes that layers may have beside the default one.

    Raises:
        TinyrtError: a figure is out of range, or a scheme is not one to choose.

    """

    max_bytes: int | None = None
    min_accuracy: float | None = None
    min_sqnr_db: float | None = None
    allowed: tuple[Scheme, ...] = WIDER

    def __post_init__(self) -> None:
        if self.min_accuracy is not None and not 0 < self.min_accuracy <= 1:
            raise TinyrtError(
                f"an accuracy of {self.min_accuracy:g}",
                expected="above 0 and at most 1, or above 0 % and at most 100 %",
            )
        if self.min_sqnr_db is not None and not math.isfinite(self.min_sqnr_db):
            raise TinyrtError(f"an SQNR of {self.min_sqnr_db:g} dB", expected="a finite number")
        if unknown := [s.value for s in self.allowed if s not in WIDER]:
            raise TinyrtError(
                f"layers cannot be mixed with {', '.join(unknown)}",
                expected=", ".join(s.value for s in WIDER),
            )


class Judge:
    """Measures models against the float model on fixed data.

    Args:
        graph: the float model.
        inputs: name -> samples, float.
        labels: (samples,) class indices, None where there are none.
        judging: who has the measured models answer; see ``tinyrt.answering``.

    """

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Array],
        labels: Array | None = None,
        judging: Judging = here,
    ) -> None:
        self._inputs, self._labels, self._judging = inputs, labels, judging
        self._reference = answers_of(graph, inputs)
        self.of_float = evaluate_graph(graph, inputs, labels, self._reference)

    def measure(self, quantized: Graph) -> Evaluation:
        """Accuracy and SQNR of a model that was made from the float one."""
        return evaluate_graph(
            quantized, self._inputs, self._labels, self._reference, judging=self._judging
        )

    def holds(self, evaluation: Evaluation, budget: Budget) -> bool:
        """Whether a measured model keeps the budget's accuracy and SQNR."""
        right = budget.min_accuracy is None or (
            evaluation.top1 is not None and evaluation.top1 >= budget.min_accuracy
        )
        near = budget.min_sqnr_db is None or (
            evaluation.sqnr_db is not None and evaluation.sqnr_db >= budget.min_sqnr_db
        )
        return right and near

    def require_labels(self) -> None:
        """Raise ``DataError`` where there are no labels."""
        if self._labels is None:
            raise DataError(
                "an accuracy needs labels",
                expected="an .npz file with x and y",
                hint="-d DATA.npz, or ask for a distance from float: --min-accuracy 35dB",
            )


def figures(evaluation: Evaluation) -> str:
    """The measured figures, in words."""
    right = f"{evaluation.top1:.2%} right, " if evaluation.top1 is not None else ""
    return f"{right}SQNR {evaluation.sqnr_db:.1f} dB"
