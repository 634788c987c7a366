"""Bytes are counted as the file is written, and never more than asked for."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.train.pipeline.made import learned
from tinyrt.convert.passes import optimize
from tinyrt.errors import BudgetError
from tinyrt.quantize import QuantConfig, calibrate
from tinyrt.quantize.config import Scheme
from tinyrt.quantize.mixed.noise import measure_noise
from tinyrt.train.pipeline.run import file_size
from tinyrt.train.widths import plan as plans
from tinyrt.train.widths.model import TwoWidthModel
from tinyrt.train.widths.plan import WidthPlan, noise_by_layer


@pytest.fixture(scope="module")
def model():
    graph, x, _ = learned()
    return TwoWidthModel(optimize(graph), x[:40], source=graph)


def bytes_with(model, narrow):
    model.settle(narrow)
    size = file_size(model.deployed())
    model.settle(())
    return size


def test_what_each_layer_saves_is_measured(model):
    plan = WidthPlan(model, file_size, 10_000)
    names = list(model.nodes_of)
    assert plan.whole == bytes_with(model, ())
    assert plan.least == bytes_with(model, names)
    assert plan.saved == {name: plan.whole - bytes_with(model, [name]) for name in names}
    assert plan.choosable == tuple(names)
    assert plan.left == 10_000 - plan.whole + sum(plan.saved.values())


def test_the_file_is_never_larger_than_asked_for_and_hardly_smaller(model):
    plan = WidthPlan(model, file_size, 10_000)
    worth = dict(zip(model.nodes_of, (1.0, 5.0, 2.0), strict=True))
    seen = set()
    for most in range(plan.least, plan.whole + 16, 54):
        narrow = WidthPlan(model, file_size, most).narrow(worth)
        assert bytes_with(model, narrow) <= most
        seen.add(narrow)
    assert seen >= {(), tuple(model.nodes_of)}
    worthless = dict.fromkeys(model.nodes_of, 0.0)
    assert WidthPlan(model, file_size, plan.whole).narrow(worthless) == ()
    assert WidthPlan(model, file_size, plan.whole - 1).narrow(worthless) != ()
    assert len(seen) > 3
    first, second, third = model.nodes_of
    enough = plan.whole - plan.saved[first] - plan.saved[third]
    assert WidthPlan(model, file_size, enough).narrow(worth) == (first, third)
    assert WidthPlan(model, file_size, enough - 16).narrow(worth) == (second,)


def test_padding_and_op_versions_that_do_not_add_up_are_allowed_for(model):
    """A size where two int4 layers save less than each of them alone says."""
    names = list(model.nodes_of)

    def size(graph):
        narrow = [n for n in graph.bound() if n.inputs[1:] and n.input(1).dtype.value == "int4"]
        return 1000 - 100 * len(narrow) + (60 if len(narrow) == 2 else 0)

    plan = WidthPlan(model, size, 850)
    assert plan.saved == dict.fromkeys(names, 100)
    assert plan.left == 150
    assert plan.narrow(dict(zip(names, (3.0, 2.0, 1.0), strict=True))) == tuple(names)
    assert WidthPlan(model, size, 860).narrow(dict.fromkeys(names, 1.0)) == tuple(names[1:])


def test_layers_that_are_no_smaller_stay_int8_unless_all_must_not(model):
    """A size where the first layer saves nothing, but one kind of op less saves something."""
    names = tuple(model.nodes_of)

    def size(graph):
        dense = [n for n in graph.bound() if n.op in ("conv2d", "fully_connected")]
        narrow = [n.input(1).dtype.value == "int4" for n in dense]
        return 1000 - 100 * sum(narrow[1:]) - (50 if all(narrow) else 0)

    plan = WidthPlan(model, size, 800)
    assert (plan.choosable, plan.least) == (names[1:], 750)
    worth = dict.fromkeys(names, 1.0)
    assert plan.narrow(worth) == names[1:]
    assert WidthPlan(model, size, 799).narrow(worth) == names


def test_it_is_open_where_some_layers_may_be_int8_but_not_all(model):
    plan = WidthPlan(model, file_size, 10_000)
    additive = plan.whole - sum(plan.saved.values())
    cheapest = min(plan.saved.values())
    is_open = [
        WidthPlan(model, file_size, most).is_open
        for most in (plan.least, additive + cheapest - 1, additive + cheapest, plan.whole - 1)
    ]
    assert is_open == [False, False, True, True]
    assert not WidthPlan(model, file_size, plan.whole).is_open
    assert not WidthPlan(model, lambda graph: 1000, 1000).is_open, "no layer saves anything"


def test_less_than_the_least_is_refused(model):
    least = bytes_with(model, model.nodes_of)
    with pytest.raises(BudgetError, match=f"the file has {least:,} bytes at least") as refused:
        WidthPlan(model, file_size, least - 1)
    assert refused.value.hint.startswith(f"--max-bytes {least},")
    assert WidthPlan(model, file_size, least).narrow({}.fromkeys(model.nodes_of, 1.0))


def test_noise_is_that_of_each_layer_alone(model):
    _, x, _ = learned()
    inputs = {model.graph.inputs[0]: x[:40]}
    noise = noise_by_layer(model, inputs)
    assert list(noise) == list(model.nodes_of)
    config, ranges = QuantConfig(per_channel_dense=True), calibrate(model.graph, x[:40])
    tables = measure_noise(model.graph, ranges, config, inputs).weights
    added = {n: tables[n][Scheme.INT4] - tables[n][Scheme.INT8] for n in tables}
    assert noise == {name: added[outputs[0]] for name, outputs in model.nodes_of.items()}
    reference = _real(model, (), x)
    for name, power in noise.items():
        error = _real(model, (name,), x) - reference
        assert power == pytest.approx(np.square(error).sum() / np.square(reference).sum(), rel=3)


def test_less_noise_with_int4_weights_counts_as_none(model, monkeypatch):
    names = [name for outputs in model.nodes_of.values() for name in outputs]
    weights = {name: {Scheme.INT4: 1.0, Scheme.INT8: 3.0} for name in names}
    monkeypatch.setattr(plans, "measure_noise", lambda *_: SimpleNamespace(weights=weights))
    inputs = {model.graph.inputs[0]: learned()[1][:40]}
    assert noise_by_layer(model, inputs) == dict.fromkeys(model.nodes_of, 0.0)


def _real(model, narrow, x):
    from tinyrt.train import Tensor
    from tinyrt.train.core.tensor import no_grad

    model.settle(narrow)
    with model.evaluating(), no_grad():
        return model(Tensor(x)).data


def test_the_noise_of_a_layer_is_that_of_all_its_nodes(monkeypatch):
    model = SimpleNamespace(graph=learned()[0], nodes_of={"twice": ["a", "b"], "once": ["c"]})
    costs = {"a": (5.0, 1.0), "b": (4.5, 0.5), "c": (1.0, 3.0)}
    weights = {n: {Scheme.INT4: narrow, Scheme.INT8: wide} for n, (narrow, wide) in costs.items()}
    monkeypatch.setattr(plans, "measure_noise", lambda *_: SimpleNamespace(weights=weights))
    assert noise_by_layer(model, learned()[1][:40]) == {"twice": 8.0, "once": 0.0}
