"""Budgets on a core: what is counted, what is refused, and how a model is shrunk until it fits."""

from dataclasses import replace

import pytest

from tests.train.pipeline.made import learned
from tests.train.pipeline.test_run import in_fours
from tinyrt.api import costs, fitting, inspect_model, run_emulated, train_int8_model
from tinyrt.api.costs import ModelCost
from tinyrt.api.fitting import Costs, DeviceBudget
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import BudgetError, DataError
from tinyrt.memory import schedule
from tinyrt.quantize import quantize_graph
from tinyrt.train.channels import macs_of
from tinyrt.train.pipeline.setting import QatSetting

QUICK = QatSetting(epochs=1, validation=0.25)


def in_int8():
    graph, x, _ = learned()
    return schedule(quantize_graph(optimize(graph), x))


@pytest.mark.parametrize("limits", [{}, {"arena": 0}, {"flash": 9, "instructions": -1}])
def test_limits_are_one_or_more_and_at_least_one(limits):
    with pytest.raises(DataError, match=r"limits of .* on cortex-m0"):
        DeviceBudget("cortex-m0", **limits)


def test_the_arena_alone_is_known_without_building(monkeypatch, tmp_path):
    monkeypatch.setattr(costs, "run_emulated", None)
    path = save_tflite(in_int8(), tmp_path / "m.tflite")
    arena = inspect_model(path).arena_bytes
    assert DeviceBudget(arena=1).costs(in_int8()) == Costs(arena)
    assert DeviceBudget(arena=arena).fits(in_int8())
    assert not DeviceBudget(arena=arena - 1).fits(in_int8())


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.whole
def test_the_rest_is_what_the_emulator_says(tmp_path):
    path = save_tflite(in_int8(), tmp_path / "m.tflite")
    report = run_emulated(path, core="cortex-m0", samples=1)
    costs = DeviceBudget("cortex-m0", flash=1).costs(in_int8())
    flash = report.flash.code + report.flash.weights
    assert costs == Costs(report.ram.arena, flash, report.instructions)


def test_cycles_are_told_where_they_are_limited(monkeypatch):
    asked = []

    def cost(graph, core, *, basis="formula"):
        asked.append((core, basis))
        return ModelCost(core, basis, 1, 2, 3, 4, None if basis == "counted" else 6)

    monkeypatch.setattr(fitting, "cost", cost)
    assert DeviceBudget("cortex-m0", cycles=5).costs("graph") == Costs(1, 5, 4, 6)
    assert DeviceBudget("cortex-m0", instructions=5).costs("graph") == Costs(1, 5, 4)
    assert asked == [("cortex-m0", "timed"), ("cortex-m0", "counted")]
    assert DeviceBudget(cycles=5).excess(Costs(1, 5, 4, 6)) == {"cycles": 6}
    assert DeviceBudget(cycles=6).excess(Costs(1, 5, 4, 6)) == {}


def test_what_is_beyond_is_named():
    budget = DeviceBudget(arena=10, flash=20, instructions=30)
    assert budget.excess(Costs(10, 20, 30)) == {}
    assert budget.excess(Costs(11, 20, 31)) == {"arena": 11, "instructions": 31}
    assert DeviceBudget(flash=20).excess(Costs(99, 20, 99)) == {}
    budget.require(Costs(10, 20, 30))
    with pytest.raises(BudgetError, match="costs 11 of arena, 1,000 of flash") as error:
        budget.require(Costs(11, 1000, 30))
    assert error.value.expected == "at most 10, at most 20"


def test_a_cost_that_is_not_known_is_no_cost_within_a_limit():
    """On this machine nobody counts instructions."""
    budget = DeviceBudget("host", arena=10, instructions=30)
    assert budget.excess(Costs(10)) == {"instructions": None}
    with pytest.raises(BudgetError, match="costs an unknown number of instructions") as error:
        budget.require(Costs(10))
    assert error.value.expected == "at most 30"


def by_macs(monkeypatch):
    """Costs that need no emulator: instructions are multiply-accumulates. Gives what was asked."""
    asked = []

    def costs(self, graph):
        asked.append(macs_of(graph))
        return Costs(1, 2, asked[-1])

    monkeypatch.setattr(DeviceBudget, "costs", costs)
    return asked


@pytest.fixture
def blobs(tmp_path):
    graph, x, y = learned()
    return save_tflite(optimize(graph), tmp_path / "net.tflite"), {"x": x, "y": y}, tmp_path / "o"


def test_a_model_is_shrunk_no_further_than_it_takes(blobs, monkeypatch):
    asked, said = by_macs(monkeypatch), []
    model, data, out = blobs
    whole = macs_of(learned()[0])
    budget = DeviceBudget(instructions=int(0.7 * whole))
    trained = train_int8_model(model, data, out, QUICK, budget=budget, on_stage=said.append)
    assert said == [
        "pruning channels until the model fits",
        "training in float, at most 1 epochs",
        "training for int8, at most 1 epochs",
    ]
    final = macs_of(read_tflite(out))
    assert trained.costs == Costs(1, 2, final)
    assert final <= 0.7 * whole
    assert in_fours(read_tflite(out))
    fitting_ones = [macs for macs in asked if macs <= 0.7 * whole]
    assert final == max(fitting_ones)
    assert len(asked) == len(set(asked)) + 1, "each candidate once, and the result"


def test_a_model_that_fits_is_not_pruned(blobs, monkeypatch):
    by_macs(monkeypatch)
    model, data, out = blobs
    whole = macs_of(learned()[0])
    trained = train_int8_model(model, data, out, QUICK, budget=DeviceBudget(instructions=whole))
    assert trained.costs.instructions == whole
    assert trained.outcome.float_history == ()
    again = train_int8_model(model, data, out, QUICK)
    assert again.costs is None


def test_what_no_number_of_channels_reaches_is_refused(blobs, monkeypatch):
    by_macs(monkeypatch)
    model, data, out = blobs
    with pytest.raises(BudgetError, match="no number of channels makes the model fit"):
        train_int8_model(model, data, out, QUICK, budget=DeviceBudget(instructions=10))
    narrow = replace(QUICK, max_bytes=10)
    with pytest.raises(BudgetError, match="no number of channels makes the model fit"):
        train_int8_model(model, data, out, narrow, budget=DeviceBudget(instructions=10**9))
    assert not out.exists()


def test_a_trained_model_that_costs_more_is_not_written(blobs, monkeypatch):
    asked = by_macs(monkeypatch)
    monkeypatch.setattr(DeviceBudget, "fits", lambda self, graph: True)
    model, data, out = blobs
    with pytest.raises(BudgetError, match=r"on cortex-m4, the trained model costs .* instructions"):
        train_int8_model(model, data, out, QUICK, budget=DeviceBudget(instructions=10))
    assert len(asked) == 1
    assert not out.exists()
