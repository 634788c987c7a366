"""What the user asks of an export, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Choices
from tinyrt.convert.port_types import port_type_of
from tinyrt.errors import UnsupportedError
from tinyrt.export.layouts import CMAKE, Layout, find_layout
from tinyrt.export.memories import Memories
from tinyrt.export.names import OWN_NAMES, Naming
from tinyrt.export.slices import check_limit
from tinyrt.export.target import Core, Optimize, find_core, find_optimize, without_unaligned
from tinyrt.ir import DType


@dataclass(frozen=True, slots=True)
class Rows:
    """The user's options for rows: whether ops may run by rows, whether the input comes by rows."""

    allowed: bool
    pushed: bool


@dataclass(frozen=True, slots=True)
class Request:
    """The choices that an export is made with.

    Attributes:
        core: the processor core.
        optimize: the aim of the code.
        max_arena: bytes that the arena may take; None for any number.
        rows: which rows the ops and the input may come by.
        memories: which memory there is and what lies in it.
        naming: what the user calls the model.
        slices: most instructions of a slice; None for inferences in one go.
        blob: whether constants lie in a blob, apart from the code.
        choices: for the blob of code that is there already, what was chosen for it; else None.
        layout: the shape of the folder.
        selftest: golden vectors of the test on the board; None without a test.
        board: whether there are protocols for a serial port.
        input_type: type of the inputs; None for the model's own.
        output_type: type of the outputs; None likewise.

    """

    core: Core
    optimize: Optimize
    max_arena: int | None
    rows: Rows
    memories: Memories
    naming: Naming = OWN_NAMES
    slices: int | None = None
    blob: bool = False
    choices: Choices | None = None
    layout: Layout = CMAKE
    selftest: int | None = None
    board: bool = False
    input_type: DType | None = None
    output_type: DType | None = None

    @classmethod
    def of(
        cls,
        core: str,
        optimize: str,
        max_arena: int | None,
        rows: Rows,
        memories: Memories | None,
        naming: Naming = OWN_NAMES,
        *,
        unaligned: bool = True,
        slices: int | None = None,
        blob: bool = False,
        layout: str = CMAKE.name,
        selftest: int | None = None,
        board: bool = False,
        input_type: str | None = None,
        output_type: str | None = None,
    ) -> Request:
        """The request, with core and aim by their names; other arguments as for ``export_c``.

        Raises:
            UnsupportedError: there is no such core, aim or layout, no option against unaligned
                words, slices are too short, the layout is not for the core, or a blob is asked for
                beside what it excludes.

        """
        target, aim = find_core(core), find_optimize(optimize)
        target = target if unaligned else without_unaligned(target)
        if slices is not None:
            check_limit(slices)
        memories = memories or Memories()
        if blob:
            check_blob(target, rows, memories, selftest)
        if board and blob:
            raise UnsupportedError(
                "a board's identity is that of one set of constants, and a blob brings others",
                expected="--board or --blob, not both",
                hint="prove the model with --board first, then export it with --blob",
            )
        if blob and (input_type, output_type) != (None, None):
            raise UnsupportedError(
                "a blob brings other scales, and types of ports are written into the code",
                expected="--blob, or --input-type and --output-type",
                hint="leave out --blob, or convert values by the scales that NAME_input_scale says",
            )
        return cls(
            *(target, aim, max_arena, rows, memories, naming, slices, blob),
            layout=find_layout(layout, target),
            selftest=selftest,
            board=board,
            input_type=None if input_type is None else port_type_of(input_type),
            output_type=None if output_type is None else port_type_of(output_type),
        )


def check_blob(core: Core, rows: Rows, memories: Memories, selftest: int | None) -> None:
    """Check that nothing stands against constants in a blob.

    Raises:
        UnsupportedError: something does.

    """
    if rows.allowed or rows.pushed:
        raise UnsupportedError(
            "ops that run row by row cannot read their constants from a blob",
            expected="an arena with room for whole tensors",
            hint="leave out --blob, or --by-rows and --input-rows",
        )
    if memories.weights_section is not None:
        raise UnsupportedError(
            "a blob has no linker section for weights: it lies wherever the program finds it",
            expected="--blob or --weights-section, not both",
            hint="leave out --weights-section, and place the array NAME_blob in your linker script",
        )
    if core.isa in (InstructionSet.AVX2, InstructionSet.AVX512):
        raise UnsupportedError(
            f"there are no blobs for {core.name}", expected="a core of a device, or host"
        )
    if selftest is not None:
        raise UnsupportedError(
            "golden answers are of one set of constants, and a blob brings others",
            expected="--selftest or --blob, not both",
            hint="leave out --selftest: opening a blob checks its bytes",
        )
