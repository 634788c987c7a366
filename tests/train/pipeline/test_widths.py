"""Widths that are learned for a number of bytes: as asked, and the same each time."""

from dataclasses import replace

import numpy as np
import pytest

from tests.train.pipeline.made import learned, samples_of
from tests.train.pipeline.test_run import QUICK, InterruptedHereError, trained, weights_of
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import DataError
from tinyrt.ir import DType
from tinyrt.train import Tensor
from tinyrt.train.core.tensor import no_grad
from tinyrt.train.losses import cross_entropy
from tinyrt.train.pipeline import run as stages
from tinyrt.train.pipeline import widths
from tinyrt.train.pipeline.run import file_size, train_for_int8
from tinyrt.train.pipeline.setting import QatSetting

NARROW = replace(QUICK, max_bytes=3072)
"""Room for int8 weights in the first and the last layer, or for none of the second's."""


def run_of(setting):
    graph, x, y = learned()
    return stages._Run(graph, samples_of(graph, x, y), setting, None, print), x, y


def test_the_search_comes_first_and_its_choice_is_trained():
    said = []
    outcome = trained(replace(NARROW, width_epochs=2), on_stage=said.append)
    assert said == [
        "choosing layers for int4",
        "learning widths, 2 epochs",
        "training for int8, at most 3 epochs",
    ]
    assert file_size(outcome.graph) <= 3072
    assert outcome.figures[0].deployed == outcome.figures[0].trained
    assert [e.number for e in outcome.width_history] == [1, 2]
    bits = {4: DType.INT4, 8: DType.INT8}
    dtypes = [v.dtype for v in weights_of(outcome.graph).values()]
    assert [bits[width.bits] for width in outcome.widths] == dtypes
    assert tuple(w.name for w in outcome.widths if w.bits == 4) == outcome.int4_layers
    expected = sum(w.chance * w.saved for w in outcome.widths)
    assert expected == pytest.approx(176, rel=1e-3), "as many bytes as are left"


def test_without_epochs_noise_alone_decides():
    said = []
    outcome = trained(replace(NARROW, width_epochs=0), on_stage=said.append)
    assert said == ["choosing layers for int4", "training for int8, at most 3 epochs"]
    assert outcome.width_history == ()
    assert {w.chance for w in outcome.widths} == {None}
    assert file_size(outcome.graph) <= 3072
    assert outcome.int4_layers == ("0.4",)


@pytest.mark.parametrize(("most", "narrow"), [(2864, 3), (9999, 0)])
def test_where_there_is_no_choice_nothing_is_searched(most, narrow):
    outcome = trained(replace(NARROW, max_bytes=most))
    assert outcome.width_history == ()
    assert sum(w.bits == 4 for w in outcome.widths) == len(outcome.int4_layers) == narrow
    assert file_size(outcome.graph) <= most


def test_a_third_of_the_epochs_by_default():
    assert QatSetting(epochs=20).searched_epochs == 0
    sizes = {e: QatSetting(epochs=e, max_bytes=1).searched_epochs for e in (1, 3, 4, 20)}
    assert sizes == {1: 1, 3: 1, 4: 2, 20: 7}
    assert QatSetting(max_bytes=1, width_epochs=0).searched_epochs == 0
    with pytest.raises(DataError, match="2 epochs are to learn widths, but nothing asks"):
        QatSetting(width_epochs=2)
    with pytest.raises(DataError, match="width_epochs is -1"):
        QatSetting(max_bytes=1, width_epochs=-1)


def test_what_the_search_is_asked_for_decides_what_is_learned(monkeypatch):
    quick = replace(NARROW, epochs=1, width_epochs=2)

    def learned_by(setting):
        drawn, _, _ = run_of(setting)
        return [layer.chance for layer in drawn._in_int8(drawn.source)[1].layers]

    chances = learned_by(quick)
    assert learned_by(quick) == chances
    for setting in (replace(quick, seed=1), replace(quick, max_bytes=3104)):
        assert learned_by(setting) != chances
    for name in ("REACH", "COLDEST"):
        with monkeypatch.context() as patch:
            patch.setattr(widths, name, getattr(widths, name) * 0.8)
            assert learned_by(quick) != chances


