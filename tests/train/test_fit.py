"""The training loop: resuming to the bit, stopping early, keeping the best, history."""

import csv
from xml.etree import ElementTree

import numpy as np
import pytest

from tinyrt.errors import DataError, TinyrtError
from tinyrt.train import SGD, Adam, Tensor, cross_entropy
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.history import HEIGHT, MARGIN, WIDTH, Epoch, plot_history, save_history
from tinyrt.train.nn import BatchNorm, Dropout, Linear, Parameter, ReLU, Sequential
from tinyrt.train.optim import Group
from tinyrt.train.schedules import cosine_lr


def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    x = (rng.normal(size=(90, 4)) + y[:, None]).astype(np.float32)
    return x, y


def run(config, state_file=None, **options):
    rng = np.random.default_rng(1)
    net = Sequential(
        *(Linear(4, 8, rng=rng), BatchNorm(8), ReLU(), Dropout(0.2, rng=rng)),
        *(Linear(8, 3, rng=rng), Dropout(0.1, rng=rng)),
    )
    options.setdefault("validate", lambda m: -error(m))
    history = fit(
        net,
        Adam(net.parameters(), 1e-2),
        *problem(),
        config,
        rng=np.random.default_rng(2),
        lr=lambda step, steps: cosine_lr(step, steps, 1e-2),
        augment=lambda x, rng: x + rng.normal(0, 0.1, x.shape).astype(np.float32),
        state_file=state_file,
        **options,
    )
    return net, history


def error(module):
    x, y = problem()
    with module.evaluating():
        return cross_entropy(module(Tensor(x)), y).item()


def with_norm():
    rng = np.random.default_rng(1)
    return Sequential(Linear(4, 8, rng=rng), BatchNorm(8), ReLU(), Linear(8, 3, rng=rng))


class InterruptionError(Exception):
    pass


@pytest.mark.parametrize(
    "config",
    [
        FitConfig(epochs=5, batch=16, keep_best=True),
        FitConfig(epochs=5, batch=16, workers=2, accumulate=2, clip_norm=0.5, patience=9),
    ],
    ids=["best", "workers, accumulated, clipped"],
)
def test_an_interrupted_training_ends_with_the_same_bits(config, tmp_path):
    whole, history = run(config)
    assert history[-1].loss < history[0].loss

    def interrupt(epoch):
        if epoch.number == 2:
            raise InterruptionError

    with pytest.raises(InterruptionError):
        run(config, tmp_path / "state.npz", on_epoch=interrupt)
    resumed, again = run(config, tmp_path / "state.npz")
    assert again == history
    for name, array in whole.state_dict().items():
        np.testing.assert_array_equal(resumed.state_dict()[name], array)
    finished, once_more = run(config, tmp_path / "state.npz")
    assert once_more == history
    np.testing.assert_array_equal(finished.state_dict()["0.weight"], whole.state_dict()["0.weight"])


def test_training_stops_when_the_score_stays_and_keeps_the_best():
    scores = iter([0.1, 0.5, 0.4, 0.5, 0.3, 0.9])
    states = []

    def validate(module):
        states.append(module.state_dict())
        return next(scores)

    net, history = run(FitConfig(epochs=6, patience=2, keep_best=True), validate=validate)
    assert [e.score for e in history] == [0.1, 0.5, 0.4, 0.5, 0.3]
    np.testing.assert_array_equal(net.state_dict()["0.weight"], states[1]["0.weight"])


