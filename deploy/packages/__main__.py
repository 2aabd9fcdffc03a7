"""Builds the packages for Debian: `make packages`.

Takes a commit of this checkout, the lock files, and wheels from wherever pip is set up to ask.
Writes to dist/. The same commit makes the same bytes: with --twice it is built twice, from nothing,
and compared. Does not install anything, and takes no rights.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from deploy.packages.builds import Order, alone, build, digest, say
from deploy.packages.kinds import KINDS, RELEASES
from deploy.packages.sources import BUILD, CHECKOUT


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="make packages", description="Builds the packages for Debian."
    )
    parser.add_argument("--commit", default="HEAD", help="what is packaged")
    parser.add_argument("--version", default="", help="in place of the commit's own")
    parser.add_argument("--to", type=Path, default=CHECKOUT / "dist")
    parser.add_argument("--debian", type=int, action="append", choices=[*RELEASES])
    parser.add_argument(
        "--without-native", action="store_true", help="FLEX runs on its Python loops"
    )
    parser.add_argument("--twice", action="store_true", help="build all again, and compare")
    parser.add_argument("packages", nargs="*", help=" ".join(KINDS))
    given = parser.parse_args(arguments)
    if unknown := sorted({*given.packages} - KINDS.keys()):
        parser.error(f"no package {', '.join(unknown)}; there are {', '.join(KINDS)}")
    if not shutil.which("dpkg-deb"):
        say("there is no dpkg-deb here; nothing was built: build on a Debian")
        return 1
    order = Order(
        [KINDS[name] for name in given.packages or KINDS],
        [RELEASES[number] for number in given.debian or RELEASES],
        given.to,
        given.commit,
        given.version,
        native=not given.without_native,
        again=given.twice,
    )
    try:
        with alone():
            first = build(order)
            return _compare(order, first) if given.twice else 0
    except subprocess.CalledProcessError as error:
        say(f"{' '.join(map(str, error.cmd[:4]))} failed; what was built is whole")
        return 1


def _compare(order: Order, first: list[Path]) -> int:
    second = build(replace(order, to=BUILD / "second"))
    differ = [
        one.name for one, other in zip(first, second, strict=True) if digest(one) != digest(other)
    ]
    shutil.rmtree(BUILD / "second")
    say(f"not the same twice: {', '.join(differ)}" if differ else "the same, twice")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
