"""What a verb prints, and how it ends, is the same on this machine and with `--server`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from flex_api.wishes import quick_solver
from tests.api.served import served
from tests.api.test_dry_runs import CALLS, prepare
from tests.unhurried import HOURS

if TYPE_CHECKING:
    from tests.api.conftest import Installation, Said

pytestmark = pytest.mark.real

# What each verb is asked. SITE, PLAN and WAITING stand for what the installation has.
READ: tuple[str, ...] = (
    "plan list",
    "plan show PLAN",
    "plan show nothing",
    "plan diff PLAN",
    "plan frontier",
    "sites list",
    "sites show SITE",
    "sites show nobody.example",
    "nodes list",
    "verify",
    "verify --detailed-exitcode",
    "status",
    "history",
    "history --limit 1",
    "explain SITE",
    "explain nobody.example",
    "whatif --more 1 --frontier",
    "token list",
    "audit --limit 3",
    "audit --actor nobody",
    "report --format json",
    "report --format md",
    "apply --dry-run PLAN",
    "data",
    "data --detailed-exitcode",
    "files --days 366 --limit 3",
    "files SITE --sort bytes --limit 3 --match *.html",
    "files nobody.example",
    "sites unknown --most 5",
    "export nsupdate",
    "export zone PLAN",
    "export dnscontrol PLAN --zone HOME.EXAMPLE",
    "export hosts PLAN --zone nowhere.example",
    "export tables",
    "dns holders",
    "dns takeover --from nobody",
    "route show",
    "route show --plan WAITING",
    "route show --live",
    "route config n1",
    "route config n1 --plan WAITING",
    "route config nowhere",
    "version",
    "config show",
    "doctor",
)
ASKED: list[tuple[str, ...]] = [tuple(verb.split()) for verb in READ]
ASKED += [
    (*(word for word in words if word not in ("--as-of", "NOW")), "--dry-run")
    for words in CALLS.values()
]
# What differs from call to call: when it was made, and who asked.
OF_A_CALL = {"made", "created", "since", "author"}
# A plan's identifier: the second in which it was made, and what it holds.
PLAN_ID = re.compile(r"(\d{8}T\d{6})-([0-9a-f]{12})")
# How long ago something was: 8.3 s ago, 2 h 5 m ago.
AGO = re.compile(r"[\d.]+ \w+( \d+ \w+)? ago")
OF_A_TRIED_PLAN = {"id", "digest", "plan"}


def differences(one: Any, other: Any, at: str = "") -> Iterator[str]:
    """Where two results differ, and by what. Any: what JSON holds."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            yield from differences(one.get(name), other.get(name), f"{at}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{at}[{number}]")
    elif one != other:
        yield f"{at}: {str(one)[:200]} here, {str(other)[:200]} there"


def result(said: Said) -> Any:
    """What was printed: JSON, or text of a form of its own."""
    try:
        return json.loads(said.out)
    except ValueError:
        return said.out.splitlines()


def error(said: Said) -> Any:
    """What went wrong, as it was printed. Any: what JSON holds."""
    return json.loads(said.err) if said.err.startswith("{") else said.err


def own_to_a_call(verb: str, difference: str) -> bool:
    where, _, values = difference.partition(": ")
    name = where.rpartition(".")[2]
    if "--dry-run" in verb and name in OF_A_CALL:
        return True
    if "--dry-run" in verb and name == "id":
        return len({digest for _, digest in PLAN_ID.findall(values)}) == 1
    if verb.startswith("report"):
        return name == "made"
    if verb == "config show":
        # Who asks so often in a row is told to wait: this server does not.
        return name == "requests_per_second"
    if verb == "token list":
        # Noted at most once a minute, and a minute may end between the two calls.
        return name == "last_used"
    if verb == "doctor":
        # What was just now counts on while one is asked after the other.
        return any(word in difference for word in ("last written", "seconds apart"))
    if verb == "status":
        here, _, there = AGO.sub("", values).partition(" here, ")
        return here == there.removesuffix(" there")
    return verb.startswith("rollback") and name in OF_A_TRIED_PLAN


@pytest.fixture(autouse=True)
def previews_end_by_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that ends with its time may find another answer the second time."""
    monkeypatch.setattr(quick_solver, "SECONDS", HOURS)


@pytest.fixture
def prepared(installation: Installation) -> dict[str, str]:
    site, plan, waiting = installation.once(prepare)
    text = installation.settings.read_text(encoding="utf-8")
    # A frontier, too, ends by its steps alone, and soon.
    unhurried = text.replace("[solver]\n", '[solver]\nengine = "greedy"\ntime_limit = "10h"\n')
    assert unhurried != text
    installation.settings.write_text(unhurried, encoding="utf-8")
    return {"SITE": site, "PLAN": plan, "WAITING": waiting}


@pytest.mark.slow
def test_a_verb_says_the_same_here_and_there(
    installation: Installation, prepared: Mapping[str, str]
) -> None:
    found = []
    with served(installation) as there:
        for asked in ASKED:
            verb, words = " ".join(asked), [prepared.get(word, word) for word in asked]
            form = () if "md" in words else ("-o", "json")
            here, away = installation.flex(*form, *words), there(*form, *words)
            assert here.code == 0 or "--dry-run" not in asked, (verb, here.err)
            found += [
                f"flex {verb}: {each}"
                for each in differences(
                    {"code": here.code, "result": result(here), "error": error(here)},
                    {"code": away.code, "result": result(away), "error": error(away)},
                )
                if not own_to_a_call(verb, each)
            ]
    print(*found, sep="\n")
    assert found == []
