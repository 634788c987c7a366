"""Backend ``numba``: compiled integer kernels, the whole model in one call.

Float ops run the NumPy reference, which spends its time in BLAS; ``choice`` says what else does.
Numba itself is imported when the first integer op is prepared.
"""

from __future__ import annotations

from tinyrt.backends.program import Program, StepList, Tensors
from tinyrt.backends.reference import reference_step
from tinyrt.ir import Graph
from tinyrt.ops.shared.spec import is_integer


def prepare(graph: Graph, tensors: Tensors) -> Program:
    """Pack every integer op for its kernel; others become NumPy calls.

    Raises:
        UnsupportedError: an integer op has no kernel here, or a float op has no reference.

    """
    nodes = list(graph.bound())
    if any(map(is_integer, nodes)):
        from tinyrt.backends.numba.choice import packer_of
        from tinyrt.backends.numba.compiled import CompiledProgram

        packers = {n.index: packer for n in nodes if (packer := packer_of(n)) is not None}
        if packers:
            return CompiledProgram(nodes, packers, tensors)
    return StepList([reference_step(node, tensors) for node in nodes])
