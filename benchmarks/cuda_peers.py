"""What benchmarks.cuda compares with: one function per engine that opens it for a batch size.

Each returns a call that computes one batch, inputs and outputs in the host's memory; or it raises
``SkippedError`` with the reason. Peers compute the zoo's float models in the precision that they
are made for: int8 with QDQ nodes, or float16.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.errors import TinyrtError
from tinyrt.interpreter import Interpreter
from tinyrt.ir import BoundNode, Graph

Call = Callable[[], object]


class SkippedError(Exception):
    """An engine that cannot run here, and why."""


@dataclass(frozen=True)
class Engine:
    """One column.

    Attributes:
        name: as printed.
        open: (folder of models, model's name, batch) -> a call; raises ``SkippedError``.
        on_gpu: whether it computes on a GPU.
        peer: whether it is not tinyrt.

    """

    name: str
    open: Callable[[Path, str, int], Call]
    on_gpu: bool = False
    peer: bool = True


def tinyrt(backend: str, models: Path, name: str, batch: int) -> Call:
    """``Interpreter.invoke``: with copies, where there are any."""
    interpreter = Interpreter(models / f"{name}_int8.tflite", backend=backend, num_threads=None)
    (given,) = interpreter.get_input_details()
    shape = (batch, *given["shape"][1:])
    interpreter.resize_tensor_input(given["index"], shape)
    try:
        interpreter.allocate_tensors()
    except TinyrtError as error:
        raise SkippedError(error.problem) from error
    x = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
    interpreter.set_tensor(given["index"], x)
    return interpreter.invoke


def device_resident(models: Path, name: str, batch: int) -> Call:
    """The kernels alone: without the copies of large batches, and without what is around them."""
    from tinyrt.backends.cuda.driver import open_driver
    from tinyrt.backends.cuda.runtime import CudaModel

    graph = read_tflite(models / f"{name}_int8.tflite")
    try:
        driver = open_driver()
    except TinyrtError as error:
        raise SkippedError(error.problem) from error
    rng = np.random.default_rng(0)
    ports = [
        rng.integers(-128, 128, (batch, *graph.value(port).shape[1:])).astype(np.int8)
        for port in (*graph.inputs, *graph.outputs)
    ]
    model = CudaModel(graph, ports, batch, driver)
    model.run()
    return model.compute


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="tinyrt-bench-"))


def _open_batch(model: Any) -> Any:
    """An ONNX model for one sample, made to take any number."""
    from onnx import numpy_helper

    for port in (*model.graph.input, *model.graph.output):
        port.type.tensor_type.shape.dim[0].dim_param = "batch"
    del model.graph.value_info[:]
    shapes = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    for tensor in model.graph.initializer:
        sizes = numpy_helper.to_array(tensor).copy() if tensor.name in shapes else None
        if sizes is not None and sizes[0] == 1:
            # The size that is left over, or the input's own where another is left over already.
            sizes[0] = 0 if -1 in sizes else -1
            tensor.CopyFrom(numpy_helper.from_array(sizes, tensor.name))
    return model


@cache
def _onnx_model(models: Path, name: str, precision: str) -> Path:
    """The zoo's ONNX model with an open batch axis, in float32, float16 or int8 with QDQ nodes."""
    import onnx

    path = _folder() / f"{name}_{precision}.onnx"
    if precision == "float32":
        onnx.save(_open_batch(onnx.load(models / f"{name}.onnx")), path)
        return path
    plain = _onnx_model(models, name, "float32")
    if precision == "float16":
        from onnxruntime.transformers.float16 import convert_float_to_float16

        onnx.save(convert_float_to_float16(onnx.load(plain), keep_io_types=False), path)
        return path
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Random(CalibrationDataReader):
        def __init__(self) -> None:
            port = onnx.load(plain).graph.input[0]
            shape = [1, *(d.dim_value for d in port.type.tensor_type.shape.dim[1:])]
            rng = np.random.default_rng(0)
            rows = (rng.normal(size=shape).astype(np.float32) for _ in range(8))
            self._rows = iter([{port.name: row} for row in rows])

        def get_next(self) -> dict[str, Any] | None:
            return next(self._rows, None)

    quantize_static(plain, path, Random(), quant_format=QuantFormat.QDQ, per_channel=True)
    return path


def onnxruntime(
    provider: str, precision: str, models: Path, name: str, batch: int, graph: bool = False
) -> Call:
    """One session, inputs and outputs on the host; its kernels may be one recorded CUDA graph."""
    if find_spec("onnxruntime") is None:
        raise SkippedError("the package onnxruntime is not installed")
    import onnxruntime as ort

    if provider.startswith("CUDA") and hasattr(ort, "preload_dlls"):
        ort.preload_dlls()  # CUDA's libraries may be those that came with PyTorch
    if provider not in ort.get_available_providers():
        raise SkippedError(f"this onnxruntime has no {provider}: install onnxruntime-gpu")
    ort.set_default_logger_severity(3)
    model = _onnx_model(models, name, precision)
    recorded = {"enable_cuda_graph": "1"} if graph else {}
    session = ort.InferenceSession(str(model), providers=[(provider, recorded)])
    if session.get_providers()[0] != provider:
        raise SkippedError(f"onnxruntime could not start {provider}")
    (port,) = session.get_inputs()
    dtype = np.float16 if "float16" in port.type else np.float32
    x = np.random.default_rng(0).normal(size=(batch, *port.shape[1:])).astype(dtype)
    if not graph:
        return lambda: session.run(None, {port.name: x})
    return _replayed(session, x, "cuda")


def _replayed(session: Any, x: Any, device: str) -> Call:
    """A session that reads and writes always the same memory, as a recorded graph asks for."""
    from onnxruntime import OrtValue

    (given,), (answer,) = session.get_inputs(), session.get_outputs()
    shape = [len(x), *answer.shape[1:]]
    there = OrtValue.ortvalue_from_numpy(x, device)
    found = OrtValue.ortvalue_from_shape_and_type(shape, x.dtype, device)
    binding = session.io_binding()
    binding.bind_ortvalue_input(given.name, there)
    binding.bind_ortvalue_output(answer.name, found)

    def call() -> object:
        there.update_inplace(x)
        session.run_with_iobinding(binding)
        return found.numpy()

    return call


def torch_compiled(models: Path, name: str, batch: int) -> Call:
    """The float model in PyTorch, float16, compiled; copies included."""
    if find_spec("torch") is None:
        raise SkippedError("the package torch is not installed")
    import torch

    if not torch.cuda.is_available():
        raise SkippedError("PyTorch sees no GPU")
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = read_tflite(models / f"{name}_float.tflite")
    x = torch.randn((batch, *graph.input_values[0].shape[1:]), dtype=torch.float16).pin_memory()
    with torch.inference_mode():
        # Traced first, so that the compiler sees tensors only. It counts how often it compiles the
        # same function, and gives up after a few, so that it has to forget the models before.
        traced = make_fx(torch_model(graph).half().cuda())(x.cuda())
    torch._dynamo.reset()
    # Its convolutions are cuDNN's: where Triton's were tried they lost, after minutes.
    torch._inductor.config.max_autotune_conv_backends = "ATEN"
    run = torch.compile(traced, mode="max-autotune", fullgraph=True)

    def call() -> object:
        with torch.inference_mode():
            return run(x.cuda(non_blocking=True)).cpu()

    return call


def torch_model(graph: Graph) -> Any:
    """The float graph as a PyTorch module, NHWC in and out."""
    import torch

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.constants = torch.nn.ParameterDict(
                {
                    v.name.replace(".", "/"): torch.nn.Parameter(torch.tensor(np.asarray(v.data)))
                    for v in graph.values.values()
                    if v.is_constant and np.asarray(v.data).dtype == np.float32
                }
            )

        def forward(self, x: Any) -> Any:
            held = {graph.inputs[0]: x}
            for node in graph.bound():
                arguments = [
                    held[v.name] if v.name in held else self.constants[v.name.replace(".", "/")]
                    for v in node.inputs
                    if v is not None
                ]
                held[node.output.name] = _in_torch(node, arguments)
            return held[graph.outputs[0]]

    return Module().eval()


def _in_torch(node: BoundNode, given: list[Any]) -> Any:
    """One float op of the zoo, on NHWC tensors."""
    import torch.nn.functional as F  # noqa: N812

    attrs, x = node.attrs, given[0]
    if node.op in ("conv2d", "depthwise_conv2d"):
        w = given[1].permute(0, 3, 1, 2) if node.op == "conv2d" else given[1].permute(3, 0, 1, 2)
        groups = 1 if node.op == "conv2d" else x.shape[3]
        y = F.conv2d(_padded(node, x), w, given[2], attrs.stride, 0, attrs.dilation, groups)
        y = y.permute(0, 2, 3, 1)
    elif node.op == "fully_connected":
        y = F.linear(x, *given[1:])
    elif node.op == "average_pool2d":
        y = F.avg_pool2d(x.permute(0, 3, 1, 2), attrs.kernel, attrs.stride).permute(0, 2, 3, 1)
    elif node.op == "reshape":
        return x.reshape(x.shape[0], -1)
    elif node.op == "softmax":
        return F.softmax(x, -1)
    elif node.op == "add":
        y = x + given[1]
    else:
        raise SkippedError(f"{node.op} is not written for PyTorch here")
    return F.relu(y) if attrs.activation == "RELU" else y


def _padded(node: BoundNode, x: Any) -> Any:
    """NCHW, with the border that TFLite's SAME padding has."""
    import torch.nn.functional as F  # noqa: N812

    from tinyrt.ops import conv2d, depthwise_conv2d

    module = conv2d if node.op == "conv2d" else depthwise_conv2d
    window = module.window_of(node.attrs, node.input(0).shape, node.input(1).shape)
    (top, left), (bottom, right) = window.before, window.after
    return F.pad(x.permute(0, 3, 1, 2), (left, right, top, bottom))
