"""Whether C code can be written for a model at all."""

from __future__ import annotations

from tinyrt.budget import readable
from tinyrt.errors import UnsupportedError
from tinyrt.ir import Graph

MAX_BYTES = 2**31 - 1
"""Most bytes of a tensor."""


def check_writable(graph: Graph) -> None:
    """Refuse, before memory is planned, models that cannot be written.

    Raises:
        UnsupportedError: an output is not computed, or a tensor is larger than C code counts.

    """
    for value in graph.values.values():
        if value.nbytes > MAX_BYTES:
            raise UnsupportedError(
                f"a tensor takes {readable(value.nbytes)}",
                tensor=value.describe(),
                expected="less than 2 GiB, which sizes of 32 bits count",
            )
    for value in graph.output_values:
        if value.is_constant or value.name in graph.inputs:
            raise UnsupportedError(
                "a model output is a constant or a model input; there is nothing to compute",
                tensor=value.describe(),
                hint="remove this output from the model, and put what it answers into the program "
                "that calls it; the host runs the model as it is",
            )
        if graph.answers.count(value.name) > 1:
            raise UnsupportedError(
                "a tensor is several of the model's outputs; the code would write one of them only",
                tensor=value.describe(),
                hint="remove all but one of these outputs from the model",
            )
