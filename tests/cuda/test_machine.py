"""What a machine has, and the errors that say what it lacks."""

import sys
from types import SimpleNamespace

import pytest

from tests.cuda.requirements import needs_cxx
from tinyrt.backends.cuda import driver as driver_module
from tinyrt.backends.cuda import nvrtc
from tinyrt.backends.cuda.driver import CudaDriver
from tinyrt.backends.cuda.host import find_compiler
from tinyrt.errors import ToolError


def fake_bindings(count=1, capability=(9, 0), start="CUDA_SUCCESS"):
    """What ``CudaDriver`` asks for when it opens a device."""
    good = SimpleNamespace(name="CUDA_SUCCESS")
    attributes = {
        "COMPUTE_CAPABILITY_MAJOR": capability[0],
        "COMPUTE_CAPABILITY_MINOR": capability[1],
        "MULTIPROCESSOR_COUNT": 132,
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448,
        "CLOCK_RATE": 1_980_000,
    }
    started = good if start == "CUDA_SUCCESS" else SimpleNamespace(name=start)
    return SimpleNamespace(
        CUresult=SimpleNamespace(CUDA_SUCCESS=good),
        CUdevice_attribute=SimpleNamespace(**{f"CU_DEVICE_ATTRIBUTE_{k}": k for k in attributes}),
        cuInit=lambda flags: (started,),
        cuDeviceGetCount=lambda: (good, count),
        cuDeviceGet=lambda i: (good, i),
        cuDeviceGetAttribute=lambda attribute, device: (good, attributes[attribute]),
        cuDeviceGetName=lambda size, device: (good, b"A GPU\0\0"),
        cuDevicePrimaryCtxRetain=lambda device: (good, "context"),
        cuCtxSetCurrent=lambda context: (good,),
        cuMemAlloc=lambda nbytes: (SimpleNamespace(name="CUDA_ERROR_OUT_OF_MEMORY"),),
    )


def test_a_device_says_what_it_is():
    found = CudaDriver(fake_bindings())
    assert (found.name, found.arch, found.multiprocessors) == ("A GPU", "sm_90", 132)
    assert (found.shared_limit, found.clock_hz) == (232448, 1_980_000_000)
    with pytest.raises(ToolError, match=r"refused cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"):
        found.allocate(1)


@pytest.mark.parametrize(
    ("bindings", "problem"),
    [
        (fake_bindings(count=0), "there is no GPU number 0"),
        (fake_bindings(capability=(7, 5)), "compute capability 7.5"),
        (fake_bindings(start="CUDA_ERROR_NO_DEVICE"), "does not start: CUDA_ERROR_NO_DEVICE"),
    ],
)
def test_what_is_wrong_with_the_machine_is_said(bindings, problem):
    with pytest.raises(ToolError, match=problem):
        CudaDriver(bindings)


def test_a_missing_driver_is_said():
    bindings = fake_bindings()

    def no_library(flags):
        raise RuntimeError("libcuda.so.1 not found")

    bindings.cuInit = no_library
    with pytest.raises(ToolError, match="NVIDIA's driver, which is not installed"):
        CudaDriver(bindings)


def test_missing_packages_are_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(ToolError, match="needs the package cuda-bindings") as caught:
        driver_module._bindings()
    assert "tinyrt[cuda]" in caught.value.hint
    with pytest.raises(ToolError, match="run-time compiler"):
        nvrtc.load_nvrtc()


@needs_cxx
def test_a_compiler_is_there():
    assert find_compiler()
