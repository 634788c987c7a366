"""Options of ``tinyrt run``, ``eval`` and ``inspect``."""

import numpy as np
import pytest

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tinyrt import api
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.data import load_inputs
from tinyrt.interpreter import DEFAULT_BACKEND, FALLBACK, Model
from tinyrt.metrics import Evaluation


def answers(model, data):
    return Model(read_tflite(model))(load_inputs(data)["x"])


# run


@shows("run", "model", "inputs", "output")
def test_the_model_named_answers_on_the_inputs_named(made, tmp_path):
    for model in (made.net, made.int8):
        for data in (made.calib, made.test):
            path = tmp_path / f"{model.stem}_{data.stem}.npz"
            call("run", model, "-i", data, "-o", path)
            (found,) = np.load(path).values()
            np.testing.assert_array_equal(found, answers(model, data))


@shows("run", "backend")
@shows("eval", "backend")
@pytest.mark.parametrize("asked", ["numba", "reference"])
def test_the_backend_named_computes(asked, made, tmp_path):
    ran = call_json("run", made.int8, "-i", made.test, "-o", tmp_path / "y", "--backend", asked)
    evaluated = call_json("eval", made.int8, "-d", made.test, "--backend", asked)
    assert (ran["backend"], evaluated["backend"]) == (asked, asked)


def test_what_is_profiled_computes_the_answers_too(made, monkeypatch):
    """Not what answers soonest where nobody looks."""
    monkeypatch.setattr("tinyrt.api.models.soonest_backend", lambda *_: "reference")
    arguments = ("run", made.int8, "-i", made.test)
    assert call_json(*arguments)["backend"] == "reference"
    assert call_json(*arguments, "--profile")["backend"] == DEFAULT_BACKEND


@shows("run", "allow_fallback")
@shows("eval", "allow_fallback")
@pytest.mark.parametrize("name", ["run", "eval"])
def test_fallback_is_another_backend_and_says_what_runs_where(name, made, tmp_path, monkeypatch):
    """The GPU's place is taken by what only notes the backend."""
    asked = []

    def run(model, data, *, backend, **options):
        asked.append(backend)
        return api.Run({"y": np.zeros(1)}, backend)

    def evaluate(model, data, *, backend, **options):
        asked.append(backend)
        return Evaluation(1, None, None, None, None, 1.0, backend)

    monkeypatch.setattr(api, "run_with_backend", run)
    monkeypatch.setattr(api, "evaluate", evaluate)
    data = ("-i", made.test, "-o", tmp_path / "y.npz") if name == "run" else ("-d", made.test)
    arguments = (name, made.int8, *data)
    assert "segments" not in call_json(*arguments, "--backend", "cuda")
    found = call_json(*arguments, "--backend", "cuda", "--allow-fallback")
    assert asked == ["cuda", FALLBACK]
    ops = [op for segment in found["segments"] for op in segment["ops"]]
    assert ops == [node.op for node in read_tflite(made.int8).nodes]
    assert "--allow-fallback" in call(*arguments, "--allow-fallback", code=1).stderr


@shows("run", "profile")
def test_a_profile_has_every_op(made, tmp_path):
    arguments = ("run", made.int8, "-i", made.test, "-o", tmp_path / "y.npz")
    assert "profile" not in call_json(*arguments)
    profile = call_json(*arguments, "--profile")["profile"]
    assert [time["op"] for time in profile] == [n.op for n in read_tflite(made.int8).nodes]
    assert "GMAC/s" in call(*arguments, "--profile").stdout


def test_a_profile_is_of_the_backend_that_is_asked_for(made, tmp_path, monkeypatch):
    asked, profile_model = [], api.profile_model

    def profiled(model, **options):
        asked.append(options["backend"])
        return profile_model(model, **options)

    monkeypatch.setattr(api, "profile_model", profiled)
    arguments = ("run", made.int8, "-i", made.test, "-o", tmp_path / "y.npz", "--profile")
    for backend in ("reference", "numba"):
        assert call_json(*arguments, "--backend", backend)["backend"] == backend
    call_json(*arguments)
    assert asked == ["reference", "numba", "numba"]


# eval


@shows("eval", "shape")
def test_a_shape_fixes_what_either_file_leaves_open(made, tmp_path):
    """The model, the other one, or both."""
    fixed = tmp_path / "fixed.tflite"
    api.convert_model(made.open_conv, fixed, shapes={"x": (1, 3, 9, 6)})
    data, shape = tmp_path / "x.npz", ("--shape", "x=1,3,9,6")
    np.savez(data, x=np.random.default_rng(0).normal(size=(7, 9, 6, 3)).astype(np.float32))
    for model, other in ((made.open_conv, fixed), (fixed, made.open_conv), (made.open_conv,) * 2):
        found = call_json("eval", model, "-d", data, "--against", other, *shape)
        assert (found["samples"], found["agreement"]) == (7, 1)
    assert "leave out --shape" in call("eval", fixed, "-d", data, *shape, code=1).stderr


