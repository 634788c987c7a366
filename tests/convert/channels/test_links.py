"""Channels that an op hands on are those that its outputs depend on, by what the op computes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.convert.channels.links import links
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mirror_pad import MirrorPadAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

SHAPE = (2, 3, 4, 4)
BORDER = ((0, 0), (1, 1))


def _slice(channels: int = 4, begin: int = 0, step: int = 1, *dropped: int) -> SliceAttrs:
    return SliceAttrs((0, 1, 0, begin), (2, 1, 4, channels), (1, 1, 1, step), dropped)


FORMS = {
    "alike": ("add", AddAttrs(), SHAPE, SHAPE),
    "a repeated channel": ("add", AddAttrs(), (2, 3, 4, 1), SHAPE),
    "a channel that is repeated": ("add", AddAttrs(), SHAPE, (2, 3, 4, 1)),
    "depthwise": ("depthwise_conv2d", DepthwiseConv2dAttrs()),
    "joined channels": ("concatenation", ConcatenationAttrs(3), SHAPE, (2, 3, 4, 1)),
    "joined rows": ("concatenation", ConcatenationAttrs(-3), SHAPE, (2, 1, 4, 4)),
    "flat": ("reshape", ReshapeAttrs((2, 48))),
    "channels in two": ("reshape", ReshapeAttrs((2, 12, 2, 2))),
    "other channels": ("reshape", ReshapeAttrs((2, 16, 3))),
    "a number": ("reshape", ReshapeAttrs(()), (1, 1)),
    "of a number": ("reshape", ReshapeAttrs((1, 1)), ()),
    "a part": ("slice", _slice(2, 1)),
    "every second": ("slice", _slice(2, 0, 2)),
    "backwards": ("slice", _slice(4, 3, -1)),
    "rows that are dropped": ("slice", _slice(4, 0, 1, 1)),
    "one channel, dropped": ("slice", _slice(1, 2, 1, 3)),
    "one of a row": ("slice", _slice(1, 2, 1, 1, 3)),
    "mean of rows": ("mean", MeanAttrs((1, 2))),
    "mean of channels": ("mean", MeanAttrs((-1,))),
    "mean that keeps": ("mean", MeanAttrs((3,), keep_dims=True)),
    "turned": ("transpose", TransposeAttrs((0, 2, 1, 3))),
    "channels first": ("transpose", TransposeAttrs((0, 3, 1, 2))),
    "rows and channels": ("transpose", TransposeAttrs((0, 1, 3, 2))),
    "padded": ("pad", PadAttrs((BORDER[0], *[BORDER[1]] * 2, BORDER[0]))),
    "padded channels": ("pad", PadAttrs((*[BORDER[0]] * 3, BORDER[1]))),
    "mirrored": ("mirror_pad", MirrorPadAttrs((BORDER[0], *[BORDER[1]] * 2, BORDER[0]))),
    "mirrored channels": ("mirror_pad", MirrorPadAttrs((*[BORDER[0]] * 3, BORDER[1]))),
    "picked rows": ("gather", GatherAttrs(1, (2, 0), (2,))),
    "picked channels": ("gather", GatherAttrs(-1, (2, 0, 1, 3), (4,))),
    "a pool": ("max_pool2d", Pool2dAttrs((2, 2), (1, 1))),
}
"""What an op does -> the op, its attributes, and the shapes of its inputs where they are others."""


@pytest.mark.parametrize("name", FORMS)
def test_no_output_depends_on_a_channel_that_is_not_linked_with_it(name):
    op, attrs, *shapes = FORMS[name]
    b, rng = Builder(*(shapes or [SHAPE])), np.random.default_rng(0)
    filters = rng.normal(size=(1, 2, 2, 8)).astype(np.float32)
    more = [b.constant(filters)] if op == "depthwise_conv2d" else []
    y = b.op(op, [*b.inputs, *more], attrs)
    graph = b.graph(y)
    feeds = {n: rng.normal(size=graph.value(n).shape).astype(np.float32) for n in graph.inputs}
    before = evaluate(graph, feeds)[y]
    for link in links(graph.bind(0)) or ():
        fed = graph.inputs[link.index]
        for channel in range(feeds[fed].shape[-1]):
            changed = feeds[fed].copy()
            changed[..., channel] += 9
            after = evaluate(graph, {**feeds, fed: changed})[y]
            changes = np.flatnonzero((after != before).reshape(-1, after.shape[-1]).any(axis=0))
            assert set(changes) <= set(link.given[link.taken == channel]), channel
