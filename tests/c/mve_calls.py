"""A program that calls vector intrinsics with random arguments, on a core and on this machine.

Each function's answers, and what it wrote, become one number. The program draws its arguments
itself, the same on both: any numbers, many of them at the ends of their ranges.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.c.host import MVE, host_compiler

VECTORS = {
    "s8": ("int8x16_t", "int8_t"),
    "s16": ("int16x8_t", "int16_t"),
    "s32": ("int32x4_t", "int32_t"),
    "u8": ("uint8x16_t", "uint8_t"),
    "u16": ("uint16x8_t", "uint16_t"),
    "u32": ("uint32x4_t", "uint32_t"),
    "f32": ("float32x4_t", "float"),
}
"""Suffix -> vector and lane."""

BEGIN = """
#include <arm_mve.h>
#include <stdint.h>
#include <string.h>

static uint32_t random_state, digest;
static uint8_t from[128] __attribute__((aligned(16))), to[128] __attribute__((aligned(16)));

static uint32_t next(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state * 2654435769U;
}

static void tell(const void *data, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; ++i) {
        digest = (digest ^ ((const uint8_t *)data)[i]) * 16777619U;
    }
}

/* Lanes of so many bytes: any, ends of both ranges, or small. */
static void draw(void *data, uint32_t bytes, uint32_t lane) {
    for (uint32_t i = 0; i < bytes; i += lane) {
        const uint32_t kind = next() >> 29, top = 1U << (8 * lane - 1);
        const uint32_t ends[4] = {top, top - 1, 2 * top - 1, 0};
        uint32_t value = kind < 3 ? next() : kind < 6 ? ends[next() >> 30] : next() >> 27;
        value = kind == 7 ? 0U - value : value;
        memcpy((uint8_t *)data + i, &value, lane);
    }
}

static void draw_floats(float *data, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t shift = next() >> 28;
        data[i] = (float)((int32_t)next() >> shift) * 0x1p-9F;
    }
}

static void keep(void *data, uint32_t bytes, uint32_t lane, uint32_t mask) {
    for (uint32_t i = 0; i < bytes; i += lane) {
        uint32_t value = 0;
        memcpy(&value, (uint8_t *)data + i, lane);
        value &= mask;
        memcpy((uint8_t *)data + i, &value, lane);
    }
}

/* Any lanes. */
static mve_pred16_t lanes_of(uint32_t lane) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < 16; i += lane) {
        bits |= (next() >> 31) * ((1U << lane) - 1) << i;
    }
    return (mve_pred16_t)bits;
}

static void begin(uint32_t seed) {
    random_state = seed;
    digest = 2166136261U;
}
"""


@dataclass(frozen=True)
class Function:
    """An intrinsic: its answer's type, and the type and the name of each parameter."""

    name: str
    result: str
    parameters: tuple[tuple[str, str], ...]

    @property
    def suffix(self) -> str:
        """That of its lanes."""
        kinds = [self.result, *(kind for kind, _ in self.parameters)]
        of_types = {vector: s for s, (vector, _) in VECTORS.items()}
        found = [of_types[kind] for kind in kinds if kind in of_types]
        last = self.name.rsplit("_", 1)[-1]
        return last if last in VECTORS else found[0] if found else "u8"

    def immediates(self) -> tuple[int, ...]:
        """Constants that are tried: the ends of their range, and some in between."""
        bits = int(self.suffix[1:])
        if self.name.startswith("vidup"):
            return 1, 2, 4, 8
        if self.name.startswith("vbic"):
            return 1, 0x80, 0xFF, 0xA500
        if "_lane_" in self.name:
            return 0, 128 // bits - 1
        if self.name.startswith("vshlc"):
            return 1, 5, 31, 32
        if self.name.startswith(("vshlq", "vqshlq")):
            return 0, 1, bits - 2, bits - 1
        if self.name.startswith("vshll"):
            return 1, 3, bits - 1, bits
        most = bits // 2 if re.match(r"v\w*sh\w*n[bt]q", self.name) else bits
        return 1, 2, most - 1, most


def functions() -> list[Function]:
    """Those of the header, in its order."""
    command = [host_compiler(), "-E", "-P", "-x", "c", *MVE, "-"]
    done = subprocess.run(
        command, input="#include <arm_mve.h>", capture_output=True, text=True, check=True
    )
    found = re.findall(r"static inline (\w+) (v\w+) ?\(([^)]*)\)\s*\{", done.stdout)
    return [Function(name, _type(result), _parameters(text)) for result, name, text in found]


