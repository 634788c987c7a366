"""Processor cores: their compiler flags and instruction sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Target
from tinyrt.backends.c.weights import BYTE_PAYS, FAST_BYTE_PAYS
from tinyrt.errors import UnsupportedError
from tinyrt.text import closest

ARM, RISCV, HOST = "arm-none-eabi-", "riscv64-unknown-elf-", ""
"""Prefixes of the compilers' names: Arm, RISC-V, and this machine's own."""


@dataclass(frozen=True, slots=True)
class Core:
    """One processor core.

    Attributes:
        name: as the ``--core`` option spells it.
        isa: the kernels' variant.
        flags: compiler options that select the core, its float ABI and its C library.
        prefix: prefix of the names of its compiler and binary tools.
        unaligned: whether code may load words at any address, where the core can.
        processor: what QEMU calls it, on boards that take several; empty where the board says all.
        base: the core that this one is a variant of, with more instructions; empty for others.
        link_flags: what the linker is told beside ``flags``.

    """

    name: str
    isa: InstructionSet
    flags: tuple[str, ...]
    prefix: str = ARM
    unaligned: bool = True
    processor: str = ""
    base: str = ""
    link_flags: tuple[str, ...] = ()

    @property
    def like(self) -> str:
        """The core whose kernels and boards are this one's, too."""
        return self.base or self.name

    @property
    def general_isa(self) -> InstructionSet:
        """The variant of all kernels but those for vectors of RISC-V, which are few."""
        return InstructionSet.SCALAR if self.isa is InstructionSet.RVV else self.isa

    @property
    def compiler(self) -> str:
        """The C compiler's name."""
        return f"{self.prefix}gcc" if self.prefix else "cc"

    @property
    def archiver(self) -> str:
        """The name of the program that makes static libraries."""
        return f"{self.prefix}ar"


class Optimize(Enum):
    """The goal of an exported project's code, as the ``--optimize`` option spells it.

    The choice goes into the project's build files as compiler options. Kernels depend on these: for
    size they do not unroll inner loops, for speed they unroll them more (``TINYRT_LOOP_TAPS``).
    """

    SPEED = "speed"
    BALANCED = "balanced"
    SIZE = "size"

    @property
    def level(self) -> str:
        """The compiler's option."""
        return "-Os" if self is Optimize.SIZE else "-O2"

    @property
    def definitions(self) -> tuple[str, ...]:
        """Macros that the kernels ask for."""
        return ("TINYRT_FAST",) if self is Optimize.SPEED else ()

    @property
    def flags(self) -> str:
        """All of these as the compiler's options."""
        return " ".join([self.level, *(f"-D{name}" for name in self.definitions)])


def _cortex_m(suffix: str, isa: InstructionSet, *fpu: str) -> Core:
    name = f"cortex-m{suffix}"
    return Core(name, isa, (f"-mcpu={name}", "-mthumb", *fpu))


_RV32IMC = Core(
    "rv32imc",
    InstructionSet.SCALAR,
    ("-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs"),
    RISCV,
    processor="rv32,zba=false,zbb=false",
)


def _riscv_variant(name: str, *extensions: str) -> Core:
    """``rv32imc`` with extensions: the compiler uses their instructions in the same C code.

    No C library is built for them. So images are linked with that of ``rv32imc``.
    """
    first, *others = _RV32IMC.flags
    return replace(
        _RV32IMC,
        name=name,
        flags=("_".join((first, *extensions)), *others),
        processor=",".join(("rv32", *(f"{extension}=true" for extension in extensions))),
        base=_RV32IMC.name,
        link_flags=(first,),
    )


CORES: dict[str, Core] = {
    core.name: core
    for core in (
        _cortex_m("0", InstructionSet.SCALAR),
        _cortex_m("0plus", InstructionSet.SCALAR),
        _cortex_m("3", InstructionSet.SCALAR),
        _cortex_m("4", InstructionSet.DSP, "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
        _cortex_m("7", InstructionSet.DSP, "-mfloat-abi=hard", "-mfpu=fpv5-d16"),
        _cortex_m("23", InstructionSet.SCALAR),
        _cortex_m("33", InstructionSet.DSP, "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"),
        _cortex_m("55", InstructionSet.MVE, "-mfloat-abi=hard"),
        _cortex_m("85", InstructionSet.MVE, "-mfloat-abi=hard"),
        _RV32IMC,
        _riscv_variant("rv32imcb", "zba", "zbb"),
        replace(
            _riscv_variant("rv32imcv", "zicsr", "zve32x"),
            isa=InstructionSet.RVV,
            processor="rv32,v=true,vlen=128",
        ),
        Core("host", InstructionSet.SCALAR, (), HOST),
        Core("host-avx2", InstructionSet.AVX2, ("-mavx2",), HOST),
        Core(
            "host-avx512",
            InstructionSet.AVX512,
            ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512vnni"),
            HOST,
        ),
    )
}


MLA_CORES = frozenset({"cortex-m3"})
"""Cores of the scalar kernels that multiply and add in one instruction."""

HIGH_PRODUCT_CORES = MLA_CORES | {_RV32IMC.name}
"""Cores of the scalar kernels that give the upper half of a product by an instruction."""

UNSIGNED_CORES = frozenset({"cortex-m0", "cortex-m0plus", "cortex-m23"})
"""Cores that load a byte with its sign by two instructions, where its place is a number."""


def target_of(core: Core, optimize: Optimize) -> Target:
    """What kernels are chosen for."""
    byte_pays = FAST_BYTE_PAYS if optimize is Optimize.SPEED else BYTE_PAYS
    mla = core.like in MLA_CORES
    strips = core.isa is InstructionSet.RVV
    fours = core.general_isa is InstructionSet.SCALAR and core.prefix != HOST
    small = optimize is Optimize.SIZE
    raised = core.like in UNSIGNED_CORES
    high = core.like in HIGH_PRODUCT_CORES
    return Target(
        core.general_isa, mla, high, fours, raised, small=small, byte_pays=byte_pays, strips=strips
    )


def find_optimize(name: str) -> Optimize:
    """The optimisation of that name.

    Raises:
        UnsupportedError: the name is unknown; the message lists the names that exist.

    """
    try:
        return Optimize(name)
    except ValueError:
        names = ", ".join(o.value for o in Optimize)
        near = closest(name, names.split(", "))
        raise UnsupportedError(f"cannot optimise for '{name}'", expected=names, hint=near) from None


def without_unaligned(core: Core) -> Core:
    """The core, for code that loads words at multiples of their size alone.

    Raises:
        UnsupportedError: the core is no Arm core.

    """
    if core.prefix != ARM:
        raise UnsupportedError(
            f"there is no option of {core.compiler} for {core.name} against unaligned words",
            expected="an Arm core",
            hint="export without --no-unaligned, and choose the compiler's options yourself",
        )
    return replace(core, flags=(*core.flags, "-mno-unaligned-access"), unaligned=False)


def find_core(name: str) -> Core:
    """The core of that name; ``m4`` is short for ``cortex-m4``.

    Raises:
        UnsupportedError: the name is unknown; the message lists the names that exist.

    """
    core = CORES.get(name) or CORES.get(f"cortex-{name}")
    if core is None:
        short = [known.removeprefix("cortex-") for known in CORES]
        bare = name.removeprefix("cortex-")
        near = closest(bare, short) or (closest(name, CORES) if bare == name else None)
        raise UnsupportedError(f"there is no core '{name}'", expected=", ".join(CORES), hint=near)
    return core
