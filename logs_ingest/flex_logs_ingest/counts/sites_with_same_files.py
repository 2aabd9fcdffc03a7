"""Which sites answer with the same files, so that they may well be one site under two names.

Takes a file table. Returns pairs of sites. Does not decide which of two is the other's name.

A file is the same where path and size are. Files that many sites have, as parts of common software,
tell nothing and are passed over; so are small ones, which are alike by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

from flex_logs_ingest.counts.file_table import FileTable
from flex_logs_ingest.counts.file_table_queries import ask
from flex_logs_ingest.scan.site_rules import UNKNOWN

# Bytes of the smallest file that counts: icons and short answers of programs are alike by chance. A
# guess.
LEAST_SIZE = 1024
# Sites that may have a file for it to say anything: a site has so many names. A guess.
MOST_SITES = 8
# Files that both have, at least, and the part of the files of the smaller one. Guesses; two sites
# that share an uncommon theme have half of their files in common.
LEAST_FILES = 5
LEAST_PART = 0.9

_QUESTION = """
WITH counted AS (
    SELECT site, hash(target, size) AS file FROM files WHERE size >= ? AND site <> ?
),
telling AS (SELECT file FROM counted GROUP BY file HAVING count(*) BETWEEN 2 AND ?),
few AS (SELECT site, file FROM counted SEMI JOIN telling USING (file)),
pairs AS (
    SELECT a.site AS one, b.site AS other, count(*) AS shared
    FROM few a JOIN few b ON a.file = b.file AND a.site < b.site
    GROUP BY ALL HAVING count(*) >= ?
),
numbers AS (SELECT site, count(*) AS files FROM counted GROUP BY site)
SELECT one, other, shared, of_one.files AS of_one, of_other.files AS of_other
FROM pairs
JOIN numbers of_one ON of_one.site = one JOIN numbers of_other ON of_other.site = other
WHERE shared >= ? * least(of_one.files, of_other.files)
ORDER BY one, other
"""


@dataclass(frozen=True, slots=True)
class SameFiles:
    """`both` are the files that two sites have in common, of so many of each."""

    one: str
    other: str
    both: int
    of_one: int
    of_other: int


def same_files(table: FileTable) -> list[SameFiles]:
    """In order of names. Raises NoData when the table's file is gone or damaged."""
    values = (LEAST_SIZE, UNKNOWN, MOST_SITES, LEAST_FILES, LEAST_PART)
    return [
        SameFiles(
            str(row["one"]),
            str(row["other"]),
            int(row["shared"]),
            int(row["of_one"]),
            int(row["of_other"]),
        )
        for row in ask(table, _QUESTION, values).to_dict("records")
    ]
