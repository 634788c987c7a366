"""Files moved into a folder one after the other, and the files of others beside them."""

import json
import os
import threading
from pathlib import Path

import pytest

from tests.faults.test_writes import NEW, OLD, is_clean, tree
from tinyrt import folders
from tinyrt.errors import OutputError
from tinyrt.folders import INTERRUPTED, MANIFEST, write_folder

SPDX = "SPDX-License-Identifier"


@pytest.fixture
def goal(tmp_path):
    write_folder(tmp_path / "c", OLD)
    return tmp_path / "c"


def inode(path):
    return path.stat().st_ino


def test_each_step_is_on_disk_before_the_next_one_begins(goal, monkeypatch):
    """Headers say #error first, then all else is new, then headers are, then the manifest is."""
    steps = []
    sync = folders.sync_folder

    def noting(folder):
        if folder == goal:
            steps.append(tree(goal))
        sync(folder)

    monkeypatch.setattr(folders, "_must_stay", lambda goal: True)
    monkeypatch.setattr(folders, "sync_folder", noting)
    write_folder(goal, NEW)
    begun, moved, done = (
        {name: content for name, content in step.items() if not name.startswith(".tinyrt-")}
        for step in steps
    )
    headers = {"net.h": INTERRUPTED, "new.h": INTERRUPTED}
    old = {name: text.encode() for name, text in OLD.items()}
    new = {name: text.encode() for name, text in NEW.items()}
    both, last = (json.loads(step.pop(MANIFEST)) for step in (begun, done))
    assert moved.pop(MANIFEST)
    assert begun == old | headers
    assert moved == new | headers
    assert done == new
    assert set(both) == {SPDX, "written_by", "files", "before"}
    assert (set(both["files"]), set(both["before"])) == (set(NEW), set(OLD))
    assert set(last) == {SPDX, "written_by", "files"}
    assert last["written_by"] == "tinyrt"
    assert list(last["files"]) == sorted(NEW)


def test_after_an_interruption_files_of_both_times_are_tinyrts(goal, monkeypatch):
    """What was half done is finished, and nothing of it is left over."""

    def stop(folder):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(folders, "_must_stay", lambda goal: True)
        patch.setattr(folders, "sync_folder", stop)
        with pytest.raises(KeyboardInterrupt):
            write_folder(goal, NEW)
    assert tree(goal)["net.h"] == INTERRUPTED
    write_folder(goal, {"last.c": "last"})
    assert set(tree(goal)) == {"last.c", MANIFEST}


@pytest.mark.parametrize(("most", "is_same"), [(5, False), (4, True)])
def test_with_very_many_files_of_others_the_folder_stays(goal, monkeypatch, most, is_same):
    """Three files and two folders are linked."""
    monkeypatch.setattr(folders, "MAX_OTHERS", most)
    (goal / "mine").mkdir()
    for i in range(3):
        (goal / "mine" / f"{i}.txt").write_text("mine")
    before = inode(goal)
    write_folder(goal, NEW)
    assert (inode(goal) == before) is is_same
    assert set(tree(goal)) == {*NEW, *(f"mine/{i}.txt" for i in range(3)), MANIFEST}
    assert is_clean(goal.parent)


def test_files_of_others_stay_the_same_ones_with_their_links_and_modes(goal):
    (goal / "mine").mkdir(mode=0o750)
    (goal / "mine" / "a.txt").write_text("mine")
    (goal / "mine" / ".tinyrt-notes").write_text("mine")
    (goal / "mine" / "link").symlink_to("nowhere")
    (goal / "tinyrt" / "mine.h").write_text("mine")
    before = inode(goal / "mine" / "a.txt")
    write_folder(goal, NEW)
    assert inode(goal / "mine" / "a.txt") == before
    assert (goal / "mine" / "link").readlink() == Path("nowhere")
    assert (goal / "mine").stat().st_mode & 0o777 == 0o750
    assert (goal / "mine" / ".tinyrt-notes").exists()
    assert (goal / "tinyrt" / "mine.h").exists()


@pytest.mark.parametrize("inside", ["c", "c/tinyrt"])
def test_a_folder_in_which_or_below_which_somebody_works_stays(goal, monkeypatch, inside):
    before = inode(goal)
    monkeypatch.chdir(goal.parent / inside)
    write_folder(goal, NEW)
    assert inode(goal) == before
    monkeypatch.chdir(goal.parent)
    write_folder(goal, OLD)
    assert inode(goal) != before


def test_where_others_keep_a_folder_that_cannot_be_emptied_the_folder_stays(goal, monkeypatch):
    """Its old half could not be removed once the two had changed places."""
    (goal / "mine").mkdir()
    (goal / "mine" / "a.txt").write_text("mine")
    access, before = os.access, inode(goal)

    def refusing(path, mode):
        return Path(path).name != "mine" and access(path, mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "access", refusing)
        write_folder(goal, NEW)
    assert inode(goal) == before
    assert set(tree(goal)) == {*NEW, "mine/a.txt", MANIFEST}
    assert is_clean(goal.parent)
    write_folder(goal, OLD)
    assert inode(goal) != before


