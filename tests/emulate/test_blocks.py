"""The harness's memory as blocks: which there are, their bytes, and where tensors lie in them."""

from types import SimpleNamespace

import pytest

from tests import listening, moving, seeing
from tinyrt.emulate.blocks import audio_context, camera_context, harness_context, script_context
from tinyrt.emulate.boards import BOARDS
from tinyrt.export.ports import Port
from tinyrt.export.rendering import Source
from tinyrt.ir import DType


def port(offset, region=0):
    return Port("x", DType.INT8, (1, 4), offset, 4, None, None, region)


def project(regions=("fast", "Slow"), **others):
    """Its first input and second output lie outside the arena."""
    given = {
        "name": "net",
        "regions": [SimpleNamespace(name=name) for name in regions],
        "inputs": (port(None), port(8, 1)),
        "outputs": (port(0), port(None)),
        "state_bytes": 0,
        **dict.fromkeys(("pushed", "slices", "blob", "audio", "camera")),
    }
    return SimpleNamespace(**given | others)


def place(name, index, at):
    """A tensor's, in a block; at an offset in one of the arena's."""
    outside = at > 1
    offset = f"HARNESS_BLOCK_{at}" + ("" if outside else f" + {name}_OFFSET")
    return {"index": index, "outside": outside, "bytes": f"{name}_BYTES", "offset": offset}


REGIONS = ["NET_FAST_BYTES", "NET_SLOW_BYTES"]


@pytest.mark.parametrize("state", [0, 24])
def test_regions_state_and_tensors_outside_are_blocks_in_this_order(state):
    found = harness_context(project(state_bytes=state))
    behind = 3 if state else 2
    states = ["NET_STATE_BYTES"] if state else []
    assert found["blocks"] == [*REGIONS, *states, "NET_INPUT_0_BYTES", "NET_OUTPUT_1_BYTES"]
    assert found["regions"] == ["fast", "slow"]
    assert found["state"] == ("HARNESS_BLOCK_2" if state else None)
    assert found["inputs"] == [place("NET_INPUT_0", 0, behind), place("NET_INPUT_1", 1, 1)]
    assert found["outputs"] == [place("NET_OUTPUT_0", 0, 0), place("NET_OUTPUT_1", 1, behind + 1)]


def test_an_arena_of_one_region_is_one_block_without_a_name():
    found = harness_context(project(("fast",), inputs=(port(8),), outputs=(port(0),)))
    assert (found["regions"], found["blocks"]) == ([], ["NET_ARENA_BYTES"])
    assert found["inputs"] == [place("NET_INPUT_0", 0, 0)]


@pytest.mark.parametrize("name", ["pushed", "slices", "blob"])
def test_what_the_project_has_is_told(name):
    flags = {"pushed": "pushed", "slices": "sliced", "blob": "blob"}
    found = harness_context(project(**{name: object()}))
    assert {flag: found[flag] for flag in flags.values()} == {
        flag: one == name for one, flag in flags.items()
    }


RECORD = [{"offset": "HARNESS_BLOCK_3", "bytes": "HARNESS_BLOCK_3_BYTES"}]
"""Behind two regions, and a state."""
HEAD = {"offset": "HARNESS_BLOCK_4", "bytes": "HARNESS_BLOCK_4_BYTES", "outside": False}
OUTPUTS = [HEAD, place("NET_OUTPUT_0", 0, 0), place("NET_OUTPUT_1", 1, 5)]


@pytest.mark.parametrize(
    ("pipeline", "kind", "axes"),
    [(listening.PIPELINE, "AUDIO", 1), (moving.PIPELINE, "SAMPLES", 3)],
)
def test_samples_bring_their_state_a_record_and_what_is_heard(pipeline, kind, axes):
    found = audio_context(project(audio=SimpleNamespace(pipeline=pipeline)), 30)
    own = [f"NET_{kind}_STATE_BYTES", str(4 + 2 * 30), "16"]
    assert found["blocks"] == [*REGIONS, *own, "NET_OUTPUT_1_BYTES"]
    assert (found["regions"], found["state"]) == (["fast", "slow"], "HARNESS_BLOCK_2")
    assert (found["inputs"], found["outputs"]) == (RECORD, OUTPUTS)
    assert (found["takes"], found["axes"]) == (kind.lower(), axes)
    assert (found["has_detector"], found["has_anomaly"]) == (True, False)


@pytest.mark.parametrize(
    ("vision", "frame", "head"), [(seeing.GREY, 15 * 22 * 2, 8 + 4 * 12), (seeing.COLOURS, 60, 8)]
)
def test_frames_bring_their_state_a_frame_and_what_is_seen(vision, frame, head):
    """A pixel has two bytes; a box twelve."""
    found = camera_context(project(camera=SimpleNamespace(vision=vision)))
    own = ["NET_CAMERA_STATE_BYTES", str(frame), str(head)]
    assert found["blocks"] == [*REGIONS, *own, "NET_OUTPUT_1_BYTES"]
    assert (found["regions"], found["state"]) == (["fast", "slow"], "HARNESS_BLOCK_2")
    assert (found["inputs"], found["outputs"]) == (RECORD, OUTPUTS)
    assert found["has_boxes"] is (head > 8)


@pytest.mark.parametrize("section", [None, ".qspi"])
def test_the_linker_is_told_of_the_section_of_weights(section):
    board = BOARDS["microbit"]
    found = script_context(["one", "two"], section, board)
    assert found == {
        "board": board,
        "models": ["one", "two"],
        "section": section and Source(section),
    }
