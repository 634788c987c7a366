"""Reshapes move behind element-wise ops, so that these meet the ops in front of them."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.convert.passes.common import (
    BINARY,
    UNARY,
    Names,
    channel_vector,
    is_private,
    producer,
    reordered,
    spend_on_arrays,
    split_constant,
)
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape, Value
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.transpose import TransposeAttrs


def sink_reshape(graph: Graph, node: Node) -> Patch | Refusal | None:
    """f(reshape(x)) = reshape(f(x)) for element-wise f, also with constants per channel."""
    split = split_constant(graph, node) if node.op in BINARY else (0, None)
    if split is None:
        return None
    position = split[0]
    reshape = producer(graph, node, position, op="reshape")
    if reshape is None:
        return None
    if not is_private(graph, reshape.output):
        return Refusal(node.name, f"the output of '{reshape.name}' has other readers")
    source, shaped = graph.value(reshape.inputs[0]), graph.value(reshape.output)
    if graph.value(node.output).shape != shaped.shape:
        return Refusal(node.name, "it makes its operand larger")
    names, inputs, constants = Names(graph), list(node.inputs), []
    inputs[position] = source.name
    for i, constant in enumerate(graph.value(n) for n in node.inputs):
        if i == position:
            continue
        if constant.size == 1 and node.op in BINARY:
            if len(constant.shape) <= len(source.shape):
                continue
            vector = None if constant.data is None else constant.data.reshape(-1)
        else:
            vector = None if constant.data is None else channel_vector(constant.data, shaped.shape)
            vector = vector if source.shape[-1:] == shaped.shape[-1:] else None
        if vector is None or not source.shape:
            return Refusal(node.name, f"'{reshape.name}' changes what its constant applies to")
        if len(constant.shape) > 1:
            name = names.new(f"{constant.name}.vector")
            spend_on_arrays(f"the constant '{name}'", vector.size)
            constants.append(reordered(constant, name, vector.copy()))
            inputs[i] = constants[-1].name
    op = replace(node, inputs=tuple(inputs))
    return _reshaped_behind(graph, names, (reshape, node), op, source.shape, tuple(constants))


def sink_reshapes(graph: Graph, node: Node) -> Patch | Refusal | None:
    """f(reshape(x), reshape(y)) = reshape(f(x, y)) for x and y of one shape."""
    first, second = (producer(graph, node, i, op="reshape") for i in (0, 1))
    if first is None or second is None or first is second:
        return None
    x, y = graph.value(first.inputs[0]), graph.value(second.inputs[0])
    if x.shape != y.shape or {graph.value(n).shape for n in node.inputs} != {
        graph.value(node.output).shape
    }:
        return Refusal(node.name, f"its operands come from shapes {x.shape} and {y.shape}")
    falling = tuple(r for r in (first, second) if is_private(graph, r.output))
    if not falling:
        return Refusal(node.name, "both of its operands have other readers")
    op = replace(node, inputs=(x.name, y.name))
    return _reshaped_behind(graph, Names(graph), (*falling, node), op, x.shape)


def sink_pad(graph: Graph, node: Node) -> Patch | Refusal | None:
    """reshape(pad(x)) = pad(reshape(x)), where the reshape only inserts dimensions of 1."""
    pad = producer(graph, node, op="pad")
    if pad is None:
        return None
    if not is_private(graph, pad.output):
        return Refusal(node.name, f"the output of '{pad.name}' has other readers")
    source, output = graph.value(pad.inputs[0]), graph.value(node.output)
    old_attrs = pad.attrs_as(PadAttrs)
    padded = list(zip(graph.value(pad.output).shape, old_attrs.paddings, strict=True))
    paddings = []
    for size in output.shape:
        is_inserted = not padded or (size == 1 and padded[0][0] != 1)
        paddings.append((0, 0) if is_inserted else padded.pop(0)[1])
    sizes = zip(output.shape, paddings, strict=True)
    shape = tuple(size - before - after for size, (before, after) in sizes)
    if padded or any(d < 1 for d in shape) or Value("", source.dtype, shape).size != source.size:
        return Refusal(node.name, "it does more than insert dimensions of 1")
    name = Names(graph).new(f"{source.name}.reshaped")
    inner = replace(source, name=name, shape=shape)
    reshape = replace(node, name=name, inputs=pad.inputs, outputs=(name,))
    reshape = replace(reshape, attrs=ReshapeAttrs(shape))
    attrs = PadAttrs(tuple(paddings), old_attrs.value)
    new_pad = replace(pad, inputs=(name,), outputs=node.outputs, attrs=attrs)
    return Patch(remove=(pad, node), add=(reshape, new_pad), values=(inner,))


def sink_transpose(graph: Graph, node: Node) -> Patch | Refusal | None:
    """reshape(transpose(x)) = transpose(reshape(x)), where it only inserts dimensions of 1."""
    transpose = producer(graph, node, op="transpose")
    shape, wide = graph.value(node.inputs[0]).shape, graph.value(node.output).shape
    if transpose is None or len(wide) <= len(shape):
        return None
    if not is_private(graph, transpose.output):
        return Refusal(node.name, f"the output of '{transpose.name}' has other readers")
    positions = _places(shape, wide)
    if positions is None:
        return Refusal(node.name, "it does more than insert dimensions of 1")
    perm, source = transpose.attrs_as(TransposeAttrs).perm, graph.value(transpose.inputs[0])
    # Axes of the source, and for each inserted one the axis that it comes before.
    before = [perm[positions.index(i)] if i in positions else None for i in range(len(wide))]
    anchors = [next((a for a in before[i:] if a is not None), len(shape)) for i in range(len(wide))]
    order = sorted(range(len(wide)), key=lambda i: (anchors[i], i in positions))
    name = Names(graph).new(f"{source.name}.reshaped")
    inner = replace(source, name=name, shape=tuple(wide[i] for i in order))
    reshape = replace(node, name=name, inputs=transpose.inputs, outputs=(name,))
    reshape = replace(reshape, attrs=ReshapeAttrs(inner.shape))
    attrs = TransposeAttrs(tuple(order.index(i) for i in range(len(wide))))
    new_transpose = replace(
        transpose, name=node.name, inputs=(name,), outputs=node.outputs, attrs=attrs
    )
    return Patch(remove=(node,), add=(reshape, new_transpose), values=(inner,))


def _places(shape: Shape, wide: Shape) -> list[int] | None:
    """Where the dimensions of a shape are in a wider one; None where more than 1s are new."""
    places: list[int] = []
    for i, size in enumerate(wide):
        if len(places) < len(shape) and size == shape[len(places)]:
            places.append(i)
        elif size != 1:
            return None
    return places if len(places) == len(shape) else None


def _reshaped_behind(
    graph: Graph,
    names: Names,
    removed: tuple[Node, ...],
    op: Node,
    shape: Shape,
    constants: tuple[Value, ...] = (),
) -> Patch:
    """The op before the reshape; it keeps its output's name, unless that is the model's output."""
    output = graph.value(op.output)
    is_output = output.name in graph.outputs
    flat = names.new(f"{output.name}.reshaped")
    before, after = (flat, output.name) if is_output else (output.name, flat)
    values = (replace(output, name=before, shape=shape), replace(output, name=after))
    reshape = Node("reshape", after, (before,), (after,), ReshapeAttrs(output.shape))
    return Patch(
        remove=removed,
        add=(replace(op, outputs=(before,)), reshape),
        values=(*values, *constants),
        rename={} if is_output else {output.name: after},
    )


SINK_RESHAPE = Rule("sink_reshape", (*UNARY, *BINARY, "batch_norm"), sink_reshape)
SINK_RESHAPES = Rule("sink_reshapes", tuple(BINARY), sink_reshapes)
SINK_TRANSPOSE = Rule("sink_transpose", ("reshape",), sink_transpose)
SINK_PAD = Rule("sink_pad", ("reshape",), sink_pad)
