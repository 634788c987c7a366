"""What is computed once and kept: what it depends on, and that nothing else gets it.

``FUNCTIONS`` has every function whose results are kept, ``NOTES`` every result kept on a graph or a
node, ``KINDS`` every kind of file in the cache folder, and ``PROPERTIES`` every class with results
kept on its objects. One that is missing here makes a test fail.
"""

import ast
import importlib
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import tinyrt
from tests.faults import test_cache_keys, test_caches
from tests.graphs import Builder, small_cnn
from tests.quantize.hard import depthwise_net
from tests.sampling import WHOLE, sampled
from tinyrt import cache as cache_files
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.planning import kernels_of
from tinyrt.backends.linear_sum import linear_sum_of
from tinyrt.export import ExportOptions, export_graph
from tinyrt.fixedpoint import inverse_root
from tinyrt.ops import conv2d, depthwise_conv2d
from tinyrt.ops.add import AddS8
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.shared import convolution_tables, fft
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph
from tinyrt.train.core.function import table_function

ROOT = Path(tinyrt.__file__).parent
FOREVER = "nothing that changes while a process runs"

FUNCTIONS = {
    "tinyrt.backends.c.planning:kernels_of": "the instruction set",
    "tinyrt.backends.linear_sum:linear_sum_of": "the sum's constants, the op, the instruction set",
    "tinyrt.backends.cuda.driver:open_driver": "the GPU; what it opens cannot be opened twice",
    "tinyrt.backends.cuda.host:_headers": FOREVER,
    "tinyrt.backends.cuda.host:_version": "the compiler, which stays what it is while it is used",
    "tinyrt.backends.cuda.nvrtc:_headers": FOREVER,
    "tinyrt.backends.numba.abi:_compiled": "the function itself",
    "tinyrt.backends.numba.abi:runner": FOREVER,
    "tinyrt.convert.onnx.proto:_parts_of": "the kind of message",
    "tinyrt.emulate.cycles.kinds:_facts": "the instruction's name and operands",
    "tinyrt.emulate.cycles.table:table_of": "the core's name",
    "tinyrt.export.rendering:_environment": "the folder; templates that change are read again",
    "tinyrt.export.text:_int8_literals": FOREVER,
    "tinyrt.fixedpoint:inverse_root": "the number",
    "tinyrt.dsp.tables:tables_of": "the front end's settings",
    "tinyrt.floatmath.adam_loop:rates": "betas, eps, the step and the element type",
    "tinyrt.floatmath.elementary:_pi": FOREVER,
    "tinyrt.floatmath.numba_cache:sources": FOREVER,
    "tinyrt.floatmath.crew:_crew": "the number of helpers, and the process: a fork starts anew",
    "tinyrt.floatmath.parallel:_helpers": "the count, and the process: a fork starts anew",
    "tinyrt.floatmath.parallel:_pools": "how many modules there are: imports bring libraries",
    "tinyrt.floatmath.products:_multiply": FOREVER,
    "tinyrt.folders:_of_libc": "the function's name",
    "tinyrt.interpreter.native:_host": "the compiler, which stays what it is while it is used",
    "tinyrt.interpreter.native:core_of": "the compiler, which stays what it is while it is used",
    "tinyrt.interpreter.native:flags_of": "the compiler, which stays what it is while it is used",
    "tinyrt.kernels_c:_functions_of": FOREVER,
    "tinyrt.kernels_c:_included": FOREVER,
    "tinyrt.kernels_c:header": "the header's name and the instruction set",
    "tinyrt.kernels_c:source": "the kernel and the instruction set",
    "tinyrt.ops.lstm_gradient:_loops": FOREVER,
    "tinyrt.train.gru:_loops": FOREVER,
    "tinyrt.ops.conv2d:_shapes": "attributes and shapes",
    "tinyrt.ops.depthwise_conv2d:_shapes": "attributes and shapes",
    "tinyrt.ops.shared.convolution_tables:input_parts": "shapes, window and element size",
    "tinyrt.ops.shared.convolution_tables:outputs": "shapes, window and element size",
    "tinyrt.ops.shared.convolution_tables:weight_sums": "shapes, window and element size",
    "tinyrt.ops.shared.fft:tables": "element type, length and direction",
    "tinyrt.ops.signal_filter_bank:log_table": FOREVER,
    "tinyrt.search.source:_loaded": "the file's name and text, and the function",
    "tinyrt.train.core.function:check": "attributes and shapes, each op for itself",
    "tinyrt.train.core.function:table_function": "the op",
}

