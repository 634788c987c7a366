"""Boot an image in QEMU, or run it on this machine, and collect what it wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tinyrt.emulate import toolchain
from tinyrt.emulate.image import Image
from tinyrt.errors import ToolError
from tinyrt.files import write_atomic
from tinyrt.tools import EMULATOR_S, OutOfTimeError, run_tool

INPUTS, OUTPUTS, REPORT = "inputs.bin", "outputs.bin", "report.txt"
"""Files that the harness opens, relative to QEMU's working directory."""

_POLL_INSTRUCTIONS = 4  # HARNESS_POLL_INSTRUCTIONS
PHASES = _POLL_INSTRUCTIONS
"""How often everything that is timed is run."""

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Run:
    """The harness's report.

    Attributes:
        outputs: the outputs of all samples, one after the other.
        instructions: per inference; None where they are not counted.
        stack_bytes: most stack that an inference used; None where it is not measured.
        arena_bytes: the arena that the image declares.
        slices: instructions of every slice in their order; None where there are none, or they are
            not counted.

    """

    outputs: bytes
    instructions: int | None
    stack_bytes: int | None
    arena_bytes: int
    slices: tuple[int, ...] | None = None


def run_image(
    image: Image,
    inputs: bytes,
    run_dir: Path,
    *,
    timeout_s: float = EMULATOR_S,
    progress: Progress | None = None,
    gdb: int | None = None,
    options: Sequence[str] = (),
) -> Run:
    """Run all samples in one boot.

    Args:
        image: what ``build_image`` linked.
        inputs: the inputs of all samples, one after the other.
        run_dir: an existing folder for the files that host and image exchange.
        timeout_s: when to give up, in seconds.
        progress: called now and then with the bytes of output written so far.
        gdb: the port of this machine at which a debugger is waited for, before the first
            instruction; None without one.
        options: further options of the emulator.

    Raises:
        ToolError: QEMU is missing, the image failed (fault, canary, stack), or time ran out.

    """
    runs = run_parts(
        *(image, {"": inputs}, run_dir),
        timeout_s=timeout_s,
        progress=progress,
        gdb=gdb,
        options=options,
    )
    return runs[""]


def run_parts(
    image: Image,
    parts: Mapping[str, bytes],
    run_dir: Path,
    *,
    timeout_s: float = EMULATOR_S,
    progress: Progress | None = None,
    gdb: int | None = None,
    options: Sequence[str] = (),
) -> dict[str, Run]:
    """As ``run_image``, for each model of an image: what its files end with -> its inputs."""
    reports = boot_parts(
        *(image, parts, run_dir),
        timeout_s=timeout_s,
        progress=progress,
        gdb=gdb,
        options=options,
    )
    return {part: run_of(image, report, run_dir, part) for part, report in reports.items()}


def run_of(image: Image, report: Mapping[str, list[int]], run_dir: Path, part: str = "") -> Run:
    """What the report of ``boot`` says of a run, with its outputs; raises ``ToolError``."""
    with _whole(image):
        counted = "invoke_ticks" in report
        return Run(
            part_of(run_dir / OUTPUTS, part).read_bytes(),
            instructions(report) if counted else None,
            report["stack_bytes"][0] if "stack_bytes" in report else None,
            report["arena_bytes"][0],
            slice_instructions(report) if "slice_ticks" in report else None,
        )


def boot(
    image: Image,
    inputs: bytes,
    run_dir: Path,
    *,
    timeout_s: float = EMULATOR_S,
    progress: Progress | None = None,
    options: Sequence[str] = (),
) -> dict[str, list[int]]:
    """Run all samples and return what the image reported; see ``run_image``."""
    parts = {"": inputs}
    reports = boot_parts(
        *(image, parts, run_dir), timeout_s=timeout_s, progress=progress, options=options
    )
    return reports[""]


def part_of(path: Path, part: str) -> Path:
    """The file of one model of several: ``inputs.bin`` -> ``inputs_kws.bin``."""
    return path.with_name(f"{path.stem}{part}{path.suffix}")


def boot_parts(
    image: Image,
    parts: Mapping[str, bytes],
    run_dir: Path,
    *,
    timeout_s: float = EMULATOR_S,
    progress: Progress | None = None,
    gdb: int | None = None,
    options: Sequence[str] = (),
) -> dict[str, dict[str, list[int]]]:
    """As ``boot``, for each model of an image; see ``run_parts``."""
    outputs = [part_of(run_dir / OUTPUTS, part) for part in parts]
    reports = {part: part_of(run_dir / REPORT, part) for part in parts}
    for part, inputs in parts.items():
        write_atomic(part_of(run_dir / INPUTS, part), _writing(inputs))
    for stale in (*outputs, *reports.values()):
        stale.unlink(missing_ok=True)

    def written() -> int:
        return sum(path.stat().st_size for path in outputs if path.exists())

    def watch() -> None:
        if progress is not None and any(path.exists() for path in outputs):
            progress(written())

    with _explained(image, written, timeout_s):
        process = run_tool(
            _command(image, gdb, options), cwd=run_dir, limit_s=timeout_s, watch=watch
        )
    where = image.board.name if image.board else "this machine"
    if process.status != 0:
        raise ToolError(
            f"the image failed on {where} (status {process.status}):\n{process.last_words}",
            file=str(image.path),
            expected="status 0",
        )
    with _whole(image, process.last_words):
        texts = {part: path.read_text(encoding="utf-8") for part, path in reports.items()}
        return {part: parse_report(text) for part, text in texts.items()}


