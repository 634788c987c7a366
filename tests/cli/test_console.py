"""What a terminal is told beside results: warnings, errors, how far the work has come."""

import io
import json
import signal
import subprocess
import sys
import warnings

import pytest

from tinyrt.cli import console
from tinyrt.cli.console import noting, progress_bar, reporting
from tinyrt.errors import DataError


@pytest.fixture
def terminal(monkeypatch):
    """What is written to a terminal of 80 columns, in place of stderr."""
    text = io.StringIO()
    screen = console._console(file=text, force_terminal=True, width=80, color_system="standard")
    monkeypatch.setattr(console, "ERR", screen)
    return text


@pytest.mark.parametrize(("count", "rest"), [(1, 0), (10, 0), (11, 1), (30, 20)])
def test_ten_warnings_are_printed_and_the_others_are_counted(count, rest, capsys):
    with noting() as notes:
        for i in range(count):
            warnings.warn(f"note {i}", stacklevel=1)
    lines = capsys.readouterr().err.splitlines()
    assert notes == [f"note {i}" for i in range(count)]
    expected = [f"warning: note {i}" for i in range(min(count, 10))]
    expected += [f"and {rest} more warnings; --json has them all"] * (rest > 0)
    assert lines == expected


def test_a_warning_is_said_once_and_those_of_arithmetic_never(capsys):
    with noting() as notes:
        for text, kind in (("a", UserWarning), ("b", RuntimeWarning), ("a", UserWarning)):
            warnings.warn(text, kind, stacklevel=1)
    assert notes == ["a"]
    assert capsys.readouterr().err == "warning: a\n"


LONG = "word " * 100


def test_warnings_and_errors_begin_in_colour_and_leave_lines_to_the_terminal(terminal):
    with noting():
        warnings.warn(LONG, stacklevel=1)
    assert terminal.getvalue().startswith("\x1b[1;33mwarning: \x1b[0mword word")
    assert terminal.getvalue().count("\n") == 1
    terminal.truncate(0)
    terminal.seek(0)
    with pytest.raises(Exception, match="1"), reporting(as_json=False):
        raise DataError(LONG)
    assert terminal.getvalue().startswith("\x1b[1;31merror: \x1b[0mword word")
    assert terminal.getvalue().count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_command_by_its_number_and_later_as_before(number):
    before = signal.getsignal(number)
    signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit) as ended, reporting(as_json=False):
            signal.raise_signal(number)
        assert ended.value.code == 128 + number
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_is_ignored_stays_so(number):
    """As nohup asks for."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with reporting(as_json=False):
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_a_bar_says_how_far_the_work_has_come_and_goes(terminal):
    with progress_bar("measuring") as progress:
        progress(3, 12)
        progress(12, 12, "best [b] 9 %")
    shown = terminal.getvalue()
    assert "measuring" in shown
    assert "best [b] 9 %" in shown
    assert "12/12" in shown
    # The line is cleared and the cursor shown again.
    assert shown.rstrip("\r").endswith("\x1b[2K")


def test_a_line_below_a_bar_is_cut_where_the_terminal_ends(terminal):
    with progress_bar("measuring") as progress:
        progress(3, 12, "best " + "x" * 100)
    assert "best " + "x" * 74 + "…" in terminal.getvalue()
    assert "x" * 75 not in terminal.getvalue()


def test_without_a_terminal_there_is_no_bar(capsys):
    with progress_bar("measuring") as progress:
        progress(3, 12)
        progress(4, 12, "best 9 %")
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_program_of_an_odd_name_helps_where_characters_are_few():
    program = "import sys; sys.argv = ['─', '--help']; from tinyrt.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONIOENCODING": "latin-1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"Usage: \u2500 [OPTIONS]" in done.stdout


def test_numbers_that_json_lacks_are_null(capsys):
    with reporting(as_json=True) as report:
        report({"float_error": float("inf"), "outputs": [float("nan"), 1.0]}, "")
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {
        "float_error": None,
        "outputs": [None, 1.0],
    }
