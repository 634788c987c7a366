"""The user's choices for training for int8."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tinyrt.errors import DataError
from tinyrt.ir import BoundNode, DType
from tinyrt.ops import OPS


class Scales(StrEnum):
    """Where scales come from."""

    RANGE = "range"
    """From the values: the activations' running range, the weights' greatest magnitude."""
    LSQ = "lsq"
    """Trained on what rounding and clipping cost (learned step size)."""
    PACT = "pact"
    """Trained on what clipping costs: the range's limits are learned."""


@dataclass(frozen=True, slots=True)
class QatConfig:
    """The user's choices.

    Attributes:
        activation_scales: where the activations' scales come from.
        weight_scales: where the weights' scales come from.
        weight_bits: of the weights, 8 or 4. Layers with few weights (depthwise ones), and ops
            without a kernel for int4, keep 8.
        int4_layers: outputs of further layers whose weights have 4 bits, as a plan for a budget
            names them (``MixedReport``).
        activations: INT8, or INT16 for int16x8: int16 activations, int8 weights.
        per_channel_dense: one scale per output channel for fully connected layers too, as the
            quantiser has it by default; int4 ones have one, as their kernels do.

    Raises:
        DataError: other bits than 8 or 4, other activations, or int4 weights beside int16 ones.

    """

    activation_scales: Scales = Scales.RANGE
    weight_scales: Scales = Scales.RANGE
    weight_bits: int = 8
    int4_layers: frozenset[str] = frozenset()
    per_channel_dense: bool = True
    activations: DType = DType.INT8

    def __post_init__(self) -> None:
        if self.weight_bits not in (4, 8):
            raise DataError(f"weights of {self.weight_bits} bits", expected="8 or 4")
        if self.activations not in (DType.INT8, DType.INT16):
            raise DataError(f"activations of {self.activations.name}", expected="INT8 or INT16")
        if self.activations is DType.INT16 and (self.weight_bits == 4 or self.int4_layers):
            raise DataError(
                "int4 weights beside activations of INT16",
                expected="weights of 8 bits, which is what kernels for int16 have",
            )

    def bits(self, node: BoundNode) -> int:
        """Of the weights of a layer."""
        narrow = self.weight_bits == 4 and node.op != "depthwise_conv2d"
        narrow = narrow or node.output.name in self.int4_layers
        return 4 if narrow and OPS[node.op].int4_weights else 8
