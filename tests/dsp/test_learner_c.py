"""A layer that goes on learning, in C: on this machine and on emulated cores, and its slots."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.c.host import ABORT, SANITIZE, host_compiler
from tests.dsp.device import run_invoke
from tests.dsp.test_learner import LEARNERS, orders
from tests.export.program import build_program
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.dsp import LearnerState
from tinyrt.export import export_learner


def told(state, steps, seed=7):
    """Orders for the program, and what it should answer to each: bytes."""
    x, labels = orders(state.learner, steps, seed)
    rng = np.random.default_rng(seed)
    saves, given, answers = [], [], []
    for i, (features, label) in enumerate(zip(x, labels, strict=True)):
        order = int(rng.choice([int(label), -1, -2, -3], p=[0.7, 0.1, 0.1, 0.1]))
        order = -4 if i == steps // 2 else order
        if order == -3 and not saves:
            order = -2
        answer = b""
        if order >= 0:
            state.learn(features, order)
        elif order == -2:
            saves.append(state.save(len(saves)))
        elif order == -3:
            answer = np.uint32(state.load(saves[-1])).tobytes()
        elif order == -4:
            state.reset()
        given.append(np.int32(order).tobytes() + features.tobytes())
        parts = (state.scores(features), np.frombuffer(state.save()[16:], np.int32))
        answers.append(answer + b"".join(part.tobytes() for part in parts))
    assert len(saves) > 2
    return given, answers


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled([*LEARNERS][::4], LEARNERS))
def test_c_learns_as_python_does(name, tmp_path):
    learner = LEARNERS[name]
    project = export_learner(learner, tmp_path / "project", core="host")
    program = build_program(project, Path(__file__).parent / "learning.c", tmp_path)
    given, expected = told(LearnerState(learner), 400)
    done = subprocess.run(
        [program], input=b"".join(given), capture_output=True, check=True, env=os.environ | ABORT
    )
    misuse = np.frombuffer(done.stdout[: 19 * 4], np.int32).tolist()
    assert misuse == [5, 7, 5, 7, 4, 4, 5, 7, 4, -2, -2, 5, 7, 5, 5, 4, -1, -1, 7]
    at = 19 * 4
    for i, answer in enumerate(expected):
        assert done.stdout[at : at + len(answer)] == answer, f"order {i}"
        at += len(answer)
    assert at == len(done.stdout)


SLOTS = """
#include <stdio.h>
#include <string.h>
#include "learner.h"

static int32_t state[LEARNER_STATE_BYTES / 4];
static uint32_t slots[2][LEARNER_SAVED_BYTES / 4];

static int load(const void *a, const void *b) {
    uint32_t number = 0;
    const int status = learner_load(a, b, &number, state);
    printf("%d %lu\\n", status, (unsigned long)number);
    return status;
}

int main(void) {
    learner_reset(state);
    learner_save(5, slots[0], state);
    load(slots[0], slots[1]);
    load(slots[1], slots[0]);
    load(slots[0], NULL);
    learner_save(6, slots[1], state);
    load(slots[0], slots[1]);
    load(slots[1], slots[0]);
    learner_save(UINT32_MAX, slots[0], state);
    learner_save(0, slots[1], state);
    load(slots[0], slots[1]);
    load(slots[1], slots[0]);
    /* Every byte of the newer one, damaged: the older one is taken, and nothing of the damage. */
    int wrong = 0;
    for (size_t i = 0; i < sizeof slots[1]; ++i) {
        uint32_t number = 9;
        ((uint8_t *)slots[1])[i] ^= 16;
        wrong += learner_load(slots[0], slots[1], &number, state) != 0 || number != UINT32_MAX;
        wrong += learner_load(NULL, slots[1], &number, state) != LEARNER_NOTHING_SAVED;
        wrong += number != UINT32_MAX;
        ((uint8_t *)slots[1])[i] ^= 16;
    }
    printf("%d\\n", wrong);
    return 0;
}
"""


def test_the_newer_of_two_whole_slots_is_taken(tmp_path):
    project = export_learner(LEARNERS["plain"], tmp_path / "c", core="host")
    (tmp_path / "main.c").write_text(SLOTS)
    sources = [str(path) for path in project.directory.rglob("*.c")]
    command = [host_compiler(), "-std=c99", *SANITIZE.split(), f"-I{project.directory}"]
    command += [str(tmp_path / "main.c"), *sources, "-o", str(tmp_path / "main")]
    subprocess.run(command, check=True)
    said = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True).stdout
    assert said.split("\n")[:-1] == ["0 5"] * 3 + ["0 6"] * 2 + ["0 0"] * 2 + ["0"]


INVOKE = """
#include "learner.h"
#include "clip.h"

int clip_invoke(const clip_io_t *io, void *arena) {{
    (void)io;
    uint8_t *const bytes = arena;
    int32_t *const scores = (int32_t *)(void *)(bytes + CLIP_OUTPUT_0_OFFSET);
    int8_t *const weights = (int8_t *)(scores + LEARNER_CLASSES);
    const int8_t *const state = (const int8_t *)bytes + CLIP_STATE;
    int status = learner_reset(bytes + CLIP_STATE);
    for (int32_t i = 0; status == 0 && i < {steps}; ++i) {{
        const int8_t *const sample = (const int8_t *)arena + i * (LEARNER_FEATURES + 1);
        status = learner_learn(sample + 1, sample[0], bytes + CLIP_STATE);
    }}
    status = status != 0 ? status : learner_scores((const int8_t *)arena + 1, scores, state);
    for (int32_t i = 0; i < LEARNER_SAVED_BYTES - 16; ++i) {{
        weights[i] = state[i];
    }}
    return status;
}}
"""


MOST = {"cortex-m0": 200_000, "cortex-m4": 36_000, "rv32imc": 60_000}
"""Core -> instructions of a step of 12 classes and 33 features."""


@pytest.mark.device
@pytest.mark.parametrize("core", sampled(["cortex-m4"], [*MOST]))
def test_a_core_has_the_host_s_weights_after_a_hundred_steps(core, tmp_path):
    require_core(core)
    learner, steps = LEARNERS["coarse"], 100
    project = export_learner(learner, tmp_path / "project", core=core)
    clips, expected = [], []
    for seed in range(2):
        x, labels = orders(learner, steps, seed)
        state = LearnerState(learner)
        for features, label in zip(x, labels, strict=True):
            state.learn(features, int(label))
        clips.append(np.concatenate([labels[:, None].astype(np.int8), x], axis=1))
        parts = (state.scores(x[0]), state.weights, state.biases)
        expected.append(b"".join(part.tobytes() for part in parts))
    size = -(-project.state_bytes // 8) * 8
    where = (project.directory, "learner", core, tmp_path)
    invoke = INVOKE.format(steps=steps)
    _, found = run_invoke(*where, invoke, np.stack(clips), size, len(expected[0]))
    assert found.outputs == b"".join(expected)
    assert found.instructions <= MOST[core] * steps


def test_what_an_export_says(tmp_path):
    project = export_learner(LEARNERS["plain"], tmp_path / "a", name="head", prefix="acme")
    header = (project.directory / "acme_head.h").read_text()
    assert (project.state_bytes, project.saved_bytes) == (4 * (40 + 4), 4 * (4 + 40))
    assert "#define ACME_HEAD_STATE_BYTES 176\n" in header
    assert "#define ACME_HEAD_SAVED_BYTES 176\n" in header
    assert "#define ACME_HEAD_CLASSES 4\n" in header
    assert "#define ACME_HEAD_FEATURES 9\n" in header
    assert f"acme_head_{project.identity}_learn" in header
    assert "acme_head.c" in project.files
    assert project.learner == LEARNERS["plain"]
