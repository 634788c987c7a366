"""Deployments as a choice: each reaches the file, its costs and its code."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import optuna
import pytest

from tests.search.made import QUICK, blobs
from tinyrt.api.costs import cost
from tinyrt.api.fitting import DeviceBudget
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.export import ExportOptions
from tinyrt.export.options import NO_OPTIONS
from tinyrt.ir import DType
from tinyrt.quantize import quantize_graph
from tinyrt.quantize.config import Calibrator, Preset, Scheme
from tinyrt.search import Candidate, Deployment, Problem, checks, front, learning, search, work
from tinyrt.search.candidate import candidate_of, graph_of, structure_of, untrained
from tinyrt.search.order import Order
from tinyrt.search.source import space_source
from tinyrt.search.work import deploy, outlined, train
from tinyrt.train.nn import Linear, ReLU, Sequential

INT8, INT4, INT16 = Scheme.INT8, Scheme.INT4, Scheme.INT16X8
EACH = {
    "int8": Deployment(),
    "int4": Deployment(INT4),
    "after": Deployment(preset=Preset.FAST, calibrator=Calibrator.MSE),
    "int16x8": Deployment(INT16),
    "int16x8, after": Deployment(INT16, preset=Preset.FAST),
    "mixed": Deployment(preset=Preset.FAST, scheme_for=(("fully_connected", INT4),)),
    "small": Deployment(max_bytes=3_000),
}


def flat(deployment):
    def space(trial, problem, rng):
        del trial
        wide = Linear(12, 64, rng=rng)
        layers = {"wide": wide, "relu": ReLU(), "out": Linear(64, problem.outputs, rng=rng)}
        return Candidate(Sequential(**layers), deployment=deployment)

    return space


def order(deployment):
    return Order(space_source(flat(deployment)), {}, 0, "cortex-m4", 1, 1)


def dtypes(graph):
    """Of activations, and of weights."""
    layers = [node for node in graph.bound() if node.op == "fully_connected"]
    return [(n.output.dtype, n.input(1).dtype) for n in layers]


WANTED = {
    "int8": [(DType.INT8, DType.INT8)] * 2,
    "int4": [(DType.INT8, DType.INT4)] * 2,
    "after": [(DType.INT8, DType.INT8)] * 2,
    "int16x8": [(DType.INT16, DType.INT8)] * 2,
    "int16x8, after": [(DType.INT16, DType.INT8)] * 2,
    "mixed": [(DType.INT8, DType.INT4)] * 2,
    "small": [(DType.INT8, DType.INT4), (DType.INT8, DType.INT8)],
}


@pytest.mark.parametrize("name", EACH)
def test_what_is_chosen_is_deployed_and_costs_what_was_said_before(name):
    problem, asked = Problem.of(blobs()), order(EACH[name])
    outline = outlined(asked, problem)
    assert outline.reason == ""
    state = train(asked, 1, None, problem).state
    deployed = deploy(asked, state, problem)
    graph = parse_tflite(deployed.model)
    assert dtypes(graph) == WANTED[name]
    assert 0.2 < deployed.verdict.score <= 1
    final = cost(graph)
    assert final.arena <= outline.costs.arena
    assert final.weights <= outline.costs.weights
    assert dtypes(untrained(asked.candidate(problem), problem).graph) == WANTED[name]
    if name == "small":
        assert len(deployed.model) <= 3_000


def test_a_calibrator_is_used_in_place_of_the_presets():
    config = Deployment(preset=Preset.BEST, calibrator=Calibrator.ENTROPY).config
    assert (config.calibrator, config.optimize_rounding) == (Calibrator.ENTROPY, True)
    assert Deployment(preset=Preset.BEST).config.calibrator is Calibrator.MEASURED
    assert Deployment(INT4, preset=Preset.FAST).config.scheme is INT4


def test_costs_before_training_have_the_scales_of_the_preset():
    problem = Problem.of(blobs())
    for preset, scales in ((Preset.FAST, 1), (Preset.BALANCED, 64)):
        candidate = order(Deployment(preset=preset)).candidate(problem)
        layers = untrained(candidate, problem).graph.bound()
        (wide, _) = [node.input(1) for node in layers if node.op == "fully_connected"]
        assert len(wide.q.scales) == scales


def test_what_is_quantised_is_calibrated_on_samples_of_training(monkeypatch):
    problem, asked = Problem.of(blobs(n=300)), order(Deployment(preset=Preset.FAST))
    state, given = train(asked, 1, None, problem).state, []
    monkeypatch.setattr(
        learning,
        "quantize_graph",
        lambda g, data, c: (given.append(data), quantize_graph(g, data, c))[1],
    )
    deploy(asked, state, problem)
    ((x,),) = [data.values() for data in given]
    np.testing.assert_array_equal(x, problem.x[problem.parts[0][:100]])


def test_values_are_trained_for_in_the_shape_of_the_output(monkeypatch):
    data = {"x": blobs()["x"], "y": np.random.default_rng(0).normal(size=(90, 2))}
    problem, asked, given = Problem.of(data), order(Deployment()), []
    graph = graph_of(asked.candidate(problem), problem)

    def told(source, samples, *_, **__):
        given.append(samples.labels)
        return SimpleNamespace(graph=source)

    monkeypatch.setattr(learning, "train_for_int8", told)
    learning.trained_for_integers(asked.candidate(problem), graph, asked, problem)
    np.testing.assert_array_equal(given[0][graph.outputs[0]], problem.y)


def test_the_bytes_of_a_file_are_refused_before_training():
    outline = outlined(order(Deployment(max_bytes=500)), Problem.of(blobs()))
    assert outline.costs is None
    assert outline.reason.startswith("BudgetError: ")


def test_options_of_the_code_reach_costs_emulation_and_export(monkeypatch, tmp_path):
    asked = {}

    def told(name, given):
        def run(*arguments, options=NO_OPTIONS, **more):
            asked.setdefault(name, set()).add(options)
            return given(*arguments, options=options, **more)

        return run

    monkeypatch.setattr(work, "cost", told("cost", cost))
    monkeypatch.setattr(front, "export_c", told("export", front.export_c))
    report = type("Report", (), {"samples": 2, "agrees": True, "instructions": 7})
    monkeypatch.setattr(checks, "run_emulated", told("emulate", lambda *_, **__: report))
    monkeypatch.setattr(search, "require_tools", lambda *_: None)
    one = replace(QUICK, budget=DeviceBudget(arena=4_096), trials=1, epochs=1)
    for by_rows in (False, True):
        asked.clear()
        space = flat(Deployment(by_rows=by_rows))
        search.search_networks(space, blobs(), tmp_path / str(by_rows), one, emulate=2)
        wanted = {ExportOptions(by_rows=by_rows)}
        assert asked == {"cost": wanted, "export": wanted, "emulate": wanted}


def test_candidates_that_cost_something_else_have_another_structure():
    problem, trial = Problem.of(blobs()), optuna.trial.FixedTrial({})
    made = [candidate_of(flat(each), trial, problem, 0) for each in EACH.values()]
    assert len({structure_of(graph_of(c, problem), c) for c in made}) == len(EACH)


WRONG = {
    "a candidate of scheme weights-int8": {
        "scheme": Scheme.WEIGHTS_INT8,
        "preset": Preset.FAST,
    },
    "a candidate of scheme float": {
        "preset": Preset.FAST,
        "scheme_for": (("wide", INT4), ("out", Scheme.FLOAT)),
    },
    "calibrator mse without a preset": {"calibrator": Calibrator.MSE},
    "scheme_for (('a', <Scheme.INT4: 'int4'>),) without a preset": {"scheme_for": (("a", INT4),)},
    "max_bytes 99 with a preset": {"max_bytes": 99, "preset": Preset.FAST},
    "max_bytes 99 of scheme int4": {"max_bytes": 99, "scheme": INT4},
}


@pytest.mark.parametrize("said", WRONG)
def test_choices_that_exclude_each_other(said):
    with pytest.raises((DataError, UnsupportedError)) as error:
        Deployment(**WRONG[said])
    assert error.value.problem == said
