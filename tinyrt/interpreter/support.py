"""Which backend has which op and dtype: one table, derived from the records."""

from __future__ import annotations

from tinyrt.interpreter.numba_backend import KERNELS, NUMPY
from tinyrt.ops import OPS
from tinyrt.ops.spec import OpSpec, Quant


def support_rows() -> list[dict[str, str]]:
    """One row per op: its name, how it quantises, and the dtypes that each backend has."""
    return [
        {
            "op": spec.name,
            "quantisation": spec.quant.value,
            "reference": _reference(spec),
            "numba": _numba(spec),
            "C": _integer(spec) if spec.emit_c is not None else "-",
            "gradient": "f32" if spec.vjp is not None else "-",
        }
        for spec in OPS.values()
    ]


def support_markdown() -> str:
    """The same table for the documentation."""
    rows = support_rows()
    lines = [" | ".join(rows[0]), " | ".join("---" for _ in rows[0])]
    lines += [" | ".join(row.values()) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _reference(spec: OpSpec) -> str:
    if spec.quant is Quant.BOUNDARY:
        return _integer(spec)
    found = [name for name, ref in (("f32", spec.ref_f32), ("s8", spec.ref_s8)) if ref]
    return " ".join(found) or "-"


def _numba(spec: OpSpec) -> str:
    """What is compiled, and what the backend leaves to the NumPy reference."""
    floats = ["f32"] if spec.ref_f32 else []
    integers = [_integer(spec)] if spec.name in KERNELS else []
    by_reference = KERNELS.get(spec.name) == NUMPY
    left = floats + integers if by_reference else floats
    found = [f"{' '.join(left)} (NumPy)" if left else "", *([] if by_reference else integers)]
    return " ".join(filter(None, found)) or "-"


def _integer(spec: OpSpec) -> str:
    return "f32/s8" if spec.quant is Quant.BOUNDARY else "s8"
