"""What the name of each kind of cached code depends on: whatever changes the code changes it."""

import platform
from pathlib import Path
from types import SimpleNamespace

import pytest

from tinyrt.backends.cuda import host, nvrtc
from tinyrt.emulate.cycles import plugin
from tinyrt.floatmath import numba_cache
from tinyrt.floatmath.numba_cache import KernelCache
from tinyrt.interpreter import native
from tinyrt.tools import Finished


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path / "cache"))
    for cached in (native._host, native.flags_of, host._version, host._headers, nvrtc._headers):
        cached.cache_clear()
    yield
    for cached in (native._host, native.flags_of, host._version, host._headers, nvrtc._headers):
        cached.cache_clear()


def answering(**words):
    """A compiler: its answer to each question, by a word of it."""

    def probe(compiler, *options):
        out = next((text for word, text in words.items() if f"--{word}" in options), compiler)
        return Finished(0, out, "")

    return probe


def _read_with(name, more):
    """``Path.read_bytes`` that finds something more in files of that name."""
    read = Path.read_bytes
    return lambda path: read(path) + more * (path.name == name)


# Native


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "_built", lambda *_: b"code")
    monkeypatch.setattr(native, "_probe", answering(version="cc 12.2"))
    path = tmp_path / "model"
    (path / "tinyrt").mkdir(parents=True)
    (path / "model.c").write_text("int a;")
    (path / "tinyrt" / "kernel.h").write_text("int b;")
    return path


def _another_processor(project, patched):
    patched.setattr(platform, "processor", lambda: "another")


def _another_machine(project, patched):
    patched.setattr(platform, "machine", lambda: "another")


def _another_c_library(project, patched):
    patched.setattr(platform, "libc_ver", lambda: ("glibc", "1.0"))


def _other_features(project, patched):
    read = Path.read_text
    patched.setattr(
        Path,
        "read_text",
        lambda path, **options: (
            "flags : other" if str(path) == "/proc/cpuinfo" else read(path, **options)
        ),
    )


def _no_features(project, patched):
    system = {name: getattr(Path, name) for name in ("exists", "read_text")}

    def exists(path):
        return str(path) != "/proc/cpuinfo" and system["exists"](path)

    def read(path, **options):
        return system["read_text"](path if exists(path) else Path("/no such file"), **options)

    patched.setattr(Path, "exists", exists)
    patched.setattr(Path, "read_text", read)


NATIVE = {
    "a source": lambda project, _: (project / "model.c").write_text("int c;"),
    "a header": lambda project, _: (project / "tinyrt" / "kernel.h").write_text("int c;"),
    "a source's name": lambda project, _: (project / "model.c").rename(project / "other.c"),
    "another source": lambda project, _: (project / "more.c").write_text(""),
    "options": lambda _, patched: patched.setattr(native, "FLAGS", ("-O0",)),
    "the compiler's version": lambda _, patched: patched.setattr(
        native, "_probe", answering(version="cc 13.1")
    ),
    "the processor": _another_processor,
    "the machine": _another_machine,
    "the C library": _another_c_library,
    "the processor's features": _other_features,
    "no features, as on other systems": _no_features,
}


@pytest.mark.parametrize("change", NATIVE.values(), ids=NATIVE)
def test_the_native_librarys_key(project, monkeypatch, change):
    before = native.build_library("cc", project)
    assert native.build_library("cc", project) == before
    change(project, monkeypatch)
    native._host.cache_clear()
    native.flags_of.cache_clear()
    assert native.build_library("cc", project) != before


# CUDA

DEVICE_HEADER = sorted(host.DEVICE.glob("*.cuh"))[0].name
HEADERS = {"a device header": (Path, "read_bytes", _read_with(DEVICE_HEADER, b"//"))}


def _change(patched, target, name, value):
    patched.setattr(target, name, value)
    host._headers.cache_clear()
    nvrtc._headers.cache_clear()


CUBIN = {
    "the source": ("other", "sm_80", (12, 8)),
    "the architecture": ("source", "sm_90", (12, 8)),
    "the compiler's version": ("source", "sm_80", (13, 0)),
}


@pytest.mark.parametrize("other", CUBIN.values(), ids=CUBIN)
def test_the_cubins_key(other):
    assert nvrtc.entry_name(*other) != nvrtc.entry_name("source", "sm_80", (12, 8))


