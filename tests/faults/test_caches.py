"""Whatever lies where built code is kept: it is built again, never loaded, never an accident."""

import ctypes
import os
import pickle
import stat
from pathlib import Path

import numpy as np
import pytest
from numba.core.registry import cpu_target

from tests.graphs import small_cnn
from tests.ops.build import build_s8
from tests.ops.cases import CASES, rng_of
from tinyrt import cache
from tinyrt.errors import OutputError, ToolError
from tinyrt.floatmath import numba_cache
from tinyrt.floatmath.compiled import compiled
from tinyrt.interpreter import Interpreter, native
from tinyrt.ops.shared.evaluate import evaluate

absolute = ctypes.CDLL(None).labs
absolute.argtypes, absolute.restype = [ctypes.c_long], ctypes.c_long


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Bomb:
    """What a pickle of somebody else may do."""

    def __reduce__(self):
        return os.mkdir, ("exploded",)


def _as_folder(path, whole):
    path.unlink()
    path.mkdir()
    (path / "inside").write_bytes(whole)


def _as_link(path, whole):
    goal = path.with_name("elsewhere")
    path.rename(goal)
    path.symlink_to(goal)


def _without_its_mode(path, whole):
    path.chmod(0o622)


DAMAGE = {
    "cut by a byte": lambda path, whole: path.write_bytes(whole[:-1]),
    "cut in half": lambda path, whole: path.write_bytes(whole[: len(whole) // 2]),
    "empty": lambda path, whole: path.write_bytes(b""),
    "zeros": lambda path, whole: path.write_bytes(bytes(len(whole))),
    "noise": lambda path, whole: path.write_bytes(np.random.default_rng(1).bytes(len(whole))),
    "a bit turned": lambda path, whole: path.write_bytes(whole[:20] + b"!" + whole[21:]),
    "longer": lambda path, whole: path.write_bytes(whole + b"\0"),
    "another pickle": lambda path, whole: path.write_bytes(pickle.dumps(Bomb())),
    "a pickle before it": lambda path, whole: path.write_bytes(pickle.dumps(Bomb()) + whole),
    "a folder": _as_folder,
    "a link": _as_link,
    "writable for others": _without_its_mode,
}


def test_compiled_functions_say_where_they_are_kept(folder):
    assert numba_cache.KernelCache(len).cache_path == str(folder / "numba")


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_none_and_is_replaced(folder, damage):
    path = cache.keep("kind", "name", b"content" * 9)
    assert cache.read_entry("kind", "name") == b"content" * 9
    damage(path, path.read_bytes())
    assert cache.read_entry("kind", "name") is None
    assert cache.entry_path("kind", "name") is None
    cache.keep("kind", "name", b"new")
    assert cache.read_entry("kind", "name") == b"new"
    assert not path.is_symlink()


def test_an_entry_under_another_name_is_none():
    """Two entries that changed places would be answers of another model."""
    one, two = (cache.keep("kind", name, name.encode()) for name in ("one", "two"))
    one.rename(two)
    assert cache.read_entry("kind", "two") is None


@pytest.mark.parametrize("mask", [0, 0o77, 0o277, 0o777])
def test_the_folder_is_the_users_alone_whatever_the_umask(folder, mask):
    before = os.umask(mask)
    try:
        path = cache.keep("kind", "name", b"content")
    finally:
        os.umask(before)
    for made, mode in ((folder, 0o700), (folder / "kind", 0o700), (path, 0o600)):
        assert stat.S_IMODE(made.stat().st_mode) == mode


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702, 0o755, 0o750, 0o701, 0o740])
def test_a_folder_that_others_could_look_into_or_change_is_closed(folder, mode):
    path = cache.keep("kind", "name", b"content")
    (folder / "kind").chmod(mode)
    is_known = cache.read_entry("kind", "name") is not None
    assert is_known == (not mode & 0o022), "what others could change is not trusted"
    cache.keep("kind", "other", b"")
    assert stat.S_IMODE((folder / "kind").stat().st_mode) == 0o700
    assert cache.read_entry("kind", "name") == b"content"
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
        assert cache.read_entry("kind", "name") is None


def test_a_folder_of_another_user_is_refused(folder, monkeypatch):
    cache.keep("kind", "name", b"content")
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert cache.read_entry("kind", "name") is None
    with pytest.raises(OutputError, match="belongs to another user") as caught:
        cache.keep("kind", "name", b"content")
    assert "TINYRT_CACHE" in str(caught.value)


