"""Where device code runs in tests: as C++ on the host, and on a GPU where there is one."""

from __future__ import annotations

import numpy as np

from tinyrt.backends.cuda.choice import KERNELS
from tinyrt.backends.cuda.driver import open_driver
from tinyrt.backends.cuda.host import HostDevice
from tinyrt.backends.cuda.program import generate
from tinyrt.backends.cuda.runtime import CudaModel
from tinyrt.errors import ToolError


def ops_on(form):
    """Ops that have a kernel for activations of this form."""
    return sorted(op for op, emitters in KERNELS.items() if form in emitters)


def on_host(graph, shape, feeds, samples, flags=(), order=None):
    """Output name -> bytes (samples, bytes of one)."""
    return HostDevice(generate(graph, shape), order, flags).run(feeds, samples)


def on_gpu(graph, shape, feeds, samples, flags=(), order=None):
    """The same; a GPU's threads run in what order they like."""
    del flags, order
    given = [np.ascontiguousarray(feeds[name]).reshape(-1).view(np.uint8) for name in graph.inputs]
    sizes = [samples * graph.value(name).nbytes for name in graph.outputs]
    answers = [np.zeros(size, np.uint8) for size in sizes]
    CudaModel(graph, [*given, *answers], samples, open_driver(), shape).run()
    rows = (answer.reshape(samples, -1) for answer in answers)
    return dict(zip(graph.outputs, rows, strict=True))


def _found():
    try:
        open_driver()
    except ToolError:
        return {"host": on_host}
    return {"host": on_host, "gpu": on_gpu}


DEVICES = _found()
"""Name -> function; the GPU is among them where this machine has one."""