NOTES = {
    "tinyrt.backends.c.blocks.dense:block_of": "instruction set",
    "tinyrt.backends.c.blocks.stored:stored_fields": "instruction set, form and layout of weights",
    "tinyrt.backends.c.blocks.depthwise:_packed": "instruction set, direction",
    "tinyrt.backends.c.blocks.depthwise:filters_of": "instruction set",
    "tinyrt.backends.c.blocks.groups:groups_of": "instruction set",
    "tinyrt.backends.c.blocks.more:more_of": "instruction set, whether weights may change",
    "tinyrt.backends.c.blocks.relu:relu_of": "instruction set",
    "tinyrt.backends.c.choice:find": "what the code is made for",
    "tinyrt.backends.c.convolutions:_counted": "instruction set",
    "tinyrt.backends.c.general:check_accumulator": "the node's constants",
    "tinyrt.backends.c.mve.depthwise:calls": "which axis lines lie along",
    "tinyrt.backends.c.mve.more:more_kernel": "which axis lines lie along, places of later weights",
    "tinyrt.backends.c.mve.products:calls": "which axis lines lie along, form of weights",
    "tinyrt.backends.c.mve.zeros:_counts": "which axis lines lie along",
    "tinyrt.backends.c.one_channel:as_convolution": "the node's constants",
    "tinyrt.backends.c.wide:make_call": "the node's constants",
    "tinyrt.backends.c.wide:weights_of": "the node's constants",
    "tinyrt.convert.passes.heads:hoist_over_parts": "the tensor that is divided",
    "tinyrt.convert.passes.merge_duplicates:merge_duplicates": "the tensor that is read",
    "tinyrt.convert.passes.region:flip_pays": "region, whether ports may turn",
    "tinyrt.convert.passes.region:region_around": "ops inside, first tensor and its permutation",
    "tinyrt.convert.values.bounds:bounds_of": "the graph",
    "tinyrt.ir.rewriter:noted": "as the graph's own, until a tensor that it looked at changes",
    "tinyrt.memory.placing.overlap:leads": "node, kernels, buffers below",
    "tinyrt.ops.shared.requant:legacy_steps": "the node's scales",
    "tinyrt.ops.shared.requant:weighted_requant": "the node's scales",
    "tinyrt.ops.shared.requant:wide_requant": "the node's scales",
    "tinyrt.ops.shared.spec:prepared": "the node",
    "tinyrt.quantize.scores:_least": "the graph",
}

KINDS = {
    "native": test_cache_keys.test_the_native_librarys_key,
    "cuda": test_cache_keys.test_the_cubins_key,
    "cuda-host": test_cache_keys.test_the_host_librarys_key,
    "qemu-plugin": test_cache_keys.test_the_plugin_s_key,
    "numba": test_caches.test_numbas_key_has_its_sources_its_versions_and_the_processor,
}

PROPERTIES = {
    "tinyrt.convert.tflite.tensors:TensorReader": "its subgraph is set once",
    "tinyrt.interpreter.model:Model": "its graph is set once",
    "tinyrt.ir.types:DType": "its members are what they are",
    "tinyrt.memory.rows.candidates:Candidate": "its segments are set once",
    "tinyrt.memory.rows.packing:Packing": "its buffers are set once",
}
"""Classes other than frozen dataclasses, whose fields cannot change at all."""


def _functions(tree):
    """Each function once, with the innermost function first."""
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)][::-1]


@cache
def _parsed(*words, beside=""):
    """Module -> its syntax, of the modules that have one of these words beside another."""
    trees = {}
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if beside in text and any(word in text for word in words):
            name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
            trees[name.removesuffix(".__init__")] = ast.parse(text)
    return trees


