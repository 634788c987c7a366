"""``python -m tests.onnx_backend``: the share of ONNX's own node tests that tinyrt passes.

In scope are the cases of one node, of ONNX's own domain, whose op has an importer and whose first
input and all outputs are float32, of known and positive sizes. A converter of static graphs needs
weights, shapes and indices as constants: first the case runs with all its float inputs open, then
with all but the first one known. Results are those of the reference kernels.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference.ops import op_pool_common

from tinyrt.convert.onnx.features import DOMAIN
from tinyrt.convert.onnx.flow import FLOW
from tinyrt.convert.onnx.fused import FUSED
from tinyrt.convert.onnx.learned import LEARNED
from tinyrt.convert.onnx.ops import IMPORTERS, SEVERAL
from tinyrt.convert.onnx.quantized import EXPANSIONS, QUANTIZED
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.onnx.standard import STANDARD
from tinyrt.convert.onnx.static import STATIC, STATIC_SEVERAL
from tinyrt.errors import TinyrtError
from tinyrt.ops.shared.evaluate import evaluate

RTOL, ATOL = 1e-3, 1e-5

CORNERS = """
Where corners are aligned, the tests take a size from the scale that need not be whole; onnxruntime
and PyTorch take the size that the output has, and so does tinyrt."""
"""Why cases of Resize do not pass."""

INTEGER = {op for domain, op in EXPANSIONS if not domain} | {*QUANTIZED, "DynamicQuantizeLinear"}
"""Ops from, to or on integers that stand for numbers."""

OWN = {op for domain, op in FUSED if not domain}
"""Ops of trial operators that ONNX had."""

DYNAMIC = IMPORTERS.keys() | SEVERAL.keys() | INTEGER | STANDARD | OWN
"""Ops that have an importer."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case; ``problem`` is empty where it passed."""

    name: str
    op: str
    problem: str


def node_cases() -> list[Any]:
    """ONNX's node tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        own = op_pool_common.pool
        op_pool_common.pool = pool  # which the tests' modules import, each when it is loaded
        try:
            return load_model_tests(kind="node")
        finally:
            op_pool_common.pool = own


def pool(
    padded: np.ndarray,
    x_shape: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    out_shape: Sequence[int],
    pooling_type: str,
    pads_required: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    count_include_pad: int = 0,
    p: int = 1,
) -> np.ndarray:
    """What ONNX's function of that name answers, in a hundredth of its time: all windows at once.

    Pixels that do not count are NaN.
    """
    axes = len(x_shape) - 2
    dilations = [1] * axes if dilations is None else dilations
    pads = [0] * 2 * axes if pads is None else pads
    pads = pads * axes * 2 if len(pads) == 1 else pads
    strides = strides or [1] * axes
    places, inside = [], np.bool_(True)
    for i, count in enumerate(out_shape):
        # Axes of outputs, then those within their windows.
        shape = [1] * 2 * axes
        shape[i], shape[axes + i] = count, kernel[i]
        taps = np.arange(kernel[i]) * dilations[i]
        place = (np.arange(count)[:, None] * strides[i] + taps).reshape(shape)
        inside = inside & (place < x_shape[i + 2] + pads[i] + pads[axes + i])
        places.append(np.minimum(place, padded.shape[i + 2] - 1))
    windows = np.where(inside, padded[(..., *places)].astype(np.float64), np.nan)
    within = tuple(range(-axes, 0))
    if pooling_type == "LPPOOL":
        found = np.nansum(np.abs(windows) ** p, axis=within) ** (1 / p)
    else:
        found = (np.nanmax if pooling_type == "MAX" else np.nanmean)(windows, axis=within)
    return np.asarray(found.astype(padded.dtype))


def out_of_scope(case: Any) -> str:
    """Why a case is not counted, or nothing."""
    nodes = case.model.graph.node
    if len(nodes) != 1:
        return "a function expanded into other nodes"
    (node,) = nodes
    if node.domain not in ("", "ai.onnx") or node.op_type not in DYNAMIC:
        return f"op {node.op_type}"
    inputs, outputs = case.data_sets[0]
    arrays = [*inputs[:1], *outputs]
    if not inputs or any(not isinstance(a, np.ndarray) or a.dtype != np.float32 for a in arrays):
        return "not float32"
    if any(np.size(a) == 0 for a in arrays):
        return "an empty tensor"
    return ""


def bound(case: Any, open_inputs: int) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """The case's model with all inputs but the first float ones known, and their data."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs = dict(zip((i.name for i in model.graph.input), case.data_sets[0][0], strict=False))
    floats = [n for n, a in inputs.items() if a.dtype == np.float32]
    kept = set(floats[:open_inputs])
    infos = [i for i in model.graph.input if i.name in kept]
    del model.graph.input[:]
    model.graph.input.extend(infos)
    for name, array in inputs.items():
        if name not in kept:
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return model, {name: inputs[name] for name in kept}


