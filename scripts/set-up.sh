#!/bin/sh
# Sets up the project: `set-up.sh run|packages|test`. Where nothing has changed it takes no time.
#
#   run       what `make run` needs: some system packages, Python packages, the engine
#   packages  what `make test` needs, without the engine
#   test      what `make test` needs
set -eu

cd "$(dirname "$0")/.."
purpose=${1:-run}
# The packages of uv.lock, and the extension module when its sources have changed (`cache-keys` in
# pyproject.toml).
set -- --quiet --locked
if [ "$purpose" = run ]; then
    scripts/system-packages.sh run
    # These packages are among those of the tests. What is there of them stays.
    set -- "$@" --inexact --no-default-groups --group build
else
    scripts/system-packages.sh test
fi
if [ "$purpose" = packages ]; then
    # The engine of an earlier set-up stays.
    set -- "$@" --inexact --no-install-project
elif [ ! -e python/bentpipe/_native.abi3.so ]; then
    echo "bentpipe: building the engine (minutes the first time)"
    set -- "$@" --reinstall-package bentpipe
fi
start=$(date +%s)
# uv is quiet, also while it builds the engine again.
(sleep 1 && echo "bentpipe: setting up packages and engine ...") &
notice=$!
status=0
scripts/uv.sh sync "$@" || status=$?
kill $notice 2>/dev/null || true
[ "$status" -eq 0 ] || exit "$status"
seconds=$(($(date +%s) - start))
[ "$seconds" -lt 5 ] || echo "bentpipe: packages and engine set up in $seconds s"
