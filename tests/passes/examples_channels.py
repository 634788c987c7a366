"""Examples of the passes that move channels or heads, and of those on layers side by side."""

from __future__ import annotations

from tests.passes.example import IMAGE, Example
from tests.passes.example_parts import (
    behind_a_layer,
    branches,
    picked,
    rows,
    shuffled,
    turned_channels,
)
from tests.passes.examples_windows import HEADS_AND_WINDOWS
from tests.passes.nets import TO_NCHW, TO_NHWC
from tinyrt.ops.mean import MeanAttrs

EVEN = (1, 6, 5, 4)

CHANNELS = HEADS_AND_WINDOWS | {
    "shuffle_to_gather": Example(
        EVEN,
        lambda net: net.op("tanh", (shuffled(net, "x", (1, 6, 5, 2, 2), (0, 1, 2, 4, 3)),)),
        lambda net: shuffled(net, "x", (1, 6, 5, 2, 2), (0, 1, 4, 3, 2)),
        "more than the parts of one dimension",
    ),
    "shuffle_rows": Example(
        IMAGE,
        lambda net: turned_channels(net, net.conv("x", 6)),
        behind_a_layer(turned_channels),
        "has other readers",
    ),
    "merge_gathers": Example(
        EVEN,
        lambda net: picked(net, picked(net, "x", 3, 0, 2), 2, 0),
        lambda net: picked(net, picked(net, "x", 3, 0, 2), 1, axis=2),
        "does not pick along the axis",
    ),
    "gather_into_layer": Example(
        IMAGE,
        lambda net: picked(net, net.conv("x"), 3, 0, 2),
        behind_a_layer(lambda net, y: picked(net, y, 3, 0, 2)),
        "has other readers",
    ),
    "order_channels": Example(
        EVEN,
        lambda net: net.conv(net.op("tanh", (picked(net, "x", 3, 0, 2),))),
        lambda net: picked(net, "x", 3, 0, 2),
        "needs its channels in their order",
    ),
    "gather_to_slice": Example(
        EVEN,
        lambda net: net.op("tanh", (picked(net, picked(net, "x", 0, 1, 2, 3), 1, 3),)),
        lambda net: picked(net, "x", 0, 1, 2, 3),
        "both the model's own",
    ),
    "sum_parts": Example(
        EVEN, lambda net: net.op("mean", (net.reshape("x", 1, 30, 4),), MeanAttrs((1,)))
    ),
    "sink_join": Example(
        EVEN,
        lambda net: net.add(y := net.reshape("x", 1, 30, 4), rows(net, y)),
        lambda net: net.add(net.reshape("x", 1, 30, 4), net.reshape("x", 1, 30, 4)),
        "differ along what is joined",
    ),
    "pair_softmax": Example(
        (1, 2, 5, 4),
        lambda net: net.transpose(net.softmax(net.transpose("x", TO_NHWC)), TO_NCHW),
        lambda net: net.softmax(net.transpose("x", TO_NHWC)),
        "the model's own",
    ),
    "merge_parallel": Example(
        IMAGE,
        lambda net: net.add(net.add(branches(net), net.batch_norm("x")), net.conv("x", 3, 5)),
        lambda net: (y := net.conv("x"), net.add(y, net.conv("x", 4, 1))),
        "has other readers",
    ),
}
