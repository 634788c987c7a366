"""Compilers of device code that are missing or refuse it are named, with what they said."""

from enum import Enum
from types import SimpleNamespace

import pytest

from tinyrt.backends.cuda import host
from tinyrt.backends.cuda.nvrtc import _compile
from tinyrt.errors import ToolError


def refused(action):
    with pytest.raises(ToolError) as caught:
        action()
    return str(caught.value)


def test_device_code_on_the_host_needs_a_compiler(monkeypatch):
    monkeypatch.setattr(host, "first_program", lambda names: None)
    text = refused(host.find_compiler)
    assert "there is no C++ compiler to run device code on the host" in text
    assert f"one of {', '.join(host.COMPILERS)}" in text
    assert "apt install g++" in text


def test_a_compiler_that_refuses_device_code_has_its_last_words(tmp_path, monkeypatch):
    program = tmp_path / "c++"
    program.write_text("#!/bin/sh\necho no such thing >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(host, "first_program", lambda names: str(program))
    text = refused(lambda: host.build("int x;", ()))
    assert f"{program} refused the device code" in text
    assert "no such thing" in text


class Answer(Enum):
    NVRTC_SUCCESS = 0
    NVRTC_ERROR_COMPILATION = 6
    NVRTC_ERROR_OUT_OF_MEMORY = 1


def nvrtc(**answers):
    """NVRTC as it answers where nothing fails, but for the calls that are given."""
    log = b"model.cu(3): error: no such thing\0"

    def fill(program, buffer):
        buffer[: len(log)] = log
        return (Answer.NVRTC_SUCCESS,)

    plain = {
        "nvrtcResult": Answer,
        "nvrtcCreateProgram": lambda *_: (Answer.NVRTC_SUCCESS, "program"),
        "nvrtcCompileProgram": lambda *_: (Answer.NVRTC_SUCCESS,),
        "nvrtcDestroyProgram": lambda *_: (Answer.NVRTC_SUCCESS,),
        "nvrtcGetProgramLogSize": lambda *_: (Answer.NVRTC_SUCCESS, len(log)),
        "nvrtcGetProgramLog": fill,
    }
    return SimpleNamespace(**plain | answers)


def test_nvrtc_that_refuses_device_code_has_its_log():
    library = nvrtc(nvrtcCompileProgram=lambda *_: (Answer.NVRTC_ERROR_COMPILATION,))
    text = refused(lambda: _compile(library, "int x;", "sm_90"))
    assert "NVRTC refused the device code for sm_90" in text
    assert "model.cu(3): error: no such thing" in text
    assert "update nvidia-cuda-nvrtc, or choose backend 'numba'" in text


def test_nvrtc_that_fails_is_named():
    library = nvrtc(nvrtcCreateProgram=lambda *_: (Answer.NVRTC_ERROR_OUT_OF_MEMORY,))
    text = refused(lambda: _compile(library, "int x;", "sm_90"))
    assert "NVRTC failed: Answer.NVRTC_ERROR_OUT_OF_MEMORY" in text
    assert "choose backend 'numba'" in text
