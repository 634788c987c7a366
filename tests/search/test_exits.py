"""Candidates with an early exit: trained for both heads, deployed and counted as a cascade."""

from dataclasses import replace

import numpy as np
import pytest

from tests.search import raw
from tests.search.made import blobs
from tinyrt.api.cascades import Cascade
from tinyrt.api.costs import Basis
from tinyrt.api.fitting import DeviceBudget
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.dsp.cascade import ALWAYS, NEVER, margins
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.files import scratch_folder
from tinyrt.quantize import Scheme
from tinyrt.quantize.config import Calibrator, Preset
from tinyrt.search import SPACES, Candidate, Deployment, Problem, SearchSetting, search_networks
from tinyrt.search.candidate import candidate_of, graph_of, untrained
from tinyrt.search.exits import (
    ENTRY,
    exit_cost,
    parts_of,
    probabilities_of,
    threshold_of,
    with_threshold,
)
from tinyrt.search.learning import objective_for
from tinyrt.search.order import Order
from tinyrt.search.sharing import places_of
from tinyrt.search.source import space_source
from tinyrt.search.store import End
from tinyrt.search.work import deploy, deploy_on, hold_limit, train
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.early_exit import EarlyExit, joint_loss
from tinyrt.train.losses import cross_entropy
from tinyrt.train.nn import Linear, ReLU, Sequential

optuna = pytest.importorskip("optuna")


def leaving(trial, problem, rng):
    """A front of one layer, an exit behind it, and a rest of two."""
    trial.suggest_int("nothing", 0, 1 << 30)
    network = EarlyExit(
        front=Sequential(a=Linear(12, 8, rng=rng), relu=ReLU()),
        leave=Sequential(out=Linear(8, problem.outputs, rng=rng)),
        rest=Sequential(
            b=Linear(8, 32, rng=rng), relu=ReLU(), out=Linear(32, problem.outputs, rng=rng)
        ),
    )
    return Candidate(network, batch=16)


def order(epochs=9):
    params = {"nothing": 1}
    return Order(space_source(leaving), params, 3, "cortex-m4", epochs, 1)


@pytest.fixture(scope="module")
def problem():
    return Problem.of(blobs(n=150))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exits")
    limits = DeviceBudget("cortex-m4", instructions=20_000)
    setting = SearchSetting(limits, trials=1, epochs=9, int8_epochs=1)
    given = leaving, blobs(n=150), folder, setting
    return search_networks(*given, test=blobs(n=60), emulate=4)


def test_costs_are_those_of_all_samples_on_average(found, problem):
    (point,) = found.front
    folder = point.model.parent
    threshold = threshold_of(point.model)
    assert ALWAYS <= threshold <= NEVER
    cascade = Cascade(folder / "first.tflite", folder / "second.tflite", threshold=threshold)
    held = problem.parts[1]
    run = cascade.emulate(problem.x[held])
    assert {*run.stages} == {0, 1}, "samples go both ways, so that their shares count"
    assert point.costs["instructions"] == pytest.approx(run.mean_instructions, abs=6)
    assert point.costs["arena"] == run.emulation.ram.arena
    flash = run.emulation.flash
    assert point.costs["flash"] == flash.weights + flash.code
    assert point.score == cascade.evaluate({"x": problem.x[held]}, problem.y[held]).top1
    data = blobs(n=60)
    assert point.test == cascade.evaluate({"x": data["x"]}, data["y"]).top1
    assert (point.emulated.samples, point.emulated.agrees) == (4, True)
    assert list(point.project.rglob("cascade.h"))


def test_the_threshold_is_that_of_the_samples_to_choose_by(problem):
    state = train(order(), 9, None, problem).state
    deployed = deploy(order(), state, problem)
    assert deployed.held == len(problem.parts[1])
    assert deployed.verdict.score > 0.5


@pytest.fixture(scope="module")
def made(problem):
    """A candidate before training."""
    return untrained(order().candidate(problem), problem)


@pytest.fixture(scope="module")
def counts(made, problem):
    """What it costs where a sample leaves as it will, always, and never."""
    given = "cortex-m4", Basis.COUNTED, problem.x[:8]
    return [exit_cost(made.graph, threshold, *given) for threshold in (None, ALWAYS, NEVER)]


def test_before_training_all_samples_leave(made, counts, problem):
    counted, _, never = counts
    known = exit_cost(made.graph, None, "cortex-m4", None, problem.x[:8])
    assert (known.arena, known.weights) == (counted.arena, counted.weights)
    assert known.basis is Basis.FORMULA
    assert known.instructions == pytest.approx(counted.instructions, rel=0.2)
    assert counted.instructions < never.instructions
    linked = exit_cost(made.graph, None, "cortex-m4", Basis.LINKED, problem.x[:8])
    assert (linked.weights, linked.code) == (counted.weights, counted.code)
    with pytest.raises(UnsupportedError) as error:
        exit_cost(made.graph, None, "cortex-m4", Basis.TIMED, problem.x[:8])
    assert error.value.problem == "cycles of a network with an early exit"
    assert error.value.expected == "a limit of instructions"
    assert error.value.hint == "--max-instructions in place of --max-cycles"


