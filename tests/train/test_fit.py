"""The training loop: resuming to the bit, stopping early, keeping the best, history."""

import csv
from xml.etree import ElementTree

import numpy as np
import pytest

from tinyrt.errors import DataError, TinyrtError
from tinyrt.train import SGD, Adam, Tensor, cross_entropy
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.history import plot_history, save_history
from tinyrt.train.nn import BatchNorm, Dropout, Linear, ReLU, Sequential
from tinyrt.train.optim import cosine_lr


def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    x = (rng.normal(size=(90, 4)) + y[:, None]).astype(np.float32)
    return x, y


def run(config, state_file=None, **options):
    rng = np.random.default_rng(1)
    net = Sequential(
        Linear(4, 8, rng=rng), BatchNorm(8), ReLU(), Dropout(0.2, rng=rng), Linear(8, 3, rng=rng)
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
    assert [len(c.get("points").split()) for c in curves] == [3, 3]
    _, silent = run(FitConfig(epochs=2), validate=None)
    assert plot_history(silent, tmp_path / "loss.svg").read_text().count("polyline") == 1


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


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(DataError, match="score"):
        run(FitConfig(epochs=1, patience=1), validate=None)
    np.savez(tmp_path / "data.npz", x=np.zeros(3))
    with pytest.raises(DataError, match="not the state of a training"):
        run(FitConfig(epochs=1), tmp_path / "data.npz")


def test_a_state_of_another_training_is_refused(tmp_path):
    config, path, rng = FitConfig(epochs=2), tmp_path / "state.npz", np.random.default_rng(0)
    net = Sequential(Linear(4, 3, rng=rng))
    fit(net, Adam(net.parameters()), *problem(), config, rng=rng, state_file=path)
    noisy = Sequential(net.layers["0"], Dropout(0.1, rng=rng))
    for module, optimizer, found in (
        (net, SGD(net.parameters(), 0.1), "SGD, 0 layers"),
        (noisy, Adam(net.parameters()), "Adam, 1 layers"),
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
