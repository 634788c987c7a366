"""A training that is killed at any step, or while it writes its state, goes on to the same bits."""

import os
import signal

import numpy as np
import pytest

from tests.faults.machine import Fault, operations_of, run_with
from tests.sampling import sampled
from tests.train.test_fit import run
from tinyrt.errors import TinyrtError
from tinyrt.files import UNFINISHED
from tinyrt.train.fit import FitConfig

CONFIG = FitConfig(epochs=3, batch=16, accumulate=2, workers=2, keep_best=True)
STEPS = 9


@pytest.fixture(scope="module")
def whole():
    """What a training gives that nothing interrupts."""
    return outcome(*run(CONFIG))


def outcome(net, history):
    return {name: a.tobytes() for name, a in net.state_dict().items()}, history


def killed_at(step, path):
    """Run in a child that kills itself after that step."""
    child = os.fork()
    if child == 0:
        try:
            run(
                CONFIG,
                path,
                on_step=lambda done, _: done == step and os.kill(os.getpid(), signal.SIGKILL),
            )
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize("step", sampled([1, STEPS], [1, 3, 4, 8, STEPS]))
def test_killed_at_a_step_it_goes_on_to_the_same_bits(tmp_path, whole, step):
    killed_at(step, tmp_path / "state.npz")
    assert outcome(*run(CONFIG, tmp_path / "state.npz")) == whole


def test_killed_again_and_again(tmp_path, whole):
    for step in (5, 5, 8):
        killed_at(step, tmp_path / "state.npz")
    assert outcome(*run(CONFIG, tmp_path / "state.npz")) == whole


@pytest.mark.slow
@pytest.mark.parametrize("fault", Fault)
def test_faults_while_the_state_is_written(tmp_path, whole, fault):
    path = tmp_path / "state.npz"
    operations = len(operations_of(lambda: run(CONFIG, path)))
    for at in range(1, operations + 1, sampled(25, 6) if fault is Fault.KILL else sampled(40, 14)):
        path.unlink(missing_ok=True)
        met = run_with(lambda: run(CONFIG, path), at, fault)
        if fault is not Fault.KILL and met.error is not None:
            assert f"cannot write: {os.strerror(28 if fault is Fault.FULL else 30)}" in met.error
            assert str(path) in met.error
        assert outcome(*run(CONFIG, path)) == whole, at
        assert not [p for p in tmp_path.iterdir() if UNFINISHED.fullmatch(p.name)]


def error_of(path, whole):
    """The error with which a state is refused; None where it leads to the whole's result."""
    try:
        found = outcome(*run(CONFIG, path))
    except TinyrtError as error:
        return error
    assert found == whole
    return None


def test_a_damaged_state_is_refused_or_harmless(tmp_path, whole):
    """Never another result."""
    path, rng = tmp_path / "state.npz", np.random.default_rng(0)
    killed_at(STEPS, path)
    state = path.read_bytes()
    refused = 0
    for at in (*rng.integers(0, len(state), 40), None):
        damaged = bytearray(state if at is not None else state[: len(state) // 2])
        if at is not None:
            damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        error = error_of(path, whole)
        if error is not None:
            assert error.file == str(path), at
            assert len(str(error).splitlines()) <= 12
            refused += 1
    assert refused > 25
