"""The graph: types, nodes, verification of stages, rewriting, a text dump."""

from tinyrt.ir.graph import BoundNode, Graph, Node, Value
from tinyrt.ir.rewrite_log import RewriteLog
from tinyrt.ir.rewriter import Patch, Refusal, Rule, rewrite
from tinyrt.ir.text import dump
from tinyrt.ir.types import DType, QParams, Shape, TensorType, pack_int4, unpack_int4
from tinyrt.ir.verifier import OpRules, Stage, check_arity, check_order, check_types, verify

__all__ = [
    "BoundNode",
    "DType",
    "Graph",
    "Node",
    "OpRules",
    "Patch",
    "QParams",
    "Refusal",
    "RewriteLog",
    "Rule",
    "Shape",
    "Stage",
    "TensorType",
    "Value",
    "check_arity",
    "check_order",
    "check_types",
    "dump",
    "pack_int4",
    "rewrite",
    "unpack_int4",
    "verify",
]
