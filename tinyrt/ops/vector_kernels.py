"""Instruction sets whose convolutions and dense layers have kernels and packings of their own."""

from __future__ import annotations

from typing import Protocol

from tinyrt.ir import BoundNode
from tinyrt.ops import packing_mve, packing_x86
from tinyrt.ops.isa import InstructionSet
from tinyrt.ops.requant import Requant
from tinyrt.ops.spec import CWriter
from tinyrt.ops.sweep import Sweep
from tinyrt.ops.window import Window


class VectorKernels(Protocol):
    """What such a set's module offers: scratch bytes, orders of reads and writes, and calls."""

    def convolution_scratch(self, node: BoundNode, window: Window) -> int:
        """Scratch bytes of a convolution."""
        ...

    def convolution_sweep(self, node: BoundNode, window: Window) -> Sweep | None:
        """The order of a convolution; None where it keeps to none."""
        ...

    def emit_convolution(
        self, node: BoundNode, window: Window, x_zp: int, requant: Requant, c: CWriter
    ) -> None:
        """Write the call of a convolution."""
        ...

    def depthwise_scratch(self, node: BoundNode, window: Window) -> int:
        """Scratch bytes of a depthwise convolution."""
        ...

    def depthwise_sweep(self, node: BoundNode, window: Window) -> Sweep | None:
        """The order of a depthwise convolution; None where it keeps to none."""
        ...

    def emit_depthwise(
        self, node: BoundNode, window: Window, x_zp: int, requant: Requant, c: CWriter
    ) -> None:
        """Write the call of a depthwise convolution."""
        ...

    def dense_scratch(self, node: BoundNode) -> int:
        """Scratch bytes of a dense layer."""
        ...

    def emit_fully_connected(
        self, node: BoundNode, x_zp: int, requant: Requant, c: CWriter
    ) -> None:
        """Write the call of a dense layer."""
        ...


VECTOR_KERNELS: dict[InstructionSet, VectorKernels] = {
    InstructionSet.MVE: packing_mve,
    InstructionSet.AVX2: packing_x86,
    InstructionSet.AVX512: packing_x86,
}
"""Instruction set -> its kernels; those that are not here share packed blocks."""
