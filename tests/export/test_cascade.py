"""A cascade in C: under sanitizers on this machine, with every misuse, and on emulated cores."""

import os
import re
import subprocess

import numpy as np
import pytest

from tests.c.host import ABORT, SANITIZE, host_compiler
from tests.cascades import int8, pair, scaled, with_exit
from tests.firmware.device import require_core
from tests.kept_objects import compile_sources
from tests.quantize.test_mixed import samples
from tests.sampling import sampled
from tinyrt import Cascade, run_emulated
from tinyrt.api import split_early_exit
from tinyrt.emulate.cascade import CascadeRun
from tinyrt.emulate.qemu import sample_instructions
from tinyrt.errors import BudgetError, DataError, UnsupportedError
from tinyrt.export import ExportOptions, Memories, export_c, export_cascade
from tinyrt.memory import Region

EYES = ExportOptions(name="eyes")

MAIN = """
#include <stdio.h>
#include "cascade.h"

static _Alignas(CASCADE_ARENA_ALIGNMENT) int8_t arena[CASCADE_ARENA_BYTES];
static int8_t x[CASCADE_INPUT_0_BYTES];
static int8_t y[CASCADE_OUTPUT_0_BYTES];
static int32_t stage = 7;

int main(void) {
    const cascade_io_t all = {.input_0 = x, .output_0 = y, .output_1 = &stage};
    cascade_io_t none[3] = {all, all, all};
    none[0].input_0 = NULL;
    none[1].output_0 = NULL;
    none[2].output_1 = NULL;
    int32_t statuses[6] = {cascade_invoke(&all, NULL), cascade_invoke(&all, arena + 1),
                           cascade_invoke(NULL, arena)};
    for (int i = 0; i < 3; ++i) {
        statuses[3 + i] = cascade_invoke(&none[i], arena);
    }
    fwrite(statuses, 1, sizeof statuses, stdout);
    fwrite(&stage, 1, sizeof stage, stdout);
    while (fread(x, 1, sizeof x, stdin) == sizeof x) {
        if (cascade_invoke(&all, arena) != 0) {
            return 1;
        }
        fwrite(y, 1, sizeof y, stdout);
        fwrite(&stage, 1, sizeof stage, stdout);
    }
    return 0;
}
"""


KINDS = ["two models", "an exit", "two scales"]


