"""The heads of attention: one move for queries, keys and values, and products of turned keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tinyrt.convert.passes.common import Names, is_private, permuted, producer
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

MAX_DIMS = 5
"""TFLite's SLICE cuts no more."""

MAX_STRIDED_DIMS = 4
"""TFLM's STRIDED_SLICE cuts no more."""


def transpose_into_product(graph: Graph, node: Node) -> Patch | Refusal | None:
    """X @ transpose(y, (..., k, n)) = x @ transpose(y, (..., n, k)).T: rows are moved whole."""
    return _into_operand(graph, node, 1)


def transpose_into_left(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(x, (..., m, k)) @ y = transpose(x, (..., k, m)).T @ y: rows are moved whole."""
    return _into_operand(graph, node, 0)


def _into_operand(graph: Graph, node: Node, i: int) -> Patch | Refusal | None:
    transpose = producer(graph, node, i, op="transpose")
    if transpose is None:
        return None
    perm = transpose.attrs_as(TransposeAttrs).perm
    if perm[-2] != len(perm) - 1:
        return None
    if not is_private(graph, transpose.output) or node.inputs[1 - i] == transpose.output:
        return Refusal(node.name, f"the output of '{transpose.name}' has other readers")
    return _read_turned(graph, node, i, transpose)


def _read_turned(graph: Graph, node: Node, i: int, transpose: Node) -> Patch:
    """The product with its operand ``i`` turned by itself, and by the transpose no longer."""
    perm = transpose.attrs_as(TransposeAttrs).perm
    swapped = _swapped(perm)
    source, output = graph.value(transpose.inputs[0]), graph.value(transpose.output)
    name = Names(graph).new(f"{output.name}.rows")
    rows = replace(output, name=name, shape=permuted(source.shape, swapped))
    new_transpose = replace(transpose, name=name, outputs=(name,), attrs=TransposeAttrs(swapped))
    inputs, attrs = list(node.inputs), node.attrs_as(BatchMatmulAttrs)
    inputs[i] = name
    turned = replace(attrs, adj_y=not attrs.adj_y) if i else replace(attrs, adj_x=not attrs.adj_x)
    product = replace(node, inputs=tuple(inputs), attrs=turned)
    return Patch(remove=(transpose, node), add=(new_transpose, product), values=(rows,))


def turn_product(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(x @ y, (..., n, m)) = transpose(y.T @ x.T, (..., m, n)): rows are moved whole."""
    product = producer(graph, node, op="batch_matmul")
    perm = node.attrs_as(TransposeAttrs).perm
    rank = len(perm)
    if product is None or perm[-1] != rank - 2:
        return None
    if not is_private(graph, product.output):
        return Refusal(node.name, f"the output of '{product.name}' has other readers")
    attrs, old = product.attrs_as(BatchMatmulAttrs), graph.value(product.output)
    name = Names(graph).new(f"{old.name}.turned")
    exchanged = replace(
        product,
        name=name,
        inputs=product.inputs[::-1],
        outputs=(name,),
        attrs=BatchMatmulAttrs(adj_x=not attrs.adj_y, adj_y=not attrs.adj_x),
    )
    last = (*range(rank - 2), rank - 1, rank - 2)
    value = replace(old, name=name, shape=permuted(old.shape, last))
    move = replace(node, inputs=(name,), attrs=TransposeAttrs(tuple(last[axis] for axis in perm)))
    return Patch(remove=(product, node), add=(exchanged, move), values=(value,))


def _swapped(perm: Sequence[int]) -> tuple[int, ...]:
    """The permutation with its last two dimensions exchanged."""
    return (*perm[:-2], perm[-1], perm[-2])


def hoist_over_parts(graph: Graph, node: Node) -> Patch | Refusal | None:
    """f(x[0]), f(x[1]), ... = f'(x)[0], f'(x)[1], ... for reshapes and transposes f."""
    source = node.inputs[0]
    parts = graph.noted(
        ("parts", source), lambda: [n for n in graph.consumers(source) if _is_part(graph, n)]
    )
    if len(parts) < 2 or parts[0] is not node:
        return None
    movers = [graph.consumers(part.output) for part in parts]
    first = movers[0][0] if movers[0] else None
    if first is None or first.op not in ("reshape", "transpose"):
        return None
    alike = all(len(m) == 1 and (m[0].op, m[0].attrs) == (first.op, first.attrs) for m in movers)
    cut_attrs = [part.attrs_as(SliceAttrs) for part in parts]
    if not alike or any(n.output in graph.outputs for n in parts):
        return Refusal(node.name, "its parts are not all moved alike")
    x, shape = graph.value(source), graph.value(first.output).shape
    if first.op == "reshape" and shape == x.shape[1:]:
        return None  # no more than what a cut can drop itself
    count, keeps = x.shape[0], not cut_attrs[0].dropped
    if first.op == "transpose":
        perm = first.attrs_as(TransposeAttrs).perm
        perm = perm if keeps else (0, *(axis + 1 for axis in perm))
        if perm[0] != 0:
            return Refusal(node.name, "its parts are turned along the axis that is cut")
        attrs: TransposeAttrs | ReshapeAttrs = TransposeAttrs(perm)
        whole = permuted(x.shape, perm)
    else:
        keeps, whole = False, (count, *shape)
        attrs = ReshapeAttrs(whole)
    if len(whole) > MAX_DIMS:
        return Refusal(node.name, f"its parts would be cut from more than {MAX_DIMS} dimensions")
    name = Names(graph).new(f"{source}.{first.op}")
    move = Node(first.op, name, (source,), (name,), attrs)
    cuts = [
        replace(
            part,
            name=mover.name,
            inputs=(name,),
            outputs=mover.outputs,
            attrs=SliceAttrs(
                (cut.begin[0], *(0,) * (len(whole) - 1)),
                (1, *whole[1:]),
                (1,) * len(whole),
                () if keeps else (0,),
            ),
        )
        for part, cut, (mover,) in zip(parts, cut_attrs, movers, strict=True)
    ]
    removed = tuple(n for part, (mover,) in zip(parts, movers, strict=True) for n in (part, mover))
    value = replace(x, name=name, shape=whole)
    return Patch(remove=in_order(graph, removed), add=(move, *cuts), values=(value,))


def drop_by_reshape(graph: Graph, node: Node) -> Patch | None:
    """slice(x), which drops dimensions, = reshape(slice(x)), where SLICE cuts more of them."""
    attrs = node.attrs_as(SliceAttrs)
    is_plain = bool(attrs.dropped) and set(attrs.strides) == {1}
    if not is_plain or not MAX_STRIDED_DIMS < len(attrs.size) <= MAX_DIMS:
        return None
    output = graph.value(node.output)
    name = Names(graph).new(f"{output.name}.cut")
    cut = replace(node, name=name, outputs=(name,), attrs=replace(attrs, dropped=()))
    last = Node("reshape", node.name, (name,), node.outputs, ReshapeAttrs(output.shape))
    value = replace(output, name=name, shape=attrs.size)
    return Patch(remove=(node,), add=(cut, last), values=(value,))


def in_order(graph: Graph, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The nodes in graph order, the first moved to the end: their replacement takes its place."""
    ordered = [n for n in graph.nodes if any(n is other for other in nodes)]
    return (*ordered[1:], ordered[0])


def _is_part(graph: Graph, node: Node) -> bool:
    """Whether the node takes one element of the first dimension, and all of the others."""
    attrs = node.attrs
    if not isinstance(attrs, SliceAttrs) or attrs.dropped not in ((), (0,)):
        return False
    shape = graph.value(node.inputs[0]).shape
    return attrs.size == (1, *shape[1:]) and set(attrs.strides) == {1} and shape[0] > 1


TRANSPOSE_INTO_PRODUCT = Rule("transpose_into_product", ("batch_matmul",), transpose_into_product)
TRANSPOSE_INTO_LEFT = Rule("transpose_into_left", ("batch_matmul",), transpose_into_left)
TURN_PRODUCT = Rule("turn_product", ("transpose",), turn_product)
DROP_BY_RESHAPE = Rule("drop_by_reshape", ("slice",), drop_by_reshape)
HOIST_OVER_PARTS = Rule("hoist_over_parts", ("slice",), hoist_over_parts)
