"""Calibrators: what range each finds, that batches do not matter, and which data they take."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tests.graphs import Builder, small_cnn
from tests.sampling import sampled
from tinyrt.errors import DataError, TinyrtError
from tinyrt.metrics import evaluate_graph
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.quantize import (
    Calibrator,
    QuantConfig,
    QuantizationWarning,
    calibrate,
    quantize_graph,
)
from tinyrt.quantize.calibration.histogram import BINS, Histogram
from tinyrt.quantize.calibration.observers import make_observer
from tinyrt.quantize.calibration.samples import read_batches
from tinyrt.quantize.ranges import Range

SINGLE = [c for c in Calibrator if c is not Calibrator.AUTO]
VALUES = st.floats(-(2.0**100), 2.0**100, width=32)


def _range(calibrator, x, **options):
    observer = make_observer(calibrator, QuantConfig(**options))
    observer.add(x)
    return observer.range()


def _error(x, found):
    """Mean squared error of the values rounded to 256 steps over the range."""
    step = (found.high - found.low) / 255
    return np.mean((np.clip(np.rint(x / step) * step, found.low, found.high) - x) ** 2)


@pytest.mark.slow
@settings(deadline=None)
@given(arrays(np.float32, array_shapes(max_dims=2, max_side=30), elements=VALUES), st.data())
def test_a_histogram_depends_on_the_values_alone(x, data):
    whole, parts = Histogram(), Histogram()
    whole.add(x)
    shuffled = np.array(data.draw(st.permutations(x.reshape(-1).tolist())), np.float32)
    for part in np.array_split(shuffled, min(3, x.size)):
        parts.add(part)
    assert (whole.low, whole.high, whole.zeros) == (parts.low, parts.high, parts.zeros)
    assert (whole.exponent, whole.first) == (parts.exponent, parts.first)
    np.testing.assert_array_equal(whole.counts, parts.counts)
    assert whole.zeros + whole.counts.sum() == x.size
    assert len(whole.counts) == BINS


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(SINGLE), arrays(np.float32, (6, 20), elements=st.floats(-99, 99, width=32)))
def test_every_range_lies_within_the_values_whatever_the_batches(calibrator, x):
    whole = _range(calibrator, x)
    observer = make_observer(calibrator, QuantConfig())
    for part in np.array_split(x, 3):
        observer.add(part)
    assert observer.range() == whole
    slack = 1e-6 * np.abs(x).max()
    assert min(x.min(), 0) - slack <= whole.low <= whole.high <= max(x.max(), 0) + slack


@pytest.mark.parametrize("calibrator", [Calibrator.PERCENTILE, Calibrator.MSE, Calibrator.ENTROPY])
def test_an_outlier_does_not_set_the_range(calibrator):
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=400_000), 30).astype(np.float32)[None]
    found = _range(calibrator, x)
    assert 2.5 < found.high < 25
    assert -6 < found.low < -2


def test_the_mse_range_beats_all_others_on_its_own_measure():
    x = np.random.default_rng(1).laplace(size=(1, 50_000)).astype(np.float32)
    errors = {c: _error(x, _range(c, x)) for c in SINGLE}
    assert min(errors, key=errors.get) == Calibrator.MSE


def test_an_entropy_range_holds_values_that_lie_far_from_zero():
    x = np.linspace(9, 10, 1000, dtype=np.float32)[None]
    assert _range(Calibrator.ENTROPY, x).high > 9.9
    assert _range(Calibrator.ENTROPY, -x).low < -9.9


def test_a_percentile_keeps_its_share():
    x = np.random.default_rng(2).uniform(-1, 3, (1, 100_000)).astype(np.float32)
    found = _range(Calibrator.PERCENTILE, x, percentile=99)
    assert np.mean(x > found.high) == pytest.approx(0.01, abs=0.002)
    assert np.mean(x < found.low) == pytest.approx(0.01, abs=0.002)
    assert _range(Calibrator.PERCENTILE, x, percentile=100) == Range.of(x)
    for share in (40, 50, 100.1):
        with pytest.raises(TinyrtError, match=f"percentile {share}"):
            QuantConfig(percentile=share)


def test_the_share_of_a_percentile_is_the_users():
    x = np.random.default_rng(2).uniform(-1, 3, (200, 8, 8, 3)).astype(np.float32)
    config = QuantConfig(calibrator=Calibrator.PERCENTILE, percentile=75)
    found = calibrate(small_cnn(), x, config=config)["x"]
    assert (found.low, found.high) == pytest.approx((0, 2), abs=0.02)


@pytest.mark.parametrize("calibrator", SINGLE)
def test_zeros_count_in_shares_alone(calibrator):
    """They are exact in any range; but a share of all values has more where there are more."""
    x = np.random.default_rng(4).uniform(0, 1, 20_000).astype(np.float32)
    few, many = (
        _range(calibrator, np.append(x, np.zeros(n, np.float32))[None], percentile=99)
        for n in (1, 60_000)
    )
    if calibrator is Calibrator.PERCENTILE:
        assert (few.high, many.high) == pytest.approx((0.99, 0.96), abs=0.005)
    else:
        assert few == many


def test_a_moving_average_follows_the_samples():
    x = np.repeat(np.array([[0, 1], [0, 3]], np.float32), [1, 200], axis=0)
    found = _range(Calibrator.MOVING_AVERAGE, x)
    assert found.low == 0
    assert found.high == pytest.approx(3, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("float_io", "loss_db"), sampled([(True, 3)], [(False, 1), (True, 3)]))
def test_auto_is_as_good_as_each_on_the_data_it_saw(float_io, loss_db):
    rng = np.random.default_rng(3)
    data = rng.standard_t(3, (16, 8, 8, 3)).astype(np.float32)
    graph = small_cnn()

    def ratio(calibrator):
        quantized = quantize_graph(graph, data, QuantConfig(calibrator, float_io=float_io))
        return evaluate_graph(quantized, {"x": data}, against=graph).sqnr_db

    auto = ratio(Calibrator.AUTO)
    assert all(auto > ratio(c) - loss_db for c in SINGLE)


@pytest.mark.parametrize("calibrator", Calibrator)
def test_a_scalar_on_the_way_has_a_range(calibrator):
    b = Builder((2, 4))
    total = b.op("sum", (b.op("tanh", ("x",)),), ReduceAttrs((0, 1), keep_dims=False))
    y = b.op("add", (b.op("reshape", (total,), ReshapeAttrs((1, 1))), "x"), AddAttrs())
    data = np.random.default_rng(5).normal(size=(48, 4)).astype(np.float32)
    quantized = quantize_graph(b.graph(y), data, QuantConfig(calibrator))
    # A moving average cuts off what is rare.
    least = 3 if calibrator is Calibrator.MOVING_AVERAGE else 20
    assert evaluate_graph(quantized, {"x": data}, against=b.graph(y)).sqnr_db > least


def _samples(count=24):
    return np.random.default_rng(4).normal(size=(count, 8, 8, 3)).astype(np.float32)


def test_runs_may_come_row_by_row_but_not_end_in_the_middle():
    b = Builder((2, 4))
    total = b.op("sum", (b.op("tanh", ("x",)),), ReduceAttrs((0, 1), keep_dims=False))
    y = b.op("add", (b.op("reshape", (total,), ReshapeAttrs((1, 1))), "x"), AddAttrs())
    graph, data = b.graph(y), np.random.default_rng(5).normal(size=(48, 4)).astype(np.float32)
    for rows in (1, 3):
        assert calibrate(graph, iter(np.split(data, 48 // rows))) == calibrate(graph, data)
    with pytest.raises(DataError, match="the data have 1 rows") as caught:
        calibrate(graph, iter(np.split(data[:47], 47)))
    assert "2 for each run" in caught.value.expected


def test_data_may_come_as_files_folders_and_iterables(tmp_path):
    x, graph = _samples(), small_cnn()
    expected = calibrate(graph, x)
    np.savez(tmp_path / "x.npz", x=x)
    np.save(tmp_path / "x.npy", x)
    folder = tmp_path / "folder"
    folder.mkdir()
    for i, part in enumerate(np.array_split(x, 6)):
        np.save(folder / f"{i}.npy", part)
    for data in (tmp_path / "x.npz", tmp_path / "x.npy", folder, iter([x[:5], {"x": x[5:]}])):
        assert calibrate(graph, data) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "calibrator", sampled([Calibrator.MSE, Calibrator.MEASURED], [*Calibrator])
)
def test_memory_does_not_grow_with_the_samples(calibrator):
    graph = small_cnn()

    def peak(batches):
        tracemalloc.start()
        stream = (_samples(32) for _ in range(batches))
        calibrate(graph, stream, config=QuantConfig(calibrator))
        _, top = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return top

    peak(1)
    # Garbage in a circle, which Python finds some time later, adds to some of them.
    assert any(peak(6) < 1.3 * peak(2) for _ in range(4))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_are_read_piece_by_piece(save, tmp_path):
    x = np.random.default_rng(0).normal(size=(2000, 500)).astype(np.float32)
    save(tmp_path / "x.npz", a=x, b=x[:, :3], y=np.arange(2000))
    tracemalloc.start()
    rows = 0
    for batch in read_batches(tmp_path / "x.npz"):
        count = len(batch["a"])
        np.testing.assert_array_equal(batch["a"], x[rows : rows + count])
        np.testing.assert_array_equal(batch["b"], x[rows : rows + count, :3])
        assert set(batch) == {"a", "b"}
        rows += count
    _, top = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows == 2000
    assert top < x.nbytes / 3


def test_archives_of_another_order_and_cut_ones(tmp_path):
    x = np.asfortranarray(np.arange(600, dtype=np.float32).reshape(200, 3))
    np.savez(tmp_path / "x.npz", x=x)
    found = [batch["x"] for batch in read_batches(tmp_path / "x.npz")]
    np.testing.assert_array_equal(np.concatenate(found), x)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "x.npz").read_bytes()[:500])
    with pytest.raises(DataError, match="data file is cut short or damaged"):
        list(read_batches(tmp_path / "cut.npz"))


def test_few_samples_and_constant_tensors_are_named():
    b = Builder((1, 4))
    clamped = b.op("relu", ("x",))
    graph = b.graph(clamped)
    for count in (3, 9, 10):
        with pytest.warns(QuantizationWarning) as caught:
            calibrate(graph, -np.ones((count, 4), np.float32))
        messages = [str(w.message) for w in caught]
        assert any(f"only {count} samples for 'x'" in m for m in messages) is (count < 10)
        for name, value in (("x", "-1"), (clamped, "0")):
            assert any(f"'{name}'" in m and f"was {value} in every" in m for m in messages)


def test_unreadable_data_are_named(tmp_path):
    graph = small_cnn()
    with pytest.raises(DataError, match="no samples") as caught:
        calibrate(graph, tmp_path)
    assert caught.value.file == str(tmp_path)
    (tmp_path / "bad.npy").write_bytes(b"not numpy")
    with pytest.raises(DataError, match=r"this is no \.npz or \.npy file"):
        calibrate(graph, tmp_path / "bad.npy")
    with pytest.raises(DataError, match="cannot read"):
        calibrate(graph, tmp_path / "missing.npy")
    with pytest.raises(DataError, match="no samples") as caught:
        calibrate(graph, iter([]))
    assert caught.value.file is None


def test_tensors_that_share_a_range_are_proposed_what_holds_them_all(monkeypatch):
    """Of each calibrator that is tried, the union of what it finds for them."""
    b = Builder((1, 4))
    small = b.op("tanh", ("x",))
    large = b.op("mul", ("x", b.constant(np.float32(9))), MulAttrs())
    graph = b.graph(b.op("concatenation", (small, large), ConcatenationAttrs(1)))
    asked = []

    def search_ranges(simulator, plan, table, candidates):
        asked.append(candidates)
        return table

    monkeypatch.setattr("tinyrt.quantize.calibration.collect.search_ranges", search_ranges)
    x = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    calibrate(graph, x, config=QuantConfig(calibrator=Calibrator.AUTO))
    (candidates,) = asked
    apart = [candidates((name,), Range(0, 0)) for name in (small, large)]
    assert apart[0] != apart[1]
    unions = [one.union(other) for one, other in zip(*apart, strict=True)]
    assert candidates((small, large), Range(0, 0)) == unions
    assert candidates(("nothing", large), Range(0, 0)) == apart[1]
    assert candidates(("nothing",), Range(0, 0)) == []