@pytest.fixture(scope="module", params=KINDS)
def models(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    if request.param == "two models":
        return pair(folder)
    if request.param == "two scales":
        small, large = pair(folder)
        return small, scaled(folder).replace(large)
    parts = (folder / "small.tflite", folder / "large.tflite")
    split_early_exit(int8(with_exit(), folder / "whole.tflite"), *parts)
    return parts


def some_thresholds(cascade, x):
    """A threshold that some samples reach, and others do not."""
    cascade.choose_threshold(x, np.zeros(len(x), int), exits=0.5)
    return cascade


@pytest.mark.slow
@pytest.mark.parametrize("models", sampled(KINDS[1:2], KINDS), indirect=True)
def test_c_answers_as_the_host_does(models, tmp_path):
    x = samples(40, 21)
    cascade = some_thresholds(Cascade(*models), x)
    project = cascade.export(tmp_path / "c", core="host")
    (tmp_path / "main.c").write_text(MAIN)
    sources = [str(path) for path in project.project.directory.rglob("*.c")]
    command = [host_compiler(), "-std=c11", "-Wall", "-Wextra", "-Werror", *SANITIZE.split()]
    command += [f"-I{tmp_path / 'c'}", str(tmp_path / "main.c"), *sources]
    compile_sources([*command, "-lm", "-o", str(tmp_path / "main")])
    stored = cascade._inputs(x)
    done = subprocess.run(
        [tmp_path / "main"],
        input=stored.tobytes(),
        check=True,
        capture_output=True,
        env=os.environ | ABORT,
    )
    assert np.frombuffer(done.stdout[:28], np.int32).tolist() == [1, 2, 6, 4, 4, 4, 7]
    row = np.dtype([("scores", np.int8, 5), ("stage", np.int32)])
    found = np.frombuffer(done.stdout[28:], row)
    expected = cascade.run(x)
    assert set(expected.stages.tolist()) == {0, 1}
    np.testing.assert_array_equal(found["scores"], expected.scores)
    np.testing.assert_array_equal(found["stage"], expected.stages)


ALL = [(core, kind) for core in ("cortex-m0", "cortex-m4", "rv32imc") for kind in KINDS]


@pytest.mark.device
@pytest.mark.parametrize(
    ("core", "models"), sampled([("cortex-m4", "an exit")], ALL), indirect=["models"]
)
def test_a_core_answers_alike_and_every_sample_is_counted(core, models, tmp_path):
    require_core(core)
    x = samples(24, 22)
    cascade = some_thresholds(Cascade(*models), x)
    expected = cascade.run(x)
    run = cascade.emulate(x, core=core)
    assert run.emulation.bit_exact
    ram = run.emulation.ram
    arena = cascade.export(tmp_path / "c", core=core).project.arena_bytes
    assert (ram.static, ram.arena) == (0, arena)
    assert 0 < ram.stack <= ram.stack_bound < 1024
    np.testing.assert_array_equal(run.stages, expected.stages)
    assert len(run.instructions) == 24
    assert run.mean_instructions == pytest.approx(run.instructions.mean())
    assert abs(run.instructions[0] - run.emulation.instructions) <= 4
    short, long = (run.mean_of(stage) for stage in (0, 1))
    share = expected.stages.mean()
    assert run.mean_instructions == pytest.approx((1 - share) * short + share * long)
    if cascade.joint.carried is None:
        alone = [run_emulated(path, core=core, samples=1).instructions for path in models]
        assert short == pytest.approx(alone[0], rel=0.05, abs=100)
        converting = 0 if cascade.joint.table is None else 7.5 * 192
        assert long - short == pytest.approx(alone[1] + converting, rel=0.05)


def test_means_are_of_the_samples_that_a_stage_answers():
    counts, stages = np.array([10, 100, 13, 110]), np.array([0, 1, 0, 1], np.int32)
    run = CascadeRun(None, counts, stages)
    assert (run.mean_instructions, run.mean_of(0), run.mean_of(1)) == (58.25, 11.5, 105)
    assert CascadeRun(None, counts, stages * 0).mean_of(1) is None


def test_each_sample_is_counted_in_its_phase():
    report = {
        **{"calibration_instructions": [1000], "calibration_ticks": [100]},
        **{"calibration_polls": [0], "empty_ticks": [2, 3], "empty_polls": [0, 2]},
        **{"sample_ticks": [12, 13, 22], "sample_polls": [0, 1, 1]},
    }
    assert sample_instructions(report) == [100, 104, 196]


@pytest.mark.parametrize("models", KINDS[:1], indirect=True)
def test_this_machine_counts_nothing(models):
    run = Cascade(*models, threshold=40).emulate(samples(6), core="host")
    assert run.emulation.bit_exact
    assert (run.instructions, run.mean_instructions, run.mean_of(0)) == (None, None, None)


def macros(text):
    return {name: int(n) for name, n in re.findall(r"#define (\w+) (\d+)\n", text)}


def test_what_an_export_says(models, tmp_path):
    found = export_cascade(*models, tmp_path / "c", threshold=33, optimize="size", options=EYES)
    text = (tmp_path / "c" / "eyes.h").read_text()
    said = macros(text)
    arena = max(found.first.arena_bytes, found.second.arena_bytes)
    arena = -(-arena // 16) * 16
    if found.joint.carried is not None:
        arena += found.first.outputs[found.joint.carried].nbytes
    elif found.joint.table is not None:
        arena += 192
    assert said["EYES_ARENA_BYTES"] == found.project.arena_bytes == arena
    assert said["EYES_THRESHOLD"] == found.threshold == 33
    assert (said["EYES_CLASSES"], said["EYES_INPUT_0_BYTES"]) == (5, 192)
    assert (said["EYES_OUTPUT_0_BYTES"], said["EYES_OUTPUT_1_BYTES"]) == (5, 4)
    assert found.project.optimize.value == "size"
    assert f"eyes_{found.project.identity}_invoke" in text
    assert found.first.identity == found.second.identity == found.project.identity
    assert {"eyes.c", "small.c", "large_weights.c"} <= set(found.project.files)
    weights = sum(
        export_c(path, tmp_path / path.stem, optimize="size").weight_bytes for path in models
    )
    assert found.project.weight_bytes == weights


def test_names_and_thresholds(models, tmp_path):
    for name in ("small", "large"):
        own = ExportOptions(name=name)
        with pytest.raises(UnsupportedError, match=f"two parts of the cascade are called '{name}'"):
            export_cascade(*models, tmp_path / "c", threshold=1, options=own)
    with pytest.raises(DataError, match="the option threshold"):
        export_cascade(*models, tmp_path / "c", threshold=257)
    assert not (tmp_path / "c").exists()


def exported(models, folder, **options):
    return export_cascade(*models, folder, threshold=9, options=ExportOptions(**options))


@pytest.mark.parametrize("models", KINDS[1:2], indirect=True)
def test_both_models_are_exported_as_asked(models, tmp_path):
    plain = exported(models, tmp_path / "plain")
    assert plain.project.weights_section is None
    found = exported(
        *(models, tmp_path / "c"),
        **{"prefix": "acme_", "info": True, "unaligned": False},
        memories=Memories(alignment=32, weights_section=".slow"),
    )
    names = [project.name for project in (found.project, found.first, found.second)]
    assert names == ["acme_cascade", "acme_small", "acme_large"]
    files = set(found.project.files)
    for name in names[1:]:
        assert f"{name}_info.c" in files
        assert ".slow" in (tmp_path / "c" / f"{name}_weights.c").read_text()
    build = (tmp_path / "c" / "Makefile").read_text()
    assert "_info" in build
    assert "-mno-unaligned-access" in build
    assert not {"_info", "-mno-unaligned-access"} & set(
        (tmp_path / "plain" / "Makefile").read_text().split()
    )
    assert found.project.weights_section == ".slow"
    said = macros((tmp_path / "c" / "acme_cascade.h").read_text())
    assert said["ACME_CASCADE_ARENA_ALIGNMENT"] == 32
    assert said["ACME_CASCADE_ARENA_BYTES"] == found.project.arena_bytes
    assert said["ACME_CASCADE_ARENA_BYTES"] % 32 == found.first.outputs[1].nbytes % 32


@pytest.mark.parametrize("models", KINDS[1:2], indirect=True)
def test_a_cascades_arena_is_held_to_its_limit(models, tmp_path):
    """What waits between the models counts; rows are run one by one where that takes it."""
    plain = exported(models, tmp_path / "plain").project
    assert plain.row_by_row == ()
    same = exported(models, tmp_path / "same", max_arena=plain.arena_bytes).project
    assert (same.arena_bytes, same.row_by_row) == (plain.arena_bytes, ())
    rows = exported(models, tmp_path / "rows", by_rows=True).project
    assert rows.arena_bytes < plain.arena_bytes
    assert rows.row_by_row
    tight = exported(models, tmp_path / "tight", max_arena=plain.arena_bytes - 1).project
    assert tight.arena_bytes <= plain.arena_bytes - 1
    assert tight.row_by_row
    kept = 8 * 8 * 8
    with pytest.raises(BudgetError, match="the arena needs"):
        exported(models, tmp_path / "none", max_arena=kept)
    with pytest.raises(BudgetError, match=f"^{kept} bytes of the arena wait"):
        exported(models, tmp_path / "none", max_arena=kept - 1)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("models", KINDS[:1], indirect=True)
def test_what_a_cascade_has_no_code_for_is_refused(models, tmp_path):
    for name, value in {"slices": 5000, "blob": True, "board": True, "selftest": 1}.items():
        with pytest.raises(UnsupportedError, match=f"a cascade takes no option '{name}'"):
            exported(models, tmp_path / "c", **{name: value})
    two = Memories((Region("dtcm"), Region("sram")))
    with pytest.raises(UnsupportedError, match="a cascade lies in one arena"):
        exported(models, tmp_path / "c", memories=two)
    for place in ("inputs", "outputs"):
        outside = Memories(**{f"{place}_in_arena": False})
        with pytest.raises(UnsupportedError, match="a cascade never lie in its arena"):
            exported(models, tmp_path / "c", memories=outside)
    with pytest.raises(UnsupportedError, match="an emulation of a cascade takes no option 'info'"):
        Cascade(*models).emulate(samples(2), options=ExportOptions(info=True))


@pytest.mark.parametrize("models", KINDS[1:2], indirect=True)
def test_rows_answer_alike(models):
    x = samples(8, 23)
    cascade = some_thresholds(Cascade(*models), x)
    run = cascade.emulate(x, core="host", options=ExportOptions(by_rows=True))
    assert run.emulation.bit_exact
    assert run.emulation.row_by_row
    assert set(run.stages.tolist()) == {0, 1}
