"""Which backend has which op and dtype: one table, derived from those of the backends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinyrt.backends.c.choice import KERNELS as C
from tinyrt.backends.cuda.choice import KERNELS as CUDA
from tinyrt.backends.numba.choice import KERNELS as NUMBA
from tinyrt.backends.reference import KERNELS as REFERENCE
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Form, OpSpec, Quant

Kernels = Mapping[str, Mapping[Form, Any]]
"""Op -> form -> what a backend computes it with; None where it leaves it to NumPy."""

TABLES: dict[str, Kernels] = {"reference": REFERENCE, "numba": NUMBA, "C": C, "cuda": CUDA}


def support_rows() -> list[dict[str, str]]:
    """One row per op: its name, how it quantises, and the dtypes that each backend has."""
    return [
        {
            "op": spec.name,
            "quantisation": spec.quant.value,
            **{backend: _dtypes(spec, kernels) for backend, kernels in TABLES.items()},
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


def _dtypes(spec: OpSpec[Any], kernels: Kernels) -> str:
    """The dtypes that a backend leaves to NumPy, and those that it has kernels for."""
    left, own = list[str](), list[str]()
    having = kernels.get(spec.name, {})
    for form in (Form.FLOAT, *spec.forms):
        if form in having:
            (left if having[form] is None else own).extend(_names(spec, form))
    return " ".join([*left, "(NumPy)", *own] if left else own) or "-"


def _names(spec: OpSpec[Any], form: Form) -> list[str]:
    """Activations of the form, then weights where they may be other than int8."""
    if form is Form.FLOAT:
        return spec.traits.takes.split()
    name = "s8" if form is Form.INT8 else "s16"
    if spec.quant is Quant.BOUNDARY:
        name = f"f32/{name}"
    return [name, "s8×s4"] if form is Form.INT8 and spec.int4_weights else [name]
