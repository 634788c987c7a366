"""Data files and sources: what they hold, in which pieces, and under which names it is written."""

import io
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from tinyrt import data, npz
from tinyrt.budget import MAX_MEMORY, MEMORY_PER_BYTE, Budget, limited
from tinyrt.data import ArrayType, FromFile, InMemory, load_inputs, load_labels, load_npz, save_npz
from tinyrt.errors import BudgetError, DataError
from tinyrt.npy import read_header


def equal(found, expected):
    assert list(found) == list(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


def test_types_know_the_bytes_of_a_row_and_of_all():
    found = ArrayType((5, 2, 3), np.dtype(np.float64))
    assert (found.row_bytes, found.nbytes) == (48, 240)
    assert ArrayType((5,), np.dtype(np.int16)).row_bytes == 2


@pytest.mark.parametrize(("rows", "pieces"), [(1, 5), (2, 3), (5, 1), (9, 1)])
def test_pieces_in_memory_are_those_of_the_file(tmp_path, rows, pieces):
    """Each input has rows of its own number."""
    arrays = {"x": np.arange(10.0).reshape(5, 2), "z": np.arange(15)}
    np.savez(tmp_path / "data.npz", **arrays, y=np.zeros(5))
    memory, file = InMemory(arrays), FromFile(tmp_path / "data.npz")
    assert memory.types == file.types
    assert memory.types["x"] == ArrayType((5, 2), np.dtype(float))
    for source in (memory, file):
        found = list(source.pieces({"x": rows, "z": 3 * rows}))
        assert len(found) == pieces
        for name, array in arrays.items():
            np.testing.assert_array_equal(np.concatenate([p[name] for p in found]), array)
            assert len(found[0][name]) == min(rows * (3 if name == "z" else 1), len(array))


def test_labels_are_apart_from_inputs(tmp_path):
    x, y = np.arange(6.0).reshape(2, 3), np.array([1, 0])
    np.savez(tmp_path / "both.npz", x=x, y=y)
    np.savez(tmp_path / "x.npz", x=x)
    np.save(tmp_path / "x.npy", x)
    equal(load_inputs(tmp_path / "both.npz"), {"x": x})
    equal(load_npz(tmp_path / "both.npz"), {"x": x, "y": y})
    equal(load_npz(tmp_path / "x.npy"), {"x": x})
    np.testing.assert_array_equal(load_labels(tmp_path / "both.npz"), y, strict=True)
    assert load_labels(tmp_path / "x.npz") is load_labels(tmp_path / "x.npy") is None


def test_of_a_number_s_name_the_start_is_told(tmp_path):
    np.savez(tmp_path / "x.npz", first=np.zeros((2, 3)), **{"x" * 61: 1})
    with pytest.raises(DataError, match="single number") as caught:
        load_inputs(tmp_path / "x.npz")
    assert caught.value.tensor == repr("x" * 60)


def test_strings_are_taken_where_they_are_asked_for(tmp_path):
    names = np.array(["ab", "c"])
    np.savez(tmp_path / "text.npz", names=names)
    np.save(tmp_path / "text.npy", names)
    for path in (tmp_path / "text.npz", tmp_path / "text.npy"):
        (found,) = load_npz(path, text=True).values()
        np.testing.assert_array_equal(found, names, strict=True)
        with pytest.raises(DataError, match="holds text"):
            load_npz(path)


def test_a_file_of_other_byte_order_or_dtype_is_another_one(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, x=np.zeros((2, 3), ">f4"))
    source = FromFile(path)
    assert source.types["x"].dtype == np.float32
    np.savez(path, x=np.ones((2, 3), "<f4"))
    np.testing.assert_array_equal(source.whole()["x"], np.ones((2, 3)))
    np.savez(path, x=np.ones((2, 3), "<i4"))
    with pytest.raises(DataError, match="was changed while it was read"):
        next(source.pieces({"x": 1}))


def test_all_samples_take_room_twice_in_the_budget_that_is_given(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((100, 10), np.uint8))
    assert len(FromFile(tmp_path / "x.npy", Budget(2000)).whole()["x"]) == 100
    for action in (
        lambda: FromFile(tmp_path / "x.npy", Budget(1999)).whole(),
        lambda: load_inputs(tmp_path / "x.npy"),
    ):
        with (
            limited(memory=1999),
            pytest.raises(BudgetError, match="all samples at once takes 2,000 bytes"),
        ):
            action()
    with limited(memory=1):
        source = FromFile(tmp_path / "x.npy", Budget(40))
        assert sum(1 for _ in source.pieces({"x": 1})) == 100


def test_each_file_that_is_read_adds_to_the_limit_unless_that_was_given(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(1000))
    size = (tmp_path / "x.npy").stat().st_size
    with limited() as budget:
        load_npz(tmp_path / "x.npy")
        assert budget.memory == MAX_MEMORY + size * MEMORY_PER_BYTE
    with limited(memory=9000) as budget:
        load_npz(tmp_path / "x.npy")
        assert budget.memory == 9000


@pytest.mark.parametrize(("most", "rows"), [(16, 1), (159, 1), (160, 2), (10_000, 4)])
def test_large_samples_come_fewer_at_a_time(tmp_path, monkeypatch, most, rows):
    """A sample of both inputs has 80 bytes."""
    monkeypatch.setattr(data, "PIECE", most)
    np.savez(tmp_path / "x.npz", x=np.zeros((9, 8)), z=np.zeros((9, 2)), y=np.zeros((9, 99)))
    pieces = list(data.read_inputs(tmp_path / "x.npz", 4))
    assert len(pieces[0]["x"]) == len(pieces[0]["z"]) == rows
    assert sum(len(piece["x"]) for piece in pieces) == 9


def test_samples_without_bytes_come_as_they_are(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.zeros((5, 0)))
    assert [len(p["x"]) for p in data.read_inputs(tmp_path / "x.npz", 2)] == [2, 2, 1]


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("x", "x"),
        ("file", "file"),
        ("a/b:0", "a/b:0"),
        ("a..b", "a..b"),
        ("..", "__"),
        ("a/../b", "a/__/b"),
        ("a\\..\\b", "a____b"),
        ("a\nb", "a_b"),
        ("n" * 1000, "n" * 1000),
        ("é", "é"),
    ],
)
def test_a_member_is_called_as_its_array_unless_that_leads_elsewhere(tmp_path, name, member):
    save_npz(tmp_path / "out.npz", {name: np.arange(3)})
    with zipfile.ZipFile(tmp_path / "out.npz") as archive:
        assert archive.namelist() == [f"{member}.npy"]
    equal(load_npz(tmp_path / "out.npz"), {member: np.arange(3)})