def _names(words):
    """Functions with one of these decorators, by module."""
    return {
        f"{module}:{function.name}"
        for module, tree in _parsed(*words).items()
        for function in _functions(tree)
        for decorator in function.decorator_list
        if ast.unparse(decorator).split("(")[0].split(".")[-1] in words
    }


def _called(words, beside=""):
    """Calls of these names: where, and the call; in modules that have another word, too."""
    for module, tree in _parsed(*words, beside=beside).items():
        seen = set()
        for function in _functions(tree):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and id(call) not in seen:
                    seen.add(id(call))
                    name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func
                    if (name if isinstance(name, str) else ast.unparse(name)) in words:
                        yield f"{module}:{function.name}", call


def test_every_function_whose_results_are_kept_is_listed():
    assert _names({"cache", "lru_cache"}) == set(FUNCTIONS)


def test_every_result_kept_on_a_graph_is_listed():
    assert {where for where, _ in _called({"noted", "noted_of_constants"})} == set(NOTES)


def test_every_kind_of_cache_file_is_listed():
    kinds = set()
    for where, call in _called({"read_entry", "entry_path", "keep"}, beside="cache"):
        module, kind = importlib.import_module(where.split(":")[0]), ast.unparse(call.args[0])
        function = getattr(module, ast.unparse(call.func), None)
        is_other = module.__name__ != cache_files.__name__
        if function and is_other and function in vars(cache_files).values():
            kinds.add(getattr(module, kind, None) or ast.literal_eval(kind))
    assert kinds == set(KINDS)


def test_results_are_kept_on_objects_that_do_not_change():
    changing = set()
    for module, tree in _parsed("cached_property").items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                kind = getattr(importlib.import_module(module), node.name, None)
                if any(
                    isinstance(value, cached_property) for value in vars(kind or object).values()
                ):
                    frozen = is_dataclass(kind) and kind.__dataclass_params__.frozen
                    changing |= set() if frozen else {f"{module}:{node.name}"}
    assert changing == set(PROPERTIES)


# What functions of several arguments keep


def _window_shapes():
    """Convolutions that differ in one thing each."""
    x, w = (1, 6, 6, 4), (4, 3, 3, 4)
    variants = [
        {},
        {"stride": (2, 2)},
        {"dilation": (2, 2)},
        {"padding": "VALID"},
        {"stride": (1, 2)},
    ]
    attrs = [Conv2dAttrs(**variant) for variant in variants]
    cases = [(a, x, w) for a in attrs]
    return [
        *cases,
        (attrs[0], (2, 6, 6, 4), w),
        (attrs[0], (1, 6, 7, 4), w),
        (attrs[0], x, (4, 3, 3, 2)),
    ]


TABLES = [(conv2d._shapes(*case), item) for case in _window_shapes() for item in (4, 8)] + [
    (depthwise_conv2d._shapes(DepthwiseConv2dAttrs(), (1, 6, 6, 4), (1, 3, 3, 4)), 4)
]

SUM = AddS8(3, 2**30, 0, -5, 2**30, -1, 2**30, -18, 7, -128, 127, 20)


@dataclass(frozen=True)
class Kept:
    """Arguments of which each is another case, and the function."""

    function: object
    cases: list


DISTINCT = {
    "kernels_of": Kept(kernels_of, [(isa,) for isa in InstructionSet]),
    "linear_sum_of": Kept(
        linear_sum_of,
        [
            (p, op, dsp)
            for dsp in (False, True)
            for op in ("add", "sub")
            for p in (SUM, replace(SUM, a_zp=4), replace(SUM, b_shift=-2), replace(SUM, y_zp=9))
        ],
    ),
    "inverse_root": Kept(inverse_root, [(n,) for n in (0, 1, 2, 3, 255, 2**29, 2**31 - 1)]),
    "fft.tables": Kept(fft.tables, list(product(fft.DTYPES, (16, 32), (False, True)))),
    "conv2d._shapes": Kept(conv2d._shapes, _window_shapes()),
    **{
        name: Kept(getattr(convolution_tables, name), TABLES)
        for name in ("outputs", "weight_sums", "input_parts")
    },
}


