"""The Python interface for training an imported model for int8."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from tinyrt.api.fitting import Costs, DeviceBudget
from tinyrt.api.inputs import Data, file_of, layout_as, require_float, running, turned
from tinyrt.api.quantize import float_model, plainer
from tinyrt.api.reading import open_model
from tinyrt.attached import carried_on
from tinyrt.convert.lstm_states import begun_anew, kept_on
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.data import LABELS, load_npz
from tinyrt.entry import entry
from tinyrt.errors import (
    BudgetError,
    DataError,
    UnsupportedError,
    error_context,
)
from tinyrt.interpreter.model import Model
from tinyrt.ir import Graph, Shape
from tinyrt.memory import schedule
from tinyrt.ops.shared.batch import batch_of

if TYPE_CHECKING:
    from tinyrt.train.pipeline.outcome import Outcome
    from tinyrt.train.pipeline.samples import Samples
    from tinyrt.train.pipeline.setting import QatSetting


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A model that was trained for int8, and its figures.

    Attributes:
        bytes: size of the .tflite file.
        outcome: the graph that was written, histories, and how good each output is in float, before
            training, in training and as deployed.
        costs: on the core, where a budget for one was given.

    """

    bytes: int
    outcome: Outcome
    costs: Costs | None = None


@entry
def train_int8_model(
    model: str | Path,
    data: Data,
    output: str | Path,
    setting: QatSetting | None = None,
    *,
    teacher: str | Path | None = None,
    budget: DeviceBudget | None = None,
    shapes: Mapping[str, Shape] | None = None,
    values: Mapping[str, ArrayLike] | None = None,
    sequence_lstm: bool = False,
    on_stage: Callable[[str], None] = lambda what: None,
) -> Trained:
    """Train a float model for int8, whoever made it, and write it as .tflite.

    Args:
        model: a float .onnx or .tflite model.
        data: an .npz file, or arrays by name: the model's inputs, or ``x`` for its only one; and
            what is right, by the names of outputs, or ``y`` for its only one. Integers are classes,
            floats values. An output without labels learns what the teacher answers.
        output: the .tflite file to write.
        setting: the user's choices.
        teacher: a model of the same inputs and outputs that is learned from, too; where labels are
            missing, by default the float model itself.
        budget: what the model may cost on a core; as few channels as that takes are pruned first.
        shapes: input name -> shape, for dimensions that the model leaves open.
        values: as for ``convert_model``.
        sequence_lstm: as for ``convert_model``; whole LSTMs train faster, and are smaller.
        on_stage: called with what is done next, in words.

    Raises:
        BudgetError: the model does not fit the bytes or the budget asked for.
        DataError: the data or the teacher do not fit the model.
        TinyrtError: the model cannot be read, trained or quantised, or the file not be written.

    """
    from tinyrt.train.pipeline.run import train_for_int8
    from tinyrt.train.pipeline.setting import QatSetting

    setting = setting or QatSetting()
    graph, states = float_model(model, shapes, values, sequence_lstm, None)
    source = open_model(
        model, shapes=shapes, values=values, sequence_lstm=sequence_lstm, optimize=False
    )
    source = begun_anew(source)
    with error_context(file=str(model)):
        if batch_of(graph) != 1:
            raise UnsupportedError(
                f"the model takes {batch_of(graph)} samples at a time",
                tensor=graph.input_values[0].describe(),
                expected="one, as the device does",
                hint="export it for a batch of one, or fix an open one: --shape NAME=1,...",
            )
    with error_context(file=file_of(data)):
        samples = _samples(graph, data)
    teaching = None if teacher is None else _teacher(teacher, graph)

    def written(graph: Graph) -> tuple[Graph, dict[str, bytes]]:
        """The graph as the file has it, and what the file carries besides."""
        trained = schedule(kept_on(graph, states))
        return trained, carried_on(model, trained)

    with running(model, data):
        outcome = train_for_int8(
            source,
            samples,
            setting,
            teacher=teaching,
            finish=lambda graph: plainer(graph)[0],
            fits=None if budget is None else budget.fits,
            size=lambda graph: len(write_tflite(*written(graph))),
            on_stage=on_stage,
        )
    trained, carried = written(outcome.graph)
    size = len(write_tflite(trained, carried))
    if setting.max_bytes is not None and size > setting.max_bytes:
        raise BudgetError(
            f"the trained model has {size:,} bytes",
            expected=f"at most {setting.max_bytes:,}",
            hint=f"--max-bytes {2 * setting.max_bytes - size} leaves room for it",
        )
    costs = None
    if budget is not None:
        costs = budget.costs(trained)
        budget.require(costs)
    save_tflite(trained, output, carried)
    return Trained(size, outcome, costs)


def _samples(graph: Graph, data: Data) -> Samples:
    """Inputs by the optimised model's names and layout, and labels by its outputs' names."""
    from tinyrt.train.pipeline.samples import Samples

    if isinstance(data, str | Path):
        arrays = load_npz(data)
    else:
        arrays = dict(data) if isinstance(data, Mapping) else {"x": data}
    labels = {name: arrays.pop(name) for name in graph.answers if name in arrays}
    if LABELS in arrays and LABELS not in graph.fed:
        if len(graph.answers) > 1:
            raise DataError(
                f"'{LABELS}' says nothing of which output it is for",
                expected=", ".join(f"'{name}'" for name in graph.answers),
                hint="name the labels as the outputs; those without labels learn from the teacher",
            )
        labels[graph.answers[0]] = arrays.pop(LABELS)
    inputs = Model(graph).check_inputs(require_float(graph, layout_as(graph, arrays)))
    n = len(next(iter(inputs.values())))
    for name, array in labels.items():
        if array.shape[:1] != (n,):
            raise DataError(
                f"there are {n} samples, but labels {list(array.shape)} for output '{name}'",
                expected=f"[{n}, ...]",
            )
        labels[name] = turned(array, graph.value(name).shape)
    return Samples(inputs, labels)


def _teacher(path: str | Path, graph: Graph) -> Graph:
    """A teacher, which must take what the model takes."""
    teacher = open_model(path)
    own, other = ([v.shape for v in g.input_values] for g in (graph, teacher))
    if own != other:
        raise DataError(
            f"the teacher takes {other}",
            file=str(path),
            expected=f"{own}, as the model that it teaches",
            hint="teach with a model of the same inputs",
        )
    return teacher
