"""Lists and dicts of layers with PyTorch's names and habits."""

import numpy as np
import pytest

from tinyrt.errors import DataError, UnsupportedError
from tinyrt.train import SGD, Tensor, trace
from tinyrt.train.nn import Linear, Module, ModuleDict, ModuleList, ReLU, Sequential
from tinyrt.train.torch_state import from_torch, to_torch


def layers(count):
    rng = np.random.default_rng(0)
    return [Linear(3, 3, rng=rng) for _ in range(count)]


class Towers(Module):
    def __init__(self):
        first, second, *heads = layers(4)
        self.blocks = ModuleList([first, second])
        self.heads = ModuleDict({"near": heads[0], "far": Sequential(act=ReLU(), out=heads[1])})

    def forward(self, x):
        for block in self.blocks:
            x = block(x).abs() + 1
        return sum((head(x) for head in self.heads.values()), start=Tensor(0))


NAMES = ["blocks.0", "blocks.1", "heads.near", "heads.far.out"]


def test_parameters_have_pytorchs_names():
    towers = Towers()
    state = [f"{name}.{part}" for name in NAMES for part in ("weight", "bias")]
    assert list(towers.state_dict()) == state
    assert list(ModuleList(layers(2)).state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert list(to_torch(towers)) == state
    assert set(from_torch(towers, to_torch(towers))) == set(state)
    towers.eval()
    assert not towers.heads["far"][0].training


def test_layers_in_them_are_trained_and_traced():
    towers, x = Towers(), Tensor(np.ones((2, 3), np.float32))
    before = towers.state_dict()
    towers(x).sum().backward()
    SGD(towers.parameters(), 0.1).step()
    after = towers.state_dict()
    assert all((before[name] != after[name]).any() for name in before)
    assert set(NAMES) < {node.name for node in trace(towers, (3,)).nodes}


def test_a_list_is_a_list():
    a, b, c, d = layers(4)
    found = ModuleList([a])
    assert found.append(b) is found
    assert found.extend(iter([c])) is found
    found.insert(1, d)
    assert list(found) == [a, d, b, c]
    assert len(found) == 4
    assert found[-1] is c
    assert found[1] is d
    part = found[1:3]
    assert isinstance(part, ModuleList)
    assert [(k, m) for k, m in part.children()] == [("0", d), ("1", b)]
    assert found.pop() is c
    assert found.pop(0) is a
    found[0] = c
    assert list(found) == [c, b]
    del found[1]
    assert list(found) == [c]
    assert c in found
    assert b not in found
    with pytest.raises(IndexError):
        found[1]
    assert not ModuleList()


def test_a_dict_is_a_dict():
    a, b, c, _ = layers(4)
    found = ModuleDict([("one", a)])
    found["two"] = b
    found.update(ModuleDict({"one": c}))
    assert list(found) == list(found.keys()) == ["one", "two"]
    assert list(found.values()) == [c, b]
    assert list(found.items()) == list(found.children()) == [("one", c), ("two", b)]
    assert found["two"] is b
    assert "two" in found
    assert "three" not in found
    assert found.pop("two") is b
    assert len(found) == 1
    del found["one"]
    with pytest.raises(KeyError):
        found["one"]
    found.update({"x": a})
    found.clear()
    assert not found
    assert not ModuleDict()


def test_a_call_says_what_to_do():
    x = Tensor(np.ones((1, 3)))
    text = r"a ModuleList was called[\s\S]*for layer in layers: x = layer\(x\), or Sequential"
    with pytest.raises(UnsupportedError, match=text):
        ModuleList(layers(1))(x)
    with pytest.raises(UnsupportedError, match=r"a ModuleDict was called[\s\S]*layers\['name'\]"):
        ModuleDict({"a": layers(1)[0]})(x)


def test_what_is_no_module_is_refused():
    (a,) = layers(1)
    held = ModuleList([a])
    for put in (
        lambda: ModuleList([Linear]),
        lambda: held.append(Linear),
        lambda: held.extend([a, Linear]),
        lambda: held.insert(0, Linear),
        lambda: held.__setitem__(0, Linear),
    ):
        with pytest.raises(DataError, match=r"a ModuleList is to hold a type\n[\s\S]*Linear\(\.\."):
            put()
    assert list(held) == [a]
    named = ModuleDict({"a": a})
    with pytest.raises(DataError, match="a ModuleDict is to hold a float"):
        named.update({"b": a, "c": 1.0})
    assert list(named) == ["a"]


@pytest.mark.parametrize("name", ["", "a.b", 7])
def test_a_name_that_would_part_a_path_is_refused(name):
    named = ModuleDict()
    with pytest.raises(DataError, match=f"is to be called {name!r}\n[\\s\\S]*has no dot"):
        named[name] = layers(1)[0]
    assert not named
