"""At whatever write a machine fails: the old file or the new one, whole, and nothing beside it."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.export.models import dense
from tests.faults.machine import Fault, kill_child, operations_of, run_with
from tests.graphs import small_cnn
from tests.sampling import sampled
from tinyrt import cache, folders
from tinyrt.cli.app import app
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.data import save_npz
from tinyrt.errors import OutputError, TinyrtError
from tinyrt.files import UNFINISHED, scratch_folder, write_atomic
from tinyrt.folders import INTERRUPTED, MANIFEST, write_folder

OLD = {"net.c": "old", "net.h": "old header", "other.c": "of old only", "tinyrt/kernel.c": "old"}
NEW = {"net.c": "new", "net.h": "new header", "new.h": "another", "tinyrt/kernel.c": "new"}


def tree(folder):
    """Name -> content of all files below."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def is_clean(folder):
    return not [p for p in folder.rglob("*") if UNFINISHED.fullmatch(p.name)]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder, and a temporary directory beside it."""
    for name in ("place", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "place"


def check_every_write(action, place, holds, step=1, others=1):
    """Every fault at every operation, from the same start.

    Args:
        action: what writes.
        place: the folder that it writes to.
        holds: told what the folder holds, whether that may be, beside what was there before.
        step: 2 for kills at every second operation only.
        others: the same for other faults.

    """
    before = tree(place)
    operations = len(operations_of(action))
    after = tree(place)
    assert holds(after)
    assert operations >= 4
    for fault in Fault:
        for at in range(1, operations + 1, step if fault is Fault.KILL else others):
            restore(place, before)
            outcome = run_with(action, at, fault)
            found = {n: c for n, c in tree(place).items() if not _is_unfinished(n)}
            where = f"{fault} at {at} of {operations}: {outcome}"
            assert found == before or holds(found), where
            if outcome.error is None and not outcome.killed:
                assert found == after, where
            elif outcome.error is not None:
                assert "cannot" in outcome.error, where
                assert "try:" in outcome.error, where
            if fault is Fault.FULL:
                assert is_clean(place.parent), where
            if at % 4 == 1:
                action()
                assert tree(place) == after, where
                assert is_clean(place.parent), where
    for at in range(2, operations + 1, operations // 2):
        restore(place, before)
        kill_child(action, at)
        action()
        assert tree(place) == after, at
        assert is_clean(place.parent), at
    restore(place, before)


def _is_unfinished(name):
    return any(UNFINISHED.fullmatch(part) for part in Path(name).parts)


def restore(place, files):
    for path in sorted(place.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)


@pytest.mark.parametrize("there", [False, True])
def test_a_file(place, there):
    if there:
        (place / "file").write_bytes(b"old")
    content = os.urandom(20_000)

    def action():
        write_atomic(place / "file", lambda file: [file.write(content) for _ in range(3)])

    check_every_write(action, place, lambda found: found == {"file": content * 3})


def test_contents_are_on_disk_before_they_have_a_name(place):
    """And names before it is said that all is done."""
    names = operations_of(lambda: write_atomic(place / "file", lambda file: file.write(b"x")))
    assert names[-5:-1] == ("write", "fsync", "replace", "fsync")
    for how in ("rename", "swap"):
        names = operations_of(lambda: write_folder(place / "c", NEW))
        last_write = max(i for i, name in enumerate(names) if name == "write")
        assert last_write < names.index("fsync") < names.index(how)


def test_an_array_file(place):
    def action():
        save_npz(place / "out.npz", {"x": np.arange(5000), "y": np.zeros(3)})

    check_every_write(action, place, lambda found: set(found) == {"out.npz"})


def test_a_cache_entry(place, monkeypatch):
    monkeypatch.setenv("TINYRT_CACHE", str(place / "cache"))
    content = b"built" * 1000

    def action():
        cache.keep("native", "entry", content)

    def holds(found):
        return not found or cache.read_entry("native", "entry") == content

    check_every_write(action, place, holds)


def test_a_folder_that_is_new(place):
    def action():
        write_folder(place / "c", NEW)

    check_every_write(action, place, lambda found: len(found) == 5)


def used(place):
    """A folder with an earlier export, and with files of others."""
    write_folder(place / "c", OLD)
    (place / "c" / "build").mkdir()
    (place / "c" / "build" / "net.o").write_bytes(b"object")
    (place / "c" / "notes.txt").write_bytes(b"mine")


def is_new(found):
    """Whether the folder holds the new export and the others' files, and nothing else."""
    found = dict(found)
    found.pop(f"c/{MANIFEST}", None)
    others = {"c/build/net.o": b"object", "c/notes.txt": b"mine"}
    return found == {f"c/{n}": text.encode() for n, text in NEW.items()} | others


