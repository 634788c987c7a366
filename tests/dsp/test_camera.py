"""Frames of a camera: as a value, by their definitions in real numbers, and in C."""

import json
import os
import re
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.c.host import ABORT, SANITIZE, core_flags, host_compiler
from tests.sampling import sampled
from tinyrt import kernels_c
from tinyrt.dsp import Camera
from tinyrt.dsp.pixels import FORMATS
from tinyrt.errors import DataError
from tinyrt.export import find_core

METHODS = ("area", "bilinear")
KINDS = ("bytes", "rgb565", "yuv422")


def a_camera(rng, largest=24):
    """A random one: all formats, odd sides, crops, from a pixel to enlarged images."""
    pixels, resize = rng.choice([*FORMATS]), rng.choice(METHODS)
    height, width = (int(n) for n in rng.integers(2, largest, 2))
    width += width % 2 if FORMATS[pixels].in_pairs else 0
    crop = None
    if rng.integers(3):
        sides = [int(rng.integers(2, side + 1)) for side in (height, width)]
        corner = [int(rng.integers(a - b + 1)) for a, b in zip((height, width), sides, strict=True)]
        crop = (*corner, *sides)
    most = (crop or (0, 0, height, width))[2:] if resize == "area" else (largest, largest)
    rows, columns = (int(rng.integers(1, side + 1)) for side in most)
    channels = int(rng.choice([1, 3]))
    return Camera(height, width, rows, columns, str(pixels), channels, crop, str(resize))


def frames_of(camera, rng, count):
    """Random bytes, and ones of the extremes."""
    x = rng.integers(0, 256, (count, camera.height, camera.line_bytes))
    x[1::2] = rng.choice([0, 255], x[1::2].shape)
    return x.astype(np.uint8)


def across_in_real_numbers(method, size, count):
    """Weights (count, size), by definition: a pixel is from i to i + 1, its middle at a half."""
    weights = np.zeros((count, size))
    for i in range(count):
        if method == "area":
            begin, end = Fraction(i * size, count), Fraction((i + 1) * size, count)
            for k in range(size):
                shared = min(end, Fraction(k + 1)) - max(begin, Fraction(k))
                weights[i, k] = max(shared, 0) / (end - begin)
        else:
            middle = (2 * i + 1) * Fraction(size, 2 * count)
            middle = min(max(middle, Fraction(1, 2)), size - Fraction(1, 2))
            for k in range(size):
                weights[i, k] = max(0, 1 - abs(k + Fraction(1, 2) - middle))
    return weights


LIMIT = {"area": 0.5 + 1e-9, "bilinear": 0.63}
"""The figures of docs/camera.md: steps of a byte from the same in real numbers."""


def test_images_are_near_their_definition():
    rng, worst = np.random.default_rng(0), dict.fromkeys(METHODS, 0.0)
    for _ in range(150):
        camera = a_camera(rng)
        _, _, height, width = camera.cropped
        down = across_in_real_numbers(camera.resize, height, camera.rows)
        across = across_in_real_numbers(camera.resize, width, camera.columns)
        for frame in frames_of(camera, rng, 2):
            pixels = camera.decoded(frame)
            assert pixels.shape == (height, width, camera.channels)
            exact = np.einsum("rh,hwc,kw->rkc", down, pixels.astype(float), across)
            found = camera.image(frame)
            assert (found.dtype, found.shape) == (np.uint8, exact.shape)
            far = np.abs(found - exact).max()
            worst[camera.resize] = max(worst[camera.resize], far)
    assert all(0.45 < worst[method] <= LIMIT[method] for method in METHODS), worst


