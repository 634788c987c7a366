"""Folders of images: classes, sizes, colours, and files that are damaged or of other kinds."""

import sys

import numpy as np
import pytest
from PIL import Image

from tests.datasets.trees import classes_of
from tinyrt.budget import limited
from tinyrt.data import load_inputs, load_labels
from tinyrt.datasets import load_images
from tinyrt.datasets.dataset import Dataset
from tinyrt.errors import BudgetError, DataError, ToolError


def save(path, pixels, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(pixels, np.uint8)).save(path, **options)


def plain(height, width, colour=(10, 20, 30)):
    return np.broadcast_to(np.uint8(colour), (height, width, 3))


def test_folders_are_classes_in_the_order_of_their_names(tmp_path):
    for name, colour in (("dog/b.png", 1), ("cat/z/a.PNG", 2), ("cat/0.png", 3), ("cow/a.jpg", 4)):
        save(tmp_path / name, plain(2, 2, (colour, colour, colour)))
    (tmp_path / "LICENCE").write_text("mine")
    (tmp_path / "dog" / "notes.txt").write_text("nice")
    for hidden in (".thumbs/a.png", "cow/.thumbs/a.png", "cow/.a.png"):
        save(tmp_path / hidden, plain(2, 2))
    data = load_images(tmp_path, size=(2, 2), value_range=(0, 255))
    assert (data.classes, data.y.tolist()) == (("cat", "cow", "dog"), [0, 0, 1, 2])
    assert data.x[:, 0, 0, 0].tolist() == [3, 2, 4, 1]
    assert data.left_out == ("LICENCE", "dog/notes.txt")
    assert data.counts() == {"cat": 2, "cow": 1, "dog": 1}
    data.save(tmp_path / "data.npz")
    np.testing.assert_array_equal(load_inputs(tmp_path / "data.npz")["x"], data.x)
    np.testing.assert_array_equal(load_labels(tmp_path / "data.npz"), data.y)


def test_a_class_without_samples_counts_none():
    data = Dataset(np.zeros((2, 1)), np.array([1, 1]), ("cat", "dog", "emu"))
    assert data.counts() == {"cat": 0, "dog": 2, "emu": 0}


def test_images_without_classes_have_no_labels(tmp_path):
    save(tmp_path / "a.png", plain(3, 3))
    data = load_images(tmp_path, size=(3, 3))
    assert (data.y, data.classes, data.counts()) == (None, (), {})
    data.save(tmp_path / "data.npz")
    assert load_labels(tmp_path / "data.npz") is None


def test_values_and_colours(tmp_path):
    save(tmp_path / "a.png", plain(2, 3, (255, 0, 51)))
    one = load_images(tmp_path, size=(2, 3)).x
    assert (one.shape, one.dtype) == ((1, 2, 3, 3), np.float32)
    np.testing.assert_allclose(one[0, 1, 2], [1, 0, 0.2], rtol=1e-6)
    np.testing.assert_allclose(
        load_images(tmp_path, size=(2, 3), value_range=(-1, 3)).x[0, 0, 0], [3, -1, -0.2], rtol=1e-6
    )
    grey = load_images(tmp_path, size=(2, 3), grey=True, value_range=(0, 255)).x
    assert grey.shape == (1, 2, 3, 1)
    # ITU-R 601: 0.299 R + 0.587 G + 0.114 B.
    assert grey[0, 0, 0, 0] == round(0.299 * 255 + 0.114 * 51)


def test_the_middle_or_the_whole_is_taken(tmp_path):
    pixels = np.zeros((4, 8, 3), np.uint8)
    pixels[:, 2:6] = 255
    save(tmp_path / "a.png", pixels)
    assert (load_images(tmp_path, size=(4, 4)).x == 1).all()
    whole = load_images(tmp_path, size=(4, 4), crop=False).x[0, 0, :, 0]
    assert whole[0] < 0.3
    assert whole[1] > 0.7
    assert whole[3] < 0.3
    for size in ((2, 8), (1, 4096), (4096, 1)):
        assert load_images(tmp_path, size=size, crop=False).x.shape == (1, *size, 3)


def test_transparency_lies_on_black_and_cameras_are_turned(tmp_path):
    save(tmp_path / "a.png", np.full((2, 2, 4), (200, 100, 50, 0)))
    assert (load_images(tmp_path, size=(2, 2)).x == 0).all()
    save(tmp_path / "a.png", np.full((2, 2, 4), (200, 100, 50, 51)))
    np.testing.assert_array_equal(
        load_images(tmp_path, size=(2, 2), value_range=(0, 255)).x[0, 0, 0], (40, 20, 10)
    )
    palette = Image.new("P", (2, 2))
    palette.putpalette([200, 100, 50])
    palette.save(tmp_path / "a.png", transparency=0)
    assert (load_images(tmp_path, size=(2, 2)).x == 0).all()
    turned = tmp_path / "turned"
    pixels = np.zeros((16, 32, 3), np.uint8)
    pixels[:, :16] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # to be shown turned by 90 degrees, clockwise
    save(turned / "a.jpg", pixels, exif=exif, quality=95)
    found = load_images(turned, size=(32, 16)).x[0, :, :, 0]
    assert (found[:14] > 0.9).all()
    assert (found[18:] < 0.1).all()