def test_a_link_in_place_of_the_folder_is_refused(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    folder.mkdir()
    (folder / "kind").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="is a link"):
        cache.keep("kind", "name", b"content")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_without_a_home_there_is_no_cache_and_that_is_said(monkeypatch):
    for name in ("TINYRT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: Path("~no-such-user").expanduser())
    assert cache.read_entry("kind", "name") is None
    with pytest.raises(OutputError, match="no home folder") as caught:
        cache.keep("kind", "name", b"")
    assert "TINYRT_CACHE" in str(caught.value)


def test_the_cache_is_in_the_users_folder_of_caches(monkeypatch, tmp_path):
    monkeypatch.delenv("TINYRT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder("kind") == tmp_path / "tinyrt" / "kind"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    assert cache.cache_folder("kind") == tmp_path / "home" / ".cache" / "tinyrt" / "kind"


@pytest.mark.parametrize(("one", "other"), [(("ab", "c"), ("a", "bc")), (("a",), ("a", ""))])
def test_parts_of_a_key_do_not_run_together(one, other):
    assert cache.key_of(*one) != cache.key_of(*other)


# Numba


def twice(values):
    total = 0.0
    for value in values:
        total += 2 * value
    return total


@pytest.mark.slow
def test_numba_compiles_again_what_is_damaged(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = np.arange(4.0)
    assert compiled(twice)(values) == 12
    (path,) = (folder / "numba").iterdir()
    whole = path.read_bytes()
    again = compiled(twice)
    assert again(values) == 12
    assert sum(again.stats.cache_hits.values()) == 1
    for name in ("cut in half", "zeros", "a bit turned", "another pickle", "a pickle before it"):
        DAMAGE[name](path, whole)
        again = compiled(twice)
        assert again(values) == 12, name
        assert not again.stats.cache_hits, name
        assert cache.read_entry("numba", path.name), name
    assert not Path("exploded").exists()


def test_numbas_key_has_its_sources_its_versions_and_the_processor(folder, monkeypatch):
    def entries():
        compiled(twice)(np.arange(2))
        return len(list((folder / "numba").iterdir()))

    assert entries() == 1
    assert entries() == 1
    with monkeypatch.context() as patched:
        patched.setattr(numba_cache, "sources", lambda: "others")
        assert entries() == 2
    with monkeypatch.context() as patched:
        patched.setattr(numba_cache.numba, "__version__", "1000")
        assert entries() == 3
    codegen = type(cpu_target.target_context.codegen())
    monkeypatch.setattr(codegen, "magic_tuple", lambda self: ("another", "processor"))
    assert entries() == 4


def test_machine_code_with_addresses_of_its_process_is_not_kept(folder):
    """Another process would jump anywhere."""
    assert compiled(lambda x: absolute(x))(-3) == 3
    assert not folder.exists()


def test_the_sources_are_those_of_kernels_and_of_their_constants(monkeypatch):
    before = numba_cache.sources.__wrapped__()
    read = Path.read_bytes

    def changed(name):
        return lambda path: read(path) + b"#" * str(path).endswith(name)

    for name in (
        *("ops/add.py", "ops/shared/table_s16.py", "floatmath/matrix_loops.py"),
        *("backends/numba/lut.py", "backends/lanes.py", "tinyrt/fixedpoint.py"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(Path, "read_bytes", changed(name))
            assert numba_cache.sources.__wrapped__() != before, name
    assert numba_cache.sources.__wrapped__() == before


def test_numba_does_without_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path / "file"))
    assert compiled(twice)(np.arange(4.0)) == 12


# Native


def dense():
    rng = rng_of("fully_connected", 1)
    return build_s8(CASES["fully_connected"](rng), rng)


def answers_natively():
    """Whether a small model answers as the reference does."""
    case = dense()
    interpreter = Interpreter.from_graph(case.graph, backend="native")
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], case.feeds[detail["name"]])
    interpreter.invoke()
    found = [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]
    return all(map(np.array_equal, found, evaluate(case.graph, case.feeds).values()))


@pytest.mark.slow
def test_a_damaged_library_is_built_again(folder, monkeypatch):
    # Portable C, not optimised: it is built quickly.
    monkeypatch.setattr(native, "core_of", lambda compiler: [*native.CORES][-1])
    quickly = tuple(flag for flag in native.FLAGS if flag != "-O3")
    monkeypatch.setattr(native, "flags_of", lambda compiler: quickly)
    assert answers_natively()
    (path,) = (folder / "native").iterdir()
    whole = path.read_bytes()
    path.unlink()  # this process has it mapped
    DAMAGE["cut in half"](path, whole)
    assert answers_natively()
    assert cache.read_entry("native", path.name)


@pytest.mark.slow
def test_native_code_says_that_its_cache_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path / "file"))
    with pytest.raises(OutputError, match="cannot make the cache folder") as caught:
        Interpreter.from_graph(small_cnn(), backend="native").allocate_tensors()
    assert "TINYRT_CACHE" in str(caught.value)
    interpreter = Interpreter.from_graph(small_cnn(), backend="auto")
    interpreter.allocate_tensors()
    assert interpreter.backend == "numba"


def test_a_library_that_the_system_does_not_load_is_named(tmp_path):
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(ToolError, match=r"does not load(.|\n)*text.so"):
        native.load_library(tmp_path / "text.so")