def colours_of(camera, line):
    """Red, green and blue of a line in real numbers: BT.601's and JFIF's definitions."""
    x = line.astype(float)
    if camera.pixels in ("yuyv", "uyvy"):
        pairs = x.reshape(-1, 4)[:, [0, 1, 2, 3] if camera.pixels == "yuyv" else [1, 0, 3, 2]]
        y, u, v = pairs[:, [0, 2]].ravel(), *(np.repeat(pairs[:, i] - 128, 2) for i in (1, 3))
        if camera.channels == 1:
            return y[:, None]
        rgb = [y + 1.402 * v, y - 0.344136 * u - 0.714136 * v, y + 1.772 * u]
        return np.stack(rgb, axis=1).clip(0, 255)
    if camera.pixels == "grey":
        return np.repeat(x[:, None], camera.channels, axis=1)
    if camera.pixels in ("rgb888", "bgr888"):
        rgb = x.reshape(-1, 3)[:, :: 1 if camera.pixels == "rgb888" else -1]
    else:
        word = line.view("<u2" if camera.pixels == "rgb565" else ">u2").astype(int)
        parts = [(word >> 11) / 31, (word >> 5 & 63) / 63, (word & 31) / 31]
        rgb = 255 * np.stack(parts, axis=1)
    return rgb if camera.channels == 3 else (rgb @ [0.299, 0.587, 0.114])[:, None]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("pixels", FORMATS)
def test_colours_are_those_of_their_standards(pixels, channels):
    """Within half a step; 5 and 6 bits become 8 within 0.72, and their grey within 1.2."""
    camera, rng = Camera(40, 256, 1, 1, pixels, channels), np.random.default_rng(1)
    lines = rng.integers(0, 256, (40, camera.line_bytes)).astype(np.uint8)
    lines[0], lines[1] = 0, 255
    limit = (1.2 if channels == 1 else 0.72) if "565" in pixels else 0.505
    exact = np.stack([colours_of(camera, line) for line in lines])
    assert np.abs(camera.decoded(lines) - exact).max() <= limit


@pytest.mark.parametrize("stored", [np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2]])
def test_how_a_frame_lies_in_memory_does_not_matter(stored):
    frame = np.random.default_rng(3).integers(0, 1 << 16, (6, 8)).astype(np.uint16)
    camera = Camera(**ONE)
    np.testing.assert_array_equal(camera.image(stored(frame)), camera.image(frame))


def test_sixteen_bits_are_bytes_with_the_lower_one_first():
    words = np.array([[0xF800, 0x07E0], [0x001F, 0xFFFF]], np.uint16)
    camera = Camera(2, 2, 2, 2, "rgb565", 3)
    colours = [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]]
    for frame in (words, words.view(np.uint8), words.astype("<u2").view(np.uint8).reshape(2, 2, 2)):
        assert camera.image(frame).tolist() == colours
    swapped = Camera(2, 2, 2, 2, "rgb565_swapped", 3)
    assert swapped.image(words.byteswap()).tolist() == colours


NEAR = {"bytes": 0, "rgb565": 255 / 62, "yuv422": 1.4}
"""Kind of pixels -> how far colours of a frame may be: half a step of their fewest bits; of a
difference 1.772 / 2, and of the luma a half."""


@pytest.mark.parametrize("pixels", FORMATS)
def test_frames_are_of_the_nearest_colours(pixels):
    """Two pixels that share their colour have their own luma, and the mean of both colours."""
    camera = Camera(5, 8, 5, 8, pixels, 1 if pixels == "grey" else 3)
    rgb = np.random.default_rng(6).integers(70, 180, (5, 8, 3)).astype(np.uint8)
    frame = camera.frame_of(rgb)
    assert (frame.dtype, frame.shape) == (np.uint8, (5, camera.line_bytes))
    found, luma = np.stack([colours_of(camera, line) for line in frame]), [0.299, 0.587, 0.114]
    if pixels == "grey":
        assert np.abs(found[..., 0] - rgb @ luma).max() <= 0.51
        return
    near, real = NEAR[camera.format.kind], rgb.astype(float)
    if camera.format.in_pairs:
        assert np.abs(found @ luma - real @ luma).max() <= 0.51
        found, real = (x.reshape(5, 4, 2, 3).mean(axis=2) for x in (found, real))
    assert np.abs(found - real).max() <= near


