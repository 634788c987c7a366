"""From a float graph to a trained int8 one: every stage does what was asked, and no more."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from tests.sampling import sampled
from tests.train.pipeline.made import CLASSES, N, learned, samples_of
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import BudgetError, DataError, DefectError
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Value
from tinyrt.ops import is_weighted
from tinyrt.quantize import PRESETS, Preset, quantize_graph
from tinyrt.quantize.config import Scheme
from tinyrt.train.channels import macs_of
from tinyrt.train.ends import ends_of
from tinyrt.train.pipeline import run as stages
from tinyrt.train.pipeline.lessons import Kind, answers_at_ends
from tinyrt.train.pipeline.run import train_for_int8
from tinyrt.train.pipeline.setting import Pruned, Pruning, QatSetting
from tinyrt.train.qat import QatModel

QUICK = QatSetting(epochs=3, learning_rate=3e-3, validation=0.25)


def trained(setting=QUICK, *, labels=True, **options):
    graph, x, y = learned()
    return train_for_int8(graph, samples_of(graph, x, *[y] * labels), setting, **options)


@pytest.fixture(scope="module")
def plain():
    """What comes of the quick setting alone."""
    return trained()


def held_out(outcome, seed=0):
    """The samples that the figures are of, as they were drawn."""
    graph, x, y = learned()
    drawn = stages._Run(graph, samples_of(graph, x, y), replace(QUICK, seed=seed), None, print)
    assert len(drawn.held) == outcome.held_out
    return x[drawn.held], y[drawn.held]


def share_right(graph, x, y):
    return float(np.mean(Model(graph)(x).argmax(axis=1) == y))


def weights_of(graph):
    return {n.input(1).name: n.input(1) for n in graph.bound() if is_weighted(n)}


def test_figures_are_those_of_the_models_on_the_samples_held_out(monkeypatch):
    monkeypatch.setattr(stages, "BATCH", 7)
    said = []
    outcome = trained(on_stage=said.append)
    assert said == ["training for int8, at most 3 epochs"]
    (figures,) = outcome.figures
    x, y = held_out(outcome)
    assert (figures.name, figures.kind) == (learned()[0].outputs[0], Kind.CLASSES)
    assert (figures.learns_from, figures.measure) == ("labels", "top1")
    assert figures.deployed == figures.trained == share_right(outcome.graph, x, y)
    assert figures.in_float == share_right(learned()[0], x, y)
    assert (outcome.samples, outcome.held_out) == (N - len(x), len(x))
    assert outcome.held_out == pytest.approx(N / 4, abs=2)
    assert [e.number for e in outcome.history] == [1, 2, 3]
    assert outcome.float_history == outcome.int4_layers == ()
    assert outcome.macs == outcome.float_macs
    best = max(outcome.history, key=lambda e: e.score)
    assert outcome.best_epoch == best.number
    assert best.score == pytest.approx(figures.trained, abs=1 / (CLASSES * len(y)))
    assert {v.dtype for v in outcome.graph.values.values() if not v.is_constant} == {DType.INT8}


def test_the_batch_norm_is_trained_with_the_statistics_of_batches():
    graph, x, y = learned()
    drawn = stages._Run(graph, samples_of(graph, x, y), QUICK, None, print)
    model, _ = drawn._in_int8(drawn._in_float(drawn.source, shrunk=False)[0])
    assert any(layer.norm for layer in model.layers.values())


def test_ranges_start_from_the_first_samples_of_training(monkeypatch):
    graph, x, y = learned()
    drawn, given = stages._Run(graph, samples_of(graph, x, y), QUICK, None, print), []

    def model(graph, calibration, **options):
        given.append(*calibration.values())
        return QatModel(graph, calibration, **options)

    monkeypatch.setattr(stages, "CALIBRATION_SAMPLES", 40)
    monkeypatch.setattr(stages, "QatModel", model)
    drawn._in_int8(drawn.source)
    np.testing.assert_array_equal(given, [x[drawn.training[:40]]])


def test_the_seed_decides_what_is_held_out_and_all_that_follows(plain):
    first, again = (write_tflite(found.graph) for found in (plain, trained()))
    other = trained(replace(QUICK, seed=1))
    assert first == again != write_tflite(other.graph)
    assert not np.array_equal(held_out(other, 1)[0], held_out(other, 0)[0])


def test_rates_and_batches_reach_the_training(plain):
    for setting in (replace(QUICK, learning_rate=1e-3), replace(QUICK, batch=8)):
        assert trained(setting).history != plain.history
    assert plain.history[0].lr > plain.history[-1].lr > 0


def test_where_no_epoch_is_better_the_model_stays_as_it_was():
    spoiled = trained(replace(QUICK, learning_rate=10.0))
    (figures,) = spoiled.figures
    assert spoiled.best_epoch == 0
    assert figures.before == figures.trained == figures.deployed
    assert all(e.score < figures.before for e in spoiled.history)


def test_the_weights_are_those_of_the_best_epoch():
    outcome = trained(replace(QUICK, epochs=4, learning_rate=0.02, seed=1))
    scores = [e.score for e in outcome.history]
    assert outcome.best_epoch == 1 + int(np.argmax(scores)) < 4
    assert outcome.figures[0].trained == pytest.approx(max(scores), abs=1 / 48)
    assert outcome.figures[0].trained > scores[-1] + 1 / 24


def test_without_patience_the_last_epoch_is_kept():
    setting = replace(QUICK, epochs=4, learning_rate=0.02, seed=1)
    best, last = trained(setting), trained(replace(setting, patience=None))
    assert (best.best_epoch, last.best_epoch) == (1 + int(np.argmax(last_scores(last))), 4)
    assert best.best_epoch < 4
    assert last.figures[0].trained == pytest.approx(last.history[-1].score, abs=1 / 48)


def last_scores(outcome):
    return [e.score for e in outcome.history]


def test_samples_to_train_on_and_to_hold_out_may_be_given():
    rows = np.arange(N)
    outcome = trained(parts=(rows[10:], rows[:10]))
    assert (outcome.samples, outcome.held_out) == (N - 10, 10)


@pytest.mark.parametrize(("epochs", "first"), [(1, 2), (3, 3), (6, 5)])
def test_ranges_hold_still_in_the_last_third(epochs, first, monkeypatch):
    calls, epoch = [], stages._Run._score

    def score(self, answers):
        calls.append("epoch")
        return epoch(self, answers)

    monkeypatch.setattr(stages._Run, "_score", score)
    monkeypatch.setattr(QatModel, "freeze", lambda self: calls.append("freeze"))
    trained(replace(QUICK, epochs=epochs, patience=epochs))
    assert calls.count("freeze") == epochs - first + 1
    if first <= epochs:
        assert calls.index("freeze") == first - 1


def test_training_ends_where_it_helps_no_more():
    spoiled = trained(replace(QUICK, epochs=9, patience=2, learning_rate=10.0))
    best = max(spoiled.history, key=lambda e: e.score)
    assert len(spoiled.history) == best.number + 3 < 9


def test_without_labels_the_float_model_teaches():
    (figures,) = trained(labels=False).figures
    assert (figures.learns_from, figures.measure) == ("teacher", "agreement")
    assert figures.in_float == 1.0
    assert figures.trained == figures.deployed > 0.8


def test_a_teacher_counts_beside_labels_and_instead_of_the_model_itself(plain):
    graph, *_ = learned()
    name = next(iter(weights_of(graph)))
    changed = Value.constant(name, -weights_of(graph)[name].data)
    stranger = graph.with_nodes(graph.nodes, [changed])
    both = trained(teacher=stranger)
    assert both.figures[0].learns_from == "labels and teacher"
    assert both.history != plain.history
    alone = trained(labels=False, teacher=stranger)
    assert alone.figures[0].in_float < 1
    assert alone.history != trained(labels=False).history
    assert trained(labels=True, teacher=graph).history != both.history


def in_fours(graph):
    """Whether convolutions have channels as kernels for SIMD cores work on them, and fewer."""
    counts = [v.shape[0] for v in weights_of(graph).values() if len(v.shape) == 4]
    return all(count % 4 == 0 for count in counts) and min(counts) < 8


def test_channels_go_first_and_the_rest_is_trained_in_float():
    said = []
    setting = replace(QUICK, pruning=Pruning(Pruned.CHANNELS, 0.4))
    outcome = trained(setting, on_stage=said.append)
    assert said[:2] == ["pruning channels", "training in float, at most 3 epochs"]
    assert outcome.macs <= 0.6 * outcome.float_macs
    assert in_fours(outcome.graph)
    assert len(outcome.float_history) == 3
    assert outcome.figures[0].deployed > 0.6
    least = trained(replace(setting, finetune=0), on_stage=said.append)
    assert least.float_history == ()
    assert least.macs == outcome.macs


def test_as_few_channels_go_as_make_the_model_fit(plain):
    said = []
    outcome = trained(fits=lambda graph: macs_of(graph) <= 0.6 * plain.macs, on_stage=said.append)
    assert said[:2] == [
        "pruning channels until the model fits",
        "training in float, at most 3 epochs",
    ]
    assert 0.3 * plain.macs < outcome.macs <= 0.6 * plain.macs
    assert in_fours(outcome.graph)
    assert len(outcome.float_history) == 3
    roomy = trained(fits=lambda graph: True)
    assert write_tflite(roomy.graph) == write_tflite(plain.graph)
    assert roomy.float_history == ()
    with pytest.raises(BudgetError, match="no number of channels makes the model fit"):
        trained(fits=lambda graph: False)


def test_weights_that_are_pruned_stay_zero(plain):
    setting = replace(QUICK, epochs=6, patience=1, pruning=Pruning(Pruned.WEIGHTS, 0.5))
    outcome = trained(setting)
    arrays = [v.data.ravel() for v in weights_of(outcome.graph).values()]
    zeros = float((np.concatenate(arrays) == 0).mean())
    assert outcome.zero_weights == zeros >= 0.49
    assert plain.zero_weights < 0.2
    assert len(outcome.float_history) == 6, "patience would leave weights"


def test_a_float_part_may_stand_alone(plain):
    outcome = trained(replace(QUICK, finetune=2))
    assert len(outcome.float_history) == 2
    assert outcome.figures[0].before != outcome.figures[0].in_float or outcome.best_epoch
    assert write_tflite(outcome.graph) != write_tflite(plain.graph)


def test_int4_has_weights_of_four_bits():
    outcome = trained(replace(QUICK, scheme=Scheme.INT4))
    dtypes = {v.dtype for v in weights_of(outcome.graph).values()}
    assert dtypes == {DType.INT4}
    dense = [n for n in outcome.graph.bound() if n.op == "fully_connected"]
    assert [len(n.input(1).q.scales) for n in dense] == [1], "as kernels for int4 have it"
    assert outcome.figures[0].deployed == outcome.figures[0].trained


def test_int16x8_has_activations_of_sixteen_bits():
    outcome = trained(replace(QUICK, scheme=Scheme.INT16X8))
    activations = {v.dtype for v in outcome.graph.values.values() if not v.is_constant}
    assert activations == {DType.INT16}
    assert {v.dtype for v in weights_of(outcome.graph).values()} == {DType.INT8}
    assert outcome.figures[0].deployed == outcome.figures[0].trained


def test_a_state_is_of_one_scheme(tmp_path):
    setting = replace(QUICK, state_file=tmp_path / "state.npz")
    trained(setting)
    with pytest.raises(DataError, match="scheme int8"):
        trained(replace(setting, scheme=Scheme.INT16X8))


SETTINGS = [
    (QUICK, False),
    (replace(QUICK, scheme=Scheme.INT4), True),
    (replace(QUICK, max_bytes=3072), True),
    (replace(QUICK, max_bytes=9999), False),
]


@pytest.mark.parametrize(("setting", "learned_ones"), SETTINGS)
def test_scales_are_learned_where_weights_are_int4(setting, learned_ones):
    graph, x, y = learned()
    drawn = stages._Run(graph, samples_of(graph, x, y), setting, None, print)
    model, _ = drawn._in_int8(drawn.source)
    assert {layer.log_scales is not None for layer in model.layers.values()} == {learned_ones}


def test_a_number_of_bytes_makes_layers_int4(plain):
    whole = len(write_tflite(plain.graph))
    said = []
    outcome = trained(replace(QUICK, max_bytes=whole - 200), on_stage=said.append)
    assert said[0] == "choosing layers for int4"
    narrow = [v for v in weights_of(outcome.graph).values() if v.dtype is DType.INT4]
    assert 0 < len(narrow) == len(outcome.int4_layers) < 3
    assert len(write_tflite(outcome.graph)) <= whole - 200
    assert outcome.figures[0].deployed == outcome.figures[0].trained
    loose = trained(replace(QUICK, max_bytes=10 * whole))
    assert loose.int4_layers == ()
    with pytest.raises(BudgetError, match="bytes"):
        trained(replace(QUICK, max_bytes=100))


class InterruptedHereError(Exception):
    pass


@pytest.mark.parametrize("stage", sampled(["int8"], ["float", "int8"]))
def test_what_was_interrupted_ends_with_the_same_bits(stage, tmp_path, monkeypatch):
    setting = replace(QUICK, pruning=Pruning(Pruned.WEIGHTS, 0.5), epochs=4)
    whole = trained(setting)
    setting = replace(setting, state_file=tmp_path / "state.npz")
    whole_score, calls = stages._Run._score, []

    def interrupting(self, answers):
        calls.append(None)
        if len(calls) == (3 if stage == "float" else 8):
            raise InterruptedHereError
        return whole_score(self, answers)

    monkeypatch.setattr(stages._Run, "_score", interrupting)
    with pytest.raises(InterruptedHereError):
        trained(setting)
    states = {"state.float.npz"} | ({"state.npz"} if stage == "int8" else set())
    assert {path.name for path in tmp_path.iterdir()} == states
    monkeypatch.undo()
    resumed = trained(setting)
    assert resumed.history == whole.history
    assert resumed.float_history == whole.float_history
    assert write_tflite(resumed.graph) == write_tflite(whole.graph)


OTHERS = {
    "data": lambda graph, x, y, setting: (graph, x * 1.5, y, setting),
    "seed": lambda graph, x, y, setting: (graph, x, y, replace(setting, seed=4)),
    "weights at the start": lambda graph, x, y, setting: (
        *(graph.with_nodes(graph.nodes, [_shifted(graph)]), x, y, setting),
    ),
    "pruning": lambda graph, x, y, setting: (
        *(graph, x, y, replace(setting, finetune=0, pruning=Pruning(Pruned.WEIGHTS, 0.1))),
    ),
    "teacher": lambda graph, x, y, setting: (
        *(graph, x, y, replace(setting, teaching=replace(setting.teaching, temperature=2.0))),
    ),
}


def _shifted(graph):
    name, value = next(iter(weights_of(graph).items()))
    return Value.constant(name, value.data * 1.01)


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """What a training of one epoch leaves."""
    path = tmp_path_factory.mktemp("state") / "s.npz"
    trained(replace(QUICK, epochs=1, state_file=path))
    return path


@pytest.mark.parametrize("what", OTHERS)
def test_a_state_of_another_training_is_refused(what, state, tmp_path):
    setting = replace(QUICK, epochs=1, state_file=shutil.copy(state, tmp_path / "s.npz"))
    graph, x, y, setting = OTHERS[what](*learned(), setting)
    with pytest.raises(DataError, match=f"the state is of another training, with .*{what}"):
        train_for_int8(graph, samples_of(graph, x, y), setting)


def test_an_int8_graph_that_answers_otherwise_is_a_defect():
    def spoil(graph):
        value = next(iter(weights_of(graph).values()))
        return graph.with_nodes(graph.nodes, [replace(value, data=-value.data)])

    with pytest.raises(DefectError, match="answers otherwise than in training"):
        trained(finish=spoil)


@pytest.mark.parametrize(("steps", "refused"), [(0.4, False), (1, True)])
def test_one_answer_that_is_a_step_off_is_a_defect(steps, refused):
    """Of all samples held out; less than half a step is rounding."""
    graph, x, y = learned()
    run = stages._Run(graph, samples_of(graph, x, y), QUICK, None, print)
    int8 = quantize_graph(optimize(graph), x, PRESETS[Preset.FAST])
    own = answers_at_ends(int8, {graph.inputs[0]: x[run.held]})
    other = own[0].copy()
    other[3, 1] += steps * int8.value(ends_of(int8)[0]).q.scale
    if refused:
        with pytest.raises(DefectError, match="answers otherwise than in training"):
            run._deployed(int8, (other,))
    else:
        np.testing.assert_array_equal(run._deployed(int8, (other,)), own)


def test_too_few_samples_are_refused():
    graph, x, y = learned()
    for few, share in ((slice(0, 2), 0.1), (slice(0, 1), 0.9)):
        with pytest.raises(DataError, match=r"of \d samples, \d are left to train on and \d to"):
            train_for_int8(
                graph, samples_of(graph, x[few], y[few]), replace(QUICK, validation=share)
            )
