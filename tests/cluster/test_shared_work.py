"""Evaluations, calibration and bisection that several machines share: as one would have them."""

from contextlib import contextmanager
from dataclasses import replace

import distributed
import numpy as np
import pytest

from tests.cluster.crowd import Crowd
from tests.graphs import Builder, lstm_net, small_cnn
from tests.quantize.test_mixed import fair_net, samples
from tinyrt import answering, api
from tinyrt.cluster.pieces import Crew
from tinyrt.cluster.workers import SPARE
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.metrics import evaluate_graph
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.quantize.calibration import watching
from tinyrt.quantize.calibration.collect import calibrate
from tinyrt.quantize.config import Calibrator, QuantizationWarning
from tinyrt.quantize.explain import bisect as bisecting
from tinyrt.quantize.mixed.budget import Budget

CREW = Crew(3)
SHARED = answering.shared_by(CREW)


@pytest.fixture(autouse=True)
def crowds(monkeypatch):
    """The workers that were asked for."""
    asked = []

    @contextmanager
    def crew(shared, workers, scheduler):
        asked.append((Crowd(shared), workers, scheduler))
        yield asked[-1][0]

    for module in (answering, watching, bisecting):
        monkeypatch.setattr(module, "workers_of", crew)
    return asked


def without_time(evaluation):
    return replace(evaluation, samples_per_second=0.0)


def labelled(count=300, seed=7):
    return {"x": samples(count, seed)}, np.random.default_rng(seed).integers(0, 5, count)


@pytest.mark.parametrize("other", [None, "float", "answers"])
def test_an_evaluation_has_the_same_figures(other, crowds):
    graph = fair_net()
    int8 = quantize_graph(graph, samples(), QuantConfig())
    inputs, labels = labelled()
    against = answering.answers_of(graph, inputs) if other == "answers" else other and graph
    given, told = (int8, inputs, labels, against), []
    alone = by(answering.here, *given)
    assert without_time(by(SHARED, *given, lambda *done: told.append(done))) == without_time(alone)
    ((crowd, *asked),) = crowds
    assert asked == [3, None]
    assert crowd.shared.setting.threads == 1
    assert crowd.most == 3
    assert [done for done, _ in told] == [32, 64, 96, 128, 160, 192, 224, 256, 288, 300]
    assert {total for _, total in told} == {300}
    assert alone.sqnr_db is None or alone.sqnr_db > 10


def test_workers_that_have_the_samples_are_sent_the_models():
    graph = fair_net()
    inputs, labels = labelled()
    given = quantize_graph(graph, samples(), QuantConfig()), inputs, labels
    reference, held, told = answering.answers_of(graph, inputs), Crowd(inputs), []
    judging = answering.held_by(held)
    found = by(judging, *given, reference, lambda *done: told.append(done))
    assert without_time(found) == without_time(by(answering.here, *given, reference))
    assert held.most == 2
    assert [done for done, _ in told] == [160, 300]


