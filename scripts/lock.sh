#!/bin/sh
# Writes the lock files: exact versions and hashes for every platform and Python from 3.11 on.
set -eu
cd "$(dirname "$0")/.."
compile() { # group, file
    .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --custom-compile-command 'make lock' --group "$1" --upgrade pyproject.toml -o "$2"
}
compile build requirements.lock
compile dev requirements-dev.lock
