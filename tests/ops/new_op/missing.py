"""Which places an op is still missing from."""

from __future__ import annotations

from onnx import defs

from tests.ops.cases import CASES
from tinyrt.backends.support import TABLES
from tinyrt.convert.onnx.ops import IMPORTERS
from tinyrt.convert.tflite.ops import WRITTEN
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.unsupported import NOT_ON_DEVICES


def missing(op: str) -> list[str]:
    """All that is still to be written of an op, by module; kernels follow from its record."""
    found = _missing_converters(op)
    if op not in OPS:
        return [f"tinyrt.ops: {op} is not in OPS", *found]
    if op not in CASES:
        found += [f"tests.ops.cases: no cases of {op}, and its traits do not say that any will do"]
    return [*found, *_missing_kernels(op)]


def _missing_converters(op: str) -> list[str]:
    found = []
    in_onnx = "".join(word.capitalize() for word in op.split("_"))
    if defs.has(in_onnx) and in_onnx not in IMPORTERS:
        found.append(f"tinyrt.convert.onnx.pointwise, or another: no importer of {in_onnx}")
    in_tflite = op not in OPS or OPS[op].traits.in_tflite
    if in_tflite and op not in WRITTEN:
        found.append(
            f"tinyrt.convert.tflite.ops, or another: no codec of {op}; or in_tflite=False in its "
            "traits"
        )
    return found


def _missing_kernels(op: str) -> list[str]:
    found = []
    for backend, table in TABLES.items():
        asked = set(OPS[op].forms)
        if backend == "C" and OPS[op].ref_f32 is not None and op not in NOT_ON_DEVICES:
            asked.add(Form.FLOAT)
        lacking = sorted(asked - set(table.get(op, {})))
        where = "c.tables, or another" if backend == "C" else f"{backend}.choice"
        found += [f"tinyrt.backends.{where}: {op} has no {form} kernel" for form in lacking]
    return found