def test_each_worker_has_one_piece_where_it_has_to_prepare_a_model():
    for there in (1, 2, 3, 4, 7, 8, 64, 1000):
        assert answering._workers_of(there + 1 + there // SPARE) == there


def by(judging, graph, inputs, labels, against=None, progress=None):
    return evaluate_graph(graph, inputs, labels, against, progress=progress, judging=judging)


def test_wrong_labels_are_told_as_without_workers():
    inputs, _ = labelled(40)
    said = []
    for judging in (answering.here, SHARED):
        with pytest.raises(DataError) as error:
            by(judging, small_cnn(), inputs, np.full(40, 9))
        said.append(str(error.value))
    assert said[0] == said[1]


def test_a_model_with_state_is_not_shared():
    b = Builder((1, 4), (1, 4))
    graph = b.graph(b.op("abs", ("x",)), b.op("neg", ("x1",)))
    graph = replace(graph, states=(("x1", graph.outputs[1]),))
    plain = Builder((1, 4))
    for model, against in ((graph, None), (plain.graph(plain.op("abs", ("x",))), graph)):
        with pytest.raises(UnsupportedError) as error:
            by(SHARED, model, {"x": np.ones((9, 4), np.float32)}, None, against)
        assert error.value.problem.startswith("samples of a model that keeps state are not shared")
        assert error.value.tensor == "'x1' f32[1,4]"
        assert error.value.expected == "a model that begins anew with each sample"
        assert error.value.hint == "leave out --workers and --scheduler"


NETS = {"cnn": small_cnn, "lstm": lstm_net}
SEEN = [("cnn", Calibrator.AUTO), ("cnn", Calibrator.MOVING_AVERAGE), ("lstm", Calibrator.AUTO)]


@pytest.mark.parametrize(("net", "calibrator"), SEEN)
def test_ranges_are_the_same_to_the_last_bit(net, calibrator, crowds):
    graph, config = NETS[net](), QuantConfig(calibrator=calibrator)
    shape = graph.input_values[0].shape[1:]
    x = np.random.default_rng(1).normal(size=(100, *shape)).astype(np.float32)
    x[3] *= 40
    told = []
    alone = calibrate(graph, [x[:70], x[70:]], None, config)
    shared = calibrate(graph, [x[:70], x[70:]], lambda *n: told.append(n), config, CREW)
    assert shared == alone
    assert list(shared) == list(alone)
    assert told == [(n, n) for n in (32, 64, 70, 100)]
    assert crowds[0][0].most == 3


def test_what_has_no_end_and_what_is_few_is_told_by_workers_too():
    b = Builder((1, 4))
    graph = b.graph(b.op("log", (b.op("relu", ("x",)),)))
    x = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    with pytest.raises(DataError, match="computes infinity") as error:
        calibrate(graph, x, None, QuantConfig(), CREW)
    assert error.value.op == "log 'log_1'"
    with pytest.warns(QuantizationWarning, match="only 5 samples for 'x'"):
        calibrate(small_cnn(), samples(5), None, QuantConfig(), CREW)


def test_a_bisection_measures_the_same(crowds):
    graph = fair_net()
    int8 = quantize_graph(graph, samples(), QuantConfig())
    given = graph, int8, {"x": samples(90, 9)}, None, Budget(min_sqnr_db=38.0)
    told = []
    alone = bisecting.bisect(*given)
    shared = bisecting.bisect(*given, lambda *done: told.append(done), crew=CREW)
    assert len(alone.steps) > 0
    assert without_times(shared) == without_times(alone)
    assert crowds[0][1:] == (3, None)
    assert told


def without_times(report):
    return replace(report, start=without_time(report.start), result=without_time(report.result))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    save_tflite(fair_net(), folder / "float.tflite")
    save_tflite(quantize_graph(fair_net(), samples(), QuantConfig()), folder / "int8.tflite")
    inputs, labels = labelled(200)
    np.savez(folder / "data.npz", **inputs, y=labels)
    return folder


def test_a_cluster_answers_as_one_machine_does(files, tmp_path, monkeypatch):
    """By an address, and by a client of the caller's, which stays open."""
    monkeypatch.undo()
    data, config = files / "data.npz", QuantConfig(calibrator=Calibrator.AUTO)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for scheduler in (cluster.scheduler_address, client):
            alone, shared = (
                api.evaluate(files / "int8.tflite", data, scheduler=s) for s in (None, scheduler)
            )
            assert without_time(shared) == without_time(alone)
        written = []
        for name, scheduler in (("alone", None), ("shared", client)):
            path = tmp_path / f"{name}.tflite"
            api.quantize_model(
                files / "float.tflite", data, path, config=config, scheduler=scheduler
            )
            written.append(path.read_bytes())
        assert client.status == "running"
    assert written[0] == written[1]


def test_a_piece_has_no_more_bytes_than_a_scheduler_takes_easily(monkeypatch):
    monkeypatch.setattr(answering, "PIECES", 1)
    inputs, _ = labelled(320)
    per_sample = inputs["x"][0].nbytes
    counts = {}
    for limit in (64 * per_sample, 10**9):
        monkeypatch.setattr(answering, "PIECE_BYTES", limit)
        told = []
        by(SHARED, small_cnn(), inputs, None, None, lambda *done, told=told: told.append(done))
        counts[limit] = len(told)
    assert counts == {64 * per_sample: 5, 10**9: 3}
