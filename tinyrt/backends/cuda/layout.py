"""How a model is laid out on a GPU: threads, blocks, samples side by side, shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinyrt.backends.cuda.writer import ALIGNMENT
from tinyrt.ir import BoundNode, Graph
from tinyrt.memory import ArenaPlan
from tinyrt.ops import OPS, is_weighted

SHARED_LIMIT = 227 * 1024
"""Bytes of shared memory that one block may ask for on an H100 or H200."""

RESERVED = 1024
"""Bytes of shared memory that each block takes beyond what it asks for."""

MAX_SAMPLES = 16
"""Rows of a tensor core's matrix: samples that share them where a model has one row per sample."""

BANKS = 128
"""Bytes that shared memory serves at once."""

RESIDENT_THREADS = 768
"""Threads of a multiprocessor, at most: each then has 80 registers, and few are spilled."""

MANY_BLOCKS = 4
"""Blocks of a multiprocessor from which on small ones are faster: while one waits at a barrier,
others compute."""

BY_OPS = (256, 3)
"""Threads and blocks of kernels that run op by op."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a model is laid out on a GPU; None where the model decides.

    Attributes:
        threads: of a block, a multiple of 32.
        samples: whose arenas a block holds at once.
        blocks: blocks that should fit on one multiprocessor: a bound for the compiler's registers.
        fused: whether one kernel runs the whole network; if not given, where that fits.

    """

    threads: int | None = None
    samples: int | None = None
    blocks: int | None = None
    fused: bool | None = None


THROUGHPUT = Shape()
"""For large batches: many small blocks per multiprocessor, each with samples of its own."""

LATENCY = Shape(threads=384, samples=1, blocks=1)
"""For single samples: as many threads as one sample can use."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the compiler is told of a launch.

    Attributes:
        threads: of a block.
        blocks: of a multiprocessor, for which it leaves registers.

    """

    threads: int
    blocks: int


def layout_of(shape: Shape, shared_bytes: int, shared_limit: int) -> Layout:
    """Small blocks where shared memory holds many of them; large ones where it holds few.

    Args:
        shape: what is asked for.
        shared_bytes: of a block; 0 where a model runs op by op.
        shared_limit: bytes of shared memory that a block may have.

    """
    if not shared_bytes:
        threads, blocks = BY_OPS
        return Layout(shape.threads or threads, shape.blocks or blocks)
    resident = (shared_limit + RESERVED) // (shared_bytes + RESERVED)
    threads = shape.threads or (128 if resident >= MANY_BLOCKS else 256 if resident > 1 else 512)
    return Layout(threads, shape.blocks or max(1, min(resident, RESIDENT_THREADS // threads)))


def arena_bytes(plan: ArenaPlan, zero_points: Sequence[int]) -> int:
    """What one sample takes: the plan's arena, and padding behind it."""
    return -(-plan.arena_bytes // ALIGNMENT) * ALIGNMENT + ALIGNMENT * len(zero_points)


def stride_of(arena_bytes: int, samples: int) -> int:
    """Bytes per arena; samples side by side begin in different banks."""
    if samples == 1:
        return -(-arena_bytes // ALIGNMENT) * ALIGNMENT
    return -(-arena_bytes // BANKS) * BANKS + 2 * ALIGNMENT


def samples_of(graph: Graph, plan: ArenaPlan, shape: Shape, shared_limit: int) -> int:
    """Samples per block: many where each is one row of a matrix, else one."""
    if shape.samples is not None:
        return shape.samples
    products = [n for n in graph.bound() if OPS[n.op].macs(n)]
    single = all(_is_matrix_product(n) for n in products)
    if not products or not single:
        return 1
    share = (shared_limit + RESERVED) // (shape.blocks or MANY_BLOCKS) - RESERVED
    most = share // stride_of(plan.arena_bytes + BANKS, MAX_SAMPLES)
    return max(1, min(MAX_SAMPLES, most))


def _is_matrix_product(node: BoundNode) -> bool:
    """Whether each sample is a row that is multiplied with a matrix of weights."""
    return is_weighted(node) and len(node.input(1).shape) == len(node.output.shape) == 2
