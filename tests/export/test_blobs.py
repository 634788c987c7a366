"""What is written beside a blob, what a new one needs, and what is refused."""

import json
from dataclasses import fields, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.c.conformance import C_OPS, all_ops
from tests.c.wide_layers import of_all_kinds
from tests.export.models import dense, echo, views
from tests.memory.nets import random_net
from tests.sampling import sampled
from tinyrt.backends.c.kernel import Choices
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import ModelFormatError, TinyrtError, UnsupportedError
from tinyrt.export import ExportOptions, Memories, export_graph, export_several, make_blob, update
from tinyrt.export.blob import record
from tinyrt.export.blob.layout import Member, body_of, fields_of
from tinyrt.export.blob.structure import Part, require_same
from tinyrt.export.blob.trained import ARGUMENTS, FIELDS
from tinyrt.export.bundle import render_model
from tinyrt.export.request import Request
from tinyrt.ir import DType, QParams
from tinyrt.memory import Region
from tinyrt.ops import verify


def exported(folder, graph, **options):
    return export_graph(graph, folder, core="host", options=ExportOptions(blob=True, **options))


def saved(graph, path):
    save_tflite(graph, path)
    return path


def retrained(graph, factor=1.2):
    """The same ops with other weights, scales and zero points."""
    values = {}
    for name, value in graph.values.items():
        q = value.q and QParams(tuple(s * factor for s in value.q.scales), value.q.zero_point)
        if value.is_constant:
            rng = np.random.default_rng(len(name))
            data = rng.permutation(np.asarray(value.data).ravel()).reshape(value.shape)
            q = value.q and QParams(tuple(s * factor**2 for s in value.q.scales))
            value = replace(value, data=data.astype(value.dtype.numpy))
        values[name] = replace(value, q=q)
    for value in graph.input_values:
        values[value.name] = replace(values[value.name], q=QParams(values[value.name].q.scales, -9))
    bias = {n: v for n, v in values.items() if v.dtype is DType.INT32 and v.is_constant}
    for name, value in bias.items():
        scale = values["x"].q.scale * values["w"].q.scale
        values[name] = replace(value, q=QParams((scale,)))
    return replace(graph, values=values)


def test_another_model_of_the_structure_gives_a_blob_for_the_same_code(tmp_path):
    project = exported(tmp_path / "c", dense())
    new = saved(retrained(dense()), tmp_path / "new.tflite")
    made = make_blob(new, project.directory, tmp_path / "new.blob", revision=2**32 - 1)
    old = (tmp_path / "c" / "net.blob").read_bytes()
    data = (tmp_path / "new.blob").read_bytes()
    assert (made.nbytes, made.structure) == (len(old), project.blob.structure)
    assert data[4:32] == old[4:32]
    assert data[128:] != old[128:]
    # From the record itself, too; and the code that would be exported for it differs nowhere else.
    again = make_blob(new, tmp_path / "c" / "net_blob.json", tmp_path / "again.blob")
    assert again.structure == made.structure
    exported(tmp_path / "d", retrained(dense()))
    for name in ("net.c", "net.h"):
        texts = [(tmp_path / folder / name).read_text() for folder in "cd"]
        one, other = (t.replace(t.split("export ")[1][:8], "") for t in texts)
        assert one == other


def test_constants_are_in_the_blob_alone(tmp_path):
    exported(tmp_path / "c", dense())
    text = (tmp_path / "c" / "net.c").read_text()
    header = (tmp_path / "c" / "net.h").read_text()
    assert "constants->n0_" in text
    assert "_SCALE" not in header
    assert "_ZERO_POINT" not in header
    assert not (tmp_path / "c" / "net_weights.c").exists()


def test_where_a_kernel_writes_is_no_matter_of_a_blob(tmp_path):
    graph, _ = all_ops([1], ["concatenation"])
    exported(tmp_path / "c", graph)
    text = (tmp_path / "c" / "all_ops.c").read_text()
    assert "static const int32_t n0_row_bytes[" in text
    assert "constants->n0_row_bytes" not in text