def test_members_that_would_be_equal_are_numbered(tmp_path):
    names = ["a\nb", "a_b", "a\tb", "a\rb", "n" * 1001]
    save_npz(tmp_path / "out.npz", {name: np.array([i]) for i, name in enumerate(names)})
    found = load_npz(tmp_path / "out.npz")
    assert list(found)[:4] == ["a_b_1", "a_b", "a_b_2", "a_b_3"]
    assert len(list(found)[4]) == 1000
    assert [int(array[0]) for array in found.values()] == list(range(5))


def test_objects_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="Object arrays"):
        save_npz(tmp_path / "out.npz", {"x": np.array([None])})
    assert not (tmp_path / "out.npz").exists()


# Archives


def test_files_are_closed_when_they_have_been_read_or_refused(tmp_path, monkeypatch):
    opened = []
    open_file = npz._open
    monkeypatch.setattr(npz, "_open", lambda path: opened.append(open_file(path)) or opened[-1])
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 3)), y=np.zeros(2))
    load_inputs(tmp_path / "x.npz")
    load_labels(tmp_path / "x.npz")
    load_npz(tmp_path / "x.npz")
    source = FromFile(tmp_path / "x.npz")
    list(source.pieces({"x": 1}))
    (tmp_path / "bad.npz").write_bytes(b"bad")
    with pytest.raises(DataError):
        load_npz(tmp_path / "bad.npz")
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 4)))
    with pytest.raises(DataError):
        source.whole()
    assert len(opened) >= 7
    assert all(file.closed for file in opened)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, None),
        ({"file_size": 1032 * 100 + 64}, None),
        ({"file_size": 1032 * 100 + 65}, "cannot be 103,265 bytes, packed in 100"),
        ({"compress_type": zipfile.ZIP_STORED}, None),
        ({"compress_type": zipfile.ZIP_STORED, "file_size": 99}, "cannot be 99 bytes"),
        ({"compress_type": zipfile.ZIP_STORED, "file_size": 101}, "cannot be 101 bytes"),
        ({"compress_type": zipfile.ZIP_BZIP2}, "is packed by method 12"),
        ({"flag_bits": 0x1}, "is encrypted"),
        ({"flag_bits": 0x20}, "is encrypted"),
        ({"flag_bits": 0x40}, "is encrypted"),
        ({"flag_bits": 0x808}, None),
        ({"is_dir": lambda: True}, "is a folder"),
    ],
)
def test_members_that_cannot_be_unpacked_are_told_by_the_directory(change, problem):
    sound = {"compress_type": zipfile.ZIP_DEFLATED, "file_size": 100, "compress_size": 100}
    member = SimpleNamespace(**sound | {"flag_bits": 0, "is_dir": lambda: False} | change)
    found = npz._problem_of(member)
    assert found is None if problem is None else found.startswith(problem)


