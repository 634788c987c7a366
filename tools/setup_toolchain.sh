#!/usr/bin/env bash
# Install the cross-compiler and the emulator where they are missing.
set -euo pipefail

has_newlib() {
    echo '#include <string.h>' | arm-none-eabi-gcc -E -x c - >/dev/null 2>&1
}
if command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null && has_newlib
then
    exit 0
fi
"$(dirname "$0")/install_packages.sh" gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm
