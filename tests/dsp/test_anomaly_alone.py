"""Alarms of autoencoders whose inputs need no front end: on the host, and as C of its own."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.c.host import ABORT
from tests.dsp.device import run_invoke
from tests.dsp.test_anomaly import autoencoder
from tests.export.program import build_program
from tests.firmware.device import require_core
from tests.graphs import Builder
from tests.listening import int8_net, saved
from tests.sampling import sampled
from tinyrt import api
from tinyrt.attached import alarm_at
from tinyrt.dsp import Anomaly, AnomalyStream
from tinyrt.errors import UnsupportedError
from tinyrt.export import export_anomaly
from tinyrt.interpreter import load
from tinyrt.ops.concatenation import ConcatenationAttrs

ALARM = Anomaly(20.0, consecutive=2)
SIZE = 33


@pytest.fixture
def model(tmp_path):
    return saved(tmp_path / "engine.tflite", autoencoder(), None)


def inputs(count, seed=0):
    """Loud and quiet ones by turns of three, so that alarms come and go."""
    rng = np.random.default_rng(seed)
    loud = np.where(np.arange(count) // 3 % 2, 1.0, 0.3)[:, None]
    return (loud * rng.uniform(-6, 8, (count, SIZE))).astype(np.float32)


def pairs(model, x):
    """Inputs and reconstructions as the model stores them, int8 (n, size) each."""
    runner = load(model)
    stored = runner.stored_inputs(x)
    (y,) = runner.run_raw(stored).values()
    (x,) = stored.values()
    return x.reshape(len(x), -1), y.reshape(len(y), -1)


def test_what_the_host_says(model):
    x = inputs(40)
    judged = api.judge_model(model, x, ALARM)
    (real,) = api.run_model(model, x).values()
    np.testing.assert_allclose(judged.errors, ((x - real) ** 2).mean(1), rtol=0.05)
    above = judged.errors > ALARM.threshold
    np.testing.assert_array_equal(judged.alarms, above & np.concatenate([[False], above[:-1]]))
    assert 3 < judged.alarms.sum() < above.sum() < 37
    numbers = alarm_at(ALARM, load(model).graph)
    sums, alarms = AnomalyStream(numbers).push(*pairs(model, x))
    np.testing.assert_array_equal(judged.sums, sums)
    np.testing.assert_array_equal(judged.alarms, alarms)
    np.testing.assert_array_equal(judged.errors, sums * numbers.scale)
    np.savez(model.parent / "x.npz", x=x)
    np.testing.assert_array_equal(api.judge_model(model, model.parent / "x.npz", ALARM).sums, sums)


@pytest.mark.parametrize(
    "core", sampled(["host", "cortex-m4"], ["host", "cortex-m4", "cortex-m55"])
)
def test_c_says_the_same(core, model, tmp_path):
    """On this machine, also what is written for other cores."""
    project = export_anomaly(ALARM, model, tmp_path / "project", core=core)
    program = build_program(project, Path(__file__).parent / "alarms.c", tmp_path)
    x, y = pairs(model, inputs(300, 1))
    rng = np.random.default_rng(2)
    x[100:200], y[100:200] = rng.choice([-128, 127], (2, 100, SIZE))
    data = np.stack([x, y], axis=1).tobytes()
    environment = os.environ | ABORT
    done = subprocess.run([program], input=data, capture_output=True, check=True, env=environment)
    assert np.frombuffer(done.stdout[:32], np.int32).tolist() == [5, 7, 5, 7, 4, 4, 4, 4]
    found = np.frombuffer(done.stdout[32:], np.dtype([("error", "<u8"), ("alarm", "<i4")]))
    sums, alarms = AnomalyStream(project.numbers).push(x, y)
    np.testing.assert_array_equal(found["error"], sums)
    np.testing.assert_array_equal(found["alarm"], alarms)
    assert 0 < alarms.sum() < 300


INVOKE = """
#include "anomaly.h"
#include "clip.h"

