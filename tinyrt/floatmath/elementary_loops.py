"""Elementary functions of arrays as compiled loops over ``elementary_formulas``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload, register_jitable

from tinyrt.floatmath import elementary_formulas as formulas
from tinyrt.floatmath.compiled import compiled


@overload(formulas.choose, jit_options={"forceinline": True})  # type: ignore[untyped-decorator]
def _choose(condition: Any, a: Any, b: Any) -> Any:
    def choose(condition: Any, a: Any, b: Any) -> Any:
        return a if condition else b

    return choose


for _formula in (
    *(formulas.bits, formulas.magnitude, formulas.with_sign, formulas.power_of_two),
    *(formulas.horner, formulas.turned),
    *(formulas.exp, formulas.expm1, formulas.log, formulas.tanh, formulas.erf),
    *(formulas.sin, formulas.cos),
):
    # A formula that is not inlined would keep LLVM from vectorising the loop.
    register_jitable(forceinline=True)(_formula)


@compiled
def exp(x: Any, y: Any) -> None:
    """The exponential of ``x`` into ``y``. All loops here take float32 or float64 arrays (n,)."""
    for i in range(x.size):
        y[i] = formulas.exp(np.float64(x[i]))


@compiled
def expm1(x: Any, y: Any) -> None:
    """``exp(x) - 1`` into ``y``."""
    for i in range(x.size):
        y[i] = formulas.expm1(np.float64(x[i]))


@compiled
def log(x: Any, y: Any) -> None:
    """The logarithm of ``x`` into ``y``."""
    for i in range(x.size):
        y[i] = formulas.log(np.float64(x[i]))


@compiled
def tanh(x: Any, y: Any) -> None:
    """The hyperbolic tangent of ``x`` into ``y``."""
    for i in range(x.size):
        y[i] = formulas.tanh(np.float64(x[i]))


@compiled
def erf(x: Any, y: Any) -> None:
    """The error function of ``x`` into ``y``."""
    for i in range(x.size):
        y[i] = formulas.erf(np.float64(x[i]))


@compiled
def sin(x: Any, y: Any) -> None:
    """The sine of ``x`` into ``y``."""
    for i in range(x.size):
        y[i] = formulas.sin(np.float64(x[i]))


@compiled
def cos(x: Any, y: Any) -> None:
    """The cosine of ``x`` into ``y``."""
    for i in range(x.size):
        y[i] = formulas.cos(np.float64(x[i]))


LOOPS: dict[str, Callable[[Any, Any], None]] = {
    loop.__name__: loop for loop in (exp, expm1, log, tanh, erf, sin, cos)
}
