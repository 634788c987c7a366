"""Blocks of public architectures: how many transposes and ops are left of them."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from tests.convert import window_bodies as windows
from tests.convert.attention_bodies import HEADS
from tests.convert.bodies import BODIES, Body, H, W
from tests.convert.onnx_build import assert_matches, count
from tests.docs.pages import rows_of
from tests.ops.peers import run_tflm
from tests.sampling import sampled
from tinyrt.api import open_model
from tinyrt.convert.passes.merge_through import MOST_DIMENSIONS
from tinyrt.convert.passes.targets import lower_for
from tinyrt.interpreter import Model
from tinyrt.ir import Graph
from tinyrt.ops.transpose import TransposeAttrs


@pytest.mark.parametrize("name", sampled([*BODIES][::5], [*BODIES]))
def test_no_more_moves_than_it_needs(name, tmp_path):
    block, transposes, ops = BODIES[name]
    model = Body()
    x = model.relu(model.conv(model.input(1, 3, H, W), 3, 8, 3))
    graph, _ = assert_matches(model.save(tmp_path, block(model, x)))
    found = [node.op for node in graph.nodes]
    assert count(graph, "transpose") <= transposes, found
    assert len(found) <= ops, found


ROWS = {blocks: count for blocks, count, _ in rows_of("convert.md", "block | transposes")}
BLOCKS = {
    "ViT": ("ViT", "LeViT", "MultiheadAttention"),
    "BERT": ("BERT", "GPT-2", "Llama"),
    "MobileViT": ("MobileViT",),
    "MobileViTv2": ("MobileViTv2",),
    "Swin": (
        *("Swin", "Swin of shifted windows", "Swin of three layers and two", "TinyViT", "DaViT"),
    ),
    "CoaT": ("CoaT",),
    "EfficientFormerV2": ("EfficientFormerV2 of mixed heads",),
    "CaiT": ("CaiT",),
    "MLP-Mixer": ("MLP-Mixer",),
    "YOLOv5's head": ("YOLOv5's head",),
    "SKNet and ResNeSt of three branches or more": (
        *("SKNet of three branches", "ResNeSt of two groups"),
    ),
}
"""What a row of the page begins with -> the blocks that stand for it here."""


def left_of(name: str, folder: Path) -> Graph:
    """The block, converted."""
    block, _, _ = BODIES[name]
    model = Body()
    x = model.relu(model.conv(model.input(1, 3, H, W), 3, 8, 3))
    return open_model(model.save(folder, block(model, x)))


def moves_of(name: str, folder: Path) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The shape and the permutation of each transpose that is left of a block."""
    graph = left_of(name, folder)
    nodes = [node for node in graph.nodes if node.op == "transpose"]
    return [(graph.value(n.inputs[0]).shape, n.attrs_as(TransposeAttrs).perm) for n in nodes]


@pytest.mark.parametrize("row", ROWS)
def test_the_page_has_what_is_left(row, tmp_path):
    names = BLOCKS[row if row in BLOCKS else row.split(",")[0]]
    own, a_stage, *_ = [*(int(n) for n in re.findall(r"\d", ROWS[row])), 0]
    if "stage" in ROWS[row]:
        own, a_stage = (own, a_stage) if "," in ROWS[row] else (0, own)
    for name in names:
        assert len(moves_of(name, tmp_path)) == own + a_stage == BODIES[name][1], name


def dimensions(order: np.ndarray) -> int:
    """The fewest dimensions of a transpose that brings 0, 1, 2, ... into the order."""
    count = 0
    while len(order) > 1:
        step = order[1] - order[0]
        steps = np.diff(order) == step
        run = len(order) if steps.all() else int(np.argmin(steps)) + 1
        assert (order.reshape(-1, run) == order[::run, None] + step * np.arange(run)).all()
        order, count = order[::run], count + 1
    return count


