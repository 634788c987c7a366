"""Figures in prose that no constant of the code gives: what they mean, or who measures them.

Each is a part of a page's text. What tests hold is compared by the test that is named; what
commands measure, the page says with the command, and whoever runs it corrects the page.
"""

from __future__ import annotations

DEFINED: dict[str, list[str]] = {
    "CONTRIBUTING.md": ["files stay below 400 lines"],
    "docs/audio.md": ["as they came, 2 bytes each"],
    "docs/compatibility.md": ["A window of 30 ms"],
    "docs/cycles.md": ["which keeps 64 lines of code and 16 of constants"],
    "docs/debug.md": ["An SQNR of 6 dB is one bit"],
    "docs/dsp.md": [
        "the default front end costs (480 samples, 160 of them new",
        "The transform of 512 samples beside",
        "that become 64 (of 120 lines 48)",
    ],
    "docs/export.md": ["keeps the arena within 32 KiB"],
    "docs/kernels.md": [
        "begin with 128 times less than the words of all taps",
        "Words take 12 bytes to a tap",
        "The first one less 2^16 times the second one",
        "Raised weights add 128 times the sum of all activations",
        "keep it in 4 bytes",
        "Transformed weights take 32 bytes where others take 9",
        "Sums of odd channels go in as they are, 256 times as large",
    ],
    "docs/learning.md": [
        "The state is 4 bytes for each weight and 8 for each class",
        "state and saves are 4 bytes for each sum and each class",
    ],
    "docs/memory.md": ["load the constants of 16 times four channels anew"],
    "docs/motion.md": ["(3 axes, 128 samples each", "With a row each 0.64 s"],
    "docs/quantize.md": ["It is the sharper figure: 6 dB are one bit"],
    "docs/search.md": [
        "the camera's table of 256 bytes",
        "in windows of 4 seconds",
        "On a Cortex-M0+, for a window of 4 seconds",
    ],
    "docs/updates.md": ["`DIGITS_BLOB_ALIGNMENT` (8 bytes)"],
    "docs/contributing/add_a_board.md": ["1 MB of flash and 128 KB of RAM"],
}
"""What a figure is by definition: sizes of types, units, the part or the example that is meant."""

HELD: dict[str, dict[str, str]] = {
    "docs/cascades.md": {"The small model takes 3,440 instructions": "tests/docs/figures.py"},
    "docs/dsp.md": {
        "A camera of RGB565 has 38.6 instructions for each pixel": "tests/dsp/test_other_costs.py",
    },
    "docs/memory.md": {
        "needs 91,774 instructions per frame on a Cortex-M4 instead of 908,408 (a tenth), and 320 "
        "bytes of arena": "tests/firmware/test_streamed.py"
    },
}
"""Page -> part of its text -> the test that reads the page and compares."""