@pytest.mark.parametrize(
    ("mode", "ending"),
    [
        *(("1", "png"), ("L", "pgm"), ("LA", "PNG"), ("P", "gif"), ("RGB", "bmp"), ("RGB", "webp")),
        *(("RGB", "ppm"), ("RGBA", "tiff"), ("CMYK", "jpeg"), ("CMYK", "jpg"), ("YCbCr", "tif")),
    ],
)
def test_images_of_every_kind_with_eight_bits_a_channel_are_read(mode, ending, tmp_path):
    Image.new("RGB", (2, 2), "white").convert(mode).save(tmp_path / f"a.{ending}")
    with Image.open(tmp_path / f"a.{ending}") as saved:
        assert saved.mode == mode
    assert (load_images(tmp_path, size=(2, 2)).x > 0.99).all()


def damaged(folder):
    save(folder / "a.png", plain(30, 30))
    whole = (folder / "a.png").read_bytes()
    (folder / "a.png").write_bytes(whole[: len(whole) // 2])


def no_image(folder):
    (folder / "a.jpg").write_text("no image")


def deep(folder):
    Image.fromarray(np.full((2, 2), 40_000, np.uint16)).save(folder / "a.png")


def large(folder):
    Image.new("1", (10_000, 10_000)).save(folder / "a.png")


def huge(folder):
    Image.new("1", (20_000, 10_000)).save(folder / "a.png")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (damaged, "cannot be decoded: "),
        (no_image, "cannot be decoded: cannot identify"),
        (deep, "the image is of Pillow's mode I;16"),
        (huge, "cannot be decoded: Image size (200000000 pixels)"),
        (large, "more pixels than is safe to decode"),
    ],
)
def test_an_image_that_is_none_is_named(make, says, tmp_path):
    make(tmp_path)
    with pytest.raises(DataError) as caught:
        load_images(tmp_path, size=(2, 2))
    assert says in str(caught.value)
    assert f"{tmp_path}/a." in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"size": (0, 4)}, "images of 0 x 4 pixels"),
        ({"size": (4, 4097)}, "sides of 1 to 4,096 pixels"),
        ({"size": (4, 4), "value_range": (1, 1)}, "brightness from 1 to 1"),
        ({"size": (4, 4), "value_range": (1, 0)}, "brightness from 1 to 0"),
        ({"size": (4, 4), "value_range": (0, float("nan"))}, "brightness from 0 to nan"),
        ({"size": (4, 4), "value_range": (0, float("inf"))}, "two finite numbers"),
        ({"size": (4, 4), "value_range": (float("-inf"), 0)}, "two finite numbers"),
    ],
)
def test_what_no_sample_can_have_is_refused(options, says, tmp_path):
    save(tmp_path / "a.png", plain(2, 2))
    with pytest.raises(DataError, match=says):
        load_images(tmp_path, **options)


def test_folders_that_are_no_data_are_refused(tmp_path):
    with pytest.raises(DataError, match="there is no such folder"):
        load_images(tmp_path / "nothing", size=(2, 2))
    with pytest.raises(DataError, match="the folder has no images"):
        load_images(tmp_path, size=(2, 2))
    classes_of(tmp_path, save, plain(2, 2), "png")
    save(tmp_path / "c.png", plain(2, 2))
    with pytest.raises(DataError, match=r"1 images lie beside the folders of classes, 'c.png'"):
        load_images(tmp_path, size=(2, 2))


def test_a_whole_disk_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("tinyrt.datasets.dataset.MOST_FILES", 3)
    classes_of(tmp_path, save, plain(2, 2), "png")
    assert len(load_images(tmp_path, size=(2, 2)).x) == 2
    save(tmp_path / "c" / "0.png", plain(2, 2))
    assert len(load_images(tmp_path, size=(2, 2)).x) == 3
    save(tmp_path / "d" / "0.png", plain(2, 2))
    with pytest.raises(DataError, match="more than 3 files"):
        load_images(tmp_path, size=(2, 2))


def test_more_than_the_memory_is_refused(tmp_path):
    classes_of(tmp_path, save, plain(2, 2), "png")
    with (
        limited(memory=2 * 4 * 16 * 16 * 3 - 1),
        pytest.raises(BudgetError, match="2 samples of shape"),
    ):
        load_images(tmp_path, size=(16, 16))
    with limited(memory=12 * 4 - 1), pytest.raises(BudgetError, match=r"the image '0\.png'"):
        load_images(tmp_path, size=(1, 1))
    with limited(memory=12 * 4):
        load_images(tmp_path, size=(1, 1))


def test_large_files_may_take_more_memory(tmp_path):
    """As wherever files are read: the limit grows with them, unless it was given."""
    classes_of(tmp_path, save, plain(9, 9), "png")
    nbytes = sum(path.stat().st_size for path in tmp_path.rglob("*.png"))
    with limited() as budget:
        before = budget.memory
        load_images(tmp_path, size=(2, 2))
        assert budget.memory == before + budget.memory_per_byte * nbytes


def test_without_pillow_the_error_says_how_to_have_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ToolError, match="Pillow, which is not installed") as caught:
        load_images(tmp_path, size=(2, 2))
    assert "tinyrt[datasets]" in str(caught.value)
