"""One controller in the running kernel: loaded, used by a transfer that loses segments, unloaded.

A program of its own, for network and mount namespaces of its own: `kernel_transfer.py NAME`. Prints
what it saw as one JSON object.
"""

from __future__ import annotations

import ctypes
import json
import socket
import struct
import subprocess
import sys
import threading

import bentpipe

SO_ATTACH_FILTER = 26
LOST = 0.01
CHUNK = bytes(1 << 16)
FIRST, SECOND = 240, 60
"""Chunks before and after the controller is unloaded: 16 and 4 MB."""
RANDOM_NUMBER = 0xFFFFF000 + 56
"""Where classic BPF finds a random number (linux/filter.h: SKF_AD_OFF, SKF_AD_RANDOM)."""


def lose(receiver: socket.socket) -> None:
    """Let a socket lose each segment that arrives with a probability of `LOST`."""
    program = b"".join(
        struct.pack("=HBBI", *instruction)
        for instruction in (
            (0x20, 0, 0, RANDOM_NUMBER),  # load it,
            (0x35, 0, 1, int(LOST * 2**32)),  # and if it is no less than this
            (0x06, 0, 0, 0xFFFFFFFF),  # take the segment,
            (0x06, 0, 0, 0),  # or drop it
        )
    )
    kept = ctypes.create_string_buffer(program)
    filtered = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(kept))
    receiver.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filtered)


def drain(listener: socket.socket, received: list[int]) -> None:
    """Take one connection and all that comes on it."""
    connection, _ = listener.accept()
    with connection:
        lose(connection)
        total = 0
        while data := connection.recv(1 << 18):
            total += len(data)
        received.append(total)


def info(connection: socket.socket) -> tuple[int, int]:
    """Segments retransmitted over the connection, and cwnd (struct tcp_info)."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return struct.unpack_from("=I", raw, 100)[0], struct.unpack_from("=I", raw, 80)[0]


def use_of(name: str) -> dict[str, object]:
    """What `status` says of a controller; nothing when it is not there."""
    return next((use.to_dict() for use in bentpipe.kernel_status() if use.name == name), {})


def main() -> None:
    """Do all that the head of this file says."""
    name = sys.argv[1]
    # Packets of one segment, so that a loss is one.
    loopback = ["ip", "link", "set", "lo", "mtu", "1500", "gso_max_segs", "1", "up"]
    subprocess.run(loopback, check=True)
    subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], check=True)
    kernel_name = next(row.kernel_name for row in bentpipe.kernel_controllers() if row.name == name)
    bentpipe.kernel_load(name)
    received: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drain, args=(listener, received))
        thread.start()
        with socket.socket() as sender:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, kernel_name.encode())
            sender.connect(listener.getsockname())
            resent, cwnd = 0, 0
            for _ in range(FIRST):
                sender.sendall(CHUNK)
                resent, now = info(sender)
                # After losses, where a controller has been at work. An RTO sets cwnd to 1.
                cwnd = max(cwnd, now) if resent else 0
            loaded = use_of(name)
            kept = bentpipe.kernel_unload(name)
            unloaded = use_of(name)
            for _ in range(SECOND):
                sender.sendall(CHUNK)
            chosen = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        thread.join()
    print(
        json.dumps(
            {
                "chosen": chosen.rstrip(b"\0").decode(),
                "received": received[0],
                "resent": resent,
                "cwnd": cwnd,
                "loaded": loaded,
                "kept": kept,
                "unloaded": unloaded,
                "left": bentpipe.kernel_status(),
            }
        )
    )


if __name__ == "__main__":
    main()
