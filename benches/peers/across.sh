#!/bin/sh
# Loads a link towards this host and times packets across it: across.sh HOST MBIT FOLDER.
# 16 TCP connections for what the link carries, then UDP at half of MBIT with a small datagram each
# 10 ms beside it: queues stay short then, and what a round trip takes longer than the link is the
# emulator's doing.
set -eu
host=$1 rate=$2 out=$3
until ping -c 1 -w 2 "$host" >/dev/null 2>&1; do sleep 0.2; done
iperf3 -c "$host" -p 5201 -R -P 16 -t 15 -O 5 -J >"$out/tcp.json"
sleep 3
iperf3 -c "$host" -p 5202 -R -u -b "$((rate / 2))M" -l 1400 -t 12 -J >"$out/udp.json" &
sleep 3
python3 "$(dirname "$0")/echo.py" ask "$host" 5203 600 0.01 >"$out/echo.txt"
wait
