"""What the tape is made of: a function of arrays together with its vector-Jacobian product.

Most functions come from the op table, where the gradient is declared beside the op. Those that
only training needs (a loss, batch statistics) are declared in this package in the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, TensorType
from tinyrt.ops import OPS
from tinyrt.ops.spec import Array

Vjp = Callable[[Any, Sequence[Array], Array, Array], tuple[Array | None, ...]]


@dataclass(frozen=True, slots=True)
class Function:
    """A differentiable function with one output.

    Attributes:
        name: for messages and traces.
        forward: ``(attrs, *arrays) -> array``; raises ``ShapeError`` where shapes do not fit.
        vjp: ``(attrs, inputs, output, grad) -> gradients``. With J the Jacobian of the output
            with respect to one input, the gradient of that input is ``grad^T J``, in the input's
            shape; None where the function has no gradient.
        deployable: whether the op table has it, so that a traced graph may hold it.

    """

    name: str
    forward: Callable[..., Array]
    vjp: Vjp
    deployable: bool = False


@cache
def table_function(op: str) -> Function:
    """The op of that name in ``OPS``, applied through ``ref_f32`` and differentiated by ``vjp``.

    The op's shape rule runs first, so that shapes that do not fit are reported as shapes.

    Raises:
        UnsupportedError: there is no such op, or it cannot be differentiated.

    """
    spec = OPS.get(op)
    if spec is None:
        raise UnsupportedError(f"there is no op '{op}'", expected=", ".join(sorted(OPS)))
    ref_f32, infer = spec.ref_f32, spec.infer
    if ref_f32 is None or spec.vjp is None:
        raise UnsupportedError(f"{op} cannot be trained: it has no float form with a gradient")

    def forward(attrs: Any, *arrays: Array) -> Array:
        infer(attrs, [TensorType(DType.FLOAT32, a.shape) for a in arrays])
        return ref_f32(attrs, *arrays)

    return Function(op, forward, spec.vjp, deployable=True)
