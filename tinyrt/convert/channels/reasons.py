"""Why channels go, as ``--explain`` says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tinyrt.convert.channels.layers import has_constants
from tinyrt.convert.channels.links import Kept
from tinyrt.convert.values.interval import Bounds
from tinyrt.convert.values.sums import SUMS, by_output
from tinyrt.ir import BoundNode


def is_told(node: BoundNode) -> bool:
    """Whether the node makes channels of its own; others hand theirs on."""
    return node.op in SUMS and has_constants(node)


def reason(node: BoundNode, keep: Kept, bounds: Mapping[str, Bounds]) -> str:
    """Which of a layer's output channels go, and why each.

    Args:
        node: a layer for which ``is_told`` holds.
        keep: which of its channels stay.
        bounds: of all activations.

    """
    x, y = bounds[node.input(0).name], bounds[node.output.name]
    reads, varies = _reads(node, x)
    groups: dict[str, list[int]] = {}
    for channel in np.flatnonzero(~keep):
        groups.setdefault(_why(int(channel), y, reads, varies), []).append(int(channel))
    told = "; ".join(f"{_runs(channels)}: {why}" for why, channels in groups.items())
    return f"{int((~keep).sum())} of {len(keep)} channels go: {told}"


def _why(channel: int, y: Bounds, reads: Kept, varies: Kept) -> str:
    if not y.constant[channel]:
        return "all that reads them multiplies by 0"
    always = f"always {y.low[channel]:g}, "
    if not reads[channel]:
        return f"{always}all weights are 0"
    if not varies[channel]:
        return f"{always}all that they read is constant"
    return f"{always}no sum leaves the clamp"


def _reads(node: BoundNode, x: Bounds) -> tuple[Kept, Kept]:
    """The output channels with a weight other than 0, and those with one on what is no constant."""
    w = by_output(node, np.asarray(node.input(1).data)) != 0
    if node.op == "depthwise_conv2d":
        reads = w.any(axis=(1, 2, 3))
        return reads, reads & ~np.repeat(x.constant, len(w) // len(x.constant))
    free = np.resize(~x.constant, w.shape[-1])
    return w.any(axis=(1, 2, 3)), (w & free).any(axis=(1, 2, 3))


def _runs(channels: Sequence[int]) -> str:
    """Ascending numbers as a list of runs: ``0-3, 7``."""
    runs: list[list[int]] = []
    for channel in channels:
        if runs and channel == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], channel]
        else:
            runs.append([channel])
    return ", ".join("-".join(map(str, run)) for run in runs)
