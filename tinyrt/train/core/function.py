"""Functions that the tape can hold: those of the op table, under their names in it.

Their gradients are declared beside each op. Those that only training needs (a loss, batch
statistics) are declared in this package in the same form.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from tinyrt.errors import UnsupportedError
from tinyrt.floatmath.function import Array, Function, Gradient, Vjp
from tinyrt.ir import DType, TensorType
from tinyrt.ops import OPS

FLOAT = DType.FLOAT32

__all__ = ["Array", "Function", "Gradient", "Vjp", "table_function"]


@cache
def table_function(op: str) -> Function:
    """The op of that name in ``OPS``: ``train_f32`` or ``ref_f32``, differentiated by ``vjp``.

    The op's shape rule runs first, so that shapes that do not fit are reported as shapes; float64
    counts as float32.

    Raises:
        UnsupportedError: there is no such op, or it cannot be differentiated.

    """
    spec = OPS.get(op)
    if spec is None:
        raise UnsupportedError(f"there is no op '{op}'", expected=", ".join(sorted(OPS)))
    compute, infer = spec.train_f32 or spec.ref_f32, spec.infer
    if compute is None or spec.vjp is None:
        what = f"{op} cannot be trained: it has no float form with a gradient"
        raise UnsupportedError(what, hint="'tinyrt ops' lists the ops that have one")

    @lru_cache(maxsize=256)  # a training step asks for the same few shapes again and again
    def check(attrs: Any, *types: Any) -> None:
        infer(attrs, [TensorType(FLOAT if d.kind == "f" else DType.of(d), s) for d, s in types])

    def forward(attrs: Any, *arrays: Array) -> Array:
        check(attrs, *((a.dtype, a.shape) for a in arrays))
        output: Array = compute(attrs, *arrays)
        return output

    return Function(op, forward, spec.vjp, deployed=lambda attrs: (op, attrs))
