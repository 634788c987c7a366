"""File systems without locks or swaps, disks that cannot be read, and others at work meanwhile."""

import errno
import fcntl
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.faults.test_writes import NEW, OLD, is_clean, tree
from tinyrt import cache, files, folders
from tinyrt.errors import OutputError
from tinyrt.files import unfinished_folder, write_atomic
from tinyrt.folders import MANIFEST, write_folder

ABANDONED = ".tinyrt-0123456789abcdef"


def holds_new(folder, *others):
    """Whether the folder holds the new export and other files, whole."""
    found = tree(folder)
    assert set(found) == {*NEW, MANIFEST, *others}
    assert {n: found[n].decode() for n in NEW} == NEW
    assert is_clean(folder.parent)


def is_open(handle, status):
    """Whether the handle is still that file's: another may have its number by now."""
    try:
        return os.path.samestat(os.fstat(handle), status)
    except OSError:
        return False


@pytest.fixture
def exported(tmp_path):
    """A folder with an earlier export and a file of somebody else."""
    write_folder(tmp_path / "c", OLD)
    (tmp_path / "c" / "notes.txt").write_text("mine")
    return tmp_path / "c"


def test_without_locks_files_and_folders_are_written_all_the_same(exported, monkeypatch):
    def refuse(handle, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    write_folder(exported, NEW)
    holds_new(exported, "notes.txt")
    write_atomic(exported / "notes.txt", lambda file: file.write(b"new"))
    assert (exported / "notes.txt").read_text() == "new"


@pytest.mark.parametrize("swap", [None, lambda *names: -1], ids=["no such call", "refused"])
def test_without_a_swap_files_are_moved_one_by_one(exported, monkeypatch, swap):
    inode = exported.stat().st_ino
    of_libc = folders._of_libc
    monkeypatch.setattr(
        folders, "_of_libc", lambda name: swap if name == "renameat2" else of_libc(name)
    )
    write_folder(exported, NEW)
    holds_new(exported, "notes.txt")
    assert exported.stat().st_ino == inode


@pytest.mark.parametrize("syncfs", [None, lambda handle: -1], ids=["no such call", "refused"])
def test_without_one_flush_for_all_each_file_and_folder_is_flushed(tmp_path, monkeypatch, syncfs):
    flushed = set()
    fsync = os.fsync
    of_libc = folders._of_libc

    def noting(handle):
        flushed.add(os.fstat(handle).st_ino)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noting)
    monkeypatch.setattr(
        folders, "_of_libc", lambda name: syncfs if name == "syncfs" else of_libc(name)
    )
    write_folder(tmp_path / "c", NEW)
    written = [tmp_path / "c", *(tmp_path / "c").rglob("*")]
    assert len(written) == len(NEW) + 3  # the files, the manifest, and two folders
    assert {path.stat().st_ino for path in written} <= flushed


@pytest.mark.parametrize("what", ["folders", "files"])
def test_folders_that_cannot_be_flushed_are_no_reason_to_fail(tmp_path, monkeypatch, what):
    """Files that cannot be are one: they may be lost."""
    path, refused = tmp_path / "a", []

    def refuse(handle):
        status = os.fstat(handle)
        if (what == "folders") is stat.S_ISDIR(status.st_mode):
            refused.append((handle, status))
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    files.write_text(path, "old")
    monkeypatch.setattr(os, "fsync", refuse)
    if what == "folders":
        files.write_text(path, "new")
    else:
        with pytest.raises(OutputError, match=os.strerror(errno.EINVAL)):
            files.write_text(path, "new")
    assert path.read_text() == ("new" if what == "folders" else "old")
    assert is_clean(tmp_path)
    ((handle, status),) = refused
    assert not is_open(handle, status)


def test_a_folder_is_flushed_and_let_go_of(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append((handle, os.fstat(handle))))
    files.sync_folder(tmp_path)
    ((handle, status),) = flushed
    assert os.path.samestat(status, tmp_path.stat())
    assert not is_open(handle, status)


def test_a_folder_that_another_export_makes_first_is_replaced(tmp_path, monkeypatch):
    write_all = folders._write_all

    def after_another(*arguments):
        monkeypatch.setattr(folders, "_write_all", write_all)
        write_folder(tmp_path / "c", OLD)
        write_all(*arguments)

    monkeypatch.setattr(folders, "_write_all", after_another)
    write_folder(tmp_path / "c", NEW)
    holds_new(tmp_path / "c")