@pytest.mark.parametrize(("slices", "blocks"), [(None, [0]), (5000, [])])
def test_blocks_of_zeros_are_left_out_unless_calls_are_cut(slices, blocks, tmp_path):
    """Where a slice of such weights begins would follow from the weights."""
    graph = dense(size=400)
    w = np.asarray(graph.value("w").data) * (np.arange(400) < 16)
    values = {**graph.values, "w": replace(graph.value("w"), data=w.astype(np.int8))}
    options = ExportOptions(blob=True, slices=slices)
    export_graph(replace(graph, values=values), tmp_path / "c", options=options)
    assert json.loads((tmp_path / "c" / "net_blob.json").read_text())["blocks"] == blocks


def test_without_a_blob_nothing_changes(tmp_path):
    project = export_graph(dense(), tmp_path / "c", core="host")
    assert project.blob is None
    assert not [name for name in project.files if "blob" in name]
    assert "handle" not in (tmp_path / "c" / "net.h").read_text()


def test_several_models_have_a_blob_each(tmp_path):
    paths = [saved(dense(n), tmp_path / f"{n}.tflite") for n in ("one", "other")]
    bundle = export_several(paths, tmp_path / "c", core="host", options=ExportOptions(blob=True))
    assert {"one.blob", "one_blob.json", "other.blob", "other_blob.json"} <= {*bundle.files}
    make_blob(paths[1], tmp_path / "c" / "other_blob.json", tmp_path / "new.blob")
    new = (tmp_path / "new.blob").read_bytes()
    assert new == (tmp_path / "c" / "other.blob").read_bytes()
    with pytest.raises(ModelFormatError, match="2 models with a blob"):
        make_blob(paths[1], tmp_path / "c", tmp_path / "new.blob")


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (dense, {"by_rows": True}, "row by row"),
        (dense, {"input_rows": True}, "row by row"),
        (dense, {"memories": Memories(weights_section=".qspi")}, "no linker section"),
    ],
)
def test_what_a_blob_excludes(tmp_path, graph, options, message):
    with pytest.raises(UnsupportedError, match=message):
        exported(tmp_path / "c", graph(), **options)
    assert not (tmp_path / "c").exists()


def test_a_blob_excludes_an_arena_that_takes_rows(tmp_path):
    with pytest.raises(UnsupportedError, match="row by row") as found:
        exported(tmp_path / "c", random_net(41), max_arena=2816)
    assert found.value.hint == "leave out --blob, or --max-arena"
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("core", ["host-avx2", "host-avx512"])
def test_a_core_of_this_machine_has_no_blobs(core, tmp_path):
    with pytest.raises(UnsupportedError, match=f"no blobs for {core}"):
        export_graph(dense(), tmp_path / "c", core=core, options=ExportOptions(blob=True))


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (lambda: dense(size=8), "op 0: fully_connected 'y'"),
        (views, "op 0: relu 'relu'"),
    ],
)
def test_another_structure_is_refused_by_the_op_that_differs(tmp_path, other, what):
    project = exported(tmp_path / "c", dense())
    path = saved(other(), tmp_path / "net.tflite")
    with pytest.raises(UnsupportedError, match=what) as found:
        make_blob(path, project.directory, tmp_path / "new.blob")
    assert found.value.file == str(path)
    assert not (tmp_path / "new.blob").exists()


def test_states_that_begin_otherwise_are_refused(tmp_path):
    project = exported(tmp_path / "c", echo())
    values = {n: replace(v, q=QParams((0.5,), 4)) for n, v in echo().values.items()}
    path = saved(replace(echo(), values=values), tmp_path / "echo.tflite")
    with pytest.raises(UnsupportedError, match="the memory differs"):
        make_blob(path, project.directory, tmp_path / "new.blob")


def test_what_is_longer_is_refused():
    parts = [Part("op 0", "a"), Part("op 1", "b")]
    require_same(parts, parts)
    with pytest.raises(UnsupportedError, match="the number of ops differs"):
        require_same(parts, parts[:1])
    old, new = (Part("op 0", f"a\n  {line};\nc") for line in "bx")
    with pytest.raises(UnsupportedError, match="op 0 differs; here it is 'x;'") as found:
        require_same([old], [new])
    assert found.value.expected == "'b;', as it was exported"


@pytest.mark.parametrize("revision", [-1, 2**32])
def test_a_revision_is_a_word(tmp_path, revision):
    with pytest.raises(UnsupportedError, match=f"revision {revision}"):
        make_blob(tmp_path / "a.tflite", tmp_path, tmp_path / "b", revision=revision)