def test_colours_that_all_formats_have():
    """Extremes stay as they are, in the places of their format."""
    black_white = np.zeros((2, 2, 3), np.uint8)
    black_white[:, 1] = 255
    cameras = {pixels: Camera(2, 2, 2, 2, pixels, 3) for pixels in FORMATS}
    for camera in cameras.values():
        frame = camera.frame_of(black_white)
        assert camera.decoded(frame)[:, :, 0].tolist() == [[0, 255]] * 2
    red = np.full((2, 2, 3), (255, 0, 0), np.uint8)
    lines = {
        **{"rgb565": [0, 0xF8] * 2, "rgb565_swapped": [0xF8, 0] * 2, "bgr888": [0, 0, 255] * 2},
        **{"yuyv": [76, 85, 76, 255], "uyvy": [85, 76, 255, 76]},
    }
    for pixels, line in lines.items():
        assert cameras[pixels].frame_of(red)[0].tolist() == line


@pytest.mark.parametrize("size", [(2, 4, 3), (4, 2, 3), (4, 6), (4, 6, 1)])
def test_a_picture_has_the_size_of_its_camera(size):
    with pytest.raises(DataError, match=f"the picture has {size[1]} x {size[0]} pixels") as caught:
        Camera(4, 6, 2, 2).frame_of(np.zeros(size, np.uint8))
    assert caught.value.expected == "6 x 4, as the camera's frames have"
    assert caught.value.hint == "resize it: magick FILE -resize 6x4! OUT.png"


def record(camera, frames):
    """What ``camera.c`` reads of a camera."""
    top, left, height, width = camera.cropped
    kind, down, across = camera.format, camera.down, camera.across
    head = [
        METHODS.index(camera.resize) * 3 + KINDS.index(kind.kind),
        *(camera.height, top, left, height, width, camera.rows, camera.columns),
        *(camera.channels, int(camera.channels == 1 and not kind.has_luma), kind.nbytes),
        *(*kind.places, len(frames), camera.line_bytes, len(down.first), len(across.first)),
    ]
    tables = [down.first, down.part, across.first, across.part]
    parts = [np.array(head, "<i4"), *(t.astype("<u2") for t in tables), frames]
    return b"".join(part.tobytes() for part in parts)


@pytest.fixture(scope="module", params=sampled(["cortex-m0"], ["cortex-m0", "cortex-m55"]))
def program(request, tmp_path_factory):
    made, core = tmp_path_factory.mktemp("camera") / "program", find_core(request.param)
    kernels = [f"tinyrt_camera_{method}_{kind}" for method in METHODS for kind in KINDS]
    isa = core.isa.value
    sources = [path for path in kernels_c.closure(kernels, isa) if path.suffix == ".c"]
    folders = [f"-I{folder}" for folder in kernels_c.header_folders(isa)]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O1", *SANITIZE.split()]
    flags += core_flags(core)
    source = Path(__file__).parent / "camera.c"
    subprocess.run([host_compiler(), *flags, *folders, source, *sources, "-o", made], check=True)
    return made


def rows_of(program, data):
    done = subprocess.run(
        [program], input=data, capture_output=True, check=True, env=os.environ | ABORT
    )
    return done.stdout


def test_c_makes_the_same_rows(program):
    """Frame after frame, without a word between them."""
    rng = np.random.default_rng(2)
    cameras = [a_camera(rng) for _ in range(sampled(60, 20_000))]
    given = [(camera, frames_of(camera, rng, 3)) for camera in cameras]
    found = rows_of(program, b"".join(record(*one) for one in given))
    want = [camera.image(frame) for camera, frames in given for frame in frames]
    assert found == b"".join(image.tobytes() for image in want)
    taken = {(c.resize, c.format.kind, c.channels) for c in cameras}
    assert len(taken) == 12
    assert any(c.rows > c.cropped[2] for c in cameras)


WIDEST = [
    Camera(4096, 4096, 1, 1, "grey", 1, None, "area"),
    Camera(2, 4096, 1024, 1024, "uyvy", 3, None, "bilinear"),
    Camera(4096, 2, 1024, 2, "rgb565", 1, None, "area"),
]


