"""A board that is a thread behind a pseudo-terminal, and that can be told to misbehave."""

from __future__ import annotations

import os
import pty
import select
import struct
import threading
import time
import tty
import zlib

import numpy as np

from tinyrt import __version__
from tinyrt.export.board import Command, Fault, Places
from tinyrt.interpreter.model import Model

MARK = b"\xa5\x5a"


def sealed(command, sequence, payload):
    """A frame, written down once more."""
    body = bytes([command, sequence, len(payload) % 256, len(payload) // 256]) + payload
    return MARK + body + zlib.crc32(body).to_bytes(4, "little")


class FakeBoard:
    """Answers as the exported code does, as far as ``change`` lets it.

    Args:
        graph: the model.
        sha256: of its file.
        path: what the port is called: a link to the pseudo-terminal.
        change: called with a command, how many of its kind there were before, and the answer's
            payload; returns what is written: bytes, or a frame by ``sealed``; None for nothing.
        identity: numbers of IDENTIFY that are others than the model's, by their names.

    """

    def __init__(self, graph, sha256, path, change=None, **identity):
        self.graph, self.model = graph, Model(graph)
        self.change = change or (lambda command, number, sequence, payload: ...)
        sizes = [
            Places.of([graph.value(name).nbytes for name in names]).nbytes
            for names in (graph.fed, graph.answers)
        ]
        self.numbers = {
            "protocol": 1,
            "selftest": 0,
            "payload": 64,
            "inputs": sizes[0],
            "outputs": sizes[1],
            "arena": 400,
            "state": 8,
            "hertz": 1000,
            "export": 0xABCD,
            "sha256": sha256,
            "version": __version__,
        } | identity
        self.path = path
        self.input, self.output = bytearray(sizes[0]), b""
        self.counts = dict.fromkeys(range(256), 0)
        self.frames = []
        self.closed = threading.Event()

    def __enter__(self):
        self.run()  # The first run compiles, which is no part of how long an answer takes.
        self.master, slave = pty.openpty()
        tty.setraw(slave)
        self.path.unlink(missing_ok=True)
        self.path.symlink_to(os.ttyname(slave))
        self.port = str(self.path)
        self.slave = slave
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.closed.set()
        self.thread.join(10)
        for descriptor in (self.master, self.slave):
            if descriptor is not None:
                os.close(descriptor)
        self.master = self.slave = None

    def hang_up(self):
        """Pull the cable."""
        master, self.master = self.master, None
        os.close(self.slave)
        self.slave = None
        os.close(master)

    def serve(self):
        data = b""
        while not self.closed.is_set() and self.master is not None:
            if not select.select([self.master], [], [], 0.02)[0]:
                continue
            data += os.read(self.master, 4096)
            while (frame := self.cut(data)) is not None:
                data = data[len(frame) + data.index(MARK) :]
                self.answer(frame)

    def cut(self, data):
        """The first whole frame."""
        at = data.find(MARK)
        if at < 0 or len(data) < at + 6:
            return None
        end = at + 6 + int.from_bytes(data[at + 4 : at + 6], "little") + 4
        return data[at:end] if len(data) >= end else None

    def answer(self, frame):
        command, sequence, payload = frame[2], frame[3], frame[6:-4]
        self.frames.append((command, sequence))
        if zlib.crc32(frame[2:-4]).to_bytes(4, "little") != frame[-4:]:
            self.send(sealed(command | 0x80, sequence, bytes([Fault.BAD_CRC])))
            return
        number = self.counts[command]
        self.counts[command] += 1
        usual = self.obey(command, payload)
        written = self.change(command, number, sequence, usual)
        if written is ...:
            written = sealed(command | 0x80, sequence, usual)
        if callable(written):
            written(self)
        elif written is not None:
            self.send(written)

    def send(self, data):
        os.write(self.master, data)

    def obey(self, command, payload):
        """The payload of the usual answer."""
        ok = bytes([Fault.OK])
        if len(payload) > self.numbers["payload"]:
            return bytes([Fault.TOO_LONG])
        if command == Command.IDENTIFY:
            protocol, selftest, *sizes, digest, version = self.numbers.values()
            head = struct.pack("<BBB7I", protocol, selftest, 0, *sizes)
            return ok + head + bytes.fromhex(digest) + version.encode()
        if command == Command.LOAD:
            (at,) = struct.unpack_from("<I", payload)
            self.input[at : at + len(payload) - 4] = payload[4:]
        elif command == Command.RUN:
            self.output = self.run()
            time.sleep(0.001)
            return ok + struct.pack("<iQ", 0, 10 + self.counts[Command.RUN])
        elif command == Command.READ:
            at, count = struct.unpack("<IH", payload)
            if count >= self.numbers["payload"]:
                return bytes([Fault.OUT_OF_RANGE])
            return ok + self.output[at : at + count]
        return ok

    def run(self):
        inputs, outputs = (
            [self.graph.value(name) for name in names]
            for names in (self.graph.fed, self.graph.answers)
        )
        feeds = {}
        for value, at in zip(inputs, Places.of([v.nbytes for v in inputs]).offsets, strict=True):
            array = np.frombuffer(bytes(self.input[at : at + value.nbytes]), value.dtype.numpy)
            feeds[value.name] = array.reshape(value.shape)
        answers, packed = self.model.run_raw(feeds), b""
        for value, at in zip(outputs, Places.of([v.nbytes for v in outputs]).offsets, strict=True):
            packed = packed.ljust(at, b"\0") + answers[value.name].tobytes()
        return packed