@pytest.mark.parametrize(
    "change",
    [*HEADERS.values(), (nvrtc, "OPTIONS", ("--another",))],
    ids=[*HEADERS, "options"],
)
def test_the_cubins_key_has_what_all_sources_share(monkeypatch, change):
    before = nvrtc.entry_name("source", "sm_80", (12, 8))
    _change(monkeypatch, *change)
    assert nvrtc.entry_name("source", "sm_80", (12, 8)) != before


def _host_compiler(version):
    """Stands for the C++ compiler: tells its version, and builds a library of one byte."""

    def run(command, **_):
        if "-o" in command:
            Path(command[-1]).write_bytes(b"1")
        return Finished(0, version, "")

    return run


HOST = {
    "the source": lambda _: host.build("other", ("-O1",)),
    "the options": lambda _: host.build("source", ("-O2",)),
    "the compiler": lambda patched: patched.setattr(host, "find_compiler", lambda: "other"),
    "the compiler's version": lambda patched: patched.setattr(
        host, "run_tool", _host_compiler("14")
    ),
    "a device header": lambda patched: patched.setattr(*HEADERS["a device header"]),
}


@pytest.mark.parametrize("change", HOST.values(), ids=HOST)
def test_the_host_librarys_key(monkeypatch, change):
    monkeypatch.setattr(host, "find_compiler", lambda: "c++")
    monkeypatch.setattr(host, "run_tool", _host_compiler("13"))
    before = host.build("source", ("-O1",))
    assert host.build("source", ("-O1",)) == before
    changed = change(monkeypatch)
    host._version.cache_clear()
    host._headers.cache_clear()
    assert (changed or host.build("source", ("-O1",))) != before


# The plugin of the emulator

PLUGIN = {
    "the source": lambda patched: patched.setattr(Path, "read_bytes", lambda path: b"other"),
    "the options": lambda patched: patched.setattr(plugin, "FLAGS", ("-O0",)),
    "the compiler": lambda patched: patched.setattr(plugin.toolchain, "run", _told(cc="13")),
    "the emulator": lambda patched: patched.setattr(plugin.toolchain, "run", _told(qemu="8")),
}


def _told(cc="12", qemu="7"):
    """Programs that tell their versions."""
    versions = {"cc": cc, "qemu": qemu}
    return lambda command, **_: versions[command[0]]


@pytest.mark.parametrize("change", PLUGIN.values(), ids=PLUGIN)
def test_the_plugin_s_key(monkeypatch, change):
    monkeypatch.setattr(plugin.toolchain, "require", lambda *programs: None)
    monkeypatch.setattr(plugin.toolchain, "run", _told())
    monkeypatch.setattr(plugin, "run_tool", lambda *_, **options: Finished(0, "", ""))
    monkeypatch.setattr(plugin, "_built", lambda qemu, name: name)
    before = plugin.plugin_for("qemu")
    assert plugin.plugin_for("qemu") == before
    change(monkeypatch)
    assert plugin.plugin_for("qemu") != before


# Functions that Numba compiled


def _made(factor):
    return lambda x: x * factor


def _codegen(*magic):
    return SimpleNamespace(magic_tuple=lambda: magic)


NUMBA = {
    "Numba": (numba_cache.numba, "__version__", "0.1"),
    "LLVM": (numba_cache.llvmlite, "__version__", "0.1"),
    "Python": (numba_cache.sys, "version", "2.7"),
    "the sources": (numba_cache, "sources", lambda: "others"),
}
FUNCTIONS = {
    "the module": ("__module__", "other"),
    "the name": ("__qualname__", "other"),
    "the code": ("__code__", _made(2).__code__.replace(co_code=_made(2).__code__.co_code[::-1])),
    "a constant around it": (None, _made(3)),
    "the types": ("sig", "float32(float32)"),
    "the processor": ("codegen", _codegen("x86", "older")),
}


def _key(function, sig="float64(float64)", codegen=None):
    return KernelCache(function)._name(sig, codegen or _codegen("x86", "newer"))


@pytest.mark.parametrize("change", NUMBA.values(), ids=NUMBA)
def test_the_key_of_compiled_functions_has_what_compiles_them(monkeypatch, change):
    before = _key(_made(2))
    assert _key(_made(2)) == before
    monkeypatch.setattr(*change)
    assert _key(_made(2)) != before


@pytest.mark.parametrize("change", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_key_of_compiled_functions_has_what_they_are(change):
    name, value = change
    function, more = _made(2), {}
    if name is None:
        function = value
    elif name in ("sig", "codegen"):
        more = {name: value}
    else:
        setattr(function, name, value)
    assert _key(function, **more) != _key(_made(2))
