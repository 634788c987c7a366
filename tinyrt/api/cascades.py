"""A small model that answers what it is sure of, and a large one for the rest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.api.inputs import Array, Data, labels_of, running, source_of
from tinyrt.api.reading import open_model
from tinyrt.dsp.cascade import ALWAYS, NEVER, Choice, choose_threshold, margins
from tinyrt.dsp.checks import require_int
from tinyrt.entry import entry
from tinyrt.errors import DataError, error_context
from tinyrt.files import scratch_folder
from tinyrt.interpreter import DEFAULT_BACKEND
from tinyrt.interpreter.model import Model
from tinyrt.tools import EMULATOR_S

if TYPE_CHECKING:
    from tinyrt.emulate.cascade import CascadeRun
    from tinyrt.export import ExportedCascade, ExportOptions
    from tinyrt.interpreter.progress import Progress


@dataclass(frozen=True, slots=True)
class CascadeAnswers:
    """What a cascade answers.

    Attributes:
        scores: int8 (samples, classes), of the model that answered, in its own units.
        stages: int32 (samples,): 0 where the first model answered, 1 where the second did.

    """

    scores: NDArray[np.int8]
    stages: NDArray[np.int32]

    @property
    def classes(self) -> NDArray[np.int64]:
        """The class of each sample, (samples,); of equal scores the first."""
        return np.asarray(np.argmax(self.scores, axis=1))


@dataclass(frozen=True, slots=True)
class CascadeEvaluation:
    """How a cascade does on labelled samples.

    Attributes:
        samples: how many there were.
        correct: how many were answered right.
        left: how many the first model answered.

    """

    samples: int
    correct: int
    left: int

    @property
    def top1(self) -> float:
        """Share of samples that were answered right."""
        return self.correct / self.samples

    @property
    def exits(self) -> float:
        """Share of samples that the first model answered."""
        return self.left / self.samples

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data, for JSON."""
        return asdict(self) | {"top1": self.top1, "exits": self.exits}