def test_a_folder_that_is_used_is_replaced_in_one_step(place):
    used(place)
    check_every_write(lambda: write_folder(place / "c", NEW), place, is_new, others=3)


@pytest.mark.slow
def test_where_folders_cannot_change_places_nothing_mixed_is_compiled(place, monkeypatch):
    """Old, new, or with headers that say that they are neither."""
    used(place)
    monkeypatch.setattr(folders, "_must_stay", lambda goal: True)
    old = tree(place)

    def holds(found):
        if INTERRUPTED in (found.get("c/net.h"), found.get("c/new.h")):
            return True
        if found["c/net.h"] == b"old header":
            return found | {f"c/{MANIFEST}": old[f"c/{MANIFEST}"]} == old
        return is_new(found)

    check_every_write(lambda: write_folder(place / "c", NEW), place, holds, others=3)


# The commands


@pytest.fixture
def models(tmp_path):
    save_tflite(small_cnn(), tmp_path / "net.tflite")
    save_tflite(dense(), tmp_path / "q.tflite")
    x = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype(np.float32)
    np.savez(tmp_path / "cnn.npz", x=x)
    np.savez(tmp_path / "dense.npz", x=np.zeros((2, 4), np.int8))
    return tmp_path


COMMANDS = {
    "convert": ("convert", "net.tflite", "-o", "place/out"),
    "quantize": ("quantize", "net.tflite", "-c", "cnn.npz", "-o", "place/out", "--preset", "fast"),
    "run": ("run", "q.tflite", "-i", "dense.npz", "-o", "place/out", "--backend", "reference"),
    "inspect": ("inspect", "q.tflite", "--html", "place/out"),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", sampled([*COMMANDS][:3], COMMANDS))
def test_commands_write_all_or_nothing(place, models, command, monkeypatch):
    monkeypatch.chdir(models)
    (place / "out").write_bytes(b"old")
    # In this process once, so that children find everything imported.
    assert CliRunner().invoke(app, COMMANDS[command]).exit_code == 0
    (place / "out").write_bytes(b"old")

    def action():
        result = CliRunner().invoke(app, COMMANDS[command])
        assert isinstance(result.exception, SystemExit | None), result.output
        if result.exit_code:
            assert result.exit_code == 1, result.output
            assert len(result.stderr.splitlines()) <= 12
            raise TinyrtError(result.stderr)

    check_every_write(
        action, place, lambda f: set(f) == {"out"} and f["out"] != b"old", 3, sampled(3, 1)
    )


# Devices, links, permissions, others


def test_devices_pipes_and_open_files_are_written_to(tmp_path):
    with pytest.raises(OutputError, match="No space left"):
        write_atomic("/dev/full", lambda file: file.write(b"x"))
    assert Path("/dev/full").is_char_device()
    write_atomic("/dev/null", lambda file: file.write(b"x"))
    assert Path("/dev/null").is_char_device()
    reading, writing = os.pipe()
    write_atomic(f"/dev/fd/{writing}", lambda file: file.write(b"through"))
    assert os.read(reading, 99) == b"through"
    os.mkfifo(tmp_path / "fifo")
    handle = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    write_atomic(tmp_path / "fifo", lambda file: file.write(b"fifo"))
    assert os.read(handle, 99) == b"fifo"
    assert (tmp_path / "fifo").is_fifo()
    with (tmp_path / "open").open("wb", buffering=0) as file:
        file.write(b"before ")
        write_atomic(f"/proc/self/fd/{file.fileno()}", lambda out: out.write(b"and "))
        file.write(b"after")
    assert (tmp_path / "open").read_bytes() == b"before and after"
    for opened in (handle, reading, writing):
        os.close(opened)


def test_links_are_followed_and_stay(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"old")
    (tmp_path / "one").symlink_to("deep/two")
    (tmp_path / "deep" / "two").symlink_to("file")
    write_atomic(tmp_path / "one", lambda file: file.write(b"new"))
    assert (tmp_path / "deep" / "file").read_bytes() == b"new"
    assert (tmp_path / "one").is_symlink()
    assert (tmp_path / "deep" / "two").is_symlink()
    (tmp_path / "dangling").symlink_to("deep/made")
    write_atomic(tmp_path / "dangling", lambda file: file.write(b"made"))
    assert (tmp_path / "deep" / "made").read_bytes() == b"made"
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OutputError, match="symbolic links"):
        write_atomic(tmp_path / "round", lambda file: file.write(b"x"))
    (tmp_path / "link").symlink_to("deep")
    write_folder(tmp_path / "link", NEW)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "deep" / "net.c").read_text() == "new"


