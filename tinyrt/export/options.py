"""What the user may ask of an export, beside its core and aim: each option stands here alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import get_type_hints

from tinyrt.convert.port_types import port_type_of
from tinyrt.errors import UnsupportedError
from tinyrt.export.layouts import CMAKE
from tinyrt.export.memories import Memories
from tinyrt.export.names import Naming
from tinyrt.export.slices import check_limit
from tinyrt.ir import DType

ONE_ARENA = Memories()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """The options of an export; each folder of several models has the same for all of them.

    Attributes:
        max_arena: bytes that a model's arena may take; None for any number. Ops run row by row
            where they must.
        by_rows: whether ops may run row by row, where that makes the arena smaller.
        input_rows: whether the input is pushed row by row: the project has the functions
            ``<name>_begin`` and ``<name>_push_row`` instead of ``<name>_invoke``. Inferences of
            models that share an arena still take turns, from ``begin`` to the last row.
        memories: which memory there is and what lies in it; one arena for all by default.
        name: the model's name in C, by which files and functions begin; the file's by default.
        prefix: what stands before that name and the library's, ``acme`` or ``acme_``.
        info: whether the project says its tensors' names and the model's labels, ``<name>_info``.
        unaligned: whether code may load words at any address; if not, it is for compilers with
            ``-mno-unaligned-access`` only, and does not compile without.
        slices: most instructions, as estimated, that an inference computes in one go: the project
            has the functions ``<name>_begin``, ``_step`` and ``_cancel``, too. None without them.
        blob: whether constants lie in ``<name>.blob``, apart from the code, for field updates.
        layout: the shape of the folder, a name in ``tinyrt.export.layouts.LAYOUTS``.
        selftest: how many golden vectors the project's ``<name>_selftest`` runs; None without it.
        board: whether the project has ``<name>_board``: protocols by which ``tinyrt validate``, and
            MLPerf Tiny's host runner, run the model over a serial port.
        input_type: ``float32``, ``uint8``, ``int16`` or ``int8``, of all inputs; None for the
            model's own.
        output_type: of all outputs, likewise.

    Raises:
        UnsupportedError: a value is of another kind than its option, a name or a type will not do,
            slices are too short, or two options exclude each other.

    """

    max_arena: int | None = None
    by_rows: bool = False
    input_rows: bool = False
    memories: Memories = ONE_ARENA
    name: str | None = None
    prefix: str | None = None
    info: bool = False
    unaligned: bool = True
    slices: int | None = None
    blob: bool = False
    layout: str = CMAKE.name
    selftest: int | None = None
    board: bool = False
    input_type: str | None = None
    output_type: str | None = None

    def __post_init__(self) -> None:
        self._check_kinds()
        Naming(self.name, self.prefix)
        if self.slices is not None:
            check_limit(self.slices)
        if self.blob:
            self._check_blob()
        for port_type in (self.input_type, self.output_type):
            if port_type is not None:
                port_type_of(port_type)

    @property
    def naming(self) -> Naming:
        """What the model is to be called."""
        return Naming(self.name, self.prefix)

    @property
    def port_types(self) -> tuple[DType | None, DType | None]:
        """The types of inputs and outputs; None for the model's own."""
        types = (self.input_type, self.output_type)
        first, last = (None if name is None else port_type_of(name) for name in types)
        return first, last

    def require_only(self, allowed: Collection[str], what: str) -> None:
        """Refuse options that would reach nothing.

        Args:
            allowed: names of those that reach something; the others must be left out.
            what: the call that takes these alone, for the error.

        Raises:
            UnsupportedError: another option was given.

        """
        for field in fields(self):
            if field.name not in allowed and getattr(self, field.name) != field.default:
                raise UnsupportedError(
                    f"{what} takes no option '{field.name}'",
                    expected=", ".join(allowed),
                    hint=f"leave {field.name} out; export_c takes all options",
                )

    def _check_kinds(self) -> None:
        for name, kind in get_type_hints(ExportOptions).items():
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise UnsupportedError(
                    f"the option '{name}' cannot be {value!r}",
                    expected=getattr(kind, "__name__", str(kind)),
                    hint=f"leave {name} out for what it is by default",
                )

    def _check_blob(self) -> None:
        """Check that nothing stands against constants in a blob."""
        if self.by_rows or self.input_rows:
            raise UnsupportedError(
                "ops that run row by row cannot read their constants from a blob",
                expected="an arena with room for whole tensors",
                hint="leave out --blob, or --by-rows and --input-rows",
            )
        if self.memories.weights_section is not None:
            raise UnsupportedError(
                "a blob has no linker section for weights: it lies wherever the program finds it",
                expected="--blob or --weights-section, not both",
                hint="leave out --weights-section, and place the array NAME_blob in your linker "
                "script",
            )
        if self.selftest is not None:
            raise UnsupportedError(
                "golden answers are of one set of constants, and a blob brings others",
                expected="--selftest or --blob, not both",
                hint="leave out --selftest: opening a blob checks its bytes",
            )
        if self.board:
            raise UnsupportedError(
                "a board's identity is that of one set of constants, and a blob brings others",
                expected="--board or --blob, not both",
                hint="prove the model with --board first, then export it with --blob",
            )
        if (self.input_type, self.output_type) != (None, None):
            raise UnsupportedError(
                "a blob brings other scales, and types of ports are written into the code",
                expected="--blob, or --input-type and --output-type",
                hint="leave out --blob, or convert values by the scales that NAME_input_scale says",
            )


NO_OPTIONS = ExportOptions()
"""Everything as it is by default."""