def test_folders_that_held_stale_files_alone_go_with_them(tmp_path, monkeypatch):
    write_folder(tmp_path / "c", {"a/b/old.c": "old", "d/e/old.c": "old"})
    (tmp_path / "c" / "d" / "mine").write_text("mine")
    monkeypatch.setattr(folders, "_must_stay", lambda goal: True)
    write_folder(tmp_path / "c", NEW)
    assert not (tmp_path / "c" / "a").exists()
    assert set(tree(tmp_path / "c")) == {*NEW, "d/mine", MANIFEST}


def test_a_stale_file_that_is_a_link_now_is_left_alone(goal, tmp_path):
    (tmp_path / "kept").write_text("of old only")
    (goal / "other.c").unlink()
    (goal / "other.c").symlink_to("../kept")
    write_folder(goal, NEW)
    assert (goal / "other.c").is_symlink()
    assert (tmp_path / "kept").read_text() == "of old only"


def test_a_link_to_a_folder_gives_way_to_a_file(goal, tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine").write_text("mine")
    for name in NEW:
        (goal / name).unlink(missing_ok=True)
    name = next(name for name in NEW if "/" not in name)
    (goal / name).symlink_to("../kept")
    write_folder(goal, NEW)
    assert not (goal / name).is_symlink()
    assert set(tree(goal)) >= set(NEW)
    assert (tmp_path / "kept" / "mine").read_text() == "mine"


def test_what_lies_far_below_a_link_is_left_alone(tmp_path, monkeypatch):
    write_folder(tmp_path / "c", {"a/b/old.c": "old"})
    (tmp_path / "c" / "a").rename(tmp_path / "kept")
    (tmp_path / "c" / "a").symlink_to("../kept")
    monkeypatch.setattr(folders, "_must_stay", lambda goal: True)
    write_folder(tmp_path / "c", NEW)
    assert (tmp_path / "kept" / "b" / "old.c").read_text() == "old"


def test_a_file_in_place_of_an_outer_folder_is_named_before_anything_changes(goal):
    (goal / "a").write_text("mine")
    before = tree(goal)
    with pytest.raises(OutputError, match="'a' is not a folder"):
        write_folder(goal, NEW | {"a/b/deep.h": "new"})
    assert tree(goal) == before


def test_a_manifest_that_is_very_long_is_not_read(goal, monkeypatch):
    monkeypatch.setattr(folders, "_MAX_MANIFEST", (goal / MANIFEST).stat().st_size)
    assert set(folders._read_manifest(goal)) == set(OLD)
    monkeypatch.setattr(folders, "_MAX_MANIFEST", (goal / MANIFEST).stat().st_size - 1)
    assert folders._read_manifest(goal) == {}


def test_another_export_is_waited_for(goal, monkeypatch):
    waits, locks = [], iter([False, False, True])
    monkeypatch.setattr(folders, "_try_lock", lambda handle: next(locks))
    monkeypatch.setattr(folders.time, "sleep", waits.append)
    write_folder(goal, NEW)
    assert len(waits) == 2
    assert set(tree(goal)) == {*NEW, MANIFEST}


def test_a_lock_that_another_holds_is_not_had(goal):
    handles = [os.open(goal, os.O_RDONLY | os.O_DIRECTORY) for _ in range(2)]
    try:
        assert folders._try_lock(handles[0])
        assert not folders._try_lock(handles[1])
    finally:
        for handle in handles:
            os.close(handle)


def test_a_folder_that_went_away_while_it_was_waited_for_is_looked_up_anew(goal, monkeypatch):
    """The lock of a folder that was swapped away keeps nobody out of the new one."""
    lock, moved = folders._try_lock, []

    def after_another(handle):
        if not moved:
            moved.append(goal.rename(goal.with_name("old")))
            write_folder(goal, {"meanwhile.c": ""})
        return lock(handle)

    monkeypatch.setattr(folders, "_try_lock", after_another)
    write_folder(goal, NEW)
    assert set(tree(goal)) == {*NEW, MANIFEST}
    assert set(tree(moved[0])) == {*OLD, MANIFEST}


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write the C project") as caught:
        write_folder(tmp_path / "file" / "c", NEW)
    assert caught.value.file == str(tmp_path / "file" / "c")


def test_a_pipe_where_the_folder_should_be_is_refused_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "c")
    said = []

    def write():
        try:
            write_folder(tmp_path / "c", OLD)
        except OutputError as error:
            said.append(str(error))

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    thread.join(10)
    assert len(said) == 1
    assert "Not a directory" in said[0]
