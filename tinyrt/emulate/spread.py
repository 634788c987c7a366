"""Samples of a run for several machines: each boots the same image with some of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from tinyrt.cluster.pieces import Crew, Pieces, evenly
from tinyrt.cluster.tasks import LacksToolsError, Task
from tinyrt.cluster.workers import workers_of
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
    assert board is not None
    try:
        toolchain.require(board.qemu)
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
        tasks = (Task(boot_some, (piece,), builds=True) for piece in pieces[1:])
        others = Pieces(workers, tasks)
        others.begin()
        first = run_image(image, pieces[0], run_dir, timeout_s=timeout_s, options=options)
        runs: list[Run] = []
        for run in chain((first,), others.results()):
            runs.append(run)
            if progress is not None:
                progress(sum(len(part.outputs) for part in runs))
    painted = [run.stack_bytes for run in runs if run.stack_bytes is not None]
    outputs = b"".join(run.outputs for run in runs)
    return replace(first, outputs=outputs, stack_bytes=max(painted, default=None))


def _cut(inputs: bytes, samples: int, least: int) -> list[bytes]:
    """The inputs in pieces of whole samples: so many, or more where they are long."""
    size = len(inputs) // samples
    parts = evenly(samples, max(least, -(-len(inputs) // PIECE_BYTES)))
    return [inputs[size * part.start : size * part.stop] for part in parts]