def test_a_gate_that_is_pushed_one_way_goes_as_far_as_said(monkeypatch):
    found = []

    def fit(model, optimizer, before_epoch):
        gate = model.gates.log_worth
        start = gate.data.copy()
        for step in range(8):
            before_epoch(1 + step // 4)
            gate.grad = np.ones_like(gate.data)
            optimizer.lr = 1e-2 * (1 + np.cos(np.pi * step / 8)) / 2
            optimizer.step()
        found.append((start - gate.data, model.gates.room.temperature))
        return ()

    drawn, x, _ = run_of(NARROW)
    search = widths.Search(2, 4, 1e-2, fit, lambda model: 0.0)
    data = {drawn.graph.inputs[0]: x[:40]}
    widths.choose_widths(drawn.graph, drawn.source, data, 3072, file_size, search)
    (moved, temperature), *_ = found
    np.testing.assert_allclose(moved, widths.REACH, rtol=0.15)
    assert temperature == pytest.approx(widths.COLDEST)


@pytest.mark.parametrize("better", [1, 2])
def test_of_what_was_learned_and_noise_that_with_less_loss_is_kept(better):
    """3,008 bytes leave room for the first layer or the last; noise takes the last."""
    drawn, x, _ = run_of(NARROW)
    measured = []

    def fit(model, optimizer, before_epoch):
        model.gates.log_worth.data = np.array([9, 0, 0], np.float32)
        return ()

    def loss(model):
        narrow = [layer.bits == 4 for layer in model.layers.values()]
        measured.append(narrow)
        return float(len(measured) != better)

    search = widths.Search(2, 4, 1e-2, fit, loss)
    data = {drawn.graph.inputs[0]: x[:40]}
    choice = widths.choose_widths(drawn.graph, drawn.source, data, 3008, file_size, search)
    assert measured == [[False, True, True], [True, True, False]]
    bits = [layer.bits == 4 for layer in choice.layers]
    assert bits == measured[better - 1]
    assert choice.layers[0].chance > 0.9


def test_the_loss_is_the_mean_over_what_is_trained_on():
    drawn, x, y = run_of(replace(NARROW, width_epochs=0))
    model, _ = drawn._in_int8(drawn.source)
    model.train()
    with model.evaluating(), no_grad():
        answers = model(Tensor(x[drawn.training]))
    expected = cross_entropy(answers, y[drawn.training]).item()
    assert len(drawn.training) > stages.BATCH
    assert drawn._loss(model) == pytest.approx(expected, rel=1e-6)


def test_training_goes_on_from_what_the_search_has_left():
    drawn, _, _ = run_of(replace(NARROW, width_epochs=1))
    model, choice = drawn._in_int8(drawn.source)
    plain = run_of(replace(NARROW, width_epochs=0))[0]._in_int8(drawn.source)
    assert plain[1].state is None
    judged = drawn._in_int8(drawn.source, searching=False)
    assert judged[1].history == (), "candidates for a core's budget are not searched"
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, choice.state[name])
    weight = "0.0.weight"
    assert not np.array_equal(choice.state[weight], plain[0].state_dict()[weight])


def test_a_search_that_was_interrupted_ends_with_the_same_bits(tmp_path, monkeypatch):
    setting = replace(NARROW, epochs=1, width_epochs=2)
    whole = trained(setting)
    setting = replace(setting, state_file=tmp_path / "state.npz")
    score, calls = stages._Run._score, []

    def interrupting(self, answers):
        calls.append(None)
        if len(calls) == 2:
            raise InterruptedHereError
        return score(self, answers)

    monkeypatch.setattr(stages._Run, "_score", interrupting)
    with pytest.raises(InterruptedHereError):
        trained(setting)
    assert [path.name for path in tmp_path.iterdir()] == ["state.widths.npz"]
    monkeypatch.undo()
    resumed = trained(setting)
    assert (resumed.widths, resumed.width_history) == (whole.widths, whole.width_history)
    assert write_tflite(resumed.graph) == write_tflite(whole.graph)
    with pytest.raises(DataError, match="bytes 3072"):
        trained(replace(setting, max_bytes=3088))


def test_the_size_is_that_of_the_file_with_all_that_it_carries():
    graph, x, y = learned()
    samples, setting = samples_of(graph, x, y), replace(NARROW, max_bytes=3250, epochs=1)
    sizes = [
        file_size(train_for_int8(graph, samples, setting, size=size).graph)
        for size in (file_size, lambda graph: file_size(graph) + 300)
    ]
    assert sizes[1] <= 3250 - 300 < sizes[0] <= 3250
