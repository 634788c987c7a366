"""Samples of a run for several machines: each boots the same image with some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from tinyrt.cluster.tasks import Failure, LacksToolsError, Task
from tinyrt.cluster.workers import Workers, workers_of
from tinyrt.emulate import toolchain
from tinyrt.emulate.image import Image
from tinyrt.emulate.qemu import Run, run_image
from tinyrt.errors import ToolError
from tinyrt.files import scratch_folder

PIECES = 4
"""Pieces for each worker at least, so that none waits long for the last."""

PIECE_BYTES = 1 << 22
"""Inputs of a piece at most: a scheduler holds those that are under way."""

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Crew:
    """Who boots an image.

    Attributes:
        workers: processes on this machine; None for one to each processor.
        scheduler: the address of a Dask scheduler, in place of these: ``tcp://host:8786``.

    """

    workers: int | None = None
    scheduler: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """What all pieces have in common.

    Attributes:
        image: as it was built; its file is of another machine.
        elf: what stands in the file.
        timeout_s: when to give up on the emulator, in seconds.

    """

    image: Image
    elf: bytes
    timeout_s: float


def boot_some(inputs: bytes, shared: Shared) -> Run:
    """Run some samples.

    Raises:
        LacksToolsError: this machine has no emulator.
        ToolError: as ``run_image``.

    """
    board = shared.image.board
    try:
        toolchain.require(*([] if board is None else [board.qemu]))
    except ToolError as error:
        raise LacksToolsError(error.problem, hint=error.hint) from error
    with scratch_folder() as folder:
        path = folder / "image.elf"
        path.write_bytes(shared.elf)
        image = replace(shared.image, path=path)
        return run_image(image, inputs, folder, timeout_s=shared.timeout_s)


def run_spread(
    image: Image,
    inputs: bytes,
    samples: int,
    run_dir: Path,
    crew: Crew,
    *,
    timeout_s: float,
    options: Sequence[str] = (),
    progress: Progress | None = None,
) -> Run:
    """As ``run_image``, by several machines, with the same result.

    This machine boots the first samples, from which all counts are; others boot the rest.

    Args:
        image: what ``build_image`` linked, for a board.
        inputs: the inputs of all samples, one after the other.
        samples: how many there are.
        run_dir: an existing folder for the files that host and image exchange.
        crew: who boots.
        timeout_s: when to give up on the emulator in each boot, in seconds.
        options: further options of the emulator, for the first samples.
        progress: called with the bytes of output that are there.

    Raises:
        DataError: a crew of no workers, or with a scheduler, too.
        ToolError: Dask or QEMU are missing, or the image failed.

    """
    shared = Shared(image, image.path.read_bytes(), timeout_s)
    with workers_of(shared, crew.workers, crew.scheduler) as workers:
        pieces = _cut(inputs, samples, PIECES * workers.slots)
        others = _Others(workers, pieces[1:])
        others.begin()
        first = run_image(image, pieces[0], run_dir, timeout_s=timeout_s, options=options)
        done = [first]
        for run in others.runs():
            done.append(run)
            if progress is not None:
                progress(sum(len(part.outputs) for part in done))
    runs = [first, *others.in_order()]
    painted = [run.stack_bytes for run in runs if run.stack_bytes is not None]
    outputs = b"".join(run.outputs for run in runs)
    return replace(first, outputs=outputs, stack_bytes=max(painted, default=None))


def _cut(inputs: bytes, samples: int, least: int) -> list[bytes]:
    """The inputs in pieces of whole samples: so many, or more where they are long."""
    size = len(inputs) // samples
    count = min(samples, max(least, -(-len(inputs) // PIECE_BYTES)))
    edges = [size * (samples * i // count) for i in range(count + 1)]
    return [inputs[a:b] for a, b in pairwise(edges)]


class _Others:
    """Pieces that workers boot, as many at a time as there are workers for."""

    def __init__(self, workers: Workers, pieces: Sequence[bytes]) -> None:
        self._workers, self._pieces = workers, pieces
        self._done: dict[Any, Run] = {}
        self._begun = 0

    def begin(self) -> None:
        """Keep all workers busy."""
        under_way = self._begun - len(self._done)
        for _ in range(min(self._workers.slots - under_way, len(self._pieces) - self._begun)):
            task = Task(boot_some, (self._pieces[self._begun],), builds=True)
            self._workers.begin(self._begun, task)
            self._begun += 1

    def runs(self) -> Iterator[Run]:
        """Each run as it is done.

        Raises:
            ToolError: one came to nothing.

        """
        while len(self._done) < len(self._pieces):
            number, result = self._workers.finished()
            if isinstance(result, Failure):
                raise ToolError(
                    f"samples were not run by {result.worker or 'this machine'}: {result.reason}",
                    expected="a run of every sample",
                    hint="leave out --workers and --scheduler, to see whether it fails here",
                )
            self._done[number] = result
            self.begin()
            yield result

    def in_order(self) -> list[Run]:
        """All runs, by their samples."""
        return [self._done[number] for number in range(len(self._pieces))]
