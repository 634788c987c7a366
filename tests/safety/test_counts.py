"""How far instructions depend on data: no more than is said, op by op."""

import pytest

from tests.c.programs import one_graph
from tests.firmware.device import require_core
from tests.safety.counts import (
    BRANCHES,
    DEPENDENT,
    KINDS,
    Range,
    beyond,
    limit_of,
    model_counts,
    ranges,
)
from tests.safety.figures import CORES, load
from tests.safety.figures import MODELS as ZOO
from tests.sampling import sampled

pytestmark = [pytest.mark.slow, pytest.mark.device]

RANDOM = sampled(2, 12)
"""Random inputs, beside the others."""


@pytest.mark.parametrize(
    ("core", "kind"),
    sampled([("cortex-m4", "int8")], [(core, kind) for core in CORES for kind in KINDS]),
)
def test_ops_depend_on_data_as_little_as_is_said(tmp_path, core, kind):
    require_core(core)
    found = ranges(*one_graph(KINDS[kind](range(sampled(1, 2)))), core, tmp_path, RANDOM)
    assert beyond(found, core) == []
    assert any(each.least == each.most > 0 for each in found)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("model", ZOO)
@pytest.mark.whole
def test_models_depend_on_data_as_little_as_the_page_says(zoo, tmp_path, core, model):
    require_core(core)
    counts = model_counts(zoo, model, core, tmp_path, RANDOM)
    least, most = load()["models"][core][model]
    share = (most - least) / most
    assert (max(counts) - min(counts)) / max(counts) <= share + 0.001


def test_a_loop_over_data_would_be_found():
    branch = Range("add", "a", 100, 100 + BRANCHES, 1)
    loop = Range("add", "b", 100, 101 + BRANCHES, 1)
    per_value = Range("add", "c", 100, 101 + BRANCHES, 2)
    assert beyond([branch, loop, per_value], "cortex-m4") == [loop]


def test_every_op_that_is_named_depends_on_data_by_more_than_branches():
    figures = load()["ops"]
    for each in DEPENDENT:
        most = max(figures[core].get(each.op, {"spread": 0})["spread"] for core in CORES)
        assert BRANCHES < most <= each.limit, each.op


def test_all_figures_of_the_page_are_within_what_is_said():
    for core in CORES:
        for op, figure in load()["ops"][core].items():
            assert figure["spread"] <= limit_of(op, core), (core, op)