def _parameters(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (re.fullmatch(r"\s*(.*?)(\w+)\s*", part) for part in text.split(","))
    return tuple((_type(pair[1]), pair[2]) for pair in pairs if pair is not None)


def _type(text: str) -> str:
    """Of the header's names for types, those that a core's header has, too."""
    text = " ".join(text.replace("*", " * ").split())
    for suffix, (vector, lane) in VECTORS.items():
        text = re.sub(rf"\bmve_lane_{suffix}\b", lane, text)
        text = re.sub(rf"\bmve_{suffix}\b", vector, text)
    return text


def source(called: list[Function], times: int, begin: str, end: str = "") -> str:
    """The program; ``begin`` is the beginning of a function that has numbers ``out``."""
    tests = [_test(function, i, times) for i, function in enumerate(called)]
    calls = "".join(f"    test_{i}(out + {i});\n" for i in range(len(called)))
    return BEGIN + "".join(tests) + begin + calls + f"    {end}\n    return 0;\n}}\n"


def _test(function: Function, i: int, times: int) -> str:
    drawn, arguments, told = [], [], []
    immediate, carries = None, function.name.startswith("vshlc")
    for kind, name in function.parameters:
        drawn.append(_drawn(function, kind, name))
        if kind == "const int":
            immediate = name
        if carries and kind == "uint32_t *":
            drawn[-1] = f"uint32_t {name}; draw(&{name}, 4, 4);"
            told.append(f"tell(&{name}, 4);")
        arguments.append(f"&{name}" if carries and kind == "uint32_t *" else name)
    values = function.immediates() if immediate else (0,)
    cases = []
    for value in values:
        given = ", ".join(str(value) if a == immediate else a for a in arguments)
        call = f"{function.name}({given})"
        if function.result == "void":
            cases.append(f"{call}; tell(to, sizeof to);")
        else:
            cases.append(f"{{ const {function.result} y = {call}; tell(&y, sizeof y); }}")
    body = "\n        ".join([*drawn, *cases, *told])
    return f"""
static void test_{i}(uint32_t *y_out) {{ /* {function.name} */
    begin({i + 1}U * 77777U);
    for (int turn = 0; turn < {times}; ++turn) {{
        draw(from, sizeof from, 1);
        draw(to, sizeof to, 1);
        {body}
    }}
    *y_out = digest;
}}
"""


def _drawn(function: Function, kind: str, name: str) -> str:
    """Draws an argument."""
    if kind == "const int":
        return ""
    if kind == "mve_pred16_t":
        return f"const mve_pred16_t {name} = lanes_of({int(function.suffix[1:]) // 8});"
    if kind.endswith("*"):
        element = kind.replace("const", "").replace("*", "").strip()
        memory = "from" if "const" in kind else "to"
        floats = f"draw_floats((float *)(void *){memory}, 32); " if element == "float" else ""
        return f"{floats}{kind} const {name} = ({kind})(void *){memory} + (next() & 1);"
    if kind == "float":
        return f"float {name}; draw_floats(&{name}, 1);"
    if kind == "float32x4_t":
        return f"float32x4_t {name}; draw_floats((float *)&{name}, 4);"
    if kind == "int32x4x4_t":
        return f"int32x4x4_t {name}; draw(&{name}, 64, 4);"
    lane = next((s for s, types in VECTORS.items() if kind in types), None)
    nbytes = int(lane[1:]) // 8 if lane else 8
    whole = f"{kind} {name}; draw(&{name}, sizeof {name}, {min(nbytes, 4)});"
    if name != "offset":
        return whole
    element = {"b": 1, "h": 2, "w": 4}[function.name[4]]
    mask = 15 if "shifted" in function.name else 63 & -element
    return f"{whole} keep(&{name}, 16, {nbytes}, {mask});"


def digests_here(called: list[Function], times: int, folder: Path) -> list[int]:
    """Each function's number on this machine, under sanitizers."""
    main = f"#include <stdio.h>\nint main(void) {{\n    static uint32_t out[{len(called)}];\n"
    written = source(called, times, main, "fwrite(out, sizeof out, 1, stdout);")
    (folder / "calls.c").write_text(written)
    flags = ["-std=gnu99", "-O0", *MVE, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = [host_compiler(), *flags, folder / "calls.c", "-lm", "-o", folder / "calls"]
    subprocess.run(command, check=True)
    done = subprocess.run([folder / "calls"], capture_output=True, check=True)
    return [int.from_bytes(done.stdout[i : i + 4], "little") for i in range(0, len(done.stdout), 4)]
