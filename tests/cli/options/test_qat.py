"""Options of ``tinyrt qat``: the file is the one that the same choices make in Python."""

from dataclasses import replace

import numpy as np
import pytest

from tests.cli.calls import call, call_json, handed_on
from tests.cli.shown import shows
from tests.convert.onnx_build import OnnxModel
from tests.convert.test_sequence_lstm import OP
from tests.sampling import sampled
from tests.train.pipeline.made import learned
from tinyrt.api import train_int8_model
from tinyrt.api.fitting import Costs, DeviceBudget
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.quantize.config import Scheme
from tinyrt.train.pipeline.setting import Pruned, Pruning, QatSetting

pytestmark = pytest.mark.slow

QUICK = QatSetting(epochs=2)


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    """A folder with a float model, samples with and without classes, and a teacher."""
    folder = tmp_path_factory.mktemp("blobs")
    graph, x, y = learned()
    save_tflite(optimize(graph), folder / "net.tflite")
    np.savez(folder / "xy.npz", x=x, y=y)
    np.savez(folder / "x.npz", x=x)
    name = graph.nodes[0].inputs[1]
    weights = replace(graph.value(name), data=graph.value(name).data * 0.9)
    save_tflite(optimize(graph.with_nodes(graph.nodes, [weights])), folder / "teacher.tflite")
    return folder


@pytest.fixture(scope="module")
def quick(blobs):
    """Scores and bytes of what ``QUICK`` makes, which options are to differ from."""
    return made_by(QUICK, blobs)


def made_by(setting, blobs):
    """The scores of its epochs, and how many bytes the file has."""
    out = blobs / "other.tflite"
    trained = train_int8_model(blobs / "net.tflite", blobs / "xy.npz", out, setting)
    return [epoch.score for epoch in trained.outcome.history], trained.bytes


CHOICES = {
    "--epochs 2": QUICK,
    "--epochs 3": replace(QUICK, epochs=3),
    "--epochs 2 --learning-rate 0.01": replace(QUICK, learning_rate=0.01),
    "--epochs 2 --batch 8": replace(QUICK, batch=8),
    "--epochs 2 --validation 0.5": replace(QUICK, validation=0.5),
    "--epochs 5 --patience 1 --learning-rate 1": replace(
        QUICK, epochs=5, patience=1, learning_rate=1.0
    ),
    "--epochs 2 --seed 3": replace(QUICK, seed=3),
    "--epochs 2 --finetune 1": replace(QUICK, finetune=1),
    "--epochs 2 --prune channels=0.3": replace(QUICK, pruning=Pruning(Pruned.CHANNELS, 0.3)),
    "--epochs 2 --prune weights=0.5": replace(QUICK, pruning=Pruning(Pruned.WEIGHTS, 0.5)),
    "--epochs 2 --scheme int4": replace(QUICK, scheme=Scheme.INT4),
    "--epochs 2 --scheme int16x8": replace(QUICK, scheme=Scheme.INT16X8),
    "--epochs 2 --max-bytes 3k": replace(QUICK, max_bytes=3072),
    "--epochs 2 --max-bytes 3k --width-epochs 0": replace(QUICK, max_bytes=3072, width_epochs=0),
}

TRAINED = sampled({"--epochs 2", "--epochs 2 --finetune 1"}, CHOICES)
"""What the files are compared of; of others what is asked for."""


@shows(
    "qat",
    *("model", "data", "output", "epochs", "learning_rate", "batch", "validation", "patience"),
    *("seed", "finetune", "prune", "scheme", "max_bytes", "width_epochs"),
)
@pytest.mark.parametrize("options", CHOICES)
def test_options_are_the_choices_of_the_same_name(options, blobs, quick, tmp_path):
    files = blobs / "net.tflite", "-d", blobs / "xy.npz", "-o", tmp_path / "o.tflite"
    setting = CHOICES[options]
    if options not in TRAINED:
        words = ("qat", *files, *options.split())
        (given,) = handed_on("tinyrt.api.training.train_int8_model", words, 3)
        assert replace(given, progress=setting.progress) == setting
        return
    found = call_json("qat", *files, *options.split())
    trained = train_int8_model(
        blobs / "net.tflite", blobs / "xy.npz", tmp_path / "wanted.tflite", setting
    )
    assert (tmp_path / "o.tflite").read_bytes() == (tmp_path / "wanted.tflite").read_bytes()
    history = [epoch["score"] for epoch in found["history"]]
    assert history == [epoch.score for epoch in trained.outcome.history]
    impatient = replace(QUICK, epochs=5, learning_rate=1.0)
    other = made_by(impatient, blobs) if "patience" in options else quick
    same = (history, (tmp_path / "o.tflite").stat().st_size) == other
    assert same == (setting == QUICK)


@shows("qat", "teacher")
def test_a_teacher_and_the_model_itself(blobs, tmp_path):
    out = tmp_path / "o.tflite"
    arguments = ("qat", blobs / "net.tflite", "-o", out, "--epochs", "1", "-d")
    taught = ("--teacher", blobs / "teacher.tflite")
    froms = [
        call_json(*arguments, blobs / data, *options)["outputs"][0]["learns_from"]
        for data, options in (("xy.npz", ()), ("x.npz", ()), ("xy.npz", taught), ("x.npz", taught))
    ]
    assert froms == ["labels", "teacher", "labels and teacher", "teacher"]
    own, other = (
        call_json(*arguments, blobs / "x.npz", *options)["outputs"][0]["in_float"]
        for options in ((), taught)
    )
    assert own == 1.0 > other


