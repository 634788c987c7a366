"""Broken .npz and .npy files: archives put together part by part, with parts that lie.

An archive is written by hand: local headers, members, the central directory and its end each take
their numbers from a dictionary in which anything may have been replaced.
"""

from __future__ import annotations

import io
import struct
import zlib
from functools import cache
from typing import Any

import numpy as np

from tests.fuzz.values import Rng, number, of_bytes, pick, shape, text

DTYPES = (
    *("<f4", "<f8", "<f2", ">f4", "|i1", "|u1", "<i2", "<i4", "<i8", "<u8", "|b1", "<c8", "<c16"),
    *(
        "|O",
        "<U3",
        "|S4",
        "|V0",
        "|V8",
        "<M8[ns]",
        "<m8",
        "<M8",
        "<f16",
        "<U0",
        "|S0",
        "<U99999999",
    ),
    *("<i3", "", "x", "<V2147483647", "{'a': 1}"),
)
STRUCTURED = (
    *(
        "[('a', '<f4'), ('b', '|i1')]",
        "[('a', '|O')]",
        "[('a', '<f4', (2**9,))]",
        "[]",
        "[('', '')]",
    ),
    *("[('a', '<f4', (1000000000, 1000000000))]", "[('a', '|i1')]", "('<f4', (3,))"),
)
MEMBERS = ("x.npy", "y.npy", "x", "", ".npy", "../x.npy", "/x.npy", "a\0b.npy", "x.npy/", "é.npy")
METHODS = (0, 8, 8, 12, 14, 93, 99, 1, 6, 65535)


def mutate(data: bytes, rng: Rng) -> bytes:
    """Another file: made anew, or these bytes changed."""
    kind = rng.random()
    if kind < 0.25:
        return of_bytes(rng, data)
    if kind < 0.32:
        return _array(rng)
    return _archive(rng)


def _archive(rng: Rng) -> bytes:
    """A zip archive of a few members, of which some numbers may be wrong."""
    members = [_member(rng, first=i == 0) for i in range(int(pick(rng, (1, 1, 1, 2, 3))))]
    if rng.random() < 0.08:
        members.append(members[0])
    if rng.random() < 0.01:
        members *= 500
    body, directory = bytearray(), bytearray()
    for member in members:
        member["offset"] = len(body)
        _lie(member, rng)
        body += _local(member) + member["data"]
        directory += _central(member)
    end = {
        "disk": 0, "count": len(members), "total": len(members), "bytes": len(directory),
        "start": len(body), "comment": b"",
    }  # fmt: skip
    if rng.random() < 0.1:
        key = pick(rng, ("disk", "count", "total", "bytes", "start"))
        end[key] = number(rng, end[key])
    tail = struct.pack(
        "<IHHHHIIH", 0x06054B50, *(end[k] % 2**16 for k in ("disk", "disk", "count", "total")),
        end["bytes"] % 2**32, end["start"] % 2**32, 0,
    )  # fmt: skip
    whole = bytes(body + directory + tail)
    if rng.random() < 0.06:
        whole = pick(rng, (b"\0" * 7 + whole, whole + b"trailing", whole + whole))
    return of_bytes(rng, whole, 2) if rng.random() < 0.1 else whole


def _member(rng: Rng, first: bool) -> dict[str, Any]:
    name = "x.npy" if first and rng.random() < 0.8 else pick(rng, MEMBERS)
    plain = _array(rng)
    crc, size = zlib.crc32(plain), len(plain)
    method = 8 if rng.random() < 0.3 else 0
    data = _deflated(plain) if method == 8 else plain
    if rng.random() < 0.01:
        length = int(pick(rng, (2**20, 2**22, 2**24, 2**27)))
        plain = _header(f"({length // 16}, 4)", fortran=bool(rng.random() < 0.3))
        zeros, crc = _bomb(plain, length)
        method, data, size = 8, zeros, len(plain) + length
    return {
        "name": name.encode(), "flags": 0, "method": method, "crc": crc,
        "packed": len(data), "size": size, "data": data, "extra": b"",
        "version": 20,
    }  # fmt: skip


def _header(shape_: str, fortran: bool) -> bytes:
    """The front of an .npy file that is as it should be."""
    text_ = f"{{'descr': '<f4', 'fortran_order': {fortran}, 'shape': {shape_}, }}"
    return b"\x93NUMPY\x01\x00\x76\x00" + text_.encode().ljust(117) + b"\n"


