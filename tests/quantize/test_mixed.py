"""Budgets: what is chosen fits, is no wider than it must be, and answers alike everywhere."""

import json
import re
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.graphs import Builder
from tests.ops.peers import run_tflm
from tests.quantize.hard import depthwise_net
from tinyrt import api
from tinyrt.cli.app import app
from tinyrt.cli.options import parse_accuracy, parse_allowed
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.errors import BudgetError, DataError, TinyrtError
from tinyrt.interpreter import Model
from tinyrt.ir import DType, Value
from tinyrt.metrics import Evaluation, evaluate_graph
from tinyrt.ops import verify
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.calibration.collect import calibrate
from tinyrt.quantize.mixed import choose
from tinyrt.quantize.mixed.assign import configured
from tinyrt.quantize.mixed.budget import Budget, Judge
from tinyrt.quantize.mixed.choose import quantize_within
from tinyrt.quantize.mixed.noise import NoiseModel, measure_noise
from tinyrt.quantize.mixed.steps import State
from tinyrt.quantize.schemes import lay_out

INT4 = QuantConfig(scheme=Scheme.INT4)


def fair_net():
    """A net all of whose classes occur."""
    graph = depthwise_net()
    dense = next(node for node in graph.nodes if node.op == "fully_connected")
    logits = replace(graph, outputs=dense.outputs, nodes=graph.nodes[:-1])
    mean = Model(verify(logits))(samples()).mean(axis=0)
    bias = Value.constant(dense.inputs[2], graph.value(dense.inputs[2]).data - mean)
    return replace(graph, values=graph.values | {bias.name: bias})


def samples(count=40, seed=7):
    return np.random.default_rng(seed).normal(size=(count, 8, 8, 3)).astype(np.float32)


def sqnr(graph, quantized):
    return evaluate_graph(quantized, {"x": samples(64, 8)}, against=graph).sqnr_db


def size(graph, config):
    return len(write_tflite(quantize_graph(graph, samples(), config)))


def test_bytes_are_saved_where_they_cost_the_least():
    graph = depthwise_net()
    plain, least = size(graph, QuantConfig()), size(graph, INT4)
    limit = (plain + least) // 2
    mixed, report = quantize_within(graph, samples(), QuantConfig(), Budget(max_bytes=limit))
    assert least < len(write_tflite(mixed)) == report.bytes <= limit
    assert report.plain_bytes == plain
    schemes = {layer.name: layer.scheme for layer in report.layers}
    assert set(schemes.values()) == {Scheme.INT4, Scheme.INT8}
    narrow = quantize_graph(graph, samples(), INT4)
    assert sqnr(graph, narrow) < sqnr(graph, mixed)
    for layer in report.layers:
        assert ("saves" in layer.why) == (layer.scheme is Scheme.INT4)
        weights = next(n for n in mixed.bound() if n.output.name == layer.name).input(1)
        assert weights.nbytes == layer.weight_bytes


def test_layers_are_widened_until_the_target_is_met_and_no_further():
    graph = depthwise_net()
    budget = Budget(min_sqnr_db=42)
    mixed, report = quantize_within(graph, samples(), QuantConfig(), budget)
    assert report.evaluation.sqnr_db >= 42
    assert sqnr(graph, mixed) > 40
    assert sqnr(graph, quantize_graph(graph, samples(), QuantConfig())) < 40
    widened = [layer for layer in report.layers if layer.scheme is not Scheme.INT8]
    assert 0 < len(widened) < len(graph.nodes)
    assert all("takes away" in layer.why for layer in widened)


def _dense_net(op, inputs=1):
    """Two dense layers with an op on one or two of the first kind between them."""
    rng, b = np.random.default_rng(0), Builder((1, 6))

    def dense(x):
        w = b.constant(rng.normal(size=(6, 6)).astype(np.float32))
        return b.op("fully_connected", (x, w), FullyConnectedAttrs())

    parts = [b.op("abs", (dense("x"),)) for _ in range(inputs)]
    y = b.op(op, parts)
    return b.graph(dense(y)), rng.normal(size=(64, 6)).astype(np.float32), y


def test_an_op_that_has_no_int16_form_is_widened_to_float_or_not_at_all():
    graph, x, _ = _dense_net("exp")
    plain = evaluate_graph(quantize_graph(graph, x, QuantConfig()), {"x": x}, against=graph)
    budget = Budget(min_sqnr_db=plain.sqnr_db + 0.2, allowed=(Scheme.INT8, Scheme.INT16X8))
    with pytest.raises(BudgetError, match="the most precise mix reaches"):
        quantize_within(graph, x, QuantConfig(), budget)
    budget = replace(budget, allowed=(*budget.allowed, Scheme.FLOAT))
    _, report = quantize_within(graph, x, QuantConfig(), budget)
    assert report.evaluation.sqnr_db >= budget.min_sqnr_db
    assert (Scheme.FLOAT, "exp") in {(layer.scheme, layer.op) for layer in report.layers}


