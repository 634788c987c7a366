"""Forms that TFLM runs and tinyrt answers alike, in C: under sanitizers, and on a core."""

import re

import numpy as np
import pytest

from tests.c.host import BESIDE, build_program, run_program
from tests.firmware.device import run_on_device
from tests.sampling import sampled
from tests.tflm_forms.form import rng_of

pytest.importorskip("tflite_micro", reason="package tflite-micro is not installed")

from tests.tflm_forms.joined import joined
from tests.tflm_forms.run import all_forms, outcome
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import UnsupportedError
from tinyrt.export import ExportOptions, export_graph
from tinyrt.ops.shared.evaluate import evaluate

SHARE = sampled(0.015, 0.25)
RARE = (
    "ADD s32", "DIV s32", "MUL s32", "PADV2", "PRELU", "SLICE bool", "computed",
)  # fmt: skip
"""Forms that are read as several ops, or have kernels of their own: more of them are tried."""
pytestmark = pytest.mark.slow


def exact(share, rare, folder):
    """Forms that the host answers exactly; floats are left to ``tests.c``.

    Args:
        share: of all forms.
        rare: of those of ``RARE``.
        folder: for trials.

    """
    forms = []
    for form in all_forms():
        rate = rare if any(part in form.name for part in RARE) else share
        if " f32" in form.name or rng_of(f"in C {form.name}").random() >= rate:
            continue
        found = outcome(form)
        if found is not None and found.word == "exact" and computes(form, folder):
            forms.append(form)
    return forms


def computes(form, folder):
    """Whether C does: some answers are known when the file is read, some integers refused."""
    graph = parse_tflite(form.data)
    if re.search(r" (s32|s64)", form.name):
        try:
            export_graph(graph, folder / f"{len(list(folder.iterdir()))}")
        except UnsupportedError:
            return False
    return bool(graph.nodes)


@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["cortex-m3", "cortex-m4"]))
def test_answers_are_those_of_the_host(core, tmp_path):
    forms = exact(SHARE, 4 * SHARE, tmp_path)
    assert len(forms) > 40
    graph, feeds = joined(forms)
    options = ExportOptions(memories=BESIDE)
    project = export_graph(graph, tmp_path / "project", core=core, options=options)
    found = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        which = forms[int(name.split("/")[0][1:])].name
        np.testing.assert_array_equal(found[name], expected, err_msg=which)


@pytest.mark.whole
def test_rare_forms_on_the_device(tmp_path):
    forms = exact(0.0, sampled(0.03, 0.2), tmp_path)
    graph, feeds = joined(forms)
    _, _, found = run_on_device(graph, feeds, tmp_path, "cortex-m4")
    for name, expected in evaluate(graph, feeds).items():
        which = forms[int(name.split("/")[0][1:])].name
        answer = found[name].reshape(expected.shape)
        np.testing.assert_array_equal(answer, expected, err_msg=which, strict=True)
