#!/bin/sh
# Sets the rules of a file, runs the daemon, and removes the rules at the end. Signals reach the daemon.
# With KEEP_RULES=1 they stay, as `fail = "closed"` needs.
set -eu
file=$1
proxy=/usr/local/bin/bentpipe-proxy
"$proxy" rules "$file" --apply --remove 2>/dev/null || true # what a killed container left
"$proxy" rules "$file" --apply
"$proxy" run "$file" &
daemon=$!
trap 'kill -TERM $daemon' TERM INT
trap 'kill -HUP $daemon' HUP
status=0
# `wait` returns when a signal comes, too.
while kill -0 $daemon 2>/dev/null; do
    status=0
    wait $daemon || status=$?
done
[ -n "${KEEP_RULES:-}" ] || "$proxy" rules "$file" --apply --remove
exit $status
