#!/usr/bin/env python3
"""Round trips of small datagrams to the microsecond, which ping does not show beyond 100 ms.

echo.py serve PORT                     answers until it is killed
echo.py ask HOST PORT COUNT INTERVAL   prints each round trip in milliseconds
"""

import socket
import struct
import sys
import threading
import time


def serve(port: int) -> None:
    """Send back whatever comes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("", port))
        while True:
            datagram, sender = bound.recvfrom(64)
            bound.sendto(datagram, sender)


def ask(host: str, port: int, count: int, interval_s: float) -> None:
    """Send `count` datagrams, one each `interval_s`, and time their answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect((host, port))
        asking.settimeout(3)
        listener = threading.Thread(target=listen, args=(asking, count))
        listener.start()
        start = time.monotonic()
        for number in range(count):
            time.sleep(max(start + number * interval_s - time.monotonic(), 0))
            asking.send(struct.pack("d", time.monotonic()))
        listener.join()


def listen(asking: socket.socket, count: int) -> None:
    """Print the round trips of the answers that come."""
    for _ in range(count):
        try:
            answer = asking.recv(64)
        except TimeoutError:
            return
        print((time.monotonic() - struct.unpack("d", answer)[0]) * 1e3)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        ask(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
