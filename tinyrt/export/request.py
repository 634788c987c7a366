"""An export's options together with what it is for, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Choices
from tinyrt.errors import UnsupportedError
from tinyrt.export.layouts import CMAKE, Layout, find_layout
from tinyrt.export.options import NO_OPTIONS, ExportOptions
from tinyrt.export.target import Core, Optimize, find_core, find_optimize, without_unaligned


@dataclass(frozen=True, slots=True)
class Request:
    """The choices that an export is made with.

    Attributes:
        core: the processor core, without unaligned words where they are not wanted.
        optimize: the aim of the code.
        options: all else that the user asks for.
        layout: the shape of the folder, for this core.
        choices: for the blob of code that is there already, what was chosen for it; else None.

    """

    core: Core
    optimize: Optimize
    options: ExportOptions = NO_OPTIONS
    layout: Layout = CMAKE
    choices: Choices | None = None

    @classmethod
    def of(cls, core: str, optimize: str, options: ExportOptions = NO_OPTIONS) -> Request:
        """The request, with core and aim by their names.

        Raises:
            UnsupportedError: there is no such core, aim or layout, no option against unaligned
                words, or the layout or the blob is not for the core.

        """
        target, aim = find_core(core), find_optimize(optimize)
        target = target if options.unaligned else without_unaligned(target)
        if options.blob and target.isa in (InstructionSet.AVX2, InstructionSet.AVX512):
            raise UnsupportedError(
                f"there are no blobs for {target.name}", expected="a core of a device, or host"
            )
        return cls(target, aim, options, find_layout(options.layout, target))
