#!/bin/sh
# Runs a script with the first Python that is new enough. Only the standard library is there.
set -eu
for python in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        exec "$python" "$@"
    fi
done
echo "bentpipe: Python 3.11 or newer is needed and none was found; name one by PYTHON=..." >&2
exit 1
