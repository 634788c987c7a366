"""The user's choices for training for int8."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from glob import escape

from tinyrt.errors import DataError
from tinyrt.ir import BoundNode, DType, Graph
from tinyrt.ops import OPS
from tinyrt.quantize import QuantConfig, Scheme
from tinyrt.quantize.schemes import IN_DTYPE
from tinyrt.train.constants import SEQUENCE


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
            names them (``MixedReport``). Those of LSTMs keep to 4 bits in int8.
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
        named = node.output.name in self.int4_layers
        narrow = self.weight_bits == 4 and node.op != "depthwise_conv2d"
        if OPS[node.op].int4_weights:
            return 4 if narrow or named else 8
        return 4 if named and node.op == SEQUENCE else 8

    def quantised(self, graph: Graph) -> QuantConfig:
        """The schemes of the graph in integers, but for int4 weights of layers other than LSTMs."""
        narrow = (n.output.name for n in graph.bound() if n.op == SEQUENCE and self.bits(n) == 4)
        return QuantConfig(
            scheme=IN_DTYPE[self.activations],
            scheme_for=tuple((escape(name), Scheme.INT4) for name in narrow),
            per_channel_dense=self.per_channel_dense,
        )