class Cascade:
    """Two int8 classifiers; the second is asked where the first one's best class is not ahead.

    Both take the same input, or the second goes on from an output of the first: see
    ``split_early_exit``. C code of a cascade answers the same, bit for bit.

    Args:
        first: the .tflite that answers first: the small one.
        second: the .tflite that answers where the first is not sure.
        threshold: how far the first one's best score must be ahead of its second, in its own
            integers: 0 for always enough, 256 for never.
        backend: the interpreter's backend.

    Raises:
        UnsupportedError: the models do not fit together.
        DataError: the threshold is out of range.

    """

    @entry
    def __init__(
        self,
        first: str | Path,
        second: str | Path,
        *,
        threshold: int = NEVER,
        backend: str = DEFAULT_BACKEND,
    ) -> None:
        from tinyrt.export.cascade import joint_of

        require_int(threshold, ALWAYS, NEVER, "threshold")
        self.first, self.second, self.threshold = first, second, threshold
        graphs = [open_model(path, optimize=False) for path in (first, second)]
        with error_context(file=f"{first}, {second}"):
            self.joint = joint_of(graphs[0], graphs[1])
        self._models = [Model(graph, backend=backend) for graph in graphs]

    @entry
    def run(self, data: Data) -> CascadeAnswers:
        """Answers of the cascade.

        Args:
            data: an .npz file with ``x``, or an array of samples.

        Raises:
            DataError: the data do not fit the first model.

        """
        scores, carried = self._run_first(self._inputs(data))
        goes_on = margins(scores) < self.threshold
        if goes_on.any():
            scores[goes_on] = self._run_second(carried[goes_on])
        return CascadeAnswers(scores, goes_on.astype(np.int32))

    def real_scores(self, answers: CascadeAnswers) -> NDArray[np.float32]:
        """Scores in real numbers, float32 (samples, classes): the two models' units may differ."""
        first, second = self._models
        stays = first.real(first.graph.answers[self.joint.scores], answers.scores)
        goes_on = second.real(second.graph.answers[0], answers.scores)
        return np.where(answers.stages[:, np.newaxis] == 0, stays, goes_on)

    @entry
    def choose_threshold(
        self,
        data: Data,
        labels: Array | None = None,
        *,
        accuracy: float | None = None,
        exits: float | None = None,
    ) -> Choice:
        """Set the threshold by what is asked of it on these samples, and say what it does there.

        Args:
            data: as for ``run``: samples that neither model has been trained on.
            labels: class indices, where ``data`` does not hold them.
            accuracy: least share of right answers, 0 to 1: of the thresholds that reach it, that
                by which most samples stay with the first model. Where neither is given, it is that
                of the second model alone.
            exits: least share of samples that stay with the first model, 0 to 1: the most careful
                threshold for it.

        Raises:
            DataError: the data or labels do not fit, both are given, or no threshold reaches the
                accuracy.

        """
        scores, carried = self._run_first(self._inputs(data))
        wanted = self._labels(data, labels, len(scores))
        choice = choose_threshold(
            margins(scores),
            np.argmax(scores, axis=1) == wanted,
            np.argmax(self._run_second(carried), axis=1) == wanted,
            accuracy=accuracy,
            exits=exits,
        )
        self.threshold = choice.threshold
        return choice

    @entry
    def evaluate(self, data: Data, labels: Array | None = None) -> CascadeEvaluation:
        """Accuracy, and how many samples the first model answers; arguments as for the choice.

        Raises:
            DataError: the data or labels do not fit.

        """
        answers = self.run(data)
        wanted = self._labels(data, labels, len(answers.stages))
        right = int((answers.classes == wanted).sum())
        return CascadeEvaluation(len(wanted), right, int((answers.stages == 0).sum()))

    @entry
    def export(
        self,
        out_dir: str | Path,
        *,
        core: str = "cortex-m4",
        optimize: str = "balanced",
        options: ExportOptions | None = None,
    ) -> ExportedCascade:
        """Write the C project of the cascade; arguments and errors as of ``export_cascade``."""
        from tinyrt.export import ExportOptions, export_cascade

        return export_cascade(
            *(self.first, self.second, out_dir),
            threshold=self.threshold,
            core=core,
            optimize=optimize,
            options=options or ExportOptions(),
        )

    @entry
    def emulate(
        self,
        data: Data,
        *,
        core: str = "cortex-m4",
        optimize: str = "balanced",
        options: ExportOptions | None = None,
        board: str | None = None,
        build_dir: str | Path | None = None,
        timeout_s: float = EMULATOR_S,
        progress: Progress | None = None,
    ) -> CascadeRun:
        """Run the cascade's C code on all samples in the emulator, and compare with the host.

        Args:
            data: as for ``run``.
            core: as for ``run_emulated``.
            optimize: likewise.
            options: of the export: ``max_arena``, ``by_rows`` and ``memories``.
            board: likewise.
            build_dir: likewise.
            timeout_s: likewise.
            progress: likewise.

        Raises:
            TinyrtError: as ``run_emulated``.

        """
        from tinyrt.emulate.cascade import run_emulated_cascade
        from tinyrt.export import ExportOptions

        inputs = self._inputs(data)
        name = self._models[0].graph.fed[0]
        answers = self.run({name: inputs})
        with scratch_folder() as scratch:
            return run_emulated_cascade(
                *(self.first, self.second),
                threshold=self.threshold,
                inputs={name: inputs},
                expected={"scores": answers.scores, "stage": answers.stages},
                build_dir=build_dir or scratch,
                core=core,
                optimize=optimize,
                options=options or ExportOptions(),
                board=board,
                timeout_s=timeout_s,
                progress=progress,
            )

    def _inputs(self, data: Data) -> Array:
        """The samples as the first model stores them."""
        model = self._models[0]
        with running(self.first, data):
            (stored,) = model.stored_source(source_of(model.graph, data)).values()
        return stored

    def _run_first(self, inputs: Array) -> tuple[NDArray[np.int8], Array]:
        """Scores of the first model, and what the second one takes."""
        graph, joint = self._models[0].graph, self.joint
        outputs = self._models[0].run_raw({graph.fed[0]: inputs})
        scores = outputs[graph.answers[joint.scores]].reshape(len(inputs), -1)
        if joint.carried is not None:
            return scores, outputs[graph.answers[joint.carried]]
        if joint.table is None:
            return scores, inputs
        return scores, np.array(joint.table, np.int8)[inputs.astype(np.int64) + 128]

    def _run_second(self, carried: Array) -> NDArray[np.int8]:
        model = self._models[1]
        (scores,) = model.run_raw({model.graph.fed[0]: carried}).values()
        return scores.reshape(len(carried), -1)

    def _labels(self, data: Data, labels: Array | None, count: int) -> NDArray[np.int64]:
        """The class index of every sample."""
        found = labels_of(data) if labels is None else labels
        classes = self.joint.classes
        expected = f"a class index, 0 to {classes - 1}, for each of {count} samples"
        if found is None:
            raise DataError(
                "there are no labels", expected=expected, hint="add an array 'y' to the data"
            )
        y = np.asarray(found)
        whole = y.shape == (count,) and y.dtype.kind in "iu"
        if not whole or (count and (y.min() < 0 or y.max() >= classes)):
            raise DataError(f"labels are {y.dtype}{list(y.shape)}", expected=expected)
        return y.astype(np.int64)
