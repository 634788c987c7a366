"""Compiled loops of max pooling's gradient: it goes to the element that each output was taken from.

Images are (n, h, w, c), outputs (n, out_h, out_w, c), all C-contiguous; pairs are (along height,
along width). Taps are counted row by row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyrt.floatmath.compiled import compiled


@compiled
def choose(x: Any, chosen: Any, kernel: Any, stride: Any, before: Any) -> None:
    """The tap of each output: the first one that reads the greatest element; -1 for none."""
    best = np.empty(x.shape[3], x.dtype)
    for n in range(chosen.shape[0]):
        for oy in range(chosen.shape[1]):
            for ox in range(chosen.shape[2]):
                taps = chosen[n, oy, ox]
                taps[:] = -1
                for i in range(kernel[0]):
                    y = oy * stride[0] - before[0] + i
                    for j in range(kernel[1]):
                        z = ox * stride[1] - before[1] + j
                        if 0 <= y < x.shape[1] and 0 <= z < x.shape[2]:
                            pixel = x[n, y, z]
                            for c in range(best.size):
                                if taps[c] < 0 or pixel[c] > best[c]:
                                    best[c] = pixel[c]
                                    taps[c] = i * kernel[1] + j


@compiled
def scatter(chosen: Any, grad: Any, dx: Any, kernel: Any, stride: Any, before: Any) -> None:
    """Add each output's gradient to the element of ``dx`` that the output was taken from."""
    for n in range(grad.shape[0]):
        for oy in range(grad.shape[1]):
            for ox in range(grad.shape[2]):
                taps, arrived = chosen[n, oy, ox], grad[n, oy, ox]
                for i in range(kernel[0]):
                    y = oy * stride[0] - before[0] + i
                    for j in range(kernel[1]):
                        z = ox * stride[1] - before[1] + j
                        if 0 <= y < dx.shape[1] and 0 <= z < dx.shape[2]:
                            pixel = dx[n, y, z]
                            for c in range(arrived.size):
                                pixel[c] += arrived[c] if taps[c] == i * kernel[1] + j else 0


@compiled
def gather(chosen: Any, x: Any, out: Any, kernel: Any, stride: Any, before: Any) -> None:
    """Fill ``out`` with the elements of ``x`` at the chosen taps: the adjoint of ``scatter``."""
    for n in range(out.shape[0]):
        for oy in range(out.shape[1]):
            for ox in range(out.shape[2]):
                for c in range(out.shape[3]):
                    tap = chosen[n, oy, ox, c]
                    y = oy * stride[0] - before[0] + tap // kernel[1]
                    z = ox * stride[1] - before[1] + tap % kernel[1]
                    out[n, oy, ox, c] = x[n, y, z, c] if tap >= 0 else 0