@shows("qat", "resume")
def test_training_goes_on_from_its_state(blobs, tmp_path):
    state = tmp_path / "state.npz"
    arguments = ("qat", blobs / "net.tflite", "-d", blobs / "xy.npz", "--epochs", "2")
    written = []
    for name in ("first", "again"):
        call(*arguments, "-o", tmp_path / f"{name}.tflite", "--resume", state)
        written.append(state.stat().st_mtime_ns)
    assert written[0] == written[1], "nothing was left to train"
    assert (tmp_path / "first.tflite").read_bytes() == (tmp_path / "again.tflite").read_bytes()
    refused = call(*arguments, "-o", tmp_path / "o", "--resume", state, "--seed", "5", code=1)
    assert "another training" in refused.stderr


@shows("qat", "shape", "value")
def test_a_shape_and_a_value_fix_what_a_trained_file_leaves_open(tmp_path):
    m = OnnxModel()
    y = m.op("Conv", m.input(1, 2, "rows", 4), m.weights(3, 2, 1, 1))
    model = m.save(tmp_path, m.op("Mul", y, m.input(1, name="gain")))
    x = np.random.default_rng(0).normal(size=(20, 2, 5, 4)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    arguments = ("qat", model, "-d", tmp_path / "x.npz", "-o", tmp_path / "o.tflite")
    fixed = ("--epochs", "1", "--shape", "x=1,2,5,4", "--value", "gain=2")
    found = call_json(*arguments, *fixed)
    assert found["macs"] == 5 * 4 * 2 * 3
    assert "rows" in call(*arguments, "--value", "gain=2", code=1).stderr
    assert "gain" in call(*arguments, "--shape", "x=1,2,5,4", code=1).stderr


def test_each_output_has_its_figures(tmp_path):
    m = OnnxModel()
    x = m.input(1, 4)
    wide, narrow = (m.op("Gemm", x, m.weights(4, n)) for n in (3, 2))
    model = m.save(tmp_path, wide, narrow)
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(0).normal(size=(20, 4)).astype("f4"))
    arguments = ("qat", model, "-d", tmp_path / "x.npz", "-o", tmp_path / "o.tflite")
    found = call_json(*arguments, "--epochs", "1")
    assert [output["name"] for output in found["outputs"]] == [wide, narrow]


def test_what_happens_is_said_on_stderr_and_the_result_on_stdout(blobs, tmp_path):
    arguments = ("qat", blobs / "net.tflite", "-d", blobs / "xy.npz", "-o", tmp_path / "o.tflite")
    done = call(*arguments, "--epochs", "1", "--prune", "channels=0.3", "--max-bytes", "5k")
    assert done.stderr.splitlines()[:4] == [
        "pruning channels",
        "training in float, at most 1 epochs",
        "choosing layers for int4",
        "training for int8, at most 1 epochs",
    ]
    assert "labels" in done.stdout


@shows("qat", "sequence_lstm")
def test_an_lstm_is_trained_whole_where_asked(tmp_path):
    m = OnnxModel(17, seed=3)
    x = m.op("Transpose", m.input(1, 3, 4), perm=[1, 0, 2])
    weights = m.weights(1, 20, 4), m.weights(1, 20, 5), m.weights(1, 40)
    state = m.op("LSTM", x, *weights, outputs=2, hidden_size=5) + "_1"
    flat = m.op("Reshape", state, m.ints(1, 5))
    model = m.save(tmp_path, m.op("Gemm", flat, m.weights(5, 2)))
    x = np.random.default_rng(0).normal(size=(20, 3, 4)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    arguments = ("qat", model, "-d", tmp_path / "x.npz", "-o", tmp_path / "o.tflite")
    whole = []
    for options in ((), ("--sequence-lstm",)):
        found = call_json(*arguments, "--epochs", "1", *options)
        graph = read_tflite(tmp_path / "o.tflite")
        whole.append(sum(node.op == OP for node in graph.nodes))
        assert found["outputs"][0]["deployed"] < 0.05
        assert graph.states == ()
    assert whole == [0, 1]


@shows("qat", "max_arena", "max_flash", "max_instructions", "max_cycles", "core")
def test_limits_on_a_core_are_a_budget(blobs, tmp_path, monkeypatch):
    budgets = []

    def costs(budget, graph):
        budgets.append(budget)
        return Costs(1, 2, 3, 4)

    monkeypatch.setattr(DeviceBudget, "costs", costs)
    arguments = ("qat", blobs / "net.tflite", "-d", blobs / "xy.npz", "-o", tmp_path / "o.tflite")
    arguments = (*arguments, "--epochs", "1")
    limits = {
        "--max-arena 4k": DeviceBudget(arena=4096),
        "--max-flash 16k": DeviceBudget(flash=16384),
        "--max-instructions 150000 --core cortex-m0": DeviceBudget(
            "cortex-m0", instructions=150000
        ),
        "--max-cycles 250000": DeviceBudget(cycles=250000),
    }
    for options, budget in limits.items():
        found = call_json(*arguments, *options.split())
        assert found["costs"] == {"arena": 1, "flash": 2, "instructions": 3, "cycles": 4}
        assert set(budgets) == {budget}
        budgets.clear()
    assert call_json(*arguments)["costs"] is None
    for wrong in (("--core", "cortex-m0"), ("--max-arena", "4k", "--prune", "channels=0.5")):
        assert f"{wrong[-2]} says nothing" in call(*arguments, *wrong, code=1).stderr