@pytest.mark.parametrize("camera", WIDEST)
def test_nothing_overflows(camera, program):
    """The largest sums: a sanitizer would find one, and white stays white."""
    white = np.full((1, camera.height, camera.line_bytes), 255, np.uint8)
    if camera.format.in_pairs:
        white[..., ::2] = 128
    size = camera.rows * camera.row_size
    assert rows_of(program, record(camera, white)) == bytes([255]) * size


ONE = {"height": 6, "width": 8, "rows": 3, "columns": 4}
REFUSED = {
    **{f"the option {k} is None": {n: ONE[n] for n in ONE if n != k} for k in ONE},
    "the option height is 1": ONE | {"height": 1},
    "the option height is 4097": ONE | {"height": 4097},
    "the option width is 1": ONE | {"width": 1},
    "the option rows is 0": ONE | {"rows": 0},
    "the option columns is 1025": ONE | {"columns": 1025},
    "the option pixels is 'nv12'": ONE | {"pixels": "nv12"},
    "the option width is 7": ONE | {"width": 7, "pixels": "yuyv"},
    "the option channels is 2": ONE | {"channels": 2},
    "the option resize is 'nearest'": ONE | {"resize": "nearest"},
    "the option rows is 7": ONE | {"rows": 7},
    "the option columns is 5": ONE | {"columns": 5, "crop": [0, 0, 6, 4]},
    "the option crop is 3": ONE | {"crop": 3},
    "the option crop is (0, 0, 3)": ONE | {"crop": [0, 0, 3]},
    "the option crop's height is 7": ONE | {"crop": [0, 0, 7, 8]},
    "the option crop's width is 1": ONE | {"crop": [0, 0, 6, 1]},
    "the option crop's top is 4": ONE | {"crop": [4, 0, 3, 8]},
    "the option crop's left is 3": ONE | {"crop": [0, 3, 6, 6]},
    "the option crop's left is -1": ONE | {"crop": [0, -1, 6, 8]},
    "the option name is 'hight'": ONE | {"hight": 3},
}


@pytest.mark.parametrize("text", REFUSED)
def test_options_that_do_not_fit_are_refused(text):
    with pytest.raises(DataError, match=re.escape(text)) as caught:
        Camera.from_dict(REFUSED[text])
    assert caught.value.expected


def test_options_at_their_limits():
    for more in (
        *({"rows": 6, "columns": 8}, {"crop": [0, 0, 3, 4]}, {"crop": [3, 4, 3, 4]}, {"rows": 1}),
        *({"crop": [4, 6, 2, 2], "rows": 2, "columns": 2}, {"width": 7, "pixels": "rgb565"}),
        {"rows": 1024, "columns": 1024, "resize": "bilinear"},
    ):
        camera = Camera.from_dict(ONE | more)
        frame = np.full((6, camera.line_bytes), 255, np.uint8)
        assert (camera.image(frame) == 255).all()


def test_as_plain_data_and_back():
    rng = np.random.default_rng(3)
    for camera in [a_camera(rng) for _ in range(20)]:
        assert Camera.from_dict(json.loads(json.dumps(camera.as_dict()))) == camera


def test_options_stay_as_they_were_given():
    options = ONE | {"crop": [0, 0, 3, 4]}
    assert Camera.from_dict(options).crop == (0, 0, 3, 4)
    assert options["crop"] == [0, 0, 3, 4]
    assert isinstance(options["crop"], list)


@pytest.mark.parametrize(
    "frame",
    [
        np.zeros((6, 15), np.uint8), np.zeros((5, 16), np.uint8), np.zeros((6, 16), np.int8),
        np.zeros((6, 9), np.uint16), np.zeros((16, 6), np.uint8), np.float32(3),
    ],
)  # fmt: skip
def test_a_frame_has_the_bytes_of_its_camera(frame):
    with pytest.raises(DataError, match=r"the frame is .* of the shape") as caught:
        Camera(**ONE).image(frame)
    assert caught.value.expected == (
        "6 lines of 16 bytes each, uint8 or uint16: 8 pixels of rgb565"
    )