int clip_invoke(const clip_io_t *io, void *arena) {{
    (void)io;
    uint8_t *const bytes = arena;
    int status = anomaly_reset(bytes + CLIP_STATE);
    for (int32_t i = 0; status == 0 && i < {rows}; ++i) {{
        const int8_t *const x = (const int8_t *)arena + 2 * i * ANOMALY_SIZE;
        uint64_t error;
        int32_t *const answer = (int32_t *)(void *)(bytes + CLIP_OUTPUT_0_OFFSET) + 3 * i;
        status = anomaly_push(x, x + ANOMALY_SIZE, &error, answer, bytes + CLIP_STATE);
        answer[1] = (int32_t)(error & 0xFFFFFFFFU);
        answer[2] = (int32_t)(error >> 32);
    }}
    return status;
}}
"""

MOST = {"cortex-m0": 25, "cortex-m4": 10.5, "cortex-m55": 5.2, "rv32imc": 20.5}
"""Core -> most instructions for a number of an input."""


@pytest.mark.device
@pytest.mark.parametrize("core", sampled(["cortex-m4"], [*MOST]))
def test_a_core_says_the_same(core, model, tmp_path):
    require_core(core)
    rows, clips = 20, 5
    project = export_anomaly(ALARM, model, tmp_path / "project", core=core)
    x, y = pairs(model, inputs(rows * clips, 3))
    data = np.stack([x, y], axis=1).reshape(clips, -1)
    where = (project.directory, "anomaly", core, tmp_path)
    _, found = run_invoke(*where, INVOKE.format(rows=rows), data, 8, 12 * rows)
    answers = np.frombuffer(found.outputs, "<i4").reshape(clips, rows, 3)
    for i, part in enumerate(answers):
        here = slice(i * rows, (i + 1) * rows)
        sums, alarms = AnomalyStream(project.numbers).push(x[here], y[here])
        np.testing.assert_array_equal(part[:, 0], alarms)
        words = np.ascontiguousarray(part[:, 1:]).view("<u8")[:, 0]
        np.testing.assert_array_equal(words, sums)
    assert found.instructions <= MOST[core] * rows * SIZE


def test_what_an_export_says(model, tmp_path):
    project = export_anomaly(ALARM, model, tmp_path / "a", name="engine", prefix="acme")
    header = (project.directory / "acme_engine.h").read_text()
    numbers = alarm_at(ALARM, load(model).graph)
    assert project.numbers == numbers
    assert project.anomaly == ALARM
    assert "#define ACME_ENGINE_STATE_BYTES 4\n" in header
    assert f"#define ACME_ENGINE_SIZE {SIZE}\n" in header
    assert f"#define ACME_ENGINE_ERROR_SCALE {numbers.scale!r}\n" in header
    assert f"#define ACME_ENGINE_ERROR_LIMIT UINT64_C({numbers.limit})\n" in header
    assert f"acme_engine_{project.identity}_push" in header
    assert "alarms by 33 numbers and their reconstruction" in header


def test_models_that_reconstruct_nothing_are_refused(tmp_path):
    path = saved(tmp_path / "scores.tflite", int8_net(), None)
    for asked in (
        lambda: api.judge_model(path, np.zeros((1, 4, 9), np.float32), ALARM),
        lambda: export_anomaly(ALARM, path, tmp_path / "out"),
    ):
        with pytest.raises(UnsupportedError, match="no reconstruction of the input") as caught:
            asked()
        assert caught.value.file == str(path)
    b = Builder((1, 4), (1, 4))
    graph = b.graph(b.op("concatenation", ("x", "x1"), ConcatenationAttrs(1)))
    with pytest.raises(UnsupportedError, match="the model has 2 inputs") as caught:
        alarm_at(ALARM, graph)
    assert caught.value.hint == "make the autoencoder a model of its own"