def test_before_training_flash_is_that_of_the_longest_comparison(counts):
    least, always, never = counts
    assert always.flash < never.flash == least.flash
    assert always.instructions <= least.instructions <= always.instructions + 8


@pytest.fixture(scope="module")
def trained(problem, tmp_path_factory):
    """A trained model with an early exit, and its parts."""
    state = train(order(), 9, None, problem).state
    deployed, folder = deploy(order(), state, problem), tmp_path_factory.mktemp("trained")
    assert deployed.leaves
    (folder / "model.tflite").write_bytes(deployed.model)
    return deployed, parts_of(folder / "model.tflite", folder)


def test_as_many_samples_leave_as_the_limit_asks_for(trained, problem):
    """Few enough that the next threshold, by which fewer leave, would be beyond the limit."""
    deployed, cascade = trained
    x, y = (each[problem.parts[1]] for each in (problem.x, problem.y))
    ways = []
    for cascade.threshold in (ALWAYS, NEVER):
        ways.append(cascade.emulate(x[:6]).mean_instructions)

    def mean(share):
        return share * ways[0] + (1 - share) * ways[1]

    before = cascade_of(deployed, cascade).evaluate({"x": x}, y).exits
    held_to, _ = hold_limit(deployed, order(), Basis.COUNTED, round(mean(before)) + 8, problem)
    assert held_to == deployed, "it was within the limit"
    limit = round(mean((1 + before) / 2))
    held_to, known = hold_limit(deployed, order(), Basis.COUNTED, limit, problem)
    after = cascade_of(held_to, cascade).evaluate({"x": x}, y)
    assert known.instructions == pytest.approx(mean(after.exits), abs=8)
    assert known.instructions <= limit
    assert held_to.verdict.score == after.top1
    lead = margins_of(cascade, x)
    fewer = max(e for t in range(NEVER + 1) if (e := (lead >= t).mean()) < after.exits)
    assert mean(fewer) > limit - 8


def test_all_leave_where_no_other_way_is_within_the_limit(trained, problem):
    deployed, _ = trained
    held_to, known = hold_limit(deployed, order(), Basis.COUNTED, 1, problem)
    assert known.instructions > 1, "what is beyond even so is told"
    assert held_to.model != deployed.model


def cascade_of(deployed, cascade):
    """The cascade with the threshold of what was deployed."""
    with scratch_folder() as folder:
        path = folder / "model.tflite"
        path.write_bytes(deployed.model)
        return Cascade(cascade.first, cascade.second, threshold=threshold_of(path))


def margins_of(cascade, x):
    """How far the exit's best class is ahead."""
    cascade.threshold = ALWAYS
    return margins(cascade.run(x).scores)


def wide_or_not(trial, problem, rng):
    """Fronts of which one is too wide, and rests beyond the limit for each sample."""
    front = trial.suggest_categorical("front", [8, 160])
    rest = trial.suggest_int("rest", 240, 248)
    network = EarlyExit(
        front=Sequential(a=Linear(12, front, rng=rng), relu=ReLU()),
        leave=Sequential(out=Linear(front, problem.outputs, rng=rng)),
        rest=Sequential(
            b=Linear(front, rest, rng=rng), relu=ReLU(), out=Linear(rest, problem.outputs, rng=rng)
        ),
    )
    return Candidate(network, batch=16)


@pytest.mark.whole
def test_who_is_trained_fits_and_who_cannot_fit_is_not_trained(tmp_path):
    """Each rest takes more than the limit: only thresholds that the limit chooses hold it."""
    limits = DeviceBudget("cortex-m4", instructions=2_500)
    setting = SearchSetting(limits, trials=4, epochs=2, int8_epochs=1)
    found = search_networks(wide_or_not, blobs(n=150), tmp_path, setting)
    ends, records = found.ends, found.records.values()
    assert min(ends["trained"], ends["refused"]) >= 1
    assert (ends["misfit"], ends["failed"], found.refused_early) == (0, 0, 1)
    assert all(r.costs["instructions"] <= 2_500 for r in records if r.end is End.TRAINED)
    of = Problem.of(blobs(n=150))
    for point in found.front[:1]:
        folder, threshold = point.model.parent, threshold_of(point.model)
        cascade = Cascade(folder / "first.tflite", folder / "second.tflite", threshold=threshold)
        run = cascade.emulate(of.x[of.parts[1]])
        assert run.mean_instructions <= 2_506
        cascade.threshold = NEVER
        assert cascade.emulate(of.x[:4]).mean_instructions > 2_500