def _writing(data: bytes) -> Callable[[BinaryIO], object]:
    return lambda file: file.write(data)


@contextmanager
def _whole(image: Image, words: str = "") -> Iterator[None]:
    """Refuse a report that is missing or incomplete."""
    try:
        yield
    except (OSError, ValueError, KeyError, ZeroDivisionError) as error:
        raise ToolError(
            f"the image ended without a report that can be read: {error}\n{words}".strip(),
            file=str(image.path),
            expected=f"all figures in {REPORT}",
        ) from error


def _command(image: Image, gdb: int | None = None, options: Sequence[str] = ()) -> list[str]:
    board, path = image.board, str(image.path.resolve())
    if board is None:
        return [path]
    toolchain.require(board.qemu)
    return [
        *(board.qemu, "-M", board.name, *board.options, "-icount", "shift=0"),
        *("-display", "none", "-monitor", "none", "-serial", "none"),
        *(() if gdb is None else ("-S", "-gdb", f"tcp:127.0.0.1:{gdb}")),
        *("-semihosting-config", "enable=on,target=native", "-kernel", path),
        *options,
    ]


@contextmanager
def _explained(image: Image, written: Callable[[], int], timeout_s: float) -> Iterator[None]:
    """Add the image's progress and a hint to the error of a time-out."""
    try:
        yield
    except OutOfTimeError as error:
        error.file = str(image.path)
        error.expected = f"an end; {written():,} bytes of output were written until then"
        error.hint = f"run fewer samples, or allow more than {timeout_s:g} seconds with --timeout"
        raise


def parse_report(text: str) -> dict[str, list[int]]:
    """Name -> its values in order; the harness writes one name and hexadecimal value to a line."""
    report: dict[str, list[int]] = {}
    for line in text.splitlines():
        name, value = line.split()
        report.setdefault(name, []).append(int(value, 16))
    return report


def instructions(report: Mapping[str, list[int]]) -> int:
    """Instructions of one inference, without those of calling and timing it.

    The mean over all phases of the polling loop is exact; see ``harness_clock.h``.
    """
    count = Instructions(report)

    def mean(call: str) -> float:
        pairs = zip(report[f"{call}_ticks"], report[f"{call}_polls"], strict=True)
        counts = [count(ticks, polls) for ticks, polls in pairs]
        return sum(counts) / len(counts)

    return round(mean("invoke") - mean("empty"))


def sample_instructions(report: Mapping[str, list[int]]) -> list[int]:
    """Instructions of each sample, where the harness timed every one; see ``instructions``.

    Sample i is timed in phase i of the polling loop, so that means over samples are exact.
    """
    count = Instructions(report)
    empty = list(map(count, report["empty_ticks"], report["empty_polls"]))
    times = map(count, report["sample_ticks"], report["sample_polls"])
    return [round(time - empty[i % len(empty)]) for i, time in enumerate(times)]


def slice_instructions(report: Mapping[str, list[int]]) -> tuple[int, ...]:
    """Instructions of every slice, without those of calling and timing it; see ``instructions``."""
    count = Instructions(report)
    ticks, polls = report["slice_ticks"], report["slice_polls"]
    phases = len(report["empty_ticks"])
    empty = sum(map(count, report["empty_ticks"], report["empty_polls"])) / phases
    slices = len(ticks) // phases
    times = list(map(count, ticks, polls))
    return tuple(round(sum(times[i::slices]) / phases - empty) for i in range(slices))


class Instructions:
    """From ticks and polls to instructions, by a loop of known length.

    With one instruction a nanosecond a tick is 1000 divided by the timer's MHz, so that rounding
    to a hundredth removes what the loop's ends add. Where a core counts its own instructions, it
    is one.
    """

    def __init__(self, report: Mapping[str, list[int]]) -> None:
        (instruction_count,), (ticks,) = (
            report["calibration_instructions"],
            report["calibration_ticks"],
        )
        (polls,) = report["calibration_polls"]
        self._per_tick = round((instruction_count + polls * _POLL_INSTRUCTIONS) / ticks, 2)

    def __call__(self, ticks: int, polls: int) -> float:
        """Instructions of one measurement."""
        return ticks * self._per_tick - polls * _POLL_INSTRUCTIONS