def test_another_version_of_tinyrt_makes_no_blob(tmp_path, monkeypatch):
    project = exported(tmp_path / "c", dense())
    monkeypatch.setattr(update, "__version__", "99")
    with pytest.raises(UnsupportedError, match="this is 99"):
        make_blob(saved(dense(), tmp_path / "n.tflite"), project.directory, tmp_path / "b")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("core"),
        lambda data: data.update(parts=[1]),
        lambda data: data.update(regions="x"),
        lambda data: data.update(blocks=["a"]),
        lambda data: data.pop("tiles"),
        lambda data: data.update(max_arena="12"),
        *(lambda data, n=n: data.update(room=[[0, n]]) for n in (0, 4097, "8", 8.0)),
        lambda data: data.update(room=[[0]]),
    ],
)
def test_a_broken_record_is_refused(tmp_path, change):
    exported(tmp_path / "c", dense())
    path = tmp_path / "c" / "net_blob.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(ModelFormatError, match="record of the exported model cannot be read"):
        make_blob(saved(dense(), tmp_path / "n.tflite"), path, tmp_path / "b")


def test_a_record_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    exported(tmp_path / "c", dense())
    size = (tmp_path / "c" / "net_blob.json").stat().st_size
    monkeypatch.setattr(record, "MAX_RECORD_BYTES", size)
    assert record.read_record(tmp_path / "c").name == "net"
    monkeypatch.setattr(record, "MAX_RECORD_BYTES", 1000)
    with pytest.raises(ModelFormatError, match="ValueError it takes more than 1,000 bytes"):
        make_blob(saved(dense(), tmp_path / "n.tflite"), tmp_path / "c", tmp_path / "b")


def test_a_graph_without_a_file_has_a_digest_of_zeros(tmp_path):
    project = exported(tmp_path / "c", dense())
    assert project.blob.blob.model_sha256 == bytes(32)
    assert len(project.blob.blob.packed()) == (tmp_path / "c" / "net.blob").stat().st_size


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff"])
def test_what_is_no_record_is_refused(tmp_path, content):
    (tmp_path / "net_blob.json").write_bytes(content)
    with pytest.raises(ModelFormatError, match="record of the exported model cannot be read"):
        make_blob(tmp_path / "n.tflite", tmp_path, tmp_path / "b")


def test_a_folder_without_a_blob_is_refused(tmp_path):
    export_graph(dense(), tmp_path / "c", core="host")
    with pytest.raises(ModelFormatError, match="0 models with a blob"):
        make_blob(tmp_path / "n.tflite", tmp_path / "c", tmp_path / "b")


def test_members_lie_where_every_compiler_puts_them():
    def of(dtype, count):
        return np.arange(1, count + 1, dtype=dtype)

    members = {
        "bytes": Member("int8_t", of(np.int8, 3)),
        "wide": Member("int64_t", of(np.int64, 1)),
        "one": Member("int32_t", np.int32(7), single=True),
        "last": Member("uint8_t", of(np.uint8, 1)),
    }
    fields = fields_of(members)
    assert list(map(str, fields)) == [
        "int32_t one;",
        "int8_t bytes[3];",
        "uint8_t unused_0[1];",
        "int64_t wide[1];",
        "uint8_t last[1];",
        "uint8_t unused_1[7];",
    ]
    assert body_of(fields)[:8] == b"\7\0\0\0\1\2\3\0"
    assert len(body_of(fields)) == 24
    assert [str(f) for f in fields_of({})] == ["uint8_t unused_0[8];"]


OTHERWISE = dict.fromkeys(("not_equal", "less_equal"), "kernels for one scale and for two")
"""Ops whose kernels may differ where scales do -> why."""


@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["cortex-m4", "cortex-m55", "cortex-m0"]))
def test_what_scales_decide_is_no_code(core):
    """Of every op, with all scales and zero points moved, wherever the op has them free."""
    request = Request.of(core, "balanced", ExportOptions(blob=True))
    moved = 0
    for op, seed in product(C_OPS, sampled((2,), range(6))):
        graph, _ = all_ops([seed], [op])
        try:
            other = _moved(graph)
        except TinyrtError:
            continue  # scales that the op ties to each other
        made, _ = render_model(graph, Path(), request)
        again = replace(request, choices=made.blob.choices)
        new, _ = render_model(other, Path(), again)
        moved += new.blob.blob.body != made.blob.blob.body
        if op not in OTHERWISE:
            require_same(made.blob.parts, new.blob.parts)
    assert moved > 30


