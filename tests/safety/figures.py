"""The figures on the page about safety: measured by one command, kept beside the tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.c.conformance import F32_OPS
from tests.c.packed_cases import PACKED_CASES
from tests.c.programs import drawn, one_graph
from tests.export.kinds import KINDS
from tests.ops.build import build_f32, build_s8
from tests.ops.cases import CASES
from tests.ops.corners.recurrent import recurrent
from tests.safety import counts, misra
from tinyrt.emulate import build_image, toolchain
from tinyrt.export import ExportOptions, export_c, export_graph, find_core

FIGURES = Path(__file__).parent / "figures.json"

CORES = ("cortex-m0", "cortex-m4", "cortex-m55", "rv32imc")
"""A core for each set of kernels and each compiler."""
MISRA_CORES = CORES[:3]
"""One for each set of kernels."""

MODELS = ("autoencoder_ad", "dscnn_kws", "mobilenet_vww", "resnet8", "streaming_wakeword")

KERNELS = "all kernels"
"""What is looked at beside the models: kernels of all ops, without a model's own code."""

LONG_ROWS = {"long_row": PACKED_CASES["long_row"]}
"""Of which the first ones take other kernels."""

OPTIONS = {
    "in slices": {"slices": 50_000, "info": True},
    "row by row": {"by_rows": True},
    "by pushed rows": {"input_rows": True},
    "from a blob": {"blob": True},
}
"""Further code of a model, on one core."""
OPTIONS_OF = ("dscnn_kws", "cortex-m4")

OTHERS = {
    "small slices": "slices",
    "state": "state",
    "float tensors": "float",
    "float ports": "ports",
    "self-tests of two models": "self-tests",
    "a board's protocols": "board",
    "a front end of sound": "sound",
    "a front end of motion": "motion",
    "a camera": "camera",
    "a camera of colours": "camera of colours",
    "a front end alone": "front end",
    "a detector": "detector",
    "boxes": "boxes",
    "the greatest scores": "greatest",
    "an alarm": "alarm",
    "a front end of windows by themselves": "sound by windows",
    "a layer that learns": "learner",
    "the nearest class mean": "nearest mean",
    "a cascade": "cascade",
}
"""Small exports that have code of their own, which is in ``KINDS``; on the same core."""

EXPORTS = [
    *((what, core) for core in MISRA_CORES for what in (KERNELS, *MODELS)),
    *((what, OPTIONS_OF[1]) for what in (*OPTIONS, *OTHERS)),
]
"""(what is exported, for which core)."""


def misra_findings(zoo: Path, what: str, core: str, folder: Path) -> misra.Findings:
    """What is found in one of ``EXPORTS``."""
    if what == KERNELS:
        cases = drawn("float", {op: CASES[op] for op in F32_OPS}, range(2), build_f32)
        for kind in counts.KINDS.values():
            cases |= kind(range(2))
        cases |= recurrent() | drawn("rows", LONG_ROWS, range(2, 4), build_s8)
        export_graph(one_graph(cases)[0], folder / "project", core=core)
        return misra.findings(folder / "project", core, "tinyrt")
    if what in OTHERS:
        KINDS[OTHERS[what]][0](folder / "project", core=core)
        return misra.findings(folder / "project", core)
    model = zoo / "models" / f"{OPTIONS_OF[0] if what in OPTIONS else what}_int8.tflite"
    export_c(model, folder / "project", core=core, options=ExportOptions(**OPTIONS.get(what, {})))
    return misra.findings(folder / "project", core)


def load() -> dict[str, Any]:
    """What was measured last."""
    return json.loads(FIGURES.read_text(encoding="utf-8"))


def measure(zoo: Path) -> dict[str, Any]:
    """All figures anew: this takes a quarter of an hour."""
    return {
        "cppcheck": misra.release(),
        "compilers": {core: _release(core) for core in CORES},
        **_misra(zoo),
        "stack": {core: dict(_stacks(zoo, core)) for core in CORES},
        "ops": {core: _ops(core) for core in CORES},
        "models": {core: dict(_ranges(zoo, core)) for core in CORES},
    }


def _release(core: str) -> str:
    return toolchain.run([find_core(core).compiler, "--version"], doing="asking").splitlines()[0]


def _misra(zoo: Path) -> dict[str, Any]:
    with ThreadPoolExecutor() as pool:
        each = list(pool.map(lambda export: _found(zoo, *export), EXPORTS))
    by_rule: dict[str, dict[str, dict[str, int]]] = {}
    files: dict[str, set[str]] = {}
    for (what, core), found in zip(EXPORTS, each, strict=True):
        by_rule.setdefault(what, {})[core] = misra.by_rule(found)
        for rule, file in found:
            files.setdefault(rule, set()).add(file)
    return {"misra": by_rule, "files": {rule: sorted(files[rule]) for rule in sorted(files)}}


def _found(zoo: Path, what: str, core: str) -> misra.Findings:
    with TemporaryDirectory() as folder:
        return misra_findings(zoo, what, core, Path(folder))


def _stacks(zoo: Path, core: str) -> Iterator[tuple[str, int | None]]:
    """Each model's bound on the stack, in bytes."""
    for model in MODELS:
        with TemporaryDirectory() as folder:
            path = zoo / "models" / f"{model}_int8.tflite"
            project = export_c(path, Path(folder) / "project", core=core)
            yield model, build_image(project, Path(folder)).stack_bound


def _ops(core: str) -> dict[str, dict[str, Any]]:
    """Op -> where its instructions depend on data most, and in how many cases they do not."""
    found: list[counts.Range] = []
    for cases in counts.KINDS.values():
        with TemporaryDirectory() as folder:
            found += counts.ranges(*one_graph(cases(range(2))), core, Path(folder), 12)
    figures = {}
    for op in sorted({each.op for each in found}):
        same = [each for each in found if each.op == op]
        most = max(same, key=lambda each: each.spread)
        figures[op] = {
            "cases": len(same),
            "equal": sum(each.least == each.most for each in same),
            "least": most.least,
            "most": most.most,
            "values": most.values,
            "spread": round(most.spread, 1),
        }
    return figures


def _ranges(zoo: Path, core: str) -> Iterator[tuple[str, list[int]]]:
    """Each model's fewest and most instructions."""
    for model in MODELS:
        with TemporaryDirectory() as folder:
            found = counts.model_counts(zoo, model, core, Path(folder), 12)
        yield model, [min(found), max(found)]
