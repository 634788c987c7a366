"""What an export says of zeros in weights, and what a profile says of an op."""

from dataclasses import fields

import pytest

from tests.export.test_selftest import cnn
from tinyrt.backends.c.weights import Cost, Weights
from tinyrt.emulate.profile import OpCost
from tinyrt.export import ExportOptions, Memories, export_graph
from tinyrt.export.sparsity import SparseLayer
from tinyrt.memory import Region

FORMS = {Weights.DENSE: Cost(3000, 7000), Weights.BLOCKS: Cost(2405, 6305)}
"""Ratios of .80167 and .90071."""


def layer(forms, form=Weights.BLOCKS):
    return SparseLayer(2, "conv", 0.62468, form, forms)


def test_sparse_forms_are_told_beside_the_dense_one():
    text = str(layer(FORMS))
    assert text.startswith("62% zeros, stored blocks (blocks 0.80x instructions 0.90x bytes")
    assert layer(FORMS).as_dict() == {
        "index": 2,
        "name": "conv",
        "zeros": 0.625,
        "stored": str(Weights.BLOCKS),
        "relative_to_dense": {str(Weights.BLOCKS): {"instructions": 0.802, "bytes": 0.901}},
    }


def test_what_has_no_other_form_says_why():
    alone = layer({Weights.DENSE: FORMS[Weights.DENSE]}, Weights.DENSE)
    assert "no pattern that a kernel knows" in str(alone)
    assert alone.as_dict()["relative_to_dense"] == {}
    none = layer({}, Weights.DENSE)
    assert "no sparse kernel takes such a layer" in str(none)
    assert none.ratios == {}


def test_a_profile_has_ratios_where_there_is_something_to_divide_by():
    both, neither = OpCost(0, "conv2d", "y", 50, 200, 400), OpCost(1, "relu", "z", 0, 20, None)
    assert (both.instructions_per_mac, both.ratio) == (4, 0.5)
    assert (neither.instructions_per_mac, neither.ratio) == (None, None)
    assert {f.name for f in fields(both)} - {"cycles"} <= set(both.as_dict())


def test_tensors_outside_of_the_arena_are_in_no_region(tmp_path):
    places = Memories((Region("fast", 2048), Region("slow")), inputs_in_arena=False)
    ports = export_graph(cnn(), tmp_path, options=ExportOptions(memories=places)).ports()
    assert [port["offset"] for port in ports["inputs"]] == [None]
    assert [port.get("region") for port in ports["inputs"]] == [None]
    assert {port["region"] for port in ports["outputs"]} <= {"fast", "slow"}


@pytest.mark.parametrize(
    ("core", "options", "is_known"),
    [
        *(("cortex-m4", {}, True), ("cortex-m4", {"blob": True}, True)),
        *(("cortex-m4", {"slices": 5_000}, True), ("host", {}, False)),
        ("cortex-m4", {"input_rows": True}, False),
    ],
)
def test_instructions_are_estimated_where_all_calls_are_known(core, options, is_known, tmp_path):
    graph = cnn()
    project = export_graph(graph, tmp_path, core=core, options=ExportOptions(**options))
    assert bool(project.segments) == ("input_rows" in options)
    whole = export_graph(graph, tmp_path / "whole").estimates
    assert len(whole) == len(graph.nodes)
    assert project.estimates == (whole if is_known else None)
    assert project.instructions == (round(sum(whole)) if is_known else None)
