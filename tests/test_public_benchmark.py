"""The benchmark of models in a folder: what it says of good, odd, broken and wrong ones."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks import public, public_model
from benchmarks.public import Row, line_of, models_in, summary
from benchmarks.public_model import on_core, onnxruntime, read, stored, tflm
from benchmarks.public_step import LATE, first_line, run_step
from tests.convert.raw_tflite import Op as RawOp
from tests.convert.raw_tflite import Subgraph, build, scaled, single
from tests.convert.raw_tflite import Tensor as RawTensor
from tests.graphs import small_cnn
from tests.sampling import sampled
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import DefectError, UnsupportedError

X = np.array([[1.0, -2.0, 4.0]], np.float32)


# Steps


def told(answer):
    return answer


def refuses():
    raise UnsupportedError("no such op", op="conv2d 'c'", expected="an op", hint="leave it out")


def is_defect():
    raise DefectError("a check is missing", expected="a check", hint="report it")


def fails():
    raise ValueError("a\n b" + 300 * "c")


FAILED = "ValueError: a b" + 197 * "c"


def prints_and_dies(code):
    print("lost")
    print("lost", file=sys.stderr)
    os._exit(code)


def hangs(file):
    child = subprocess.Popen(["sleep", "600"])
    Path(file).write_text(str(child.pid))
    time.sleep(600)


@pytest.mark.whole
def test_steps_end_alone(capfd, tmp_path):
    found = [
        run_step(told, 7, seconds=60),
        run_step(refuses, seconds=60),
        run_step(is_defect, seconds=60),
        run_step(fails, seconds=60),
        run_step(prints_and_dies, 3, seconds=60),
    ]
    assert [step.value for step in found] == [7, None, None, None, None]
    assert [step.refused for step in found] == ["", "no such op (conv2d)", "", "", ""]
    assert [step.failed for step in found] == [
        *("", "", "a check is missing", FAILED, "the process ended with 3"),
    ]
    assert capfd.readouterr() == ("", "")
    late = run_step(hangs, tmp_path / "pid", seconds=2)
    assert late.failed == LATE
    child = Path("/proc") / (tmp_path / "pid").read_text() / "stat"
    for _ in range(100):  # until the system has ended it
        if not child.exists() or child.read_text().split()[2] == "Z":
            return
        time.sleep(0.1)
    pytest.fail("what the step started still runs")


def test_refusals_name_the_op():
    hint = {"expected": "another", "hint": "change it"}
    assert first_line(UnsupportedError("no conv2d here", op="conv2d 'c'", **hint)) == (
        "no conv2d here"
    )
    assert first_line(UnsupportedError("too wide", op="add 'a'", **hint)) == "too wide (add)"
    assert first_line(UnsupportedError("too wide", **hint)) == "too wide"


# Models


def test_models_are_found_below_a_folder(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "folder.onnx").mkdir()
    for name in ("b.tflite", "below/a.ONNX", "c.npz"):
        (tmp_path / name).touch()
    assert models_in(tmp_path) == [tmp_path / "b.tflite", tmp_path / "below" / "a.ONNX"]


@pytest.fixture
def onnx_model(tmp_path):
    """y = 2 x, of as many rows as there are; the weight is among the inputs, as of old."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    x, y = (make.make_tensor_value_info(n, kind, ["n", 3]) for n in "xy")
    w = make.make_tensor_value_info("w", kind, [1, 3])
    two = make.make_tensor("w", kind, [1, 3], [2.0, 2.0, 2.0])
    node = make.make_node("Mul", ["x", "w"], ["y"])
    graph = make.make_graph([node], "net", [w, x], [y], [two])
    made = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)], ir_version=8)
    onnx.save(made, tmp_path / "net.onnx")
    np.savez(tmp_path / "net.npz", in0_0=np.concatenate([X, X]), in1_0=np.concatenate([X, -X]))
    return tmp_path / "net.onnx"


def test_onnx_models_take_the_shapes_of_their_inputs(onnx_model):
    inputs, _ = stored(onnx_model)
    found = read(onnx_model, inputs, "cortex-m4")
    np.testing.assert_array_equal(found.outputs, 2 * np.array(inputs))
    assert found.rules == ()
    np.testing.assert_array_equal(onnxruntime(onnx_model, inputs), found.outputs)