@pytest.mark.parametrize(("batch", "accumulate"), [(30, 3), (30, 2), (20, 3)])
def test_accumulated_batches_make_one_step(batch, accumulate):
    """Also the last of a pass, which may have fewer batches, and a smaller one."""
    x, y = problem()
    found = []
    for config in (FitConfig(3, batch * accumulate), FitConfig(3, batch, accumulate)):
        net = Sequential(Linear(4, 3, rng=np.random.default_rng(1)))
        optimizer = Adam(net.parameters())
        history = fit(net, optimizer, x, y, config, rng=np.random.default_rng(0))
        assert optimizer.steps == 3 * -(-90 // (batch * accumulate))
        found.append((net.state_dict()["0.weight"], [e.loss for e in history]))
    for one, several in zip(*found, strict=True):
        np.testing.assert_allclose(several, one, rtol=1e-5)


def test_gradients_are_clipped():
    _, history = run(FitConfig(epochs=1, clip_norm=1e-9))
    assert history[0].lr < 1e-2


def test_history_is_written_as_csv(tmp_path):
    _, history = run(FitConfig(epochs=2))
    save_history(history, tmp_path / "history.csv")
    with (tmp_path / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(r["loss"]) for r in rows] == [e.loss for e in history]


def test_history_is_drawn(tmp_path):
    _, history = run(FitConfig(epochs=3))
    root = ElementTree.parse(plot_history(history, tmp_path / "history.svg")).getroot()
    curves = [e for e in root if e.tag.endswith("polyline")]
    drawn = [[tuple(map(float, at.split(","))) for at in c.get("points").split()] for c in curves]
    for points in drawn:
        across, down = zip(*points, strict=True)
        assert across == (MARGIN, WIDTH / 2, WIDTH - MARGIN)
        assert (min(down), max(down)) == (MARGIN, HEIGHT - MARGIN)
    _, silent = run(FitConfig(epochs=2), validate=None)
    assert plot_history(silent, tmp_path / "loss.svg").read_text().count("polyline") == 1
    scores = float("nan"), 0.5, float("nan"), 0.75
    now_and_then = [Epoch(i, 9, 1.0, 0.1, score) for i, score in enumerate(scores, start=1)]
    text = plot_history(now_and_then, tmp_path / "some.svg").read_text()
    assert ">4 epochs<" in text, "training may end early"
    step = (WIDTH - 2 * MARGIN) / 3
    ends = f"{MARGIN + step:.1f},{HEIGHT - MARGIN:.1f} {WIDTH - MARGIN:.1f},{MARGIN:.1f}"
    assert f'points="{ends}"' in text


def test_worker_threads_change_no_bit():
    plain, threaded = (run(FitConfig(epochs=2, batch=16, workers=n)) for n in (0, 3))
    assert plain[1] == threaded[1]
    np.testing.assert_array_equal(
        plain[0].state_dict()["0.weight"], threaded[0].state_dict()["0.weight"]
    )


def test_the_objective_sees_samples_and_on_step_every_step():
    seen = []

    def objective(net, x, y):
        seen.append(x.shape)
        return cross_entropy(net(Tensor(x)), y) * 2

    steps = []
    run(
        FitConfig(epochs=2, batch=45),
        objective=objective,
        on_step=lambda step, total: steps.append((step, total)),
    )
    assert seen == [(45, 4)] * 4
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_bar_shows_epochs_and_is_not_there_without_a_terminal(monkeypatch, capsys):
    run(FitConfig(epochs=2))
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    run(FitConfig(epochs=2, progress=True))
    shown = capsys.readouterr().err
    assert "epoch" in shown
    assert "2/2" in shown
    assert "loss" in shown
    assert "score" in shown
    run(FitConfig(epochs=1, progress=True), validate=None)
    shown = capsys.readouterr().err
    assert "loss" in shown
    assert "score" not in shown


def test_what_cannot_be_is_refused(tmp_path):
    for options in ({"patience": 1}, {"keep_best": True}):
        with pytest.raises(DataError, match="score"):
            run(FitConfig(epochs=1, **options), validate=None)
    np.savez(tmp_path / "data.npz", x=np.zeros(3))
    with pytest.raises(DataError, match="not the state of a training"):
        run(FitConfig(epochs=1), tmp_path / "data.npz")
    np.savez(tmp_path / "data.npz", facts=np.zeros(0, np.uint8))
    with pytest.raises(DataError, match="the training state is cut short or damaged"):
        run(FitConfig(epochs=1), tmp_path / "data.npz")


def test_a_state_of_another_training_is_refused(tmp_path):
    config, path, rng = FitConfig(epochs=2), tmp_path / "state.npz", np.random.default_rng(0)
    net = Sequential(Linear(4, 3, rng=rng))
    fit(net, Adam(net.parameters()), *problem(), config, rng=rng, state_file=path)
    noisy = Sequential(net.layers["0"], Dropout(0.1, rng=rng))
    for module, optimizer, found in (
        (net, SGD(net.parameters(), 0.1), r"with optimiser Adam,[^$]*expected: optimiser SGD, mom"),
        (net, Adam(net.parameters(), 1e-2), r"with lr 0\.001\n[^$]*expected: lr 0\.01\n"),
        (net, Adam(net.parameters(), betas=(0.8, 0.999)), r"with betas \[0\.9, 0\.999\]\n"),
        (net, Adam([Group(net.parameters(), 0.5)]), r"with groups \[\[1\.0, None\]"),
        (noisy, Adam(net.parameters()), r"with layers that draw at random 0\n"),
        (Sequential(Linear(4, 2, rng=rng)), Adam(net.parameters()), r"\(2, 4\)"),
    ):
        with pytest.raises(TinyrtError, match=found):
            fit(module, optimizer, *problem(), config, rng=rng, state_file=path)


def test_a_score_that_is_no_number_is_never_the_best():
    scores = iter([float("nan"), 0.5, float("nan"), 0.4])
    states = []

    def validate(module):
        states.append(module.state_dict())
        return next(scores)

    net, _ = run(FitConfig(epochs=4, keep_best=True), validate=validate)
    np.testing.assert_array_equal(net.state_dict()["0.weight"], states[1]["0.weight"])


@pytest.mark.parametrize(
    ("config", "rows", "options", "found"),
    [
        (FitConfig(epochs=2, batch=45), 90, {}, r"with batch 30\n[^$]*expected: batch 45\n"),
        (FitConfig(2, 30, accumulate=2), 90, {}, r"with accumulate 1\n"),
        (FitConfig(2, 30, clip_norm=1.0), 90, {}, r"with clip_norm None\n"),
        (FitConfig(2, 30), 60, {}, r"with samples \[90, 4\], labels \[90\]\n"),
        (
            FitConfig(3, 30),
            90,
            {},
            r"with lr in epoch 2 0\.0003[^$]*: lr in epoch 2 0\.00206",
        ),
        (FitConfig(2, 30), 90, {"lr": None}, r"with lr by a schedule\n[^$]*expected: lr 0\.001\n"),
        (
            FitConfig(2, 30),
            90,
            {"lr": lambda step, steps: 1e-3},
            r"expected: lr in epoch 2 0\.001\n",
        ),
    ],
)
def test_a_state_of_other_batches_or_another_schedule_is_refused(
    config, rows, options, found, tmp_path
):
    def go(config, rows=90, **options):
        net = Sequential(Linear(4, 3, rng=np.random.default_rng(1)))
        options = {"lr": lambda step, steps: cosine_lr(step, steps, 5e-3)} | options
        x, y = (array[:rows] for array in problem())
        rng = np.random.default_rng(2)
        state_file = tmp_path / "state.npz"
        return fit(
            net, Adam(net.parameters()), x, y, config, rng=rng, state_file=state_file, **options
        )

    go(FitConfig(2, 30))
    with pytest.raises(DataError, match=found):
        go(config, rows, **options)


def test_more_epochs_may_follow_at_a_constant_rate(tmp_path):
    found = []
    for path, parts in ((tmp_path / "whole.npz", [4]), (tmp_path / "parts.npz", [2, 4])):
        for epochs in parts:
            net = Sequential(Linear(4, 3, rng=np.random.default_rng(1)))
            rng = np.random.default_rng(2)
            optimizer = Adam(net.parameters())
            fit(net, optimizer, *problem(), FitConfig(epochs), rng=rng, state_file=path)
        found.append(net.state_dict()["0.weight"])
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_ends_training(number, tmp_path):
    net, (x, y) = with_norm(), problem()
    x[89] = number

    def ordered(net, samples, labels):
        return cross_entropy(net(Tensor(samples)), labels)

    state = tmp_path / "state.npz"
    with pytest.raises(DataError, match=r"the loss of epoch 1, batch [1-3] is not finite any more"):
        fit(
            net,
            Adam(net.parameters()),
            x,
            y,
            FitConfig(2, 30),
            rng=np.random.default_rng(0),
            objective=ordered,
            state_file=state,
        )
    assert not state.exists()


def test_parameters_that_the_last_step_made_infinite_are_named():
    net = Sequential(Linear(4, 3, rng=np.random.default_rng(0)))
    x, y = problem()

    def steep(net, samples, labels):
        return cross_entropy(net(Tensor(samples)), labels) * np.float32(1e30)

    rng, text = np.random.default_rng(0), r"parameter '0\.weight' after epoch 1 is not finite"
    with np.errstate(over="ignore"), pytest.raises(DataError, match=text):
        fit(net, SGD(net.parameters(), 1e30), x, y, FitConfig(1, 90), rng=rng, objective=steep)


def test_the_optimiser_of_another_module_is_refused():
    net, other = (Sequential(Linear(4, 3, rng=np.random.default_rng(n))) for n in (0, 1))
    before = net.state_dict()["0.weight"]
    both = [*net.parameters(), *other.parameters()]
    for parameters, found in ((other.parameters(), "2 of the optimiser's 2"), (both, "2 of .* 4 ")):
        with pytest.raises(DataError, match=f"{found}[^$]*the first has shape \\(3, 4\\)"):
            fit(net, Adam(parameters), *problem(), FitConfig(1), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(net.state_dict()["0.weight"], before)


def test_the_optimiser_of_another_module_is_refused_after_resuming_too(tmp_path):
    net, other = (Sequential(Linear(4, 3, rng=np.random.default_rng(n))) for n in (0, 1))

    def go(optimizer, epochs):
        rng, path = np.random.default_rng(0), tmp_path / "state.npz"
        fit(net, optimizer, *problem(), FitConfig(epochs), rng=rng, state_file=path)

    go(Adam(net.parameters()), 1)
    with pytest.raises(DataError, match="2 of the optimiser's 2"):
        go(Adam(other.parameters()), 2)


def test_a_loss_may_have_parameters_of_its_own_and_layers_may_rest():
    net, temperature = with_norm(), Parameter(np.ones(1, np.float32))

    def objective(net, samples, labels):
        hidden = net.layers["0"](Tensor(samples))
        return cross_entropy(net.layers["3"](hidden) * temperature, labels)

    parameters = [*net.parameters(), temperature]
    rng = np.random.default_rng(0)
    fit(net, Adam(parameters), *problem(), FitConfig(1), rng=rng, objective=objective)
    assert temperature.data != 1


def test_the_loss_of_an_epoch_is_the_mean_of_its_samples():
    net, (x, y) = Sequential(Linear(4, 3, rng=np.random.default_rng(0))), problem()
    expected = cross_entropy(net(Tensor(x)), y).item()
    optimizer = SGD(net.parameters(), 0.0)
    history = fit(net, optimizer, x, y, FitConfig(1, 40), rng=np.random.default_rng(0))
    assert history[0].loss == pytest.approx(expected, rel=1e-5)


def test_the_best_of_a_resumed_training_is_kept_only_on_request(tmp_path):
    scores = iter([0.9, 0.1, 0.2, 0.3])
    path, states = tmp_path / "state.npz", []

    def go(epochs, keep_best):
        net = Sequential(Linear(4, 3, rng=np.random.default_rng(1)))
        config, rng = FitConfig(epochs, keep_best=keep_best), np.random.default_rng(0)
        fit(
            net,
            Adam(net.parameters()),
            *problem(),
            config,
            rng=rng,
            state_file=path,
            validate=lambda m: states.append(m.state_dict()["0.weight"]) or next(scores),
        )
        return net.state_dict()["0.weight"]

    np.testing.assert_array_equal(go(2, True), states[0])
    np.testing.assert_array_equal(go(3, True), states[0])
    np.testing.assert_array_equal(go(4, False), states[3])


def test_loggers_get_each_epochs_figures_and_no_score_without_validation():
    logged = {}
    _, history = run(
        FitConfig(epochs=2, batch=30),
        on_epoch=lambda epoch: logged.__setitem__(epoch.number, epoch.metrics()),
    )
    assert logged == {e.number: {"loss": e.loss, "lr": e.lr, "score": e.score} for e in history}
    assert list(logged) == [1, 2]
    _, history = run(FitConfig(epochs=1, batch=30), validate=None)
    assert history[0].metrics() == {"loss": history[0].loss, "lr": history[0].lr}
