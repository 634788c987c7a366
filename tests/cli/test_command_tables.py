"""What commands show of results that tests make up, line by line, on a screen of 80 columns."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.screen import lines_of, styled
from tinyrt.api import Trained
from tinyrt.api.fitting import Costs
from tinyrt.bench import Latency, Result
from tinyrt.cli import bench, debug, demo, emulation_tables, qat, quantize, train
from tinyrt.emulate import EmulationReport, OpCost
from tinyrt.emulate.report import Ram, SlicesRun
from tinyrt.emulate.sizes import Sizes
from tinyrt.export.slices import NOTHING, Slice, Slices
from tinyrt.metrics import Evaluation
from tinyrt.quantize.config import Scheme
from tinyrt.quantize.explain.bisect import BisectReport, BisectStep
from tinyrt.quantize.explain.debug import DebugReport, LayerReport
from tinyrt.quantize.mixed.choose import LayerChoice, MixedReport
from tinyrt.train.history import Epoch
from tinyrt.train.pipeline.lessons import Kind
from tinyrt.train.pipeline.outcome import Outcome, OutputFigures


def evaluation(sqnr_db, top1):
    return Evaluation(10, round(10 * top1), top1, None, sqnr_db, 1.0, "numba")


# bench


def test_engines_with_the_figures_of_a_large_model_fit_a_screen():
    results = [
        Result(
            *("tinyrt numba", Latency(123_456.78, 200_000.04)),
            *(1500.4, 10_000.4, 2500, 2.46e9, 0.456, 1.0),
        ),
        Result("LiteRT XNNPACK", Latency(61_728, 70_000), 50, 20_000, 5000, 4.92e9, None, 0.5),
    ]
    assert lines_of(bench.table(results)) == [
        "",
        " engine                 µs       p90 ratio GMAC/s peak batch/s 1 thread cold ms",
        " ──────────────────────────────────────────────────────────────────────────────",
        " tinyrt numba    123,456.8 200,000.0  1.00    2.5  46%  10,000    2,500   1,500",
        " LiteRT XNNPACK   61,728.0  70,000.0  0.50    4.9    –  20,000    5,000      50",
        "",
    ]


def test_an_engines_long_name_is_folded_and_a_short_one_has_room():
    result = Result("n" * 60, Latency(1, 1), 1, 1, 1, 1e9, 0.5, 1.0)
    lines = lines_of(bench.table([result]))
    assert "".join(line.split()[0] for line in lines[3:-1]) == "n" * 60
    assert lines[1].endswith("cold ms")
    lines = lines_of(bench.table([replace(result, engine="n")]))
    assert lines[1].split()[:2] == ["engine", "µs"]
    assert lines[1].index("µs") == 1 + 15 + 1 + 1


# debug


def layer(name, **figures):
    usual = {
        "index": 0,
        "op": "conv2d",
        "impact_db": 20.04,
        "own_db": 30.06,
        "own_cosine": 0.9,
        "own_max_error": 0.1,
        "accumulated_db": 25.0,
        "cosine": 0.9,
        "max_error": 0.1,
        "range_use": 0.506,
        "saturation": 0.0126,
        "dead_channels": 2,
        "weight_spread": 1234.5,
        "cause": "outliers",
        "cure": "--equalize",
    }
    return LayerReport(name=name, **usual | figures)


def test_layers_stand_above_what_helps_them():
    layers = (
        layer("model/block_1/conv2d_long"),
        layer("x", op="input", weight_spread=None, cure=None),
    )
    assert lines_of(debug._layers_table(DebugReport(1024, 31.5, True, layers))) == [
        "",
        " layer                     op     impact  own total range  cut dead spread",
        " ─────────────────────────────────────────────────────────────────────────",
        " model/block_1/conv2d_long conv2d   20.0 30.1  25.0   51% 1.3%    2  1,234",
        " x                         input    20.0 30.1  25.0   51% 1.3%    2      -",
        "",
        "SQNR in dB, worst layer first; equal: not a bit of difference",
        "",
        "  layer                       likely cause   what helps",
        " ───────────────────────────────────────────────────────",
        "  model/block_1/conv2d_long   outliers       --equalize",
        "",
        "",
        "  samples                  1,024",
        "  SQNR of the output, dB   31.50",
        "  channels rescaled          yes",
        "",
    ]


def test_where_nothing_helps_there_is_no_table_of_what_does():
    layers = (layer("x", op="a_very_long_op_name", cure=None),)
    lines = lines_of(debug._layers_table(DebugReport(24, 31.5, False, layers)))
    assert " x     a_very_long_op_n   20.0 30.1  25.0   51% 1.3%    2  1,234" in lines
    assert "       ame" in lines
    assert "what helps" not in "".join(lines)


def test_layers_that_were_taken_apart_stand_beside_what_they_were():
    made = (("b", 2, "whole"), ("c", 3, "other"), ("a", 1, "whole"))
    layers = [layer(n, index=i, cure=None, part_of=of) for n, i, of in made]
    lines = lines_of(debug._layers_table(DebugReport(24, 31.5, False, tuple(layers))))
    rows = [
        line.split() for line in lines[lines.index("  layer of the float model   quantised as") :]
    ]
    assert rows[2:6] == [["whole", "a"], ["b"], ["other", "c"], []]


STEPS = (
    BisectStep(("conv_a", "model/block_1/conv2d_long"), Scheme.INT16X8, "why", 30.0, 0.8),
    BisectStep(("c",), Scheme.FLOAT, "why", None, None),
)
WON = BisectReport(
    *(evaluation(20.0, 0.7), 0.9, True, STEPS, {"conv_a": Scheme.INT16X8}),
    *(evaluation(30.0, 0.8), ("--scheme-for 'conv_a=int16x8'", "--keep-float 'c'")),
)


def test_a_search_shows_its_steps_and_the_options_that_repeat_it():
    assert lines_of(debug._steps(WON)) == [
        "winning it back",
        "",
        "  layers                      kept in    SQNR     right",
        " ───────────────────────────────────────────────────────",
        "  as it is                    -         20.00   70.00 %",
        "  conv_a                      int16x8   30.00   80.00 %",
        "  model/block_1/conv2d_long",
        "  c                           float         -         -",
        "",
        "",
        "  target reached       yes",
        "  SQNR, dB           30.00",
        "  right            80.00 %",
        "  right in float   90.00 %",
        "",
        "Quantise again with:",
        "  --scheme-for 'conv_a=int16x8'",
        "  --keep-float 'c'",
    ]


@pytest.mark.parametrize(
    ("reached", "said"), [(True, "Nothing is lost."), (False, "Nothing that is allowed helps.")]
)
def test_a_search_that_ends_without_options_says_why(reached, said):
    shown = lines_of(debug._steps(replace(WON, steps=(), kept={}, options=(), reached=reached)))
    assert shown[-1] == said
    assert shown[7].split()[-1] == ("yes" if reached else "NO")


# quantize


MIX = MixedReport(
    *(40_000, 50_000, evaluation(30.0, 0.8), 0.9, 7),
    (
        LayerChoice("conv_a", "conv2d", Scheme.INT4, 1234, " ".join(["it costs the least"] * 4)),
        LayerChoice("model/block_1/add_long", "add", Scheme.FLOAT, 0, "kept"),
    ),
)


def test_a_mix_has_the_scheme_of_each_layer_and_why():
    assert lines_of(quantize._layers(MIX)) == [
        "",
        "  layer                    op       scheme   weights   why",
        " ──────────────────────────────────────────────────────────────────────────────",
        "  conv_a                   conv2d   int4       1,234   it costs the least it",
        "                                                       costs the least it",
        "                                                       costs the least it",
        "                                                       costs the least",
        "  model/block_1/add_long   add      float          -   kept",
        "",
    ]


def test_a_mix_is_measured_against_the_plain_file_and_float():
    assert lines_of(quantize._facts({"output": "o"}, MIX)) == [
        "",
        "  output                      o",
        "  bytes without a mix    50,000",
        "  right                 80.00 %",
        "  right in float        90.00 %",
        "  SQNR, dB                30.00",
        "  models measured             7",
        "",
    ]


# train


def test_forms_of_a_model_are_compared_with_the_first():
    scores = {"top1": 0.9876, "auc": 0.5}
    float_row = train.Row(
        *("float", scores, 40_000, 1000, 2000, 123_456, None, 1.2e-6, True, None, Path("f"))
    )
    no_core = replace(
        float_row, name="ptq", bytes=10_000, instructions=None, float_error=None, note="no core"
    )
    other = replace(
        no_core, name="qat", bytes=13_000, instructions=5, bit_exact=False, agrees=False, note=None
    )
    table = train._rows_table("motion on m4", Path("out"), [float_row, no_core, other])
    assert lines_of(table) == [
        "motion on m4",
        "",
        " variant     top1      auc   bytes  of float   MACs  arena  instructions  exact",
        " ──────────────────────────────────────────────────────────────────────────────",
        " float    98.76 %  50.00 %  40,000     1/1.0  1,000  2,000       123,456  1e-06",
        " ptq      98.76 %  50.00 %  10,000     1/4.0  1,000  2,000             -  -",
        " qat      98.76 %  50.00 %  13,000     1/3.1  1,000  2,000             5  NO",
        "",
        "  ptq: no core",
        "  models, C projects and training history are in out",
    ]
    assert styled(table)[0] == "bold(motion on m4)"
    assert styled(table)[-1].startswith("cyan(  models, C projects")


# qat


def test_a_training_shows_how_good_each_output_is_and_what_it_costs():
    figures = (
        OutputFigures("logits", Kind.CLASSES, "labels and teacher", "top1", 0.99, 0.9, 0.98, 0.98),
        OutputFigures("model/head/ink_of_all", Kind.VALUES, "labels", "mse", 0.5, 0.6, 0.7, 1e-4),
    )
    epochs = (Epoch(1, 5, 0.5, 1e-3, 0.9), Epoch(2, 5, 0.4, 1e-3, 0.8))
    outcome = Outcome(
        graph=None,
        figures=figures,
        float_history=(),
        history=epochs,
        best_epoch=1,
        int4_layers=("conv_a", "model/block_1/conv2d_long"),
        widths=(),
        width_history=epochs,
        float_macs=4000,
        macs=2000,
        zero_weights=0.25,
        samples=1200,
        held_out=130,
    )
    assert lines_of(qat.shown(Path("o"), Trained(4321, outcome))) == [
        "",
        " output            learns from      figure    float   before  trained  deployed",
        " ──────────────────────────────────────────────────────────────────────────────",
        " logits            labels, teacher  top1    99.00 %  90.00 %  98.00 %   98.00 %",
        " model/head/ink_o  labels           mse      0.5000   0.6000   0.7000   1.0e-04",
        " f_all",
        "",
        "",
        "  output                                                          o",
        "  bytes                                                       4,321",
        "  samples trained on                                          1,200",
        "  samples held out, measured on                                 130",
        "  epochs                                                          2",
        "  best epoch                                                      1",
        "  MACs in float                                               4,000",
        "  MACs                                                        2,000",
        "  weights that are 0                                        25.00 %",
        "  epochs of learning widths                                       2",
        "  layers with int4 weights        conv_a, model/block_1/conv2d_long",
        "",
    ]
    fitted = lines_of(qat.shown(Path("o"), Trained(1, outcome, Costs(4096))))
    assert [line.split() for line in fitted if "core" in line] == [
        ["on", "the", "core:", "arena", "4,096"]
    ]
    unhelped = replace(outcome, best_epoch=0, int4_layers=(), width_history=())
    plain = lines_of(qat.shown(Path("o"), Trained(1, unhelped)))
    assert any(line.endswith("none: as before training") for line in plain)
    assert not any(word in "".join(plain) for word in ("int4", "widths"))


# emulate and demo


DEVICE = EmulationReport(
    *("cortex-m4", "mps2-an386", 10, 1234, 1.5),
    Sizes(100, 20, 30, 4, 5000, 600, 7),
    Ram(800, 90, 96, 0),
    bit_exact=False,
    outputs={},
)


def test_an_emulation_shows_flash_and_ram_by_part():
    assert lines_of(emulation_tables.emulation(DEVICE)) == [
        "",
        "  core                          cortex-m4 (mps2-an386)",
        "  samples                                           10",
        "  bit-exact with the host                           NO",
        "  instructions per inference                     1,234",
        "  instructions per MAC                            1.50",
        "  flash, code bytes                                154",
        "    of these, kernels                              100",
        "    the model's calls                               20",
        "    its parameters and tables                       30",
        "    the C library's part                             4",
        "  flash, weight bytes                            5,000",
        "    of these, filters                                0",
        "  RAM, arena bytes                                 800",
        "  RAM, stack bytes                                  90",
        "    at most, as compiled                            96",
        "  RAM, static bytes                                  0",
        "",
    ]


MORE = {
    "float_error": (2e-6, "greatest float error 2.0e-06"),
    "baseline": (2468, "of TFLM + CMSIS-NN 50.00 %"),
    "filter_bytes": (4000, "of these, filters 4,000"),
    "row_by_row": (("0-3", "5-6"), "ops row by row 0-3, 5-6"),
    "ram": (Ram(800, None, None, 0, 16), "RAM, state bytes 16"),
    "board": (None, "core cortex-m4 (this machine)"),
    "bit_exact": (None, "bit-exact with the host -"),
    "ops": ((OpCost(3, "add", "n", 0, 5, None),), "3 add 0 5 100.00 % -"),
}


def test_an_emulation_shows_how_long_slices_are():
    stages = tuple(Slice((i,), 1_000 * (i + 1), NOTHING, True, ()) for i in range(3))
    plan = Slices(4_000, stages, {i: f"conv2d 'layer {i}'" for i in range(3)})
    counted = replace(DEVICE, slices=SlicesRun(plan, (900, 2_345, 2_100)))
    host = replace(DEVICE, slices=SlicesRun(plan, None))
    for report, longest, ops in ((counted, "2,345", "1 conv2d"), (host, "-", "2 conv2d")):
        shown = [" ".join(line.split()) for line in lines_of(emulation_tables.emulation(report))]
        at = shown.index("slices 3")
        assert shown[at + 1 : at + 4] == [
            "instructions, as estimated 3,000",
            f"instructions of the longest {longest}",
            f"its ops {ops}",
        ]
    assert host.as_dict()["slices"]["longest"] == {
        "instructions": None,
        "ops": [2],
        "names": ["conv2d 'layer 2'"],
    }
    assert "slices" not in DEVICE.as_dict()


@pytest.mark.parametrize("field", list(MORE))
def test_an_emulation_shows_what_only_some_have(field):
    value, line = MORE[field]
    shown = lines_of(emulation_tables.emulation(replace(DEVICE, **{field: value})))
    assert line in [" ".join(text.split()) for text in shown]


def test_a_demonstration_ends_with_figures_and_files():
    shown = demo.Demo(
        *(evaluation(None, 0.8), evaluation(None, 0.7), DEVICE),
        device_correct=6,
        agreement=0.98,
        model_bytes=4321,
        artifacts={Path("a"): "a folder", Path("bcd/e"): "a file"},
    ).renderable()
    assert lines_of(shown) == [
        "Handwritten digits, from training to cortex-m4 (mps2-an386 in QEMU)",
        "",
        "  test images                                10",
        "  accuracy, float on the host           80.00 %",
        "  accuracy, int8 on the host            70.00 %",
        "  accuracy, int8 in QEMU                60.00 %",
        "  host and device agree, output bytes   98.00 %",
        "  model bytes (.tflite)                   4,321",
        "  code bytes                                154",
        "  arena bytes                               800",
        "  stack bytes                                90",
        "  instructions per inference              1,234",
        "",
        "a      a folder",
        "bcd/e  a file",
    ]
    marked = styled(shown)
    assert marked[0].startswith("bold(Handwritten")
    assert marked[-1].startswith("cyan(bcd/e)")
