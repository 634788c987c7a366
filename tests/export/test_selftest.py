"""The test that a board runs by itself: it passes, and names the first op that differs."""

import ctypes
import re
import zlib
from types import SimpleNamespace

import numpy as np
import pytest

from tests.asked import asked
from tests.export.models import Q, dense, echo, views
from tests.firmware.device import require_core
from tests.graphs import Builder, small_cnn
from tests.kept_objects import compile_sources
from tests.quantize.test_mixed import samples
from tinyrt.emulate import image, run_image
from tinyrt.errors import ToolError, UnsupportedError
from tinyrt.export import ExportOptions, Memories, export_graph
from tinyrt.export.selftest import _golden, _looks, _zeros
from tinyrt.ir import DType, Value
from tinyrt.quantize import QuantConfig, quantize_graph

FLAGS = ("-std=c99", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic")
FIELDS = ("vector", "op", "op_expected", "op_found", "output", "byte", "expected", "found")
PASSED = dict.fromkeys(FIELDS, 0) | {"op": -1, "output": -1}
DIFFERS = -1


class Result(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_int32) for name in FIELDS)


def cnn():
    return quantize_graph(small_cnn(), samples(50), QuantConfig())


def run(project, *, arena=None, state=False):
    """Status and result of the test, built from the folder's files as they are now."""
    folder = project.directory
    sources = [*folder.glob("*.c"), *folder.glob("tinyrt/*.c")]
    library = folder / "all.so"
    library.unlink(missing_ok=True)
    compile_sources(["gcc", *FLAGS, "-Werror", *sources, "-lm", "-o", library])
    function = getattr(ctypes.CDLL(library), f"{project.name}_{project.identity}_selftest")
    memory = np.zeros(project.arena_bytes + 64, np.uint8)
    start = -memory.ctypes.data % 16
    memory[:] = 0x5A
    first = memory.ctypes.data + start if arena is None else arena
    states = np.zeros(project.state_bytes // 4 + 1, np.int32)
    result = Result()
    given = [ctypes.c_void_p(first)]
    given += [ctypes.c_void_p(states.ctypes.data)] if project.state_bytes else []
    status = function(*given, ctypes.byref(result))
    rest = np.concatenate([memory[:start], memory[start + project.arena_bytes :]])
    assert (rest == 0x5A).all()
    assert function(*given, None) == status
    return status, {name: getattr(result, name) for name in FIELDS}


def export(graph, folder, **options):
    return export_graph(graph, folder, **asked(**{"core": "host", "selftest": 2, **options}))


@pytest.mark.parametrize(
    ("graph", "options", "looks"),
    [
        (cnn, {}, True),
        pytest.param(views, {}, True, marks=pytest.mark.whole),
        (echo, {}, True),
        (cnn, {"slices": 5_000}, False),
        pytest.param(cnn, {"by_rows": True}, None, marks=pytest.mark.whole),
        (cnn, {"input_rows": True}, False),
        (dense, {"memories": Memories(inputs_in_arena=False)}, True),
        pytest.param(
            *(cnn, {"input_type": "int16", "output_type": "int16"}, True), marks=pytest.mark.whole
        ),
    ],
    ids=["cnn", "views", "state", "slices", "rows", "pushed", "outside", "wide"],
)
def test_what_answers_as_the_host_passes(graph, options, looks, tmp_path):
    project = export(graph(), tmp_path, **options)
    assert run(project) == (0, PASSED)
    if looks is not None:
        assert bool(project.selftest.looks) == looks
    test, ports = project.selftest, (*project.inputs, *project.outputs)
    digests = 4 * test.looks
    assert test.data_bytes == test.vectors * (sum(port.nbytes for port in ports) + digests)


def test_each_vector_has_all_rows_of_its_inputs():
    b = Builder((2, 4))
    graph = b.graph(b.op("relu", ("x",)))
    feeds, answers, digests = _golden(graph, 3, {*graph.outputs})
    ((x,), (y,), (sums,)) = (each.values() for each in (feeds, answers, digests))
    assert x.shape == (6, 4)
    np.testing.assert_array_equal(y, np.maximum(x, 0).reshape(3, 2, 4))
    assert sums == [zlib.crc32(vector.tobytes()) for vector in y]


def test_a_state_begins_with_what_stands_for_zero():
    floats, integers = Value("s", DType.FLOAT32, (2,)), Value("s", DType.INT8, (2,), Q)
    assert (_zeros(floats).tolist(), _zeros(integers).tolist()) == ([0.0, 0.0], [3, 3])


def test_each_output_of_an_op_that_has_bytes_is_looked_at():
    rows = {"none": 0, "some": 1, "more": 2}
    values = [Value(name, DType.INT8, (n, 4), Q) for name, n in rows.items()]
    nodes = [SimpleNamespace(outputs=values), SimpleNamespace(outputs=values[1:2])]
    writer = SimpleNamespace(kernel_of=lambda node: node, pointer=lambda value: (value.name,))
    looks = _looks(SimpleNamespace(bound=lambda: nodes), writer)
    assert [look.value.name for look in looks] == ["some", "more", "some"]


def spoil(project, pattern, old, new):
    """Change the last place in a file that reads so."""
    (path,) = project.directory.glob(pattern)
    text = path.read_text()
    places = list(re.finditer(old, text))
    assert places
    start, end = places[-1].span()
    path.write_text(text[:start] + new + text[end:])


def weighted(project):
    """Indices of the ops that have weights."""
    (path,) = project.directory.glob("*_weights.c")
    return sorted({int(i) for i in re.findall(r"_n(\d+)_\w+\[", path.read_text())})


def test_a_spoilt_weight_is_found_in_its_op(tmp_path):
    ops = weighted(export(cnn(), tmp_path / "whole"))
    assert len(ops) > 2
    for op in (ops[0], ops[-1]):
        project = export(cnn(), tmp_path / str(op))
        spoil(project, "*_weights.c", rf"(?<=_n{op}_w\[)\d+\] = {{\n +-?\d+", "] = {\n 99")
        status, result = run(project)
        assert (status, result["vector"], result["op"]) == (DIFFERS, 0, op)
        assert result["op_expected"] != result["op_found"]


def test_a_spoilt_kernel_is_found_in_the_op_that_calls_it(tmp_path):
    project = export(cnn(), tmp_path)
    (softmax,) = (node.index for node in cnn().bound() if node.op == "softmax")
    spoil(project, "tinyrt/tinyrt_softmax_s8.c", r"\}\n$", "    y[1] = (int8_t)(y[1] ^ 1);\n}\n")
    status, result = run(project)
    assert (status, result["op"], result["output"], result["byte"]) == (DIFFERS, softmax, 0, 1)
    assert result["expected"] ^ result["found"] == 1


@pytest.mark.device
def test_it_runs_on_a_board(tmp_path, monkeypatch):
    require_core("cortex-m4")
    bring_model = image.bring_model

    def tests_itself(project, folder, **options):
        bring_model(project, folder, **options)
        path = folder / "harness_model.h"
        text = path.read_text().replace('"net.h"', '"net_selftest.h"')
        calls = "net_invoke(&io, memory + HARNESS_BLOCK_0)"
        assert calls in text
        path.write_text(
            text.replace(calls, "net_selftest(memory + HARNESS_BLOCK_0, 0 * sizeof io)")
        )

    monkeypatch.setattr(image, "bring_model", tests_itself)
    project = export_graph(
        dense(), tmp_path / "model", core="cortex-m4", options=ExportOptions(selftest=2)
    )
    run_image(image.build_image(project, tmp_path), bytes(4), tmp_path)
    spoil(project, "*_weights.c", r"(?<=\n)    -?\d+(?=,)", "    77")
    with pytest.raises(ToolError, match="ffffffff"):
        run_image(image.build_image(project, tmp_path), bytes(4), tmp_path)


def test_without_looks_the_output_is_found(tmp_path):
    project = export(dense(), tmp_path, slices=5_000)
    values = r"(?<=selftest_output_0\[4\] = {\n)( +-?\d+, -?\d+), -?\d+"
    spoil(project, "*_selftest.c", values, "    0, 0, 99")
    status, result = run(project)
    assert (status, result["op"], result["output"]) == (DIFFERS, -1, 0)
    assert result["vector"] in (0, 1)


@pytest.mark.parametrize(("arena", "status"), [(0, 1), (4097, 2)])
def test_a_wrong_arena_is_a_status(arena, status, tmp_path):
    assert run(export(dense(), tmp_path), arena=arena) == (status, PASSED)


def test_a_model_of_floats_is_refused(tmp_path):
    with pytest.raises(UnsupportedError) as caught:
        export(small_cnn(), tmp_path)
    assert "those of floats differ between compilers" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_outputs_without_a_place_are_refused(tmp_path):
    with pytest.raises(UnsupportedError) as caught:
        export(dense(), tmp_path, memories=Memories(outputs_in_arena=False))
    assert "leave --output-outside out" in str(caught.value)


def test_no_vectors_are_refused(tmp_path):
    with pytest.raises(UnsupportedError) as caught:
        export(dense(), tmp_path, selftest=0)
    assert "0 golden vectors test nothing" in str(caught.value)


def test_constants_that_are_exchanged_have_no_self_test(tmp_path):
    with pytest.raises(UnsupportedError) as caught:
        export(dense(), tmp_path, blob=True)
    assert "a blob brings others" in str(caught.value)
