"""Whether the certificate that a web server shows for a name is one that visitors take.

Takes a way to connect, the name, and who may have signed. Returns the connection with TLS, and for
how long the certificate is valid yet. Raises Untrusted with what is wrong, in words.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from flex.site_names_in_words import first_few

_DAY = 86_400.0
# The numbers that OpenSSL gives to what is wrong with a certificate (x509_vfy.h), in words.
_WRONG = {
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
    18: "its certificate is signed by nobody but itself",
    19: "its certificate's chain ends at an authority that nobody trusts here",
    20: "its certificate's chain is broken: who signed it is not there or not trusted",
    21: "its certificate's chain is broken: who signed it is not there or not trusted",
}
_SELF_SIGNED = 18
# Names of a certificate that are shown. A guess.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Trust:
    """Who may have signed: those of `ca_file`, else those that the system trusts; with
    `self_signed` also the certificate itself. It must be valid for so many `days` more. Who is
    `blind` takes any: then only what is behind it counts.
    """

    now: Callable[[], datetime]
    ca_file: Path | None = None
    self_signed: bool = False
    days: int = 0
    blind: bool = False


class Untrusted(Exception):
    """What is wrong with a certificate; the sentence is about the web server."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def begin_tls(
    connect: Callable[[], socket.socket], name: str, trust: Trust, left: Callable[[], float]
) -> tuple[ssl.SSLSocket, float]:
    """Raises OSError where the web server does not speak TLS to its end, and Untrusted."""
    if trust.blind:
        return _shake_hands(connect(), name, _blind(), left), 0.0
    try:
        tls_socket = _shake_hands(connect(), name, _context(trust), left)
    except ssl.SSLCertVerificationError as error:
        if not (trust.self_signed and error.verify_code == _SELF_SIGNED):
            raise Untrusted(_why(error)) from error
        tls_socket = _as_signed_by_itself(connect, name, left)
    try:
        return tls_socket, _days_left(tls_socket, name, trust)
    except BaseException:
        tls_socket.close()
        raise


def _as_signed_by_itself(
    connect: Callable[[], socket.socket], name: str, left: Callable[[], float]
) -> ssl.SSLSocket:
    """It is asked for once without looking; then it is looked at, as if it were trusted."""
    with closing(_shake_hands(connect(), name, _blind(), left)) as first:
        shown = first.getpeercert(binary_form=True)
    context = ssl.create_default_context(cadata=shown or b"")
    context.check_hostname = False
    try:
        return _shake_hands(connect(), name, context, left)
    except ssl.SSLCertVerificationError as error:
        raise Untrusted(_why(error)) from error


def _blind() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _context(trust: Trust) -> ssl.SSLContext:
    """Raises Untrusted where who is trusted cannot be read."""
    try:
        return _authorities(trust.ca_file, _last_changes(trust.ca_file))
    except OSError as error:
        raise Untrusted(
            f"{trust.ca_file}, which is move.ready.ca_file, cannot be used: "
            f"{error.strerror or error}"
        ) from error


# To read all authorities of a system takes about 20 ms of CPU, as long as all else of some ten
# questions.
@lru_cache(maxsize=4)
def _authorities(ca_file: Path | None, _: tuple[int, ...]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca_file)
    # The names are compared here: what is said then has the names in it.
    context.check_hostname = False
    return context


def _last_changes(ca_file: Path | None) -> tuple[int, ...]:
    """Who goes on for weeks hears of authorities that came or went."""
    system = ssl.get_default_verify_paths()
    places = [ca_file] if ca_file else [system.cafile, system.capath]
    return tuple(Path(place).stat().st_mtime_ns for place in places if place)


def _shake_hands(
    connected: socket.socket, name: str, context: ssl.SSLContext, left: Callable[[], float]
) -> ssl.SSLSocket:
    """A web server that says its part drop by drop has as long as it is given for all of it."""
    try:
        connected.settimeout(left())
        tls_socket = context.wrap_socket(
            connected, server_hostname=name, do_handshake_on_connect=False
        )
    except BaseException:
        connected.close()
        raise
    try:
        _finish_handshake(tls_socket, left)
    except BaseException:
        tls_socket.close()
        raise
    return tls_socket


def _finish_handshake(tls_socket: ssl.SSLSocket, left: Callable[[], float]) -> None:
    """A time-out is for each piece of the handshake, and there may be many."""
    tls_socket.setblocking(False)
    while True:
        try:
            tls_socket.do_handshake()
            break
        except ssl.SSLWantReadError:
            ready, _, _ = select.select([tls_socket], [], [], left())
        except ssl.SSLWantWriteError:
            _, ready, _ = select.select([], [tls_socket], [], left())
        if not ready:
            raise TimeoutError
    tls_socket.settimeout(left())


def _why(error: ssl.SSLCertVerificationError) -> str:
    return _WRONG.get(error.verify_code, f"its certificate is not trusted: {error.verify_message}")


def _days_left(tls_socket: ssl.SSLSocket, name: str, trust: Trust) -> float:
    # Any: what a certificate says is a loose dictionary.
    shown: Mapping[str, Any] = tls_socket.getpeercert() or {}
    names = [str(value) for kind, value in shown.get("subjectAltName", ()) if kind == "DNS"]
    if not any(_is_for(dns_name, name) for dns_name in names):
        listed = first_few(names, _NAMED) or "no host name"
        raise Untrusted(f"its certificate is not for {name}: it is for {listed}")
    ends = ssl.cert_time_to_seconds(str(shown["notAfter"]))
    left = (ends - trust.now().timestamp()) / _DAY
    if left < trust.days:
        raise Untrusted(
            f"its certificate ends in {max(left, 0):.1f} days, and "
            f"move.ready.certificate_days is {trust.days}"
        )
    return left


def _is_for(written: str, name: str) -> bool:
    """A star stands for one label, the first one (RFC 9525, section 6.3)."""
    written, name = written.lower().rstrip("."), name.lower().rstrip(".")
    if written.startswith("*."):
        return name.partition(".")[2] == written[2:] and not name.startswith(".")
    return written == name