def _deflated(plain: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(plain) + packer.flush()


@cache
def _bomb(header: bytes, zeros: int) -> tuple[bytes, int]:
    """The header and so many zeros, which pack a thousandfold, and their checksum."""
    plain = header + bytes(zeros)
    return _deflated(plain), zlib.crc32(plain)


def _lie(member: dict[str, Any], rng: Rng) -> None:
    """Now and then a header that does not say what is there."""
    if rng.random() > 0.35:
        return
    kind = int(rng.integers(9))
    if kind == 0:
        member["flags"] = int(pick(rng, (1, 1, 8, 32, 64, 0x800, 0x2000, 65535)))
    elif kind == 1:
        member["method"] = int(pick(rng, METHODS))
    elif kind == 2:
        member["crc"] ^= 1
    elif kind in (3, 4):
        key = pick(rng, ("packed", "size", "offset"))
        member[key] = number(rng, member[key]) % 2**32
    elif kind == 5:
        member["data"] = of_bytes(rng, member["data"])
    elif kind == 6:
        member["name"] = text(rng).encode("utf-8", "surrogatepass")
    elif kind == 7:
        zip64 = struct.pack("<HHQQ", 1, 16, *(abs(number(rng, 9)) % 2**63 for _ in range(2)))
        member["extra"] = pick(rng, (zip64, zip64[:5], b"\1\0\xff\xff", b"\0" * 40))
        if rng.random() < 0.6:
            member["size"] = member["packed"] = 2**32 - 1
    else:
        member["version"] = number(rng, 20)


def _local(member: dict[str, Any]) -> bytes:
    head = struct.pack(
        "<IHHHHHIIIHH", 0x04034B50, member["version"] % 2**16, member["flags"], member["method"],
        0, 0x21, member["crc"] % 2**32, member["packed"], member["size"], len(member["name"]),
        len(member["extra"]),
    )  # fmt: skip
    return head + member["name"] + member["extra"]


def _central(member: dict[str, Any]) -> bytes:
    head = struct.pack(
        "<IHHHHHHIIIHHHHHII", 0x02014B50, 20, member["version"] % 2**16, member["flags"],
        member["method"], 0, 0x21, member["crc"] % 2**32, member["packed"], member["size"],
        len(member["name"]), len(member["extra"]), 0, 0, 0, 0, member["offset"] % 2**32,
    )  # fmt: skip
    return head + member["name"] + member["extra"]


def _array(rng: Rng) -> bytes:
    """An .npy file: a plain array, or one whose header lies."""
    if rng.random() < 0.35:
        file = io.BytesIO()
        np.save(file, _plain(rng), allow_pickle=bool(rng.random() < 0.1))
        data = file.getvalue()
        return of_bytes(rng, data, 3) if rng.random() < 0.3 else data
    dims = shape(rng, (4, 8)) if rng.random() < 0.6 else [4, 8]
    descr = repr(pick(rng, DTYPES)) if rng.random() < 0.8 else pick(rng, STRUCTURED)
    if rng.random() < 0.5:
        descr = "'<f4'"
    order = pick(rng, ("False", "False", "False", "True", "None", "1"))
    text_ = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {_tuple(rng, dims)}, }}"
    if rng.random() < 0.08:
        text_ = pick(rng, (
            text_[:-2], "[" * 300 + "]" * 300, "{}", text_ * 50, "(" * 3000, text_.replace("'", ""),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8), 'more': 1}",
            "__import__('os').getpid()", "9**9**9", "-" * 5000 + "1",
        ))  # fmt: skip
    version = pick(rng, ((1, 0), (1, 0), (1, 0), (2, 0), (3, 0), (4, 0), (0, 0), (255, 255)))
    header = text_.encode("latin1", "replace") + b" " * int(rng.integers(64)) + b"\n"
    length = len(header) if rng.random() < 0.95 else number(rng, len(header))
    size = (
        struct.pack("<H", length % 2**16) if version[0] == 1 else struct.pack("<I", length % 2**32)
    )
    payload = rng.bytes(128) if rng.random() < 0.8 else rng.bytes(int(rng.integers(300)))
    return b"\x93NUMPY" + bytes(version) + size + header + payload


def _plain(rng: Rng) -> np.ndarray:
    dims = pick(rng, ((1, 4), (3, 4), (4,), (2, 2, 2), (), (0, 4), (5, 1, 4)))
    kind = pick(rng, ("f4", "f4", "f8", "i1", "i4", "?", "U2", "S3", "c8", "M8[s]", "f2", "u8"))
    with np.errstate(all="ignore"):
        return (
            np.asfortranarray(rng.normal(size=dims)).astype(kind)
            if kind[0] in "fi?cu"
            else (np.zeros(dims, kind))
        )


def _tuple(rng: Rng, dims: list[int]) -> str:
    if rng.random() < 0.05:
        return pick(
            rng, ("(True,)", "('a',)", "(1.5,)", "None", "4", "[4, 8]", "(-1,)", "(10**30,)")
        )
    return "(" + "".join(f"{n}, " for n in dims) + ")"
