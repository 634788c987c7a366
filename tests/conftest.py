"""Fixtures that every test may ask for."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Shells start what runs in the background with Ctrl-C ignored, and commands that tests start would
# inherit that; those that ask whether Ctrl-C ends a command need it heeded.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, however slow the machine is.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def zoo() -> Path:
    """The folder that holds ``models/``, ``data/`` and ``golden/``."""
    folder = os.environ.get("TINYRT_ZOO")
    if not folder:
        pytest.skip("TINYRT_ZOO is not set: it names the folder with models/, data/ and golden/")
    path = Path(folder).resolve()
    if not (path / "models").is_dir():
        pytest.fail(f"TINYRT_ZOO is {folder}, which has no folder models/")
    return path
