"""Every command, end to end, by its JSON."""

import re

import numpy as np
import pytest

from tests.cli.calls import call, call_json
from tinyrt import api
from tinyrt.ops import OPS

RNG = np.random.default_rng(11)


def test_convert(files):
    found = call_json("convert", files / "net.tflite", "-o", files / "out.tflite")
    assert found["bytes"] == (files / "out.tflite").stat().st_size
    assert found["inputs"] == {"x": [1, 8, 8, 3]}


@pytest.mark.slow
def test_quantize_and_eval(quantized):
    found = call_json(
        *("eval", quantized / "q.tflite", "-d", quantized / "test.npz"),
        *("--against", quantized / "net.tflite"),
    )
    assert found["samples"] == 24
    assert found["top1"] == found["correct"] / 24
    assert found["agreement"] > 0.8
    assert found["sqnr_db"] > 25
    assert found["samples_per_second"] > 0
    assert found["backend"] == "numba"


def test_debug(quantized):
    arguments = ("debug", quantized / "net.tflite", quantized / "q.tflite")
    found = call_json(*arguments, "-d", quantized / "calib.npz")
    assert {"samples", "sqnr_db", "equalized", "layers"} == set(found)
    layer = found["layers"][0]
    assert {"name", "op", "own_db", "accumulated_db", "cosine", "cause", "cure"} <= set(layer)
    assert "worst layer first" in call(*arguments, "-d", quantized / "calib.npz").stdout
    call("debug", quantized / "q.tflite", quantized / "q.tflite", "-d", "none.npz", code=1)


def test_run_gives_real_values_for_real_inputs_and_raw_ones_for_raw(quantized):
    real = call_json(
        *("run", quantized / "q.tflite", "-i", quantized / "test.npz"),
        *("-o", quantized / "real.npz"),
    )
    (name,) = real["outputs"]
    outputs = np.load(quantized / "real.npz")[name]
    assert outputs.dtype == np.float32
    np.testing.assert_allclose(outputs.sum(axis=1), 1, atol=0.05)
    raw = RNG.integers(-128, 128, (3, 8, 8, 3)).astype(np.int8)
    np.savez(quantized / "raw.npz", x=raw)
    call("run", quantized / "q.tflite", "-i", quantized / "raw.npz", "-o", quantized / "y.npz")
    assert np.load(quantized / "y.npz")[name].dtype == np.int8


@pytest.mark.slow
def test_run_shows_outputs_as_a_reader_has_them(quantized):
    arguments = (quantized / "q.tflite", "-i", quantized / "test.npz")
    found = call_json("run", *arguments)
    ((name, shape),) = found["outputs"].items()
    shown = call("run", *arguments).stdout
    assert re.search(rf"outputs +{name} {' × '.join(map(str, shape))} *\n", shown)


@pytest.mark.slow
def test_run_and_eval_name_the_backend_that_was_chosen(quantized):
    arguments = (quantized / "q.tflite", "--backend", "auto")
    test = quantized / "test.npz"
    ran = call_json("run", *arguments, "-i", test, "-o", quantized / "y.npz")
    found = call_json("eval", *arguments, "-d", test)
    assert ran["backend"] == found["backend"]
    assert ran["backend"] in {"native", "numba"}


@pytest.mark.parametrize(
    "command", [("run", "-o", "y.npz", "-i"), ("eval", "-d")], ids=lambda c: c[0]
)
def test_models_that_ask_for_too_much_memory_are_refused(quantized, command):
    arguments = (*command, quantized / "test.npz", "--max-memory", "100")
    result = call(arguments[0], quantized / "q.tflite", *arguments[1:], code=1)
    assert "--max-memory" in result.stderr
    assert not (quantized / "y.npz").exists()


@pytest.mark.slow
def test_inspect(quantized):
    found = call_json("inspect", quantized / "q.tflite", "--html", quantized / "page.html")
    assert [op["op"] for op in found["ops"]][:3] == ["conv2d", "conv2d", "add"]
    assert {"name", "op", "macs", "output_shape", "arena_bytes"} <= set(found["ops"][0])
    assert found["ops"][0]["macs"] == 8 * 8 * 8 * 27
    assert found["macs"] == sum(op["macs"] for op in found["ops"])
    assert found["arena_bytes"] >= max(op["arena_bytes"] for op in found["ops"])
    page = (quantized / "page.html").read_text()
    plan = api.inspect_model(quantized / "q.tflite").plan
    assert page.count('<rect class="hue"') == len(plan.buffers)
    assert not re.findall(r"(?:src|href)=.?http", page)
    shown = call("inspect", quantized / "q.tflite").stdout
    assert "conv2d" in shown
    assert "The arena is fullest at op #" in shown
    assert shown.count("█") > 32
    assert found["arena_optimal"]
    packed = f"{found['packed_bytes']:,}"
    whole = call("inspect", quantized / "q.tflite", "--all").stdout
    assert re.search(rf"packed again on the host +{packed}\n", re.sub(r" +\n", "\n", whole))
    assert "packed again" not in shown
    assert found["arena_lower_bound"] == found["arena_bytes"]
    assert all(a["arena_bytes"] < found["arena_bytes"] for a in found["advice"])
    call("inspect", quantized / "q.tflite", "--max-arena", "64", code=1)


def test_export(quantized):
    found = call_json("export", quantized / "q.tflite", "-o", quantized / "c")
    assert found["name"] == "q"
    assert (quantized / "c" / "q.h").is_file()
    plan = call_json("inspect", quantized / "q.tflite", "--core", "cortex-m4")
    assert found["arena_bytes"] >= found["arena_lower_bound"] == plan["arena_lower_bound"] > 0
    shown = call("export", quantized / "q.tflite", "-o", quantized / "c").stdout
    for row in ("of these, no plan can do without", "gap to that bound"):
        assert re.search(rf"{row} +[\d.,]+", shown)


@pytest.mark.slow
def test_an_arena_over_budget_is_refused_with_what_is_in_the_way(quantized):
    arguments = ("export", quantized / "q.tflite", "-o", quantized / "c", "--max-arena")
    call(*arguments, "2k")
    call(*arguments, "900")  # with ops that run row by row
    result = call(*arguments, "500", code=1)
    assert "at most 500" in result.stderr
    assert "alive at this op, in bytes: '" in result.stderr
    assert "conv2d" in result.stderr
    call(*arguments, "many", code=1)


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.whole
def test_emulate(quantized):
    found = call_json("emulate", quantized / "q.tflite", "-i", quantized / "test.npz")
    assert found["bit_exact"] is True
    assert (found["core"], found["board"]) == ("cortex-m4", "mps2-an386")
    assert found["samples"] == 24
    assert found["instructions"] > 0
    assert found["instructions_per_mac"] > 0
    assert min(found["flash"]["code"], found["flash"]["weights"]) > 0
    assert min(found["ram"]["arena"], found["ram"]["stack"]) > 0
    assert found["ram"]["static"] == 0
    assert np.shape(next(iter(found["outputs"].values()))) == (24, 5)


def test_ops():
    rows = call_json("ops")["ops"]
    assert [row["op"] for row in rows] == list(OPS)
    assert next(r for r in rows if r["op"] == "conv2d")["C"].startswith("f32 s8")


def test_wrong_usage_exits_2():
    call("convert", code=2)
    call("nonsense", code=2)
    call("quantize", "m", "-c", "c", "-o", "o", "--scheme", "int3", code=2)