MEASURED: dict[str, dict[str, str]] = {
    "docs/cascades.md": {
        "has 98.22 % and the large model 98.67 %, for 23 % of the instructions": "tinyrt cascade",
        "takes 23.7 % of the larger one's 713,500 instructions, and the CNN itself 22.8 %": (
            "tinyrt train digits"
        ),
        "(99.11 and 99.56 %)": "tinyrt train digits",
        "A sample that leaves takes 8,935 instructions": "run.mean_instructions",
        "On average it is 30,239, 43 % of that. Of the 225 digits 96.89 % are right": (
            "run.mean_instructions"
        ),
    },
    "docs/cluster.md": {
        "`python -m benchmarks.mcu` does in 5 s of a processor": "python -m benchmarks.mcu"
    },
    "docs/compatibility.md": {
        "takes 69 thousand instructions, and 160 bytes more": "python -m benchmarks.public"
    },
    "docs/convert.md": {
        "VGG-19 with 575 MB, is converted in 1.7 GB of memory, 2.9 times the model's size": (
            "python -m tests.onnx_light"
        ),
        "0.4 s of one core, peak memory 3.5 times the model's size": "python -m benchmarks.convert",
    },
    "docs/cuda.md": {
        "27,648 bytes per image at 50 GB/s": "python -m benchmarks.cuda",
        "is `model(x)` on 10,000 samples in host memory": "python -m benchmarks.cuda",
    },
    "docs/memory.md": {
        "100 MB of the interpreter's are numba": "python -m benchmarks.planning",
    },
    "docs/qat.md": {
        "16 passes over 400 samples": "python -m benchmarks.widths",
        "Learned widths were 1.9 dB nearer to float on digits; on vowels .5 dB nearer in the "
        "smaller file, and .3 dB farther": "python -m benchmarks.widths",
        "The device loses .27 points at most": "python -m benchmarks.qat",
        "took 79,228 bytes of flash and 405,489 instructions on a Cortex-M4 as it was quantised; "
        "in float it was 99.33 % right. It was to fit 16 KiB of flash, 4 KiB of arena and 150,000 "
        "instructions": "tinyrt qat big.onnx",
        "It came to 14,328 bytes, 1,168 and 94,586, and 99.33 %": "tinyrt qat big.onnx",
    },
    "docs/quantize.md": {
        "(23 to 100 samples)": "python -m benchmarks.quantize",
        "100 samples calibrate, 400 measure": "python -m benchmarks.quantize --torch",
        "the default is more than 0.3 dB below": "python -m benchmarks.quantize --torch",
    },
    "docs/run.md": {
        "take some 0.2 s, and tinyrt's own modules 0.15 s": "python -m benchmarks.start",
        "for 0.2 s more": "python -m benchmarks.start",
    },
    "docs/search.md": {
        "Scores by shared weights go from 37 to 96 % where training reaches 96 to 99 %": (
            "python -m benchmarks.search_recipes digits"
        ),
        "takes 56,306 instructions of a Cortex-M0+ in 75,375 cycles": "--max-cycles",
        "each pixel that is looked at takes 20 to 40 instructions": "tinyrt search camera",
        "18 of 40 trials did not fit": "tinyrt search camera",
        "by 60 trials each": "python -m benchmarks.search_recipes",
        "flash was limited to 20,480 bytes": "python -m benchmarks.search_recipes",
        "what the recipe has: 97.84 % with 21,014 instructions. Folds with 40 epochs gave 98.11 % "
        "with 44,668": "python -m benchmarks.search_recipes",
        "the best of the front has 98.11 % with 34,793 instructions, where the recipe of that "
        "seed has 94.32 %": "python -m benchmarks.search_recipes",
        "takes a minute of a processor, the recipe and the emulator included (53, 61 and 71 "
        "seconds": "python -m benchmarks.search_recipes digits",
        "takes 16 seconds of a processor within today's limits, with the teacher. The search chose "
        "a model that has 100 % of the test right with 25,888 instructions, an arena of 1,152 "
        "bytes and 5,696 bytes": "python -m benchmarks.search_recipes motion",
        "takes three to four minutes of a processor (243, 192 and 239 seconds": (
            "python -m benchmarks.search_recipes vowels"
        ),
        "98.92 % with 30 % of the instructions": "python -m benchmarks.search_recipes vowels",
        "seed 0 ends with 98.38 %": "python -m benchmarks.search_recipes vowels",
        "pooling kernels takes 3.6 KB of the flash": "python -m benchmarks.search_recipes digits",
        "convolutions are within 15 %": "python -m benchmarks.search_zero_cost",
        "With 10 seconds for an epoch, the workers were busy 99.9 % of the first 1,000 of 10,000 "
        "trials. They were busy 100 %": "python -m benchmarks.search_cluster",
        "98.4 % with that end. Two workers were busy 99.99 % of 300 trials": (
            "python -m benchmarks.search_cluster"
        ),
        "A training of 4.5 seconds of a processor": "python -m benchmarks.search_workers",
        "`--trials 72` takes one worker that is started 233.1 s and two 127.4 s": (
            "python -m benchmarks.search_workers"
        ),
        "start and end of the search included: 1.83 times": "python -m benchmarks.search_workers",
        "The search itself takes 8 s": "python -m benchmarks.search_workers",
        "24 trials give less, 1.72 to 1.82": "python -m benchmarks.search_workers",
        "It was 22 ms at first, and 65 at 10,000 trials": "python -m benchmarks.search_cluster",
        "a trial takes them 4 seconds or more": "python -m benchmarks.search_cluster",
        "The study takes 4 kB of the file for a trial. The search takes about 10 MB of memory for "
        "1,000 trials: 247 MB at the end": "python -m benchmarks.search_cluster",
    },
    "docs/train.md": {
        "teacher 91.5 %, student from labels 84.9 %, student from the teacher 90.6 %": (
            "python -m benchmarks.distil --labels 10"
        ),
        "(94.2 and 94.0 %)": "python -m benchmarks.distil",
        "of 32 samples beside PyTorch's": "python -m benchmarks.train --threads 2",
    },
    "docs/kernels.md": {
        "29 instructions for a sum on DSP cores, 38 on M3": "python -m benchmarks.kernels",
        "four outputs at a time take 8.3 instructions": "python -m benchmarks.kernels",
    },
    "docs/contributing/add_a_kernel_variant.md": {
        "says 1.08 instructions per input": "python -m benchmarks.kernels",
    },
}
"""Page -> part of its text -> what of the page measures it."""

