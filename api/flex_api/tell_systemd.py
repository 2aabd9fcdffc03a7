"""Tells systemd that a service is ready, how it is, and that it is still alive.

Takes the socket that systemd names, and within how many seconds it wants to hear again
(`WatchdogSec=` of the unit). Sends single datagrams. Says nothing where nobody asks, and lets the
service go on where nobody listens: systemd itself acts then.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field

from flex_api.settings import file as config

# Of the time that systemd waits, how much passes between two signs of life. systemd's own manual
# says at most half; so one may be late.
_SHARE = 1 / 4


@dataclass(slots=True)
class Systemd:
    """`address` is "" where nobody wants to hear; `within` is 0 where nobody waits."""

    address: str = ""
    within: float = 0.0
    is_ready: bool = False
    _last: float = field(default=float("-inf"), repr=False)

    @property
    def pause(self) -> float | None:
        """Seconds between two signs of life; None where nobody waits for any."""
        return self.within * _SHARE if self.address and self.within else None

    def ready(self, status: str) -> None:
        self.is_ready = True
        self._send("READY=1", f"STATUS={_one_line(status)}")
        self.beat()

    def status(self, line: str) -> None:
        self._send(f"STATUS={_one_line(line)}")

    def beat(self) -> None:
        """A sign of life, where it is time for one."""
        now = time.monotonic()
        if self.pause is not None and now - self._last >= self.pause:
            self._last = now
            self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _send(self, *lines: str) -> None:
        if not self.address:
            return
        # The kernel's own names begin with a null byte, which is written as an at sign.
        to = f"\0{self.address[1:]}" if self.address[0] == "@" else self.address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto("\n".join(lines).encode(), to)


def systemd() -> Systemd:
    """The one that started this process."""
    return Systemd(*config.systemd_wants_to_hear())


def _one_line(text: str) -> str:
    return " ".join(text.split())
