"""Commands that answer, refuse, end without a word, take too long, or are given up."""

import asyncio
import time
from pathlib import Path

import pytest

from tinyrt.serve import jobs
from tinyrt.serve.app import make_app
from tinyrt.serve.jobs import Job, Limits, RefusedError


async def never_gone():
    return False


async def gone():
    return True


def ran(tmp_path, monkeypatch, script, leaves=never_gone, seconds=60.0):
    """What a job answers whose command is a script of the shell."""
    program = tmp_path / "tinyrt.sh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    folder = tmp_path / "job"
    folder.mkdir()

    async def run():
        try:
            job = Job(folder, leaves, asyncio.Semaphore(1), seconds)
            return await job.run("report", "a b.tflite")
        finally:
            await asyncio.sleep(0)
            assert asyncio.all_tasks() == {asyncio.current_task()}, "nothing runs on behind it"

    return asyncio.run(run())


def test_the_command_gets_its_arguments_in_the_folder(tmp_path, monkeypatch):
    script = """printf '{"said": "%s|", "in": "%s"}' "$*" "$(basename "$PWD")" """
    answer = ran(tmp_path, monkeypatch, script)
    assert answer == {"said": "-m tinyrt report a b.tflite --json|", "in": "job"}


REFUSALS = {
    """echo '{"error": {"problem": "no", "hint": "yes"}}'; exit 1""": (422, "no", "yes"),
    "exit 3": (500, "tinyrt report ended with 3 and without an answer", "report this"),
}


@pytest.mark.parametrize("script", REFUSALS)
def test_what_a_command_refuses(script, tmp_path, monkeypatch):
    with pytest.raises(RefusedError) as refused:
        ran(tmp_path, monkeypatch, script)
    status, problem, hint = REFUSALS[script]
    assert (refused.value.status, refused.value.error["problem"]) == (status, problem)
    assert refused.value.error["hint"].startswith(hint)
    assert str(refused.value) == problem


GIVEN_UP = {
    "too long": (never_gone, 0.3, 504, "tinyrt report takes longer than 0.3 seconds"),
    "left": (gone, 60.0, 499, "nobody waits for the answer"),
}


@pytest.mark.parametrize("why", GIVEN_UP)
def test_a_command_given_up_is_killed_with_what_it_started(why, tmp_path, monkeypatch):
    leaves, seconds, status, problem = GIVEN_UP[why]
    script = f"(sleep 20; touch {tmp_path}/ended) & echo $! > {tmp_path}/child\nwait"
    if why == "left":

        async def leaves():
            return (tmp_path / "child").exists() and (tmp_path / "child").read_text() != ""

    with pytest.raises(RefusedError) as refused:
        ran(tmp_path, monkeypatch, script, leaves, seconds)
    assert (refused.value.status, refused.value.error["problem"]) == (status, problem)
    assert (
        refused.value.error.get("hint")
        == {
            "too long": "run tinyrt report in a terminal, or serve with more --seconds",
            "left": None,
        }[why]
    )
    if (tmp_path / "child").exists():
        _require_dead(int((tmp_path / "child").read_text()))
    assert not (tmp_path / "ended").exists(), "it was waited for"


STUBBORN = {
    "asked first": ("trap 'kill $!' TERM", "setsid sh -c 'sleep 10; touch ../ended'"),
    "then killed": ("trap '' TERM", "sh -c 'sleep 10; touch ../ended'"),
}


@pytest.mark.parametrize("kind", STUBBORN)
def test_a_command_is_asked_to_end_what_has_a_session_of_its_own_then_killed(
    kind, tmp_path, monkeypatch
):
    """Its tools have one each; the emulator would run on."""
    monkeypatch.setattr(jobs, "GRACE", 0.2 if kind == "then killed" else 20.0)
    trap, child = STUBBORN[kind]
    script = f"{trap}\n{child} & echo $! > {tmp_path}/child\nwait; wait"
    with pytest.raises(RefusedError, match="takes longer than"):
        ran(tmp_path, monkeypatch, script, seconds=0.5)
    _require_dead(int((tmp_path / "child").read_text()))
    assert not (tmp_path / "ended").exists(), "it was waited for"


def _require_dead(process):
    for _ in range(100):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.02)
    raise AssertionError(f"process {process} lives")


def test_commands_wait_for_a_place(tmp_path, monkeypatch):
    program, log = tmp_path / "slow.sh", tmp_path / "log"
    program.write_text(f"#!/bin/sh\necho b >> {log}\nsleep .1\necho e >> {log}\necho {{}}\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))

    async def run():
        places = asyncio.Semaphore(1)
        folders = [tmp_path / str(i) for i in range(3)]
        for folder in folders:
            folder.mkdir()
        await asyncio.gather(*(Job(f, never_gone, places, 60.0).run("x") for f in folders))

    asyncio.run(run())
    assert log.read_text().split() == ["b", "e"] * 3


NAMES = {
    "net.tflite": "net.tflite",
    "../../etc/Net.TFLITE": "Net.tflite",
    "-o.onnx": "o.onnx",
    "a b;$(c)é.onnx": "a_b___c__.onnx",
    "x" * 300 + ".onnx": "x" * 100 + ".onnx",
    "..tflite": None,
    "net.exe": None,
    "": None,
    None: None,
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_mean_nothing_to_paths_and_shells(name, tmp_path):
    job = Job(tmp_path, never_gone, asyncio.Semaphore(1), 1.0)
    if NAMES[name] is None:
        with pytest.raises(RefusedError, match=r"ends with none of \.tflite or \.onnx") as refused:
            job.place(name, (".tflite", ".onnx"))
        assert refused.value.status == 415
        assert refused.value.error["expected"] == "a .tflite or .onnx file"
    else:
        assert job.place(name, (".tflite", ".onnx")) == tmp_path / NAMES[name]


def test_limits_are_those_of_the_page():
    assert Limits() == Limits(upload=64 * 1024 * 1024, seconds=300, at_once=2)


@pytest.mark.parametrize("allowed", [1, 3])
def test_so_many_commands_run_side_by_side_as_the_limits_say(allowed):
    state = make_app(Limits(seconds=7.5, at_once=allowed)).state

    async def taken():
        while not state.places.locked():
            await state.places.acquire()
            yield 1

    async def count():
        return [one async for one in taken()]

    assert len(asyncio.run(count())) == allowed
    assert state.limits == Limits(seconds=7.5, at_once=allowed)
