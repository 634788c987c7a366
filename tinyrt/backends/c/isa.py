"""Instruction sets that C kernels are written for."""

from __future__ import annotations

from enum import Enum


class InstructionSet(Enum):
    """The variants of the C kernels; the value is the name of their folder and headers."""

    SCALAR = "scalar"
    """Portable C."""
    DSP = "dsp"
    """16-bit multiply-accumulate pairs in 32-bit registers."""
    MVE = "mve"
    """128-bit vectors."""
    RVV = "rvv"
    """Vectors of RISC-V, of any length, with integers of up to 32 bits."""
    AVX2 = "avx2"
    """256-bit vectors of x86 hosts."""
    AVX512 = "avx512"
    """512-bit vectors of x86 hosts, with VNNI's products of bytes."""
