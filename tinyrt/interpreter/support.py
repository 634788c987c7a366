"""Which backend has which op and dtype: one table, derived from the records."""

from __future__ import annotations

from tinyrt.backends.c.choice import KERNELS as C_KERNELS
from tinyrt.cuda import kernels as cuda
from tinyrt.interpreter.numba_backend import KERNELS, KERNELS_S16, NUMPY
from tinyrt.ops import OPS
from tinyrt.ops.spec import Form, OpSpec, Quant


def support_rows() -> list[dict[str, str]]:
    """One row per op: its name, how it quantises, and the dtypes that each backend has."""
    return [
        {
            "op": spec.name,
            "quantisation": spec.quant.value,
            "reference": _reference(spec),
            "numba": _numba(spec),
            "C": _c(spec),
            "cuda": _cuda(spec),
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
    floats = ["f32"] if spec.ref_f32 else []
    return " ".join(floats + [name for form in spec.forms for name in _names(spec, form)]) or "-"


def _numba(spec: OpSpec) -> str:
    """What is compiled, and what the backend leaves to the NumPy reference."""
    left, compiled = ["f32"] if spec.ref_f32 else [], list[str]()
    kernels = {Form.INT8: KERNELS, Form.INT16X8: KERNELS_S16}
    for form in spec.forms:
        where = kernels[form].get(spec.name)
        if where is None and form is Form.INT8:
            continue
        (left if where in (None, NUMPY) else compiled).extend(_names(spec, form))
    found = [f"{' '.join(left)} (NumPy)" if left else "", *compiled]
    return " ".join(filter(None, found)) or "-"


def _c(spec: OpSpec) -> str:
    choosers = C_KERNELS.get(spec.name, {})
    having = (form for form in spec.forms if form in choosers)
    floats = ["f32"] if Form.FLOAT in choosers else []
    return " ".join(floats + [name for form in having for name in _names(spec, form)]) or "-"


def _cuda(spec: OpSpec) -> str:
    kernels = {Form.INT8: cuda.KERNELS, Form.INT16X8: cuda.KERNELS_S16}
    having = (form for form in spec.forms if spec.name in kernels[form])
    return " ".join(name for form in having for name in _names(spec, form)) or "-"


def _names(spec: OpSpec, form: Form) -> list[str]:
    """Activations of the form, then weights where they may be other than int8."""
    name = "s8" if form is Form.INT8 else "s16"
    if spec.quant is Quant.BOUNDARY:
        name = f"f32/{name}"
    return [name, "s8×s4"] if form is Form.INT8 and spec.int4_weights else [name]
