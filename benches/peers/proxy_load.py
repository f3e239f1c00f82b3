"""Clients and a server for benches/proxy.py.

    proxy_load.py serve PORT [PORT...]          until it is killed
    proxy_load.py download HOST PORT SECONDS    one download; prints its bytes and seconds
    proxy_load.py connect HOST PORTS SECONDS    short connections; prints their number and seconds
    proxy_load.py ping HOST PORT COUNT SECONDS  round trips of one byte; prints seconds, one a line
    proxy_load.py hold HOST PORTS COUNT         opens connections, prints a line, waits for one

The first byte of a connection says what the server does: `d` sends without end, `e` answers each
byte.
"""

from __future__ import annotations

import contextlib
import resource
import selectors
import socket
import sys
import threading
import time

CHUNK = bytes(1 << 20)
PATIENCE_S = 20
CLIENTS = 8


def send_for_ever(connection: socket.socket) -> None:
    """Until the client has gone."""
    connection.setblocking(True)
    with contextlib.suppress(OSError), connection:
        while True:
            connection.sendall(CHUNK)


def serve(ports: list[int]) -> None:
    """All connections in one loop, but downloads, each of which has a thread."""
    selector = selectors.DefaultSelector()
    for port in ports:
        listener = socket.create_server(("", port), backlog=4096)
        listener.setblocking(False)
        selector.register(listener, selectors.EVENT_READ, (listener, True))
    while True:
        for key, _ in selector.select():
            ready, listens = key.data
            if listens:
                with contextlib.suppress(BlockingIOError):
                    while True:
                        connection, _ = ready.accept()
                        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                        connection.setblocking(False)
                        selector.register(connection, selectors.EVENT_READ, (connection, False))
                continue
            try:
                got = ready.recv(1)
                if got == b"d":
                    selector.unregister(ready)
                    threading.Thread(target=send_for_ever, args=(ready,), daemon=True).start()
                    continue
                if got:
                    ready.send(got)
            except OSError:
                got = b""
            if not got:
                selector.unregister(ready)
                ready.close()


def connected(host: str, port: int) -> socket.socket:
    """A connection without Nagle's algorithm."""
    connection = socket.create_connection((host, port), PATIENCE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def download(host: str, port: int, seconds: float) -> None:
    """Reads for a time."""
    buffer = bytearray(1 << 20)
    total = 0
    with connected(host, port) as connection:
        connection.sendall(b"d")
        started = time.perf_counter()
        while (taken := time.perf_counter() - started) < seconds:
            total += connection.recv_into(buffer)
    print(total, taken)


def connect(host: str, ports: list[int], seconds: float) -> None:
    """Connections of one byte there and back, a few at a time."""
    done = [0] * CLIENTS
    started = time.perf_counter()

    def repeat(client: int) -> None:
        while time.perf_counter() - started < seconds:
            with connected(host, ports[done[client] % len(ports)]) as connection:
                connection.sendall(b"e")
                if connection.recv(1) != b"e":
                    sys.exit("a connection ended without an answer")
            done[client] += 1

    threads = [threading.Thread(target=repeat, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(done), time.perf_counter() - started)


def ping(host: str, port: int, count: int, seconds: float) -> None:
    """Round trips over one connection, fewer when the time is over."""
    with connected(host, port) as connection:
        times: list[float] = []
        end = time.perf_counter() + seconds
        while len(times) < count and (started := time.perf_counter()) < end:
            connection.sendall(b"e")
            connection.recv(1)
            times.append(time.perf_counter() - started)
    print("\n".join(map(str, times)))


def hold(host: str, ports: list[int], count: int) -> None:
    """Connections that have carried one byte each way and stay open."""
    connections = []
    for number in range(count):
        connection = connected(host, ports[number % len(ports)])
        connection.sendall(b"e")
        connections.append(connection)
    for connection in connections:
        if connection.recv(1) != b"e":
            sys.exit("a connection ended without an answer")
    print(len(connections), flush=True)
    sys.stdin.readline()


def main() -> None:
    """Does what the first argument says."""
    command, *rest = sys.argv[1:]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if command == "serve":
        serve([int(port) for port in rest])
    elif command == "download":
        download(rest[0], int(rest[1]), float(rest[2]))
    elif command == "connect":
        connect(rest[0], [int(port) for port in rest[1].split(",")], float(rest[2]))
    elif command == "ping":
        ping(rest[0], int(rest[1]), int(rest[2]), float(rest[3]))
    elif command == "hold":
        hold(rest[0], [int(port) for port in rest[1].split(",")], int(rest[2]))


if __name__ == "__main__":
    main()
