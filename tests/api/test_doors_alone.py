"""The whole loop of a cluster of which no zone is ours, without a word of DNS in its settings, and
of one of which some names are: nights, wishes, a drained node, a dead one and its return, rollback,
report. Real HAProxies and followers: what doors are asked for is what the partition in force says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from flex.errors import BadSetting
from flex.model.led_by_doors_or_dns import Way
from flex.routing import haproxy_program
from flex.store import migrate
from flex_api.run_nodes_on_loopback import free_ports
from tests.api.torn_agreement import look, placed
from tests.api.torn_cluster import TornCluster

if TYPE_CHECKING:
    from tests.api.conftest import Installation, Said

pytestmark = pytest.mark.real

ADDRESSES = {"n1": "127.0.0.41", "n2": "127.0.0.42", "n3": "127.0.0.43"}
Make = Callable[[str | None, str], TornCluster]


@pytest.fixture
def make(installation: Installation, request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes the cluster, with what is said of DNS and of how sites are published."""
    try:
        found = haproxy_program.program()
    except BadSetting as error:
        pytest.skip(str(error))
    if request.param == "postgresql":
        url = request.getfixturevalue("cluster").new_database()
        migrate.upgrade(url)
        installation.extra += f'[database]\nurl = "{url}"\n'
    with ExitStack() as stack:
        ports = stack.enter_context(free_ports([*ADDRESSES.values(), "127.0.0.1"]))

        def begun(dns: str | None, publish: str) -> TornCluster:
            made = TornCluster(installation, found, ports, stack, dns, publish)
            made.begin(ADDRESSES)
            return made

        yield begun


def well(said: Said) -> Said:
    assert said.code == 0, (said.code, said.out, said.err)
    return said


def day(cluster: TornCluster, number: int) -> None:
    """Another day of logs."""
    cluster.installation.traffic(number)
    cluster.write_settings(ADDRESSES)


@pytest.mark.parametrize(
    "make", ["sqlite", pytest.param("postgresql", marks=pytest.mark.torture)], indirect=True
)
@pytest.mark.slow
def test_a_cluster_of_which_no_zone_is_ours_lives_by_doors_alone(make: Make) -> None:
    cluster = make(None, 'publish = "doors"\n')
    given, serial = cluster.installation, cluster.installation.serial()
    known: dict[str, Way] = dict.fromkeys(placed(cluster), "doors")
    assert len(known) > 10
    look(cluster, known)
    for number in (2, 3):
        day(cluster, number)
        night = well(given.night(number))
        assert night.json["plan"]["state"] in ("applied", "nothing to do")
        assert look(cluster, known).keys() == known.keys()
    # What is verified is what doors go by.
    verified = well(given.flex("verify"))
    assert "name server" not in verified.out.lower()

    site = min(site for site, nodes in placed(cluster).items() if len(nodes) == 1)
    (here,) = placed(cluster)[site]
    there = min(ADDRESSES.keys() - {here})
    well(given.flex("sites", "pin", site, "--nodes", there))
    assert well(given.night(3)).json["plan"]["moves"]
    assert look(cluster, known)[site] == {there}
    told = well(given.flex("-o", "json", "explain", site))
    assert told.json["nodes"] == [there]

    well(given.flex("sites", "unpin", site))
    well(given.flex("sites", "pin", site, "--min-replicas", "2"))
    well(given.night(3))
    assert len(look(cluster, known)[site]) == 2
    well(given.flex("sites", "unpin", site))

    before = placed(cluster)
    drained = well(given.flex("nodes", "drain", "n2"))
    assert drained.out
    well(given.night(3))
    assert all("n2" not in nodes for nodes in look(cluster, known).values())
    well(given.flex("nodes", "undrain", "n2"))

    back = well(given.flex("rollback", "--as-of", given.as_of(3)))
    assert back.out
    assert look(cluster, known) == before

    node = cluster.nodes["n3"]
    for what in ("haproxy", "web", "follower"):
        cluster.kill(node, what)
    down = given.flex("nodes", "down", "n3")
    assert down.code == 0, (down.code, down.err)
    assert "name server" not in down.out
    assert all("n3" not in nodes for nodes in look(cluster, known, "n3").values())
    cluster.start_web(node)
    cluster.start_haproxy(node)
    cluster.start_follower(node)
    well(given.flex("nodes", "up", "n3"))
    look(cluster, known)
    well(given.night(3))
    look(cluster, known)

    shown = well(given.flex("report", "--format", "md"))
    for words in (shown.out, verified.out, down.out, drained.out, back.out):
        assert "key" not in words.split()
    assert well(given.flex("history")).out
    assert well(given.flex("route", "show")).out
    assert given.flex("-o", "json", "doctor").json["checks"]
    # Nobody asked a name server for a change.
    assert given.serial() == serial


