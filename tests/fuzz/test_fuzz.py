"""Some mutants of each kind in every test run; what was found before; that findings are found."""

import ctypes
import json
import time
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz import guard, report
from tests.fuzz.checks import RAN, REFUSED, BrokenPromiseError, check
from tests.fuzz.minimise import minimised
from tests.fuzz.runner import Campaign, run
from tests.fuzz.seeds import seeds
from tests.sampling import sampled

CORPUS = sorted(p for p in (Path(__file__).parent / "corpus").iterdir() if p.suffix != ".md")
MAX_CORPUS = 300_000
COUNTS = sampled(
    {"tflite": 60, "onnx": 40, "npz": 60, "cli": 4},
    {"tflite": 250, "onnx": 100, "npz": 200, "cli": 8},
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", COUNTS)
def test_mutants_do_no_harm(kind, tmp_path):
    campaign = Campaign(kind, seed=2026)
    run(campaign, tmp_path, count=COUNTS[kind], originals=seeds(kind, everything=False))
    found = {key: finding.detail for key, finding in campaign.findings.items()}
    assert not found, "\n\n".join(f"{key}\n{detail}" for key, detail in found.items())
    assert campaign.states[REFUSED] > 0
    assert campaign.states[RAN] > 0


def test_what_was_found_before_is_mended(tmp_path):
    for path in CORPUS:
        check(path.suffix[1:], path.read_bytes(), tmp_path, np.random.default_rng(0), share=1.0)


def test_the_corpus_is_small():
    assert sum(path.stat().st_size for path in CORPUS) <= MAX_CORPUS


def crash(kind, data, folder, rng):
    ctypes.string_at(guard.array(100, behind=True).ctypes.data, 101)


def crash_before(kind, data, folder, rng):
    ctypes.string_at(guard.array(100, behind=False).ctypes.data - 1, 2)


def spin(kind, data, folder, rng):
    end = time.process_time() + 60
    while time.process_time() < end:
        pass


def swell(kind, data, folder, rng):
    held = bytearray(1 << 30)
    held[::4096] = bytes(len(held) // 4096)
    return RAN


def fail(kind, data, folder, rng):
    raise BrokenPromiseError("answers differ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "what"),
    [(crash, "signal 11"), (crash_before, "signal 11"), (spin, "time"), (swell, "memory"),
     (fail, "BrokenPromiseError")],
)  # fmt: skip
def test_harm_is_seen_and_the_next_mutant_follows(harm, what, tmp_path, monkeypatch):
    if harm is spin:
        monkeypatch.setattr("tests.fuzz.processes.MAX_SECONDS", 0.2)

    def sometimes(kind, data, folder, rng):
        return harm(kind, data, folder, rng) if data == b"bad" else REFUSED

    campaign = Campaign("npz", 0)
    run(campaign, tmp_path, count=3, check=sometimes, given=[b"one", b"bad", b"two"])
    (finding,) = campaign.findings.values()
    assert (finding.what, finding.indices) == (what, [1])
    assert campaign.states[REFUSED] == 2
    (kept,) = tmp_path.glob("*.npz")
    assert kept.read_bytes() == b"bad"


MANY = sampled(15, 40)


@pytest.mark.slow
def test_a_campaign_goes_on_where_it_stopped(tmp_path):
    originals, whole = seeds("npz", everything=False), Campaign("npz", 5)
    run(whole, tmp_path, count=MANY, originals=originals)
    first = Campaign("npz", 5)
    run(first, tmp_path, count=MANY // 3, originals=originals)
    (tmp_path / "state.json").write_text(json.dumps(first.as_dict()))
    again = Campaign.load(tmp_path / "state.json", "npz", 5)
    run(again, tmp_path, count=MANY, originals=originals)
    assert again.states == whole.states
    assert again.next == MANY


def test_findings_become_small():
    def contains(kind, data, folder, rng):
        if b"!" in data:
            raise BrokenPromiseError("!")
        return REFUSED

    assert minimised("npz", b"a" * 40 + b"!" + b"b" * 23, check=contains) == b"!"


def test_the_page_says_what_was_measured():
    assert report.page(report.load()) == report.PAGE.read_text(), "python -m tests.fuzz page"
