"""The C kernels as the memory planner sees them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from tinyrt.backends.c.choice import find
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Kernel, Target
from tinyrt.backends.c.mve.cost import CODE_BYTES, element_cost
from tinyrt.ir import BoundNode
from tinyrt.memory.sweep import Sweep


@dataclass(frozen=True, slots=True)
class CKernels:
    """The kernels of one instruction set; see ``tinyrt.memory.kernels.Kernels``."""

    target: Target

    @property
    def has_vectors(self) -> bool:
        """Whether these are the kernels of a Cortex-M55."""
        return self.target.isa is InstructionSet.MVE

    def kernel(self, node: BoundNode) -> Kernel | None:
        """The node's kernel; None where only the host can run it, which needs no scratch memory."""
        return find(node, self.target)

    def scratch_bytes(self, node: BoundNode) -> int:
        """Working memory of the node's kernel."""
        kernel = self.kernel(node)
        return 0 if kernel is None else kernel.scratch_bytes

    def sweep(self, node: BoundNode) -> Sweep | None:
        """The order in which the node's kernel reads and writes; None where no order is fixed."""
        kernel = self.kernel(node)
        return None if kernel is None else kernel.sweep()

    def cost(self, node: BoundNode) -> int:
        """Instructions of one run of the node's kernel."""
        kernel = self.kernel(node)
        return element_cost(node) if kernel is None or kernel.cost is None else int(kernel.cost())

    def code_bytes(self, ops: Iterable[str]) -> int:
        """Bytes of the code that calls of these ops share."""
        return sum(CODE_BYTES.get(op, 0) for op in set(ops))


@cache
def kernels_of(isa: InstructionSet) -> CKernels:
    """The kernels of an instruction set, as the planner and the checker take them."""
    return CKernels(Target(isa))
