"""The kernels of cores with MVE on this machine: under sanitizers, and with their branches counted.

Their intrinsics are plain C here, see ``mve``; what they have in assembly takes its other form.
"""

import re
from fnmatch import fnmatch

import numpy as np
import pytest

from tests.c import vector_cases
from tests.c.branches import Counted
from tests.c.conformance import C_OPS, F32_OPS, INT16_OPS
from tests.c.floats import assert_close
from tests.c.host import BESIDE, build_program, require_tool, run_program
from tests.c.packed_cases import PACKED_CASES, int4_weights
from tests.c.programs import drawn, of_floats, of_integers, one_graph
from tests.c.wide_layers import some_layers
from tests.firmware.test_slices_ops import smallest
from tests.ops.build import build_f32, build_s8, build_s16
from tests.ops.cases import CASES
from tests.sampling import WHOLE
from tinyrt import kernels_c
from tinyrt.backends.c.mve import cost as mve_cost
from tinyrt.export import ExportOptions, export_graph, slices
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

CORE = "cortex-m55"
