#!/bin/sh
# Builds the wheel for Windows on x86-64, on Linux with MinGW: `wheel-windows.sh FOLDER`. The wheel goes to
# FOLDER. It has all but what needs a Linux kernel: docs/packages.md.
set -eu

folder=$1
target=x86_64-pc-windows-gnu
cd "$(dirname "$0")/.."
mkdir -p "$folder"
rustup --quiet target add "$target"
PATH="$PWD/.venv/bin:$PATH" PYO3_PYTHON="$PWD/.venv/bin/python" .venv/bin/maturin build --quiet --target "$target" --out "$folder"
