"""Every file of code is short enough to be read in one go."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("tinyrt", "tests", "tools", "benchmarks", "firmware_examples")
SUFFIXES = {".py", ".c", ".h", ".cpp", ".cu", ".cuh", ".j2", ".S", ".ld", ".js", ".css"}
MAX_LINES = 400


def test_no_file_of_code_has_over_400_lines():
    lines = {
        str(path.relative_to(ROOT)): len(path.read_bytes().splitlines())
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in SUFFIXES and path.is_file()
    }
    assert len(lines) > 900
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}
