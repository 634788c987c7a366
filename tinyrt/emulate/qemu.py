"""Boot an image in QEMU and collect what it wrote."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tinyrt.emulate import toolchain
from tinyrt.emulate.image import Image
from tinyrt.errors import ToolError

QEMU = "qemu-system-arm"

INPUTS, OUTPUTS, REPORT = "inputs.bin", "outputs.bin", "report.txt"
"""Files that the harness opens, relative to QEMU's working directory."""

_POLL_SECONDS = 0.2
_POLL_INSTRUCTIONS = 4  # HARNESS_POLL_INSTRUCTIONS

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Run:
    """What the harness reported.

    Attributes:
        outputs: the outputs of all samples, one after the other.
        instructions: per inference.
        stack_bytes: most stack that an inference used.
        arena_bytes: the arena that the image declares.

    """

    outputs: bytes
    instructions: int
    stack_bytes: int
    arena_bytes: int


def run_image(
    image: Image,
    inputs: bytes,
    run_dir: Path,
    *,
    timeout_s: float = 300.0,
    progress: Progress | None = None,
) -> Run:
    """Run all samples in one boot.

    Args:
        image: what ``build_image`` linked.
        inputs: the inputs of all samples, one after the other.
        run_dir: an existing folder for the files that host and image exchange.
        timeout_s: when to give up, in seconds.
        progress: called now and then with the bytes of output written so far.

    Raises:
        ToolError: QEMU is missing, the image failed (fault, canary, stack), or time ran out.

    """
    toolchain.require(QEMU)
    (run_dir / INPUTS).write_bytes(inputs)
    for name in (OUTPUTS, REPORT):
        (run_dir / name).unlink(missing_ok=True)
    command = [
        *(QEMU, "-M", image.board.name, "-icount", "shift=0"),
        *("-display", "none", "-monitor", "none", "-serial", "none"),
        *("-semihosting-config", "enable=on,target=native", "-kernel", str(image.path.resolve())),
    ]
    messages, status = _wait(command, run_dir, timeout_s, progress)
    if status != 0:
        raise ToolError(
            f"the image failed on {image.board.name} (status {status}):\n"
            f"{toolchain.last_lines(messages)}",
            file=str(image.path),
        )
    report = parse_report((run_dir / REPORT).read_text())
    return Run(
        (run_dir / OUTPUTS).read_bytes(),
        instructions(report),
        report["stack_bytes"][0],
        report["arena_bytes"][0],
    )


def _wait(
    command: list[str], cwd: Path, timeout_s: float, progress: Progress | None
) -> tuple[str, int]:
    """Standard error and status of QEMU, which is killed when time runs out."""
    with subprocess.Popen(
        command,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            for _ in range(max(1, round(timeout_s / _POLL_SECONDS))):
                try:
                    messages = process.communicate(timeout=_POLL_SECONDS)[1]
                    return messages, process.returncode
                except subprocess.TimeoutExpired:
                    if progress is not None and (cwd / OUTPUTS).exists():
                        progress((cwd / OUTPUTS).stat().st_size)
        finally:
            process.kill()
    raise ToolError(
        f"the image did not finish within {timeout_s:g} seconds",
        hint="run fewer samples, or allow more time",
    )


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
    per_tick = instructions_per_tick(report)

    def mean(call: str) -> float:
        pairs = zip(report[f"{call}_ticks"], report[f"{call}_polls"], strict=True)
        counts = [t * per_tick - p * _POLL_INSTRUCTIONS for t, p in pairs]
        return sum(counts) / len(counts)

    return round(mean("invoke") - mean("empty"))


def instructions_per_tick(report: Mapping[str, list[int]]) -> float:
    """Instructions per timer tick, from a loop of known length.

    With one instruction a nanosecond it is 1000 divided by the timer's MHz, so that rounding to
    a hundredth removes what the loop's ends add.
    """
    (known,), (ticks,) = report["calibration_instructions"], report["calibration_ticks"]
    (polls,) = report["calibration_polls"]
    return round((known + polls * _POLL_INSTRUCTIONS) / ticks, 2)
