"""States, memory regions and tensors outside the arena, on emulated cores."""

import numpy as np
import pytest

from tests.convert.test_sequence_lstm import classifier, samples
from tests.export.models import echo
from tests.firmware.test_zoo import emulate
from tests.ops.build import build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tests.ops.stateful import keeping, sequence
from tests.sampling import sampled
from tinyrt import api
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.export import ExportOptions, Memories
from tinyrt.interpreter.model import Model
from tinyrt.memory import Region


@pytest.fixture(scope="module")
def wakeword(zoo, tmp_path_factory):
    path = tmp_path_factory.mktemp("stream") / "wakeword.tflite"
    model = zoo / "models" / "streaming_wakeword_int8.tflite"
    api.convert_model(model, path, stream=api.Stream(1))
    return model, path


@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0", "cortex-m55", "host"])
def test_a_streamed_model_answers_on_every_window_for_a_fifth_of_the_work(
    zoo, tmp_path, wakeword, core
):
    model, path = wakeword
    specs = np.load(zoo / "data" / "streaming_wakeword.npz")["specs"].astype(np.float32)
    host = Model(api.open_model(model))
    windows = host.stored_inputs(specs if core == "cortex-m4" else specs[:3])
    ((name, stored),) = windows.items()
    frames = {name: stored.reshape(-1, 1, 1, 40)}
    streamed = api.open_model(path)
    report = run_emulated(
        path,
        core=core,
        inputs=frames,
        expected=Model(streamed).run_raw(frames),
        build_dir=tmp_path / "stream",
    )
    assert report.bit_exact
    (answers,) = report.outputs.values()
    # The given windows do not overlap: each one's answer comes with its last frame.
    (expected,) = host.run_raw(windows).values()
    np.testing.assert_array_equal(answers[29::30], expected)
    assert report.ram.state == 40 * 3 + 128 * (5 + 10 + 15)
    assert report.ram.arena <= 512
    if core in ("cortex-m4", "cortex-m0"):
        first = {name: stored[:1]}
        whole = run_emulated(model, core=core, inputs=first, build_dir=tmp_path / "whole")
        assert report.instructions <= whole.instructions / 5


LSTM = "unidirectional_sequence_lstm"
KEEPING = [("svdf", build_s8), (LSTM, build_s8), (LSTM, build_s16)]
CORES = ("cortex-m4", "cortex-m55", "cortex-m0", "host")


@pytest.mark.parametrize(
    ("op", "build", "core"),
    sampled(
        [(*kind, CORES[i]) for i, kind in enumerate(KEEPING[:2])],
        [(*kind, core) for kind in KEEPING for core in CORES],
    ),
)
def test_ops_go_on_where_the_last_run_ended(tmp_path, op, build, core):
    rng = rng_of(op, 9)
    case = CASES[op](rng)
    while case.shapes[0][0] != 1:
        case = CASES[op](rng)
    path = save_tflite(keeping(build(case, rng).graph), tmp_path / "op.tflite")
    graph = api.open_model(path)
    inputs = {graph.fed[0]: np.concatenate(sequence(graph, rng, 6))}
    report = run_emulated(
        path,
        core=core,
        inputs=inputs,
        expected=Model(graph).run_raw(inputs),
        build_dir=tmp_path / "build",
    )
    assert report.bit_exact
    kept = sum(-(-graph.value(name).nbytes // 4) * 4 for name, _ in graph.states)
    assert report.ram.state == kept


@pytest.mark.parametrize(
    "memories",
    [
        *sampled([], [Memories((Region("dtcm", 20_000), Region("sram")))]),
        Memories((Region("DTCM", 8_000), Region("sram", 24_000), Region("slow"))),
        Memories(inputs_in_arena=False, outputs_in_arena=False, alignment=32),
    ],
    ids=[*sampled([], ["two regions"]), "three regions", "outside"],
)
def test_memories_give_the_same_answers(zoo, tmp_path, memories):
    golden = np.load(zoo / "golden" / "resnet8_int8.npz")
    path = zoo / "models" / "resnet8_int8.tflite"
    graph = read_tflite(path)
    (x,), (y,) = graph.inputs, graph.outputs
    report = run_emulated(
        path,
        core="cortex-m4",
        inputs={x: golden["inputs"].reshape(-1, 32, 32, 3)[:2]},
        expected={y: golden["outputs"].reshape(-1, 10)[:2]},
        build_dir=tmp_path,
        options=ExportOptions(memories=memories),
    )
    assert report.bit_exact


def test_a_state_that_is_read_after_it_changes_is_settled_last(tmp_path):
    """An echo: y = x + state, and the state becomes x before y is computed."""

    graph = echo()
    save_tflite(graph, tmp_path / "echo.tflite")
    x = np.arange(-40, 40, 4, dtype=np.int8).reshape(5, 4)
    expected = Model(graph).run_raw({"x": x})
    np.testing.assert_array_equal(expected["y"][1:], x[1:] + x[:-1] - 3)
    report = run_emulated(
        tmp_path / "echo.tflite", inputs={"x": x}, expected=expected, build_dir=tmp_path / "b"
    )
    assert report.bit_exact


@pytest.mark.filterwarnings("ignore::tinyrt.errors.ConversionWarning")
def test_an_lstm_that_begins_each_run_anew_keeps_no_state(tmp_path):
    path, file = classifier(tmp_path), tmp_path / "int8.tflite"
    api.quantize_model(path, samples(20), file, sequence_lstm=True)
    report = api.run_emulated(file, inputs={"x": samples(3, seed=1)}, core="cortex-m4")
    assert report.bit_exact
    assert report.samples == 3
    assert report.as_dict()["ram"]["state"] == 0


@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["cortex-m4", "host"]))
def test_weights_in_a_section_of_their_own_are_weights(zoo, tmp_path, core):
    """They are linked, counted and read where they are."""
    plain, named = (
        emulate(zoo, "autoencoder_ad", tmp_path / name, core, 1, memories=memories)[0]
        for name, memories in (("plain", None), ("named", Memories(weights_section=".qspi")))
    )
    assert named.bit_exact
    # On this machine, arrays of one section begin at multiples of 32.
    padding = named.flash.weights - plain.flash.weights
    assert padding == 0 or (core == "host" and 0 < padding < 1000)
    assert named.flash.code == plain.flash.code
    assert plain.flash.weights > 260_000
