"""Which logs of a run could not be read, as the error that a person is told.

Takes the reports of the files, and the files that somebody named. Returns an error, or None where
all could be read. Does not raise it: what was read of the others is counted, and is shown first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flex.errors import BadInput
from flex.site_names_in_words import first_few
from flex_api.in_words import amounts
from flex_logs_ingest.files.find_and_unpack_logs import NO_FILE
from flex_logs_ingest.reading.report import FileReport, describe_unread

# What is said of files that a run could not use and somebody has to mend.
UNREAD = ("unreadable", "unknown format", "unknown site")


def error_of_unread(reports: Sequence[FileReport], named: Collection[str] = ()) -> BadInput | None:
    unread = [each for each in reports if _is_unread(each, named)]
    if not unread:
        return None
    told = describe_unread(unread)
    return BadInput(
        "reading the access logs",
        f"{amounts.count(len(unread), 'file')} could not be read"
        f"{_to_the_end(unread)}: {first_few(told, between='; ')}",
        kept="all others are read, and what is in them is counted",
        advice="fix the rights on it or the file itself, "
        "or its format or site in [[ingest.source]], or keep it out of the glob; "
        "`flex data` shows each until then",
    )


def _is_unread(file: FileReport, named: Collection[str]) -> bool:
    """A folder that a glob matches is no fault; one that somebody names is."""
    if file.note in NO_FILE and file.path not in named:
        return False
    return file.outcome in UNREAD or file.damaged


def _to_the_end(files: Sequence[FileReport]) -> str:
    return "" if any(file.outcome in UNREAD for file in files) else " to the end"
