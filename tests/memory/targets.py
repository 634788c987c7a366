"""Kernels that plans in tests are made for."""

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.planning import CKernels, kernels_of
from tinyrt.export.target import Optimize, find_core, target_of

SCALAR = kernels_of(InstructionSet.SCALAR)
DSP = kernels_of(InstructionSet.DSP)
MVE = kernels_of(InstructionSet.MVE)


def kernels_for(core: str) -> CKernels:
    """The kernels of a core."""
    return CKernels(target_of(find_core(core), Optimize.BALANCED))
