"""Files that commands write have the permissions that the umask asks for, and folders too."""

import os
import stat

import pytest

from tests.cli.calls import call
from tests.cli.options.test_every_option import ARGUMENTS
from tests.sampling import sampled
from tinyrt.train.history import Epoch, plot_history, save_history

WRITING = {
    "convert": (),
    "run": (),
    "inspect": ("--html", "page.html"),
    "quantize": (),
    "debug": ("--html", "page.html"),
    "export": (),
    "emulate": ("--keep", "kept"),
}
"""Commands that write, and with which options."""


UMASKS = (0o022, 0o027)
PAIRS = [(command, umask) for command in WRITING for umask in UMASKS]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "umask"), sampled(PAIRS[::4] + PAIRS[3::4], PAIRS))
def test_what_a_command_writes_is_as_open_as_the_umask_says(command, umask, made, tmp_path):
    before = os.umask(umask)
    try:
        folder = tmp_path / "there"
        folder.mkdir()
        options = [folder / o if not o.startswith("-") else o for o in WRITING[command]]
        call(command, *ARGUMENTS[command](made, folder), *options)
    finally:
        os.umask(before)
    assert_open(folder, umask)


def test_histories_of_training_are_too(tmp_path):
    before = os.umask(0o022)
    try:
        history = [Epoch(n, 2, 1.0 / n, 0.1, 0.5) for n in (1, 2)]
        save_history(history, tmp_path / "history.csv")
        plot_history(history, tmp_path / "history.svg")
    finally:
        os.umask(before)
    assert_open(tmp_path, 0o022, inside=False)


def assert_open(folder, umask, inside=True):
    written = list(folder.rglob("*"))
    assert written
    for path in (folder, *written) if inside else written:
        mode = stat.S_IMODE(path.stat().st_mode)
        if path.is_dir():
            assert mode == 0o777 & ~umask, path
        else:
            assert mode in (0o666 & ~umask, 0o777 & ~umask), path
            assert mode == 0o666 & ~umask or path.read_bytes()[:4] == b"\x7fELF", path