def test_a_file_says_its_threshold(problem, tmp_path):
    graph = untrained(order().candidate(problem), problem).graph
    path = tmp_path / "model.tflite"
    path.write_bytes(with_threshold(graph, problem.x, problem.y))
    cascade = parts_of(path, tmp_path)
    assert cascade.threshold == threshold_of(path)
    assert parts_of(path, tmp_path, 7).threshold == 7
    assert threshold_of(tmp_path / "first.tflite") is None


def test_probabilities_are_by_the_head_that_answers(problem, tmp_path):
    graph = untrained(order().candidate(problem), problem).graph
    path = save_tflite(graph, tmp_path / "model.tflite")
    middle = int(np.median(margins(parts_of(path, tmp_path, ALWAYS).run(problem.x).scores)))
    path.write_bytes(write_tflite(graph, {ENTRY: str(middle).encode()}))
    found = probabilities_of(path, problem.x)
    cascade = parts_of(path, tmp_path)
    answers = cascade.run(problem.x)
    assert set(answers.stages) == {0, 1}
    for stage, part in enumerate((cascade.first, cascade.second)):
        read = read_tflite(part)
        q = read.value(read.answers[0 if stage else cascade.joint.scores]).q
        rows = answers.stages == stage
        real = (answers.scores[rows].astype(float) - q.zero_point) * q.scale
        powers = np.exp(real)
        expected = powers / powers.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found[rows], expected, rtol=1e-4)


def test_both_heads_learn(problem):
    candidate = order().candidate(problem)
    x, y = problem.x[:16], problem.y[:16]
    found = objective_for(candidate, problem)(candidate.network, x, y)
    assert found.data == pytest.approx(joint_loss(candidate.network, x, y).data)
    halved = replace(candidate, loss=lambda answers, labels: cross_entropy(answers, labels) * 0.5)
    assert objective_for(halved, problem)(candidate.network, x, y).data == found.data / 2


def test_folds_and_shared_weights_have_no_early_exit(problem):
    with pytest.raises(DataError) as error:
        deploy_on(order(1), 1, problem)
    assert error.value.problem == "an early exit's threshold is chosen by samples that are held out"
    assert error.value.expected == "one fold, by which it is chosen and judged"
    assert error.value.hint == "leave out --folds"
    with pytest.raises(UnsupportedError) as error:
        places_of(order().candidate(problem), (12,))
    assert error.value.problem == "weights of a network with an early exit are not shared"
    assert error.value.expected == "networks of one head"
    assert error.value.hint == "leave out --share"


NO_EXITS = {
    "int4": ({"deployment": Deployment(Scheme.INT4)}, blobs()),
    "by rows": ({"deployment": Deployment(by_rows=True)}, blobs()),
    "a front end": ({"front_end": raw.FRONT}, raw.windows()),
    "values": ({}, {"x": blobs()["x"]}),
}


def test_an_exit_may_be_quantised_by_any_preset(problem):
    deployment = Deployment(preset=Preset.FAST, calibrator=Calibrator.MSE)
    graph = graph_of(replace(order().candidate(problem), deployment=deployment), problem)
    assert len(graph.outputs) == 2


@pytest.mark.parametrize("name", NO_EXITS)
def test_an_exit_has_scores_of_int8(name):
    change, data = NO_EXITS[name]
    problem = Problem.of(data)
    with pytest.raises(UnsupportedError) as error:
        graph_of(replace(order().candidate(problem), **change), problem)
    assert error.value.problem == "an early exit of this candidate"
    assert error.value.expected.startswith("samples with classes, no front end, and int8 scores")


IMAGES = Problem(np.random.default_rng(0).random((30, 8, 8, 1), np.float32), np.arange(30) % 3)
CHOICES = {"stem": 8, "stem_stride": 1, "stem_kernel": 3, "blocks": 3, "head": "flat"}
for i, pool in ((1, 1), (2, 2), (3, 1)):
    CHOICES |= {f"block{i}": 8 + 4 * i, f"block{i}_kernel": 3, f"block{i}_pool": pool}
CHOICES |= {"learning_rate": 0.01}


PLACES = [(0, "stem_relu", 8), (1, "pointwise1_relu", 12), (2, "pool2", 16)]


@pytest.mark.parametrize(("place", "last", "channels"), PLACES)
def test_an_exit_stands_between_the_layers_of_the_network(place, last, channels):
    def made(name):
        trial = optuna.trial.FixedTrial(CHOICES | {"exit": place})
        return candidate_of(SPACES[name], trial, IMAGES, 5)

    whole, leaving = made("dscnn").network, made("exits").network
    x = Tensor(IMAGES.x[:4])
    with whole.evaluating(), leaving.evaluating():
        np.testing.assert_array_equal(leaving(x).data, whole(x).data)
        early, _ = leaving.both(x)
    assert early.shape == (4, 3)
    assert list(leaving.front.layers)[-1] == last
    assert leaving.leave.layers["out"].weight.shape == (3, channels)
    assert made("exits").learning_rate == 0.01
