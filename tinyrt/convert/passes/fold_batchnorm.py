"""Batch normalisation into the weights in front of it, or into a product and a sum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.convert.passes.common import (
    CHANNEL_AXIS,
    Array,
    Names,
    constant_data,
    producer,
    rescaled,
    spend_on_arrays,
)
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.mul import MulAttrs


def fold_batchnorm(graph: Graph, node: Node) -> Patch | Refusal | None:
    """bn(conv(x, w) + b) = conv(x, w*k) + (b - mean)*k + beta, k = gamma / sqrt(var + eps)."""
    weighted = producer(graph, node)
    if weighted is None or weighted.op not in CHANNEL_AXIS:
        return None
    affine = affine_of(graph, node)
    if affine is None:
        return Refusal(node.name, "its parameters are not constant")
    return rescaled(graph, weighted, *affine, last=node)


def split_batchnorm(graph: Graph, node: Node) -> Patch | Refusal:
    """bn(x) = x*k + (beta - mean*k), where nothing in front can take it."""
    affine = affine_of(graph, node)
    if affine is None:
        return Refusal(node.name, "its parameters are not constant")
    names, output = Names(graph), graph.value(node.output)
    factor, shift = (
        Value.constant(names.new(f"{output.name}.{suffix}"), data.astype(np.float32))
        for suffix, data in zip(("factor", "shift"), affine, strict=True)
    )
    product = replace(output, name=names.new(f"{output.name}.scaled"))
    first, last = (node.inputs[0], factor.name), (product.name, shift.name)
    return Patch(
        remove=(node,),
        add=(
            Node("mul", product.name, first, (product.name,), MulAttrs()),
            Node("add", node.name, last, node.outputs, AddAttrs()),
        ),
        values=(factor, shift, product),
    )


def affine_of(graph: Graph, node: Node) -> tuple[Array, Array] | None:
    """Factor and shift per channel, in float64."""
    parameters = [constant_data(graph, name) for name in node.inputs[1:]]
    # Each as a double, and as many again on the way to factor and shift.
    sizes = (2 * p.size for p in parameters if p is not None)
    spend_on_arrays(f"the factors of '{node.name}'", *sizes)
    arrays = [p.astype(np.float64) for p in parameters if p is not None]
    if len(arrays) != len(parameters):
        return None
    gamma, beta, mean, var = arrays
    factor = gamma / np.sqrt(var + node.attrs_as(BatchNormAttrs).epsilon)
    return factor, beta - mean * factor


FOLD_BATCHNORM = Rule("fold_batchnorm", ("batch_norm",), fold_batchnorm)
SPLIT_BATCHNORM = Rule("split_batchnorm", ("batch_norm",), split_batchnorm)
