"""HTTP requests that follow no redirect.

Takes a request. Returns the answer of the server that it was sent to. Raises HTTPError for a
redirect, as for every other refusal. Does not go to another server.

The standard library follows redirects by itself. It turns a POST into an empty GET, and it sends
the token to the other server, too.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from http.client import HTTPResponse
from urllib.parse import urlsplit

# All that the standard library has for this, but for its handler of redirects.
_HANDLERS = (
    urllib.request.ProxyHandler,
    urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler,
    urllib.request.HTTPDefaultErrorHandler,
    urllib.request.HTTPErrorProcessor,
    urllib.request.UnknownHandler,
)


def answer(request: urllib.request.Request, timeout: float) -> HTTPResponse:
    """Raises what `urlopen` raises, and HTTPError for every answer that is not 2xx."""
    opener = urllib.request.OpenerDirector()
    for handler in _HANDLERS:
        opener.add_handler(handler())
    response: HTTPResponse = opener.open(request, timeout=timeout)
    return response


def elsewhere(error: urllib.error.HTTPError) -> str:
    """Where a redirect leads, in words, without the path, which may be a secret. Empty for any
    other refusal.
    """
    if not 300 <= error.code < 400:
        return ""
    try:
        parts = urlsplit(error.headers.get("Location", ""))
        to = (
            f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/"
            if parts.netloc
            else "another path there"
        )
    except ValueError:
        to = "nowhere"
    to = "".join(letter if letter.isprintable() else "?" for letter in to[:300])
    return f"it points to {to}, and FLEX follows no redirect: give the address that is meant"
