"""What commands are called with."""

import numpy as np
import pytest

from tests.cli.calls import call
from tests.cli.made import make
from tests.cli.tiny import without_emulator
from tests.graphs import small_cnn
from tinyrt.convert.tflite.writer import save_tflite

RNG = np.random.default_rng(11)


@pytest.fixture
def files(tmp_path):
    """A float model, calibration data and labelled test data."""
    save_tflite(small_cnn(), tmp_path / "net.tflite")
    x = RNG.normal(size=(24, 8, 8, 3)).astype(np.float32)
    np.savez(tmp_path / "calib.npz", x=x)
    np.savez(tmp_path / "test.npz", x=x, y=RNG.integers(0, 5, 24))
    return tmp_path


@pytest.fixture
def quantized(files):
    data, out = files / "calib.npz", files / "q.tflite"
    call("quantize", files / "net.tflite", "-c", data, "-o", out, "--preset", "fast")
    return files


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Models and data that are made once, for commands that write nothing beside them."""
    return make(tmp_path_factory.mktemp("made"))


@pytest.fixture
def emulated(monkeypatch):
    """What would be emulated, in place of the emulator."""
    return without_emulator(monkeypatch)
