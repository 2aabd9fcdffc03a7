"""Where a zone is changed: a name server, and the key it knows us by."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flex_dns.wire.key import Key

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Server:
    """The primary of our zones. `timeout` is how many seconds one answer may take.

    Zones are transferred with the `reader` where there is one: a key that changes nothing. With
    `hints`, the key is to change HTTPS and SVCB records, too.
    """

    host: str
    port: int
    key: Key
    timeout: float = 5.0
    reader: Key | None = None
    hints: bool = False

    @property
    def reading(self) -> Server:
        """The same, for whoever transfers zones from it."""
        return replace(self, key=self.reader, reader=None) if self.reader else self

    @property
    def address(self) -> Address:
        return (self.host, self.port)

    def __str__(self) -> str:
        return address_text(self.address)


def address_text(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
