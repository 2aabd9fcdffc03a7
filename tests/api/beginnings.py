"""Where tests begin: an installation's folder and its zone, brought there once in each process of
tests and put back as they were for every further test.

Steps are a function that takes an installation to where a test begins. They are known by that
function and by every byte of the folder before them: a test that has changed a setting is taken
there itself. What steps do to the machine beside folder and zone is not put back.
"""

from __future__ import annotations

import copy
import hashlib
import shutil
import time
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.update
import dns.xfr
import dns.zone
import numpy as np

from flex_dns.private.private_named import LOOPBACK, PrivateNamed
from flex_dns.wire.session import Session

if TYPE_CHECKING:
    from tests.api.conftest import Installation

Given = TypeVar("Given")
# A record set of a zone: its name, type, TTL and values.
RecordSet: TypeAlias = tuple[str, str, int, tuple[str, ...]]
# What a zone has from its file on: nobody may change it.
FIXED_TYPES = (dns.rdatatype.SOA, dns.rdatatype.NS)
FIXED_NAME = "ns1"
# Seconds for the transfer of one zone, far beyond what it takes on a busy machine.
TRANSFER_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Beginning:
    """What steps came to, and what they gave back."""

    folder: Path
    zone: frozenset[RecordSet]
    rng: np.random.Generator
    calls: int
    mode: str
    extra: str
    # Any: steps give back what they like.
    given: Any


@dataclass(slots=True)
class Home:
    """The folder and the zone of all tests of a process, one after the other."""

    folder: Path
    aside: Path
    zone: str
    server: PrivateNamed
    kept: dict[tuple[object, str], Beginning] = field(default_factory=dict)

    def clear(self) -> None:
        # A server of the test before may write there while it ends.
        end = time.monotonic() + 60
        while self.folder.exists():
            # In the end it says what cannot be removed.
            shutil.rmtree(self.folder, ignore_errors=time.monotonic() < end)
        self.folder.mkdir()
        self._put_back(frozenset())

    def begin(self, installation: Installation, steps: Callable[[Installation], Given]) -> Given:
        key = (steps, _digest(self.folder))
        if key not in self.kept:
            made = steps(installation)
            self.kept[key] = self._keep(installation, made)
            return made
        found = self.kept[key]
        shutil.rmtree(self.folder)
        shutil.copytree(found.folder, self.folder, symlinks=True)
        self._put_back(found.zone)
        installation.rng, installation.calls = copy.deepcopy(found.rng), found.calls
        installation.mode, installation.extra = found.mode, found.extra
        given: Given = copy.deepcopy(found.given)
        return given

    def _keep(self, installation: Installation, given: object) -> Beginning:
        folder = self.aside / str(len(self.kept))
        shutil.copytree(self.folder, folder, symlinks=True)
        return Beginning(
            folder,
            self._sets(),
            copy.deepcopy(installation.rng),
            installation.calls,
            installation.mode,
            installation.extra,
            copy.deepcopy(given),
        )

    def _put_back(self, wanted: Set[RecordSet]) -> None:
        there = self._sets()
        update = dns.update.UpdateMessage(self.zone)
        for name, kind, _, _ in there - wanted:
            update.delete(name, kind)
        for name, kind, ttl, values in wanted - there:
            update.replace(name, ttl, kind, *values)
        if not update.update:
            return
        with Session(self.server.server) as session:
            said = session.ask(update, "putting a zone back").rcode()
        assert said == dns.rcode.NOERROR

    def _sets(self) -> frozenset[RecordSet]:
        zone = dns.zone.Zone(self.zone, relativize=False)
        query, _ = dns.xfr.make_query(zone, keyring=self.server.key.signer())
        dns.query.inbound_xfr(LOOPBACK, zone, query, self.server.port, lifetime=TRANSFER_SECONDS)
        fixed = dns.name.from_text(FIXED_NAME, zone.origin)
        return frozenset(
            (
                name.to_text(),
                dns.rdatatype.to_text(found.rdtype),
                found.ttl,
                tuple(sorted(value.to_text() for value in found)),
            )
            for name, found in zone.iterate_rdatasets()
            if found.rdtype not in FIXED_TYPES and name != fixed
        )


def _digest(folder: Path) -> str:
    said = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        said.update(f"{path.relative_to(folder)}\0".encode())
        if path.is_file():
            said.update(hashlib.sha256(path.read_bytes()).digest())
    return said.hexdigest()
