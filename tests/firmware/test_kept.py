"""What ``--keep`` leaves can be built again, on its own, wherever it is moved to."""

import shutil
import subprocess

import numpy as np
import pytest

from tests.cli.calls import call_json
from tests.export.models import dense
from tests.firmware.device import require_core
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import build_image
from tinyrt.export import export_graph
from tinyrt.ops.shared.evaluate import evaluate

MADE = {".o", ".elf", ".a", ".d", ".ci", ".map"}
"""What compilers and linkers write."""


def rebuild(folder, name):
    for path in list(folder.rglob("*")):
        if path.is_file() and (path.suffix in MADE or path.name == "program"):
            path.unlink()
    assert not (folder / name).exists()
    subprocess.run(["make", "-s", "-C", folder], check=True, capture_output=True)
    return folder / name


@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m4", "rv32imc"])
def test_the_image_is_built_again_byte_for_byte(tmp_path, core):
    require_core(core)
    project = export_graph(dense(), tmp_path / "kept" / "model", core=core)
    image = build_image(project, tmp_path / "kept")
    before = image.path.read_bytes()
    shutil.move(tmp_path / "kept", tmp_path / "moved")
    assert rebuild(tmp_path / "moved" / "image", "image.elf").read_bytes() == before


@pytest.mark.slow
def test_so_is_the_image_that_counts_ops(tmp_path):
    project = export_graph(dense(), tmp_path / "kept" / "model", core="cortex-m4")
    image = build_image(project, tmp_path / "kept", profile=True)
    before = image.path.read_bytes()
    shutil.move(tmp_path / "kept", tmp_path / "moved")
    assert rebuild(tmp_path / "moved" / "profile", "image.elf").read_bytes() == before


def test_the_program_of_this_machine_runs_again(tmp_path):
    save_tflite(dense(), tmp_path / "net.tflite")
    kept = tmp_path / "kept"
    options = ("--core", "host", "--samples", "1", "--keep", kept)
    found = call_json("emulate", tmp_path / "net.tflite", *options)
    program = rebuild(kept, "program")
    (kept / "outputs.bin").unlink()
    subprocess.run([program], cwd=kept, check=True)
    output = np.frombuffer((kept / "outputs.bin").read_bytes(), np.int8)
    assert output.tolist() == np.ravel(found["outputs"]["y"]).tolist()
    x = np.frombuffer((kept / "inputs.bin").read_bytes(), np.int8).reshape(1, 4)
    np.testing.assert_array_equal(output, evaluate(dense(), {"x": x})["y"][0])


def test_sources_of_the_harness_say_their_licence(tmp_path):
    project = export_graph(dense(), tmp_path / "model", core="cortex-m4")
    build_image(project, tmp_path)
    files = [p for p in (tmp_path / "image").iterdir() if p.suffix in (".c", ".h", ".ld")]
    for path in [*files, tmp_path / "image" / "Makefile"]:
        first, second = path.read_text().splitlines()[:2]
        assert "SPDX-License-Identifier: Apache-2.0" in first
        assert project.identity in second
    assert {p.name for p in files} >= {"harness_main.c", "harness_startup.c", "image.ld"}