def same(one, other):
    if is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)
        )
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(np.array_equal(one, other))


@pytest.mark.parametrize("kept", DISTINCT.values(), ids=DISTINCT)
def test_what_is_kept_is_what_would_be_computed_and_tells_cases_apart(kept):
    kept.function.cache_clear()
    first = [kept.function(*case) for case in kept.cases]
    for case, found in zip(kept.cases, first, strict=True):
        assert kept.function(*case) is found
        assert same(found, kept.function.__wrapped__(*case))
    assert kept.function.cache_info().currsize == len(kept.cases)


def test_training_leaves_its_tables_as_they_are():
    """Forwards and backwards; what is read from a cache belongs to all."""
    rng = np.random.default_rng(0)
    function, attrs = table_function("conv2d"), Conv2dAttrs(stride=(2, 2))
    x, w = (rng.normal(size=s).astype(np.float32) for s in ((2, 6, 6, 4), (4, 3, 3, 4)))
    y = function.forward(attrs, x, w)
    grads = [grad() for grad in function.vjp(attrs, (x, w), y, np.ones_like(y))]
    shapes = conv2d._shapes(attrs, x.shape, w.shape)
    for name in ("outputs", "weight_sums", "input_parts"):
        table = getattr(convolution_tables, name)
        assert same(table(shapes, 4), table.__wrapped__(shapes, 4))
    np.testing.assert_array_equal(function.forward(attrs, x, w), y)
    again = [grad() for grad in function.vjp(attrs, (x, w), y, np.ones_like(y))]
    assert all(map(np.array_equal, again, grads))
    assert table_function("conv2d") is function
    assert table_function("depthwise_conv2d") is not function


# What is kept on a graph


def grouped_net():
    """A convolution in two groups of channels."""
    rng = np.random.default_rng(2)
    b = Builder((1, 8, 8, 3))
    sizes = ((16, 3, 3, 3), (16, 3, 3, 8))
    y = "x"
    for size in sizes:
        constants = (rng.normal(size=size), rng.normal(size=16))
        w, bias = (b.constant(data.astype(np.float32)) for data in constants)
        y = b.op("conv2d", (y, w, bias), Conv2dAttrs())
    return b.graph(y)


NETS = {
    "grouped": (grouped_net, QuantConfig()),
    "cnn": (small_cnn, QuantConfig()),
    "depthwise": (depthwise_net, QuantConfig()),
    "int4": (depthwise_net, QuantConfig(scheme=Scheme.INT4)),
    "int16x8": (depthwise_net, QuantConfig(scheme=Scheme.INT16X8)),
}


TARGETS = ("cortex-m0", "cortex-m4", "cortex-m55", "host-avx2", "host-avx512")
"""One core of each set of instructions."""

SAMPLE = ("cnn", "int4")
"""Where a sample is asked for, each core gets one of them whole, and the other row by row."""


@pytest.mark.slow
@pytest.mark.parametrize("net", sampled(SAMPLE, [*NETS]))
def test_a_graph_that_was_exported_before_is_exported_as_a_new_one(net, tmp_path):
    """For every kind of core, and row by row: no target gets what another's kernels were given."""
    build, config = NETS[net]
    x = np.random.default_rng(0).normal(size=(32, 8, 8, 3)).astype(np.float32)
    graph = quantize_graph(build(), x, config)
    for (i, core), pushed in product(enumerate(TARGETS), (False, True)):
        if not WHOLE and pushed == (i + SAMPLE.index(net)) % 2:
            continue
        old, new = tmp_path / f"{core}{pushed}_old", tmp_path / f"{core}{pushed}_new"
        for folder, model in ((old, graph), (new, replace(graph))):
            export_graph(model, folder, core=core, options=ExportOptions(input_rows=pushed))
        assert files_of(old) == files_of(new), (core, pushed)


def files_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
