"""An answer is believed when our key has signed it now, to the question that was asked, however
that is checked.
"""

from __future__ import annotations

import time
from contextlib import suppress
from unittest.mock import patch

import dns.message
import dns.rcode
import dns.tsig
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex_dns.wire import signing
from flex_dns.wire.explain_dns_errors import MEANINGS
from flex_dns.wire.key import make_key
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.signing import rcode_of, sign, verify_answer

ZONE = "hosting.example."
KEY = make_key("flex-eu1")
SIGNER = KEY.signer()
SERVER = Server("127.0.0.1", 53, KEY)
QUERY = dns.message.make_query(ZONE, "SOA", flags=0, id=7)
_, MAC = sign(QUERY.to_wire(), SIGNER, int(time.time()))
RCODES = st.sampled_from(
    [dns.rcode.NOERROR, dns.rcode.NXRRSET, dns.rcode.REFUSED, dns.rcode.SERVFAIL]
)


def answered(rcode: dns.rcode.Rcode, *, question: bool = True, mac: bytes = MAC) -> bytes:
    """As a server says it that signs by dnspython's hands."""
    answer = dns.message.make_response(QUERY)
    answer.set_rcode(rcode)
    if not question:
        answer.question = []
    answer.use_tsig({SIGNER.name: SIGNER}, SIGNER.name, algorithm=SIGNER.algorithm)
    answer.request_mac = mac
    return answer.to_wire()


def told(wire: bytes, *, by_hand: bool) -> dns.rcode.Rcode | None:
    """None where the answer is not believed."""
    with suppress(*MEANINGS):
        if by_hand:
            return rcode_of(wire, MAC, SIGNER, SERVER, int(time.time()), "update")
        return verify_answer(wire, MAC, SIGNER, SERVER, int(time.time()), "update").rcode()
    return None


@given(rcode=RCODES, question=st.booleans())
def test_an_answer_is_checked_by_hand(rcode: dns.rcode.Rcode, *, question: bool) -> None:
    wire = answered(rcode, question=question)
    with patch.object(signing, "verify_answer", side_effect=AssertionError("left to dnspython")):
        assert told(wire, by_hand=True) == rcode


@given(rcode=RCODES, question=st.booleans(), data=st.data())
def test_what_was_tampered_with_is_not_believed(
    rcode: dns.rcode.Rcode, data: st.DataObject, *, question: bool
) -> None:
    wire = bytearray(answered(rcode, question=question))
    wire[data.draw(st.integers(0, len(wire) - 1))] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, len(wire) - 12))
    for one in (bytes(wire), bytes(wire[: len(wire) - cut]), bytes(wire) + b"\0" * cut):
        assert told(one, by_hand=True) == told(one, by_hand=False)


@pytest.mark.parametrize("place", [3, 12, -1])
def test_neither_head_nor_question_nor_end_can_be_changed(place: int) -> None:
    wire = bytearray(answered(dns.rcode.REFUSED))
    wire[place] ^= 1
    assert told(bytes(wire), by_hand=True) is None


def test_an_answer_to_another_question_is_not_believed() -> None:
    assert told(answered(dns.rcode.NOERROR, mac=bytes(len(MAC))), by_hand=True) is None


@pytest.mark.parametrize(
    ("apart", "believed"), [(-301, False), (-299, True), (299, True), (301, False)]
)
def test_an_answer_of_another_time_is_not_believed(apart: int, *, believed: bool) -> None:
    now = time.time()
    with patch("time.time", return_value=now + apart):
        wire = answered(dns.rcode.NOERROR)
    with patch("time.time", return_value=now):
        assert (told(wire, by_hand=True) is not None) == believed
