"""Streams and segments in the database: how far each log was read, and what that reading
counted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from math import ceil

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    and_,
    bindparam,
    delete,
    insert,
    or_,
    select,
    tuple_,
)

from flex.model.log_reading import BadLine, Segment, Stream
from flex.store import errors_of_stores, frames_to_tables
from flex.store.database_by_url import StorePart
from flex.store.keyed_table import KeyedTable
from flex.store.schema import moved_counts, segments, streams

# A stream is known by what it contains: its file may have been renamed since.
_KEY = [column.name for column in streams.primary_key]
STREAMS = KeyedTable(streams, Stream, "path", *_KEY)


class SqlSegments(StorePart):
    def streams_of(self, sources: Collection[str]) -> tuple[Stream, ...]:
        stored_streams = STREAMS.among(self._database, streams.c.source, sources)
        return tuple(sorted(stored_streams, key=lambda each: (each.path, *_key(each))))

    def every_stream(self) -> tuple[Stream, ...]:
        return STREAMS.all(self._database)

    def record(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        """Raises Busy when `replaces` is there no more: then somebody else has read on in the same
        log.
        """
        with self._database.writing() as connection:
            if _is_known(connection, segment):
                return False
            if replaces is not None and not _is_deleted(connection, replaces):
                raise errors_of_stores.log_read_by_another_run(segment)
            _insert(connection, [segment], [stream])
        return True

    def record_all(
        self, readings: Sequence[tuple[Segment, Stream, Stream | None]]
    ) -> frozenset[str]:
        """Raises Busy, and stores none, when what one of them replaces is there no more."""
        with self._database.writing() as connection:
            known = self.known_segments([segment.id for segment, _, _ in readings])
            new = [reading for reading in readings if reading[0].id not in known]
            there = _stored_keys(connection, [old for _, _, old in new if old])
            left = dict[_Key, Stream]()
            gone: list[Stream] = []
            for segment, stream, replaces in new:
                if replaces and not left.pop(_key(replaces), None):
                    if _key(replaces) not in there:
                        raise errors_of_stores.log_read_by_another_run(segment)
                    there.remove(_key(replaces))
                    gone.append(replaces)
                left[_key(stream)] = stream
            if gone:
                connection.execute(_DELETED, [_key_parameters(old) for old in gone])
            if new:
                _insert(connection, [segment for segment, _, _ in new], [*left.values()])
        return known

    def adopt(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        with self._database.writing() as connection:
            if _is_known(connection, segment):
                return False
            if replaces is not None:
                _is_deleted(connection, replaces)
            _insert(connection, [segment], [stream])
        return True

    def segments(self, first_day: int, last_day: int) -> tuple[Segment, ...]:
        overlap = and_(segments.c.last_day >= first_day, segments.c.first_day <= last_day)
        wanted = select(segments).where(overlap).order_by(segments.c.id)
        with self._database.reading() as connection:
            return tuple(_segment(row) for row in connection.execute(wanted).mappings())

    def readings(
        self,
        limit: int,
        behind: tuple[int, str] | None = None,
        *,
        down: bool = True,
        source: str = "",
        node: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Segment, ...]:
        """Readings in order of time and then of id, those behind the pair `behind`. Only those of
        one source or node where it is named.
        """
        key = tuple_(segments.c.read_at, segments.c.id)
        ways = [column.desc() if down else column for column in (segments.c.read_at, segments.c.id)]
        wanted = select(segments).order_by(*ways).limit(limit)
        if behind is not None:
            wanted = wanted.where(key < behind if down else key > behind)
        if source:
            wanted = wanted.where(segments.c.source == source)
        if node:
            wanted = wanted.where(segments.c.node == node)
        if since is not None:
            wanted = wanted.where(segments.c.read_at >= ceil(since.timestamp()))
        if until is not None:
            wanted = wanted.where(segments.c.read_at < ceil(until.timestamp()))
        with self._database.reading() as connection:
            return tuple(_segment(row) for row in connection.execute(wanted).mappings())

    def places_where_readings_ended(self, places: Collection[str]) -> frozenset[str]:
        return self._there(segments.c.ends, places)

    def known_segments(self, ids: Collection[str]) -> frozenset[str]:
        return self._there(segments.c.id, ids)

    def _there(self, column: ColumnElement[str], values: Collection[str]) -> frozenset[str]:
        with self._database.reading() as connection:
            batches = (
                connection.scalars(select(column).where(column.in_(few)))
                for few in frames_to_tables.parts(sorted(values))
            )
            return frozenset(value for values in batches for value in values)

    def with_opening(self, opening: str, first_time: int) -> tuple[Segment, ...]:
        unnoted = and_(segments.c.opening == "", segments.c.first_time == first_time)
        either = or_(segments.c.opening == opening, unnoted)
        return self._all(segments.c.first_byte == 0, either)

    def behind(self, places: Collection[str]) -> tuple[Segment, ...]:
        readings = [
            each
            for few in frames_to_tables.parts(sorted(places))
            for each in self._all(segments.c.begins.in_(few))
        ]
        return tuple(sorted(readings, key=lambda each: each.id))

    def _all(self, *where: ColumnElement[bool]) -> tuple[Segment, ...]:
        with self._database.reading() as connection:
            rows = connection.execute(
                select(segments).where(*where).order_by(segments.c.id)
            ).mappings()
            return tuple(_segment(row) for row in rows)

    def moved_counts(self) -> Mapping[str, str]:
        with self._database.reading() as connection:
            return {row.segment: row.files for row in connection.execute(select(moved_counts))}

    def move_counts(self, segments: Collection[str], files: str) -> None:
        ids = sorted(segments)
        if not ids:
            return
        rows = [{"segment": segment, "files": files} for segment in ids]
        with self._database.writing() as connection:
            for few in frames_to_tables.parts(ids):
                connection.execute(delete(moved_counts).where(moved_counts.c.segment.in_(few)))
            connection.execute(insert(moved_counts), rows)


_Key = tuple[object, ...]
_DELETED = delete(streams).where(
    and_(*(column == bindparam(f"{column.name}_") for column in streams.primary_key))
)


def _is_deleted(connection: Connection, stream: Stream) -> bool:
    """Whether it was there until now."""
    return bool(connection.execute(_DELETED, _key_parameters(stream)).rowcount)


def _insert(connection: Connection, new: Sequence[Segment], left: Sequence[Stream]) -> None:
    there = _stored_keys(connection, left)
    if again := [stream for stream in left if _key(stream) in there]:
        connection.execute(_DELETED, [_key_parameters(stream) for stream in again])
    connection.execute(insert(streams), [_fields(stream) for stream in left])
    rows = []
    for segment in new:
        samples = [asdict(sample) for sample in segment.samples]
        rows.append({**_fields(segment), "samples": samples})
    connection.execute(insert(segments), rows)


def _stored_keys(connection: Connection, wanted: Sequence[Stream]) -> set[_Key]:
    """Those of these streams that are stored: to ask for many takes less than to delete each."""
    keys = {_key(stream) for stream in wanted}
    stored_keys: set[_Key] = set()
    for few in frames_to_tables.parts(wanted, 2):
        alike = select(*streams.primary_key).where(
            streams.c.source.in_({stream.source for stream in few}),
            streams.c.head.in_({stream.head for stream in few}),
        )
        stored_keys.update(tuple(row) for row in connection.execute(alike))
    return stored_keys & keys


_NAMES = {kind: [field.name for field in fields(kind)] for kind in (Segment, Stream)}


def _fields(value: Segment | Stream) -> dict[str, object]:
    return {name: getattr(value, name) for name in _NAMES[type(value)]}


def _key_parameters(stream: Stream) -> dict[str, object]:
    return {f"{name}_": getattr(stream, name) for name in _KEY}


def _key(stream: Stream) -> _Key:
    return tuple(getattr(stream, name) for name in _KEY)


def _is_known(connection: Connection, segment: Segment) -> bool:
    return connection.scalar(select(segments.c.id).where(segments.c.id == segment.id)) is not None


def _segment(row: RowMapping) -> Segment:
    pairs = {
        name: tuple((key, count) for key, count in row[name])
        for name in ("lines", "reasons", "hours")
    }
    return Segment(
        **{**row, **pairs, "samples": tuple(BadLine(**sample) for sample in row["samples"])}
    )
