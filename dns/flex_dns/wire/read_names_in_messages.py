"""Names as they stand in a DNS message, and where they end.

Takes the bytes of a message and a place in it. Returns the name there and where it ends. Does not
loop for ever: a pointer must lead to a place before the name, or before the part of it, in which it
stands.
"""

from __future__ import annotations

import re

# Bytes of a message's header (RFC 1035).
HEADER = 12
# A byte from here on begins a pointer, not a label (RFC 1035, section 4.1.4).
POINTER = 0xC0
# No name has so many labels. A name that has more before a pointer is not followed any further.
MOST_LABELS = 128
# Characters of a name as text, with a dot behind each label: 255 bytes in a message (RFC 1035).
LONGEST = 254
ESCAPED = re.compile(r"\\.")


def end_of_name(wire: bytes, at: int) -> int:
    """Where the name that begins there ends."""
    while length := wire[at]:
        if length >= POINTER:
            return at + 2
        at += 1 + length
    return at + 1


def end_of_questions(wire: bytes, count: int) -> int:
    """Where so many questions of a message end. Raises IndexError where it ends before."""
    end = HEADER
    for _ in range(count):
        end = end_of_name(wire, end) + 4
    return end


def name_at(wire: bytes, at: int, known: dict[int, str]) -> tuple[str, int]:
    """The name that begins there, in lower case, and where it ends.

    `known` are those of the same message that were read before, by where they begin.
    """
    length = wire[at]
    if 0 < length < POINTER and wire[at + 1 + length] >= POINTER:
        # One label below a name that was there before: nearly every record of a zone.
        place = at + 1 + length
        target = (wire[place] & 0x3F) << 8 | wire[place + 1]
        rest = known.get(target, "")
        if rest and wire[target] < POINTER:
            known[at] = text = _fitting(_label(wire[at + 1 : place]) + rest)
            return text, place + 2
    return _follow_pointer(wire, at, known)


def _follow_pointer(wire: bytes, at: int, known: dict[int, str]) -> tuple[str, int]:
    labels: list[str] = []
    parts, end, rest = [(at, 0)], 0, ""
    while length := wire[at]:
        if length < POINTER:
            labels.append(_label(wire[at + 1 : at + 1 + length]))
            at += 1 + length
            continue
        end, target = end or at + 2, _target(wire, at)
        if target >= parts[-1][0] or len(labels) > MOST_LABELS:
            raise ValueError("a name that never ends")
        if (known_name := known.get(target)) is not None:
            rest = known_name
            break
        parts.append((target, len(labels)))
        at = target
    whole = _fitting("".join(labels) + rest)
    for start, first in parts:
        known[start] = "".join(labels[first:]) + rest if first else whole
    return whole or ".", end or at + 1


def _target(wire: bytes, at: int) -> int:
    """Where a pointer leads. It may lead to another one, but not to one that leads to another
    again: names that are one step behind the other, message after message, would keep us busy for
    long.
    """
    target = (wire[at] & 0x3F) << 8 | wire[at + 1]
    if wire[target] >= POINTER:
        second = (wire[target] & 0x3F) << 8 | wire[target + 1]
        if wire[second] >= POINTER:
            raise ValueError("a name that never ends")
    return target


def _fitting(text: str) -> str:
    if len(text) > LONGEST and len(ESCAPED.sub("x", text)) > LONGEST:
        raise ValueError("a name that is too long")
    return text


def _label(raw: bytes) -> str:
    text = raw.decode("latin-1").lower()
    if "." in text or "\\" in text:
        text = text.replace("\\", "\\\\").replace(".", "\\.")
    return text + "."
