"""What importing costs: nothing for ``tinyrt``, no heavy package for the interpreter."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tinyrt
from tests.sampling import sampled


def _modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import tinyrt", {"numpy", "tflite", "onnx", "typer"}),
        ("import tinyrt.interpreter", {"numba", "onnx", "typer", "rich", "jinja2", "tinyrt.train"}),
        ("import tinyrt; tinyrt.load", {"onnx", "typer", "tinyrt.export"}),
        ("import tinyrt.ir", {"tflite", "tinyrt.ops"}),
    ],
)
def test_imports_stay_light(statement, absent):
    assert not absent & _modules_after(statement)


ALLOWED = {"tinyrt", "tinyrt.cli", "tinyrt.cli.app", "tinyrt.__main__"}
"""Modules of tinyrt that ``tinyrt --help`` may load."""


def _modules_of(*arguments: str) -> set[str]:
    """What a command has imported when it ends."""
    return _modules_after(
        f"import contextlib, io; sys.argv = ['tinyrt', *{arguments}]\n"
        "from tinyrt.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main()"
    )


def test_help_loads_the_command_line_alone():
    modules = _modules_of("--help")
    assert "tinyrt.cli.app" in modules
    assert {m for m in modules if m.split(".")[0] == "tinyrt"} <= ALLOWED
    assert not {"numpy", "numba", "rich", "jinja2", "tflite", "onnx", "pydantic"} & modules


@pytest.mark.whole
def test_running_an_int8_model_loads_neither_compilers_nor_writers(tmp_path):
    """What makes the first answer late: LLVM, templates, passes and the training core."""
    import numpy as np

    from tests.graphs import small_cnn
    from tinyrt.convert.tflite.writer import save_tflite
    from tinyrt.quantize import QuantConfig, quantize_graph

    x = np.random.default_rng(3).normal(size=(12, 8, 8, 3)).astype(np.float32)
    save_tflite(quantize_graph(small_cnn(), x, QuantConfig()), tmp_path / "net.tflite")
    np.savez(tmp_path / "x.npz", x=x)
    output = tmp_path / "y.npz"
    modules = _modules_of(
        "run", str(tmp_path / "net.tflite"), "-i", str(tmp_path / "x.npz"), "-o", str(output)
    )
    assert output.exists()
    heavy = {"numba", "llvmlite", "onnx", "jinja2", "rich.progress", "tinyrt.convert.passes"}
    others = ("dsp", "emulate", "export", "quantize", "search", "sighted", "train")
    heavy |= {f"tinyrt.{name}" for name in others}
    assert not heavy & modules


@pytest.mark.parametrize(("lock", "refused"), [("lambda: False", True), ("lambda: True", False)])
def test_a_python_without_a_global_lock_is_refused(lock, refused):
    """Not a free-threaded one whose lock is on, nor one that has no other."""
    code = f"import sys; sys._is_gil_enabled = {lock}; import tinyrt"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode == 1) == refused
    last = result.stderr.strip().rpartition("\n")[2]
    assert last == refused * (
        "ImportError: tinyrt does not run without Python's global lock: set PYTHON_GIL=1 in the "
        "environment, or take a Python that is not free-threaded"
    )


@pytest.mark.parametrize("enabled", [True, False])
def test_a_command_is_imported_without_collections_which_go_on_after_it(enabled):
    """Or stay off, where a caller has turned them off."""
    import gc

    from tinyrt.cli.app import Commands, _nothing_collected

    starts: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        starts.append(info["generation"])

    threshold, before = gc.get_threshold(), gc.isenabled()
    gc.set_threshold(1)
    gc.callbacks.append(note)
    (gc.enable if enabled else gc.disable)()
    try:
        with _nothing_collected():
            del starts[:]
            made = [[] for _ in range(1_000)]
            assert not starts
        assert gc.isenabled() is enabled
        assert gc.get_freeze_count() > len(made)
        assert Commands()["doctor"].name == "doctor"
        assert gc.isenabled() is enabled
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*threshold)
        (gc.enable if before else gc.disable)()
        gc.unfreeze()


@pytest.mark.whole
def test_looking_at_a_model_loads_no_compiler(tmp_path):
    from tests.graphs import small_cnn
    from tinyrt.convert.tflite.writer import save_tflite

    save_tflite(small_cnn(), tmp_path / "net.tflite")
    modules = _modules_of("inspect", str(tmp_path / "net.tflite"))
    assert "tinyrt.cli.inspect" in modules
    assert not {"numba", "llvmlite", "onnx", "tinyrt.emulate", "tinyrt.train"} & modules


FOR_TYPES = {
    "tinyrt.api, tinyrt.interpreter.native": {
        "tinyrt.backends.cuda.partition",
        "tinyrt.emulate",
        "tinyrt.export",
        "tinyrt.quantize",
    },
    "tinyrt.cli.bench, tinyrt.cli.debug, tinyrt.cli.quantize": {
        "tinyrt.bench",
        "tinyrt.quantize.explain.bisect",
        "tinyrt.quantize.explain.debug",
        "tinyrt.quantize.mixed.choose",
    },
}
"""Modules -> others that only their signatures name; what is called imports them."""


@pytest.mark.parametrize("names", sampled([*FOR_TYPES][:1], [*FOR_TYPES]))
def test_what_only_types_name_is_not_imported(names):
    assert not FOR_TYPES[names] & _modules_after(f"import {names}")


@pytest.mark.slow
def test_cached_kernels_are_loaded_without_what_compiles_them():
    run = (
        "from tests.graphs import small_cnn\n"
        "from tinyrt.interpreter import Interpreter\n"
        "interpreter = Interpreter.from_graph(small_cnn(), backend='numba')\n"
        "interpreter.allocate_tensors()\n"
        "interpreter.invoke()"
    )
    exec(run, {})  # into the cache, where the kernels are not there yet
    assert not {"scipy.linalg", "numba.np.linalg", "numba.typed.dictimpl"} & _modules_after(run)


def test_every_public_name_is_there():
    for name in tinyrt.__all__:
        assert getattr(tinyrt, name) is not None
    assert {"__version__", *tinyrt.__all__} <= set(dir(tinyrt))
    with pytest.raises(AttributeError):
        tinyrt.nonsense  # noqa: B018


def test_a_package_that_only_gathers_names_lists_each():
    gathering = 0
    for path in Path(tinyrt.__file__).parent.rglob("__init__.py"):
        body = ast.parse(path.read_text()).body
        *others, last = [s for s in body if not isinstance(s, ast.ImportFrom)] or [None]
        if isinstance(last, ast.Assign) and all(isinstance(s, ast.Expr) for s in others):
            names = {a.name for s in body if isinstance(s, ast.ImportFrom) for a in s.names}
            assert sorted(ast.literal_eval(last.value)) == sorted(names), path
            gathering += 1
    assert gathering > 10


def test_every_public_name_of_the_functions_is_listed_before_it_is_imported(monkeypatch):
    from tinyrt import api

    for name in api.__all__:
        monkeypatch.delitem(vars(api), name, raising=False)
    assert {"__all__", *api.__all__} <= set(dir(api))