def run_case(case: Any, folder: Path) -> str:
    """The problem of the case, or nothing."""
    problem = ""
    for open_inputs in (len(case.data_sets[0][0]), 1):
        model, feeds = bound(case, open_inputs)
        path = folder / "case.onnx"
        path.write_bytes(model.SerializeToString())
        try:
            graph = read_onnx(path)
            found = evaluate(graph, feeds)
        except TinyrtError as error:
            problem = error.problem
            continue
        return compare(list(found.values()), case.data_sets[0][1])
    return problem


def compare(found: list[Any], wanted: list[Any]) -> str:
    """How the outputs differ, or nothing."""
    for y, want in zip(found, wanted, strict=True):
        if y.shape != want.shape:
            return f"shape {y.shape} in place of {want.shape}"
        if not np.allclose(y, want, rtol=RTOL, atol=ATOL, equal_nan=True):
            return f"off by {np.nanmax(np.abs(y - want)):.3g}"
    return ""


def outcomes() -> tuple[list[Outcome], Counter[str]]:
    """All cases in scope, and how many are out of it for which reason."""
    results, excluded = [], Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for case in node_cases():
            reason = out_of_scope(case)
            if reason:
                excluded[reason] += 1
                continue
            problem = run_case(case, Path(folder))
            results.append(Outcome(case.name, case.model.graph.node[0].op_type, problem))
    return results, excluded


PAGE = Path(__file__).parents[1] / "docs" / "onnx.md"

INTRODUCTION = """# ONNX

Look up whether tinyrt imports an op of ONNX's, and how many of ONNX's own node tests it passes.
`python -m tests.onnx_backend` prints each failure; with `--write` it writes this page.

A converter of static graphs needs weights, shapes and indices as constants. So each case runs with
all float inputs open, or else with all but the first one known. tinyrt inlines a model's own
functions, and unrolls `If`, `Loop` and `Scan` where their course is known. Where computed floats
decide an `If`, both branches run, and one is chosen.
"""


def page(results: list[Outcome], excluded: Counter[str]) -> str:
    """The documentation's page."""
    failed = [r for r in results if r.problem]
    passed = len(results) - len(failed)
    known = STATIC.keys() | STATIC_SEVERAL.keys()
    dynamic = sorted(DYNAMIC | FLOW.keys())
    private = sorted(op for domain, op in EXPANSIONS.keys() | FUSED.keys() if domain)
    parts = [
        INTRODUCTION,
        "## Ops\n\nOn activations:\n\n" + ", ".join(dynamic) + ".\n",
        "Of onnxruntime's own domain, `com.microsoft`:\n\n" + ", ".join(private) + ".\n",
        f"Of `{DOMAIN}`:\n\n" + ", ".join(sorted(LEARNED)) + ".\n",
        "Only on what is known on import:\n\n" + ", ".join(sorted(known - set(dynamic))) + ".\n",
        f"## Node tests\n\n{passed} of {len(results)} cases in scope pass "
        f"({passed / len(results):.1%}). Those that do not:\n",
        "| case | op | why |\n| --- | --- | --- |",
        *(f"| {r.name} | {r.op} | {r.problem} |" for r in failed),
        CORNERS,
        "\nNot counted:\n",
        "| cases | why |\n| --- | --- |",
        *(f"| {count} | {reason} |" for reason, count in sorted(excluded.items(), key=_by_count)),
    ]
    return "\n".join(parts) + "\n"


def _by_count(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def main() -> int:
    """Print the failures, the exclusions and the share."""
    results, excluded = outcomes()
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(results, excluded))
    failed = [r for r in results if r.problem]
    for result in failed:
        print(f"{result.name} ({result.op}): {result.problem}")
    print(f"\nnot counted: {sum(excluded.values())}")
    for reason, count in excluded.most_common():
        print(f"  {count:4} {reason}")
    passed = len(results) - len(failed)
    print(f"\n{passed} of {len(results)} cases in scope pass: {passed / len(results):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
