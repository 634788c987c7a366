"""Cases on the ends of every range, in C with sanitizers."""

from itertools import islice

import numpy as np
import pytest

from tests.c.conformance import F32_OPS
from tests.c.floats import assert_close
from tests.c.host import BESIDE, build_program, host_compiler, run_program
from tests.c.programs import of_vectors, one_graph
from tests.ops.corners import FAMILIES, integer_corners, thinned
from tests.sampling import sampled
from tinyrt.export import ExportOptions, export_graph
from tinyrt.export.target import find_core
from tinyrt.interpreter.native import core_of
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

ALWAYS = " by rows x "
"""In names of cases that each sample has: a Cortex-M4 takes four columns that are neighbours."""


SPEED = "-DTINYRT_FAST"
COLUMNS = ("conv2d", "fully_connected")


@pytest.mark.parametrize(
    ("core", "first", "flags"),
    [("cortex-m3", 0, sampled((), (SPEED,))), ("cortex-m4", 22, (SPEED,))],
)
def test_integers_equal_the_references(tmp_path, core, first, flags):
    """Of all cases, as the code is that is made for speed; other tests have it otherwise."""
    start, step = sampled((first, 44), (0, 1))
    corners = integer_corners()
    by_rows = {name: built for name, built in corners.items() if ALWAYS in name}
    always = by_rows | FAMILIES["near"]()
    graph, feeds = one_graph(always | dict(islice(corners.items(), start, None, step)))
    assert by_rows, "of their names"
    assert_answers(graph, feeds, core, tmp_path, *flags)


@pytest.mark.whole
def test_speed_changes_no_answer(tmp_path):
    """Of layers with columns: other kernels are the same."""
    corners = integer_corners()
    by_rows = {name: built for name, built in corners.items() if ALWAYS in name}
    layers = {n: b for n, b in FAMILIES["layers"]().items() if b.graph.nodes[0].op in COLUMNS}
    graph, feeds = one_graph(by_rows | dict(islice(layers.items(), 0, None, sampled(23, 1))))
    assert by_rows, "of their names"
    assert_answers(graph, feeds, "cortex-m4", tmp_path, SPEED)


def test_vectors_equal_the_references(tmp_path):
    core = core_of(host_compiler())
    if not core.startswith("host-"):
        pytest.skip("this processor has no vectors that kernels are written for")
    # Neighbours differ in little.
    graph, feeds = one_graph(thinned(of_vectors(), sampled(18, 1)))
    assert_answers(graph, feeds, core, tmp_path, *find_core(core).flags)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # infinities are among them
def test_floats_are_near_the_references(tmp_path):
    """What keeps state or comes from TFLM's signal library is among them."""
    corners = {k: b for k, b in FAMILIES["floats"]().items() if b.graph.nodes[0].op in F32_OPS}
    graph, feeds = one_graph(thinned(corners, sampled(6, 1)))
    # A sample has the kernels of other tests' samples.
    core, options = sampled("cortex-m4", "cortex-m3"), ExportOptions(memories=BESIDE)
    project = export_graph(graph, tmp_path / "project", core=core, options=options)
    found = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        assert_close(name.split(":")[0], found[name], expected)


def assert_answers(graph, feeds, core, folder, *flags):
    """Every output of the C program, bit for bit."""
    project = export_graph(
        graph, folder / "project", core=core, options=ExportOptions(memories=BESIDE)
    )
    found = run_program(build_program(project, folder, *flags), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)
