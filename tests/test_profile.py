"""From file counts to what a site asks of a node."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.frame_schemas import FILES, HOURS
from flex.traffic.rate_and_working_set import profiles, profiles_of, spreads, spreads_of
from tests.thorough import times

SITES = st.sampled_from(["a.example", "b.example", "c.example"])
COUNTS = st.integers(1, 2**40)
SIZES = st.integers(0, 2**40)

FILE_TABLES = st.dictionaries(
    st.tuples(SITES, st.integers(0, 20).map("/{}".format)),
    st.tuples(COUNTS | st.integers(1, 3), SIZES, SIZES),
    max_size=25,
).map(
    lambda rows: FILES.from_columns(
        {
            "site": [site for site, _ in rows],
            "target": [target for _, target in rows],
            "requests": [requests for requests, _, _ in rows.values()],
            "bytes": [sent for _, sent, _ in rows.values()],
            "size": [size for _, _, size in rows.values()],
            "last": [0] * len(rows),
        }
    )
)
HOUR_TABLES = st.dictionaries(
    st.tuples(SITES | st.just("errors.example"), st.integers(0, 48)),
    st.tuples(COUNTS, SIZES),
    max_size=25,
).map(
    lambda rows: HOURS.from_columns(
        {
            "site": [site for site, _ in rows],
            "hour": [hour for _, hour in rows],
            "requests": [requests for requests, _ in rows.values()],
            "bytes": [sent for _, sent in rows.values()],
        }
    )
)


def files(*rows: tuple[str, str, int, int]) -> pd.DataFrame:
    """Site, target, requests, size."""
    sites, targets, requests, sizes = zip(*rows, strict=True)
    zeros = [0] * len(rows)
    columns = {
        "site": sites,
        "target": targets,
        "requests": requests,
        "bytes": zeros,
        "size": sizes,
        "last": zeros,
    }
    return FILES.from_columns(columns)


def test_a_site_asks_for_what_it_sent_and_for_the_files_it_needs() -> None:
    of_files = files(
        ("a.example", "/", 3, 500), ("a.example", "/once", 1, 200), ("a.example", "/unseen", 2, 0)
    )
    of_hours = HOURS.from_columns(
        {
            "site": ["a.example"] * 2,
            "hour": [7, 9],
            "requests": [4, 5],
            "bytes": [900, 1100],
            "timed": [3, 5],
            "service_us": [2000, 7000],
            "cpu_us": [10, 20],
        }
    )
    assert profiles(of_files, of_hours).to_dict("records") == [
        {
            "site": "a.example",
            "access_bytes": 2000,
            "working_set": 700,
            "requests": 9,
            "targets": 3,
            "one_timers": 1,
            "busy_hour_bytes": 1100,
            "timed": 8,
            "service_us": 9000,
            "cpu_us": 30,
        }
    ]


def test_hours_of_earlier_versions_have_no_times() -> None:
    of_hours = HOURS.from_columns(
        {"site": ["b.example"], "hour": [7], "requests": [4], "bytes": [900]}
    )
    found = profiles(FILES.empty(), of_hours)
    assert found[["timed", "service_us", "cpu_us"]].to_numpy().tolist() == [[0, 0, 0]]


def test_a_site_that_only_sent_errors_is_still_there() -> None:
    of_hours = HOURS.from_columns(
        {"site": ["b.example"], "hour": [7], "requests": [4], "bytes": [900]}
    )
    found = profiles(FILES.empty(), of_hours)
    assert found[["site", "access_bytes", "working_set"]].to_numpy().tolist() == [
        ["b.example", 900, 0]
    ]


def test_sums_are_exact_beyond_what_a_float_holds() -> None:
    of_files = files(("a.example", "/1", 1, 2**53), ("a.example", "/2", 1, 1))
    of_hours = HOURS.from_columns(
        {"site": ["b.example"], "hour": [7], "requests": [4], "bytes": [900]}
    )
    assert profiles(of_files, of_hours)["working_set"].tolist() == [2**53 + 1, 0]


def test_no_traffic_makes_no_profile() -> None:
    assert profiles(FILES.empty(), HOURS.empty()).empty
    assert spreads(FILES.empty(), ["a.example"], 4).empty


@pytest.mark.slow
@settings(max_examples=times(40))
@given(FILE_TABLES, HOUR_TABLES)
def test_nothing_is_lost_between_the_tables_and_the_profiles(
    of_files: pd.DataFrame, of_hours: pd.DataFrame
) -> None:
    found = profiles(of_files, of_hours)
    assert set(found["site"]) == {*of_files["site"], *of_hours["site"]}
    assert found["access_bytes"].sum() == of_hours["bytes"].sum()
    assert found["requests"].sum() == of_hours["requests"].sum()
    assert found["working_set"].sum() == of_files["size"].sum()
    assert found["targets"].sum() == len(of_files)
    assert found["one_timers"].sum() == (of_files["requests"] == 1).sum()
    assert (found["busy_hour_bytes"] <= found["access_bytes"]).all()


@pytest.mark.slow
@settings(max_examples=times(40))
@given(FILE_TABLES, HOUR_TABLES)
def test_a_site_has_the_same_profile_alone_and_among_others(
    of_files: pd.DataFrame, of_hours: pd.DataFrame
) -> None:
    together = profiles(of_files, of_hours).set_index("site")
    for site in together.index:
        ours = (
            table[table["site"] == site].reset_index(drop=True) for table in (of_files, of_hours)
        )
        alone = profiles(*ours).set_index("site")
        assert alone.loc[site].to_dict() == together.loc[site].to_dict()


def test_a_file_asked_for_once_is_on_one_of_k_nodes_and_a_hot_one_on_all() -> None:
    of_files = files(("a.example", "/hot", 10**6, 1000), ("a.example", "/once", 1, 1200))
    found = spreads(of_files, ["a.example"], 4)
    assert found["working_set"].tolist() == [1000 + 600, 1000 + 400, 1000 + 300]


@pytest.mark.slow
@settings(max_examples=times(40))
@given(FILE_TABLES)
def test_the_working_set_shrinks_with_more_nodes_but_never_below_its_share(
    of_files: pd.DataFrame,
) -> None:
    found = spreads(of_files, {"a.example", "c.example", "idle.example"}, 9)
    assert set(found["site"]) == set(of_files["site"]) - {"b.example"}
    for site, rows in found.groupby("site"):
        whole = int(of_files.loc[of_files["site"] == site, "size"].sum())
        assert rows["replicas"].tolist() == list(range(2, 10))
        sizes = [whole, *rows["working_set"].tolist()]
        assert sizes == sorted(sizes, reverse=True)
        assert all(k * size >= whole for k, size in enumerate(sizes, start=1))


CUTS = st.lists(st.integers(0, 25), max_size=4)


def cut(table: pd.DataFrame, at: list[int]) -> list[pd.DataFrame]:
    ends = [0, *sorted(at), len(table)]
    return [table[begin:end].reset_index(drop=True) for begin, end in pairwise(ends)]


@pytest.mark.slow
@settings(max_examples=times(40))
@given(FILE_TABLES, HOUR_TABLES, CUTS, CUTS)
def test_tables_in_pieces_say_the_same_however_they_are_cut(
    of_files: pd.DataFrame, of_hours: pd.DataFrame, cut_files: list[int], cut_hours: list[int]
) -> None:
    files, hours = cut(of_files, cut_files), cut(of_hours, cut_hours)
    pd.testing.assert_frame_equal(profiles_of(files, hours), profiles(of_files, of_hours))
    some = {"a.example", "c.example"}
    pd.testing.assert_frame_equal(spreads_of(files, some, 5), spreads(of_files, some, 5))
