"""A project's port: places of its tensors, and what the code has of self-test, states, regions."""

import re

import pytest

from tests.asked import asked
from tests.export.models import apart, dense, echo
from tinyrt.errors import UnsupportedError
from tinyrt.export import Memories, export_graph
from tinyrt.export.board import Places, _step
from tinyrt.export.ports import Port
from tinyrt.ir import DType
from tinyrt.memory import Region

TWO = Memories((Region("fast"), Region("slow")))


@pytest.mark.parametrize(
    ("sizes", "places"),
    [
        ((), Places((), 0)),
        ((5,), Places((0,), 5)),
        ((5, 18, 3), Places((0, 8, 32), 35)),
        ((8, 1, 1), Places((0, 8, 16), 17)),
    ],
)
def test_tensors_lie_one_behind_the_other(sizes, places):
    assert Places.of(sizes) == places


def test_a_port_holds_all_inputs_and_all_outputs(tmp_path):
    project = export_graph(apart(), tmp_path, **asked(board=True))
    assert project.board.as_dict() == {"protocol": 1, "input_bytes": 35, "output_bytes": 35}


MODELS = {"dense": (dense, {}, True), "echo": (echo, {}, True), "regions": (dense, TWO, False)}


@pytest.mark.parametrize("name", MODELS)
def test_the_code_has_what_the_model_has(name, tmp_path):
    """A self-test, a state that begins anew, an arena that is one pointer or a struct of them."""
    graph, memories, tests_itself = MODELS[name]
    options = {"selftest": 1} if tests_itself else {"memories": memories}
    digest = None if name == "echo" else "ab" * 32
    export_graph(graph(), tmp_path, model_sha256=digest, **asked(board=True, **options))
    (source,) = tmp_path.glob("*_board.c")
    code, header = source.read_text(), source.with_suffix(".h").read_text()
    has_state = name == "echo"
    assert ("_selftest(" in code) is tests_itself
    assert bool(re.search(r"_SELFTEST\b", header)) is tests_itself
    assert ("&io, board->arena, board->state)" in code) is has_state
    assert ("&io, board->arena)" in code) is not has_state
    assert f"_ARENA_BYTES, {4 if has_state else 0}U, board->calls" in code
    assert ("board->arena = arena_start;" in code) is (name != "regions")
    assert ("board->arena = arena;" in code) is (name == "regions")
    assert (", ".join(["171"] * 32) in code) is (digest is not None)
    assert (", ".join(["0"] * 32) in code) is (digest is None)


@pytest.mark.parametrize(
    ("scale", "step"),
    [(0.5, "500U, 0U"), (2.0**-12, "125U, 9U"), (2.0**35, f"{1000 * 2**35}U, 0U")],
)
def test_a_step_is_printed_in_thousandths_exactly(scale, step):
    assert str(_step(Port("y", DType.INT8, (1, 2), 0, 2, scale, 0))) == step


@pytest.mark.parametrize("scale", [2.0**45 / 1000, 3.6e10])
def test_a_scale_whose_values_do_not_fit_is_refused(scale):
    """Thousandths of a step below 2**45 fit; the nearest number to this limit lies above it."""
    with pytest.raises(UnsupportedError, match="a port prints values below"):
        _step(Port("y", DType.INT8, (1, 2), 0, 2, scale, 0))
