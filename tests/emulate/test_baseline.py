"""Another engine's figures: found by a model's structure, and handed to the ops they are of."""

import json

import pytest

from tests.export.models import dense, views
from tinyrt.emulate.baseline import Baseline, load_baseline

DATA = {
    "engine": "other",
    "cores": {"cortex-m4": {"wide": {"instructions": 70}, "folded": {"instructions": 90}}},
    "ops": {
        "wide": [{"op": "fully_connected", "macs": 16}],
        "folded": [
            {"op": "quantize", "macs": 0},
            {"op": "fully_connected", "macs": 8},
            {"op": "dequantize", "macs": 0},
        ],
        "moved": [
            {"op": "relu", "macs": 0},
            {"op": "reshape", "macs": 0},
            {"op": "relu", "macs": 0},
        ],
    },
    "op_instructions": {"cortex-m4": {"folded": [5, 80, 5], "moved": [1, 2, 3]}},
}
BASELINE = Baseline(DATA)


def test_a_model_is_known_by_its_ops_and_their_work():
    assert BASELINE.engine == "other"
    assert BASELINE.model(dense()) == "folded"
    assert BASELINE.model(dense(size=8)) == "wide"
    assert BASELINE.model(views()) == "moved"
    assert BASELINE.model(dense(size=12)) is None


def test_totals_are_those_of_core_and_model():
    assert BASELINE.total("cortex-m4", dense()) == 90
    assert BASELINE.total("cortex-m4", dense(size=8)) == 70
    assert BASELINE.total("cortex-m4", views()) is None
    assert BASELINE.total("cortex-m0", dense()) is None
    assert BASELINE.total("cortex-m4", dense(size=12)) is None


def test_counts_of_ops_pass_over_what_one_file_has_and_another_has_not():
    assert BASELINE.ops("cortex-m4", dense()) == {0: 80}
    assert BASELINE.ops("cortex-m4", views()) == {0: 1, 2: 3}
    assert BASELINE.ops("cortex-m4", dense(size=8)) == {}
    assert BASELINE.ops("cortex-m0", dense()) == {}


def test_counts_that_are_not_of_these_ops_are_handed_to_none():
    for counts in ([5, 80], [5, 80, 5, 1]):
        wrong = {"cortex-m4": {"folded": counts}}
        with pytest.raises(ValueError, match="zip"):
            Baseline(DATA | {"op_instructions": wrong}).ops("cortex-m4", dense())


def test_figures_of_the_peer_are_of_every_op_and_add_up():
    """Ops take nearly all of a model's instructions; the rest is the interpreter's own."""
    data = load_baseline().data
    for core, models in data["op_instructions"].items():
        for model, counts in models.items():
            assert len(counts) == len(data["ops"][model])
            whole = data["cores"][core][model]["instructions"]
            assert 0.9 * whole < sum(counts) <= 1.01 * whole, (core, model)


@pytest.mark.parametrize("field", DATA)
def test_a_file_has_all_fields_or_is_none(tmp_path, field):
    path = tmp_path / "figures.json"
    path.write_text(json.dumps(DATA))
    assert load_baseline(path) == BASELINE
    path.write_text(json.dumps({name: value for name, value in DATA.items() if name != field}))
    with pytest.raises(Exception, match="fields are missing"):
        load_baseline(path)