def test_an_op_that_has_no_integer_form_may_be_kept_in_float():
    graph, x, y = _dense_net("pow", 2)
    config = QuantConfig(keep_float=(y,))
    plain = len(write_tflite(quantize_graph(graph, x, config)))
    mixed, report = quantize_within(graph, x, config, Budget(max_bytes=plain))
    assert report.bytes == plain
    assert [n.op for n in mixed.bound() if n.output.dtype is DType.FLOAT32][-1] == "pow"


def test_no_mix_is_measured_twice(monkeypatch):
    seen, quantized = [], choose.Prepared.quantized

    def noted(self, config, progress):
        seen.append(config.scheme_for)
        return quantized(self, config, progress)

    monkeypatch.setattr(choose.Prepared, "quantized", noted)
    _, report = quantize_within(depthwise_net(), samples(), QuantConfig(), Budget(min_sqnr_db=42))
    assert report.tried == len(seen) == len(set(seen)) > 2


def test_a_mix_alone_is_measured_with_tuned_ranges_and_without(monkeypatch):
    """Its judge says which is better: nothing is left out in the quantisation itself."""
    seen, quantized = [], choose.Prepared.quantized

    def noted(self, config, progress):
        seen.append((config.measured, config.tune_ranges))
        return quantized(self, config, progress)

    monkeypatch.setattr(choose.Prepared, "quantized", noted)
    chosen = frozenset({"tune_ranges", "equalize"})
    config = QuantConfig(tune_ranges=True, measured=chosen)
    quantize_within(depthwise_net(), samples(), config, Budget())
    assert seen == [(frozenset({"equalize"}), tune) for tune in (False, True)]


def test_ranges_are_tuned_of_the_mix_that_is_chosen():
    graph, budget = depthwise_net(), Budget(min_sqnr_db=38)
    (_, plain), (tuned, report) = (
        quantize_within(graph, samples(), QuantConfig(tune_ranges=tune), budget)
        for tune in (False, True)
    )
    assert report.tried == plain.tried + 1
    assert report.evaluation.sqnr_db > plain.evaluation.sqnr_db
    assert [layer.scheme for layer in report.layers] == [layer.scheme for layer in plain.layers]
    assert evaluate_graph(tuned, {"x": samples()}, against=graph).sqnr_db > plain.evaluation.sqnr_db


def test_an_accuracy_is_measured_with_labels():
    graph, x = fair_net(), samples(120)
    labels = Model(graph)(x).argmax(axis=1)  # the float model is always right
    judge = Judge(graph, {"x": x}, labels)
    plain = judge.measure(quantize_graph(graph, x, INT4)).top1
    assert plain < 0.7
    budget = Budget(min_accuracy=0.8)
    _, report = quantize_within(graph, x, INT4, budget, judge)
    assert report.evaluation.top1 >= 0.8
    assert report.float_top1 == 1
    assert any(layer.scheme is not Scheme.INT4 for layer in report.layers)
    with pytest.raises(DataError, match="labels"):
        quantize_within(graph, x, INT4, budget, Judge(graph, {"x": x}))


@pytest.mark.parametrize(
    ("top1", "sqnr_db", "holds"),
    [
        *((0.8, 30.0, True), (0.799, 30.0, False), (0.8, 29.99, False)),
        *((None, 30.0, False), (0.8, None, False)),
    ],
)
def test_a_budget_holds_from_its_limits_on(top1, sqnr_db, holds):
    graph = fair_net()
    judge, found = Judge(graph, {"x": samples(2)}), SimpleNamespace(top1=top1, sqnr_db=sqnr_db)
    assert judge.holds(found, Budget(min_accuracy=0.8, min_sqnr_db=30.0)) is holds
    assert judge.holds(found, Budget(min_accuracy=0.8)) is (top1 == 0.8)
    assert judge.holds(found, Budget(min_sqnr_db=30.0)) is (sqnr_db == 30.0)
    assert judge.holds(found, Budget())


def test_both_budgets_hold_together():
    graph = depthwise_net()
    limit = size(graph, QuantConfig()) + 400
    budget = Budget(max_bytes=limit, min_sqnr_db=34, allowed=(Scheme.INT8, Scheme.INT16X8))
    mixed, report = quantize_within(graph, samples(), INT4, budget)
    assert len(write_tflite(mixed)) <= limit
    assert report.evaluation.sqnr_db >= 34
    assert {layer.scheme for layer in report.layers} <= set(Scheme) - {Scheme.FLOAT}


