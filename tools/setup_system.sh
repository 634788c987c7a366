#!/usr/bin/env bash
# Install what the system lacks: the Arm compiler, the emulator, and Python's venv module; with
# --tests also RISC-V's, the C tools that the tests check the kernels with, a browser for the pages, and
# what speaks words to an example.
# As root or through sudo; otherwise print the one command to run and stop.
set -euo pipefail
python=${PYTHON:-python3}
tests=
[ "${1:-}" != --tests ] || tests=yes

missing=()
has_libc() {
    echo '#include <string.h>' | "$@" -E -x c - >/dev/null 2>&1
}
command -v arm-none-eabi-gcc >/dev/null || missing+=(gcc-arm-none-eabi)
has_libc arm-none-eabi-gcc || missing+=(libnewlib-arm-none-eabi)
command -v qemu-system-arm >/dev/null || missing+=(qemu-system-arm)
# Debian and Ubuntu keep the venv module's other half in a package of its own.
"$python" -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
if [ "$tests" ]; then
    riscv=riscv64-unknown-elf
    command -v $riscv-gcc >/dev/null || missing+=(gcc-$riscv)
    has_libc $riscv-gcc --specs=picolibc.specs || missing+=(picolibc-$riscv)
    command -v qemu-system-riscv32 >/dev/null || missing+=(qemu-system-misc)
    for tool in gcc g++ clang cmake cppcheck openssl espeak-ng; do
        command -v $tool >/dev/null || missing+=($tool)
    done
    # Ubuntu has Chromium as a snap only: there the tests of pages in a browser are skipped.
    if ! command -v chromium >/dev/null && grep -qx ID=debian /etc/os-release; then
        missing+=(chromium)
    fi
fi
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "setup: install these with your system's package manager, then run make again:" >&2
    echo "  ${missing[*]}" >&2
    [ "$tests" ] && exit 0 || exit 1
fi
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root=sudo
else
    echo "setup: these packages are missing: ${missing[*]}" >&2
    echo "Run this as root, then run make again:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    # Tests that lack a tool say so themselves.
    [ "$tests" ] && exit 0 || exit 1
fi
echo "setup: system packages ${missing[*]}"
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
