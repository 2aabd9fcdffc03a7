"""What BIND has to be told, as lines to paste into named.conf.

Takes zones and the names of keys. Returns text. Does not contain a secret: named reads the keys
from its own files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flex.zones.marker import LABEL
from flex_dns.server_configuration.primary_setup_values import KeyFile, PrimarySetup, ZoneRights

# Options of the primary, for some thousands of zones that change at once.
# notify-delay: the secondaries hear of each change at once, not up to five seconds later.
# notify-rate: messages a second. At named's own 20 the last of 2,000 zones would wait for 100
# seconds. named sends ten at a time, so 1,250 a second is ten in each 8 ms. It counts time by a
# clock that ticks each 4 ms and waits busily for the next tick: at times between ticks, or at a
# higher rate, its timer takes most of a core.
# max-ixfr-ratio: a zone of which half changes is sent whole, as small zones are each time. The
# secondary then writes no journal, which saves it two waits for the disk.
# tcp-listen-queue: each zone is fetched by a connection of its own. Without this named has room for
# ten that wait, and any other one comes a second later.
PRIMARY_OPTIONS = (
    "notify-delay 0;\nnotify-rate 1250;\nstartup-notify-rate 1250;\nmax-ixfr-ratio 50%;\n"
    "transfers-out 1000;\ntcp-clients 1500;\ntcp-listen-queue 1000;"
)
# Options of a secondary, so that it asks for and fetches many zones at a time: questions for
# serials a second (as notify-rate above), transfers in all, and transfers from one primary. The
# last two are guesses.
SECONDARY_OPTIONS = "serial-query-rate 1250;\ntransfers-in 100;\ntransfers-per-ns 100;"

# Tells a reader how to get all of this for the zones in the settings.
PRINTED = "`flex config named` prints all of it, `flex config knot` the same for Knot DNS"


def tcp_only_clause(primary: str) -> str:
    """For a secondary's questions for serials, beside its options.

    By UDP each goes out from a port drawn by lot. Where two go out from the same port, one never
    gets its answer, and asks again after five seconds; among 2,000 zones at once that meets some.
    """
    return f"server {primary} {{ tcp-only yes; }};\n"


def update_logging(to: str = "syslog daemon") -> str:
    """What went wrong is logged, each record that is changed is not.

    Those are two lines for each address that is replaced, up to a fifth of all that named does for
    it.
    """
    return f"""\
logging {{
  channel flex_troubles {{ {to}; severity notice; }};
  category update {{ flex_troubles; }};
}};
"""


def update_policy(
    zone: str,
    key_name: str,
    name_servers: Sequence[str] = (),
    *,
    own_name: bool = False,
    hints: bool = False,
) -> str:
    """The rights FLEX needs in a zone and no others: the first rule that fits decides.

    The zone's own name servers (the usual names, when none are given) are denied by name: BIND
    would let them be replaced. So is the zone's own name, unless a site is called so: then its
    addresses are granted, never its SOA, NS or MX. Limits such as A(3) are left out on purpose:
    BIND drops what is over them and reports success.
    """
    return policy_of(
        ZoneRights(zone, tuple(name_servers), own_name=own_name, hints=hints), [key_name]
    )


def policy_of(zone: ZoneRights, keys: Sequence[str]) -> str:
    """The same for all keys that may change the zone. What lies in a zone of its own is denied
    here.
    """
    rules = [rule for key in keys for rule in _rules(zone, key)]
    return "update-policy {\n" + "".join(f"  {rule}\n" for rule in rules) + "};\n"


def _rules(setup: ZoneRights, key: str) -> Iterator[str]:
    for name in setup.denied_names:
        yield f"deny {key} name {name} ANY;"
    for zone in setup.below:
        yield f"deny {key} subdomain {zone} ANY;"
    yield f"grant {key} subdomain {LABEL}.{setup.zone} TXT;"
    yield f"grant {key} zonesub {' '.join(setup.types)};"


def bind_snippet(zone: str, key_name: str, reader_name: str) -> str:
    """The lines for named.conf, with the reasons beside them. One key changes the zone, the other
    reads it.
    """
    return configuration(
        PrimarySetup(
            keys=KeyFile((key_name,)),
            reader=KeyFile((reader_name,)),
            zones=(ZoneRights(zone),),
        )
    )


def configuration(setup: PrimarySetup) -> str:
    """The lines for the named.conf of one primary, with the reasons beside them."""
    return (
        _keys(setup)
        + _options_as_comments(setup)
        + "".join(_zone(setup, zone) for zone in setup.zones)
    )


def _keys(setup: PrimarySetup) -> str:
    remarks = [f"{'both ' if setup.reader else ''}owned by the user named runs as, mode 640"]
    lines = []
    for file in setup.files:
        comment = "; ".join([*remarks, *([f"a copy of {file.path}"] if file.path else [])])
        lines.append(
            f'include "/etc/bind/{file.names[0]}.key";{f"   // {comment}" if comment else ""}\n'
        )
        remarks = []
    return "".join(lines)


def _options_as_comments(setup: PrimarySetup) -> str:
    """What stands beside the zones, as comments: most of it is there once, in a clause that
    everybody has already.
    """
    reader = setup.readers[0]
    return f"""
// In options: the secondaries hear of each change at once, not up to five seconds later, and many
// zones do not wait for each other at 20 a second, nor for a connection. A zone of which half
// changes is sent whole: that costs a secondary no wait for its disk.
{_indent(PRIMARY_OPTIONS, "//   ")}\
// In the options of each secondary, which holds the key {reader} too: a NOTIFY can get lost,
// and the secondary is behind then until its refresh timer runs out. FLEX sends another one to
// those that do not follow.
{_indent(SECONDARY_OPTIONS, "//   ")}\
//   allow-notify {{ key {setup.readers[0]}; }};
// Beside the options of each secondary, with the primary's address: by UDP two of many questions
// for serials may go out from the same port, and the answer to one of them gets lost.
{_indent(tcp_only_clause(setup.address), "//   ")}\
// As a clause of its own, or these two lines in the one you have: else named logs every record that
// is changed.
{_indent(update_logging(), "//   ")}

// Run the primary with twice as many threads as it has cores, as `-n 8` on four; Debian has OPTIONS
// for that in /etc/default/named. The thread that works on a change answers nobody meanwhile: where
// there are two threads, every second question waits for it; where there are four, every fourth.
"""


def _zone(setup: PrimarySetup, zone: ZoneRights) -> str:
    """A zone that is there already keeps its clause: what is in this one goes into it."""
    may_read = " ".join(f"key {name};" for name in setup.readers)
    apex = f"A site is called {zone.zone}: its addresses may be changed." if zone.own_name else ""
    return f"""
zone "{zone.zone}" {{
  type primary;
  // In a directory that named may write: the journal lies beside it.
  file "/var/lib/bind/{zone.zone}db";
  // A signed zone must be signed in place. With inline-signing, bursts of changes can stay
  // unserved:
  //   dnssec-policy default; inline-signing no;
  // FLEX reads the zone by transfer, with a key that may do nothing else; without it FLEX asks for
  // each of its names.
  allow-transfer {{ {may_read} }};   // beside those of your secondaries
  // The key may change {zone.types_in_words} of every name in the zone but those that are denied,
  // and FLEX's own markers. One deny line for every name server whose address is in this zone;
  // `flex doctor` tries whether one is missing.
  // {apex or f"Take the line of {zone.zone} itself out where a site is called so."}
{_indent(policy_of(zone, setup.keys.names), "  ")}}};
"""


def _indent(text: str, by: str) -> str:
    return "".join(f"{by}{line}\n" for line in text.splitlines())
