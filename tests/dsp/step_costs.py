"""Instructions of the steps of log-mel front ends on emulated cores."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from tests.dsp.counting import APART, counted
from tinyrt.dsp import LogMel, Pcan
from tinyrt.dsp.sound_terms import STEPS
from tinyrt.dsp.tables import tables_of
from tinyrt.export import export_front_end
from tinyrt.export import front_end as code

SAMPLES = 8_192
BEGIN = """
#include "front_end.h"
#include "clip.h"
#include "tinyrt/tinyrt_cepstra.h"
#include "tinyrt/tinyrt_log_mel.c"

static uint64_t state[6000], work[12000];
static uint16_t features[2048];
static int16_t samples[SAMPLES], coefficients[256];
"""

ONE = """
static void front_K(void) {
    const tinyrt_log_mel_params *volatile hidden = &front_KK;
    const tinyrt_log_mel_params *const p = hidden;
    const int32_t size = p->bank.channels;
    void *const other = (int8_t *)work + p->second;
    uint32_t *const estimate = (uint32_t *)state + 1;
    uint32_t *const cleaned = (uint32_t *)(void *)work + size;
    int32_t full;
    tinyrt_log_mel_reset(p, state);
    tinyrt_log_mel(p, samples, p->window, state, work, features, &full);
    TINYRT_PROFILE_BEGIN(K0); tinyrt_log_mel(p, samples + p->window, p->step, state, work, features, &full); TINYRT_PROFILE_END(K0);
    TINYRT_PROFILE_BEGIN(K1);
    const uint32_t sizes = tinyrt_windowed(p->window, samples, p->weights, (int16_t *)work);
    const int32_t shift = 15 - ((sizes != 0) ? tinyrt_bit_length(sizes) : 0);
    tinyrt_shifted_left(p->window, shift, (int16_t *)work);
    TINYRT_PROFILE_END(K1);
    TINYRT_PROFILE_BEGIN(K2); tinyrt_signal_rfft_s16(&p->fft, (int16_t *)work, p->roots, p->split, other); TINYRT_PROFILE_END(K2);
    TINYRT_PROFILE_BEGIN(K3); tinyrt_energies(p->end - p->start, (int16_t *)other + (2 * p->start), (uint32_t *)work + p->start); TINYRT_PROFILE_END(K3);
    TINYRT_PROFILE_BEGIN(K4); sums(p, (uint32_t *)work, other); TINYRT_PROFILE_END(K4);
    TINYRT_PROFILE_BEGIN(K5); tinyrt_signal_filter_bank_square_root(size, other, &shift, (uint32_t *)work); TINYRT_PROFILE_END(K5);
    TINYRT_PROFILE_BEGIN(K6); tinyrt_signal_filter_bank_spectral_subtraction(&p->noise, (uint32_t *)work, estimate, estimate, cleaned, cleaned + size); TINYRT_PROFILE_END(K6);
    TINYRT_PROFILE_BEGIN(K7); tinyrt_signal_pcan(size, p->snr_shift, cleaned, cleaned + size, p->gains, (uint32_t *)work); TINYRT_PROFILE_END(K7);
    TINYRT_PROFILE_BEGIN(K8); tinyrt_signal_filter_bank_log(size, p->log_bits, p->log_scale, (uint32_t *)work, (int16_t *)features); TINYRT_PROFILE_END(K8);
    TINYRT_PROFILE_BEGIN(K9); tinyrt_cepstra(&cepstra_KK, features, coefficients); TINYRT_PROFILE_END(K9);
}
"""  # noqa: E501

MEASURED = ("whole", *(step for step in STEPS if step != "take"))
"""What the hooks of a front end are around, in order."""


def measured(fronts: list[LogMel], core: str, folder: Path) -> list[dict[str, int]]:
    """Step -> instructions of each front end, which all have all steps."""
    project = export_front_end(fronts[0], folder / "project", core=core)
    parts, calls = [BEGIN.replace("SAMPLES", str(SAMPLES))], []
    for k, front in enumerate(fronts):
        tables = tables_of(front)
        arrays = code.arrays_of(tables)
        text = "\n".join(code.definitions_of(front, tables, arrays, "front"))
        names = "|".join([*arrays, "front", "cepstra"])
        parts.append(re.sub(rf"(?<![.\w])({names})\b", rf"\1_{k}K", text))
        one = ONE.replace("KK", f"{k}K").replace("front_K", f"front_{k}")
        parts.append(re.sub(r"\(K(\d)\)", lambda m, k=k: f"({APART * k + int(m[1])})", one))
        calls.append(f"front_{k}();")
    fill = f"""
int clip_invoke(const clip_io_t *io, void *arena) {{
    (void)io; (void)arena;
    uint32_t random = 7;
    for (int32_t i = 0; i < {SAMPLES}; ++i) {{
        random = random * 1664525U + 1013904223U;
        samples[i] = (int16_t)((int32_t)(random >> 20) - 2048 + ((i % 160) * 60) - 4800);
    }}
    {" ".join(calls)}
    return 0;
}}
"""
    source = "\n".join([*parts, fill])
    found = counted(project.directory, "front_end", core, source, folder)
    each = []
    for k in range(len(fronts)):
        steps = {step: found[APART * k + i] for i, step in enumerate(MEASURED)}
        rest = sum(n for step, n in steps.items() if step not in ("whole", "cosines"))
        each.append({**steps, "take": steps["whole"] - rest})
    return each


FITTED = (
    *(64, 80, 96, 120, 128, 144, 160, 192, 200, 240, 256, 300, 320, 360, 384, 400, 480, 500),
    *(512, 576, 600, 640, 720, 768, 800, 900, 1_000, 1_024, 1_200, 1_536, 2_048),
)
"""Lengths of transforms whose front ends constants are read off."""


def front_of(fft: int, seed: int) -> LogMel:
    """A front end of all steps, of random sizes; windows fill most of the transform."""
    rng = np.random.default_rng(seed)
    window = 2 * int(rng.uniform(0.4, 0.5) * fft)
    bands = int(rng.integers(8, min(60, fft // 8 + 3)))
    return LogMel(
        window=window,
        step=int(rng.integers(16, window + 1)),
        fft=fft,
        bands=bands,
        lower_hz=float(rng.uniform(60, 300)),
        upper_hz=float(rng.uniform(5_000, 7_600)),
        coefficients=int(rng.integers(1, bands + 1)),
        pcan=Pcan(offset=5_000.0),
    )