def _moved(graph):
    values = {}
    for name, value in graph.values.items():
        q = value.q
        if q is not None and value.is_constant:
            # A bias has the product of two scales.
            factor = 1.03 * 0.95 ** (1 + (value.dtype is DType.INT32))
            q = replace(q, scales=tuple(factor * s for s in q.scales))
        elif q is not None and q.scales[0] not in (1 / 256, 1 / 128):
            zero = q.zero_point - (value.dtype is DType.INT8 and q.zero_point > -128)
            q = replace(q, scales=tuple(0.95 * s for s in q.scales), zero_point=zero)
        values[name] = replace(value, q=q)
    return verify(replace(graph, values=values))


def test_no_shape_is_among_what_training_changes():
    shapes = {"n", "h", "w", "c", "rows", "taps", "c_in", "c_out", "rank", "dims", "size"}
    assert not FIELDS & shapes
    assert all(min(places) > 0 for places in ARGUMENTS.values())


RECORDED = {
    "plain": {},
    "an arena": {"max_arena": 65536},
    "slices": {"slices": 20_000},
    "a region": {"memories": Memories((Region("sram", 65536), Region("dram", None)))},
    "inputs outside": {"memories": Memories(inputs_in_arena=False)},
    "outputs outside": {"memories": Memories(outputs_in_arena=False)},
    "an alignment": {"memories": Memories(alignment=32)},
}


@pytest.mark.parametrize("options", RECORDED.values(), ids=RECORDED)
def test_a_record_gives_back_what_the_export_was_made_with(options, tmp_path):
    """Each option differs from what it is by default, alone: none is taken for another."""
    asked = ExportOptions(blob=True, name="net", **options)
    for optimize in ("speed", "size"):
        folder = tmp_path / optimize
        project = export_graph(dense(), folder, core="host", optimize=optimize, options=asked)
        found = record.read_record(folder)
        assert found.request.options == asked
        assert found.request.optimize.value == optimize
        assert (found.name, found.structure) == ("net", project.blob.structure)
        assert found.request.choices == project.blob.choices
        assert found.parts == project.blob.parts


def test_a_record_gives_back_how_many_places_there_are_for_vectors(tmp_path):
    graph = of_all_kinds(110, relu=False)
    options = ExportOptions(blob=True, name="net")
    project = export_graph(graph, tmp_path, core="cortex-m55", options=options)
    found = record.read_record(tmp_path).request.choices
    assert found == project.blob.choices
    assert dict(found.room)[0] == 16
    assert record._room(4096) == 4096


def test_a_record_lists_choices_in_their_order(tmp_path):
    code = exported(tmp_path, dense()).blob
    sets = [frozenset({8 * i, i}) for i in range(1, 5)]
    code = replace(code, choices=Choices(*sets, frozenset({(8, 3), (1, 5)})))
    request = Request.of("host", "balanced", ExportOptions(blob=True))
    data = json.loads(record.blob_files("net", code, request)["net_blob.json"])
    lists = [data[name] for name in ("blocks", "plain_sums", "tiles", "relus", "room")]
    assert lists == [[1, 8], [2, 16], [3, 24], [4, 32], [[1, 5], [8, 3]]]


def test_each_option_that_a_blob_allows_is_recorded(tmp_path):
    """Those that a blob excludes are refused; names and the folder's shape change no blob."""
    excluded = {"by_rows", "input_rows", "selftest", "board", "input_type", "output_type"}
    no_matter = {"prefix", "info", "layout", "name", "blob"}
    named = {f.name for f in fields(ExportOptions)} - excluded - no_matter
    assert named == {name for options in RECORDED.values() for name in options} | {"unaligned"}
    memories = {f.name for f in fields(Memories)} - {"weights_section"}
    exported(tmp_path, dense())
    data = json.loads((tmp_path / "net_blob.json").read_text())
    assert memories | named - {"memories"} <= data.keys()


def test_code_that_loads_words_at_their_own_multiples_has_blobs_of_its_own(tmp_path):
    structures = set()
    for unaligned in (True, False):
        folder = tmp_path / str(unaligned)
        asked = ExportOptions(blob=True, name="net", unaligned=unaligned)
        project = export_graph(dense(), folder, core="cortex-m4", options=asked)
        assert record.read_record(folder).request.options.unaligned == unaligned
        structures.add(project.blob.structure)
    assert len(structures) == 2
