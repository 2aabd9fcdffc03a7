"""What became of each change of a run, written into the journal row by row.

Takes changes as they are settled. Returns a Tally for each zone and writes the states of the
journal's rows. A row ends when the last of its changes is settled, however many messages that took.
Does not send anything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from flex.errors import DnsError
from flex.model.dns_update_journal import Journal, JournalRow
from flex.model.zone_plan import Change
from flex_dns.update.change_messages import Message
from flex_dns.zone.change_states import Conflict

# Rows that went well and are written down together, because each writing waits for the disk. A
# guess.
TOGETHER = 32


@dataclass(slots=True)
class Tally:
    """What became of one zone's changes. `trouble` ended the work on it; `unknown` changes may have
    been made.
    """

    zone: str
    done: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    refused: list[tuple[Change, DnsError]] = field(default_factory=list)
    trouble: DnsError | None = None
    unknown: int = 0
    is_stopped: bool = False

    @property
    def is_complete(self) -> bool:
        return not (self.conflicts or self.refused or self.trouble)

    @property
    def faults(self) -> int:
        return len({change.name for change, _ in self.refused})


@dataclass(slots=True)
class _Open:
    zone: str
    left: int
    worst: str = ""
    note: str = ""


class Ledger:
    def __init__(
        self, journal: Journal, rows: Sequence[tuple[JournalRow, tuple[Change, ...]]]
    ) -> None:
        self.tallies = {row.zone: Tally(row.zone) for row, _ in rows}
        self._journal = journal
        self._open = {row.number: _Open(row.zone, len(changes)) for row, changes in rows}
        self._ended: list[int] = []

    @property
    def open_changes(self) -> int:
        """Changes of which nobody can say yet what became of them."""
        return sum(row.left for row in self._open.values())

    def note_sent(self, messages: Sequence[Message]) -> None:
        self._journal.became(sorted({message.row for message in messages}), "sent")

    def note_done(self, message: Message, changes: Sequence[Change]) -> None:
        self.tallies[message.zone].done += len(changes)
        self._settle(message.row, len(changes))

    def note_overtaken(
        self, message: Message, conflicts: Sequence[Conflict], withheld: Sequence[Change] = ()
    ) -> None:
        self.tallies[message.zone].conflicts += conflicts
        self._settle(
            message.row, len(conflicts) + len(withheld), "conflict", "; ".join(map(str, conflicts))
        )

    def note_refused(self, message: Message, error: DnsError) -> None:
        self.tallies[message.zone].refused += [(change, error) for change in message.changes]
        self._settle(
            message.row,
            len(message.changes),
            "refused",
            f"{message.changes[0].name}: {error.answer}",
        )

    def stop(self, zones: Collection[str], trouble: DnsError | None, note: str = "") -> None:
        """Nothing more is sent for these zones; what was sent is known not to have been made."""
        for zone in zones:
            tally = self.tallies[zone]
            tally.is_stopped, tally.trouble = True, tally.trouble or trouble
        numbers = [number for number, row in self._open.items() if row.zone in zones]
        for number in numbers:
            del self._open[number]
        self._journal.became(numbers, "refused", trouble.answer if trouble else note)

    def lose(self, zone: str, changes: int, trouble: DnsError) -> None:
        """Whether these were made is not known: their rows stay as they are, for whoever finishes
        the run.
        """
        tally = self.tallies[zone]
        tally.is_stopped = True
        tally.trouble = trouble
        tally.unknown = tally.unknown + changes

    def flush(self) -> None:
        ended, self._ended = self._ended, []
        self._journal.became(ended, "done")

    def _settle(self, number: int, count: int, worst: str = "", note: str = "") -> None:
        row = self._open.get(number)
        if row is None or not count:
            return
        row.left -= count
        row.worst, row.note = worst or row.worst, note or row.note
        if row.left:
            return
        del self._open[number]
        if row.worst:
            self._journal.became(
                [number], "conflict" if row.worst == "conflict" else "refused", row.note
            )
            return
        self._ended.append(number)
        if len(self._ended) >= TOGETHER:
            self.flush()