TRIED = "tried and left: it is not in the code"
ONCE = "measured once, on one machine, by a program that is not part of the project"
OTHERS_FILES = "the size of what others publish"
BY_HAND = "counted in a kernel's loop; what layers take is in the tables"

OTHERS: dict[str, dict[str, str]] = {
    "docs/camera.md": {"The camera keeps 12 bytes": "the members of a struct"},
    "docs/cluster.md": {"300,000 mutants take one machine 25 minutes": ONCE},
    "docs/convert.md": {
        "(3 KB here)": ONCE,
        "A head costs about 1.2 KB of code": ONCE,
        "took 16 % fewer instructions there and 25 % less arena than with moves": ONCE,
        "took 13 % fewer instructions for its moves there, which are 0.4 % of all": ONCE,
        "took 20 % fewer instructions than with moves on a Cortex-M4 and 19 % fewer": ONCE,
        "takes 413 thousand instructions": ONCE,
        "it takes 24 bytes of working memory": "the members of a struct",
        "would lose 2.7 times as much": TRIED,
    },
    "docs/cuda.md": {
        "(55 MB to download)": OTHERS_FILES,
        "256 threads per block: 9.3 M instead of 10.5 M images per second of resnet8. 64: 8.7 M": (
            TRIED
        ),
        "in large batches, too: 8% slower": TRIED,
        "40% of resnet8's reads": TRIED,
        "a multiple of 128 bytes": TRIED,
    },
    "docs/dsp.md": {
        "They take 1.2 KB of flash and 80 bytes of RAM": ONCE,
        "and energies of few values on rv32imc, 6 %": "tests/dsp/test_other_costs.py",
        "they took 21, 21 and 61 instructions a pixel": TRIED,
        "by its deviation, 17.5 instructions": BY_HAND,
        "an anomaly's error takes 8.1 instructions": BY_HAND,
        "a frame of boxes takes 2 % more on a Cortex-M4, 3 % on an M55; where all of them rise, "
        "up to 27 %": ONCE,
        "would take 34.8 instructions": TRIED,
    },
    "docs/memory.md": {
        "batches of 2 to 16 times": "the planner's own choice",
        "resnet8 takes 35.6 KB of weights less": ONCE,
        "Planning takes 0.2 s of processor time for the five models without segments, and 1.7 s "
        "with": ONCE,
        "it takes 5 s with segments, and 9 s where": ONCE,
        "its arena 226,688 bytes instead of 1,204,288": "tests/memory/test_planning_time.py",
        "Its steps keep 4,188 bytes": ONCE,
        "over 256 times takes 836 bytes instead of 4,576 on a Cortex-M4, for 37 %": ONCE,
    },
    "docs/motion.md": {"takes 21 instructions on a Cortex-M0": BY_HAND},
    "docs/quantize.md": {
        "three channels of whose norms are 40 times the others": "what the example has",
        "is 6.5, 7.9, 8.4 dB without it, and 25.5, 25.5, 26.6 dB with it": ONCE,
        "without outliers reach 25.6, 26.3, 26.3 dB": ONCE,
    },
    "docs/report.md": {"It is 10 KB under MIT": OTHERS_FILES},
    "docs/reproducible.md": {
        "takes 45 µs (BLAS: 71), 512 × 512 by 512 × 512 takes 2.7 ms (1.9). exp of float32 takes "
        "2 ns an element": ONCE,
        "those of a small LSTM up to 1.2 times as much": ONCE,
        "differed in 1,548 bytes": TRIED,
    },
    "docs/rtos.md": {"The example below has 2,560 bytes": "the example's own choice"},
    "docs/run.md": {
        "An uncompressed file of 2 GB takes some 330 MB to run": ONCE,
        "(some 20 samples of a keyword spotter)": ONCE,
    },
    "docs/search.md": {
        "estimates on a Cortex-M4, M7 and M33 are 9 % too high": "tests/api/test_costs.py",
        "were right in 97.30 and 98.42 % of held-out samples alone, and in 98.23 and 98.70 %": ONCE,
        "That has 99.44 %. Smoothed labels alone gave 97.96 and 98.61 %": ONCE,
        "Of 600 trials of a space with two objectives": TRIED,
        "at each release of 64 kB": "the allocator's own choice",
    },
    "docs/selftest.md": {"a result of 32 bytes": "the members of a struct"},
    "docs/slices.md": {
        "parts take 84 % of the limit at most": ONCE,
        "and they cost 1 % at most": "tests/firmware/test_slices.py",
        "up to 272 bytes of stack more": ONCE,
        "at 9,000 instructions on a Cortex-M4 2 to 5 %, and 15 % for resnet8": ONCE,
    },
    "docs/train.md": {
        "goes from 98.2 to 99.6 % from seed to seed. The mean is 99.1 %": ONCE,
        "the recipe gives 98.99 %": ONCE,
        "in float reaches 76.5 %": ONCE,
        "that has 70.0 % as int8": ONCE,
        "goes from 70 to 86 %": ONCE,
        "takes 1.29 times as long with 0.30": ONCE,
        "takes 1.12 times as long with 0.54": ONCE,
        "ResNet8's step took 1.4 times as long": TRIED,
        "look out for more for some 60 µs": "tinyrt/floatmath/crew_loops.py",
        "a thread that sleeps takes 25 µs at best": ONCE,
        "They would take 17 MB less": TRIED,
    },
    "docs/updates.md": {
        "on a Cortex-M0 take 234,808 bytes rather than 110,568": ONCE,
        "about 10 instructions a byte on a Cortex-M4": BY_HAND,
    },
    "docs/contributing/testing.md": {
        "(100 MB)": OTHERS_FILES,
        "the tests beside them noticed 58 to 83 %": (
            "written by hand, each once: the tests that were missing are there now"
        ),
        "call `tinyrt` 135 times": "tests/docs/commands.py",
    },
    "docs/decisions/blobs.md": {"costs less than 1 % more": "tests/firmware/test_blobs.py"},
    "docs/decisions/prebuilt_native.md": {"0.3 MB is little": ONCE},
    "docs/decisions/rows.md": {
        "needs 1.2 MB layer by layer": "tests/memory/test_planning_time.py",
        "is 226,688 bytes with one segment": "tests/memory/test_planning_time.py",
    },
    "docs/kernels.md": {
        "(most to 1 %)": "tests/firmware/test_costs.py",
        "each byte saves 32 instructions of an inference, or 4 with": "tinyrt/backends/c/blocks",
        "That is 38 instructions for eight outputs": BY_HAND,
        "the place of `SMMLA` and halves: 48 instructions": BY_HAND,
        "That makes 37 instructions for two outputs": BY_HAND,
        "for four channels: 17 instructions per 16 MACs": BY_HAND,
        "would take 11 instead of 12 instructions": TRIED,
        "(together at most 1.1 times the model's own in the zoo)": ONCE,
        "it takes 13 % fewer instructions on a Cortex-M4, 14 % on an M3, 12 % on an M0, "
        "5 % on an M55": ONCE,
        "on the M55 146,720 instead of 227,232 bytes, for 3.4 KB of code": ONCE,
        "A block takes 17 instructions for two pixels": BY_HAND,
        "what is no block stays: 30 instructions for four channels of two pixels": BY_HAND,
        "fewer than with four bits, for 3.0 to 4.3 KB of code": ONCE,
        "(`tinyrt_block_s4`): 13 instructions": BY_HAND,
        "a saturating shift: 7 instructions on DSP cores": BY_HAND,
        "is rescaled, in 22 instructions on DSP cores": BY_HAND,
        "two pixels and four taps take 35 instructions": "tests/backends/c/test_strips.py",
        "Outputs take 24 instructions for a strip": BY_HAND,
        "With vectors a sum takes 1.9 instructions": BY_HAND,
        "An element takes 11 instructions": BY_HAND,
        "3 instructions to find the largest, 14 to raise a difference to its power": BY_HAND,
        "two products with 16 bytes of weights": "the size of a vector",
        "Four windows, eight outputs, take 30 instructions": BY_HAND,
        "31 instructions of a channel are around it": BY_HAND,
        "windows of up to 3 lines and 4 columns": "tinyrt/backends/c/mve",
        "of one column and up to 15 lines": "tinyrt/backends/c/mve",
        "for 134 instructions of 3 × 3 taps": BY_HAND,
        "Sixteen taps take 14 instructions": BY_HAND,
        "a block takes 27 instructions": BY_HAND,
        "(`tinyrt_fully_connected_row_s8`): 17 instructions for 16 taps": BY_HAND,
        "or from a copy of 4 KB": "tinyrt/backends/c",
        "Going line by line costs up to 2 % of instructions and takes 11 to 31 %": ONCE,
        "every other pair: 14 instead of 12 instructions per 16 MACs": TRIED,
        "with a list of taps: 145 instructions": TRIED,
        "6 % of dscnn_kws": TRIED,
        "less than 8 instructions for a byte": TRIED,
        "`-O3`: within 0.5 % either way on DSP cores, for 8 % more code. `-fno-schedule-insns` "
        "costs 2 %, `-funroll-loops` up to 8 %, and 70 % more code": TRIED,
    },
}
"""Page -> part of its text -> why nothing measures it anew."""
