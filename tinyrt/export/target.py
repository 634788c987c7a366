"""Processor cores: what the compiler must be told about each."""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.errors import UnsupportedError
from tinyrt.ops.spec import InstructionSet


@dataclass(frozen=True, slots=True)
class Core:
    """One processor core.

    Attributes:
        name: as the ``--core`` option spells it.
        isa: the kernels' variant.
        flags: compiler options that select the core and its float ABI.

    """

    name: str
    isa: InstructionSet
    flags: tuple[str, ...]


def _cortex_m(suffix: str, isa: InstructionSet, *fpu: str) -> Core:
    name = f"cortex-m{suffix}"
    return Core(name, isa, (f"-mcpu={name}", "-mthumb", *fpu))


CORES: dict[str, Core] = {
    core.name: core
    for core in (
        _cortex_m("0", InstructionSet.SCALAR),
        _cortex_m("3", InstructionSet.SCALAR),
        _cortex_m("4", InstructionSet.DSP, "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
        _cortex_m("7", InstructionSet.DSP, "-mfloat-abi=hard", "-mfpu=fpv5-d16"),
        _cortex_m("33", InstructionSet.DSP, "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"),
        _cortex_m("55", InstructionSet.MVE, "-mfloat-abi=hard"),
        Core("host-avx2", InstructionSet.AVX2, ("-mavx2",)),
        Core(
            "host-avx512",
            InstructionSet.AVX512,
            ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512vnni"),
        ),
    )
}


def find_core(name: str) -> Core:
    """The core of that name.

    Raises:
        UnsupportedError: there is none; the message lists those there are.

    """
    if name not in CORES:
        raise UnsupportedError(f"there is no core '{name}'", expected=", ".join(CORES))
    return CORES[name]
