"""A model on a real board, over a serial port, beside the host."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tinyrt.api.inputs import Data
from tinyrt.api.models import compared_inputs
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.entry import entry
from tinyrt.errors import error_context
from tinyrt.export.identity import sha256_of

if TYPE_CHECKING:
    from tinyrt.board import Subject, ValidationReport
    from tinyrt.interpreter.progress import Progress

BAUD = 115_200
"""Bits per second of the port, unless told otherwise."""

ANSWER_S = 5.0
"""How long each answer of a board may take, in seconds, unless told otherwise."""

SAMPLES = 4
"""Random inputs that a board runs where no data are given."""


@entry
def validate(
    model: str | Path,
    *,
    port: str,
    baud: int = BAUD,
    data: Data | None = None,
    samples: int | None = None,
    timeout_s: float = ANSWER_S,
    progress: Progress | None = None,
) -> ValidationReport:
    """Run a model on a board over a serial port, and compare each byte with the host's answers.

    The board's firmware has the model as ``export_c(..., board=True)`` wrote it.

    Args:
        model: the quantised .tflite file that was exported.
        port: the serial port, or a URL of pyserial's such as ``socket://host:5000``.
        baud: bits per second.
        data: what to run, as for ``evaluate``; seeded random inputs by default.
        samples: how many random inputs, 4 by default; of data, how many from the first on, all by
            default.
        timeout_s: how long each answer of the board may take, in seconds.
        progress: called with the samples done and their total.

    Raises:
        ToolError: pyserial is missing, the port cannot be opened, or the board does not answer, is
            another one, or answers what is no answer.
        TinyrtError: the data do not fit the model.

    """
    from tinyrt.board import SerialLine, validate_on

    feeds, expected = compared_inputs(model, data, samples or SAMPLES)
    if data is not None and samples is not None:
        feeds, expected = (
            {name: array[:samples] for name, array in arrays.items()}
            for arrays in (feeds, expected)
        )
    subject = subject_of(model)
    with SerialLine(port, baud) as line:
        pair = (feeds, expected)
        return validate_on(line, subject, *pair, answer_s=timeout_s, progress=progress)


def subject_of(model: str | Path) -> Subject:
    """What a board should say of itself that runs this model.

    Raises:
        ModelFormatError: the file is no .tflite model.

    """
    from tinyrt.board import Subject

    with error_context(file=str(model)):
        graph = read_tflite(model)
    inputs, outputs = (tuple(map(graph.value, names)) for names in (graph.fed, graph.answers))
    return Subject(sha256_of(Path(model)), inputs, outputs)
