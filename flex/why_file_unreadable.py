"""Why a file cannot be read or written, in words: no number of an error, and no path twice.

Takes what the system raised. Returns the end of a sentence. Does not open anything.
"""

from __future__ import annotations


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        return f"line {line} is not UTF-8: it has the byte 0x{byte:02x}"
    reason = error.strerror or type(error).__name__
    return reason[:1].lower() + reason[1:]
