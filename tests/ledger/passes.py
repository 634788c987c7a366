"""Passes on weights of some 100 kB, and what they ask for before they compute new ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.graphs import Builder
from tests.ledger.case import Run, add, asks
from tests.ledger.watch import Entry
from tests.passes.example_parts import picked, shuffled, turned_channels
from tests.passes.examples_heads import layers_of_heads, mixed_heads, product, turned_heads, wide
from tests.passes.nets import TO_NCHW
from tests.passes.random_net import RandomNet as Net
from tests.passes.test_every_pass import RULES
from tinyrt.convert.passes.narrow import narrow_integers
from tinyrt.ir import DType, RewriteLog
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs

IMAGE = (1, 6, 5, 64)
KERNEL = 64 * 3 * 3 * 64
"""Weights of a convolution from 64 channels to as many."""
LONG = 100_000


def changed(
    rule: str,
    module: str,
    shape: tuple[int, ...],
    build: Callable[[Net], str],
    *parts: tuple[str, int],
    itemsize: int = 8,
) -> None:
    """A case: a pass, its file, the input's shape, a graph, and elements by what they are."""
    net = Net(shape)
    graph = net.graph(build(net))
    ops = RULES[rule].ops

    def run() -> list[object]:
        return [RULES[rule].apply(graph, n) for n in graph.nodes if not ops or n.op in ops]

    entries: list[Entry] = []
    for what, count in parts:
        entries += [("reserve", itemsize * count, what), ("spend", count, f"computing {what}")]
    add(rule, (f"convert/passes/{module}.py",), run, *entries)


def squares(net: Net, heads: str) -> str:
    """The products of each head with itself, moved back."""
    return net.transpose(product(net, heads, heads, adj_y=True), (0, 2, 1, 3))


changed(
    "fold_affine",
    "common",
    IMAGE,
    lambda net: net.mul(net.conv("x", 64), net.random(64)),
    ("the weights of 'conv2d_0'", 3 * KERNEL + 64 + 64),
)
changed(
    "transpose_into_dense",
    "fold_transpose",
    (1, 6, 5, 16),
    lambda net: net.dense(net.reshape(net.transpose("x", TO_NCHW), 1, 480), 100),
    ("the weights of 'fully_connected_2'", 100 * 480),
    itemsize=4,
)
changed(
    "heads_into_layer",
    "heads_into_layer",
    (1, 6, 5, 16),
    lambda net: net.dense(net.reshape(net.transpose("x", (0, 2, 1, 3)), 1, 5, 96), 100),
    ("the weights of 'fully_connected_2'", 100 * 96),
    itemsize=4,
)
changed(
    "merge_parallel",
    "merge_parallel",
    IMAGE,
    lambda net: net.add(net.conv("x", 64), net.conv("x", 64, 1)),
    ("the weights of 'conv2d_0'", 2 * KERNEL),
)
changed(
    "shuffle_to_gather",
    "shuffle",
    (1, LONG),
    lambda net: shuffled(net, "x", (1, 2, LONG // 2), (0, 2, 1)),
    ("the order of 'x'", LONG),
    itemsize=64,
)
changed(
    "gather_into_layer",
    "shuffle",
    IMAGE,
    lambda net: picked(net, net.conv("x", 4), *[3, 0, 2] * 100),
    ("the weights of 'conv2d_0'", 300 * 3 * 3 * 64),
    ("the weights of 'conv2d_0'", 300),
)
changed(
    "shuffle_rows",
    "shuffle",
    IMAGE,
    lambda net: turned_channels(net, net.conv("x", 64)),
    ("the weights of 'conv2d_0'", KERNEL + 64),
)
changed(
    "merge_heads",
    "merge_siblings",
    (6, 64),
    lambda net: wide(net, *layers_of_heads(net, 320, 320)),
    ("weights that are joined", 2 * 64 * 320),
)
changed(
    "unroll_heads",
    "unroll_heads",
    (6, LONG // 6),
    lambda net: squares(net, turned_heads(net, "x")),
    *4 * [("the places of 'transpose_1'", 4 * (LONG - LONG % 6))],
)
changed(
    "mix_heads",
    "mix_heads",
    (1, 2, 12, 12),
    lambda net: mixed_heads(net, "x", 3),
    ("the weights of 'fully_connected_1'", 8 * (3 * 2 + 3)),
    itemsize=4,
)
changed(
    "pixel_shuffle",
    "pixel_shuffle",
    IMAGE,
    lambda net: net.reshape(
        net.transpose(net.reshape(net.conv("x", 64), 1, 6, 5, 16, 2, 2), (0, 1, 4, 2, 5, 3)),
        1,
        12,
        10,
        16,
    ),
    ("the weights of 'conv2d_0'", KERNEL),
    ("the weights of 'conv2d_0'", 64),
)
changed(
    "merge_siblings",
    "merge_siblings",
    IMAGE,
    lambda net: net.add(*(net.op("tanh", (net.conv("x", 64),)) for _ in range(2))),
    ("weights that are joined", 2 * KERNEL),
)
changed(
    "sink_reshape",
    "sink_reshape",
    (2, 3, LONG),
    lambda net: net.mul(net.reshape("x", 6, LONG), net.random(1, LONG)),
    ("the constant 'const2.vector'", LONG),
)
changed(
    "zero_product",
    "algebra",
    (300, 300),
    lambda net: net.add(net.mul("x", 0.0), "x"),
    ("the zeros of 'mul_0'", 300 * 300),
)
changed(
    "merge_constants",
    "algebra",
    (300, 300),
    lambda net: net.add(net.add("x", net.random(300, 1)), net.random(300)),
    ("the constants of 'add_1'", 4 * 300 * 300),
)
changed(
    "order_channels",
    "channel_order",
    IMAGE,
    lambda net: net.conv(net.op("tanh", (picked(net, "x", *range(63, -1, -1)),)), 64),
    ("the constant 'const3'", KERNEL),
)
changed(
    "divide_by_constant",
    "recognise",
    (2, LONG),
    lambda net: net.div("x", net.random(LONG)),
    ("the reciprocals of 'const1'", LONG),
)
changed(
    "split_batchnorm",
    "fold_batchnorm",
    (2, LONG),
    lambda net: net.batch_norm("x"),
    ("the factors of 'batch_norm_0'", 2 * 4 * LONG),
)
changed(
    "fold_before",
    "fold_before",
    IMAGE,
    lambda net: net.conv(net.add(net.mul("x", net.random(64)), -0.5), 64, padding="VALID"),
    ("the weights of 'conv2d_2'", 6 * KERNEL),
)


@asks("convert/passes/narrow.py", measured=False)
def integers_of_32_bits(folder: Path) -> tuple[Run, list[Entry]]:
    """Places of two, and numbers that are added to them."""
    del folder
    b = Builder((1, 2, LONG))
    place = b.op("arg_max", ("x",), ArgAttrs(1, DType.INT64))
    graph = b.graph(b.op("add", (place, b.constant(np.ones(LONG, np.int64))), AddAttrs()))
    entries: list[Entry] = [("reserve", 4 * LONG, "'const2.s32'")]
    return lambda: narrow_integers(graph, RewriteLog()), entries
