"""A teacher: a large model, whose answers candidates learn from.

It takes samples as candidates see them, and then it answers while they train, also to samples that
are changed before each use. Behind a front end, candidates see features that it does not know: then
it answers to each sample once, as it was given, by itself or by the front end in its own file.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tinyrt.api.reading import open_model
from tinyrt.attached import at_model, front_end_entry, front_end_of
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.dsp import Pipeline, Vision
from tinyrt.dsp.windows import Array, shape_behind
from tinyrt.errors import DataError, ShapeError, error_context
from tinyrt.interpreter.model import Model
from tinyrt.ir import Graph, Shape
from tinyrt.search.answers import answered
from tinyrt.train.distill import as_logits


@dataclass(frozen=True, eq=False)
class Teacher:
    """A model of the same samples and classes.

    Attributes:
        graph: the model, in floats or integers; one input, and one output with scores.
        front_end: what makes its input of raw samples; None where it takes them as they are.
        file: of the model, for messages.

    """

    graph: Graph
    front_end: Pipeline | Vision | None = None
    file: str | None = None

    @classmethod
    def of(cls, model: str | Path | Graph) -> Teacher:
        """The teacher in a .tflite or .onnx file, with the front end that the file carries.

        Raises:
            TinyrtError: the file cannot be read, or its front end does not fit the model.

        """
        if isinstance(model, Graph):
            return cls(model)
        carried = None if Path(model).suffix == ".onnx" else front_end_of(model)
        graph = open_model(model)
        with error_context(file=str(model)):
            if carried is not None:
                at_model(carried, graph)
        return cls(graph, carried, str(model))

    def require(self, window: Shape, classes: int) -> None:
        """Check that it answers samples of this shape with scores of so many classes.

        Raises:
            DataError: it does not.

        """
        inputs = [self.graph.value(name) for name in self.graph.fed]
        outputs = [self.graph.value(name) for name in self.graph.outputs]
        sizes = [math.prod(value.shape[1:]) for value in outputs]
        takes = [value.shape[1:] for value in inputs]
        wanted = window if self.front_end is None else self._behind(window)
        same = takes == [wanted] if self.front_end is None else _holds(takes, wanted)
        if same and sizes == [classes]:
            return
        described = ", ".join(value.describe() for value in inputs)
        raise DataError(
            f"the teacher takes {described} and gives "
            + ", ".join(value.describe() for value in outputs),
            file=self.file,
            expected=f"samples {list(wanted)}"
            + ("" if self.front_end is None else ", as its front end makes them of one")
            + f", and scores of {classes} classes",
        )

    def _behind(self, window: Shape) -> Shape:
        """What its own front end makes of a sample."""
        assert self.front_end is not None
        carried = self.front_end
        front = carried.camera if isinstance(carried, Vision) else carried.front
        try:
            return shape_behind(front, window)
        except ShapeError as error:
            raise DataError(
                f"the teacher's front end takes no such samples: {error.problem}",
                file=self.file,
                expected=error.expected,
            ) from error

    @cached_property
    def digest(self) -> str:
        """A few hexadecimal digits that tell it from others."""
        return hashlib.sha256(
            write_tflite(self.graph, front_end_entry(self.front_end))
        ).hexdigest()[:12]

    def model(self) -> Model:
        """The model at work, in one thread."""
        return Model(self.graph, num_threads=1, file=self.file)

    def logits(self, x: Array) -> Array:
        """Its answers to raw samples as logits, (n, classes); a softmax at its end is undone."""
        answers = answered(self.graph, self.front_end, x, self.file, threads=1)
        return as_logits(self.graph, answers.reshape(len(x), -1))


def _holds(takes: list[Shape], wanted: Shape) -> bool:
    """Whether the only input has as many numbers; how they lie in it is the front end's matter."""
    return len(takes) == 1 and math.prod(takes[0]) == math.prod(wanted)
