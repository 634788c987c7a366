"""The clamp after kernels that only saturate."""

from __future__ import annotations

from tinyrt.backends.c.kernel import Calls, call
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ir import BoundNode


def clamp_calls(node: BoundNode, act_min: int, act_max: int) -> Calls:
    """The call of ``tinyrt_clamp_s8`` on the output; none if the limits are the range of int8."""
    if (act_min, act_max) == (INT8_MIN, INT8_MAX):
        return ()
    y = node.output
    return (call("tinyrt_clamp_s8", y.size, act_min, act_max, y),)
