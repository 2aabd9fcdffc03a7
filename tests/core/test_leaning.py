"""What leans on the names of sites, and which sites stay for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.errors import Stale
from flex.model.dependents_of_moves import Dependents, WhatToDo
from flex.model.led_by_doors_or_dns import Publishing
from flex.model.nodes import Node, NodeState
from flex.model.plan import Plan
from flex.model.wish import Pin
from flex.model.zone_plan import HintedSet
from flex.planning import given_partition, propose_plan
from flex.planning.dependents_of_sites import LEFT_BEHIND, MOVED_ALONG
from flex.planning.dependents_text import GIVE_A_NAME, NOBODY_KNOWS, TAKE_HINTS_OUT
from flex.planning.dns_survey import look
from flex.planning.plan_notes_on_sites import LEANING
from flex.planning.propose_plan import Proposal
from flex.planning.unmovable_sites import immovable_in
from flex.zones.names_not_following import OtherName
from flex.zones.records_of_partition import ZoneState
from flex.zones.what_leans_on_names import (
    Kind,
    Pointed,
    PointingRecord,
    binds_certificates,
    leaning,
    lets_somebody_send,
    spf_terms,
)
from flex_solver import SOLVERS
from tests.core.cluster import NOW, ZONE
from tests.core.test_reach import Cluster, Profiles, said
from tests.memory_publisher import MemoryPublisher

OF_TARGETS: tuple[Kind, ...] = ("MX", "SRV", "NS", "CNAME")
LABELS = [f"{letter}.example." for letter in "abcdef"]
SITES = frozenset(LABELS[:3])


# ---- who leans on what, compared with a reference that goes every way ----------------------


def reached(name: str, aliases: Mapping[str, str]) -> set[str]:
    """Every name that a resolver may come to, going on until nothing is new."""
    found = {name}
    while True:
        more = {aliases[one] for one in found if one in aliases} | found
        if more == found:
            return found
        found = more


def leaners(records: list[PointingRecord]) -> set[tuple[str, PointingRecord]]:
    """Written for this test alone, without limits: pairs of a site and a record."""
    aliases = {one.owner: one.target for one in records if one.type == "CNAME"}
    pairs = {
        (site, one)
        for one in records
        for site in SITES
        if one.type in OF_TARGETS and site in reached(one.target, aliases)
    }
    for one in records:
        if one.type != "SPF":
            continue
        hosts, waiting, seen = set[str](), [(one.owner, one.text)], {one.owner}
        while waiting:
            owner, text = waiting.pop()
            for term in text.split()[1:]:
                word, _, domain = term.replace("redirect=", "include:").partition(":")
                about = f"{domain}." if domain else owner
                last = end(about, aliases)
                if word == "a":
                    hosts.add(about)
                if word == "mx":
                    hosts |= {
                        each.target for each in records if each.type == "MX" and each.owner == last
                    }
                if word == "include" and last not in seen:
                    seen.add(last)
                    waiting += [
                        (last, each.text)
                        for each in records
                        if each.type == "SPF" and each.owner == last
                    ]
        pairs |= {
            (site, one) for site in SITES if any(site in reached(host, aliases) for host in hosts)
        }
    return pairs


def end(name: str, aliases: Mapping[str, str]) -> str:
    seen = {name}
    while name in aliases and aliases[name] not in seen:
        name = aliases[name]
        seen.add(name)
    return name


names = st.sampled_from(LABELS)
terms = st.one_of(
    st.sampled_from(["a", "mx", "ip4:192.0.2.0/24", "-all"]),
    st.builds(
        lambda what, name: f"{what}{name.rstrip('.')}",
        st.sampled_from(["a:", "mx:", "include:", "redirect="]),
        names,
    ),
)
records = st.lists(
    st.one_of(
        st.builds(
            lambda kind, owner, target: PointingRecord(
                owner, kind, f"10 {target}" if kind == "MX" else target, target
            ),
            st.sampled_from(OF_TARGETS),
            names,
            names,
        ),
        st.builds(
            lambda owner, words: PointingRecord(owner, "SPF", " ".join(["v=spf1", *words])),
            names,
            st.lists(terms, max_size=3),
        ),
    ),
    max_size=12,
)


def one_of_each(made: list[PointingRecord]) -> list[PointingRecord]:
    """A name has one CNAME and one policy."""
    once = {(one.owner, one.type): one for one in made if one.type in ("CNAME", "SPF")}
    others = {one for one in made if one.type not in ("CNAME", "SPF")}
    return sorted({*once.values(), *others})


@given(records)
def test_what_leans_on_a_site_is_what_a_search_of_every_way_finds(
    made: list[PointingRecord],
) -> None:
    zone = one_of_each(made)
    found = leaning(zone, SITES, most=1000)
    pairs = {(name, each.record) for name, one in found.items() for each in one.dependents}
    assert pairs == leaners(zone)
    for name, one in found.items():
        assert sum(one.counts.values()) == len([pair for pair in pairs if pair[0] == name])


@pytest.mark.parametrize("term", ["mx:", "include:", "redirect="])
def test_a_policy_leans_on_a_site_over_a_cname_and_another_policy(term: str) -> None:
    policy = PointingRecord("f.example.", "SPF", f"v=spf1 {term}d.example")
    zone = [
        policy,
        PointingRecord("d.example.", "CNAME", "e.example.", "e.example."),
        PointingRecord("e.example.", "MX", "10 a.example.", "a.example."),
        PointingRecord("e.example.", "SPF", "v=spf1 mx -all"),
    ]
    leant_on = leaning(zone, SITES)["a.example."]
    assert policy in [one.record for one in leant_on.dependents_of_kinds("SPF")]


# ---- wildcards, compared with a reference that answers as RFC 4592 says -----------------------

ZONES = ("example.", "other.")
PLACES = [
    f"{label}{zone}"
    for zone in ZONES
    for label in ("a.", "m.", "x.m.", "w.", "x.w.", "y.x.w.", "*.", "*.w.", "*.m.")
]
PLACED = ("a.example.", "a.other.", "w.example.")


def answered(name: str, zone: Mapping[tuple[str, str], str]) -> str:
    """The CNAME that a name server answers with, "" where it has none for the name."""
    there = {owner for owner, _ in zone} | set(ZONES)
    every = {end for owner in there for end in ends(owner)}
    if name in every:
        return zone.get((name, "CNAME"), "")
    closest = name
    while closest not in every:
        closest = closest.partition(".")[2]
    return zone.get((f"*.{closest}", "CNAME"), "")


def ends(name: str) -> list[str]:
    labels = name.split(".")
    return [".".join(labels[start:]) for start in range(len(labels) - 1)]


places = st.sampled_from(PLACES)
plain = st.sampled_from([place for place in PLACES if "*" not in place])


@given(
    st.dictionaries(places, plain, max_size=8),
    st.dictionaries(places, plain, max_size=5),
    st.sets(plain, max_size=3),
)
def test_what_leans_on_a_site_behind_wildcards_is_what_a_name_server_says(
    cnames: dict[str, str], mails: dict[str, str], texts: set[str]
) -> None:
    zone: dict[tuple[str, str], str] = {(name, "A"): "192.0.2.1" for name in PLACED}
    for owner, target in cnames.items():
        if owner not in PLACED:
            zone[owner, "CNAME"] = target
    for owner, target in mails.items():
        if (owner, "CNAME") not in zone:
            zone[owner, "MX"] = f"10 {target}"
    for owner in texts:
        if (owner, "CNAME") not in zone:
            zone[owner, "TXT"] = "words"
    publisher = MemoryPublisher(ZONES, "me")
    for (owner, kind), value in zone.items():
        of = next(one for one in ZONES if owner.endswith(f".{one}"))
        publisher.edit(of, owner, kind, 60, [value])
    found = look(
        publisher,
        [name.rstrip(".") for name in PLACED],
        (Node("n1", ("192.0.2.1",), 1),),
        ZONES,
        adopt=True,
        dependents=True,
    )
    wanted = set()
    for (owner, kind), value in zone.items():
        if kind == "MX":
            name, seen = value.split()[1], list[str]()
            while name and name not in seen:
                seen.append(name)
                name = answered(name, zone)
            wanted |= {(site, owner) for site in PLACED if site in seen}
    told = {
        (site, one.record.owner)
        for site, said in found.leaning.items()
        for one in said.dependents_of_kinds("MX")
    }
    assert told == wanted


@pytest.mark.parametrize(
    ("text", "sends"),
    [
        ("v=spf1 a -all", True),
        ("V=SPF1 ip6:2001:db8::/32 ~all", True),
        ("v=spf1 redirect=_spf.example.org", True),
        ("v=spf1 -all", False),
        ("v=spf1 -a -mx ~all", False),
        ("v=spf1 exp=why.example.org +all", False),
        ("v=spf10 a", False),
        ("", False),
    ],
)
def test_a_policy_lets_somebody_send_where_it_names_somebody(text: str, sends: bool) -> None:
    assert lets_somebody_send(text) == sends


def test_so_many_of_a_kind_are_kept_and_all_are_counted() -> None:
    many = [
        PointingRecord(f"m{number}.example.", "MX", "10 a.example.", "a.example.")
        for number in range(1000)
    ]
    one = leaning(many, SITES)["a.example."]
    assert (len(one.dependents), one.count("MX")) == (20, 1000)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("v=spf1 a mx -all", [("a", ""), ("mx", "")]),
        ("V=SPF1 +A ~MX/24 ?all", [("a", ""), ("mx", "")]),
        ("v=spf1 a:Mail.Example/24//64", [("a", "mail.example.")]),
        ("v=spf1 include:x.example redirect=y.", [("other", "x.example."), ("other", "y.")]),
        ("v=spf1 a:%{d}.example exists:%{i}.x include: redirect= a: ptr", []),
        ("v=spf10 a", []),
        ("v=spf1", []),
        ("", []),
        ("v=spf1 \x00 :: // a/ -", [("a", "")]),
    ],
)
def test_an_spf_record_is_read_as_far_as_it_names_hosts(
    text: str, found: list[tuple[str, str]]
) -> None:
    assert list(spf_terms(text)) == found


@given(st.text(alphabet="v=spf1 amx:/%{}+-~?include.redirect\x00\xff", max_size=60))
def test_no_policy_makes_it_fail(text: str) -> None:
    for made in (text, f"v=spf1 {text}"):
        list(spf_terms(made))
        leaning([PointingRecord("a.example.", "SPF", made)], SITES)
        binds_certificates(made)


@pytest.mark.parametrize(
    ("text", "binds"),
    [
        ('0 issue "ca.example"', False),
        ('0 issue "ca.example; accounturi=https://ca.example/1"', True),
        ('0 issue "ca.example; validationmethods=dns-01"', True),
        ('0 issue ";"', True),
        ('0 iodef "mailto:a@example.org"', False),
        ('0 issuewild ";"', False),
    ],
)
def test_a_caa_record_matters_only_where_not_every_node_gets_a_certificate(
    text: str, binds: bool
) -> None:
    made = [PointingRecord("example.", "CAA", text)]
    assert ("a.example." in leaning(made, SITES)) == binds


# ---- what a plan makes of it ----------------------------------------------------------------


@pytest.fixture
def cluster(profiles: Profiles, nodes: Callable[[int], tuple[Node, ...]]) -> Cluster:
    return Cluster(profiles, nodes(3))


FIRST = "a.hosting.example"
# Who reads the hints of a record of this type.
WHO = {"HTTPS": "browsers", "SVCB": "clients"}
MAIL = f"would take along mail for {FIRST} (MX 10 {FIRST}.)"


def settled(cluster: Cluster) -> Cluster:
    """After a first night, with its site wanted on another node."""
    cluster.night()
    return cluster


def wants_to_move(cluster: Cluster, site: str = FIRST) -> str:
    """Somebody wants it at another node; which one."""
    (here,) = cluster.is_on(site)
    other = "n2" if here == "n1" else "n1"
    cluster.facts = replace(cluster.facts, pins=(Pin(site, nodes=(other,)),))
    return other


def with_mail(cluster: Cluster, site: str = FIRST) -> None:
    cluster.target.edit(ZONE, f"{site}.", "MX", 60, [f"10 {site}."])


def moved(plan: Plan) -> set[str]:
    return {move.site for move in plan.moves}


def changed(plan: Plan) -> set[str]:
    return {change.name for one in plan.zone_plans for change in one.changes}


def test_a_site_on_whose_name_mail_leans_stays_and_its_wish_gives_way(cluster: Cluster) -> None:
    settled(cluster)
    here = cluster.is_on(FIRST)
    wants_to_move(cluster)
    with_mail(cluster)
    plan = cluster.night()
    assert cluster.is_on(FIRST) == here
    assert f"{FIRST}." not in changed(plan)
    assert MAIL in said(plan, LEANING)
    assert FIRST in said(plan, "pins that cannot be kept now")
    assert plan.zone_plans[0].foreign == (f"{FIRST}. ({MAIL})",)
    (one,) = plan.zone_plans[0].leaning
    assert (one.site, one.kind, one.stays) == (FIRST, "MX", True)


@pytest.mark.parametrize(
    ("owner", "kind", "value"),
    [
        (FIRST, "MX", f"10 {FIRST}."),
        ("mail.hosting.example", "MX", f"10 {FIRST}."),
        ("elsewhere.hosting.example", "MX", "10 mail.hosting.example."),
        ("_sip._tcp.hosting.example", "SRV", f"0 5 5060 {FIRST}."),
        ("sub.hosting.example", "NS", f"{FIRST}."),
    ],
)
def test_whatever_carries_a_service_makes_a_site_stay(
    cluster: Cluster, owner: str, kind: str, value: str
) -> None:
    settled(cluster)
    here = cluster.is_on(FIRST)
    wants_to_move(cluster)
    cluster.target.edit(ZONE, "mail.hosting.example.", "CNAME", 60, [f"{FIRST}."])
    cluster.target.edit(ZONE, f"{owner}.", kind, 60, [value])
    cluster.night()
    assert cluster.is_on(FIRST) == here


HINT = f'1 {FIRST}. ipv4hint="192.0.2.1"'


@pytest.mark.parametrize(
    ("owner", "kind", "value"),
    [
        (FIRST, "HTTPS", '1 . alpn="h2" ipv4hint="192.0.2.1"'),
        ("shop.hosting.example", "HTTPS", HINT),
        ("_dns.hosting.example", "SVCB", HINT),
    ],
)
def test_whatever_repeats_its_address_makes_a_site_stay(
    cluster: Cluster, owner: str, kind: str, value: str
) -> None:
    settled(cluster)
    here = cluster.is_on(FIRST)
    wants_to_move(cluster)
    cluster.target.edit(ZONE, f"{owner}.", kind, 60, [value])
    plan = cluster.night()
    assert cluster.is_on(FIRST) == here
    why = f"would leave behind the addresses that {WHO[kind]} are told for {owner}"
    note = said(plan, LEANING)
    assert f"{why} ({kind} {value})" in note
    assert TAKE_HINTS_OUT in note
    assert GIVE_A_NAME not in note


def test_mail_and_hints_are_said_together_with_a_way_out_of_both(cluster: Cluster) -> None:
    settled(cluster)
    wants_to_move(cluster)
    with_mail(cluster)
    cluster.target.edit(ZONE, f"{FIRST}.", "HTTPS", 60, ['1 . ipv4hint="192.0.2.1"'])
    note = said(cluster.night(), LEANING)
    for part in (MAIL, "and would leave behind", TAKE_HINTS_OUT, GIVE_A_NAME):
        assert part in note


@pytest.mark.parametrize("value", [f"0 {FIRST}.", '1 . alpn="h2"'])
def test_a_record_that_repeats_no_address_keeps_no_site(cluster: Cluster, value: str) -> None:
    settled(cluster)
    other = wants_to_move(cluster)
    cluster.target.edit(ZONE, f"{FIRST}.", "HTTPS", 60, [value])
    cluster.night()
    assert cluster.is_on(FIRST) == [other]


def test_who_lets_a_site_move_without_its_hints_is_told_that_they_stay(cluster: Cluster) -> None:
    settled(cluster)
    other = wants_to_move(cluster)
    cluster.target.edit(ZONE, f"{FIRST}.", "HTTPS", 60, ['1 . ipv4hint="192.0.2.1"'])
    cluster.rules = replace(cluster.rules, dependents=Dependents("warn"))
    plan = cluster.night()
    assert cluster.is_on(FIRST) == [other]
    assert f"browsers are told for {FIRST}" in said(plan, LEFT_BEHIND)
    assert not [note for note in plan.notes if note.startswith(MOVED_ALONG)]


@pytest.mark.parametrize(
    ("owner", "kind", "value", "word"),
    [
        ("www", "CNAME", f"{FIRST}.", "1 CNAME that leads to a site"),
        ("a", "TXT", "v=spf1 a -all", "who may send mail changes"),
        ("a", "CAA", '0 issue ";"', "certificates are bound"),
    ],
)
def test_what_carries_nothing_moves_along_and_is_said(
    cluster: Cluster, owner: str, kind: str, value: str, word: str
) -> None:
    settled(cluster)
    other = wants_to_move(cluster)
    cluster.target.edit(ZONE, f"{owner}.{ZONE}", kind, 60, [value])
    assert said(cluster.night(), word)
    assert cluster.is_on(FIRST) == [other]


def test_a_site_that_may_get_mail_at_its_address_moves_and_that_is_said(cluster: Cluster) -> None:
    settled(cluster)
    other = wants_to_move(cluster)
    cluster.target.edit(ZONE, f"{FIRST}.", "TXT", 60, ["v=spf1 ip4:192.0.2.9 -all"])
    plan = cluster.night()
    assert cluster.is_on(FIRST) == [other]
    assert f"mail for {FIRST}, if any comes" in said(plan, "mail may move along")
    (one,) = plan.zone_plans[0].leaning
    assert (one.kind, one.stays) == ("A", False)


@pytest.mark.parametrize("name", ["mail", "mail.eu"])
def test_mail_on_a_name_that_a_wildcard_leads_to_a_site_keeps_it(
    cluster: Cluster, name: str
) -> None:
    settled(cluster)
    here = cluster.is_on(FIRST)
    wants_to_move(cluster)
    cluster.target.edit(ZONE, f"*.{FIRST}.", "CNAME", 60, [f"{FIRST}."])
    cluster.target.edit(ZONE, f"{FIRST}.", "MX", 60, [f"10 {name}.{FIRST}."])
    plan = cluster.night()
    assert cluster.is_on(FIRST) == here
    assert f"(MX 10 {name}.{FIRST}. by {FIRST}.)" in said(plan, "left where they are")


@pytest.mark.parametrize("where", ["everywhere", "zones", "sites"])
@pytest.mark.parametrize("what", ["warn", "ignore"])
def test_who_lets_a_site_move_with_its_mail_has_it_moved(
    cluster: Cluster, where: str, what: WhatToDo
) -> None:
    ways = {
        "everywhere": Dependents(what),
        "zones": Dependents(zones={ZONE: what}),
        "sites": Dependents(zones={ZONE: "refuse"}, sites={FIRST: what}),
    }
    settled(cluster)
    other = wants_to_move(cluster)
    with_mail(cluster)
    cluster.rules = replace(cluster.rules, dependents=ways[where])
    plan = cluster.night()
    assert cluster.is_on(FIRST) == [other]
    told = [note for note in plan.notes if f"mail for {FIRST}" in note]
    assert len(told) == (what == "warn")
    assert bool(plan.zone_plans[0].leaning) == (what == "warn")


@pytest.mark.parametrize("target", ["mail.hosting.example", "alias.hosting.example"])
def test_a_name_that_mail_comes_to_stays_while_its_site_moves(
    cluster: Cluster, target: str
) -> None:
    others = (OtherName(FIRST, "mail.hosting.example", written=True),)
    cluster.facts = replace(cluster.facts, others=others)
    cluster.rules = replace(cluster.rules, follow=True)
    settled(cluster)
    mail = at(cluster, "mail.hosting.example")
    there = wants_to_move(cluster)
    alias = "alias.hosting.example."
    cluster.target.edit(ZONE, alias, "CNAME", 60, ["mail.hosting.example."])
    cluster.target.edit(ZONE, "shop.hosting.example.", "MX", 60, [f"10 {target}."])
    for _ in range(2):
        plan = cluster.night()
        assert cluster.is_on(FIRST) == [there]
        assert at(cluster, "mail.hosting.example") == mail
        assert not any(one.leaning for one in plan.zone_plans)
        assert not any("moves along" in note for note in plan.notes)
        note = said(plan, "left where it is while its site moves")
        assert "mail.hosting.example (at n" in note
        assert "would take along mail for shop.hosting.example (MX 10 " in note
    cluster.rules = replace(cluster.rules, dependents=Dependents("warn"))
    plan = cluster.night()
    assert at(cluster, "mail.hosting.example") == at(cluster) != mail
    note = said(plan, "moves along with sites")
    assert note.endswith("with mail.hosting.example")


def test_mail_with_an_address_of_its_own_keeps_no_site(cluster: Cluster) -> None:
    """This is what people are told to do."""
    settled(cluster)
    other = wants_to_move(cluster)
    cluster.target.edit(ZONE, f"mail.{ZONE}", "A", 60, ["192.0.2.1"])
    cluster.target.edit(ZONE, f"{FIRST}.", "MX", 60, [f"10 mail.{ZONE}"])
    cluster.night()
    assert cluster.is_on(FIRST) == [other]


def test_a_name_without_an_address_gets_one_whatever_leans_on_it(cluster: Cluster) -> None:
    with_mail(cluster)
    cluster.night()
    assert cluster.is_on(FIRST)


def test_every_site_may_stay_and_the_plan_still_comes(cluster: Cluster) -> None:
    cluster.night()
    before = cluster.store.placement()[1]
    for site in cluster.sites:
        with_mail(cluster, site)
    plan = cluster.night()
    assert not plan.moves
    after = cluster.store.placement()[1]
    pd.testing.assert_frame_equal(
        after.sort_values("site", ignore_index=True), before.sort_values("site", ignore_index=True)
    )


def test_a_first_partition_begins_with_such_sites_where_they_are(cluster: Cluster) -> None:
    """Taken over or not: nobody carries their mail away."""
    cluster.rules = replace(cluster.rules, adopt=True)
    for site in cluster.sites:
        cluster.target.edit(ZONE, f"{site}.", "A", 60, ["192.0.2.1"])
    with_mail(cluster)
    cluster.night()
    assert cluster.is_on(FIRST) == ["n1"]


def test_doors_lead_its_visitors_and_its_mail_stays(cluster: Cluster) -> None:
    cluster.rules = replace(cluster.rules, publishing=Publishing("doors+dns"))
    settled(cluster)
    address = at(cluster)
    other = wants_to_move(cluster)
    with_mail(cluster)
    cluster.night()
    assert cluster.is_on(FIRST) == [other]
    assert at(cluster) == address


def test_with_doors_alone_nothing_leans_on_anything(cluster: Cluster) -> None:
    settled(cluster)
    cluster.rules = replace(cluster.rules, publishing=Publishing("doors"))
    other = wants_to_move(cluster)
    with_mail(cluster)
    plan = cluster.night()
    assert cluster.is_on(FIRST) == [other]
    assert not any("left where they are" in note for note in plan.notes)
    assert not any("moves along" in note for note in plan.notes)


def at(cluster: Cluster, site: str = FIRST) -> list[str]:
    found = cluster.target.read(ZONE, [f"{site}."]).records
    return sorted(map(str, found["value"]))


def in_state(cluster: Cluster, node: str, state: NodeState) -> None:
    cluster.facts = replace(
        cluster.facts,
        nodes=tuple(
            replace(one, state=state) if one.name == node else one for one in cluster.facts.nodes
        ),
    )


def test_at_a_node_that_is_drained_it_stays_and_comes_back_with_the_node(cluster: Cluster) -> None:
    settled(cluster)
    (here,) = cluster.is_on(FIRST)
    address = at(cluster)
    with_mail(cluster)
    in_state(cluster, here, "draining")
    plan = cluster.night()
    assert MAIL in said(plan, LEANING)
    assert FIRST in immovable_in(plan, cluster.facts, cluster.rules)
    assert at(cluster) == address
    assert all(site == FIRST or here not in cluster.is_on(site) for site in cluster.sites)
    in_state(cluster, here, "active")
    cluster.night()
    assert cluster.is_on(FIRST) == [here]


def fail_over(cluster: Cluster, dead: str) -> Proposal:
    in_state(cluster, dead, "down")
    base, placement = cluster.store.placement()
    return propose_plan.fail_over(
        replace(cluster.facts, base=base, placement=placement),
        cluster.rules,
        dead,
        publisher=cluster.target,
        now=NOW,
    )


@pytest.mark.parametrize("drained", [False, True])
def test_off_a_dead_node_it_moves_with_its_mail_and_that_is_said(
    cluster: Cluster, drained: bool
) -> None:
    """Its mail is dead there, too."""
    settled(cluster)
    (here,) = cluster.is_on(FIRST)
    with_mail(cluster)
    if drained:
        in_state(cluster, here, "draining")
    cluster.night()
    made = fail_over(cluster, here)
    assert f"{FIRST}." in changed(made.plan)
    assert f"mail for {FIRST}" in said(made.plan, "moves along with sites")
    assert here not in made.placement.loc[made.placement["site"] == FIRST, "node"].tolist()


def test_a_way_back_does_not_take_mail_along(cluster: Cluster) -> None:
    first = settled(cluster).store.placement()[1]
    other = wants_to_move(cluster)
    cluster.night()
    with_mail(cluster)
    base, placement = cluster.store.placement()
    made = given_partition.go_back(
        replace(cluster.facts, base=base, placement=placement, pins=()),
        cluster.rules,
        first,
        of_plan="P",
        scratch=SOLVERS["scratch"],
        publisher=cluster.target,
        now=NOW,
    )
    assert f"{FIRST}." not in changed(made.plan)
    on = made.placement.loc[made.placement["site"] == FIRST, "node"].tolist()
    assert on == [other]


def test_whoever_has_no_such_records_has_the_plan_that_he_had(cluster: Cluster) -> None:
    settled(cluster)
    wants_to_move(cluster)
    digests = set()
    for what in ("refuse", "warn", "ignore"):
        cluster.rules = replace(cluster.rules, dependents=Dependents(what))
        made = cluster.propose().plan
        digests.add(made.digest)
        assert all(one.leaning == () for one in made.zone_plans)
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("owner", "kind", "value"),
    [(FIRST, "MX", f"10 {FIRST}."), ("_sip._tcp.hosting.example", "SRV", f"0 5 5060 {FIRST}.")],
)
def test_mail_that_came_between_a_plan_and_its_application_is_not_moved(
    cluster: Cluster, owner: str, kind: str, value: str
) -> None:
    settled(cluster)
    address = at(cluster)
    wants_to_move(cluster)
    made = cluster.propose()
    cluster.target.edit(ZONE, f"{owner}.", kind, 60, [value])
    with pytest.raises(Stale, match="would take along"):
        cluster.carry_out(made)
    assert at(cluster) == address


def test_a_site_that_may_move_with_its_mail_moves_whenever_that_came(cluster: Cluster) -> None:
    settled(cluster)
    address = at(cluster)
    cluster.rules = replace(cluster.rules, dependents=Dependents("warn"))
    wants_to_move(cluster)
    made = cluster.propose()
    with_mail(cluster)
    cluster.carry_out(made)
    assert at(cluster) != address


class Untransferred(MemoryPublisher):
    """Nothing of what leans on as many names as the zone has is said; or on none at all."""

    most = 7

    def read(
        self,
        zone: str,
        names: Sequence[str],
        also: Sequence[str] = (),
        *,
        pointed: Pointed | None = None,
        hints: Collection[HintedSet] = (),
    ) -> ZoneState:
        found = super().read(zone, names, also, pointed=pointed, hints=hints)
        own = [one for one in found.pointing or () if one.owner in names]
        few = pointed is not None and len(names) <= self.most
        return replace(found, transferred=False, pointing=tuple(own) if few else None)


@pytest.mark.parametrize("mail", [1, 3, 8])
def test_of_a_zone_that_cannot_be_transferred_those_that_move_are_asked_for(
    cluster: Cluster, profiles: Profiles, mail: int
) -> None:
    """However many sites have mail: none of them moves, and no site moves unasked."""
    cluster.target = Untransferred([ZONE], "me")
    settled(cluster)
    before = {site: at(cluster, site) for site in cluster.sites}
    for site in cluster.sites[:mail]:
        with_mail(cluster, site)
    loads = {site: (1000 if site < "c" else 10, 100) for site in cluster.sites}
    cluster.facts = replace(cluster.facts, profiles=profiles(loads))
    pins = tuple(
        Pin(site, not_on=(node,))
        for site in cluster.sites
        for node in cluster.is_on(site)
        if site < "e"
    )
    cluster.facts = replace(cluster.facts, pins=pins)
    plan = cluster.night()
    after = {site: at(cluster, site) for site in cluster.sites}
    stayed = [site for site in cluster.sites if before[site] == after[site]]
    assert set(cluster.sites[:mail]) <= set(stayed)
    if mail < 4:
        assert set(cluster.sites[mail:4]) - set(stayed)
        assert said(plan, "this zone cannot be transferred")


@pytest.mark.slow
def test_where_nobody_can_say_what_leans_on_names_none_of_them_moves(cluster: Cluster) -> None:
    cluster.target = Untransferred([ZONE], "me")
    cluster.target.most = 0
    settled(cluster)
    address = at(cluster)
    other = wants_to_move(cluster)
    plan = cluster.night()
    assert at(cluster) == address
    assert NOBODY_KNOWS in said(plan, LEANING)
    cluster.rules = replace(cluster.rules, dependents=Dependents("warn"))
    cluster.night()
    assert cluster.is_on(FIRST) == [other]
