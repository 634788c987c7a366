"""The compiled loop of Adam's rule, in one pass over memory."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath import elementary
from tinyrt.floatmath.compiled import compiled


@lru_cache(maxsize=8)  # all parameters share them in a step
def rates(betas: tuple[float, float], eps: float, steps: int, dtype: Any) -> NDArray[Any]:
    """What the loop takes after so many steps.

    The gradient's share in ``m``, its square's in ``v``, what ``m`` and ``v`` are divided by, eps.
    """
    left = [1 - elementary.whole_power(beta, steps) for beta in betas]
    return np.array([*(1 - beta for beta in betas), *left, eps], dtype)


@compiled
def change(grad: Any, m: Any, v: Any, out: Any, rates: Any) -> None:
    """``m / (sqrt(v) + eps)``, both corrected for having started at 0, after they are updated.

    Args:
        grad: the gradient, (n,).
        m: its running average, (n,), updated.
        v: that of its square, (n,), updated.
        out: the change, (n,).
        rates: as ``rates`` gives them, of the arrays' type.

    """
    of_m, of_v, left_m, left_v, eps = rates[0], rates[1], rates[2], rates[3], rates[4]
    for i in range(grad.size):
        m[i] += of_m * (grad[i] - m[i])
        v[i] += of_v * (grad[i] * grad[i] - v[i])
        out[i] = m[i] / (math.sqrt(v[i] / left_v) + eps) / left_m