def test_a_mix_of_everything_answers_as_tflm_does():
    graph = depthwise_net()
    names = [node.outputs[0] for node in graph.nodes]
    wide = (names[3], Scheme.INT16X8)
    config = QuantConfig(scheme_for=(wide, (names[0], Scheme.INT8)))
    least = size(graph, QuantConfig(scheme=Scheme.INT4, scheme_for=config.scheme_for))
    mixed, report = quantize_within(graph, samples(), config, Budget(max_bytes=least + 300))
    chosen = {layer.name: layer for layer in report.layers}
    assert chosen[names[3]].scheme is Scheme.INT16X8
    assert chosen[names[3]].why == "named by a pattern"
    assert chosen[names[0]].scheme is Scheme.INT8
    assert Scheme.INT4 in {layer.scheme for layer in report.layers}
    raw = Model(mixed).stored_inputs(samples(3, 9))["x"]
    expected = [run_tflm(mixed, [sample[None]])[0] for sample in raw]
    np.testing.assert_array_equal(Model(mixed)(raw), expected)


def test_what_cannot_be_held_is_said_with_what_can():
    graph = depthwise_net()
    with pytest.raises(BudgetError, match="the smallest file has"):
        quantize_within(graph, samples(), QuantConfig(), Budget(max_bytes=1000))
    narrow = Budget(min_sqnr_db=60, allowed=(Scheme.INT8,))
    with pytest.raises(BudgetError, match=r"most precise mix reaches SQNR \d"):
        quantize_within(graph, samples(), INT4, narrow)
    with pytest.raises(TinyrtError, match="cannot be mixed"):
        quantize_within(graph, samples(), QuantConfig(scheme=Scheme.WEIGHTS_INT8), Budget())
    x = samples()
    wrong = Judge(graph, {"x": x}, (Model(graph)(x).argmax(axis=1) + 1) % 5)
    right = Budget(min_accuracy=0.9, max_bytes=10**6, allowed=(Scheme.INT8,))
    said = r"mix within 1,000,000 bytes reaches \d\.\d\d% right, SQNR \d+\.\d dB$"
    with pytest.raises(BudgetError) as caught:
        quantize_within(graph, x, QuantConfig(), right, wrong)
    assert re.search(said, caught.value.problem)
    assert caught.value.expected == "at least 90.00% right"


@pytest.mark.parametrize("holds", [True, False])
def test_tuned_ranges_are_left_out_where_they_break_the_budget(holds, monkeypatch):
    steps = SimpleNamespace(config=QuantConfig(tune_ranges=True))
    search = choose._Search(None, steps, None, None)
    monkeypatch.setattr(search, "_measured", lambda state, config: (state, config.tune_ranges))
    monkeypatch.setattr(search, "_holds", lambda built: holds)
    plain = SimpleNamespace(state="mix")
    assert search.tuned(plain) == (("mix", True) if holds else plain)


class Way(list):
    """Steps of which each is a decibel better than the one before."""

    config = QuantConfig(tune_ranges=True)

    def __init__(self, count, budget):
        super().__init__(State({str(i): Scheme.FLOAT}, None) for i in range(count))
        self.budget = budget

    def reach(self, index):
        return min(index, len(self) - 1)


def searching(count, budget):
    """A search whose models are their configurations, and these as they were measured."""
    asked = []

    def measure(model):
        asked.append(model)
        ((name, _),) = model.scheme_for
        return Evaluation(10, 4, 0.1 * int(name), None, float(name), 1.0, "numba")

    prepared = SimpleNamespace(quantized=lambda config, progress: config)
    judge = SimpleNamespace(measure=measure, holds=partial(Judge.holds, None))
    return choose._Search(prepared, Way(count, budget), judge, None), asked


TRIED = {
    0: [0],
    1: [0, 1],
    2: [0, 1, 3, 2],
    4: [0, 1, 3, 7, 5, 4],
    6: [0, 1, 3, 7, 5, 6],
    7: [0, 1, 3, 7, 5, 6],
    8: [0, 1, 3, 7, 11, 9, 8],
    11: [0, 1, 3, 7, 11, 9, 10],
}


@pytest.mark.parametrize("first", range(12))
def test_the_first_step_that_holds_is_found_in_doubling_strides_and_by_bisection(first):
    search, asked = searching(12, Budget(min_sqnr_db=first))
    found, steps = search.first_that_holds(), search.steps
    plain = replace(steps.config, tune_ranges=False)
    configs = [configured(plain, state.assignment) for state in steps]
    assert found == choose._Built(
        configs[first],
        steps[first],
        Evaluation(10, 4, 0.1 * first, None, float(first), 1.0, "numba"),
    )
    assert search.tried == len(asked)
    if first in TRIED:
        assert asked == [configs[i] for i in TRIED[first]]


