#!/usr/bin/env bash
# Install what the system lacks: the cross-compiler, the emulator, and Python's venv module.
# As root or through sudo; otherwise print the one command to run and stop.
set -euo pipefail
python=${PYTHON:-python3}

missing=()
has_newlib() {
    echo '#include <string.h>' | arm-none-eabi-gcc -E -x c - >/dev/null 2>&1
}
command -v arm-none-eabi-gcc >/dev/null || missing+=(gcc-arm-none-eabi)
has_newlib || missing+=(libnewlib-arm-none-eabi)
command -v qemu-system-arm >/dev/null || missing+=(qemu-system-arm)
# Debian and Ubuntu keep the venv module's other half in a package of its own.
"$python" -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "setup: install these with your system's package manager, then run make again:" >&2
    echo "  ${missing[*]}" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root=sudo
else
    echo "setup: these packages are missing: ${missing[*]}" >&2
    echo "Run this as root, then run make again:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
fi
echo "setup: system packages ${missing[*]}"
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
