#!/usr/bin/env bash
# Install Debian packages as root or through sudo; otherwise print the one command to run and stop.
set -euo pipefail
install="apt-get install -y --no-install-recommends $*"

if ! command -v apt-get >/dev/null; then
    echo "setup: install these with your system's package manager, then run make again:" >&2
    echo "  $*" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root=sudo
else
    echo "setup: these packages are missing: $*" >&2
    echo "Run this as root, then run make again:" >&2
    echo "  apt-get update && $install" >&2
    exit 1
fi
echo "setup: system packages $*"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
$as_root $install -qq >/dev/null
