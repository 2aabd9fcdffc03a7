"""What BIND has to be told, as the lines to paste into named.conf."""

from __future__ import annotations

from collections.abc import Sequence

from flex.marker import LABEL

# The secondaries hear of each change at once, not up to five seconds later, and many zones do not wait for each other:
# at 20 a second the last of 2,000 would wait for a hundred. named sends ten at a time: 1,250 a second is each 8 ms. It
# waits for such times by a clock that ticks each 4 ms, and busily until the next tick: at times between ticks, or at a
# higher rate, its timer takes most of a core. A zone of which half changes is sent whole, as small ones are each time:
# for that a secondary writes no journal, which costs it two waits for the disk. Each zone is fetched by a connection of
# its own; one that finds ten others waiting, which is all that named has room for by itself, comes a second later.
PRIMARY_OPTIONS = (
    "notify-delay 0;\nnotify-rate 1250;\nstartup-notify-rate 1250;\nmax-ixfr-ratio 50%;\n"
    "transfers-out 1000;\ntcp-clients 1500;\ntcp-listen-queue 1000;"
)
SECONDARY_OPTIONS = "serial-query-rate 1250;\ntransfers-in 100;\ntransfers-per-ns 100;"


def asked_by_tcp(primary: str) -> str:
    """For a secondary's questions for serials, beside its options.

    By UDP each goes out from a port drawn by lot. Of two from the same port one never gets its answer, and asks again
    after five seconds; of 2,000 zones at once that meets some.
    """
    return f"server {primary} {{ tcp-only yes; }};\n"


# What name servers are called, where nobody says how.
USUAL = ("ns", "ns1", "ns2", "ns3", "ns4")


def update_logging(to: str = "syslog daemon") -> str:
    """What went wrong is logged, each record that is changed is not.

    Those are two lines for each address that is replaced, up to a fifth of all that named does for it.
    """
    return f"""\
logging {{
  channel flex_troubles {{ {to}; severity notice; }};
  category update {{ flex_troubles; }};
}};
"""


def update_policy(zone: str, key_name: str, name_servers: Sequence[str] = (), *, own_name: bool = False) -> str:
    """The rights FLEX needs in a zone and no others: the first rule that fits decides.

    The zone's own name servers (the usual names, when none are given) are denied by name: BIND would let them be
    replaced. So is the zone's own name, unless a site is called so: then its addresses are granted, never its SOA, NS
    or MX. Limits such as A(3) are left out on purpose: BIND drops what is over them and reports success.
    """
    kept = [*(name_servers or (f"{name}.{zone}" for name in USUAL)), *(() if own_name else (zone,))]
    rules = [
        *(f"deny {key_name} name {name} ANY;" for name in kept),
        f"grant {key_name} subdomain {LABEL}.{zone} TXT;",
        f"grant {key_name} zonesub A AAAA;",
    ]
    return "update-policy {\n" + "".join(f"  {rule}\n" for rule in rules) + "};\n"


def bind_snippet(zone: str, key_name: str, reader_name: str, name_servers: Sequence[str] = ()) -> str:
    """The lines for named.conf, with the reasons beside them. One key changes the zone, the other reads it."""
    policy = _indented(update_policy(zone, key_name, name_servers), "  ")
    return f"""\
include "/etc/bind/{key_name}.key";   // both owned by the user named runs as, mode 640
include "/etc/bind/{reader_name}.key";

// In options: the secondaries hear of each change at once, not up to five seconds later, and many zones do not wait for
// each other at 20 a second, nor for a connection. A zone of which half changes is sent whole: that costs a secondary
// no wait for its disk.
{_indented(PRIMARY_OPTIONS, "//   ")}\
// In the options of each secondary, which holds the key {reader_name} too: a NOTIFY can get lost, and the secondary is
// behind then until its refresh timer runs out. FLEX sends another one to those that do not follow.
{_indented(SECONDARY_OPTIONS, "//   ")}\
//   allow-notify {{ key {reader_name}; }};
// Beside the options of each secondary, with the primary's address: by UDP two of many questions for serials may go out
// from the same port, and the answer to one of them gets lost.
{_indented(asked_by_tcp("192.0.2.1"), "//   ")}\
// As a clause of its own, or these two lines in the one you have: else named logs every record that is changed.
{_indented(update_logging(), "//   ")}

// Run the primary with twice as many threads as it has cores, as `-n 8` on four; Debian has OPTIONS for that in
// /etc/default/named. The thread that works on a change answers nobody meanwhile: of two threads every second question
// waits for it, of four every fourth.

zone "{zone}" {{
  type primary;
  file "/var/lib/bind/{zone}db";        // in a directory that named may write: the journal lies beside it
  // A signed zone must be signed in place. With inline-signing, bursts of changes can stay unserved:
  //   dnssec-policy default; inline-signing no;
  // FLEX reads the zone by transfer, with a key that may do nothing else; without it FLEX asks for each of its names.
  allow-transfer {{ key {reader_name}; }};   // beside those of your secondaries
  // The key may change A and AAAA of every name in the zone but those that are denied, and FLEX's own markers.
  // One deny line for every name server whose address is in this zone; `flex doctor` tries whether one is missing.
  // Take the line of {zone} itself out where a site is called so.
{policy}}};
"""


def _indented(text: str, by: str) -> str:
    return "".join(f"{by}{line}\n" for line in text.splitlines())
