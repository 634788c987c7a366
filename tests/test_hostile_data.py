"""Data files of strangers: whatever is wrong with one is named, and costs no memory."""

import io
import os
import re
import struct
import tracemalloc
import zipfile
import zlib
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy_format

from tests.graphs import small_cnn
from tests.sampling import sampled
from tinyrt import api
from tinyrt.budget import limited
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.data import load_inputs, load_npz
from tinyrt.errors import BudgetError, DataError, TinyrtError
from tinyrt.npy import read_header
from tinyrt.quantize.calibration.samples import read_batches

X = np.random.default_rng(5).normal(size=(4, 8, 8, 3)).astype(np.float32)
MOST = 8 << 20
"""Bytes that a refusal may take."""


def npy(descr="'<f4'", shape="(4, 8, 8, 3)", order="False", data=None, version=(1, 0), more=""):
    """An .npy array whose header says anything."""
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}{more}, }}\n"
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return (
        b"\x93NUMPY"
        + bytes(version)
        + size
        + text.encode()
        + (X.tobytes() if data is None else data)
    )


def archive(*members, method=zipfile.ZIP_DEFLATED):
    """A sound .npz archive of these bytes, by name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        for name, data in members:
            made.writestr(zipfile.ZipInfo(name), data, method)
    return file.getvalue()


def of(data, **options):
    return archive(("x.npy", data), **options)


def patched(data, at, form, value):
    """An archive in whose only directory entry one field has another value."""
    start = data.index(b"PK\1\2") + at
    return data[:start] + struct.pack(form, value) + data[start + struct.calcsize(form) :]


def bomb(shape):
    """An archive of zeros, packed a thousandfold: one block of them, again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = npy(shape=str(shape), data=b"")
    packed = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    blocks, rest = divmod(4 * int(np.prod(shape, dtype=object)), 1 << 20)
    assert not rest
    packed += block * blocks + packer.flush()
    whole = of(b"")
    local, entry = whole[:30], whole[whole.index(b"PK\1\2") :]
    sizes = struct.pack("<III", 0, len(packed), len(head) + (blocks << 20))
    entry = entry[:16] + sizes + entry[28:-6] + struct.pack("<IH", 35 + len(packed), 0)
    return local + b"x.npy" + packed + entry


def twice(data):
    """An archive whose directory names one member's bytes by two names."""
    entry_at, end_at = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    entry = data[entry_at:end_at]
    end = bytearray(data[end_at:])
    struct.pack_into("<HHI", end, 8, 2, 2, 2 * len(entry))
    return data[:entry_at] + entry + entry.replace(b"x.npy", b"z.npy") + bytes(end)


def damaged(data):
    """The same archive with another byte in the middle of its member."""
    at = data.index(b"PK\1\2") // 2
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


