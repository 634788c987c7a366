"""Options of ``tinyrt dataset``: each changes the file, or is refused beside other data."""

import numpy as np
import pytest
from PIL import Image

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.datasets.test_sounds import SOUND, save
from tinyrt.cli.dataset import parse_range, parse_size
from tinyrt.data import load_npz
from tinyrt.errors import DataError


@pytest.fixture
def images(tmp_path):
    """Two classes; left and right halves differ in colour."""
    pixels = np.zeros((4, 8, 3), np.uint8)
    pixels[:, 4:, 0] = 255
    for name in ("cat", "dog"):
        (tmp_path / "images" / name).mkdir(parents=True)
        Image.fromarray(pixels).save(tmp_path / "images" / name / "0.png")
    return tmp_path / "images"


@pytest.fixture
def table(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    rows = "".join(f"{i},{-i},{'up' if i < 4 else 'down'}\n" for i in range(8))
    (folder / "a.csv").write_text(f"x,y,what\n{rows}")
    return folder


def made(tmp_path, folder, *options):
    """The arrays of the file that the command writes, and what it says."""
    said = call_json("dataset", folder, "-o", tmp_path / "o.npz", *options)
    assert said["output"] == str(tmp_path / "o.npz")
    arrays = load_npz(tmp_path / "o.npz")
    assert said["shape"] == list(arrays["x"].shape)
    return arrays, said


@shows("dataset", "folder", "output", "size", "grey", "stretch", "value_range")
def test_images(images, tmp_path):
    plain, said = made(tmp_path, images, "--size", "2x4")
    assert plain["x"].shape == (2, 2, 4, 3)
    assert plain["y"].tolist() == [0, 1]
    assert (said["classes"], said["left_out"]) == ({"cat": 1, "dog": 1}, [])
    assert (plain["x"].min(), plain["x"].max()) == (0, 1)
    square = made(tmp_path, images, "--size", "4x4")[0]["x"]
    whole = made(tmp_path, images, "--size", "4x4", "--stretch")[0]["x"]
    assert square.shape == whole.shape
    assert (square != whole).any()
    grey = made(tmp_path, images, "--size", "2x4", "--grey")[0]["x"]
    assert grey.shape == (2, 2, 4, 1)
    assert grey.max() == pytest.approx(0.299, abs=0.002)
    ranged = made(tmp_path, images, "--size", "2x4", "--range", "-1:3")[0]["x"]
    np.testing.assert_allclose(ranged, plain["x"] * 4 - 1, atol=1e-6)


@shows("dataset", "seconds", "rate")
def test_sounds(tmp_path):
    for rate in (16_000, 8_000):
        save(tmp_path / str(rate) / "a.wav", SOUND, rate=rate)
    assert made(tmp_path, tmp_path / "16000", "--seconds", "0.5")[0]["x"].shape == (1, 8_000)
    options = ("--seconds", "0.5", "--rate", "8000")
    arrays, said = made(tmp_path, tmp_path / "8000", *options)
    assert arrays["x"].shape == (1, 4_000)
    assert said["classes"] == {}
    assert set(arrays) == {"x"}
    lacking = ("dataset", tmp_path / "8000", "-o", tmp_path / "n.npz", "--seconds", "0.5")
    assert "8,000 samples a second" in call(*lacking, code=1).stderr
    assert not (tmp_path / "n.npz").exists()


@shows("dataset", "window", "step", "columns", "label")
def test_tables(table, tmp_path):
    options = ("--window", "2", "--label", "what")
    arrays, said = made(tmp_path, table, *options)
    assert arrays["x"].shape == (4, 2, 2)
    assert arrays["y"].tolist() == [1, 1, 0, 0]
    assert said["classes"] == {"down": 2, "up": 2}
    arrays, said = made(tmp_path, table, *options, "--step", "1", "--columns", "y")
    assert arrays["x"].shape == (6, 2, 1)
    assert arrays["x"][1, :, 0].tolist() == [-1, -2]
    assert said["left_out"] == [f"{table / 'a.csv'}: rows 4 to 5, of 2 classes"]
    arrays, _ = made(tmp_path, table, *options, "--columns", "y, x")
    assert arrays["x"][0].tolist() == [[0, 0], [-1, 1]]
    nameless = ("dataset", table, "-o", tmp_path / "n.npz", "--window", "2", "--columns", "")
    assert "0 columns are called ''" in call(*nameless, code=1).stderr


def test_what_was_left_out_is_said_and_counted(table, tmp_path):
    for i in range(7):
        (table / f"note{i}.txt").write_text("")
    command = ("dataset", table, "-o", tmp_path / "o.npz", "--window", "4", "--columns", "x")
    said = " ".join(call(*command).stdout.split())
    assert "left out note0.txt, note1.txt, note2.txt, note3.txt, note4.txt, and 2 more" in said
    (table / "note5.txt").unlink()
    (table / "note6.txt").unlink()
    said = " ".join(call(*command).stdout.split())
    assert "note3.txt, note4.txt" in said
    assert "more" not in said


def test_classes_are_numbered_and_counted_in_the_table(images, tmp_path):
    said = " ".join(
        call("dataset", images, "-o", tmp_path / "o.npz", "--size", "2x4").stdout.split()
    )
    assert "class 0, cat 1 class 1, dog 1" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "data of which kind?"),
        (("--size", "2x2", "--window", "3"), "--size and --window are of different data"),
        (("--size", "2x2", "--rate", "8000"), "--rate says nothing without --seconds"),
        (("--size", "2x2", "--step", "1"), "--step says nothing without --window"),
        (("--size", "2x2", "--columns", "x"), "--columns says nothing without --window"),
        (("--size", "2x2", "--label", "x"), "--label says nothing without --window"),
        (("--window", "2", "--grey"), "--grey says nothing without --size"),
        (("--window", "2", "--stretch"), "--stretch says nothing without --size"),
        (("--seconds", "2", "--range", "0:1"), "--range says nothing without --size"),
        (("--size", "2"), "--size 2: not a size"),
        (("--size", "2x2", "--range", "1"), "--range 1: not a range"),
        (("--size", "2x2", "--range", ""), "--range : not a range"),
        (("--seconds", "1", "--rate", "0"), "sounds of 1 seconds at 0 Hz"),
    ],
)
def test_options_of_other_data_are_refused(options, says, images, tmp_path):
    command = ("dataset", images, "-o", tmp_path / "o.npz", *options)
    assert says in call(*command, code=1).stderr
    assert not (tmp_path / "o.npz").exists()


def test_sizes_are_height_first():
    assert parse_size("96x128") == (96, 128)
    assert parse_range("-0.5:1e2") == (-0.5, 100.0)
    for text in ("x2", "2x", "2x2x2", "-1x2", "1234567x1", " 2x2"):
        with pytest.raises(DataError, match="not a size"):
            parse_size(text)
    for text in ("", ":", "1:", "a:b"):
        with pytest.raises(DataError, match="not a range"):
            parse_range(text)
