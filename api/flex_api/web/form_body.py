"""The fields of a form of our own pages, read before anybody checks the caller: the proof that the
form comes from a page of the session is one of its fields. A program sends it as a header.

Takes the messages of a request. Returns its fields, and the same messages once more. Does not check
anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.types import Message, Receive

FORM = "application/x-www-form-urlencoded"
PROOF = "csrf"
# A field more than any page of ours has would only cost time to take apart.
MOST_FIELDS = 500

Fields = Mapping[str, Sequence[str]]


def is_form(request: Request) -> bool:
    return (
        request.method == "POST"
        and request.headers.get("content-type", "").partition(";")[0].strip() == FORM
    )


def fields(body: bytes) -> Fields:
    """None where it is no form: then nothing in it proves anything."""
    try:
        return parse_qs(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS
        )
    except ValueError:
        return {}


def proof(form: Fields) -> str:
    return next(iter(form.get(PROOF, ())), "")


def again(body: bytes, receive: Receive) -> Receive:
    """What was read already, once more."""
    told = False

    async def once_more() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once_more


def local(address: str) -> str:
    """An address of ours, or the first page: nobody else says where a browser goes."""
    ours = (
        address.startswith("/")
        and not address.startswith("//")
        and address.isprintable()
        and "\\" not in address
    )
    return address if ours else "/"
