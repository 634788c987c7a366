"""Products read operands as they lie, where moves and cuts stand between a transpose and them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyrt.convert.passes.common import Names, inverse, is_private, permuted, producer
from tinyrt.convert.passes.merge_through import MOST_DIMENSIONS, common_parts, parts_of
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape, Value
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs


@dataclass(frozen=True, slots=True)
class _Rows:
    """How a tensor becomes an operand whose last two dimensions are exchanged.

    Attributes:
        inner: its dimensions, taken apart and joined.
        perm: what moves these.
        shape: of the operand, exchanged.

    """

    inner: Shape
    perm: tuple[int, ...]
    shape: Shape

    @property
    def stay(self) -> bool:
        """Whether nothing moves."""
        return list(self.perm) == sorted(self.perm)


def _rows(source: Shape, perm: tuple[int, ...], shape: Shape) -> _Rows | None:
    """For reshape(transpose(source, perm), shape); None where rows are not moved whole."""
    turned = permuted(source, perm)
    fine = common_parts(turned, shape)
    split, join = (parts_of(s, fine) if fine is not None else None for s in (turned, shape))
    if fine is None or split is None or join is None:
        return None
    order = [part for axis in inverse(perm) for part in split[axis]]
    exchanged = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
    moved = [part for axis in exchanged for part in join[axis]]
    new = tuple(order.index(part) for part in moved)
    if not new or new[-1] != len(new) - 1 or len(new) > MOST_DIMENSIONS:
        return None
    return _Rows(permuted(fine, order), new, permuted(shape, exchanged))


def _read(product: Node, i: int, name: str) -> Node:
    """The product, whose operand ``i`` is another one, exchanged."""
    attrs, inputs = product.attrs_as(BatchMatmulAttrs), list(product.inputs)
    inputs[i] = name
    turned = replace(attrs, adj_y=not attrs.adj_y) if i else replace(attrs, adj_x=not attrs.adj_x)
    return replace(product, inputs=tuple(inputs), attrs=turned)


def regrouped_into_product(graph: Graph, node: Node) -> Patch | Refusal | None:
    """X @ reshape(transpose(y)) = x @ reshape(transpose'(reshape(y))).T, which moves rows whole."""
    for i in range(2):
        shaped = producer(graph, node, i, op="reshape")
        first = producer(graph, shaped, op="transpose") if shaped is not None else None
        if shaped is None or first is None:
            continue
        source, perm = graph.value(first.inputs[0]), first.attrs_as(TransposeAttrs).perm
        rows = _rows(source.shape, perm, graph.value(shaped.output).shape)
        if rows is None or perm[-1] == len(perm) - 1:
            continue
        if not all(is_private(graph, n.output) for n in (first, shaped)):
            return Refusal(node.name, f"the output of '{first.name}' has other readers")
        names, nodes, values = Names(graph), [], []
        name = source.name
        steps = (
            ("split", "reshape", rows.inner, ReshapeAttrs(rows.inner)),
            ("moved", "transpose", permuted(rows.inner, rows.perm), TransposeAttrs(rows.perm)),
            ("rows", "reshape", rows.shape, ReshapeAttrs(rows.shape)),
        )
        for wish, op, shape, attrs in steps:
            value = replace(source, name=names.new(f"{shaped.output}.{wish}"), shape=shape)
            nodes.append(Node(op, value.name, (name,), (value.name,), attrs))
            values.append(value)
            name = value.name
        return Patch(
            remove=(first, shaped, node),
            add=(*nodes, _read(node, i, name)),
            values=tuple(values),
        )
    return None


@dataclass(frozen=True, slots=True)
class _Operand:
    """A part of what is turned, as a product reads it."""

    cut: Node
    between: tuple[Node, ...]
    product: Node
    place: int
    attrs: SliceAttrs
    rows: _Rows


def cut_into_product(graph: Graph, node: Node) -> Patch | Refusal | None:
    """slice(transpose(x)) @ y = slice(x).T @ y, where all that reads the transpose is like that."""
    cuts = graph.consumers(node.output)
    if node.output in graph.outputs or not cuts or any(n.op != "slice" for n in cuts):
        return None
    operands = [_operand(graph, node, cut) for cut in cuts]
    found = [operand for operand in operands if operand is not None]
    if not found:
        return None
    if len(found) < len(cuts):
        return Refusal(node.name, "not all that is cut from it is read by products")
    names, values = Names(graph), list[Value]()
    source, products = graph.value(node.inputs[0]), dict[int, Node]()
    swaps: list[tuple[Node, tuple[Node, ...]]] = [(node, ())]
    for operand in found:
        output = graph.value(operand.cut.output)
        part = replace(source, name=names.new(f"{output.name}.cut"), shape=operand.attrs.size)
        rows = replace(source, name=names.new(f"{output.name}.rows"), shape=operand.rows.shape)
        values += [part, rows]
        cut = Node("slice", part.name, node.inputs, (part.name,), operand.attrs)
        shaped = ReshapeAttrs(rows.shape)
        new = (cut, Node("reshape", rows.name, (part.name,), (rows.name,), shaped))
        swaps += [(operand.cut, new), *((n, ()) for n in operand.between)]
        key = id(operand.product)
        products[key] = _read(products.get(key, operand.product), operand.place, rows.name)
    by_id = {id(operand.product): operand.product for operand in found}
    swaps += [(by_id[key], (product,)) for key, product in products.items()]
    return Patch(swaps=tuple(swaps), values=tuple(values))


def _operand(graph: Graph, turn: Node, cut: Node) -> _Operand | None:
    """What a product alone reads of a part, through a reshape; it needs no move then."""
    chain, attrs = [cut], cut.attrs_as(SliceAttrs)
    while is_private(graph, chain[-1].output) and len(chain) < 3:
        chain += graph.consumers(chain[-1].output)
        if chain[-1].op == "batch_matmul":
            break
    *moves, product = chain
    is_read = product.op == "batch_matmul" and all(n.op == "reshape" for n in moves[1:])
    if not is_read or attrs.dropped or set(attrs.strides) != {1}:
        return None
    if product.inputs.count(moves[-1].output) != 1:
        return None
    perm = turn.attrs_as(TransposeAttrs).perm
    begin, size = (permuted(each, inverse(perm)) for each in (attrs.begin, attrs.size))
    rows = _rows(size, perm, graph.value(moves[-1].output).shape)
    if rows is None or not rows.stay:
        return None
    place = product.inputs.index(moves[-1].output)
    new = SliceAttrs(begin, size, attrs.strides)
    return _Operand(cut, tuple(moves[1:]), product, place, new, rows)


REGROUPED_INTO_PRODUCT = Rule("regrouped_into_product", ("batch_matmul",), regrouped_into_product)
CUT_INTO_PRODUCT = Rule("cut_into_product", ("transpose",), cut_into_product)
