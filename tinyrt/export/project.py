"""What an export is: the record of one model's C project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinyrt.export.audio import AudioCode
from tinyrt.export.blob.code import BlobCode
from tinyrt.export.blob.record import blob_files
from tinyrt.export.board import BoardPort
from tinyrt.export.camera import CameraCode
from tinyrt.export.info import info_files
from tinyrt.export.ports import Port
from tinyrt.export.pushed import PushedRows
from tinyrt.export.rendering import CFile
from tinyrt.export.request import Request
from tinyrt.export.selftest import Selftest
from tinyrt.export.slices import Slices
from tinyrt.export.sparsity import SparseLayer
from tinyrt.export.target import Core, Optimize
from tinyrt.memory import Region
from tinyrt.memory.regions import ARENA
from tinyrt.memory.segments import Segment


@dataclass(frozen=True, slots=True)
class ExportedProject:
    """The exported project.

    Attributes:
        name: the model's name as a C identifier: the prefix of all its public names.
        directory: the folder.
        core: the target core.
        arena_bytes: size of the memory that the model works in.
        inputs: in the model's order.
        outputs: in the model's order.
        kernels: names of the C functions it calls.
        macs: multiply-accumulates of one inference.
        optimize: the goal of its code: speed, balanced or size.
        segments: ops that run row by row.
        pushed: the rows of the input that is pushed row by row; None where it is held.
        regions: name and size of each memory region; the arena alone by default.
        state_bytes: memory that the model keeps between inferences.
        weight_bytes: flash for all constants of the weights' file.
        filter_bytes: of these, the weights of convolutions and dense layers, as packed.
        sparse: layers with many zeros, and how their weights are stored.
        arena_lower_bound: lower bound of the bytes of any placement of its buffers.
        identity: eight hexadecimal digits that all its symbols hold, and no other export's.
        model_sha256: of the model's file; None for a model without one.
        weights_section: the linker section of the weights; None for the compiler's choice.
        files: the names of all files in the folder that tinyrt wrote, sorted.
        slices: what an inference is cut into; None where it runs in one go.
        estimates: instructions of each op, estimated; None on this machine, and with ops row by
            row.
        blob: its constants apart from the code; None where they are compiled in.
        selftest: what it tests on the board; None without a test.
        board: its protocols for a serial port; None without them.
        audio: what it has for samples; None where it takes its input alone.
        camera: what it has for frames; None likewise.

    """

    name: str
    directory: Path
    core: Core
    arena_bytes: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    kernels: tuple[str, ...]
    macs: int
    optimize: Optimize = Optimize.BALANCED
    segments: tuple[Segment, ...] = ()
    pushed: PushedRows | None = None
    regions: tuple[Region, ...] = (Region(ARENA),)
    state_bytes: int = 0
    weight_bytes: int = 0
    filter_bytes: int = 0
    sparse: tuple[SparseLayer, ...] = ()
    arena_lower_bound: int = 0
    identity: str = ""
    model_sha256: str | None = None
    weights_section: str | None = None
    files: tuple[str, ...] = ()
    slices: Slices | None = None
    estimates: tuple[float, ...] | None = None
    blob: BlobCode | None = None
    selftest: Selftest | None = None
    board: BoardPort | None = None
    audio: AudioCode | None = None
    camera: CameraCode | None = None

    @property
    def sample_files(self) -> list[str]:
        """Names of its files for samples or frames, without their ends; empty without any."""
        if self.camera is not None:
            return [f"{self.name}_camera"]
        return [] if self.audio is None else [f"{self.name}_{self.audio.pipeline.takes}"]

    @property
    def instructions(self) -> int | None:
        """Instructions of one inference, estimated; None where its ops have no estimates."""
        return None if self.estimates is None else round(sum(self.estimates))

    def info_files(self, title: str, labels: Sequence[Sequence[str]]) -> dict[str, CFile]:
        """What the project says of a model that calls itself ``title``; see ``info``."""
        has_sha256 = self.model_sha256 is not None and self.blob is None
        ports = (self.inputs, self.outputs)
        return info_files(self.name, title, *ports, labels, has_sha256=has_sha256)

    def blob_files(self, request: Request) -> dict[str, str | bytes]:
        """The blob and its record, by name; nothing where constants are compiled in."""
        return {} if self.blob is None else blob_files(self.name, self.blob, request)

    def flash(self) -> dict[str, int | None]:
        """Bytes of flash, as far as they are known without a compiler, for ``--json``."""
        return {"code": None, "weights": self.weight_bytes, "filters": self.filter_bytes}

    def ports(self) -> dict[str, list[dict[str, Any]]]:
        """Inputs and outputs as plain data, for ``--json``."""

        def described(port: Port) -> dict[str, Any]:
            several = len(self.regions) > 1 and port.offset is not None
            region = {"region": self.regions[port.region].name} if several else {}
            return port.as_dict() | region

        return {
            "inputs": [described(port) for port in self.inputs],
            "outputs": [described(port) for port in self.outputs],
        }

    @property
    def row_by_row(self) -> tuple[str, ...]:
        """Numbers of the ops in each segment, as ``first-last``."""
        return tuple(f"{s.first}-{s.stop - 1}" for s in self.segments)
