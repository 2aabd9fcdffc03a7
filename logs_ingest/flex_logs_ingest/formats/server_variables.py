"""What Apache's format strings and nginx's variables mean: which of them are fields, and what the
text of each can hold.

The lists are those of mod_log_config and mod_logio, and of nginx's core, log, proxy, TLS and
upstream modules. Does not compile anything: format_directive.py does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from flex_logs_ingest.lines.layout import Field, Fit, Unit

# A text can hold anything, a sentence holds blanks as a rule; addresses are parted by commas in a
# list.
Kind = Literal["text", "sentence", "list"] | Fit


@dataclass(frozen=True, slots=True)
class Token:
    """What a directive writes in one place. `example` is a time as it stands there; `moved` is as
    time_formats.py has it; `unit` is that of a timer.
    """

    field: Field | None = None
    kind: Kind = ""
    example: str = ""
    moved: tuple[int, ...] = ()
    unit: Unit = "s"

    @property
    def fits(self) -> Fit:
        match self.kind:
            case "text" | "sentence" | "list":
                return ""
            case "time":
                return "time" if self.example[:1].isdigit() else ""
            case fits:
                return fits

    @property
    def may_hold_anything(self) -> bool:
        return self.kind in ("text", "sentence", "list")


REQUEST = Token("request", "sentence")
METHOD = Token("method", "method")
URI = Token("uri", "text")
STATUS = Token("status", "status")
BYTES = Token("bytes", "number")
VHOST = Token("vhost", "word")

# The whole time of an answer, with that of a visitor who loads it slowly.
TAKEN: Mapping[Unit, Token] = {unit: Token("taken", "number", unit=unit) for unit in get_args(Unit)}
# Until the first byte of the answer: what the server behind took, or the script in Apache.
_FIRST_BYTE = Token("upstream", "number", unit="us")

_WORD = Token(None, "word")
_NUMBER = Token(None, "number")
_TEXT = Token(None, "text")
_SENTENCE = Token(None, "sentence")
_LIST = Token(None, "list")
_VERSION = Token(None, "version")
_ANY = Token()

LETTERS: Mapping[str, Token] = {
    **dict.fromkeys("vV", VHOST),
    **dict.fromkeys("bBO", BYTES),
    "r": REQUEST,
    "m": METHOD,
    "U": URI,
    "s": STATUS,
    "H": _VERSION,
    **dict.fromkeys("aAhlLRX", _WORD),
    "D": TAKEN["us"],
    "T": TAKEN["s"],
    "^FB": _FIRST_BYTE,
    **dict.fromkeys("IkpPS", _NUMBER),
    **dict.fromkeys("fqu", _TEXT),
}
# With something in braces; headers are in HEADERS.
WITH_ARGUMENT: Mapping[str, Token] = {
    **dict.fromkeys("ah", _WORD),
    "p": _NUMBER,
    "^FB": _FIRST_BYTE,
    **dict.fromkeys(("C", "e", "n", "o", "x", "c", "^ti", "^to"), _TEXT),
}
# Headers of requests, in lower case with underscores.
HEADERS: Mapping[str, Token] = {
    "host": VHOST,
    **dict.fromkeys(("user_agent", "cookie", "accept_language"), _SENTENCE),
    **dict.fromkeys(("x_forwarded_for", "forwarded", "via"), _LIST),
}

# The units of `%{UNIT}T`.
_TAKEN_IN: Mapping[str, Token] = {name: TAKEN[name] for name in ("s", "ms", "us")}

_TIME_LOCAL = Token("time", "time", "25/Dec/2013:21:47:38 +0130")
_TIME_ISO = Token("time", "time", "2013-12-25T21:47:38+01:30")
VARIABLES: Mapping[str, Token] = {
    **dict.fromkeys(("host", "http_host", "server_name", "ssl_server_name"), VHOST),
    **dict.fromkeys(("request_uri", "uri", "document_uri"), URI),
    **dict.fromkeys(("bytes_sent", "body_bytes_sent"), BYTES),
    "time_local": _TIME_LOCAL,
    "time_iso8601": _TIME_ISO,
    "msec": Token("time", "number"),
    "request": REQUEST,
    "request_method": METHOD,
    "status": STATUS,
    "server_protocol": _VERSION,
    **dict.fromkeys(
        ("remote_addr", "server_addr", "realip_remote_addr", "proxy_protocol_addr", "scheme"), _WORD
    ),
    **dict.fromkeys(
        ("hostname", "request_id", "ssl_protocol", "ssl_cipher", "proxy_host", "connection_time"),
        _WORD,
    ),
    **dict.fromkeys(("request_length", "connection", "connection_requests", "pid"), _NUMBER),
    "request_time": TAKEN["s"],
    "upstream_response_time": Token("upstream", "list", unit="s"),
    **dict.fromkeys(
        ("server_port", "remote_port", "realip_remote_port", "gzip_ratio", "proxy_port"), _NUMBER
    ),
    **dict.fromkeys(
        ("remote_user", "args", "query_string", "request_filename", "realpath_root"), _TEXT
    ),
    **dict.fromkeys(("request_body", "content_type", "ssl_client_s_dn", "ssl_client_i_dn"), _TEXT),
    "proxy_add_x_forwarded_for": _LIST,
}
# Of no server's directive: what formats/ calls the timers of others.
_OTHERS: Mapping[str, Token] = {
    "timers_of_haproxy": Token("upstream", unit="haproxy"),
    "timer_of_squid_and_client": Token("taken", unit="squid"),
    "timer_of_aws_target": Token("upstream", unit="s"),
    "timer_of_traefik": Token("taken", unit="ms"),
}
_BEGINNINGS: Mapping[str, Token] = {
    **dict.fromkeys(
        ("arg_", "cookie_", "sent_http_", "sent_trailer_", "upstream_http_", "upstream_cookie_"),
        _TEXT,
    ),
    "upstream_cache_": _WORD,
    "upstream_": _LIST,
}


def token_of_variable(name: str) -> Token:
    """Nothing is known of a variable that the server's own configuration made."""
    if known := VARIABLES.get(name) or _OTHERS.get(name):
        return known
    if name.startswith("http_"):
        return HEADERS.get(name.removeprefix("http_"), _TEXT)
    return next(
        (token for beginning, token in _BEGINNINGS.items() if name.startswith(beginning)), _ANY
    )


def token_of_letter(letter: str, argument: str | None) -> Token:
    if argument is None:
        return LETTERS.get(letter, _ANY)
    if letter == "i":
        return HEADERS.get(argument.lower().replace("-", "_"), _TEXT)
    if letter == "T":
        return _TAKEN_IN.get(argument, _NUMBER)
    return WITH_ARGUMENT.get(letter, _ANY)
