"""Arrays of every form in memory are the same numbers to whatever takes them."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import small_cnn
from tests.sampling import sampled
from tinyrt import api
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.data import save_npz
from tinyrt.emulate.run import pack_inputs
from tinyrt.errors import DataError
from tinyrt.export import Port
from tinyrt.interpreter import Interpreter, Model
from tinyrt.ir import DType

RNG = np.random.default_rng(4)
X = RNG.normal(size=(6, 8, 8, 3)).astype(np.float32)
STORED = RNG.integers(-128, 128, (6, 8, 8, 3)).astype(np.int8)
LABELS = RNG.integers(0, 5, 6)


def apart(x):
    """Every second of an array's elements, along each axis; the others are of no use."""
    wide = np.full([2 * n for n in x.shape], 77, x.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in x.shape)]
    view[...] = x
    return view


def backwards(x):
    """Strides below 0."""
    return np.flip(np.ascontiguousarray(np.flip(x)))


def unaligned(x):
    """Not at a multiple of the element's size."""
    room = np.zeros(x.nbytes + 1, np.uint8)
    view = room[1:].view(np.uint8)[: x.nbytes]
    array = np.frombuffer(view, x.dtype).reshape(x.shape)
    array[...] = x
    return array


def read_only(x):
    array = x.copy()
    array.flags.writeable = False
    return array


FORMS = {
    "Fortran's order": np.asfortranarray,
    "channels outermost": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 0)), 0, -1),
    "apart": apart,
    "backwards": backwards,
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "unaligned": unaligned,
    "read-only": read_only,
}


def in_all_forms(function):
    return pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)(function)


def in_forms(*names):
    """In those forms, or in all of them where all are asked for."""
    forms = {name: FORMS[name] for name in sampled(names, FORMS)}
    return pytest.mark.parametrize("form", forms.values(), ids=forms)


@pytest.fixture(scope="module")
def nets(tmp_path_factory):
    """The files of a float model and of its int8 form."""
    folder = tmp_path_factory.mktemp("forms")
    save_tflite(small_cnn(), folder / "float.tflite")
    with pytest.warns(UserWarning, match="only 6 samples"):
        api.quantize_model(folder / "float.tflite", X, folder / "int8.tflite")
    return folder / "float.tflite", folder / "int8.tflite"


@in_all_forms
@pytest.mark.parametrize("x", [X, STORED], ids=["float", "int8"])
def test_forms_differ_in_memory_and_not_in_value(form, x):
    formed = form(x)
    np.testing.assert_array_equal(formed, x)
    plain = formed.dtype == x.dtype and formed.strides == x.strides
    assert not plain or not formed.flags.aligned or not formed.flags.writeable or x.itemsize == 1


@in_all_forms
@pytest.mark.parametrize("backend", ["numba", "native", "reference"])
def test_an_interpreter_takes_every_form_of_its_dtype(form, backend, nets):
    for path, x in zip(nets, (X, STORED), strict=True):
        if backend == "native" and path is nets[0]:
            continue  # it runs integers only
        interpreter = Interpreter(path, backend=backend)
        interpreter.allocate_tensors()
        (given,), (answer,) = interpreter.get_input_details(), interpreter.get_output_details()
        found = []
        for sample in (x[2:3], form(x)[2:3], form(x[2:3])):
            if sample.dtype != given["dtype"]:
                with pytest.raises(DataError, match=">f4"):
                    interpreter.set_tensor(given["index"], sample)
                continue
            interpreter.set_tensor(given["index"], sample)
            interpreter.invoke()
            found.append(interpreter.get_tensor(answer["index"]))
        assert len(found) == (3 if form(x).dtype == x.dtype else 1)
        assert all(np.array_equal(other, found[0]) for other in found)


@in_all_forms
@pytest.mark.parametrize("backend", ["numba", "native"])
def test_a_model_takes_every_form(form, backend, nets):
    for path, x in ((nets[0], X), (nets[1], X), (nets[1], STORED)):
        if backend == "native" and path is nets[0]:
            continue  # it runs integers only
        model = Model(Interpreter(path).graph, backend=backend)
        before = form(x)
        np.testing.assert_array_equal(model(before), model(x))
        np.testing.assert_array_equal(before, x)


def told_of_files(nets, form):
    """What functions of files say of arrays of a form."""
    path, int8 = nets
    answers = [api.run_model(model, form(x)) for model, x in ((path, X), (int8, X), (int8, STORED))]
    figures = api.evaluate(int8, form(X), labels=form(LABELS), against=path)
    return answers, figures.correct, figures.sqnr_db, api.debug_model(path, int8, form(X))


@pytest.fixture(scope="module")
def told_of_plain(nets):
    return told_of_files(nets, np.asarray)


@in_forms("Fortran's order", "big-endian", "read-only")
def test_functions_of_files_take_every_form(form, nets, told_of_plain):
    found, *others = told_of_files(nets, form)
    wanted, *same = told_of_plain
    for answers, plain in zip(found, wanted, strict=True):
        np.testing.assert_equal(answers, plain)
    assert others == same


@in_forms("channels outermost", "big-endian")
@pytest.mark.filterwarnings("ignore:only 6 samples")
def test_calibration_takes_every_form(form, nets, tmp_path):
    files = {"plain": nets[1].read_bytes()}
    np.savez(tmp_path / "x.npz", x=form(X))
    data = {"formed": form(X), "named": {"x": form(X)}, "batches": [form(X)]}
    data["file"] = tmp_path / "x.npz"
    for name, samples in data.items():
        api.quantize_model(nets[0], samples, tmp_path / f"{name}.tflite")
        files[name] = (tmp_path / f"{name}.tflite").read_bytes()
    assert len(set(files.values())) == 1


@in_all_forms
def test_constants_of_every_form_are_written(form, tmp_path):
    """In a .tflite file and in C: weights that somebody has built with NumPy."""
    graph = small_cnn()
    values = {
        n: v if v.data is None else replace(v, data=form(v.data)) for n, v in graph.values.items()
    }
    save_tflite(graph, tmp_path / "a.tflite")
    save_tflite(replace(graph, values=values), tmp_path / "b.tflite")
    assert (tmp_path / "a.tflite").read_bytes() == (tmp_path / "b.tflite").read_bytes()


@in_all_forms
def test_every_form_is_packed_for_the_device_and_saved(form, tmp_path):
    port = Port("x", DType.INT8, (1, 8, 8, 3), 0, 192, None, None)
    assert pack_inputs([port], {"x": form(STORED)}) == (STORED.tobytes(), len(STORED))
    port, x = replace(port, dtype=DType.FLOAT32, nbytes=768), form(X)
    if x.dtype == X.dtype:
        assert pack_inputs([port], {"x": x}) == (X.tobytes(), len(X))
    else:
        with pytest.raises(DataError, match=">f4"):
            pack_inputs([port], {"x": x})
    save_npz(tmp_path / "x.npz", {"x": form(X)})
    with np.load(tmp_path / "x.npz") as saved:
        np.testing.assert_array_equal(saved["x"], X)
