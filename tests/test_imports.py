"""What importing costs: nothing for ``tinyrt``, no heavy package for the interpreter."""

import subprocess
import sys

import pytest


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


@pytest.mark.parametrize("names", FOR_TYPES)
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
    _modules_after(run)  # into the cache, where the kernels are not there yet
    assert not {"scipy.linalg", "numba.np.linalg", "numba.typed.dictimpl"} & _modules_after(run)


def test_every_public_name_is_there():
    import tinyrt

    for name in tinyrt.__all__:
        assert getattr(tinyrt, name) is not None
    assert {"__version__", *tinyrt.__all__} <= set(dir(tinyrt))
    with pytest.raises(AttributeError):
        tinyrt.nonsense  # noqa: B018