def test_permissions_are_the_umasks_or_those_that_were_there(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "new", lambda file: file.write(b"x"))
        write_folder(tmp_path / "c", NEW)
    finally:
        os.umask(before)
    (tmp_path / "old").write_bytes(b"")
    (tmp_path / "old").chmod(0o604)
    write_atomic(tmp_path / "old", lambda file: file.write(b"x"))
    modes = [(tmp_path / n).stat().st_mode & 0o777 for n in ("new", "c", "c/net.c", "old")]
    assert modes == [0o640, 0o750, 0o640, 0o604]
    (tmp_path / "old").chmod(0o6755)
    write_atomic(tmp_path / "old", lambda file: file.write(b"y"))
    assert (tmp_path / "old").stat().st_mode & 0o7777 == 0o755, "others' rights are not passed on"
    (tmp_path / "c").chmod(0o705)
    write_folder(tmp_path / "c", OLD)
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o705


@pytest.mark.slow
def test_two_writers_do_not_disturb_each_other(place):
    """Files and folders are one writer's or the other's, and what a living one writes stays."""

    def write(name):
        for _ in range(30):
            write_atomic(place / "file", lambda file: file.write(name.encode() * 50_000))
            write_folder(place / "c", {"net.c": name, "net.h": name, f"{name}.c": name})
        os._exit(0)

    children = []
    for name in ("one", "two"):
        children.append(os.fork())
        if children[-1] == 0:
            write(name)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert (place / "file").read_bytes() in (b"one" * 50_000, b"two" * 50_000)
    name = (place / "c" / "net.c").read_text()
    assert set(tree(place / "c")) == {"net.c", "net.h", f"{name}.c", MANIFEST}
    assert is_clean(place)


def test_only_abandoned_files_of_our_own_are_removed(place):
    mine = place / ".tinyrt-notes"
    mine.write_bytes(b"")
    with scratch_folder() as living:
        abandoned = living.with_name(".tinyrt-0123456789abcdef")
        (abandoned / "in").mkdir(parents=True)
        with scratch_folder():
            assert living.exists()
        assert not abandoned.exists()
    assert not living.exists()
    write_atomic(place / "file", lambda file: file.write(b""))
    assert mine.exists()


def test_a_temporary_directory_that_is_full_is_named(place):
    with pytest.raises(OutputError, match="cannot write") as caught, scratch_folder() as folder:
        write_atomic(folder / "missing" / "file", lambda file: file.write(b""))
    assert "TMPDIR" in str(caught.value)


def test_a_temporary_directory_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    says = "cannot write to the temporary directory"
    with pytest.raises(OutputError, match=says) as caught, scratch_folder():
        pass
    assert "TMPDIR" in str(caught.value)


# What an export owns


def test_an_export_removes_what_it_wrote_before_and_nothing_else(tmp_path):
    write_folder(tmp_path / "c", OLD | {"changed.c": "generated"})
    (tmp_path / "c" / "changed.c").write_text("by hand")
    (tmp_path / "c" / "mine.c").write_text("mine")
    write_folder(tmp_path / "c", NEW)
    assert set(tree(tmp_path / "c")) == {*NEW, "changed.c", "mine.c", MANIFEST}


@pytest.mark.parametrize(
    "manifest",
    [
        '{"files": {"../precious": "%s", "/precious": "%s", "a/../../precious": "%s"}}',
        '{"files": {"link/precious": "%s"}}',
        '{"files": ["net.c"]}',
        "[" * 100_000,
        "no JSON",
    ],
)
def test_a_manifest_is_not_believed_about_other_places(tmp_path, manifest):
    (tmp_path / "precious").write_bytes(b"")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "link").symlink_to("..")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    (tmp_path / "c" / MANIFEST).write_text(manifest.replace("%s", empty))
    write_folder(tmp_path / "c", NEW)
    assert (tmp_path / "precious").exists()


def test_a_folder_that_somebody_works_in_stays_the_same(tmp_path, monkeypatch):
    write_folder(tmp_path / "c", OLD)
    inode = (tmp_path / "c").stat().st_ino
    write_folder(tmp_path / "c", NEW)
    assert (tmp_path / "c").stat().st_ino != inode
    inode = (tmp_path / "c").stat().st_ino
    monkeypatch.chdir(tmp_path / "c")
    write_folder(Path(), OLD)
    assert (tmp_path / "c").stat().st_ino == inode
    assert set(tree(tmp_path / "c")) == {*OLD, MANIFEST}


@pytest.mark.parametrize("name", ["net.c", "tinyrt"])
def test_what_is_in_the_way_is_named_before_anything_changes(tmp_path, name):
    write_folder(tmp_path / "c", {"x.c": ""})
    if name == "tinyrt":
        (tmp_path / "c" / name).write_text("a file")
    else:
        (tmp_path / "c" / name).mkdir()
    before = tree(tmp_path)
    with pytest.raises(OutputError, match=f"'{name}' is"):
        write_folder(tmp_path / "c", NEW)
    assert tree(tmp_path) == before
