"""What comes to a site by another name of it is counted by that name too, once, by both engines."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex import native_or_python
from flex.model.period import Period
from flex.store import MemoryStore
from flex_logs_ingest.counts import names_visited, other_name_counts
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.formats import FORMATS
from flex_logs_ingest.parcels import pack_parcels
from flex_logs_ingest.parcels.parcel_intake import take
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.counts_as_columns import OtherCount
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.site_rules import SiteRule

NATIVE: type[ReferenceScan] = getattr(native_or_python.NATIVE, "Scan", ReferenceScan)
ENGINES = [
    ReferenceScan,
    pytest.param(
        NATIVE, marks=pytest.mark.skipif(native_or_python.NATIVE is None, reason="no cargo")
    ),
]
LISTED = SiteRule(
    listed=frozenset(["a.example", "b.example"]), aliases={"old.example": "b.example"}
)
PERIOD = Period(datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 10, tzinfo=UTC))
# How each is spelled in a log, and the site and the other name that it stands for; "" is the site's
# own.
HOSTS = {
    "a.example": ("a.example", ""),
    "www.a.example": ("a.example", "www.a.example"),
    "WWW.A.example.": ("a.example", "www.a.example"),
    "old.example": ("b.example", "old.example"),
    "www.b.example": ("b.example", "www.b.example"),
    "other.example": ("(unknown)", ""),
}

Request = tuple[str, int, int, int]
requests = st.lists(
    st.tuples(
        st.sampled_from(list(HOSTS)),
        st.integers(1, 3),
        st.sampled_from([200, 304, 404, 500]),
        st.integers(0, 99),
    )
)


def line(host: str, day: int = 1, status: int = 200, sent: int = 10) -> str:
    return (
        f'{host}:80 192.0.2.1 - - [0{day}/Jan/1970:03:00:00 +0000] "GET /x '
        f'HTTP/1.1" {status} {sent} "-" "-"\n'
    )


def wanted(asked: list[Request]) -> list[OtherCount]:
    requests: Counter[tuple[str, str, int]] = Counter()
    sent: Counter[tuple[str, str, int]] = Counter()
    for host, day, _, size in asked:
        site, name = HOSTS[host]
        if name:
            requests[site, name, day - 1] += 1
            sent[site, name, day - 1] += size
    return [(*key, requests[key], sent[key]) for key in sorted(requests)]


@pytest.mark.slow("native")
@pytest.mark.parametrize("scan", ENGINES, ids=["reference", "native"])
@given(before=requests, after=requests, limit=st.integers(0, 3))
def test_every_answer_counts_by_the_name_that_was_asked_for(
    scan: type[ReferenceScan], before: list[Request], after: list[Request], limit: int
) -> None:
    loop = scan(FORMATS["vhost_combined"], LISTED, limit)
    for asked in (before, after):
        loop.feed("".join(line(*each) for each in asked).encode())
        assert [tuple(each) for each in loop.finish()["others"] or ()] == wanted(asked)


@pytest.mark.parametrize("scan", ENGINES, ids=["reference", "native"])
@pytest.mark.parametrize(
    "rule", [SiteRule(fixed="a.example"), SiteRule(directory=True)], ids=["fixed", "directory"]
)
def test_where_lines_do_not_say_the_name_nobody_says_that_none_was_used(
    scan: type[ReferenceScan], rule: SiteRule
) -> None:
    loop = scan(FORMATS["vhost_combined"], rule, 9)
    loop.feed(line("www.a.example").encode())
    assert loop.finish()["others"] is None


def source(logs: Path, rule: SiteRule = LISTED) -> Source:
    return Source("one", (f"{logs}/*",), "n1", rule)


def counted(store: MemoryStore, counts: Path) -> names_visited.Names:
    return names_visited.count_names(store, counts, PERIOD, ["a.example", "b.example"])


def test_names_of_all_readings_of_a_period_add_up(
    logs: Path, store: MemoryStore, counts: Path
) -> None:
    log = logs / "access.log"
    log.write_text(line("a.example") + line("www.a.example", sent=30))
    ingest([source(logs)], store, counts)
    with log.open("a") as more:
        more.write(line("www.a.example", status=404, sent=5) + line("old.example", day=2))
    ingest([source(logs)], store, counts)
    ingest([source(logs)], store, counts)
    found = counted(store, counts)
    assert found.by_name == {
        ("a.example", "www.a.example"): (2, 35),
        ("b.example", "old.example"): (1, 10),
    }
    assert found.by_site == {"a.example": (3, 45), "b.example": (1, 10)}
    assert found.unknown == frozenset()


def test_a_reading_that_kept_no_names_makes_its_sites_unknown_and_no_others(
    logs: Path, store: MemoryStore, counts: Path
) -> None:
    (logs / "1").write_text(line("a.example") + line("www.a.example"))
    ingest([source(logs)], store, counts)
    for path in counts.glob("*.names.parquet"):
        path.unlink()
    (logs / "2").write_text(line("www.b.example"))
    ingest([source(logs)], store, counts)
    found = counted(store, counts)
    assert (found.unknown, set(found.by_name)) == (
        frozenset(["a.example"]),
        {("b.example", "www.b.example")},
    )


def sent(tmp_path: Path, logs: Path) -> Path:
    """The parcel of one reading."""
    out = tmp_path / "out"
    outbox = pack_parcels.Outbox(MemoryStore(), tmp_path / "there", out)
    ingest([source(logs)], outbox, tmp_path / "there")
    (parcel,) = out.iterdir()
    return parcel


def test_a_parcel_brings_the_names_along(
    tmp_path: Path, logs: Path, store: MemoryStore, counts: Path
) -> None:
    (logs / "1").write_text(line("a.example") + line("www.a.example", sent=30))
    parcel = sent(tmp_path, logs)
    assert [one.outcome for one in take([parcel], store, counts, [("one", "n1")])] == ["taken"]
    assert counted(store, counts).by_name == {("a.example", "www.a.example"): (1, 30)}
    assert list((tmp_path / "there").glob("*.names.parquet")) == []


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (
            [["a.example", "www.a.example", 0, 3, 30]],
            "more came by names of it than to their sites",
        ),
        ([["a.example", "www.a.example", 7, 1, 30]], "a day that had no answers"),
        ([["a.example", "www.a.example", 0, 0, 0]], "nothing came by a name of it"),
        (
            [["a.example", "www.a.example", 0, 1, 1], ["a.example", "www.a.example", 0, 1, 1]],
            "not in order",
        ),
        ([["a.example", "www.a.example", 0, 1]], "not told as names are"),
        ([["a.example", "x\n", 0, 1, 1]], "its name is"),
        (
            [["a.example", "w.example", 0, 2**62, 1], ["a.example", "x.example", 0, 2**62, 1]],
            "more than there is",
        ),
    ],
)
def test_a_parcel_whose_names_cannot_be_is_refused(
    tmp_path: Path, logs: Path, store: MemoryStore, counts: Path, names: object, why: str
) -> None:
    (logs / "1").write_text(line("a.example") + line("www.a.example", sent=30))
    parcel = sent(tmp_path, logs)
    head, _, rest = parcel.read_bytes().partition(b"\n")
    parcel.write_bytes(json.dumps(json.loads(head) | {"names": names}).encode() + b"\n" + rest)
    (arrival,) = take([parcel], store, counts, [("one", "n1")])
    assert arrival.outcome == "refused"
    assert why in arrival.note


def test_a_parcel_of_an_earlier_flex_leaves_the_share_unknown(
    tmp_path: Path, logs: Path, store: MemoryStore, counts: Path
) -> None:
    (logs / "1").write_text(line("a.example") + line("www.a.example", sent=30))
    parcel = sent(tmp_path, logs)
    head, _, rest = parcel.read_bytes().partition(b"\n")
    told = json.loads(head)
    del told["names"]
    parcel.write_bytes(json.dumps(told).encode() + b"\n" + rest)
    take([parcel], store, counts, [("one", "n1")])
    assert counted(store, counts).unknown == frozenset(["a.example"])


def test_more_names_than_a_parcel_begins_with_are_told_by_none(tmp_path: Path) -> None:
    many = [
        (f"{'a' * 60}{number}.example", f"www.{'a' * 60}{number}.example", 1, 1, 1)
        for number in range(5_000)
    ]
    assert other_name_counts.fitting(many) is None
    assert other_name_counts.fitting(many[:100]) == many[:100]
    assert other_name_counts.fitting(None) is None


def test_other_names_are_those_that_logs_count_as_the_site() -> None:
    sites = {"a.example", "b.example"}
    assert LISTED.others(sites) == [
        ("a.example", "www.a.example"),
        ("b.example", "old.example"),
        ("b.example", "www.b.example"),
    ]
    assert SiteRule(listed=LISTED.listed, www="apart").others(sites) == []
    assert SiteRule().others(sites) == []
    assert SiteRule().others(sites, {"a.example"}) == [("a.example", "www.a.example")]
    assert SiteRule(www="same").others({"a.example"}) == [("a.example", "www.a.example")]
    assert SiteRule(listed=frozenset(["www.c.example"])).others({"www.c.example"}) == [
        ("www.c.example", "c.example")
    ]
    assert SiteRule(directory=True, aliases={"/x/": "/y/"}).others({"/y/"}) == []
