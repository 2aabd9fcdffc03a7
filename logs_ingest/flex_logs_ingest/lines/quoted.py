"""Where quoted text ends in a log line: at the literal whose quotation mark no backslash takes
away.
"""

from __future__ import annotations


def closing(line: bytes, literal: bytes, at: int) -> int:
    """Where the literal begins whose quotation mark has an even number of backslashes before it; -1
    if nowhere.
    """
    end = line.find(literal, at)
    while end > at and line[end - 1] == 0x5C:
        start = end - 1
        while start > at and line[start - 1] == 0x5C:
            start -= 1
        if (end - start) % 2 == 0:
            return end
        end = line.find(literal, end + 1)
    return end
