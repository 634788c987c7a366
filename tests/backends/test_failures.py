"""What a backend cannot make for an op is an error that names the op."""

import pytest

from tests.ops.quantised import graph_of, s8
from tinyrt.backends import reference
from tinyrt.backends.cuda import program
from tinyrt.backends.cuda.layout import Shape
from tinyrt.backends.numba.compiled import CompiledProgram
from tinyrt.errors import UnsupportedError
from tinyrt.ops.add import AddAttrs


def refused(*arguments):
    raise UnsupportedError("no kernel for these")


def through_numpy(graph, monkeypatch):
    monkeypatch.setattr(reference, "reference_kernel", refused)
    reference.reference_step(next(graph.bound()), {})


def through_numba(graph, monkeypatch):
    CompiledProgram(list(graph.bound()), {0: refused}, {})


def through_cuda(graph, monkeypatch):
    monkeypatch.setattr(program, "emitter_of", lambda node: refused)
    program.generate(graph, Shape(threads=64, fused=False))


@pytest.mark.parametrize("make", [through_numpy, through_numba, through_cuda])
def test_the_op_is_named(make, monkeypatch):
    graph = graph_of("add", AddAttrs(), [s8(1, 8), s8(1, 8)], [s8(1, 8)])
    with pytest.raises(UnsupportedError, match="no kernel for these") as raised:
        make(graph, monkeypatch)
    assert raised.value.op == next(graph.bound()).describe()
