"""A folder exported in another layout has nothing of the last one, and all that is the user's."""

from itertools import pairwise

import pytest

from tests.export.layouts.test_builds import SHAPES
from tests.export.models import dense
from tinyrt import folders
from tinyrt.errors import TinyrtError
from tinyrt.export import ExportOptions, export_graph


def files_of(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def folders_of(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_dir()}


@pytest.mark.parametrize("in_one_step", [True, False])
def test_another_layout_takes_the_place_of_the_last(in_one_step, tmp_path, monkeypatch):
    """Folders go with their last file, and stay with a file or a folder of the user's in them."""
    if not in_one_step:
        monkeypatch.setattr(folders, "_must_stay", lambda goal: True)
    folder, own = tmp_path / "out", "samples/mine/notes.txt"
    (folder / "samples" / "mine").mkdir(parents=True)
    (folder / own).write_text("mine")
    (folder / "zephyr" / "empty").mkdir(parents=True)
    for layout in (*SHAPES, "cmake", *reversed(SHAPES)):
        project = export_graph(
            dense(),
            folder,
            core="rv32imc" if layout == "esp-idf" else "m4",
            options=ExportOptions(layout=layout),
        )
        assert files_of(folder) == {*project.files, own}
        needed = {str(parent) for name in (*project.files, own) for parent in parents(name)}
        assert folders_of(folder) == needed | {"zephyr", "zephyr/empty"}


def parents(name):
    parts = name.split("/")
    return ["/".join(parts[:i]) for i in range(1, len(parts))]


def test_a_file_that_was_changed_stays(tmp_path):
    folder = tmp_path / "out"
    export_graph(dense(), folder, options=ExportOptions(layout="zephyr"))
    changed = folder / "samples" / "net" / "src" / "main.c"
    changed.write_text("int main(void) { return 0; }\n")
    project = export_graph(dense(), folder, options=ExportOptions(layout="arduino"))
    assert files_of(folder) == {*project.files, "samples/net/src/main.c"}


@pytest.mark.parametrize("in_one_step", [True, False])
def test_a_folder_that_is_a_link_keeps_what_it_leads_to(in_one_step, tmp_path, monkeypatch):
    """What lies behind it is nobody's to remove, however deep below."""
    if not in_one_step:
        monkeypatch.setattr(folders, "_must_stay", lambda goal: True)
    folder = tmp_path / "out"
    export_graph(dense(), folder, options=ExportOptions(layout="zephyr"))
    (folder / "samples").rename(tmp_path / "elsewhere")
    (folder / "samples").symlink_to(tmp_path / "elsewhere")
    export_graph(dense(), folder, options=ExportOptions(layout="cmake"))
    assert (tmp_path / "elsewhere" / "net" / "src" / "main.c").is_file()


def test_folders_that_are_needed_again_stay_as_they_are(tmp_path):
    folder = tmp_path / "out"
    export_graph(dense(), folder, options=ExportOptions(layout="zephyr"))
    (folder / "src" / "tinyrt").chmod(0o750)
    export_graph(dense(), folder, options=ExportOptions(layout="arduino"))
    assert (folder / "src" / "tinyrt").stat().st_mode & 0o777 == 0o750


def test_headers_of_an_export_that_was_interrupted_do_not_compile(tmp_path, monkeypatch):
    folder = tmp_path / "out"
    export_graph(dense(), folder, options=ExportOptions(layout="zephyr"))

    def fail(folder):
        raise OSError("no power")

    with monkeypatch.context() as patch:
        patch.setattr(folders, "_must_stay", lambda goal: True)
        patch.setattr(folders, "sync_folder", fail)
        with pytest.raises(TinyrtError, match="no power"):
            export_graph(dense(), folder, options=ExportOptions(layout="arduino"))
    headers = list((folder / "src").rglob("*.h"))
    assert len(headers) > 2
    assert {header.read_bytes() for header in headers} == {folders.INTERRUPTED}
    project = export_graph(dense(), folder, options=ExportOptions(layout="arduino"))
    assert files_of(folder) == set(project.files)


def test_a_file_where_a_folder_is_needed_is_named(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "samples").write_text("a file")
    with pytest.raises(Exception, match="'samples' is not a folder"):
        export_graph(dense(), folder, options=ExportOptions(layout="zephyr"))
    assert files_of(folder) == {"samples"}


def test_layouts_have_identities_of_their_own(tmp_path):
    found = [
        export_graph(
            dense(), tmp_path / layout, core="rv32imc", options=ExportOptions(layout=layout)
        ).identity
        for layout in ("cmake", "arduino", "platformio", "zephyr", "esp-idf")
    ]
    assert all(one != other for one, other in pairwise(sorted(found)))
