"""Examples of the passes that move channels, and of those on layers side by side."""

from __future__ import annotations

from tests.passes.example import IMAGE, Example
from tests.passes.example_parts import branches

CHANNELS = {
    "merge_parallel": Example(
        IMAGE,
        lambda net: net.add(net.add(branches(net), net.batch_norm("x")), net.conv("x", 3, 5)),
        lambda net: (y := net.conv("x"), net.add(y, net.conv("x", 4, 1))),
        "has other readers",
    ),
}
