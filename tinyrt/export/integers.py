"""Arithmetic on integers of 64 bits, which no C kernel has."""

from __future__ import annotations

from tinyrt.convert.values.bounds import bounds_of
from tinyrt.convert.values.width import ARITHMETIC, WIDE, beyond, reach
from tinyrt.errors import UnsupportedError
from tinyrt.ir import Graph


def require_short_integers(graph: Graph) -> None:
    """Check that integers without a scale are computed with in 32 bits.

    Raises:
        UnsupportedError: some are computed with in 64. It says which may need them, if any.

    """
    wide = (n for n in graph.bound() if n.op in ARITHMETIC and n.output.dtype is WIDE)
    node = next(wide, None)
    if node is None:
        return
    bounds = bounds_of(graph)
    value = beyond(node, bounds)
    problem = f"{node.op} has no C kernel for int64 tensors"
    if value is None:
        raise UnsupportedError(
            f"{problem}; these would fit 32 bits",
            op=node.describe(),
            tensor=node.output.describe(),
            hint="convert the file: 'tinyrt convert' makes them int32",
        )
    raise UnsupportedError(
        f"{problem}: '{value.name}' may be {reach(value, bounds)}",
        op=node.describe(),
        tensor=value.describe(),
        expected="integers that fit 32 bits, which become int32",
        hint="bound them in the model, as by Clip, and convert again, or run it on the host",
    )
