"""Configurations: the same input gives the same bytes, HAProxy takes them, and nothing that a name
holds gets in.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.errors import BadInput, BadSetting
from flex.routing.haproxy import CONFIGURATION, HOSTS, ROUTED, files
from flex.routing.haproxy_program import HaproxyProgram, find_program, program, refusal, write
from flex.routing.member_pools import MOST_MEMBERS, LardLimits, Member, Pool, members
from flex.routing.ports_and_paths import Layout
from flex.routing.rules import RULES
from flex.routing.rules.popular_targets import sets_by_popularity

GOLDEN = Path(__file__).parents[1] / "data" / "routing"
NODES = {"n1": "192.0.2.1", "n2": "192.0.2.2", "n3": "2001:db8::3"}


def two_sites() -> list[Pool]:
    shop = Pool("shop.example", ("www.shop.example",), members(NODES))
    blog = Pool(
        "blog.example", (), members({"n1": "192.0.2.1", "n3": "2001:db8::3"}), "bounded_hash"
    )
    return [shop, blog]


@pytest.mark.parametrize("node", NODES)
def test_the_configuration_of_a_node_is_the_one_that_was_looked_at(node: str) -> None:
    layout = Layout(
        listen_tls=(":443",), certificates="/etc/flex/tls", check_path="/healthy", threads=2
    )
    for name, text in files(node, NODES, two_sites(), layout).items():
        golden = GOLDEN / f"{node}-{name}"
        if os.environ.get("FLEX_UPDATE"):
            golden.write_text(text, encoding="ascii")
        assert text == golden.read_text(encoding="ascii")


def test_the_order_in_which_sites_come_changes_nothing() -> None:
    there, back = (
        files("n1", NODES, pools, Layout()) for pools in (two_sites(), two_sites()[::-1])
    )
    assert there == back


def test_a_node_knows_only_the_sites_that_it_serves() -> None:
    made = files("n2", NODES, two_sites(), Layout())
    assert "blog" not in made[HOSTS]
    assert two_sites()[1].name not in made[CONFIGURATION]


def test_the_more_a_target_is_asked_for_the_more_members_it_has() -> None:
    four = members({f"n{number}": f"192.0.2.{number}" for number in range(1, 5)})
    sets = sets_by_popularity([10_000, 100, 10, 1], 1, four)
    assert [each.bit_count() for each in sets] == [4, 2, 1, 1]
    assert sets_by_popularity([5, 5], 5, four) == [1, 2]
    assert sets_by_popularity([], 1, four) == []
    away = [replace(four[0], leaving=True), *four[1:]]
    assert all(not each & 1 for each in sets_by_popularity([10_000, 100, 10, 1], 1, away))


@pytest.mark.parametrize("path", ["/a b", "/a\nb 3", "a", "/ä", "/" + "a" * 2001])
def test_a_popular_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(BadInput, match="path"):
        Pool("shop.example", (), members(NODES), popular=((path, 3),))


def test_with_a_bypass_web_servers_know_the_routed_names_and_say_who_visits() -> None:
    made = files("n1", NODES, two_sites(), Layout(bypass=True))
    assert made[ROUTED] == "blog.example 1;\nshop.example 1;\nwww.shop.example 1;\n"
    assert "forwardfor" not in made[CONFIGURATION]
    assert "X-Forwarded-Proto" not in made[CONFIGURATION]


@pytest.mark.real
@pytest.mark.parametrize("policy", RULES)
def test_haproxy_takes_every_policy_for_any_number_of_members(
    found: HaproxyProgram, tmp_path: Path, policy: str
) -> None:
    for number in (1, 2, 3, 8, MOST_MEMBERS):
        nodes = {f"n{i:02}": f"192.0.2.{i + 1}" for i in range(number)}
        pool = Pool("shop.example", (), members(nodes), policy)
        layout = Layout(
            directory=str(tmp_path),
            socket=str(tmp_path / "s"),
            check_path="/",
            proxy_protocol=number > 3,
        )
        write(files("n00", nodes, [pool], layout), tmp_path)
        assert refusal(found, tmp_path) == ""


@pytest.mark.real
def test_what_haproxy_has_against_a_configuration_is_one_line_without_paths(
    found: HaproxyProgram, tmp_path: Path
) -> None:
    made = files("n1", NODES, two_sites(), Layout(directory=str(tmp_path)))
    write(made | {CONFIGURATION: made[CONFIGURATION] + "nonsense\n"}, tmp_path)
    said = refusal(found, tmp_path)
    assert "nonsense" in said
    assert "\n" not in said
    assert str(tmp_path) not in said


def test_a_set_of_members_has_none_that_is_no_member_any_more() -> None:
    pool = Pool("shop.example", (), (Member("n1", "192.0.2.1", 0), Member("n4", "192.0.2.4", 3)))
    assert (
        "set-var(txn.set) sc_get_gpt(0,0),and(9)\n"
        in files("n1", NODES, [pool], Layout())[CONFIGURATION]
    )


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_name_gets_a_word_of_its_own_into_a_configuration(site: str, node: str) -> None:
    try:
        pool = Pool(site, (site,), (Member(node, "192.0.2.1", 0), Member("n2", "192.0.2.2", 1)))
    except BadInput:
        return
    made = files("n2", {node: "192.0.2.1", "n2": "192.0.2.2"}, [pool], Layout())
    plain = files(
        "n2", {"n1": "192.0.2.1", "n2": "192.0.2.2"}, two_members("plain.example"), Layout()
    )
    for name in (CONFIGURATION, HOSTS):
        assert [len(line.split()) for line in made[name].splitlines()] == [
            len(line.split()) for line in plain[name].splitlines()
        ]


def two_members(site: str) -> list[Pool]:
    return [Pool(site, (), (Member("n1", "192.0.2.1", 0), Member("n2", "192.0.2.2", 1)))]


@pytest.mark.parametrize(
    "site",
    [
        "a b.example",
        "a\n    server x 192.0.2.9:80",
        "a.example # b",
        "",
        "-a.example",
        "A.example",
        "ä.example",
        "a" * 300,
    ],
)
def test_a_name_that_is_none_is_refused_in_words(site: str) -> None:
    with pytest.raises(BadInput, match="host name"):
        Pool(site, (), members(NODES))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"socket": "/run/x\nglobal"}, "configuration"),
        ({"listen": (":80 ssl",)}, "configuration"),
        ({"listen_tls": (":443",)}, "certificates"),
        ({"origin_port": 0}, "port"),
    ],
)
def test_a_layout_that_cannot_be_written_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Layout(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("limits", [(0, 65), (66, 65), (25, 10**6)])
def test_limits_that_let_nobody_in_are_refused(limits: tuple[int, int]) -> None:
    with pytest.raises(BadInput, match="limits"):
        LardLimits(*limits)


def test_two_sites_with_the_same_host_name_are_refused() -> None:
    with pytest.raises(BadInput, match=r"www\.shop\.example"):
        files("n1", NODES, [*two_sites(), Pool("www.shop.example", (), members(NODES))], Layout())


@pytest.mark.parametrize("ending", ["php", ".p hp", ".php\n", "", ".", ".php }"])
def test_an_ending_that_is_none_is_refused(ending: str) -> None:
    with pytest.raises(BadInput, match="end in"):
        Pool("shop.example", (), members(NODES), endings=(ending,))


def test_more_members_than_a_set_can_hold_are_refused() -> None:
    with pytest.raises(BadInput, match="at most 16"):
        members({f"n{number}": "192.0.2.1" for number in range(17)})


def test_the_admission_limit_is_the_papers_and_is_shared_by_those_that_are_up() -> None:
    assert LardLimits().most_under_way(4) == 3 * 65 + 25 - 1
    # A third of the limits for each of three distributors: 8 and 21.
    text = files("n1", NODES, two_sites(), Layout())[CONFIGURATION]
    doors = [
        line
        for line in text.splitlines()
        if "abns@" in line and "track" in line and two_sites()[0].name in line
    ]
    assert [f"maxconn {(2 * 21 + 8 - 1) // 3} " in line for line in doors] == [True] * 3


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 1", "version"),
        ("echo HAProxy version 2.5.14-1 2023/01/01", "2.5.14"),
        ("echo HA-Proxy version 2.2.9-2+deb11u6 2023/12/16", "is 2.2.9"),
        ("echo HAProxy version 2.5-dev7 2021/09/12", "is 2.5.0"),
        ("echo Apache", "version"),
    ],
)
def test_a_haproxy_that_is_none_or_too_old_is_one_clear_line(
    tmp_path: Path, script: str, said: str
) -> None:
    fake = tmp_path / "haproxy"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    with pytest.raises(BadSetting, match=said):
        program(str(fake))
    with pytest.raises(BadSetting, match=said):
        find_program(str(tmp_path))
    assert find_program(str(tmp_path / "nowhere")) is None
    with pytest.raises(BadSetting, match="does not run"):
        program(str(tmp_path / "missing"))