def of_site(site: str, way: str) -> str:
    return f'[[routing.site]]\nname = "{site}"\npublish = "{way}"\n'


# By kind of cluster: what is said of all, whether of the zone, and of a third of the sites each;
# None where nothing is.
MIXED: dict[str, tuple[Way, Way | None, list[Way | None]]] = {
    "most by both": ("doors+dns", None, ["doors", "dns", None]),
    "a zone by doors": ("doors+dns", "doors", [None, "dns", "doors+dns"]),
    "most by DNS": ("dns", None, [None, "doors", "doors+dns"]),
}


@pytest.mark.torture("postgresql-a zone by doors")
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        pytest.param("sqlite", "most by both", marks=pytest.mark.torture),
        ("postgresql", "a zone by doors"),
        ("sqlite", "most by DNS"),
    ],
    indirect=["make"],
)
@pytest.mark.slow
def test_where_some_names_are_ours_each_site_is_published_as_it_is_said(
    make: Make, installation: Installation, kind: str
) -> None:
    every, of_zone, of_sites = MIXED[kind]
    assert installation.hosting
    sites = sorted(installation.hosting.sites)
    publish, way_of = f'publish = "{every}"\n', dict.fromkeys(sites, of_zone or every)
    if of_zone:
        zone = installation.zone
        publish += f'[[routing.zone]]\nname = "{zone}"\npublish = "{of_zone}"\n'
    for number, site in enumerate(sites):
        if said := of_sites[number % 3]:
            publish += of_site(site, said)
            way_of[site] = said
    assert set(way_of.values()) == {"doors+dns", "doors", "dns"}
    cluster = make("", publish)
    given = cluster.installation
    look(cluster, way_of)
    day(cluster, 2)
    well(given.night(2))
    before = look(cluster, way_of)

    moved = {}
    for way in ("doors+dns", "doors", "dns"):
        site = next(
            site
            for site in before
            if way_of[site] == way and len(before[site]) == 1 and site not in moved
        )
        moved[site] = min(ADDRESSES.keys() - before[site])
        well(given.flex("sites", "pin", site, "--nodes", moved[site]))
    well(given.night(2))
    after = look(cluster, way_of)
    assert {site: after[site] for site in moved} == {site: {node} for site, node in moved.items()}
    for site in moved:
        well(given.flex("sites", "unpin", site))
    well(given.flex("rollback", "--as-of", given.as_of(2)))
    assert look(cluster, way_of) == before

    node = cluster.nodes["n3"]
    for what in ("haproxy", "web", "follower"):
        cluster.kill(node, what)
    # Names that FLEX may not change in DNS are left there, and said.
    down = given.flex("nodes", "down", "n3")
    assert down.code in (0, 33), (down.code, down.err)
    without = look(cluster, way_of, "n3")
    assert all("n3" not in nodes for nodes in without.values())
    cluster.start_web(node)
    cluster.start_haproxy(node)
    cluster.start_follower(node)
    well(given.flex("nodes", "up", "n3"))
    # A night waits two seconds for nodes; its follower may only be starting.
    look(cluster, way_of)
    well(given.night(2))
    look(cluster, way_of)
    well(given.flex("verify"))