def both(first, second) -> np.ndarray:
    """The order that two moves make together, with a reshape in between."""
    (shape, perm), (then, last) = first, second
    count = math.prod(then)
    widened = (*shape[:-1], count // math.prod(shape[:-1]))  # a layer in between changes channels
    moved = np.arange(count).reshape(widened).transpose(perm)
    return moved.reshape(then).transpose(last).ravel()


def test_one_move_for_both_would_have_more_dimensions_than_litert_moves(tmp_path):
    patches, heads, back = moves_of("MobileViT", tmp_path)
    assert dimensions(both(patches, heads)) == 7 > MOST_DIMENSIONS
    for shape, perm in (patches, heads, back):
        assert dimensions(np.arange(math.prod(shape)).reshape(shape).transpose(perm).ravel()) <= 5


@pytest.mark.parametrize("name", ["Swin", "Swin of shifted windows", "DaViT"])
def test_windows_behind_heads_are_six_dimensions(name, tmp_path):
    (shape, perm), _ = moves_of(name, tmp_path)
    order = np.arange(math.prod(shape)).reshape(shape).transpose(perm).ravel()
    assert dimensions(order) == 6 == MOST_DIMENSIONS
    windows_first = order.reshape(3, HEADS, windows.COUNT, -1).transpose(0, 2, 1, 3)
    assert dimensions(windows_first.ravel()) == 7


@pytest.mark.parametrize("name", ["Swin", "TinyViT"])
def test_windows_need_a_move_to_them_and_one_back(name, tmp_path):
    """Products read and give the tokens of a window side by side: in no order is that an image.

    Windows and heads may come in any order, and so may the tokens of a window.
    """
    moves = moves_of(name, tmp_path)
    pixels = np.arange(H * W)
    parted = pixels.reshape(windows.ROWS, windows.HIGH, windows.COLUMNS, windows.WIDE)
    for order in ((0, 2), (2, 0)):
        for tokens in ((1, 3), (3, 1)):
            assert (parted.transpose(*order, *tokens).ravel() != pixels).any()
    assert len(moves) == 2


@pytest.mark.parametrize("name", [name for name in BODIES if name.startswith("Swin")])
def test_tflm_runs_windows_whose_moves_are_in_parts(name, tmp_path):
    graph = left_of(name, tmp_path)
    x = np.random.default_rng(0).normal(size=graph.input_values[0].shape).astype(np.float32)
    want = Model(graph)(x)
    found = run_tflm(lower_for(graph, "tflm"), [x])
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("name", ["EfficientFormerV2 of mixed heads", "CaiT"])
def test_heads_are_mixed_as_they_lie(name, tmp_path):
    """Each new head of either layer by a window over the old ones; queries and keys are turned."""
    graph, tokens = left_of(name, tmp_path), H * W
    mixing = [n for n in graph.nodes if n.op == "depthwise_conv2d"]
    mixing = [n for n in mixing if graph.value(n.inputs[1]).shape == (1, HEADS, 1, 8)]
    assert len(mixing) == 2 * HEADS
    assert {graph.value(n.inputs[0]).shape for n in mixing} == {(1, HEADS, tokens**2 // 8, 8)}
    *_, softmax = (n for n in graph.nodes if n.op == "softmax")
    assert graph.value(softmax.output).shape == (1, HEADS, tokens, tokens)
    (turn,) = (n for n in graph.nodes if n.op == "transpose")
    assert graph.nodes.index(turn) < graph.nodes.index(mixing[0])


def test_keys_are_turned_for_the_softmax_over_tokens_alone(tmp_path):
    graph = left_of("CoaT", tmp_path)
    (turn,) = (n for n in graph.nodes if n.op == "transpose")
    assert graph.value(turn.output).shape[-1] == H * W + 1
    cuts = [n for reader in graph.consumers(turn.output) for n in graph.consumers(reader.output)]
    shapes = [graph.consumers(n.output)[0] for n in cuts]
    assert [n.op for shape in shapes for n in graph.consumers(shape.output)] == ["softmax"] * HEADS


@pytest.mark.slow
def test_whole_networks_of_torch_need_no_more(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tinyrt[torch]'")
    from tests import onnx_torch
    from tests.convert.torch_bodies import BODIES as NETWORKS

    for name, (make, transposes) in NETWORKS.items():
        path = tmp_path / f"{name}.onnx"
        onnx_torch.export(make, path, dynamo=False)
        graph, _ = assert_matches(path)
        assert count(graph, "transpose") <= transposes, name
