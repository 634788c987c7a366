"""The CUDA driver as the runtime sees it: a dozen calls, so that tests can stand in for a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.cuda.nvrtc import INSTALL
from tinyrt.errors import ToolError

Handle = Any
"""A stream, function or graph of the driver."""

OLDEST = (8, 0)
"""The first GPUs that multiply int8 matrices as the kernels ask them to."""


_LESS_MEMORY = "run smaller batches; backend 'numba' needs no GPU"
HINTS = {
    "cuMemAlloc": _LESS_MEMORY,
    "cuMemHostAlloc": _LESS_MEMORY,
    "cuModuleLoadData": "a driver for CUDA 12 takes what a compiler for it makes: update the "
    "driver, or install cuda-bindings==12.* and nvidia-cuda-nvrtc-cu12",
}
"""Hint of an error where the driver refuses a call."""


class Driver(Protocol):
    """One GPU.

    Attributes:
        name: of the device.
        arch: ``sm_90`` or the like.
        multiprocessors: how many it has.
        shared_limit: bytes of shared memory that a block may have.
        clock_hz: its highest clock.

    """

    name: str
    arch: str
    multiprocessors: int
    shared_limit: int
    clock_hz: int

    def use(self) -> None:
        """Make the GPU the calling thread's."""
        ...

    def load(self, image: bytes) -> Handle:
        """A cubin's kernels."""
        ...

    def function(self, module: Handle, name: str, shared_bytes: int) -> Handle:
        """A kernel of a module, allowed that much shared memory."""
        ...

    def resident_blocks(self, function: Handle, threads: int, shared_bytes: int) -> int:
        """Blocks that one multiprocessor holds at once."""
        ...

    def allocate(self, nbytes: int) -> int:
        """Device memory."""
        ...

    def free(self, address: int) -> None:
        """Give device memory back."""
        ...

    def locked(self, nbytes: int) -> NDArray[np.uint8]:
        """Host memory whose pages stay, so that copies go on beside kernels."""
        ...

    def free_locked(self, array: NDArray[np.uint8]) -> None:
        """Free page-locked memory."""
        ...

    def lock(self, array: NDArray[np.uint8]) -> bool:
        """Lock the pages of an array, which must have them to itself; False where that fails."""
        ...

    def unlock(self, array: NDArray[np.uint8]) -> None:
        """Unlock the pages of an array."""
        ...

    def address_of(self, array: NDArray[np.uint8]) -> int:
        """Where kernels find page-locked memory."""
        ...

    def stream(self) -> Handle:
        """A new stream."""
        ...

    def copy_in(self, address: int, array: NDArray[np.uint8], stream: Handle) -> None:
        """Start a copy to the device."""
        ...

    def copy_out(self, array: NDArray[np.uint8], address: int, stream: Handle) -> None:
        """Start a copy to the host."""
        ...

    def launch(
        self,
        function: Handle,
        blocks: int,
        threads: int,
        shared_bytes: int,
        stream: Handle,
        arguments: Sequence[int | np.int32],
    ) -> None:
        """Start a kernel; addresses are ints, numbers are ``np.int32``."""
        ...

    def wait(self, stream: Handle) -> None:
        """Wait until a stream is idle; raises the errors of its work."""
        ...

    def begin_capture(self, stream: Handle) -> None:
        """Record work that is started on the stream instead of running it."""
        ...

    def end_capture(self, stream: Handle) -> Handle:
        """The recorded graph, ready to run."""
        ...

    def replay(self, graph: Handle, stream: Handle) -> None:
        """Start a recorded graph."""
        ...

    def close(self, module: Handle, streams: Sequence[Handle], graphs: Sequence[Handle]) -> None:
        """Give kernels, streams and recorded graphs back."""
        ...


@cache
def open_driver(device: int = 0) -> Driver:
    """The driver of a GPU.

    Raises:
        ToolError: the package, the driver or a GPU is missing, or the GPU is too old.

    """
    return CudaDriver(_bindings(), device)


def _bindings() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise ToolError(
            "backend cuda needs the package cuda-bindings", expected="it installed", hint=INSTALL
        ) from error
    return driver