def test_models_are_run_from_a_fresh_state_on_seeded_inputs(tmp_path):
    (tmp_path / "net.tflite").write_bytes(build(scaled(2.0)))
    found, again = (read(tmp_path / "net.tflite", [], "cortex-m4") for _ in range(2))
    assert len(found.inputs) == len(found.outputs) == public_model.SAMPLES
    for (x,), (y,), (same,) in zip(found.inputs, found.outputs, again.inputs, strict=True):
        np.testing.assert_array_equal(y, 2 * x)
        np.testing.assert_array_equal(x, same)
    assert not np.array_equal(found.inputs[0][0], found.inputs[1][0])
    assert found.near == 1e-5
    save_tflite(small_cnn(), tmp_path / "cnn.tflite")  # it ends with a softmax
    assert read(tmp_path / "cnn.tflite", [], "cortex-m4").near == 1e-4


def test_tflite_micro_tells_its_arena(tmp_path):
    pytest.importorskip("tflite_micro")
    (tmp_path / "net.tflite").write_bytes(build(scaled(2.0)))
    answers, arena = tflm(tmp_path / "net.tflite", [[X], [3 * X]])
    np.testing.assert_array_equal(answers, [[2 * X], [6 * X]])
    assert 24 < arena < 4_000


@pytest.mark.device
@pytest.mark.slow
def test_costs_are_those_of_the_core(folder, onnx_model):
    costs = on_core(folder / "good.tflite", [], "cortex-m4", 100.0)
    assert costs.pop("agrees") is True
    assert list(costs) == ["code", "weights", "instructions"]
    assert costs["weights"] == 4
    assert on_core(onnx_model, stored(onnx_model)[0], "cortex-m4", 100.0)["agrees"]
    assert 10 < costs["instructions"] < 2_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models of every kind: right, wrong, refused, broken, and one with an archive that is none."""
    folder = tmp_path_factory.mktemp("models")
    whole = build(scaled(2.0))
    for name in ("archive", "good", "more", "wrong"):
        (folder / f"{name}.tflite").write_bytes(whole)
    np.savez(folder / "wrong.npz", in0_0=X, tflm0_0=2 * X + 1)
    np.savez(folder / "more.npz", in0_0=X, tflm0_0=2 * X, tflm0_1=X)
    (folder / "archive.npz").write_text("no archive")
    tensors = [RawTensor("x", (1, 4)), RawTensor("y", (1, 4))]
    (folder / "refused.tflite").write_bytes(single("BUCKETIZE", tensors))
    (folder / "broken.tflite").write_bytes(whole[:40])
    return folder


@pytest.mark.slow
@pytest.mark.whole
def test_a_folder_becomes_a_table(folder, tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("Before\n<!-- models -->\n<!-- end of models -->\nafter\n")
    monkeypatch.setattr(public, "PAGE", page)
    out = tmp_path / "out"
    arguments = [str(folder), "--no-device", "--core", "m4", "--jobs", "0", "--write"]
    arguments += ["-o", str(out)]
    assert public.main(arguments) == 1
    rows = {row["name"]: row for row in json.loads((out / "public.json").read_text())}
    kinds = ("archive", "broken", "good", "more", "refused", "wrong")
    assert list(rows) == [f"{name}.tflite" for name in kinds]
    archive, broken, good, more, refused, wrong = rows.values()
    assert all(row["defect"].startswith("its .npz file: ValueError: ") for row in (archive, more))
    assert "damaged" in broken["refused"] or "cut short" in broken["refused"]
    assert "BUCKETIZE" in refused["refused"]
    assert wrong["defect"] == "its answer differs: 1e-01 from TFLM"
    assert good["defect"] == good["refused"] == ""
    assert (good["arena"], good["core_arena"]) == (24, 12)  # the core computes in place
    assert good["instructions"] is None
    table = (out / "public.md").read_text()
    assert table.count("\n| `") == len(rows)
    assert table in page.read_text()
    assert "2 refused, 3 defects" in table
    assert table.splitlines()[0] in capsys.readouterr().out


@pytest.mark.slow
def test_without_other_runtimes_nothing_is_compared(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(public, "find_spec", lambda name: None)
    options = public.Options(device=False)
    row = public.row_of(folder / "good.tflite", "good", options)
    assert (row.word, row.defect, row.tflm_arena) == ("not compared", "", None)


@pytest.mark.slow
def test_limits_hold_for_each_model(folder, tmp_path, capsys):
    assert public.main([str(folder), "--no-device", "--limit", "0", "-o", str(tmp_path)]) == 1
    assert capsys.readouterr().out.count(f"**defect**: {LATE}") == 5


@pytest.mark.whole
def test_who_is_asked_for_answers(folder, onnx_model, tmp_path, monkeypatch):
    pytest.importorskip("ai_edge_litert")
    pytest.importorskip("tflite_micro")
    options = public.Options(device=False)
    good = folder / "good.tflite"
    row = public.row_of(good, "good", options)
    assert (row.word, row.peer) == ("exact", "TFLM")
    row = public.row_of(onnx_model, "net", options)
    assert (row.word, row.peer, row.tflm_arena) == ("exact", "onnxruntime", None)
    each = tmp_path / "each.tflite"
    each.write_bytes(zero_points_of_each_channel())
    row = public.row_of(each, "each", options)
    assert row.answers.startswith("by rule (zero points): ")
    clamped = tmp_path / "clamped.tflite"
    clamped.write_bytes(sum_of_integers())
    row = public.row_of(clamped, "clamped", options)
    assert row.answers.startswith("by rule (ADD of int32): ")
    monkeypatch.setattr(public, "tflm", dies)
    row = public.row_of(good, "good", options)
    assert (row.word, row.peer, row.tflm_arena) == ("exact", "LiteRT", None)


def hybrid(rng):
    """A dense layer that LiteRT computes on rounded activations."""
    weights = rng.integers(-127, 128, (8, 32), np.int8)
    tensors = [RawTensor("x", (1, 32)), RawTensor("w", (8, 32), "INT8", weights, 0.01)]
    tensors.append(RawTensor("y", (1, 8)))
    return single("FULLY_CONNECTED", tensors, "FullyConnectedOptions")


def dense_int8(rng):
    """A dense layer whose sums TFLM rounds twice and LiteRT once."""
    weights = rng.integers(-127, 128, (400, 16), np.int8)
    tensors = [
        RawTensor("x", (1, 16), "INT8", scale=0.1),
        RawTensor("w", (400, 16), "INT8", weights, 0.01),
        RawTensor("y", (1, 400), "INT8", scale=0.6371),
    ]
    return single("FULLY_CONNECTED", tensors, "FullyConnectedOptions")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "rule"), [(dense_int8, "one rounding"), (hybrid, "hybrid")][: sampled(1, 2)]
)
def test_rules_hold_for_what_litert_answers(made, rule, tmp_path, monkeypatch):
    pytest.importorskip("ai_edge_litert")
    monkeypatch.setattr(public, "tflm", dies)
    path = tmp_path / "net.tflite"
    path.write_bytes(made(np.random.default_rng(0)))
    row = public.row_of(path, "net", public.Options(device=False))
    assert row.answers.startswith(f"by rule ({rule}): "), row
    assert (row.peer, row.defect) == ("LiteRT", "")


def sum_of_integers():
    """max(x + c, 0) of int32."""
    c = np.array([-10_000, 3, 9], np.int32)
    tensors = [RawTensor("x", (2, 3), "INT32"), RawTensor("c", (3,), "INT32", c)]
    tensors.append(RawTensor("y", (2, 3), "INT32"))
    return single("ADD", tensors, "AddOptions", FusedActivationFunction=1)


def zero_points_of_each_channel():
    """y = x + dequantised weights."""
    weights = np.arange(6, dtype=np.int8).reshape(2, 3)
    tensors = [
        RawTensor("x", (2, 3)),
        RawTensor("w", (2, 3), "INT8", weights, (0.5, 0.25), [1, -7]),
        RawTensor("d", (2, 3)),
        RawTensor("y", (2, 3)),
    ]
    ops = [RawOp("DEQUANTIZE", ["w"], ["d"]), RawOp("ADD", ["x", "d"], ["y"], "AddOptions")]
    return build(Subgraph(tensors, ops, ["x"], ["y"]))


@pytest.mark.device
@pytest.mark.whole
def test_the_core_must_answer_what_the_host_answers(folder, monkeypatch):
    monkeypatch.setattr(public, "find_spec", lambda name: None)
    options = public.Options()
    row = public.row_of(folder / "good.tflite", "good", options)
    assert row.code > 100
    assert row.instructions > 10
    monkeypatch.setattr(public, "on_core", other_answers)
    row = public.row_of(folder / "good.tflite", "good", options)
    assert row.defect == "cortex-m4 answers other than the host"
    row = public.row_of(folder / "wrong.tflite", "wrong", options)
    assert (row.code, row.defect) == (None, "its answer differs: 1e-01 from TFLM")
    monkeypatch.setattr(public, "on_core", refuses_to_build)
    row = public.row_of(folder / "good.tflite", "good", options)
    assert (row.not_on_core, row.core_arena, row.defect) == ("no such op (conv2d)", None, "")
    monkeypatch.setattr(public, "on_core", dies)
    row = public.row_of(folder / "good.tflite", "good", options)
    assert (row.not_on_core, row.core_arena, row.defect) == ("", None, FAILED)
    monkeypatch.setattr(public, "on_core", sleeps)
    row = public.row_of(folder / "good.tflite", "good", public.Options(limit=5.0))
    assert (row.not_on_core, row.core_arena, row.defect) == (LATE, None, "")


def dies(*arguments):
    fails()


def sleeps(*arguments):
    time.sleep(600)


def other_answers(path, inputs, core, seconds):
    assert 0 < seconds <= 120
    return {"agrees": False, "code": 1, "weights": 2, "instructions": 3}


def refuses_to_build(*arguments):
    refuses()


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            Row("a", answers="exact", arena=1234, core_arena=5, tflm_arena=6, code=7, weights=8),
            "| `a` | yes | exact | 1,234 | 5 | 6 | 7 | 8 | – |",
        ),
        (
            Row("a`", refused="x|<y>\x1b"),
            "| `a'` | refused: x\\|&lt;y>? | – | – | – | – | – | – | – |",
        ),
        (
            Row("a", refused="x", defect="y", instructions=9),
            "| `a` | **defect**: y | – | – | – | – | – | – | 9 |",
        ),
        (
            Row("a", not_on_core="wide", answers="exact"),
            "| `a` | yes; not on the core: wide | exact | – | – | – | – | – | – |",
        ),
    ],
)
def test_lines_of_the_table(row, says):
    assert line_of(row) == says


def test_the_summary_counts_every_row_once():
    words = ("exact", "exact", "float", "by rule", "not compared")
    rows = [*(Row("a", word=word) for word in words), Row("a", refused="x")]
    rows += [Row("a", word="differs", defect="x"), Row("a", word="exact", defect="y")]
    assert summary(rows) == (
        "8 models: 2 exact, 1 float, 1 by rule, 1 not compared, 1 refused, 2 defects"
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--core", "z80"], "there is no core 'z80'"),
        (["--core", "host", "--no-device", "--jobs", "x"], "invalid int value"),
    ],
)
def test_options_that_cannot_be_are_refused(options, says, folder, capsys):
    with pytest.raises(SystemExit) as ended:
        public.main([str(folder), *options])
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_a_folder_without_models_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        public.main([str(tmp_path)])
    assert ended.value.code == 2
    assert f"there is no .tflite and no .onnx file below {tmp_path}" in capsys.readouterr().err


def test_compilers_that_do_not_know_the_core_are_named(folder, monkeypatch, capsys):
    monkeypatch.setattr(public.toolchain, "knows", lambda core: False)
    with pytest.raises(SystemExit):
        public.main([str(folder), "--core", "m55"])
    said = capsys.readouterr().err
    assert "does not build for cortex-m55: see --no-device" in said
