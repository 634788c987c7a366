"""Blocks of public architectures: how many transposes and ops are left of them."""

import re

import pytest

from tests.convert.bodies import BODIES, Body, H, W
from tests.convert.onnx_build import assert_matches, count
from tests.docs.pages import rows_of


@pytest.mark.parametrize("name", BODIES)
def test_no_more_moves_than_it_needs(name, tmp_path):
    block, transposes, ops = BODIES[name]
    model = Body()
    x = model.relu(model.conv(model.input(1, 3, H, W), 3, 8, 3))
    graph, _ = assert_matches(model.save(tmp_path, block(model, x)))
    found = [node.op for node in graph.nodes]
    assert count(graph, "transpose") <= transposes, found
    assert len(found) <= ops, found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("MultiheadAttention", "1"),
        ("MobileViT", "1, and 2 a stage"),
        ("MobileViTv2", "2 a stage"),
        ("YOLO11", "2"),
    ],
)
def test_the_page_has_what_is_left(name, said):
    rows = rows_of("convert.md", "block | transposes")
    (count,) = [count for blocks, count, _ in rows if re.search(rf"\b{name}\b", blocks)]
    assert count == said
    (needed,) = [BODIES[block][1] for block in BODIES if block.split("'")[0] == name]
    own, rest, *_ = [*(int(n) for n in re.findall(r"\d", said)), 0]
    assert needed == own + rest * ("stage" in said)


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