class CudaDriver:
    """``Driver`` over the package cuda-bindings.

    Args:
        bindings: the module ``cuda.bindings.driver``.
        device: which GPU.

    Raises:
        ToolError: as ``open_driver``.

    """

    def __init__(self, bindings: Any, device: int = 0) -> None:
        self._cuda = bindings
        self._started()
        if device >= self._call("cuDeviceGetCount"):
            raise ToolError(
                f"there is no GPU number {device}",
                expected="a CUDA device that this process may see",
                hint="look at nvidia-smi and CUDA_VISIBLE_DEVICES, or choose backend 'numba'",
            )
        handle = self._call("cuDeviceGet", device)
        attributes = bindings.CUdevice_attribute
        prefix = "CU_DEVICE_ATTRIBUTE_"
        major, minor, self.multiprocessors, self.shared_limit, kilohertz = (
            self._call("cuDeviceGetAttribute", getattr(attributes, prefix + name), handle)
            for name in (
                "COMPUTE_CAPABILITY_MAJOR",
                "COMPUTE_CAPABILITY_MINOR",
                "MULTIPROCESSOR_COUNT",
                "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
                "CLOCK_RATE",
            )
        )
        self.name = self._call("cuDeviceGetName", 128, handle).split(b"\0")[0].decode()
        self.arch = f"sm_{major}{minor}"
        self.clock_hz = 1000 * kilohertz
        if (major, minor) < OLDEST:
            raise ToolError(
                f"{self.name} has compute capability {major}.{minor}",
                expected=f"at least {OLDEST[0]}.{OLDEST[1]}",
                hint="choose backend 'numba'",
            )
        self._context = self._call("cuDevicePrimaryCtxRetain", handle)
        self.use()

    def _started(self) -> None:
        try:
            (result,) = self._cuda.cuInit(0)
        except Exception as error:
            # The loader has an error of its own for a library that is not there.
            raise ToolError(
                "backend cuda needs NVIDIA's driver, which is not installed",
                expected="libcuda.so.1",
                hint="install the driver, or choose backend 'numba'",
            ) from error
        if result != self._cuda.CUresult.CUDA_SUCCESS:
            raise ToolError(
                f"NVIDIA's driver does not start: {result.name}",
                expected="a CUDA device that this process may see",
                hint="look at nvidia-smi, or choose backend 'numba'",
            )

    def _call(self, name: str, *arguments: Any) -> Any:
        result, *values = getattr(self._cuda, name)(*arguments)
        if result != self._cuda.CUresult.CUDA_SUCCESS:
            raise ToolError(
                f"the GPU refused {name}: {result.name}",
                hint=HINTS.get(name, "backend 'numba' needs no GPU"),
            )
        return values[0] if values else None

    def use(self) -> None:
        """As ``Driver``."""
        self._call("cuCtxSetCurrent", self._context)

    def load(self, image: bytes) -> Handle:
        """As ``Driver``."""
        return self._call("cuModuleLoadData", image)

    def function(self, module: Handle, name: str, shared_bytes: int) -> Handle:
        """As ``Driver``."""
        function = self._call("cuModuleGetFunction", module, name.encode())
        if shared_bytes:
            attribute = self._cuda.CUfunction_attribute
            limit = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call("cuFuncSetAttribute", function, limit, shared_bytes)
        return function

    def resident_blocks(self, function: Handle, threads: int, shared_bytes: int) -> int:
        """As ``Driver``."""
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        return int(self._call(name, function, threads, shared_bytes))

    def allocate(self, nbytes: int) -> int:
        """As ``Driver``."""
        return int(self._call("cuMemAlloc", max(nbytes, 1)))

    def free(self, address: int) -> None:
        """As ``Driver``."""
        self._call("cuMemFree", address)

    def locked(self, nbytes: int) -> NDArray[np.uint8]:
        """As ``Driver``."""
        mapped = self._cuda.CU_MEMHOSTALLOC_DEVICEMAP
        address = int(self._call("cuMemHostAlloc", max(nbytes, 1), mapped))
        return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))

    def free_locked(self, array: NDArray[np.uint8]) -> None:
        """As ``Driver``."""
        self._call("cuMemFreeHost", array.ctypes.data)

    def lock(self, array: NDArray[np.uint8]) -> bool:
        """As ``Driver``."""
        # Another model may have locked them, and containers limit what may be locked.
        mapped = self._cuda.CU_MEMHOSTREGISTER_DEVICEMAP
        (result,) = self._cuda.cuMemHostRegister(array.ctypes.data, array.nbytes, mapped)
        return bool(result == self._cuda.CUresult.CUDA_SUCCESS)

    def unlock(self, array: NDArray[np.uint8]) -> None:
        """As ``Driver``."""
        self._call("cuMemHostUnregister", array.ctypes.data)

    def address_of(self, array: NDArray[np.uint8]) -> int:
        """As ``Driver``."""
        return int(self._call("cuMemHostGetDevicePointer", array.ctypes.data, 0))

    def stream(self) -> Handle:
        """As ``Driver``."""
        flags = self._cuda.CUstream_flags.CU_STREAM_NON_BLOCKING
        return self._call("cuStreamCreate", flags)

    def copy_in(self, address: int, array: NDArray[np.uint8], stream: Handle) -> None:
        """As ``Driver``."""
        self._call("cuMemcpyHtoDAsync", address, array.ctypes.data, array.nbytes, stream)

    def copy_out(self, array: NDArray[np.uint8], address: int, stream: Handle) -> None:
        """As ``Driver``."""
        self._call("cuMemcpyDtoHAsync", array.ctypes.data, address, array.nbytes, stream)

    def launch(
        self,
        function: Handle,
        blocks: int,
        threads: int,
        shared_bytes: int,
        stream: Handle,
        arguments: Sequence[int | np.int32],
    ) -> None:
        """As ``Driver``."""
        # A number lies in the first half of its word: all GPUs' hosts are little-endian.
        words = (ctypes.c_uint64 * len(arguments))(*map(int, arguments))
        first = ctypes.addressof(words)
        pointers = (ctypes.c_void_p * len(words))(*(first + 8 * i for i in range(len(words))))
        sizes = (blocks, 1, 1, threads, 1, 1, shared_bytes)
        self._call("cuLaunchKernel", function, *sizes, stream, ctypes.addressof(pointers), 0)

    def wait(self, stream: Handle) -> None:
        """As ``Driver``."""
        self._call("cuStreamSynchronize", stream)

    def begin_capture(self, stream: Handle) -> None:
        """As ``Driver``."""
        mode = self._cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        self._call("cuStreamBeginCapture", stream, mode)

    def end_capture(self, stream: Handle) -> Handle:
        """As ``Driver``."""
        recorded = self._call("cuStreamEndCapture", stream)
        graph = self._call("cuGraphInstantiate", recorded, 0)
        self._call("cuGraphDestroy", recorded)
        return graph

    def replay(self, graph: Handle, stream: Handle) -> None:
        """As ``Driver``."""
        self._call("cuGraphLaunch", graph, stream)

    def close(self, module: Handle, streams: Sequence[Handle], graphs: Sequence[Handle]) -> None:
        """As ``Driver``."""
        for graph in graphs:
            self._call("cuGraphExecDestroy", graph)
        for stream in streams:
            self._call("cuStreamDestroy", stream)
        self._call("cuModuleUnload", module)
