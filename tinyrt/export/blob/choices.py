"""Choices of kernels that follow from weights and scales, kept for the models of later blobs."""

from __future__ import annotations

from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Choices, Target
from tinyrt.backends.c.mve.more import room_of
from tinyrt.backends.c.weights import Weights
from tinyrt.export.sparsity import sparse_layers
from tinyrt.ir import BoundNode, DType, Graph
from tinyrt.ops import prepared
from tinyrt.ops.shared.spec import Form, form_of
from tinyrt.ops.shared.windowed import ConvolutionS8

LINEAR = "tinyrt_linear_sum"
"""How kernels of sums with one rounding begin."""


RELU = "_relu_s8"
"""How kernels end whose outputs take no sign."""

LAYERS = frozenset({"conv2d", "fully_connected"})
"""Ops that have such kernels."""


def choices_of(graph: Graph, target: Target, *, sliced: bool) -> Choices:
    """What pays for a model's own weights and scales.

    Args:
        graph: the model.
        target: what kernels are chosen for.
        sliced: whether ops are cut into slices: where a slice of weights without zeros begins would
            follow from the weights.

    """
    layers = () if sliced else sparse_layers(graph, target)
    sums = [n for n in graph.bound() if n.op in ("add", "sub") and form_of(n) is Form.INT8]
    plain = (n.index for n in sums if not choose(n, target).name.startswith(LINEAR))
    blocks = (layer.index for layer in layers if layer.form is Weights.BLOCKS)
    stored = ((n.index, choose(n, target).stored) for n in graph.bound() if n.op == "conv2d")
    tiles = (i for i, form in stored if form is not None and form.form is Weights.WINOGRAD)
    relus = (n.index for n in graph.bound() if n.op in LAYERS and RELU in choose(n, target).name)
    vectors = target.isa is InstructionSet.MVE
    wide = (n for n in graph.bound() if vectors and n.op == "conv2d" and _is_wide(n))
    room = frozenset((n.index, room_of(n, prepared(n, ConvolutionS8).window)) for n in wide)
    return Choices(frozenset(blocks), frozenset(plain), frozenset(tiles), frozenset(relus), room)


def _is_wide(node: BoundNode) -> bool:
    return node.input(1).dtype is DType.INT16
