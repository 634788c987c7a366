"""Ops that only move data, one behind the other, become one."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.convert.passes.common import moves_only_units, permuted, producer
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.transpose import TransposeAttrs


def merge_reshapes(graph: Graph, node: Node) -> Patch | None:
    """reshape(reshape(x)) = reshape(x)."""
    first = producer(graph, node, op="reshape")
    if first is None:
        return None
    return Patch(remove=(node,), add=(replace(node, inputs=first.inputs),))


def merge_transposes(graph: Graph, node: Node) -> Patch | None:
    """transpose(transpose(x, p), q) = transpose(x, p[q])."""
    first = producer(graph, node, op="transpose")
    if first is None:
        return None
    inner, outer = first.attrs_as(TransposeAttrs), node.attrs_as(TransposeAttrs)
    attrs = TransposeAttrs(permuted(inner.perm, outer.perm))
    return Patch(remove=(node,), add=(replace(node, inputs=first.inputs, attrs=attrs),))


def merge_pads(graph: Graph, node: Node) -> Patch | Refusal | None:
    """pad(pad(x, a), b) = pad(x, a + b), filled with the same value."""
    first = producer(graph, node, op="pad")
    if first is None:
        return None
    inner, outer = first.attrs_as(PadAttrs), node.attrs_as(PadAttrs)
    if inner.value != outer.value:
        return Refusal(node.name, f"fills with {outer.value}, not {inner.value}")
    pairs = zip(inner.paddings, outer.paddings, strict=True)
    attrs = PadAttrs(tuple((a + c, b + d) for (a, b), (c, d) in pairs), outer.value)
    return Patch(remove=(node,), add=(replace(node, inputs=first.inputs, attrs=attrs),))


def transpose_to_reshape(graph: Graph, node: Node) -> Patch | None:
    """transpose(x, p) = reshape(x), where p moves only dimensions of size 1."""
    perm = node.attrs_as(TransposeAttrs).perm
    if not moves_only_units(graph.value(node.inputs[0]).shape, perm):
        return None
    attrs = ReshapeAttrs(graph.value(node.output).shape)
    return Patch(remove=(node,), add=(replace(node, op="reshape", attrs=attrs),))


MERGE_RESHAPES = Rule("merge_reshapes", ("reshape",), merge_reshapes)
MERGE_TRANSPOSES = Rule("merge_transposes", ("transpose",), merge_transposes)
MERGE_PADS = Rule("merge_pads", ("pad",), merge_pads)
TRANSPOSE_TO_RESHAPE = Rule("transpose_to_reshape", ("transpose",), transpose_to_reshape)