def test_files_that_others_write_during_an_export_are_kept(exported, monkeypatch):
    swap = folders._swap

    def after_another(one, other):
        for name in ("late.txt", "build/late.o", "notes.txt"):
            write = exported / name
            write.parent.mkdir(exist_ok=True)
            # As editors save: a new file in the place of the old one.
            write_atomic(write, lambda file, name=name: file.write(name.encode()))
        swap(one, other)

    monkeypatch.setattr(folders, "_swap", after_another)
    write_folder(exported, NEW)
    holds_new(exported, "late.txt", "build/late.o", "notes.txt")
    assert (exported / "notes.txt").read_text() == "notes.txt"
    assert (exported / "build" / "late.o").read_text() == "build/late.o"


@pytest.mark.parametrize("permitted", [True, False])
def test_a_folder_keeps_its_group(exported, monkeypatch, permitted):
    """The new folder gets the group of the old; where it cannot, the old one stays."""
    inode, group = exported.stat().st_ino, exported.stat().st_gid + 1
    status, given = Path.stat, []

    def of_another_group(path, **options):
        found = status(path, **options)
        return os.stat_result((*found[:5], group, *found[6:])) if found.st_ino == inode else found

    def chown(path, owner, group):
        given.append((owner, group))
        if not permitted:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "chown", chown)
    monkeypatch.setattr(Path, "stat", of_another_group)
    write_folder(exported, NEW)
    monkeypatch.undo()
    holds_new(exported, "notes.txt")
    assert given == [(exported.stat().st_uid, group)]
    assert (exported.stat().st_ino == inode) is not permitted


def test_unfinished_files_of_other_users_are_left_alone(tmp_path, monkeypatch):
    (tmp_path / ABANDONED).write_bytes(b"theirs")
    monkeypatch.setattr(os, "geteuid", lambda: (tmp_path / ABANDONED).stat().st_uid + 1)
    write_atomic(tmp_path / "file", lambda file: file.write(b"mine"))
    assert tree(tmp_path) == {ABANDONED: b"theirs", "file": b"mine"}


def test_names_that_only_begin_like_those_of_unfinished_files_are_of_others(exported):
    (exported / f"{ABANDONED}.bak").write_bytes(b"mine")
    write_folder(exported, NEW)
    holds_new(exported, "notes.txt", f"{ABANDONED}.bak")
    write_atomic(exported / "notes.txt", lambda file: file.write(b"new"))
    assert (exported / f"{ABANDONED}.bak").read_bytes() == b"mine"


def test_what_another_process_has_open_is_its_own(tmp_path):
    with (
        (tmp_path / "theirs").open("wb") as file,
        subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=file) as other,
    ):
        write_atomic(f"/proc/{other.pid}/fd/1", lambda out: out.write(b"for them"))
        other.stdin.close()
    assert (tmp_path / "theirs").read_bytes() == b"for them"


def taken_once(monkeypatch, owner, name):
    """Before the first call of that name, another writer removes what it takes for abandoned."""
    function = getattr(owner, name)

    def after_removal(path, *others):
        monkeypatch.setattr(owner, name, function)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        return function(path, *others)

    monkeypatch.setattr(owner, name, after_removal)


def test_a_file_that_is_taken_for_abandoned_is_begun_again(tmp_path, monkeypatch):
    taken_once(monkeypatch, files, "_hold")
    write_atomic(tmp_path / "file", lambda file: file.write(b"new"))
    assert tree(tmp_path) == {"file": b"new"}


@pytest.mark.parametrize(
    ("owner", "name"),
    [(Path, "chmod"), (os, "open"), (files, "_hold")],
    ids=["made", "made private", "opened"],
)
def test_a_folder_that_is_taken_for_abandoned_is_begun_again(tmp_path, monkeypatch, owner, name):
    taken_once(monkeypatch, owner, name)
    monkeypatch.setattr(files, "remove_abandoned", lambda folder: None)
    with unfinished_folder(tmp_path) as folder:
        (folder / "file").write_bytes(b"new")
    assert tree(tmp_path) == {}
    write_folder(tmp_path / "c", NEW)
    holds_new(tmp_path / "c")


def test_an_entry_that_the_disk_cannot_read_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path))
    cache.keep("native", "entry", b"built")
    assert cache.read_entry("native", "entry") == b"built"

    def refuse(*arguments):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", refuse)
    assert cache.read_entry("native", "entry") is None