def test_what_a_file_may_unpack_to_grows_with_it_and_with_what_the_user_allows(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(npz, "MAX_UNPACKED", 1000)
    arrays = {"x": np.zeros(60_000, np.uint8), "z": np.zeros(40_000, np.uint8)}
    np.savez_compressed(tmp_path / "x.npz", **arrays)
    size = (tmp_path / "x.npz").stat().st_size
    monkeypatch.setattr(npz, "UNPACKED_PER_BYTE", 0)
    with pytest.raises(BudgetError, match=r"takes 100,000 bytes unpacked") as caught:
        load_npz(tmp_path / "x.npz")
    assert f"and itself {size:,} bytes" in caught.value.problem
    assert caught.value.expected == "at most 1,000 bytes"
    with limited(memory=100_000):
        assert load_npz(tmp_path / "x.npz").keys() == arrays.keys()
    with limited(memory=99_999), pytest.raises(BudgetError, match="unpacked"):
        load_npz(tmp_path / "x.npz")
    monkeypatch.setattr(npz, "UNPACKED_PER_BYTE", -(-99_000 // size))
    assert load_npz(tmp_path / "x.npz").keys() == arrays.keys()


# Headers


def header(text, version=1):
    raw = text.encode("latin1")
    length = len(raw).to_bytes(2 if version == 1 else 4, "little")
    start = b"\x93NUMPY" + bytes((version, 0)) + length
    return read_header(io.BytesIO(start + raw))


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8), }\n"


@pytest.mark.parametrize(
    ("old", "new", "shape"),
    [
        ("", "", (4, 8)),
        ("(4, 8)", "()", ()),
        ("(4, 8)", "(4,)", (4,)),
        ("(4, 8)", "(4L, 8L,)", (4, 8)),
        ("(4, 8)", f"({'1, ' * 64})", (1,) * 64),
        ("(4, 8)", f"({2**59},)", (2**59,)),
        ("(4, 8)", f"(0, {2**59})", (0, 2**59)),
        ("), }", ")}", (4, 8)),
        ("'", '"', (4, 8)),
    ],
)
def test_headers_are_read_as_numpy_writes_them(old, new, shape):
    for version in (1, 2, 3):
        text = GOOD.replace(old, new)
        found = header(text, version)
        assert (found.shape, found.dtype, found.fortran) == (shape, np.float32, False)
        assert found.length == (10 if version == 1 else 12) + len(text)
    assert header(GOOD.replace("False", "True")).fortran


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("(4, 8)", f"({2**59 + 1},)", "more elements than can be"),
        ("(4, 8)", "(4 8)", "a shape that cannot be read: (4 8)"),
        ("(4, 8)", "(4,, 8)", "a shape that cannot be read"),
        ("(4, 8)", "True", "a header that cannot be read"),
        ("False", "'No'", "a header that cannot be read"),
        ("'<f4'", "True", "a header that cannot be read"),
        ("{", " ", "a header that cannot be read"),
        ("{", "[", "a header that cannot be read"),
        ("}", "} 1", "a header that cannot be read"),
        (", 'shape': (4, 8)", "", "a header that cannot be read"),
        ("(4, 8)", "(" + "9" * 80 + ",)", "a shape that cannot be read: (" + "9" * 59),
        ("\n", " " * 9999, "has a header of 10,058 bytes"),
    ],
)
def test_headers_that_numpy_does_not_write_are_refused(old, new, says):
    with pytest.raises(DataError) as caught:
        header(GOOD.replace(old, new))
    assert says in caught.value.problem
    assert caught.value.expected
    assert "numpy.savez" in caught.value.hint
    header(GOOD.replace("\n", " " * (10_000 - len(GOOD) + 1)))