@shows("eval", "value")
def test_a_value_makes_an_input_of_either_file_a_constant(made, tmp_path):
    fixed = tmp_path / "fixed.tflite"
    api.convert_model(made.gain, fixed, values={"gain": 0.5})
    data = tmp_path / "x.npz"
    np.savez(data, x=np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32))
    for gain, sqnr in (("0.5", None), ("0.55", 20)):
        for model, other in ((made.gain, fixed), (fixed, made.gain)):
            value = ("--against", other, "--value", f"gain={gain}")
            found = call_json("eval", model, "-d", data, *value)["sqnr_db"]
            assert found is None or found > 100 if sqnr is None else abs(found - sqnr) < 1
    assert "leave out --value" in call("eval", fixed, "-d", data, "--value", "x=1", code=1).stderr


@shows("eval", "model", "data", "against")
def test_the_models_named_are_compared_on_the_data_named(made):
    plain = call_json("eval", made.int8, "-d", made.test)
    assert (plain["agreement"], plain["sqnr_db"]) == (None, None)
    assert plain["samples"] == 16
    unlabelled = call_json("eval", made.int8, "-d", made.calib)
    assert (unlabelled["samples"], unlabelled["correct"]) == (24, None)
    against = ("--against", made.net)
    itself = call_json("eval", made.net, "-d", made.test, *against)
    assert (itself["agreement"], itself["sqnr_db"]) == (1, 200)
    other = call_json("eval", made.int8, "-d", made.test, *against)
    assert 10 < other["sqnr_db"] < 100


# inspect


@shows("inspect", "shape")
def test_a_shape_fixes_what_an_inspected_file_leaves_open(made):
    for rows in (5, 9):
        found = call_json("inspect", made.open_conv, "--shape", f"x=1,3,{rows},6")
        assert found["ops"][0]["output_shape"] == [1, rows - 2, 4, 4]


@shows("inspect", "value")
def test_a_value_makes_an_input_of_an_inspected_file_a_constant(made):
    whole, fixed = (
        call_json("inspect", made.gain, *options) for options in ((), ("--value", "gain=0.5"))
    )
    assert (whole["weight_bytes"], fixed["weight_bytes"]) == (0, 4)


@shows("inspect", "model", "html")
def test_a_page_draws_every_tensor_of_the_model(made, tmp_path):
    page = tmp_path / "page.html"
    for model in (made.net, made.int8):
        call("inspect", model, "--html", page)
        drawn = page.read_text().count('<rect class="hue"')
        assert drawn == len(api.inspect_model(model).plan.buffers)
        page.unlink()


@shows("inspect", "core")
def test_scratch_memory_is_that_of_the_core(made, tmp_path):
    arenas = {}
    for core in ("cortex-m0", "cortex-m4", "cortex-m55"):
        found = call_json("inspect", made.int8, "--core", core)
        exported = call_json("export", made.int8, "-o", tmp_path / core, "--core", core)
        assert found["arena_bytes"] == exported["arena_bytes"]
        arenas[core] = found["arena_bytes"]
    assert len(set(arenas.values())) == 3
    assert call_json("inspect", made.int8)["arena_bytes"] == arenas["cortex-m4"]


@shows("inspect", "optimize")
def test_scratch_memory_is_that_of_what_the_code_is_made_for(made, tmp_path):
    arenas = {}
    for goal in ("size", "balanced", "speed"):
        made_for = ("--core", "cortex-m0", "--optimize", goal)
        found = call_json("inspect", made.int8, *made_for)
        exported = call_json("export", made.int8, "-o", tmp_path / goal, *made_for)
        assert found["arena_bytes"] == exported["arena_bytes"]
        arenas[goal] = found["arena_bytes"]
    assert arenas["size"] < arenas["balanced"]
    assert call_json("inspect", made.int8, "--core", "m0")["arena_bytes"] == arenas["balanced"]


@shows("inspect", "by_rows", "input_rows")
def test_rows_take_less_than_whole_tensors(made):
    whole = call_json("inspect", made.tall)
    assert whole["segments"] == []
    by_rows = call_json("inspect", made.tall, "--by-rows")
    pushed = call_json("inspect", made.tall, "--input-rows")
    for found in (by_rows, pushed):
        assert found["arena_bytes"] < whole["arena_bytes"]
        assert (found["segments"][0]["first"], found["segments"][0]["last"]) == (0, 2)
    assert pushed["arena_bytes"] < by_rows["arena_bytes"]


@shows("inspect", "backend")
def test_ops_on_a_gpu_are_told_apart_on_request(made):
    assert call_json("inspect", made.int8)["placement"] == []
    (segment,) = call_json("inspect", made.int8, "--backend", "cuda")["placement"]
    assert segment["device"] == "gpu"
    assert segment["nodes"] == list(range(len(read_tflite(made.int8).nodes)))
    assert "one place" in call("inspect", made.int8, "--backend", "numba", code=1).stderr


@shows("inspect", "max_arena")
def test_the_arena_may_have_as_many_bytes_and_no_fewer(made):
    nbytes = call_json("inspect", made.int8)["arena_bytes"]
    call("inspect", made.int8, "--max-arena", nbytes)
    refused = call("inspect", made.int8, "--max-arena", nbytes - 1, code=1)
    assert f"at most {nbytes - 1:,}" in refused.stderr
