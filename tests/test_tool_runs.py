"""What a program of others is given, may take, and is known to have said."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from time import sleep

import pytest

from tinyrt import tools
from tinyrt.errors import OutputError, ToolError
from tinyrt.tools import (
    Finished,
    OutOfTimeError,
    first_program,
    last_lines,
    limit,
    run_tool,
    stoppable,
)


def python(code, **options):
    return run_tool([sys.executable, "-c", code], **options)


def test_a_program_gets_its_input_and_folder_and_gives_what_it_writes(tmp_path):
    code = "import os, sys; print(sys.stdin.read(), os.getcwd()); sys.exit('oh')"
    found = python(code, input_text="é in", cwd=tmp_path)
    assert found == Finished(1, f"é in {tmp_path}\n", "oh\n")
    assert found.last_words == f"é in {tmp_path}\noh"
    assert python("import sys; print(repr(sys.stdin.read()))") == Finished(0, "''\n", "")
    assert run_tool(["sh", "-c", "kill -9 $$"]).status == -9
    assert run_tool(["printf", 12]).out == "12"


def test_compilers_write_what_no_cache_of_objects_has(monkeypatch):
    monkeypatch.setenv("USERS", "own")
    code = "import os; print(os.environ['USERS'], os.environ['CCACHE_DISABLE'])"
    assert python(code).out == "own 1\n"


def test_the_end_of_what_a_program_says_fits_an_error():
    text = "\n".join(f"line {i}" for i in range(20)) + "\n\n"
    assert last_lines(text).split("\n") == [f"line {i}" for i in range(12, 20)]
    assert last_lines("x" * 201 + "\n" + "y" * 200) == "x" * 200 + "\n" + "y" * 200
    assert last_lines(" \n a\tb\x1b \n") == "a   b?"
    assert last_lines("") == ""


@pytest.mark.parametrize(
    ("setting", "seconds"), [(None, 600.0), ("0.5", 0.5), ("1000", 1000.0), ("1e-9", 1e-9)]
)
def test_the_limit_is_the_users_or_ten_minutes(setting, seconds, monkeypatch):
    monkeypatch.delenv("TINYRT_TOOL_SECONDS", raising=False)
    if setting is not None:
        monkeypatch.setenv("TINYRT_TOOL_SECONDS", setting)
    assert limit() == seconds


@pytest.mark.parametrize("setting", ["", "0", "-0.0", "inf", "soon" * 20])
def test_a_limit_that_is_none_says_what_would_be_one(setting, monkeypatch):
    monkeypatch.setenv("TINYRT_TOOL_SECONDS", setting)
    with pytest.raises(ToolError) as caught:
        limit()
    assert caught.value.problem == f"TINYRT_TOOL_SECONDS is {setting[:40]!r}"
    assert caught.value.expected == "a number of seconds above 0"


def test_a_programs_limit_goes_before_the_users(monkeypatch):
    given = []
    monkeypatch.setattr(tools, "_run", lambda *arguments: given.append(arguments[3]) or 0)
    monkeypatch.setenv("TINYRT_TOOL_SECONDS", "7")
    run_tool(["true"])
    run_tool(["true"], limit_s=3)
    assert given == [7, 3]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells of a process's end")
def test_the_end_of_a_program_is_told_at_once_or_looked_for(monkeypatch):
    pauses = []
    monkeypatch.setattr(subprocess.time, "sleep", lambda s: pauses.append(s) or sleep(s))
    assert run_tool(["sh", "-c", "sleep 0.1; exit 3"]).status == 3
    assert not pauses

    def refused(pid):
        raise OSError("an old kernel")

    monkeypatch.setattr(os, "pidfd_open", refused)
    assert run_tool(["sh", "-c", "sleep 0.1; exit 3"]).status == 3
    assert pauses
    with pytest.raises(OutOfTimeError):
        run_tool(["sleep", "60"], limit_s=0.05)


def test_time_that_runs_out_is_said_with_the_programs_last_words():
    with pytest.raises(OutOfTimeError) as caught:
        run_tool(["sh", "-c", "echo err >&2; echo out; sleep 60"], limit_s=0.5)
    problem = "sh did not finish within 0.5 seconds; its last words:\nout\nerr"
    assert caught.value.problem == problem
    assert "TINYRT_TOOL_SECONDS" in caught.value.hint
    with pytest.raises(OutOfTimeError, match=r"within 0.05 seconds; it said nothing"):
        run_tool(["sleep", "60"], limit_s=0.05)


def test_a_watch_is_called_while_a_program_runs_and_what_it_raises_ends_it(monkeypatch):
    monkeypatch.setattr(tools, "_POLL_S", 0.01)
    started = []
    popen = subprocess.Popen

    def noting(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noting)
    calls = []

    def watch():
        calls.append(1)
        if len(calls) == 3:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        run_tool(["sleep", "60"], limit_s=30, watch=watch)
    assert len(calls) == 3
    assert started[0].returncode == -9


def test_a_program_that_nobody_waits_for_is_ended(monkeypatch):
    monkeypatch.setattr(tools, "_POLL_S", 0.01)
    with stoppable() as stop:
        assert python("print(1)").out == "1\n"
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(copy_context().run, run_tool, ["sleep", "60"])
            stop.set()
        assert running.exception().problem == "sleep was ended: nobody waits for it any more"
        assert running.exception().hint
    assert python("print(1)").out == "1\n"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("yes out", "out"),
        ("echo out; yes err >&2", "err"),
        ("echo err >&2; yes out", "err"),
    ],
)
def test_a_program_that_prints_without_end_is_shown_by_its_errors_else_its_output(
    code, shown, monkeypatch
):
    monkeypatch.setattr(tools, "_POLL_S", 0.01)
    monkeypatch.setattr(tools, "MAX_OUTPUT", 1000)
    with pytest.raises(ToolError) as caught:
        run_tool(["sh", "-c", code], limit_s=30)
    first, *words = caught.value.problem.split("\n")
    assert first == "sh prints without end; at last:"
    assert set(words[1:]) <= {shown}
    assert words[-1][:3] == shown


def test_of_what_is_too_long_the_end_is_kept(monkeypatch):
    monkeypatch.setattr(tools, "MAX_OUTPUT", 5)
    assert run_tool(["printf", "123456789"]).out == "56789"
    assert run_tool(["printf", "1234"]).out == "1234"
    assert run_tool(["printf", r"\377"]).out == "\ufffd"


def test_a_program_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ToolError) as caught:
        run_tool([tmp_path / "none"])
    assert caught.value.problem == f"cannot run {tmp_path / 'none'}: No such file or directory"
    assert caught.value.expected == "a program that this machine runs"
    assert "PATH" in caught.value.hint


def test_the_first_of_the_programs_that_is_installed_is_taken():
    assert first_program(["no-such-program", "sh", "true"]) == "sh"
    assert first_program(["no-such-program"]) is first_program([]) is None


def test_without_room_for_what_a_program_prints_that_is_said(monkeypatch):
    def refuse():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tools.tempfile, "TemporaryFile", refuse)
    with pytest.raises(OutputError) as caught:
        run_tool(["true"])
    assert caught.value.problem == ("cannot keep what a program prints: No space left on device")
    assert caught.value.hint == "make room in $TMPDIR"
