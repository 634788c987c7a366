"""Inputs of .tflite files with open dimensions: the user says how large they are."""

import warnings

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter as LiteRT

import tinyrt
from tests.cli.calls import call
from tests.convert.raw_tflite import Op, Subgraph, build
from tests.convert.tflite_files import T, i32
from tinyrt.api.reading import open_model
from tinyrt.errors import DataError, ShapeError
from tinyrt.interpreter import Model


def image_model(shape=(1, 1, 1, 3), signature=(1, -1, -1, 3), name="x") -> bytes:
    """A convolution of any image, and the mean of what it finds."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
    tensors = [
        T(name, shape, signature=signature),
        T("w", weights.shape, data=weights),
        T("b", (4,), data=np.zeros(4, np.float32)),
        T("c", (1, 1, 1, 4), signature=(1, -1, -1, 4)),
        i32("axes", 1, 2),
        T("y", (1, 4)),
    ]
    ops = [
        Op("CONV_2D", [name, "w", "b"], ["c"], "Conv2DOptions", {"StrideW": 1, "StrideH": 1}),
        Op("MEAN", ["c", "axes"], ["y"], "ReducerOptions"),
    ]
    return build(Subgraph(tensors, ops, [name], ["y"]))


def saved(folder, data: bytes):
    path = folder / "model.tflite"
    path.write_bytes(data)
    return path


def test_a_shape_that_is_given_goes_through_the_model(tmp_path):
    path, fixed = saved(tmp_path, image_model()), tmp_path / "fixed.tflite"
    x = np.random.default_rng(1).standard_normal((1, 7, 5, 3)).astype(np.float32)
    litert = LiteRT(str(path))
    litert.resize_tensor_input(litert.get_input_details()[0]["index"], x.shape)
    litert.allocate_tensors()
    litert.set_tensor(litert.get_input_details()[0]["index"], x)
    litert.invoke()
    want = litert.get_tensor(litert.get_output_details()[0]["index"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = open_model(path, shapes={"x": x.shape})
        tinyrt.convert_model(path, fixed, shapes={"x": x.shape})
    np.testing.assert_allclose(Model(graph)(x), want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(tinyrt.load(fixed)(x), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        (image_model((1, 6, 4, 3)), (1, 6, 4, 3)),
        (image_model((1, 6, 4, 3), (-1, 6, 4, 3)), (1, 6, 4, 3)),
        (image_model((1, 6, 4, 3), ()), (1, 6, 4, 3)),
        (image_model((1, 1, 1, 3), ()), (1, 1, 1, 3)),
    ],
)
def test_sizes_that_the_file_has_are_taken(data, shape, tmp_path):
    assert open_model(saved(tmp_path, data)).value("x").shape == shape


def test_a_size_of_the_file_may_be_another(tmp_path):
    path = saved(tmp_path, image_model((1, 6, 4, 3)))
    assert open_model(path, shapes={"x": (1, 9, 8, 3)}).value("c").shape == (1, 9, 8, 4)


def test_a_batch_that_is_open_may_be_larger(tmp_path):
    path = saved(tmp_path, image_model((1, 6, 4, 3), (-1, 6, 4, 3)))
    assert open_model(path, shapes={"x": (5, 6, 4, 3)}).value("y").shape == (5, 4)


def test_an_open_dimension_is_named_and_a_shape_proposed(tmp_path):
    with pytest.raises(ShapeError) as refused:
        open_model(saved(tmp_path, image_model()))
    assert refused.value.problem == "the input 'x' has open dimensions: number 1 and 2"
    assert refused.value.tensor == "'x' f32[1,?,?,3]"
    assert "--shape x=1,224,224,3" in refused.value.hint


@pytest.mark.parametrize("does", [tinyrt.load, lambda path: tinyrt.export_c(path, path.parent)])
def test_nothing_runs_or_is_exported_at_a_size_that_nobody_gave(does, tmp_path):
    with pytest.raises(ShapeError, match="open dimensions"):
        does(saved(tmp_path, image_model()))


def test_the_command_line_says_what_to_do_and_does_it(tmp_path):
    path, fixed = saved(tmp_path, image_model()), tmp_path / "fixed.tflite"
    refused = call("convert", path, "-o", fixed, code=1)
    assert "--shape x=1,224,224,3" in refused.stderr
    call("convert", path, "-o", fixed, "--shape", "x=1,8,8,3")
    assert open_model(fixed).value("x").shape == (1, 8, 8, 3)


@pytest.mark.parametrize(
    ("dtype", "shape", "signature", "example"),
    [
        ("INT32", (1, 1), (1, -1), "1,128"),
        ("INT64", (1, 1), (1, -1), "1,128"),
        ("FLOAT32", (1, 1), (-1, -1), "1,16000"),
        ("FLOAT32", (1, 1, 40), (1, -1, 40), "1,100,40"),
        ("FLOAT32", (1, 1, 32, 1), (1, -1, 32, 1), "1,224,32,1"),
    ],
)
def test_proposed_shapes_fit(dtype, shape, signature, example, tmp_path):
    tensors = [T("x", shape, dtype, signature=signature), T("y", shape, dtype)]
    path = saved(tmp_path, build(Subgraph(tensors, [Op("ABS", ["x"], ["y"])], ["x"], ["y"])))
    with pytest.raises(ShapeError, match="open dimension") as refused:
        open_model(path)
    assert refused.value.hint.endswith(f"--shape x={example}")


def test_a_shape_is_proposed_for_every_input_that_lacks_one(tmp_path):
    names, shape = ("a", "b", "c", "y"), (1, 1)
    tensors = [T(n, shape, signature=(1, 1) if n == "b" else (1, -1)) for n in names]
    data = build(Subgraph(tensors, [Op("ADD_N", [*"abc"], ["y"])], [*"abc"], ["y"]))
    with pytest.raises(ShapeError, match="'a' has an open dimension") as refused:
        open_model(saved(tmp_path, data))
    assert refused.value.hint.endswith("FIXED.tflite --shape a=1,16000 --shape c=1,16000")


def test_a_shape_of_one_input_is_none_of_the_other(tmp_path):
    tensors = [T(n, (1, 1), signature=(1, -1)) for n in ("a", "b", "y")]
    path = saved(
        tmp_path,
        build(Subgraph(tensors, [Op("ADD", ["a", "b"], ["y"], "AddOptions")], ["a", "b"], ["y"])),
    )
    with pytest.raises(ShapeError, match="input 'b' has an open dimension") as caught:
        open_model(path, shapes={"a": (1, 5)})
    assert "--shape b=" in caught.value.hint
    assert "--shape a=" not in caught.value.hint


def test_shapes_that_do_not_fit_are_refused(tmp_path):
    path = saved(tmp_path, image_model())
    for shape in ((1, 7, 5, 4), (1, 7, 5), (2, 7, 5, 3), (1, 0, 5, 3)):
        with pytest.raises(ShapeError, match="given for 'x' contradicts the model"):
            open_model(path, shapes={"x": shape})
    with pytest.raises(DataError, match="'z', which is no input"):
        open_model(path, shapes={"z": (1, 7, 5, 3)})
    for signature in ((), (1, 7, 5, 3)):
        fixed = saved(tmp_path, image_model((1, 7, 5, 3), signature))
        with pytest.raises(DataError, match=r"'x', which the \.tflite file fixes"):
            open_model(fixed, shapes={"x": (1, 7, 5, 3)})


def test_an_interpreter_takes_what_the_file_has():
    tinyrt.Interpreter(model_content=image_model()).allocate_tensors()