GOOD = of(npy())
STORED = of(npy(), method=zipfile.ZIP_STORED)
FILES = {
    "nothing": (b"", "it is empty"),
    "text": (b"x,y\n1,2\n", "begins with b'x,y"),
    "a pickle": (b"\x80\x04\x95abc.", "no .npz or .npy"),
    "an empty archive": (archive(), "no inputs"),
    "labels only": (archive(("y.npy", npy())), "no inputs"),
    "a directory that is cut": (GOOD[:-30], "cut short or damaged"),
    "encryption": (patched(GOOD, 8, "<H", 1), "array 'x' is encrypted"),
    "strong encryption": (patched(GOOD, 8, "<H", 0x41), "array 'x' is encrypted"),
    "patches": (patched(GOOD, 8, "<H", 0x20), "array 'x' is encrypted"),
    "an unknown method": (patched(GOOD, 10, "<H", 99), "method 99"),
    "lzma": (of(npy(), method=zipfile.ZIP_LZMA), "method 14"),
    "bzip2": (of(npy(), method=zipfile.ZIP_BZIP2), "method 12"),
    "a wrong checksum": (patched(GOOD, 16, "<I", 1), "CRC"),
    "damaged deflate": (damaged(GOOD), "damaged"),
    "no deflate": (GOOD[:35] + b"\xff" + GOOD[36:], "invalid block type"),
    "a later version": (patched(GOOD, 6, "<H", 99), "zip file version 9.9"),
    "damaged bytes": (damaged(STORED), "CRC"),
    "another size": (patched(GOOD, 24, "<I", 99), "CRC"),
    "less than it says": (patched(of(npy()[:-9]), 24, "<I", len(npy())), "are missing|CRC"),
    "a size of 4 GiB": (patched(GOOD, 24, "<I", 2**32 - 2), "cannot be 4,294,967,294 bytes"),
    "a stored size": (patched(STORED, 24, "<I", 99), "array 'x' cannot be 99 bytes"),
    "a packed size": (patched(GOOD, 20, "<I", 2**31), "reach beyond its end"),
    "an offset beyond the end": (patched(GOOD, 42, "<I", 2**31), "damaged|beyond"),
    "members that overlap": (twice(GOOD), "overlap"),
    "two of a name": (archive(("x.npy", npy()), ("x", npy())), "array 'x' is there twice"),
    "two of a name, the other way": (
        archive(("x", npy()), ("x.npy", npy())),
        "array 'x' is there twice",
    ),
    "two of a file's name": (
        archive(("x.npy", npy()), ("z.npy", npy())).replace(b"z.npy", b"x.npy"),
        "array 'x' is there twice",
    ),
    "a folder": (archive(("a/", b"")), "array 'a/' is a folder"),
    "no array": (archive(("x.npy", npy()), ("readme.txt", b"hello")), "'readme.txt' is no array"),
    "a short member": (of(b"\x93NUM"), "array 'x' is no array"),
    "a cut header": (of(npy()[:30]), "cut short in its header"),
    "a header of 4 GB": (of(b"\x93NUMPY\2\0\xff\xff\xff\xff{"), "header of 4,294,967,295 bytes"),
    "an unknown version": (of(npy(version=(9, 0))), "is no array"),
    "nested brackets": (of(npy(shape="(" * 3000)), "cannot be read"),
    "a call": (of(npy(shape="__import__('os').getpid()")), "cannot be read"),
    "a key too many": (of(npy(more=", 'a': 'b'")), "cannot be read"),
    "a key twice": (of(npy(more=", 'descr': '<f8'")), "cannot be read"),
    "no tuple": (of(npy(shape="(4)")), "shape that cannot be read"),
    "a negative dimension": (of(npy(shape="(-4, 8, 8, 3)")), "negative dimension"),
    "an overflowing shape": (of(npy(shape=f"({2**40}, {2**40})")), "more elements than can be"),
    "a huge empty shape": (of(npy(shape=f"(0, {2**62})")), "more elements than can be"),
    "65 dimensions": (of(npy(shape=f"({'1, ' * 65})")), "65 dimensions"),
    "a shape too large": (of(npy(shape="(9, 8, 8, 3)")), "its header says"),
    "a shape too small": (of(npy(shape="(1, 8, 8, 3)")), "its header says"),
    "a number": (of(npy(shape="()", data=b"\0" * 4)), "a single number"),
    "objects": (of(npy("'|O'")), "holds Python objects"),
    "records": (of(npy("[('a', '<f4')]")), "holds records"),
    "records by commas": (of(npy("'f4,f4'")), "elements of dtype 'f4,f4'"),
    "raw bytes": (of(npy("'|V2147483647'")), "raw bytes"),
    "strings": (of(npy("'<U999999999'")), "holds text"),
    "dates": (of(npy("'<M8[ns]'")), "holds dates"),
    "complex": (of(npy("'<c8'")), "holds complex numbers"),
    "long double": (of(npy("'<f16'")), "dtype '<f16'"),
    "bool that is not": (of(npy("'|b1'", shape="(3072,)")), "bytes other than 0 and 1"),
    "a cut .npy": (npy()[:-1], "its header says"),
    "an .npy with more": (npy() + b"\0", "its header says"),
}


def refusal(path, data, read=load_inputs):
    path.write_bytes(data)
    tracemalloc.start()
    with pytest.raises(TinyrtError) as caught:
        read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST
    assert caught.value.file == str(path)
    assert len(str(caught.value).splitlines()) <= 12
    assert len(str(caught.value)) < 1000
    return caught.value


@pytest.mark.parametrize("kind", FILES)
def test_a_bad_file_is_named(kind, tmp_path):
    data, message = FILES[kind]
    for read in (load_inputs, lambda path: list(read_batches(path))):
        error = refusal(tmp_path / "bad.npz", data, read)
        assert type(error) is DataError
        assert re.search(message, str(error)), error


def test_a_bomb_is_refused_before_anything_is_unpacked(tmp_path):
    """The limit is for what the whole file unpacks to, however it is read."""
    data = bomb((5 << 20, 8, 8, 3))
    assert len(data) < 4_500_000
    for read in (load_inputs, lambda path: next(read_batches(path))):
        error = refusal(tmp_path / "bomb.npz", data, read)
        assert type(error) is BudgetError
        assert "takes 3.8 GiB unpacked" in error.problem
        assert "--max-memory" in error.hint


