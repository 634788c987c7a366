"""A front end as the first layer: the device's features, trained on, and what it refuses."""

import numpy as np
import pytest

from tests.dsp.sounds import mixed
from tests.moving import moving
from tinyrt import api
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp import Camera, LogMel, LogMelStream, Motion, MotionStream, Pipeline, Vision
from tinyrt.dsp.standard import standardized
from tinyrt.dsp.steps import bands_of, spectra_of
from tinyrt.dsp.tables import tables_of
from tinyrt.errors import GradientError, ShapeError, UnsupportedError
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.signal_filter_bank import ref_energy, ref_filter_bank, ref_square_root
from tinyrt.train import Adam, Tensor, trace
from tinyrt.train.augment import add_noise
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.front_end import FrontEndLayer
from tinyrt.train.nn import Flatten, Linear, Sequential

FRONT = LogMel(window=160, step=80, bands=9, lower_hz=100, upper_hz=7_000)
MOVING = Motion(axes=3, window=50, step=25, edges=(0, 3, 9, 40), peaks=1)


def sounds(count, samples=900):
    return np.stack([mixed(seed, samples) for seed in range(count)])


def test_bands_are_those_of_the_ops():
    """All at once the same as by the references, also where sums are large and where none."""
    for front in (FRONT, LogMel(), LogMel(fft=2_000, bands=60, window=700, lower_hz=0)):
        tables = tables_of(front)
        frames = np.stack([mixed(seed, front.window) for seed in range(60)])
        made = spectra_of(front, tables, frames)
        # As no transform makes them: the largest spectra of an energy that is possible.
        loud = np.zeros_like(made.spectra[:4])
        loud[np.arange(4), 2 * np.array([20, 21, 22, 23])] = 32_767
        spectra, shifts = np.concatenate([made.spectra, loud]), np.append(made.shifts, [0, 1, 3, 9])
        found = bands_of(tables, spectra, shifts)
        for spectrum, shift, bands in zip(spectra, shifts, found, strict=True):
            energies = ref_energy(tables.energy, spectrum)
            sums = ref_filter_bank(tables.bank, energies, tables.weights, tables.unweights)
            want = ref_square_root(NoAttrs(), sums, np.array(shift, np.int32))
            np.testing.assert_array_equal(bands, want)
        assert found.any()


def test_a_layer_gives_what_the_network_takes():
    pipeline = Pipeline(FRONT, scale=tuple(0.01 * i + 0.01 for i in range(9)), offset=250)
    layer, x = FrontEndLayer(pipeline), sounds(5)
    rows = np.stack([LogMelStream(FRONT).push(window) for window in x]).astype(np.int64)
    want = ((rows - 250) * np.array(pipeline.scale))[..., None]
    found = layer(Tensor(x.astype(np.float32))).data
    assert found.dtype == np.float32
    assert found.shape == (5, *layer.shape((900,))) == (5, 10, 9, 1)
    np.testing.assert_allclose(found, want, rtol=1e-6)
    by_window = FrontEndLayer(Pipeline(FRONT, scale=0.5, normalize="features"))
    normal = standardized(rows.astype(np.uint16), "features")[..., None] * 0.5
    np.testing.assert_array_equal(by_window(Tensor(x.astype(np.float32))).data, normal)
    assert list(layer.parameters()) == []


def test_motion_is_a_series():
    x = np.stack([moving(kind, 1, 200) for kind in ("walk", "noise", "rest")])
    layer = FrontEndLayer.learnt(MOVING, x)
    found = layer(Tensor(x.astype(np.float32))).data
    assert found.shape == (3, 1, 7, MOVING.features) == (3, *layer.shape((200, 3)))
    rows = np.concatenate([MotionStream(MOVING).push(window) for window in x]).astype(float)
    want = (rows - np.rint(rows.mean(0))) / np.maximum(rows.std(0), 1)
    np.testing.assert_allclose(found.reshape(-1, MOVING.features), want, rtol=1e-5, atol=1e-6)
    assert layer.pipeline.motion == MOVING


SEEN = Vision(Camera(10, 14, 4, 6, "rgb565", 3, (1, 2, 8, 12)), scale=(0.1, 0.2, 0.3), mean=120.5)


@pytest.mark.parametrize("vision", [SEEN, Vision(Camera(10, 14, 5, 5, "yuyv"), scale=0.02)])
def test_pictures_are_what_a_camera_sends_of_them(vision, tmp_path):
    """And what the file of the network behind answers to its frames."""
    rng, layer, camera = np.random.default_rng(4), FrontEndLayer(vision), vision.camera
    x = rng.uniform(-20, 280, (40, 10, 14, 3)).astype(np.float32)
    seen = layer(Tensor(x)).data
    assert seen.shape == (40, *layer.shape((10, 14, 3)))
    bytes_of = np.floor(x + 0.5).clip(0, 255).astype(np.uint8)
    frames = np.stack([camera.frame_of(picture) for picture in bytes_of])
    want = np.stack([vision.real(camera.image(frame)) for frame in frames])
    np.testing.assert_array_equal(seen, want)
    body = Sequential(Flatten(), Linear(seen[0].size, 2, rng=rng))
    float_path, path = tmp_path / "float.tflite", tmp_path / "net.tflite"
    save_tflite(optimize(trace(body, layer.shape((10, 14, 3)), name="seen")), float_path)
    api.quantize_model(float_path, seen, path)
    (scores,) = api.run_model(path, seen).values()
    api.attach_front_end(path, layer.pipeline, path)
    (found,) = api.look_model(path, frames).outputs.values()
    np.testing.assert_array_equal(found.reshape(scores.shape), scores)
    real = body(Tensor(seen)).data
    np.testing.assert_allclose(scores, real, atol=0.05 * np.abs(real).max())


