"""Figures of ``inspect``, ``eval``, ``quantize`` and ``run``."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.cli.calls import call, call_json
from tests.cli.figures.compare import assert_fields, sqnr_db
from tests.cli.options.test_deploy import header
from tests.sampling import sampled
from tinyrt.api import inspect_model
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.data import load_inputs, load_labels
from tinyrt.interpreter import Interpreter, Model

SHAPES = {
    "conv2d_0": ("conv2d", [1, 8, 8, 8], 8 * 8 * 8 * 27),
    "conv2d_1": ("conv2d", [1, 8, 8, 8], 8 * 8 * 8 * 72),
    "add_2": ("add", [1, 8, 8, 8], 0),
    "conv2d_3": ("conv2d", [1, 4, 4, 6], 4 * 4 * 6 * 8),
    "mean_4": ("mean", [1, 1, 1, 6], 0),
    "reshape_5": ("reshape", [1, 6], 0),
    "fully_connected_6": ("fully_connected", [1, 5], 30),
    "softmax_7": ("softmax", [1, 5], 0),
}
"""The small CNN: op -> kind, output and products, by hand."""

WEIGHTS = 8 * 27 + 8 * 72 + 6 * 8 + 5 * 6
BIASES = 8 + 8 + 6 + 5


def bytes_used(plan, step):
    """Bytes of the arena that some tensor takes at a step, byte by byte."""
    used = np.zeros(plan.arena_bytes, bool)
    for buffer in plan.buffers:
        if buffer.first <= step <= buffer.last:
            start = plan.start_of(buffer.names[0])
            used[start : start + buffer.nbytes] = True
    return int(used.sum())


def test_inspect(made, tmp_path):
    found = call_json("inspect", made.int8, "--backend", "cuda")
    plan = inspect_model(made.int8).plan
    call("export", made.int8, "-o", tmp_path / "c")
    arena = header(tmp_path / "c")["INT8_ARENA_BYTES"]
    interpreter = Interpreter(made.int8)
    interpreter.allocate_tensors()
    used = [bytes_used(plan, step) for step in range(len(SHAPES))]
    expected = {
        "ops": [
            {"name": name, "op": op, "macs": macs, "output_shape": shape, "arena_bytes": used[i]}
            for i, (name, (op, shape, macs)) in enumerate(SHAPES.items())
        ],
        "macs": sum(macs for _, _, macs in SHAPES.values()),
        "weight_bytes": WEIGHTS + 4 * BIASES,
        "packed_bytes": interpreter.packed_bytes,
        "arena_bytes": arena,
        "segments": [],
        "arena_lower_bound": max(used),
        "arena_optimal": True,
        "advice": lambda ways: len(ways) == 1,
        "placement": [
            {"device": "gpu", "nodes": list(range(8)), "ops": [op for op, _, _ in SHAPES.values()]}
        ],
        "front_end": None,
    }
    assert_fields(found, expected)


def test_rows_that_inspect_shows_are_those_of_the_plan(made):
    found = call_json("inspect", made.tall, "--by-rows")
    (segment,) = inspect_model(made.tall, by_rows=True).plan.segments
    rows = {image.value: image.rows for image in segment.images}
    shown = [{"first": segment.first, "last": segment.stop - 1, "rows": rows}]
    assert_fields(found["segments"], shown)
    assert found["arena_bytes"] >= found["arena_lower_bound"] > 0


@pytest.mark.parametrize("model", sampled(["tall"], ["int8", "tall"]))
def test_advice_is_of_what_is_not_done_yet_and_comes_true(model, made):
    """The arena with an option is about what the advice without it says."""
    whole = call_json("inspect", getattr(made, model))
    sizes = [way["arena_bytes"] for way in whole["advice"]]
    assert sizes == sorted(sizes)
    options = [way["what"].rsplit(": ")[-1] for way in whole["advice"]]
    assert "--input-rows" in options
    for option, way in zip(options, whole["advice"], strict=True):
        assert set(way) == {"what", "arena_bytes"}
        there = call_json("inspect", getattr(made, model), option)
        assert way["arena_bytes"] < whole["arena_bytes"]
        assert there["arena_bytes"] == pytest.approx(way["arena_bytes"], rel=0.1)
        assert option not in str(there["advice"])


def test_the_gap_is_that_of_arena_and_bound(made, tmp_path):
    arguments = ("export", made.int8, "-o", tmp_path / "c", "--max-arena", "900")
    found = call_json(*arguments)
    gap = found["arena_bytes"] / found["arena_lower_bound"] - 1
    assert 0 < gap < 1
    shown = " ".join(call(*arguments).stdout.split())
    assert f"gap to that bound {100 * gap:.2f} %" in shown
    assert f" {found['arena_lower_bound']} " in shown


# eval


def answers(path, data):
    """Real values: the outputs, and what stands before the softmax."""
    graph = read_tflite(path)
    names = (graph.outputs[0], graph.producer(graph.outputs[0]).inputs[0])
    model = Model(replace(graph, outputs=names))
    return [
        model.real(n, y) for n, y in model.run_raw(model.stored_inputs(load_inputs(data))).items()
    ]


def evaluation(made, data, label_file=None):
    (y, logits), (exact_y, exact_logits) = (answers(p, data) for p in (made.int8, made.net))
    found = {
        "samples": len(y),
        "correct": None,
        "top1": None,
        "agreement": float((y.argmax(axis=1) == exact_y.argmax(axis=1)).mean()),
        "sqnr_db": sqnr_db(exact_logits, logits),
        "samples_per_second": lambda rate: rate > 0,
        "backend": "numba",
    }
    if label_file is not None:
        right = int((y.argmax(axis=1) == load_labels(label_file)).sum())
        found |= {"correct": right, "top1": right / len(y)}
    return found


def test_eval(made):
    arguments = ("eval", made.int8, "--against", made.net, "-d")
    assert_fields(call_json(*arguments, made.test), evaluation(made, made.test, made.test))
    assert_fields(call_json(*arguments, made.calib), evaluation(made, made.calib))


def test_samples_per_second_are_samples_over_seconds(made, monkeypatch):
    """Every look at the clock is a quarter of a second later than the one before."""
    now = iter(np.arange(7, 107, 0.25))
    monkeypatch.setattr("tinyrt.answering.time.perf_counter", lambda: float(next(now)))
    assert call_json("eval", made.int8, "-d", made.test)["samples_per_second"] == 16 / 0.25


# quantize


def test_quantize(made, tmp_path):
    out = tmp_path / "o.tflite"
    arguments = ("quantize", made.net, "-c", made.calib, "-o", out, "--preset", "fast")
    plain = call_json(*arguments)
    size = made.int8.stat().st_size
    facts = {"output": str(out), "scheme": "int8", "warnings": []}
    assert_fields(plain, facts | {"bytes": size})
    mixed = call_json(*arguments, "--min-accuracy", "40dB", "-d", made.test)
    assert out.read_bytes() == made.int8.read_bytes()
    (exact, _) = answers(made.net, made.test)
    right = float((exact.argmax(axis=1) == load_labels(made.test)).mean())
    weights = {"conv2d_0": 216, "conv2d_1": 576, "conv2d_3": 48, "fully_connected_6": 30}
    layers = [
        {
            "name": name,
            "op": SHAPES[name][0],
            "scheme": "int8",
            "weight_bytes": nbytes,
            "why": "the default",
        }
        for name, nbytes in weights.items()
    ]
    report = {
        "bytes": size,
        "plain_bytes": size,
        "evaluation": evaluation(made, made.test, made.test),
        "float_top1": right,
        "tried": 1,
        "layers": layers,
    }
    assert_fields(mixed, facts | {"bytes": size, "mixed": report})


def test_bytes_of_a_mix_are_those_of_its_file(made, tmp_path):
    out = tmp_path / "o.tflite"
    arguments = ("quantize", made.net, "-c", made.calib, "-o", out, "--preset", "fast")
    mixed = call_json(*arguments, "--max-bytes", str(made.int8.stat().st_size - 100))["mixed"]
    assert mixed["bytes"] == out.stat().st_size
    assert mixed["plain_bytes"] == made.int8.stat().st_size
    graph = read_tflite(out)
    for layer in mixed["layers"]:
        weights = graph.value(graph.producer(layer["name"]).inputs[1])
        bits = 4 if layer["scheme"] == "int4" else 8
        assert layer["weight_bytes"] == (weights.size * bits + 7) // 8


def test_warnings_of_a_quantisation_are_counted(made, tmp_path):
    with np.load(made.calib) as data:
        np.savez(tmp_path / "few.npz", x=data["x"][:2])
    arguments = ("quantize", made.net, "-c", tmp_path / "few.npz", "-o", tmp_path / "o.tflite")
    (warning,) = call_json(*arguments)["warnings"]
    assert "only 2 samples" in warning


# run


def test_run(made, tmp_path):
    out = tmp_path / "y.npz"
    found = call_json("run", made.int8, "-i", made.test, "-o", out, "--profile")
    with np.load(out) as arrays:
        shapes = {name: list(array.shape) for name, array in arrays.items()}
    times = [row["microseconds"] for row in found["profile"]]
    expected = {
        "output": str(out),
        "outputs": shapes,
        "backend": "numba",
        "profile": [
            {
                "index": i,
                "op": op,
                "name": lambda text: bool(text),
                "microseconds": lambda us: us > 0,
                "share": times[i] / sum(times),
                "macs": macs,
            }
            for i, (op, _, macs) in enumerate(SHAPES.values())
        ],
    }
    assert_fields(found, expected)
    assert all(a <= b for a, b in pairwise(row["index"] for row in found["profile"]))
