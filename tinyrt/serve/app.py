"""The HTTP interface: each request brings its files, is answered, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import io
import tempfile
import zipfile
from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, File, Form, Request, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from tinyrt import __version__
from tinyrt.export.layouts import LAYOUTS
from tinyrt.export.target import CORES, Optimize
from tinyrt.quantize.config import Preset, Scheme
from tinyrt.report.rendering import rendered
from tinyrt.serve.guards import OwnPageOnly
from tinyrt.serve.jobs import Job, Limits, RefusedError

MODELS = (".tflite", ".onnx")
DATA = (".npz", ".npy")
ERRORS: dict[int | str, dict[str, Any]] = {
    403: {"description": "The request comes from another page or machine."},
    413: {"description": "The files are too large."},
    415: {"description": "A file has another suffix."},
    422: {"description": "tinyrt refuses the file: problem, op, tensor, expected, hint."},
    504: {"description": "The command took too long."},
}

Core = StrEnum("Core", {c: c for c in CORES if not c.startswith("host")})  # type: ignore[misc]
"""Cores as a choice, so that the interface's description lists them."""
Layout = StrEnum("Layout", {layout: layout for layout in LAYOUTS})  # type: ignore[misc]
DEFAULT_CORE, DEFAULT_LAYOUT, DEFAULT_GOAL = Core["cortex-m4"], Layout["cmake"], Optimize.BALANCED


async def job(request: Request) -> AsyncIterator[Job]:
    """The request's folder, while it is answered."""
    with tempfile.TemporaryDirectory(prefix="tinyrt-serve-") as folder:
        state = request.app.state
        yield Job(Path(folder), request.is_disconnected, state.places, state.limits.seconds)


Working = Annotated[Job, Depends(job)]
Model = Annotated[UploadFile, File(description="A .tflite or .onnx model.")]
Samples = Annotated[UploadFile | None, File(description="An .npz or .npy file with float inputs.")]
Target = Annotated[Core, Form(description="The processor core.")]
MadeFor = Annotated[Optimize, Form(description="What the code is made for.")]
Measured = Annotated[bool, Form(description="Build and emulate instead of estimating.")]


def make_app(limits: Limits | None = None) -> FastAPI:
    """The application, for any ASGI server that listens on this machine alone.

    Args:
        limits: what requests may take; by default 64 MiB and five minutes.

    """
    limits = limits or Limits()
    app = FastAPI(
        title="tinyrt",
        version=__version__,
        summary="Cost, quantisation and C code of a model.",
        docs_url=None,  # these pages would fetch their scripts from elsewhere
        redoc_url=None,
        responses=ERRORS,
        max_body_size=limits.upload,
    )
    app.state.limits, app.state.places = limits, asyncio.Semaphore(limits.at_once)
    app.add_middleware(OwnPageOnly)
    for kind in (RefusedError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _refused)
    app.get("/", response_class=HTMLResponse, include_in_schema=False)(page)
    app.post("/api/report", summary="What a model costs on a core, and why")(report)
    app.post("/api/page", summary="The same as a page", response_class=HTMLResponse)(report_page)
    app.post("/api/quantize", summary="A model in integers", response_class=Response)(quantize)
    app.post("/api/export", summary="A model's C project, zipped", response_class=Response)(export)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    """Every refusal in one form: ``{"error": {"problem": ...}}``."""
    del request
    if isinstance(error, RefusedError):
        return JSONResponse({"error": error.error}, status_code=error.status)
    if isinstance(error, HTTPException):
        return JSONResponse({"error": {"problem": error.detail}}, status_code=error.status_code)
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    problem = f"field {first['loc'][-1]}: {first['msg']}"
    return JSONResponse({"error": {"problem": problem}}, status_code=422)


def page() -> str:
    """The page that people see."""
    return rendered("serve.html.j2", cores=list(Core), schemes=list(Scheme))


async def reported(
    job: Working,
    model: Model,
    core: Target = DEFAULT_CORE,
    optimize: MadeFor = DEFAULT_GOAL,
    measured: Measured = False,
) -> dict[str, Any]:
    """What `tinyrt report` prints, with its page in the request's folder."""
    path = await _tflite(job, model)
    options = ["--core", core, "--optimize", optimize.value]
    if not measured:
        options.append("--estimate")
    return await job.run("report", path, "-o", job.made / "page.html", *options)


Reported = Annotated[dict[str, Any], Depends(reported)]


async def report(answer: Reported) -> dict[str, Any]:
    """The data behind `tinyrt report`."""
    return dict(answer["report"]) | {"warnings": answer["warnings"]}


async def report_page(answer: Reported) -> HTMLResponse:
    """The page that `tinyrt report` writes."""
    return HTMLResponse(Path(answer["output"]).read_text(encoding="utf-8"))


async def quantize(
    job: Working,
    model: Model,
    calibration: Samples = None,
    scheme: Annotated[Scheme, Form(description="Dtypes of activations and weights.")] = Scheme.INT8,
    preset: Annotated[Preset | None, Form(description="How much work to do.")] = None,
) -> Response:
    """The .tflite file that `tinyrt quantize` writes."""
    source = await _saved(model, job.place(model.filename, MODELS))
    options: list[str | Path] = ["--scheme", scheme]
    if calibration is not None:
        place = job.place(calibration.filename, DATA, prefix="samples_")
        options += ["--calibration", await _saved(calibration, place)]
    if preset is not None:
        options += ["--preset", preset]
    made = job.made / f"{source.stem}_{scheme}.tflite"
    await job.run("quantize", source, "-o", made, *options)
    return _download(made.read_bytes(), made.name, "application/octet-stream")


async def export(
    job: Working,
    model: Model,
    core: Target = DEFAULT_CORE,
    optimize: MadeFor = DEFAULT_GOAL,
    layout: Annotated[Layout, Form(description="The shape of the folder.")] = DEFAULT_LAYOUT,
) -> Response:
    """The folder that `tinyrt export` writes."""
    path = await _tflite(job, model)
    project = job.made / path.stem
    options = ("--core", core, "--optimize", optimize.value, "--layout", layout)
    await job.run("export", path, "-o", project, *options)
    return _download(_zipped(project), f"{path.stem}_{core}.zip", "application/zip")


async def _tflite(job: Job, upload: UploadFile) -> Path:
    """The uploaded model as .tflite; ONNX is converted."""
    path = await _saved(upload, job.place(upload.filename, MODELS))
    if path.suffix == ".tflite":
        return path
    converted = job.made / f"{path.stem}.tflite"
    await job.run("convert", path, "-o", converted)
    return converted


async def _saved(upload: UploadFile, path: Path) -> Path:
    with path.open("wb") as file:
        while piece := await upload.read(1 << 20):
            file.write(piece)
    return path


def _zipped(folder: Path) -> bytes:
    """All files of a folder, below its name."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.write(path, path.relative_to(folder.parent))
    return content.getvalue()


def _download(content: bytes, name: str, media_type: str) -> Response:
    disposition = f'attachment; filename="{name}"'
    return Response(content, media_type=media_type, headers={"content-disposition": disposition})
