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


def test_every_public_name_is_there():
    import tinyrt

    for name in tinyrt.__all__:
        assert getattr(tinyrt, name) is not None
    with pytest.raises(AttributeError):
        tinyrt.nonsense  # noqa: B018
