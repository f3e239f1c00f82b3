#!/bin/sh
# Runs uv on this project: the machine's own, or one from PyPI that is kept in .cache/uv.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
version=0.13.9
# What `cache-keys` of pyproject.toml looks at: with clang, controllers for the kernel are compiled.
BENTPIPE_CLANG=$(command -v "${CLANG:-clang}" || true)
# The interpreter that maturin and cargo build for. With another one PyO3 is compiled anew.
PYO3_PYTHON=$root/.venv/bin/python
export BENTPIPE_CLANG PYO3_PYTHON

# In this folder uv refuses when it is older than `required-version` of pyproject.toml.
if command -v uv >/dev/null 2>&1 && (cd "$root" && uv python find >/dev/null 2>&1); then
    exec uv "$@"
fi
uv=$root/.cache/uv/$version/bin/uv
if [ ! -x "$uv" ]; then
    echo "bentpipe: bringing uv $version from PyPI"
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check \
        --target "$root/.cache/uv/$version" "uv==$version"
fi
exec "$uv" "$@"
