"""A visitor who keeps one connection and asks for one answer after the other."""

from __future__ import annotations

import socket


class Visitor:
    """One kept connection to a door."""

    def __init__(self, door: tuple[str, int]) -> None:
        self._connection = socket.create_connection(door, 60)
        self._answers = self._connection.makefile("rb")

    def ask(self, host: str) -> str:
        """Who answered; "" where nobody did."""
        self._connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        ok = b" 200 " in self._answers.readline()
        node, length = "", 0
        while (line := self._answers.readline().strip()) != b"":
            key, _, value = line.partition(b": ")
            if key.lower() == b"x-node":
                node = value.decode()
            elif key.lower() == b"content-length":
                length = int(value)
        self._answers.read(length)
        return node if ok else ""

    def close(self) -> None:
        self._answers.close()
        self._connection.close()
