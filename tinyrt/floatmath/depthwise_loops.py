"""A compiled loop of depthwise float convolutions, which sums over the taps in the specified order.

The loop releases the GIL, so threads can work on blocks of images. It neither reorders nor
contracts sums, so the bits depend on the block alone. All operands are C-contiguous and of one
type, float32 or float64. Pairs are (along height, along width).
"""

from __future__ import annotations

from typing import Any

from tinyrt.floatmath.compiled import compiled


@compiled
def tap_range(start: int, size: int, step: int, taps: int) -> tuple[int, int]:
    """Range (first, last + 1) of the taps that lie within ``size`` elements."""
    first = 0 if start >= 0 else (-start + step - 1) // step
    last = min(taps, (size - start + step - 1) // step)
    return first, max(first, last)


@compiled
def depthwise(x: Any, w: Any, y: Any, stride: Any, dilation: Any, before: Any) -> None:
    """``y`` (n, out_h, out_w, c): sums over the taps (kh, kw, c) that read ``x`` (n, h, w, c)."""
    for n in range(y.shape[0]):
        for oy in range(y.shape[1]):
            top = oy * stride[0] - before[0]
            i0, i1 = tap_range(top, x.shape[1], dilation[0], w.shape[0])
            for ox in range(y.shape[2]):
                left = ox * stride[1] - before[1]
                j0, j1 = tap_range(left, x.shape[2], dilation[1], w.shape[1])
                acc = y[n, oy, ox]
                acc[:] = 0
                for i in range(i0, i1):
                    for j in range(j0, j1):
                        pixel = x[n, top + i * dilation[0], left + j * dilation[1]]
                        tap = w[i, j]
                        for c in range(acc.size):
                            acc[c] += pixel[c] * tap[c]
