"""What a log goes on with is found among all streams, however many there are."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from flex.model.log_reading import Stream
from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.log_identity import digest
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.reading.run_state import StreamsByHead
from flex_logs_ingest.scan.site_rules import SiteRule
from tests.effort import calls

heads = st.text("ab", max_size=6).map(str.encode)


def stream(head: bytes, offset: int) -> Stream:
    return Stream("one", digest(head), len(head), offset, digest(b""), "/log")


@given(st.lists(st.tuples(heads, st.integers(0, 9)), max_size=12, unique=True), heads)
def test_those_that_begin_as_a_log_does_are_found_farthest_first(
    given_: list[tuple[bytes, int]], head: bytes
) -> None:
    found = StreamsByHead(stream(*one) for one in given_).begin_as(head)
    alike = [one for one in given_ if head.startswith(one[0])]
    assert {(one.head, one.offset) for one in found} == {
        (digest(begin), offset) for begin, offset in alike
    }
    offsets = [one.offset for one in found]
    assert len(found) == len(alike)
    assert offsets == sorted(offsets, reverse=True)


def test_a_stream_that_was_read_on_takes_the_place_of_the_one_before() -> None:
    streams = StreamsByHead([stream(b"a", 1)])
    streams.replace(stream(b"a", 1), stream(b"ab", 2))
    streams.replace(stream(b"gone", 1), stream(b"b", 3))
    assert streams.begin_as(b"abc") == [stream(b"ab", 2)]
    assert stream(b"a", 1) not in streams
    assert stream(b"b", 3) in streams


def test_a_log_takes_no_more_steps_among_four_times_as_many_of_one_source(tmp_path: Path) -> None:
    def of_each(number: int) -> float:
        logs = tmp_path / f"{number}"
        logs.mkdir()
        for i in range(number):
            line = f'a.example 192.0.2.1 - - [20/Nov/2026:00:00:00 +0000] "GET /{i:09} HTTP/1.1"'
            (logs / f"{i}.log").write_text(f'{line} 200 5 "-" "-"\n')
        source = Source("one", (f"{logs}/*",), "node", SiteRule(), "vhost_combined")
        counts = tmp_path / f"counts{number}"

        def read() -> None:
            ingest([source], MemoryStore(), counts, workers=1)

        return calls(read) / number

    assert of_each(400) < 1.3 * of_each(100)