@pytest.mark.parametrize(
    ("budget", "problem", "expected"),
    [
        (Budget(None, None, 12.5), "mix reaches 40.00% right, SQNR 4.0 dB", "12.5 dB"),
        (
            Budget(3000, 0.5),
            "mix within 3,000 bytes reaches 40.00% right, SQNR 4.0 dB",
            "50.00% right",
        ),
    ],
)
def test_where_no_step_holds_the_last_one_is_told(budget, problem, expected):
    search, asked = searching(5, budget)
    with pytest.raises(BudgetError) as caught:
        search.first_that_holds()
    assert caught.value.problem == f"the most precise {problem}"
    assert caught.value.expected == f"at least {expected}"
    assert [model.scheme_for[0][0] for model in asked] == ["0", "1", "3", "4"]


def test_shares_are_above_nothing_and_at_most_all():
    assert Budget(min_accuracy=1.0).min_accuracy == 1
    for share in (0.0, 1.001):
        with pytest.raises(TinyrtError, match=f"an accuracy of {share:g}"):
            Budget(min_accuracy=share)


def test_tensors_that_share_a_grid_make_the_noise_of_the_widest_step():
    dtypes = {"a": DType.FLOAT32, "b": DType.INT8, "c": DType.FLOAT32}
    layout = SimpleNamespace(dtypes=dtypes, origins={}, graph=SimpleNamespace(bound=list))
    noise = NoiseModel({("a", "b"): 0.5, ("b", "a"): 0.25, ("a", "c"): 4}, {})
    assert noise.total(layout) == 0.75


def test_sources_of_noise_add_up():
    graph, x = depthwise_net(), samples(64)
    noise = measure_noise(graph, calibrate(graph, x), QuantConfig(), {"x": x})
    for config in (QuantConfig(), INT4):
        expected = sqnr(graph, quantize_graph(graph, x, config))
        found = -10 * np.log10(noise.total(lay_out(graph, config)))
        assert found == pytest.approx(expected, abs=2.5)
    wide = lay_out(graph, QuantConfig(scheme=Scheme.INT16X8))
    assert noise.total(wide) < 0.8 * noise.total(lay_out(graph, QuantConfig()))


@pytest.mark.slow
@pytest.mark.whole
def test_the_command_writes_what_it_reports(tmp_path):
    graph, x = fair_net(), samples()
    save_tflite(graph, tmp_path / "net.tflite")
    labels = Model(graph)(x).argmax(axis=1)
    np.savez(tmp_path / "calib.npz", x=x, y=labels)
    arguments = ["quantize", "net.tflite", "-c", "calib.npz", "-o", "mixed.tflite"]
    arguments = [str(tmp_path / a) if "." in a else a for a in arguments]
    options = ["--scheme", "int4", "--preset", "fast", "--min-accuracy", "95%"]
    shown = CliRunner().invoke(app, [*arguments, *options])
    assert shown.exit_code == 0, shown.output
    assert "takes away" in shown.stdout
    found = json.loads(CliRunner().invoke(app, [*arguments, *options, "--json"]).stdout)
    assert found["mixed"]["evaluation"]["top1"] >= 0.95
    assert found["bytes"] == found["mixed"]["bytes"] == (tmp_path / "mixed.tflite").stat().st_size
    checked = api.evaluate(tmp_path / "mixed.tflite", tmp_path / "calib.npz")
    assert checked.top1 == found["mixed"]["evaluation"]["top1"]
    assert read_tflite(tmp_path / "mixed.tflite").nodes
    both = ["--max-bytes", "1k"]
    refused = CliRunner().invoke(app, [*arguments, *both, "--json"])
    assert refused.exit_code == 1
    assert "smallest file" in json.loads(refused.stdout)["error"]["problem"]


def test_options_are_read_in_every_form():
    assert parse_accuracy("91%") == parse_accuracy("0.91") == (0.91, None)
    assert parse_accuracy("35dB") == (None, 35.0)
    assert parse_allowed("int4, int8") == (Scheme.INT4, Scheme.INT8)
    for wrong in ("much", "9o%"):
        with pytest.raises(TinyrtError, match="--min-accuracy"):
            parse_accuracy(wrong)
    with pytest.raises(TinyrtError, match="no scheme"):
        parse_allowed("int3")
    with pytest.raises(TinyrtError, match="accuracy of 91"):
        Budget(min_accuracy=91)
    with pytest.raises(TinyrtError, match="cannot be mixed"):
        Budget(allowed=(Scheme.WEIGHTS_INT8,))
