"""``tinyrt doctor``: what it prints, and how it ends."""

import pytest

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tinyrt.api import doctor
from tinyrt.api.doctor import Check, Part, State
from tinyrt.errors import ToolError


@pytest.fixture
def found(monkeypatch):
    checks = (
        Check("python", "python", State.GOOD, "3.11.7"),
        Check("arm", "arm-none-eabi-gcc", State.MISSING, "not on PATH", "apt-get install x"),
        Check("arm", "boards", State.LIMITED, "a; not b", "take QEMU 7.0 or later"),
        Check("riscv", "qemu", State.BROKEN, "it ends with status 1", "reinstall it"),
    )
    parts = {
        name: Part(part.use, lambda name: iter([c for c in checks if c.part == name]))
        for name, part in doctor.PARTS.items()
    }
    monkeypatch.setattr(doctor, "PARTS", parts)
    return checks


def test_each_check_stands_below_its_part_with_its_cure(found):
    lines = call("doctor").stdout.splitlines()
    assert lines[:2] == ["python: for everything, needed", "  ok python: 3.11.7"]
    at = lines.index("arm: for tinyrt emulate on Cortex-M, tinyrt demo")
    assert lines[at + 1 : at + 5] == [
        "  -- arm-none-eabi-gcc: not on PATH",
        "       try: apt-get install x",
        "  ~~ boards: a; not b",
        "       try: take QEMU 7.0 or later",
    ]
    assert "  !! qemu: it ends with status 1" in lines
    assert lines[-1] == "All that is needed works."


@shows("doctor", "need")
def test_what_is_needed_decides_how_it_ends(found):
    assert call("doctor", "--need", "compiler").exit_code == 0
    text = call("doctor", "--need", "arm", "--need", "riscv", code=1).stdout
    assert text.splitlines()[-1] == (
        "Not all that is needed works: arm (arm-none-eabi-gcc), riscv (qemu)."
    )
    assert "did you mean 'arm'?" in call("doctor", "--need", "amr", code=1).stderr


@shows("doctor", "json")
def test_json_has_every_check(found):
    data = call_json("doctor", "--need", "riscv", code=1)
    assert (data["healthy"], data["needed"]) == (
        False,
        ["libraries", "python", "riscv", "temporary"],
    )
    assert [(c["part"], c["what"], c["state"], c["found"], c["mend"]) for c in data["checks"]] == [
        (c.part, c.what, c.state, c.found, c.mend) for c in found
    ]
    assert [c["needed"] for c in data["checks"]] == [True, False, False, True]
    assert data["checks"][0]["for"] == "everything"
    assert call_json("doctor")["healthy"] is True


def test_a_program_that_fails_says_its_last_words():
    with pytest.raises(ToolError, match="sh ends with status 3: no such thing") as caught:
        doctor._answer("sh", "-c", "echo no such thing >&2; exit 3")
    assert caught.value.hint == "install it anew"


def test_a_program_that_a_signal_ends_gives_no_answer():
    with pytest.raises(ToolError, match="sh ends with status -9"):
        doctor._answer("sh", "-c", "echo 1.0; kill -9 $$")
