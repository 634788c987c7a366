"""Cycles: of small kernels as counted by hand, of models beside the clock's counts."""

from dataclasses import replace

import pytest

from tests.firmware.cycle_kernels import HANDS, M0, M0PLUS, assembly, body, symbol
from tests.firmware.projects import fake_project
from tests.firmware.test_zoo import emulate
from tests.sampling import sampled
from tinyrt.emulate import Flash, Timing, build_image, run_image
from tinyrt.emulate.boards import find_board
from tinyrt.emulate.cycles import meter as metering
from tinyrt.emulate.cycles.counts import read_counts, sum_of
from tinyrt.emulate.cycles.estimate import Cycles, estimate
from tinyrt.emulate.cycles.meter import CALL, COUNTS, STOP, meter_for
from tinyrt.emulate.cycles.table import table_of
from tinyrt.emulate.cycles.timing import CoreTiming
from tinyrt.export import find_core

INPUT = bytes([1, 2, 3, 4])
SAME_CODE = {M0PLUS: M0}
"""Cores that run another one's image."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """By core: the counts of one call of its kernels, and the image's listing."""
    known = {}

    def measure(core):
        built = SAME_CODE.get(core, core)
        if built not in known:
            folder = tmp_path_factory.mktemp(built)
            project = fake_project(folder / "p", body(built), declarations=assembly(built))
            project = replace(project, core=find_core(built))
            image = build_image(project, folder)
            meter = meter_for(project.core, find_board(project.core), Timing())
            listing = meter.listing(image.path)
            options = meter.options(listing, (CALL, STOP), folder)
            run_image(image, INPUT, folder, options=options)
            calls = [c for mark, c in read_counts(folder / COUNTS) if mark == listing.symbols[CALL]]
            known[built] = calls[-1], listing
        return known[built]

    return measure


def kernel_of(name, listing):
    """The kernel's own code."""
    starts = sorted(at for symbol, at in listing.symbols.items() if symbol.startswith("kernel_"))
    first = listing.symbols[symbol(name)]
    end = min(at for at in starts if at > first)
    return {at: each for at, each in listing.code.items() if first <= at < end}


CASES = [(name, core) for name, hand in HANDS.items() for core in hand.cycles]


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize(("name", "core"), CASES, ids=[f"{name}-{core}" for name, core in CASES])
def test_a_kernel_takes_the_cycles_counted_by_hand(name, core, measured):
    counts, listing = measured(core)
    code = kernel_of(name, listing)
    counts = counts.of(code)
    if not name.startswith("unaligned"):
        counts = replace(counts, loads_apart=0, stores_apart=0)
    elif name == "unaligned":
        assert (counts.loads_apart, counts.stores_apart) == (2 + 1 + 1, 2)
        counts = replace(counts, stores_apart=0)
    else:
        counts = replace(counts, loads_apart=0)
    found = estimate(counts, code, CoreTiming(table_of(core)), Flash())
    assert (found.low, found.high) == HANDS[name].on(core)


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("core", [M0, M0PLUS])
def test_the_small_multiplier_takes_32_cycles(core, measured):
    counts, listing = measured(core)
    code = kernel_of("multiply", listing)
    timing = CoreTiming(table_of(core), small_multiplier=True)
    cycles = HANDS["multiply"].on(core)[0] + 31
    assert estimate(counts.of(code), code, timing, Flash()) == Cycles(cycles, cycles)


# Models

MODEL = "autoencoder_ad"
CORES = sampled(["cortex-m4"], ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m55"])


TIMING = Timing(Flash(wait=2, code_cache=1024))


@pytest.fixture(scope="module")
def told(zoo, tmp_path_factory):
    """By core: a model's report with cycles, its graph, and the folder."""
    known = {}

    def tell(core):
        if core not in known:
            folder = tmp_path_factory.mktemp(core)
            report, graph = emulate(zoo, MODEL, folder, core, samples=2, cycles=TIMING)
            known[core] = report, graph, folder
        return known[core]

    return tell


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
def test_the_plugin_counts_what_the_clock_counts(told, core):
    """Of an inference to the instructions that call it; ranges are ordered, and ops add up."""
    report, graph, folder = told(core)
    assert report.bit_exact
    listing = metering.read_listing(folder / "image" / "image.elf", find_core(core))
    stretches = read_counts(folder / COUNTS)
    calls = [counts for mark, counts in stretches if mark == listing.symbols[CALL]]
    assert len(calls) == 2 + 4
    assert sum_of(calls[-4:]).instructions / 4 == pytest.approx(report.instructions, abs=3)
    whole = report.cycles.cycles
    assert 0 < whole.low <= whole.high
    assert [op.cycles is not None for op in report.ops] == [True] * len(graph.nodes)
    assert all(0 <= op.cycles.low <= op.cycles.high for op in report.ops)
    assert sum(op.cycles.high for op in report.ops) == pytest.approx(whole.high, rel=0.02)
    if core != "cortex-m55":  # whose units are busy op by op
        assert sum(op.cycles.low for op in report.ops) == pytest.approx(whole.low, rel=0.02)


@pytest.mark.device
@pytest.mark.slow
def test_an_emulator_without_plugins_gives_a_wider_range(told, zoo, tmp_path, monkeypatch):
    exact, _, _ = told("cortex-m4")
    monkeypatch.setattr(metering, "plugin_for", lambda qemu: None)
    wide, _ = emulate(zoo, MODEL, tmp_path, samples=1, cycles=TIMING)
    assert (exact.cycles.basis, wide.cycles.basis) == ("edges", "instructions")
    assert not (tmp_path / COUNTS).exists()
    pairs = [(exact.cycles.cycles, wide.cycles.cycles)]
    pairs += [(a.cycles, b.cycles) for a, b in zip(exact.ops, wide.ops, strict=True)]
    assert len(pairs) > 5
    for narrow, broad in pairs:
        assert broad.low <= narrow.low <= narrow.high <= broad.high
    assert wide.cycles.cycles.high < 45 * wide.instructions
    assert wide.cycles.cycles.low > 0.4 * wide.instructions


@pytest.mark.whole
@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("core", ["cortex-m4"])
def test_an_inference_in_slices_has_its_cycles_without_those_of_timing_slices(zoo, tmp_path, core):
    options = {"samples": 1, "cycles": Timing(), "slices": 50_000}
    sliced, _ = emulate(zoo, MODEL, tmp_path, core, **options)
    assert sliced.slices.plan.count > 1
    cycles = sliced.cycles.cycles
    assert sliced.instructions < cycles.low <= cycles.high < 1.6 * sliced.instructions
