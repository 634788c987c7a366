"""Many files of one op each as one graph, so that one C program holds them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from tests.tflm_forms.form import OneOp, fed
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.ir import Graph, Node
from tinyrt.ops import verify


def joined(forms: Iterable[OneOp]) -> tuple[Graph, dict[str, NDArray[Any]]]:
    """A graph of all forms, whose values' names begin with their forms' numbers, and its inputs."""
    values, nodes, feeds = {}, [], {}
    inputs: list[str] = []
    outputs: list[str] = []
    for i, form in enumerate(forms):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = parse_tflite(form.data)
        new = {name: f"f{i}/{name}" for name in graph.values} | {"": ""}
        values |= {new[n]: replace(v, name=new[n]) for n, v in graph.values.items()}
        nodes += [_renamed(node, new) for node in graph.nodes]
        inputs += [new[name] for name in graph.inputs]
        outputs += [new[name] for name in graph.outputs]
        for name in graph.inputs:
            value = graph.value(name)
            dtype = str(value.dtype.numpy).upper()
            feeds[new[name]] = fed(name, value.shape, dtype, form.name)
    return verify(Graph("forms", tuple(inputs), tuple(outputs), values, tuple(nodes))), feeds


def _renamed(node: Node, new: dict[str, str]) -> Node:
    ins, outs = (tuple(new[n] for n in names) for names in (node.inputs, node.outputs))
    return Node(node.op, outs[0], ins, outs, node.attrs)
