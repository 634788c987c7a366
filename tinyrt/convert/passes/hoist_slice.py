"""Element-wise ops move in front of a slice, so that they meet the layer it cuts."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.convert.passes.common import (
    ACTIVATIONS,
    AFFINE,
    CHANNEL_AXIS,
    Names,
    channel_vector,
    constant_data,
    is_private,
    producer,
    split_constant,
)
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule
from tinyrt.ops import OPS
from tinyrt.ops.slice import SliceAttrs


def hoist_over_slice(graph: Graph, node: Node) -> Patch | Refusal | None:
    """f(slice(conv(x))) = slice(f(conv(x))), for f that folds into the layer in front."""
    split = split_constant(graph, node) if node.op in AFFINE else (0, None)
    cut = producer(graph, node, split[0], op="slice") if split is not None else None
    if split is None or cut is None:
        return None
    layer = producer(graph, cut)
    if layer is None or layer.op not in CHANNEL_AXIS:
        return None
    if node.op in ACTIVATIONS and not OPS[layer.op].traits.fuses:
        return Refusal(node.name, "no transposed convolution clamps: behind the slice it is less")
    whole, part = graph.value(cut.inputs[0]), graph.value(cut.output)
    if not is_private(graph, whole.name) or not is_private(graph, part.name):
        return Refusal(node.name, f"'{cut.name}' or what it cuts has other readers")
    if cut.attrs_as(SliceAttrs).dropped or part.shape[-1:] != whole.shape[-1:]:
        return Refusal(node.name, f"'{cut.name}' cuts channels, or drops dimensions")
    constants = [constant_data(graph, n) for i, n in enumerate(node.inputs) if i != split[0]]
    if any(c is None or channel_vector(c, part.shape) is None for c in constants):
        return Refusal(node.name, "its constant is not one per channel")
    name = Names(graph).new(f"{whole.name}.{node.op}")
    inputs = tuple(whole.name if i == split[0] else n for i, n in enumerate(node.inputs))
    before = replace(node, name=name, inputs=inputs, outputs=(name,))
    behind = replace(cut, name=node.name, inputs=(name,), outputs=node.outputs)
    return Patch(remove=(cut, node), add=(before, behind), values=(replace(whole, name=name),))


HOIST_OVER_SLICE = Rule("hoist_over_slice", (*AFFINE, "batch_norm", *ACTIVATIONS), hoist_over_slice)
