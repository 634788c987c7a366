"""Compiled loops of max pooling and its gradient, which goes to the element that was taken.

Images are (n, h, w, c), outputs (n, out_h, out_w, c), all C-contiguous; pairs are (along height,
along width). Taps are counted row by row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyrt.floatmath.compiled import compiled


@compiled
def greatest(x: Any, y: Any, kernel: Any, stride: Any, before: Any) -> None:
    """The greatest element that each output reads, NaN if it reads one; -inf for none."""
    for n in range(y.shape[0]):
        for oy in range(y.shape[1]):
            for ox in range(y.shape[2]):
                y[n, oy, ox] = -np.inf
                for i in range(kernel[0]):
                    row = oy * stride[0] - before[0] + i
                    for j in range(kernel[1]):
                        z = ox * stride[1] - before[1] + j
                        if 0 <= row < x.shape[1] and 0 <= z < x.shape[2]:
                            for c in range(x.shape[3]):
                                best, read = y[n, oy, ox, c], x[n, row, z, c]
                                holds = (read <= best) | (best != best)
                                y[n, oy, ox, c] = best if holds else read


@compiled
def choose(x: Any, chosen: Any, kernel: Any, stride: Any, before: Any) -> None:
    """The tap of each output: the first one that reads the greatest element; -1 for none."""
    best = np.empty(x.shape[3], x.dtype)
    for n in range(chosen.shape[0]):
        for oy in range(chosen.shape[1]):
            for ox in range(chosen.shape[2]):
                is_first = True
                chosen[n, oy, ox] = -1
                for i in range(kernel[0]):
                    y = oy * stride[0] - before[0] + i
                    for j in range(kernel[1]):
                        z = ox * stride[1] - before[1] + j
                        if 0 <= y < x.shape[1] and 0 <= z < x.shape[2]:
                            tap = np.int32(i * kernel[1] + j)
                            for c in range(x.shape[3]):
                                read, earlier = x[n, y, z, c], chosen[n, oy, ox, c]
                                better = is_first | (read > best[c])
                                best[c] = read if better else best[c]
                                chosen[n, oy, ox, c] = tap if better else earlier
                            is_first = False


@compiled
def scatter(chosen: Any, grad: Any, dx: Any, kernel: Any, stride: Any, before: Any) -> None:
    """Add each output's gradient to the element of ``dx`` that the output was taken from."""
    for n in range(grad.shape[0]):
        for oy in range(grad.shape[1]):
            for ox in range(grad.shape[2]):
                for i in range(kernel[0]):
                    y = oy * stride[0] - before[0] + i
                    for j in range(kernel[1]):
                        z = ox * stride[1] - before[1] + j
                        if 0 <= y < dx.shape[1] and 0 <= z < dx.shape[2]:
                            tap = np.int32(i * kernel[1] + j)
                            for c in range(dx.shape[3]):
                                arrived = grad[n, oy, ox, c]
                                taken = chosen[n, oy, ox, c] == tap
                                dx[n, y, z, c] += arrived if taken else dx.dtype.type(0)


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
