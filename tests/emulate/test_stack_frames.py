"""Stack frames from the compiler's call graph files."""

import pytest

from tinyrt.emulate.stack import _frames


def node(title, nbytes, kind="static"):
    return f'node: {{ title: "{title}" label: "f\\nmodel.c:1:1\\n{nbytes} bytes ({kind})" }}\n'


@pytest.mark.parametrize("sizes", [(8, 40), (40, 8), (40, 8, 24)])
def test_of_static_functions_of_one_name_the_largest_counts(tmp_path, sizes):
    for i, nbytes in enumerate(sizes):
        folder = tmp_path / f"part{i}"
        folder.mkdir()
        (folder / "object.ci").write_text(node(f"part{i}.c:helper", nbytes) + node("main", 4))
    assert _frames(tmp_path) == {"helper": 40, "main": 4}


@pytest.mark.parametrize("first", [True, False])
def test_a_frame_without_a_fixed_size_is_unknown_whatever_else_has_its_name(tmp_path, first):
    nodes = [node("a.c:helper", 16, "dynamic"), node("b.c:helper", 400)]
    (tmp_path / "object.ci").write_text("".join(nodes if first else nodes[::-1]))
    assert _frames(tmp_path) == {"helper": None}


def test_dynamic_frames_with_a_bound_count(tmp_path):
    (tmp_path / "object.ci").write_text(node("main", 32, "dynamic,bounded"))
    assert _frames(tmp_path) == {"main": 32}
