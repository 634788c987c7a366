"""Run by ``test_driver.py`` where libcuda.so.1 is the stub: models through NVIDIA's own package."""

import ctypes
import gc

import numpy as np

from tests.cuda.test_runtime import compile_on_host, small_graph
from tinyrt.backends.cuda.driver import open_driver
from tinyrt.backends.cuda.layout import Shape
from tinyrt.backends.cuda.runtime import CudaModel
from tinyrt.interpreter import Model


def main():
    driver = open_driver()
    assert (driver.name, driver.arch, driver.multiprocessors) == ("stub", "sm_90", 4)
    rng = np.random.default_rng(0)
    # Recorded; in pieces; of a size whose pages are locked where they lie; op by op.
    cases = ((5, None), (1300, None), (50_000, None), (700, Shape(threads=64, fused=False)))
    for samples, shape in cases:
        x = rng.integers(-128, 128, (samples, 24)).astype(np.int8)
        y = np.zeros_like(x)
        expected = Model(small_graph(), backend="numba")(x)
        model = CudaModel(small_graph(), [x, y], samples, driver, shape, compile_on_host)
        for _ in range(3):
            y[:] = 0
            model.run()
            np.testing.assert_array_equal(y, expected)
        model.compute()
        del model
        gc.collect()
        assert ctypes.CDLL("libcuda.so.1").stub_held() == 0
    print("all answers are right")


if __name__ == "__main__":
    main()
