"""What a runtime lacks is written in ops that it has, and runs there."""

import numpy as np
import pytest

from tests.ops.build import build_f32
from tests.ops.cases import CASES, rng_of
from tests.ops.peers import run_tflm
from tests.passes.random_net import RandomNet as Net
from tests.passes.test_every_pass import assert_same
from tinyrt.convert.passes.targets import LACKING, LOWERINGS, lower_for
from tinyrt.errors import TinyrtError
from tinyrt.ir import DType, RewriteLog
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.repeat import TileAttrs
from tinyrt.ops.topk_v2 import TopkV2Attrs

LOWERED = sorted({op for rule in LOWERINGS["tflm"] for op in rule.ops})


@pytest.mark.parametrize("op", LOWERED)
@pytest.mark.parametrize("seed", range(4))
def test_it_fires_keeps_the_results_and_runs_on_the_target(op, seed):
    rng = rng_of(op, seed)
    built = build_f32(CASES[op](rng), rng)
    log = RewriteLog()
    lowered = lower_for(built.graph, "tflm", log)
    assert log.applied
    assert LACKING["tflm"].isdisjoint(node.op for node in lowered.nodes)
    assert_same(built.graph, lowered)
    (feed,) = built.feeds.values()
    found = run_tflm(lowered, [feed])
    (rule,) = (r for r in LOWERINGS["tflm"] if op in r.ops)
    assert rule.name in {name for name, _ in log.applied}
    assert np.isfinite(found).all()


def test_places_are_int32_and_run_on_the_target():
    net = Net((4, 9))
    place = net.op("arg_max", ("x",), ArgAttrs(1, DType.INT64))
    real = net.op("cast", (place,), CastAttrs(DType.FLOAT32))
    graph = net.graph(place, real)
    lowered = lower_for(graph, "tflm")
    assert [lowered.value(n).dtype for n in lowered.outputs] == [DType.INT32, DType.FLOAT32]
    x = np.random.default_rng(0).normal(size=(4, 9)).astype(np.float32)
    found = run_tflm(lowered, [x])
    np.testing.assert_array_equal(found, x.argmax(axis=1).astype(np.int32), strict=True)


REFUSED = {
    "tflm has no arg_max to int64": lambda net: net.reshape(
        net.op("arg_max", ("x",), ArgAttrs(1, DType.INT64)), 2, 1
    ),
    "it repeats its input": lambda net: net.op("tile", ("x",), TileAttrs((1, 100))),
    "it multiplies 100 elements": lambda net: net.op("reduce_prod", ("x",), ReduceAttrs((1,))),
    "tflm has no topk_v2": lambda net: net.op("topk_v2", ("x",), TopkV2Attrs(2)),
    "tflm has no pow": lambda net: net.op("pow", ("x", net.number(1.25))),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_it_refuses_with_its_reason(reason):
    net = Net((2, 100))
    graph = net.graph(REFUSED[reason](net))
    with pytest.raises(TinyrtError, match=reason):
        lower_for(graph, "tflm")


def test_targets_are_known_by_name():
    with pytest.raises(TinyrtError, match="no target 'abacus'"):
        lower_for(Net((2, 3)).graph("x"), "abacus")
    written_out = {op for rule in LOWERINGS["tflm"] for op in rule.ops}
    assert written_out | {"pow", "topk_v2"} == LACKING["tflm"]
