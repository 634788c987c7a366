"""A model on a board beside the host: the same inputs, and every byte of the answers compared."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.board.identity import Identity
from tinyrt.board.line import Line
from tinyrt.board.session import Session
from tinyrt.emulate.cycles import CycleReport
from tinyrt.emulate.report import FLOAT_TOLERANCE
from tinyrt.export.board import Places
from tinyrt.ir import DType, Value

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Subject:
    """The model that a board should run.

    Attributes:
        sha256: of its file, in hexadecimal.
        inputs: its inputs, in the order of the exported header.
        outputs: its outputs, likewise.

    """

    sha256: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first answer that is not the host's.

    Attributes:
        sample: its number, from 0.
        output: the tensor's name.
        index: of the first element that differs, in the flat tensor.
        expected: this element on the host.
        found: this element on the board.

    """

    sample: int
    output: str
    index: int
    expected: float
    found: float

    def __str__(self) -> str:
        return (
            f"sample {self.sample}, output '{self.output}', element {self.index}: "
            f"{self.found:g} instead of {self.expected:g}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The difference as plain data, for ``--json``."""
        return {
            "sample": self.sample,
            "output": self.output,
            "index": self.index,
            "expected": self.expected,
            "found": self.found,
        }


@dataclass(frozen=True, slots=True)
class Ticks:
    """What inferences took, in ticks of the board's clock.

    Attributes:
        least: of the fastest.
        median: the middle one; of an even number, the mean of the middle two.
        most: of the slowest.
        per_second: of the clock; 0 where it is not known.

    """

    least: int
    median: float
    most: int
    per_second: int

    @classmethod
    def of(cls, ticks: Sequence[int], per_second: int) -> Ticks:
        """The summary of at least one inference."""
        return cls(min(ticks), statistics.median(ticks), max(ticks), per_second)

    def milliseconds(self, ticks: float) -> float | None:
        """Ticks as milliseconds; None where the clock is not known."""
        return 1000 * ticks / self.per_second if self.per_second else None

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data, for ``--json``."""
        ticks = {"min": self.least, "median": self.median, "max": self.most}
        times = {name: self.milliseconds(number) for name, number in ticks.items()}
        return {"ticks": ticks, "milliseconds": times if self.per_second else None}


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """A board's answers beside the host's.

    Attributes:
        port: what messages call the line.
        identity: what the board says of itself.
        samples: how many were run.
        equal: how many were answered as on the host; floats within ``FLOAT_TOLERANCE``.
        difference: the first one that was not; None where all were.
        ticks: what inferences took.
        selftest: what the board's own test answered, see ``SELFTEST_FIELDS``; None where the
            firmware has none.
        told: cycles of the first sample, as the emulator tells them; None unless they were asked
            for.

    """

    port: str
    identity: Identity
    samples: int
    equal: int
    difference: Difference | None
    ticks: Ticks
    selftest: Mapping[str, int] | None = None
    told: CycleReport | None = None

    @property
    def measured(self) -> float | None:
        """Cycles of the middle inference, where others are told; ticks where they are its cycles.

        Ticks are cycles unless the core's clock is given and the board knows that of its ticks.
        """
        if self.told is None:
            return None
        clock, per_second = self.told.timing.clock_hz, self.ticks.per_second
        return self.ticks.median * (clock / per_second if clock and per_second else 1)

    @property
    def as_told(self) -> bool | None:
        """Whether the cycles that were measured lie in the range; None where none is told."""
        if self.told is None or self.measured is None:
            return None
        return self.told.cycles.low <= self.measured <= self.told.cycles.high

    @property
    def passed(self) -> bool | None:
        """Whether the board's own test passed; None where the firmware has none."""
        return None if self.selftest is None else self.selftest["status"] == 0

    @property
    def agrees(self) -> bool:
        """Whether all samples were answered as on the host, and the board's own test passed."""
        return self.difference is None and self.passed is not False

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, for ``--json``."""
        fields: dict[str, Any] = {
            "port": self.port,
            "board": self.identity.as_dict(),
            "samples": self.samples,
            "equal": self.equal,
            "agrees": self.agrees,
            "difference": None if self.difference is None else self.difference.as_dict(),
            "selftest": None if self.selftest is None else dict(self.selftest),
            **self.ticks.as_dict(),
        }
        if self.told is not None:
            ends = self.told.cycles.as_dict()
            fields["cycles"] = ends | {"measured": self.measured, "as_told": self.as_told}
        return fields


def validate_on(
    line: Line,
    subject: Subject,
    feeds: Arrays,
    expected: Arrays,
    *,
    answer_s: float,
    progress: Callable[[int, int], None] | None = None,
) -> ValidationReport:
    """Have a board test itself, where it can; run all samples on it and compare its answers.

    Args:
        line: what carries the bytes.
        subject: the model.
        feeds: input name -> samples first, of the input's dtype.
        expected: output name -> the host's answers, samples first.
        answer_s: how long each answer of the board may take, in seconds.
        progress: called with the samples done and their total.

    Raises:
        ToolError: the board is another one, or does not answer as it should; see ``Session.ask``.

    """
    session = Session(line, answer_s)
    identity = session.identify()
    inputs = Places.of([value.nbytes for value in subject.inputs])
    outputs = Places.of([value.nbytes for value in subject.outputs])
    identity.check(line.name, subject.sha256, inputs.nbytes, outputs.nbytes)
    selftest = session.selftest() if identity.has_selftest else None
    session.reset()
    samples = len(next(iter(feeds.values())))
    ticks, equal, first = [], 0, None
    for i in range(samples):
        packed = bytearray(inputs.nbytes)
        for value, at in zip(subject.inputs, inputs.offsets, strict=True):
            data = np.ascontiguousarray(feeds[value.name][i]).tobytes()
            packed[at : at + len(data)] = data
        session.load(bytes(packed), identity.payload_bytes)
        ticks.append(session.run())
        answer = session.outputs(outputs.nbytes, identity.payload_bytes)
        difference = None
        for value, at in zip(subject.outputs, outputs.offsets, strict=True):
            data = answer[at : at + value.nbytes]
            difference = difference or _compared(i, value, data, expected[value.name][i])
        equal += difference is None
        first = first or difference
        if progress is not None:
            progress(i + 1, samples)
    summary = Ticks.of(ticks, identity.ticks_per_second)
    return ValidationReport(line.name, identity, samples, equal, first, summary, selftest)


def _compared(sample: int, value: Value, data: bytes, expected: NDArray[Any]) -> Difference | None:
    """The first element that differs; floats may be off by ``FLOAT_TOLERANCE`` of the largest."""
    found = np.frombuffer(data, value.dtype.numpy)
    host = np.ascontiguousarray(expected).reshape(-1)
    differs = found != host
    if value.dtype is DType.FLOAT32:
        finite = np.abs(host[np.isfinite(host)])
        largest = float(finite.max()) if finite.size else 1.0
        with np.errstate(invalid="ignore"):  # the difference of two infinities, which are the same
            near = np.abs(found - host.astype(np.float64)) <= FLOAT_TOLERANCE * (largest or 1.0)
        differs &= ~near & ~(np.isnan(found) & np.isnan(host))
    if not differs.any():
        return None
    index = int(differs.argmax())
    return Difference(sample, value.name, index, host[index].item(), found[index].item())
