"""What a caller passes to the Python interface reaches the function that does the work."""

from contextlib import nullcontext
from hashlib import sha256
from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest

from tests import seeing
from tests.graphs import small_cnn
from tests.listening import PIPELINE, int8_net, saved
from tests.quantize.test_mixed import samples
from tinyrt import api, board, emulate, export, quantize
from tinyrt.api import models
from tinyrt.cluster.pieces import Crew
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate.cycles import Timing
from tinyrt.errors import BudgetError
from tinyrt.export import ExportOptions
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.quantize.explain import bisect, debug
from tinyrt.quantize.mixed import choose
from tinyrt.quantize.mixed.budget import Budget


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A float model, the int8 one made from it, and data with labels."""
    folder = tmp_path_factory.mktemp("files")
    save_tflite(small_cnn(), folder / "float.tflite")
    save_tflite(quantize_graph(small_cnn(), samples(100), QuantConfig()), folder / "int8.tflite")
    np.savez(folder / "data.npz", x=samples(6), y=np.arange(6) % 5)
    return folder


class Called:
    """Stands for a function, and keeps what it is called with."""

    def __init__(self, answer=None):
        self.answer = answer

    def __call__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs
        return self.answer


EMULATION = {
    "core": "cortex-m55",
    "optimize": "size",
    "options": ExportOptions(slices=5_000),
    "board": "mps3",
    "profile": True,
    "cycles": object(),
    "gdb": 1234,
    "timeout_s": 7.5,
    "progress": print,
}

LEFT_OUT = {
    **{"core": "cortex-m4", "optimize": "balanced", "options": ExportOptions()},
    **{"profile": False, "shared_arena": False, "timeout_s": 300.0},
}
"""What is documented of arguments that are left out; of the others, None."""


def wanted(names, **given):
    """All of these arguments, as they are handed on where some are given."""
    return {name: LEFT_OUT.get(name) for name in names} | given


@pytest.mark.parametrize("option", EMULATION)
def test_options_of_an_emulation(option, files, monkeypatch):
    """Each on its own: what is not given is as documented."""
    run = Called("report")
    monkeypatch.setattr(emulate, "run_emulated", run)
    path, given = files / "int8.tflite", {option: EMULATION[option]}
    assert api.run_emulated(path, samples=1, **given) == "report"
    assert run.args == (path,)
    assert {name: run.kwargs[name] for name in EMULATION} == wanted(EMULATION, **given)
    assert set(run.kwargs) == {*EMULATION, "inputs", "expected", "build_dir", "crew"}
    assert run.kwargs["crew"] is None


CREWS = [
    ({"workers": 3}, Crew(3)),
    ({"workers": None}, Crew()),
    ({"scheduler": "tcp://a"}, Crew(None, "tcp://a")),
    ({"workers": 2, "scheduler": "tcp://a"}, Crew(2, "tcp://a")),
]


@pytest.mark.parametrize(("given", "crew"), CREWS)
def test_who_shares_the_samples_of_an_emulation(given, crew, files, monkeypatch):
    run = Called("report")
    monkeypatch.setattr(emulate, "run_emulated", run)
    api.run_emulated(files / "int8.tflite", samples=1, **given)
    assert run.kwargs["crew"] == crew


@pytest.mark.parametrize(("given", "crew"), [({}, None), *CREWS])
def test_who_shares_other_samples(given, crew, files, tmp_path, monkeypatch):
    path, data, out = files / "float.tflite", files / "data.npz", tmp_path / "q.tflite"
    graph = quantize_graph(small_cnn(), samples(100), QuantConfig())
    asked = {
        (quantize, "quantize_graph"): lambda: api.quantize_model(path, data, out, **given),
        (choose, "quantize_within"): lambda: api.quantize_within(
            path, data, out, Budget(max_bytes=10**6), **given
        ),
        (bisect, "bisect"): lambda: api.bisect_model(path, files / "int8.tflite", data, **given),
    }
    for (place, name), ask in asked.items():
        called = Called((graph, "report") if name == "quantize_within" else graph)
        monkeypatch.setattr(place, name, called)
        ask()
        assert called.args[-1] == crew
    evaluated, sharing = Called(), Called("shared")
    monkeypatch.setattr(models, "evaluate_graph", evaluated)
    monkeypatch.setattr(models, "shared_by", sharing)
    api.evaluate(path, data, **given)
    assert evaluated.kwargs["judging"] == (models.here if crew is None else "shared")
    assert crew is None or sharing.args == (crew,)


SEVERAL = {**EMULATION, "shared_arena": True}
for of_one in ("profile", "cycles", "gdb"):
    SEVERAL.pop(of_one)


@pytest.mark.parametrize("option", SEVERAL)
def test_options_of_an_emulation_of_several(option, files, monkeypatch):
    run = Called({})
    monkeypatch.setattr(emulate, "run_emulated_several", run)
    path, given = files / "int8.tflite", {option: SEVERAL[option]}
    assert api.run_emulated_several([path], samples=1, **given) == {}
    assert run.args == ([path],)
    assert {name: run.kwargs[name] for name in SEVERAL} == wanted(SEVERAL, **given)
    assert set(run.kwargs) == {*SEVERAL, "inputs", "expected", "build_dir"}
    assert [len(arrays) for arrays in run.kwargs["expected"]] == [1]


def test_inputs_of_an_emulation_and_what_the_host_answers(files, tmp_path, monkeypatch):
    run = Called()
    monkeypatch.setattr(emulate, "run_emulated", run)
    path = files / "int8.tflite"
    host = models.Model(api.open_model(path))

    def answered(inputs):
        assert {n: a.tolist() for n, a in run.kwargs["inputs"].items()} == {"x": inputs.tolist()}
        want = {name: a.tolist() for name, a in host.run_raw({"x": inputs}).items()}
        assert {n: a.tolist() for n, a in run.kwargs["expected"].items()} == want

    for given, count in (({}, 4), ({"samples": 3}, 3)):
        api.run_emulated(path, **given)
        answered(api.random_inputs(host.graph, count)["x"])
    for data in (files / "data.npz", samples(6), {"x": samples(6)}):
        api.run_emulated(path, inputs=data, build_dir=tmp_path)
        assert run.kwargs["build_dir"] == tmp_path
        answered(host.stored_inputs(samples(6))["x"])


def test_inputs_of_an_emulation_are_paid_for_twice_more(files, monkeypatch):
    """They are packed and written, all at once."""
    budget = Called()
    monkeypatch.setattr(models, "current", lambda: SimpleNamespace(reserve=budget))
    monkeypatch.setattr(emulate, "run_emulated", Called())
    api.run_emulated(files / "int8.tflite", inputs=samples(6))
    assert budget.args == (2 * samples(6).size, "packed inputs")


def test_an_emulation_builds_in_a_folder_that_is_gone_afterwards(files, monkeypatch):
    seen = []

    def run(model, *, build_dir, **others):
        seen.append((build_dir, build_dir.is_dir()))

    monkeypatch.setattr(emulate, "run_emulated", run)
    api.run_emulated(files / "int8.tflite", samples=1)
    ((folder, there),) = seen
    assert there
    assert not folder.exists()


READING = {
    "run_model": lambda files, **o: api.run_model(files / "int8.tflite", samples(6), **o),
    "run_with_backend": lambda files, **o: api.run_with_backend(
        files / "int8.tflite", files / "data.npz", **o
    ),
    "evaluate": lambda files, **o: api.evaluate(files / "int8.tflite", files / "data.npz", **o),
}


@pytest.mark.parametrize("name", READING)
def test_memory_of_a_run_is_limited(name, files):
    READING[name](files, max_memory=64 << 20)
    with pytest.raises(BudgetError):
        READING[name](files, max_memory=100)


@pytest.mark.parametrize("name", READING)
def test_progress_of_a_run_is_told(name, files):
    told = []
    READING[name](files, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (6, 6)


def test_backends_are_those_asked_for(files, monkeypatch):
    path = files / "int8.tflite"
    asked = []
    interpreter = models.Interpreter.from_graph

    def from_graph(graph, **options):
        asked.append(options["backend"])
        return interpreter(graph, **options)

    monkeypatch.setattr(models.Interpreter, "from_graph", from_graph)
    for backend in ("reference", "numba"):
        asked.clear()
        assert api.run_with_backend(path, samples(1), backend=backend).backend == backend
        api.run_model(path, samples(1), backend=backend)
        api.evaluate(path, samples(1), backend=backend)
        assert [time.op for time in api.profile_model(path, backend=backend)] == [
            node.op for node in api.open_model(path).nodes
        ]
        assert set(asked) == {backend}
        assert len(asked) == 4
    assert api.run_with_backend(path, samples(1)).backend == "numba"


def test_labels_are_those_given_else_those_of_the_data(files, monkeypatch):
    wrong, path = np.full(6, 7), files / "float.tflite"
    for evaluate, place in (("evaluate", models), ("bisect_model", bisect)):
        called = Called()
        monkeypatch.setattr(place, "evaluate_graph" if place is models else "bisect", called)
        leading = (path,) if place is models else (path, files / "int8.tflite")
        at = 2 if place is models else 3
        for data, labels, want in (
            (files / "data.npz", None, np.arange(6) % 5),
            (files / "data.npz", wrong, wrong),
            (samples(6), wrong, wrong),
            (samples(6), None, None),
        ):
            getattr(api, evaluate)(*leading, data, labels=labels)
            np.testing.assert_array_equal(called.args[at], want)


def test_what_quantising_is_asked_for(files, tmp_path, monkeypatch):
    graph = quantize_graph(small_cnn(), samples(100), QuantConfig())
    path, out, config = files / "float.tflite", tmp_path / "q.tflite", QuantConfig()
    called = Called(graph)
    monkeypatch.setattr(quantize, "quantize_graph", called)
    for given, want in ((samples(4), samples(4)), (files / "data.npz", samples(6))):
        answer = api.quantize_model(path, given, out, config=config, progress=print)
        (batches, *others) = called.args[1:]
        assert others == [config, print, None]
        np.testing.assert_array_equal(np.concatenate([batch["x"] for batch in batches]), want)
        assert [n.op for n in answer.nodes] == [n.op for n in api.open_model(out).nodes]
    api.quantize_model(path, None, out)
    assert called.args[1:] == (None, None, None, None)


def test_what_a_budgeted_choice_is_asked_for(files, tmp_path, monkeypatch):
    graph = quantize_graph(small_cnn(), samples(100), QuantConfig())
    path, out = files / "float.tflite", tmp_path / "q.tflite"
    called = Called((graph, "report"))
    monkeypatch.setattr(choose, "quantize_within", called)
    config, labels = QuantConfig(), np.full(6, 3)
    data = files / "data.npz"
    budget = Budget(max_bytes=10**6)
    assert api.quantize_within(path, data, out, budget, config=config, progress=print) == "report"
    assert (called.args[2], called.args[3], called.args[5]) == (config, budget, print)
    assert out.is_file()
    api.quantize_within(path, data, out, budget, labels=labels)
    assert called.args[2] == quantize.PRESETS[quantize.Preset.BEST]
    assert called.args[5] is None
    answers = models.Model(api.open_model(path))(samples(6))
    assert called.args[4].of_float.top1 == np.mean(answers.argmax(-1) == labels)


def test_what_comparisons_are_asked_for(files, monkeypatch):
    paths, data = (files / "float.tflite", files / "int8.tflite"), files / "data.npz"
    debugging, bisecting = Called("debug"), Called("bisect")
    monkeypatch.setattr(debug, "debug_graphs", debugging)
    monkeypatch.setattr(bisect, "bisect", bisecting)
    assert api.debug_model(*paths, data, progress=print) == "debug"
    assert api.bisect_model(*paths, data, target="target", progress=print) == "bisect"
    assert debugging.args[3:] == (print, {})
    assert bisecting.args[4:] == ("target", print, {}, None)
    for called in (debugging, bisecting):
        found = [graph.is_quantized for graph in called.args[:2]]
        assert found == [False, True]
        np.testing.assert_array_equal(called.args[2]["x"], samples(6))


@pytest.mark.parametrize(
    ("one", "several"),
    [
        (api.run_emulated, api.run_emulated_several),
        (emulate.run_emulated, emulate.run_emulated_several),
        (export.export_c, export.export_several),
        (export.export_c, export.export_graph),
    ],
)
def test_what_is_left_out_is_the_same_for_one_model_and_for_several(one, several):
    first, others = signature(one).parameters, signature(several).parameters
    shared = set(first) & set(others)
    assert shared >= {"core", "optimize", "options"}
    left_out = {name: first[name].default for name in shared}
    assert {name: others[name].default for name in shared} == left_out
    assert left_out["options"] in (None, ExportOptions())


HEARING = {
    "core": "cortex-m55",
    "optimize": "size",
    "options": ExportOptions(by_rows=True),
    "board": "mps3",
    "cycles": Timing(clock_hz=1e6),
    "timeout_s": 7.5,
}


@pytest.mark.parametrize("option", HEARING)
def test_options_of_an_emulation_on_a_recording(option, tmp_path, monkeypatch):
    run = Called("report")
    monkeypatch.setattr(emulate.audio, "emulate_samples", run)
    path = saved(tmp_path / "ears.tflite", int8_net())
    sound = np.zeros(900, np.int16)
    given = {option: HEARING[option]}
    assert api.emulate_recording(path, sound, **given) == "report"
    model, heard, pipeline, expected = run.args
    assert (model, pipeline) == (path, PIPELINE)
    np.testing.assert_array_equal(heard, sound)
    assert len(expected.samples) == len(expected.detected) == len(next(iter(expected.raw.values())))
    assert {name: run.kwargs[name] for name in HEARING} == wanted(HEARING, **given)
    assert set(run.kwargs) == {*HEARING, "build_dir"}


@pytest.mark.parametrize("option", HEARING)
def test_options_of_an_emulation_on_frames(option, tmp_path, monkeypatch):
    run = Called("report")
    monkeypatch.setattr(emulate.camera, "emulate_frames", run)
    path = saved(tmp_path / "eyes.tflite", seeing.int8_net(), seeing.GREY)
    frames, given = seeing.frames_of(seeing.GREY, 2), {option: HEARING[option]}
    assert api.emulate_recording(path, frames, **given, build_dir=tmp_path) == "report"
    model, shown, vision, expected = run.args
    assert (model, vision) == (path, seeing.GREY)
    np.testing.assert_array_equal(shown, frames)
    seen = api.look_model(path, frames)
    assert repr(expected) == repr(emulate.camera.SeenByHost(seen.raw, seen.boxes))
    assert run.kwargs == wanted(HEARING, **given) | {"build_dir": tmp_path}


@pytest.mark.parametrize("call", ["validate", "run_firmware"])
def test_inputs_and_limits_of_a_board(call, files, monkeypatch):
    """By data or at random, as many as asked for; what carries the bytes is opened as asked."""
    opened, run = [], Called("report")

    def open_line(*arguments):
        opened.append(arguments)
        return nullcontext("line")

    monkeypatch.setattr(board, "validate_on", run)
    for opener in ("SerialLine", "emulated_port"):
        monkeypatch.setattr(board, opener, open_line)
    path, x = files / "int8.tflite", samples(6)
    host = models.Model(api.open_model(path))
    own = {"port": "dev", "baud": 9600} if call == "validate" else {"machine": "virt"}
    first = () if call == "validate" else ("a.elf",)
    want = {"dev": ("dev", 9600), "a.elf": ("a.elf", "virt")}["".join(first) or "dev"]
    for given, inputs in (
        ({}, api.random_inputs(host.graph, 4)["x"]),
        ({"samples": 2}, api.random_inputs(host.graph, 2)["x"]),
        ({"data": x}, host.stored_inputs(x)["x"]),
        ({"data": x, "samples": 2}, host.stored_inputs(x[:2])["x"]),
    ):
        options = {"timeout_s": 7.5, "progress": print}
        assert getattr(api, call)(path, *first, **own, **given, **options) == "report"
        line, subject, feeds, expected = run.args
        assert (line, opened.pop()) == ("line", want)
        assert feeds["x"].tolist() == inputs.tolist()
        answers = host.run_raw({"x": inputs})
        assert {name: a.tolist() for name, a in expected.items()} == {
            name: a.tolist() for name, a in answers.items()
        }
        assert run.kwargs == {"answer_s": 7.5, "progress": print}
    assert [value.name for value in subject.inputs] == list(host.graph.fed)
    assert [value.name for value in subject.outputs] == list(host.graph.answers)
    assert subject.sha256 == sha256(path.read_bytes()).hexdigest()
    defaults = {"validate": {"port": "dev"}, "run_firmware": {}}[call]
    getattr(api, call)(path, *first, **defaults)
    assert opened == [("dev", 115_200) if call == "validate" else ("a.elf", None)]
    assert run.kwargs == {"answer_s": 5.0 if call == "validate" else 30.0, "progress": None}
