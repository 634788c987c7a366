"""Ops of equal weights share one array of them, as the steps of an unrolled layer do."""

import re

import numpy as np
import pytest

from tinyrt.export import ExportOptions, export_graph
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.fully_connected import FullyConnectedAttrs

SIZE = 8


def steps(changed: int = 0) -> Graph:
    """Three dense layers one behind the other; the last one has another weight, if any is."""
    rng = np.random.default_rng(0)
    w = rng.integers(-100, 100, (SIZE, SIZE)).astype(np.int8)
    other = w.copy()
    other[0, 0] += changed
    q, w_q = QParams((0.1,), 3), QParams((0.01,), 0)
    values = [Value(f"h{i}", DType.INT8, (1, SIZE), q) for i in range(4)]
    values += [Value.constant("w", w, w_q), Value.constant("last", other, w_q)]
    weights = ("w", "w", "last")
    nodes = tuple(
        Node("fully_connected", f"h{i + 1}", (f"h{i}", name), (f"h{i + 1}",), FullyConnectedAttrs())
        for i, name in enumerate(weights)
    )
    return verify(Graph("steps", ("h0",), ("h3",), {v.name: v for v in values}, nodes))


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4", "cortex-m55"])
@pytest.mark.parametrize(("changed", "arrays"), [(0, 1), (1, 2)])
def test_equal_weights_are_written_once(tmp_path, core, changed, arrays):
    project = export_graph(steps(changed), tmp_path, core=core)
    text = (project.directory / "steps_weights.c").read_text()
    assert len(re.findall(r"steps_n\d+_w\[", text)) == arrays
    calls = (project.directory / "steps.c").read_text()
    assert calls.count("steps_n0_w") == (3 if arrays == 1 else 2)


def test_a_blob_has_members_for_each(tmp_path):
    """What training makes different keeps its place."""
    options = ExportOptions(blob=True)
    project = export_graph(steps(), tmp_path, core="cortex-m4", options=options)
    found = set()
    for path in project.directory.glob("*.[ch]"):
        found |= set(re.findall(r"\bn\d+_w\b", path.read_text()))
    assert len(found) == 3