def test_pictures_of_another_size():
    for shape in ((2, 10, 13, 3), (2, 10, 14), (2, 10, 14, 1)):
        with pytest.raises(ShapeError, match="pictures are") as caught:
            FrontEndLayer(SEEN)(Tensor(np.zeros(shape, np.float32)))
        assert caught.value.expected.startswith("[10, 14, 3]: red, green and blue")


def test_samples_are_rounded_and_end_as_in_a_converter():
    layer = FrontEndLayer(Pipeline(FRONT))
    x = sounds(7).astype(np.float64)
    real = 60 * x + 0.3
    whole = np.rint(real).clip(-32_768, 32_767)
    assert (np.abs(real) > 32_768).any(axis=1).sum() > 2
    found = layer(Tensor(real, dtype=np.float64)).data
    np.testing.assert_array_equal(found, layer(Tensor(whole, dtype=np.float64)).data)
    assert not np.array_equal(found, layer(Tensor(np.trunc(real), dtype=np.float64)).data)


def tones(count, seed):
    """Low and high tones in noise, and which each is."""
    rng = np.random.default_rng(seed)
    high = rng.integers(0, 2, count)
    rate = np.where(high, rng.uniform(0.9, 1.3, count), rng.uniform(0.2, 0.5, count))
    level = 10 ** rng.uniform(1.5, 4, (count, 1))
    x = level * np.sin(rate[:, None] * np.arange(720)) + rng.normal(0, 20, (count, 720))
    return x.astype(np.float32), high


def test_a_network_is_trained_on_samples_and_deployed_with_the_layers_front_end(tmp_path):
    (x, y), rng = tones(96, 1), np.random.default_rng(0)
    layer = FrontEndLayer.learnt(FRONT, x)
    rows, bands, _ = layer.shape((720,))
    body = Sequential(Flatten(), Linear(rows * bands, 2, rng=rng))
    net = Sequential(layer, body)
    seen = []

    def noisy(samples, generator):
        seen.append(add_noise(samples, generator, sigma=40.0))
        return seen[-1]

    fit(net, Adam(net.parameters(), 1e-2), x, y, FitConfig(epochs=6), rng=rng, augment=noisy)
    assert seen[0].shape[1:] == (720,), "augmentation comes before the features"
    heard, labels = tones(40, 2)
    assert (net(Tensor(heard)).data.argmax(1) == labels).mean() > 0.9
    path = tmp_path / "net.tflite"
    save_tflite(optimize(trace(body, layer.shape((720,)), name="tones")), path)
    api.attach_front_end(path, layer.pipeline, path)
    for sound, scores in zip(np.rint(heard[:5]), net(Tensor(heard)).data, strict=False):
        (found,) = api.listen_model(path, sound.astype(np.int16)).outputs.values()
        np.testing.assert_allclose(found[0], scores, rtol=1e-4, atol=1e-4)


def test_what_it_refuses():
    layer = FrontEndLayer(Pipeline(FRONT))
    net = Sequential(layer, Flatten(), Linear(90, 2, rng=np.random.default_rng(0)))
    with pytest.raises(UnsupportedError, match="a front end is no op of a graph") as caught:
        trace(net, (900,))
    assert caught.value.expected == "the network behind it"
    learning = Tensor(sounds(2).astype(np.float32), requires_grad=True)
    with pytest.raises(GradientError, match="have no gradient to the samples"):
        net(learning).sum().backward()
    wrong = [(layer, (2, 100)), (layer, (2, 900, 1)), (FrontEndLayer(Pipeline()), (2, 479))]
    for one, shape in wrong:
        with pytest.raises(ShapeError, match=r"windows (of samples are|have \d+ samples)"):
            one(Tensor(np.zeros(shape, np.float32)))
    with pytest.raises(ShapeError, match="windows have 100 samples"):
        FrontEndLayer.learnt(FRONT, np.zeros((3, 100), np.int16))


def test_pictures_that_a_layer_learns_from_come_out_in_deviations():
    camera = SEEN.camera
    x = np.random.default_rng(5).uniform(0, 255, (30, 10, 14, 3)).astype(np.float32)
    layer = FrontEndLayer.learnt(camera, x)
    assert layer.pipeline.camera is camera
    seen = layer(Tensor(x)).data
    assert (seen.mean(), seen.std()) == (pytest.approx(0, abs=1e-4), pytest.approx(1, abs=1e-4))
    with pytest.raises(ShapeError, match=r"pictures are \[10, 13, 3\]"):
        FrontEndLayer.learnt(camera, x[:, :, :13])
