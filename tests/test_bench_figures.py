"""Figures of the benchmark, with engines and a clock that count: units, ratios, turns, threads."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.graphs import small_cnn
from tinyrt import bench
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import DataError, ToolError
from tinyrt.ops import OPS

MICROSECONDS = 1e-6


class Clock:
    """Time passes only where somebody says so."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now


class Engine:
    """Takes the times that it is given, in turn, for an inference; a batch takes 8 s by thread."""

    def __init__(self, clock, name, times, cold_s):
        self.clock, self.name, self.times, self.cold_s = clock, name, times, cold_s
        self.calls = 0
        self.threads = []
        self.given = []

    def open(self, path):
        return self

    def allocate_tensors(self):
        self.given.append("allocated")

    def get_input_details(self):
        return [{"index": 5}]

    def set_tensor(self, index, value):
        self.given.append((index, value.shape))

    def invoke(self):
        self.clock.now += self.times[self.calls % len(self.times)]
        self.calls += 1

    def run_batch(self, path, batch, threads):
        self.threads.append((len(batch), threads))
        rounds = iter([9.0, 8.0, *[9.5] * 6])

        def run():
            self.clock.now += next(rounds) / threads

        return run

    def cold_start(self, path):
        return self.cold_s


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(bench, "time", made)
    monkeypatch.setattr(bench, "cores", lambda: 4)
    monkeypatch.setattr(bench, "peak_macs_per_second", lambda: 1e9)
    return made


@pytest.fixture
def path(tmp_path):
    save_tflite(small_cnn(), tmp_path / "net.tflite")
    return tmp_path / "net.tflite"


def measured(monkeypatch, path, *engines, **options):
    mine, *others = engines
    monkeypatch.setattr(bench, "_tinyrt", lambda backend: mine)
    monkeypatch.setattr(bench, "peers", lambda name, onnx=None: others)
    return bench.bench_model(path, **options)


def test_figures_are_what_the_clock_says(clock, path, monkeypatch):
    macs = sum(OPS[node.op].macs(node) for node in small_cnn().bound())
    mine = Engine(clock, "mine", [100e-6] * 7 + [300e-6] * 3, 0.25)
    other = Engine(clock, "other", [500e-6], 1.5)
    found = measured(monkeypatch, path, mine, other, seconds=0.1)
    one, two = found
    assert (one.engine, two.engine) == ("mine", "other")
    assert one.latency_us.median == pytest.approx(100)
    assert one.latency_us.p90 == pytest.approx(300)
    assert (one.ratio, two.ratio) == (1, pytest.approx(5))
    assert (one.cold_start_ms, two.cold_start_ms) == (250, 1500)
    assert one.samples_per_second_one_thread == pytest.approx(256 / 8)
    assert one.samples_per_second == pytest.approx(256 / 2)
    assert one.macs_per_second == pytest.approx(macs / 100e-6)
    assert two.share_of_peak == pytest.approx(macs / 500e-6 / 1e9)
    assert mine.threads == other.threads == [(256, 4), (256, 1)]
    assert mine.given == ["allocated", (5, (1, 8, 8, 3))]


def test_without_a_peak_there_is_no_share_of_it(clock, path, monkeypatch):
    monkeypatch.setattr(bench, "peak_macs_per_second", lambda: None)
    (found,) = measured(monkeypatch, path, Engine(clock, "mine", [1e-3], 1.0), seconds=0.0)
    assert found.share_of_peak is None


@pytest.mark.parametrize(("seconds", "rounds"), [(0.0, 3), (0.006, 3), (0.0073, 4), (0.1, 50)])
def test_engines_take_turns_for_as_long_as_is_asked_for(clock, path, monkeypatch, seconds, rounds):
    seen, runs = [], []
    mine, other = (Engine(clock, name, [0.5e-3], 1.0) for name in ("mine", "other"))
    for engine in (mine, other):
        invoke = engine.invoke
        engine.invoke = lambda invoke=invoke, engine=engine: [runs.append(engine.name), invoke()]

    def progress(*done):
        seen.append(done)

    measured(monkeypatch, path, mine, other, seconds=seconds, progress=progress)
    assert seen == [(i + 1, rounds) for i in range(rounds)]
    assert runs[:2] == ["mine", "other"]  # warm
    assert runs[2:] == (["mine"] * 4 + ["other"] * 4) * rounds


# Engines


def test_a_backend_that_is_misspelt_is_told():
    with pytest.raises(DataError) as caught:
        bench._tinyrt("nunba")
    assert caught.value.hint == "did you mean 'numba'?"


def test_a_cold_start_is_the_best_of_three(monkeypatch):
    commands, answers = [], iter(["2.5\n", "1.5\n", "3.5\n"])

    def run(command):
        commands.append(command)
        return SimpleNamespace(status=0, out=next(answers))

    monkeypatch.setattr(bench, "run_tool", run)
    assert bench._tinyrt("reference").cold_start("net.tflite") == 1.5
    assert len(commands) == 3
    python, option, code, model = commands[0]
    assert (python, option, model) == (sys.executable, "-c", "net.tflite")
    assert "Interpreter(sys.argv[1], backend='reference')" in code
    compile(code, "cold", "exec")


def test_an_engine_that_fails_later_is_named_too(monkeypatch):
    answers = iter([SimpleNamespace(status=0, out="1"), SimpleNamespace(status=3, last_words="oh")])
    monkeypatch.setattr(bench, "run_tool", lambda command: next(answers))
    with pytest.raises(ToolError, match="tinyrt numba does not start:\noh"):
        bench._tinyrt("numba").cold_start("net.tflite")


def test_backends_run_what_they_are_called(path):
    for backend in ("reference", "numba"):
        engine = bench._tinyrt(backend)
        assert engine.name == f"tinyrt {backend}"
        opened = engine.open(path)
        opened.allocate_tensors()
        assert opened.backend == backend
        model = engine.run_batch(path, np.zeros((3, 2, 8, 8, 3), np.float32), 1)
        assert model().shape == (6, 5)
        assert model.func.backend == backend


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("litert", ["LiteRT XNNPACK", "LiteRT built-in"]),
        ("litert-reference", ["LiteRT reference"]),
    ],
)
def test_peers_are_one_thread_of_the_kernels_that_they_are_named_for(name, labels, monkeypatch):
    monkeypatch.setattr(bench, "find_spec", lambda name: name)
    resolvers = {
        "LiteRT XNNPACK": "AUTO",
        "LiteRT built-in": "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
        "LiteRT reference": "BUILTIN_REF",
    }
    found = bench.peers(name)
    assert [engine.name for engine in found] == labels
    for engine in found:
        resolver = resolvers[engine.name]
        assert f"OpResolverType.{resolver})" in engine.expression
        assert "num_threads=1," in engine.expression


def test_samples_go_in_one_by_one_and_answers_come_in_their_order():
    class Twice:
        def get_input_details(self):
            return [{"index": 3}]

        def get_output_details(self):
            return [{"index": 7}]

        def set_tensor(self, index, value):
            assert (index, value.shape) == (3, (2, 2))
            self.value = value

        def invoke(self):
            self.answer = 2 * self.value

        def get_tensor(self, index):
            assert index == 7
            return self.answer

    samples = np.arange(12).reshape(3, 2, 2)
    np.testing.assert_array_equal(bench._loop(Twice(), samples), 2 * samples)
