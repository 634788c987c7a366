"""Setuptools' build backend; wheels get a bill of materials beside.

It is a CycloneDX document in the wheel's ``.dist-info/sboms/`` (PEP 770): the versions, hashes and
licences of ``tools/dependencies.json``, with which the release was tested.
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
import zipfile
from pathlib import Path
from typing import Any

from setuptools.build_meta import *  # noqa: F403
from setuptools.build_meta import build_wheel as _build_wheel

RECORD = Path(__file__).with_name("dependencies.json")


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """As setuptools does, and the bill of materials."""
    name: str = _build_wheel(wheel_directory, config_settings, metadata_directory)
    add_sbom(Path(wheel_directory) / name)
    return name


def add_sbom(wheel: Path) -> None:
    """Put the bill of materials into a wheel, and into its record."""
    name, version = wheel.name.split("-")[:2]
    info = f"{name}-{version}.dist-info"
    place, text = f"{info}/sboms/{name}.cdx.json", sbom(name, version).encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
    unfinished = wheel.with_suffix(".unfinished")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(unfinished, "w") as new:
        for member in old.infolist():
            data = old.read(member)
            if member.filename == f"{info}/RECORD":
                new.writestr(_like(member, place), text, zipfile.ZIP_DEFLATED)
                data = f"{place},sha256={digest},{len(text)}\n".encode() + data
            new.writestr(member, data, zipfile.ZIP_DEFLATED)
    unfinished.replace(wheel)


def _like(member: zipfile.ZipInfo, name: str) -> zipfile.ZipInfo:
    """A file of another name with the same date and mode."""
    found = zipfile.ZipInfo(name, member.date_time)
    found.external_attr = member.external_attr
    return found


def sbom(name: str, version: str) -> str:
    """The CycloneDX document; the same bytes for the same dependencies."""
    packages = json.loads(RECORD.read_text())["packages"]
    needed = [_component(p) for p in packages if p["scope"] == "runtime"]
    own = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "licenses": [{"expression": "Apache-2.0"}],
    }
    on = {"ref": own["bom-ref"], "dependsOn": [c["bom-ref"] for c in needed]}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": needed,
        "dependencies": [on],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return json.dumps({"serialNumber": f"urn:uuid:{number}", **document}, indent=1) + "\n"


def _component(package: dict[str, Any]) -> dict[str, Any]:
    purl = f"pkg:pypi/{package['name']}@{package['version']}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package["name"],
        "version": package["version"],
        "purl": purl,
        "hashes": [{"alg": "SHA-256", "content": package["sha256"]}],
        "licenses": [{"license": {"name": package["licence"]}}],
    }