def test_a_small_bomb_is_refused_unless_it_is_allowed(tmp_path):
    path = tmp_path / "bomb.npz"
    error = refusal(path, bomb((1 << 19, 8, 8, 1)))
    assert "takes 128.0 MiB unpacked" in error.problem
    with limited(memory=129 << 20):
        assert next(read_batches(path))["x"].shape == (64, 8, 8, 1)


@pytest.mark.slow
def test_what_is_read_piece_by_piece_takes_no_more_memory_the_longer_it_is(tmp_path):
    path = tmp_path / "zeros.npz"
    path.write_bytes(bomb((1 << 18, 8, 8, 1)))
    tracemalloc.start()
    # The checksum of this archive is wrong, which only its last piece can tell.
    with pytest.raises(DataError, match="CRC"):
        deque((batch["x"].any() for batch in read_batches(path)), maxlen=0)
    assert tracemalloc.get_traced_memory()[1] < MOST
    tracemalloc.stop()
    with limited(memory=50 << 20), pytest.raises(BudgetError, match="all samples at once"):
        load_inputs(path)
    with limited(memory=1000), pytest.raises(BudgetError, match="the array"):
        next(read_batches(path))


@pytest.mark.parametrize("descr", ["<f4", ">f4", ">f8", ">i2", "<u8", "|i1", "|b1", "<f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_good_files_come_with_their_values(descr, order, tmp_path):
    x = np.arange(700).reshape(100, 7, 1).astype(descr, order=order)
    np.savez(tmp_path / "x.npz", x=x, y=x[:, 0, 0])
    np.savez_compressed(tmp_path / "packed.npz", x=x, y=x[:, 0, 0])
    np.save(tmp_path / "alone.npy", x)
    for name in ("x.npz", "packed.npz", "alone.npy"):
        found = load_npz(tmp_path / name)
        np.testing.assert_array_equal(found["x"], x)
        assert found["x"].dtype.isnative
        parts = [batch["x"] for batch in read_batches(tmp_path / name)]
        assert len(parts) == 2
        np.testing.assert_array_equal(np.concatenate(parts), x)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    paths = [tmp_path / "pipe.npz", tmp_path, "/dev/zero", tmp_path / "none.npz", "a\0b"]
    (tmp_path / "locked.npz").write_bytes(GOOD)
    (tmp_path / "locked.npz").chmod(0)
    if os.geteuid():
        paths.append(tmp_path / "locked.npz")
    for path in paths:
        with pytest.raises(DataError, match="cannot read the data") as caught:
            load_inputs(path)
        assert caught.value.file == str(path)


@pytest.mark.slow
def test_archives_of_too_many_members_are_refused(tmp_path):
    empty = npy(shape="(0,)", data=b"")
    members = [(f"{i}.npy", empty) for i in range(10_001)]
    error = refusal(tmp_path / "many.npz", archive(*members, method=zipfile.ZIP_STORED))
    assert "10,001 members" in error.problem


HEADERS = st.one_of(
    st.text(max_size=80),
    st.builds(
        "{{'descr': {!r}, 'fortran_order': {}, 'shape': {}, }}".format,
        st.sampled_from(["<f4", ">i8", "|b1", "|O", "<U9", "<f16", "|V4", "", "<f4,<f4", "<f444"]),
        st.sampled_from(["True", "False", "None", "0"]),
        st.one_of(
            st.lists(st.integers(-1, 2**66), max_size=70).map(lambda n: str(tuple(n))),
            st.text("(), -0123456789L[]x", max_size=20),
        ),
    ),
)


@pytest.mark.slow
@settings(max_examples=sampled(30, 100), deadline=None, derandomize=True)
@given(HEADERS, st.sampled_from([(1, 0), (2, 0)]))
def test_a_header_is_read_as_numpy_does_or_refused(text, version):
    data = text.encode("latin1", "replace") + b"\n"
    start = b"\x93NUMPY" + bytes(version) + len(data).to_bytes(2 * version[0], "little")
    try:
        found = read_header(io.BytesIO(start + data))
    except DataError:
        return
    file = io.BytesIO(start[8:] + data)
    read = {1: npy_format.read_array_header_1_0, 2: npy_format.read_array_header_2_0}
    assert (found.shape, found.fortran, found.dtype) == read[version[0]](file)
    assert found.length == len(start) + len(data)


@pytest.fixture(scope="module")
def nets(tmp_path_factory):
    """A float model, the int8 one made from it, and good data."""
    folder = tmp_path_factory.mktemp("nets")
    save_tflite(small_cnn(), folder / "net.tflite")
    np.savez(folder / "x.npz", x=np.repeat(X, 20, 0), y=np.arange(80) % 5)
    api.quantize_model(folder / "net.tflite", folder / "x.npz", folder / "q.tflite")
    return folder


def run_everywhere(nets, path):
    """Each thing that reads data, with this file."""
    net, q = nets / "net.tflite", nets / "q.tflite"
    yield lambda: api.run_model(q, path)
    yield lambda: api.run_model(q, path, backend="reference")
    yield lambda: api.evaluate(q, path)
    yield lambda: api.quantize_model(net, path, nets / "out.tflite")
    yield lambda: api.debug_model(net, q, path)
    yield lambda: api.bisect_model(net, q, path)
    yield lambda: api.run_emulated(q, inputs=path, core="host")


@pytest.mark.parametrize(
    "x",
    [
        np.full((3, 8, 8, 3), np.nan, np.float32),
        np.full((3, 8, 8, 3), -np.inf, np.float16),
        np.full((3, 8, 8, 3), 1e300),
        np.zeros((3, 8, 8, 3), bool),
        np.zeros((3, 8, 8, 3), np.uint16),
        np.zeros((3, 8, 8), np.float32),
        np.zeros((0, 8, 8, 3), np.float32),
        np.zeros((3, 8, 8, 0), np.float32),
        np.zeros((3, 192), np.float32),
    ],
    ids=lambda x: f"{x.dtype}{list(x.shape)}",
)
def test_data_that_do_not_fit_are_named_by_all_that_read_them(nets, x):
    path = nets / "bad.npz"
    np.savez(path, x=x)
    for command in run_everywhere(nets, path):
        with pytest.raises(DataError) as caught:
            command()
        assert caught.value.file == str(path)
        assert len(str(caught.value).splitlines()) <= 12


@pytest.mark.parametrize(
    "y",
    [
        np.arange(79) % 5,
        np.arange(80) % 6,
        -np.ones(80, int),
        np.zeros(80, np.float32),
        np.zeros(80, bool),
        np.array(3),
        np.zeros((0,), int),
        np.full((80, 5), np.nan),
        np.zeros((80, 5, 2), int),
        np.full(80, 2**64 - 1, np.uint64),
    ],
    ids=lambda y: f"{y.dtype}{list(y.shape)}",
)
def test_labels_that_do_not_fit_are_named(nets, y):
    path = nets / "labels.npz"
    np.savez(path, x=np.repeat(X, 20, 0), y=y)
    with pytest.raises(DataError, match=r"labels 'y' are") as caught:
        api.evaluate(nets / "q.tflite", path)
    assert caught.value.expected == "80 class indices from 0 to 4"


def test_figures_do_not_depend_on_how_many_pieces_there_are(nets, monkeypatch):
    """Nor do answers; and a file in Fortran order, or of big-endian numbers, is the same data."""
    net, q = nets / "net.tflite", nets / "q.tflite"
    with np.load(nets / "x.npz") as good:
        x, y = good["x"], good["y"]
    x = x + np.arange(80, dtype=np.float32).reshape(80, 1, 1, 1) / 80
    np.savez(nets / "c.npz", x=x, y=y)
    np.savez(nets / "f.npz", x=np.asfortranarray(x).astype(">f4"), y=y.astype(">i4"))

    def figures(data):
        found = api.evaluate(q, data, against=net)
        return found.correct, found.top1, found.agreement, found.sqnr_db, found.samples

    whole = figures({"x": x}), api.evaluate(q, nets / "c.npz").correct, api.run_model(q, x)
    monkeypatch.setattr("tinyrt.interpreter.model.PIECE", 1)
    for path in (nets / "c.npz", nets / "f.npz"):
        found = figures(path)
        assert found[0] == whole[1]
        assert found[2:] == whole[0][2:]
        for name, array in api.run_model(q, path).items():
            np.testing.assert_array_equal(array, whole[2][name])


def test_nan_is_told_by_its_place_in_the_whole_file(nets, monkeypatch):
    monkeypatch.setattr("tinyrt.interpreter.model.PIECE", 1)
    x = np.zeros((300, 8, 8, 3), np.float32)
    x[277, 1, 2, 0] = np.nan
    np.savez(nets / "nan.npz", x=x)
    for command in list(run_everywhere(nets, nets / "nan.npz"))[:4]:
        with pytest.raises(DataError, match="first in sample 277"):
            command()
