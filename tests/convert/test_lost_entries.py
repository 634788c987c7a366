"""What a file says about channels that are gone comes back as it was."""

import json

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.convert.channels.lost import Lost
from tinyrt.convert.tflite.lost import LOST, lost_entry, read_lost
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import ModelFormatError
from tinyrt.ir import Graph

NAN = np.nan
HELD = {
    "one number": [NAN, -128, NAN, -128, NAN],
    "one number, and others": [NAN, 7, 2.5, NAN, 7, 7, NAN, NAN],
    "none that stayed, and one": [NAN, NAN, NAN, 3, NAN, NAN, NAN, NAN, NAN, NAN],
}
"""What each channel held at all times: NaN for what varied, and for channels that are left."""
KEPT = {"one number": [0, 2, 4], "one number, and others": [0, 3, 6]}
"""Channels that are left, where they are others than 0, 4 and 9."""


def net() -> Graph:
    b = Builder((1, 2, 2, 3))
    y = b.op("relu", ("x",))
    return b.graph(b.op("neg", (y,)))


def lost_of(name: str) -> Lost:
    held = np.array(HELD[name], np.float64)
    kept = np.zeros(len(held), bool)
    kept[KEPT.get(name, [0, 4, 9])] = True
    return Lost(kept, held)


def test_it_is_read_as_it_was_written():
    graph = net()
    names = [graph.inputs[0], *(node.outputs[0] for node in graph.nodes)]
    lost = {name: lost_of(kind) for name, kind in zip(names, HELD, strict=True)}
    data = write_tflite(graph, lost_entry(lost, graph))
    found = read_lost(data, parse_tflite(data))
    assert found.keys() == lost.keys()
    for name, entry in lost.items():
        np.testing.assert_array_equal(found[name].kept, entry.kept)
        np.testing.assert_array_equal(found[name].constants, entry.constants)


def test_tensors_that_lost_the_same_stand_together():
    graph = net()
    names = [node.outputs[0] for node in graph.nodes]
    (told,) = json.loads(lost_entry(dict.fromkeys(names, lost_of("one number")), graph)[LOST])
    assert told[1:] == ["50", -128, {}]
    assert len(told[0]) == 2
    assert {len(tag) for tag in told[0]} == {8}
    assert lost_entry({}, graph) == {}
    data = write_tflite(graph)
    assert read_lost(data, parse_tflite(data)) == {}


@pytest.mark.parametrize(("bits", "is_read"), [("50", True), ("5000", False), ("51", False)])
def test_bits_are_those_of_all_channels(bits, is_read):
    """Five of a tensor with three channels left, up to a whole byte."""
    graph = net()
    entry = lost_entry({graph.inputs[0]: lost_of("one number")}, graph)
    entry[LOST] = entry[LOST].replace(b'"50"', f'"{bits}"'.encode())
    data = write_tflite(graph, entry)
    if is_read:
        assert len(read_lost(data, parse_tflite(data))) == 1
    else:
        with pytest.raises(ModelFormatError, match="bits for"):
            read_lost(data, parse_tflite(data))


@pytest.mark.parametrize(
    "told",
    [
        [[["TAG"], "50", -128, {"9": 3}]],
        [[["TAG"], "50", -128, {"-6": 3}]],
        [[["TAG"], "50", -128, {"one": 3}]],
        [[["TAG"], "50", -128, {"1": "three"}]],
        [[["TAG"], "50", -128, None]],
        [[["TAG"], "no hex", -128, {}]],
        [[["TAG"], 50, -128, {}]],
        [[["TAG"], "50", -128]],
        [[["TAG"], "50", -128, {}, 1]],
        ["TAG"],
        5,
        None,
    ],
    ids=str,
)
def test_an_entry_that_is_none_is_refused_whatever_is_wrong_with_it(told):
    graph = net()
    entry = lost_entry({graph.inputs[0]: lost_of("one number")}, graph)
    (((tag,), *_),) = json.loads(entry[LOST])
    damaged = json.dumps(told).replace("TAG", tag)
    data = write_tflite(graph, {LOST: damaged.encode()})
    with pytest.raises(ModelFormatError) as refused:
        read_lost(data, parse_tflite(data))
    error = refused.value
    assert error.problem.startswith(f"metadata '{LOST}' ")
    assert error.expected
