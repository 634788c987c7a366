"""Samples that several machines share: the same report, and a word on what did not run."""

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import distributed
import numpy as np
import pytest

import tinyrt
from tests.graphs import small_cnn
from tests.quantize.test_mixed import samples
from tinyrt.cluster.pieces import Crew
from tinyrt.cluster.tasks import Failure, LacksToolsError
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import spread
from tinyrt.emulate.boards import board_for
from tinyrt.emulate.image import Image
from tinyrt.emulate.qemu import Run
from tinyrt.emulate.spread import Shared, boot_some, run_spread
from tinyrt.errors import DataError, ToolError, UnsupportedError
from tinyrt.export import find_core
from tinyrt.quantize import QuantConfig, quantize_graph

BOARD = board_for(find_core("m4"), None)
WHOLE = bytes(range(100))
"""Fifty samples of two bytes."""


@pytest.mark.parametrize(("n", "least"), [(50, 1), (50, 7), (50, 50), (50, 99), (3, 2), (1, 8)])
def test_pieces_have_whole_samples_and_all_of_them(n, least):
    pieces = spread._cut(WHOLE[: 2 * n], n, least)
    assert b"".join(pieces) == WHOLE[: 2 * n]
    assert len(pieces) == min(n, least)
    sizes = {len(piece) for piece in pieces}
    assert all(size % 2 == 0 for size in sizes)
    assert max(sizes) - min(sizes) <= 2


def test_long_inputs_come_in_more_pieces(monkeypatch):
    monkeypatch.setattr(spread, "PIECE_BYTES", 10)
    assert len(spread._cut(WHOLE, 50, 2)) == 10


@pytest.mark.parametrize("limit", [2, 3, 9, 10, 11, 13, 99, 100, 101])
def test_no_piece_is_longer_than_the_limit_and_a_sample(limit, monkeypatch):
    monkeypatch.setattr(spread, "PIECE_BYTES", limit)
    pieces = spread._cut(WHOLE, 50, 1)
    assert len(pieces) >= 100 / limit
    assert max(map(len, pieces)) < limit + 2


class Crowd:
    """Workers that are done in another order than they began."""

    slots = 3

    def __init__(self, shared):
        self.shared, self.under_way, self.most = shared, {}, 0

    def begin(self, owner, task):
        assert task.builds
        self.under_way[owner] = task
        self.most = max(self.most, len(self.under_way))

    def finished(self):
        owner = max(self.under_way)
        task = self.under_way.pop(owner)
        return owner, task.work(*task.arguments, self.shared)


@pytest.fixture
def booted(monkeypatch, tmp_path):
    """An image, the workers that are asked for, and each boot: its folder and options."""
    seen = SimpleNamespace(crowd=None, asked=[], boots=[], image=None)

    @contextmanager
    def crew(shared, workers, scheduler):
        seen.asked.append((workers, scheduler))
        seen.crowd = Crowd(shared)
        yield seen.crowd

    def run(image, inputs, run_dir, *, timeout_s, options=()):
        seen.boots.append((image.path.read_bytes(), run_dir, timeout_s, options))
        first = inputs[0]
        return Run(inputs[::2], 1000 + first, 64 + first % 50, 8, None)

    monkeypatch.setattr(spread, "workers_of", crew)
    monkeypatch.setattr(spread, "run_image", run)
    monkeypatch.setattr(spread.toolchain, "require", lambda *programs: None)
    path = tmp_path / "image.elf"
    path.write_bytes(b"ELF")
    seen.image = Image(path, BOARD, None, None)
    return seen


def test_outputs_are_in_order_and_counts_of_the_first_samples(booted, tmp_path):
    told = []
    run = run_spread(
        *(booted.image, WHOLE, 50, tmp_path, Crew(3)),
        timeout_s=9.0,
        options=("-plugin",),
        progress=told.append,
    )
    most = max(64 + piece[0] % 50 for piece in spread._cut(WHOLE, 50, 12))
    assert run == Run(WHOLE[::2], 1000, most, 8, None)
    assert most > 64
    assert booted.asked == [(3, None)]
    assert booted.crowd.most == 3, "no more are under way than there are workers for"
    assert len(booted.boots) == 12
    assert {(elf, limit) for elf, _, limit, _ in booted.boots} == {(b"ELF", 9.0)}
    here = [options for _, folder, _, options in booted.boots if folder == tmp_path]
    assert here == [("-plugin",)]
    assert {options for _, folder, _, options in booted.boots if folder != tmp_path} == {()}
    assert told == sorted(told)
    assert told[-1] == 50


def test_one_sample_is_booted_here(booted, tmp_path):
    given, told = (booted.image, WHOLE[:2], 1, tmp_path, Crew(None, "tcp://a")), []
    run = run_spread(*given, timeout_s=9.0, progress=told.append)
    assert run.outputs == WHOLE[:1]
    assert told == [1]
    assert booted.asked == [(None, "tcp://a")]
    assert len(booted.boots) == 1


def test_stack_that_is_not_measured_stays_so(booted, tmp_path, monkeypatch):
    bare = Run(b"a", None, None, 8)
    monkeypatch.setattr(spread, "run_image", lambda *_, **__: bare)
    run = run_spread(booted.image, WHOLE[:4], 2, tmp_path, Crew(2), timeout_s=9.0)
    assert run == replace(bare, outputs=b"aa")


def test_a_piece_that_does_not_run_ends_the_run(booted, tmp_path, monkeypatch):
    failing = Failure("ToolError: no", worker="tcp://b")
    monkeypatch.setattr(Crowd, "finished", lambda self: (0, failing))
    with pytest.raises(ToolError) as error:
        run_spread(booted.image, WHOLE, 50, tmp_path, Crew(2), timeout_s=9.0)
    assert error.value.problem == "samples were not run by tcp://b: ToolError: no"
    assert error.value.expected == "a run of every sample"
    assert error.value.hint == "leave out --workers and --scheduler, to see whether it fails here"


def test_a_worker_without_the_emulator_leaves_it_to_others(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    image = Image(tmp_path / "image.elf", BOARD, None, None)
    with pytest.raises(LacksToolsError, match="qemu-system-arm") as error:
        boot_some(WHOLE, Shared(image, b"ELF", 9.0))
    assert "apt-get install" in error.value.hint


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "int8.tflite"
    save_tflite(quantize_graph(small_cnn(), samples(10), QuantConfig()), path)
    return path


def test_a_cluster_reports_what_one_machine_does(model):
    given = {"core": "m4", "inputs": samples(9)}
    alone = tinyrt.run_emulated(model, **given)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
    ) as cluster:
        shared = tinyrt.run_emulated(model, scheduler=cluster.scheduler_address, **given)
    assert shared.bit_exact
    assert shared.as_dict() == alone.as_dict()
    assert all(np.array_equal(shared.outputs[n], alone.outputs[n]) for n in alone.outputs)


REFUSED = {
    "code for this machine is not spread over others": {"core": "host"},
    "a debugger is not spread over others": {"gdb": 1234},
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_of_this_machine_is_not_spread(said, model):
    with pytest.raises(UnsupportedError) as error:
        tinyrt.run_emulated(model, workers=2, **REFUSED[said])
    assert error.value.problem == said
    assert error.value.expected == "an emulated core, and no debugger"
    assert error.value.hint == "leave out --workers and --scheduler"


def test_workers_beside_a_scheduler_are_refused(model):
    with pytest.raises(DataError, match="2 workers beside scheduler tcp://a"):
        tinyrt.run_emulated(model, workers=2, scheduler="tcp://a")
