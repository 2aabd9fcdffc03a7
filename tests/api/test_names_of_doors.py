"""Who owns which name, made quickly, is what the rules of names say of each name by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.frame_schemas import PLACEMENT
from flex.routing.member_pools import is_host
from flex_api.facts.other_names_to_route import other_names
from flex_api.night.owners_by_partition import others_of_names, owners_of_names
from flex_api.settings.file import Settings
from flex_api.wiring import site_names
from flex_logs_ingest.scan.site_rules import spelling_in_logs

# Few names, so that one is often another one's twin, alias or site.
BARE = ("a.example", "b.example", "c.example", "aexample", "a_b.example", "-")
NAMES = st.sampled_from([*BARE, *(f"www.{name}" for name in BARE), "A.Example."])
NODES = ("n1", "n2", "n3")


def settings_of(aliases: dict[str, str], www: str, **more: object) -> Settings:
    nodes = [
        {"name": node, "addresses": [f"192.0.2.{number}"], "ram": "1 GiB"}
        for number, node in enumerate(NODES, start=1)
    ]
    return Settings.model_validate(
        {
            "schema": 1,
            "node": nodes,
            "ingest": {"aliases": aliases, "www": www},
            "routing": {"on": True, "doors": "all", "publish": "doors"} | more,
        }
    )


def name_one_site_each(aliases: dict[str, str]) -> bool:
    """In whichever spelling: with two sites for one name nobody gets that far."""
    found: dict[str, str] = {}
    for name, site in aliases.items():
        spelled, of = spelling_in_logs(name), spelling_in_logs(site) or site
        if spelled != of and found.setdefault(spelled, of) != of:
            return False
    return True


def named_one_by_one(settings: Settings, sites: Collection[str]) -> dict[str, list[str]]:
    """Every name that could be another one of a site is asked for as a visitor's log has it."""
    named = site_names(settings).naming()
    some = {*sites, *map(spelling_in_logs, settings.ingest.aliases)}
    every = set(some)
    for name in some:
        bare = name.removeprefix("www.")
        every.add(bare if bare != name else f"www.{name}")
    found: dict[str, list[str]] = {site: [] for site in sites}
    for name in sorted(every - set(sites)):
        if is_host(name) and (site := named(name.encode())) in found:
            found[site].append(name)
    return found


@given(
    st.sets(NAMES),
    st.dictionaries(NAMES, NAMES, max_size=4).filter(name_one_site_each),
    st.sampled_from(["listed", "same", "apart"]),
)
def test_other_names_are_those_that_logs_count_under_the_site(
    sites: set[str], aliases: dict[str, str], www: str
) -> None:
    settings = settings_of(aliases, www)
    assert other_names(settings, sites) == named_one_by_one(settings, sites)


@pytest.mark.slow
@given(
    st.sets(st.tuples(NAMES, st.sampled_from(NODES))),
    st.dictionaries(NAMES, NAMES, max_size=4).filter(name_one_site_each),
    st.sampled_from(["listed", "same", "apart"]),
    st.sets(st.sampled_from(NODES)),
)
def test_every_name_of_a_site_on_a_node_that_serves_has_one_owner_that_has_the_site(
    rows: set[tuple[str, str]], aliases: dict[str, str], www: str, serving: set[str]
) -> None:
    settings = settings_of(aliases, www)
    placement = PLACEMENT.from_columns(
        {"site": [site for site, _ in rows], "node": [node for _, node in rows]}
    )
    here = sorted((site, node) for site, node in rows if node in serving)
    counts = Counter(site for site, _ in here)
    owner = {}
    for site in counts:
        nodes = [node for one, node in here if one == site]
        owner[site] = nodes[crc32(site.encode()) % counts[site]]
    wanted = {
        name: owner[site]
        for site, others in named_one_by_one(settings, owner).items()
        for name in (site, *others)
        if is_host(name)
    }
    assert owners_of_names(settings, placement, serving) == wanted


@pytest.mark.slow
@given(
    st.sets(st.tuples(NAMES, st.sampled_from(NODES))),
    st.dictionaries(NAMES, NAMES, max_size=4).filter(name_one_site_each),
    st.sampled_from(["listed", "same", "apart"]),
    st.sets(st.sampled_from(NODES)),
    # Settings know a site by one spelling.
    st.sets(NAMES.filter(str.islower), max_size=2),
)
def test_where_only_its_nodes_have_a_site_every_name_has_them_all(
    rows: set[tuple[str, str]],
    aliases: dict[str, str],
    www: str,
    serving: set[str],
    by_dns: set[str],
) -> None:
    said = [{"name": site, "publish": "dns"} for site in by_dns]
    settings = settings_of(aliases, www, content="owner", site=said)
    placement = PLACEMENT.from_columns(
        {"site": [site for site, _ in rows], "node": [node for _, node in rows]}
    )
    owner_of = owners_of_names(settings, placement, serving)
    others_of = others_of_names(settings, placement, serving)
    site_of = {
        name: site
        for site, others in named_one_by_one(
            settings, {site for site, node in rows if node in serving} - by_dns
        ).items()
        for name in (site, *others)
    }
    for name, owner in owner_of.items():
        here = {node for site, node in rows if site == site_of[name]} & serving
        assert sorted({owner, *others_of.get(name, [])}) == sorted(here)
        assert owner not in others_of.get(name, [])
    assert others_of.keys() <= owner_of.keys()
    everywhere = settings_of(aliases, www)
    assert others_of_names(everywhere, placement, serving) == {}
