"""For how long requests of a site with one writer wait while it moves: 1 GB in 100,000 files, of
which 1 % change after the first copy, a database, visitors who write, the shipped commands, and a
new node that is asked whether it is ready.

Takes MOVES, FILES and BYTES from the environment, and whether nodes are reached BY_SSH or are disks
that are mounted. Returns figures.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.figures import Figures
from bench.forked_flex import start
from bench.moving.hosting_cluster import Hosting, hosting, lacking
from bench.moving.visitors_who_write import visitors
from flex.model.site_moves import StageRun, seconds_waited
from flex.model.wish import Pin

NODES, SITES = ("n1", "n2"), 8
MOVES = int(os.environ.get("MOVES", "20"))
FILES = int(os.environ.get("FILES", "100000"))
BYTES = int(os.environ.get("BYTES", str(10**9)))
BY_SSH = os.environ.get("BY_SSH") == "1"
# In a folder.
_TOGETHER = 1_000


def measure() -> Figures:
    if missing := lacking():
        return {"moves_pause": f"not measured: {missing}"}
    with hosting(NODES, SITES, _more, by_ssh=BY_SSH) as made:
        at = made.cluster.ports["visit"]
        doors = {node: (address, at) for node, address in made.cluster.addresses.items()}
        site = made.sites_of(NODES[0])[0]
        _fill(made.root(NODES[0], site))
        with visitors(doors, made.sites) as people:
            _flex(made, "ingest")
            for other, node in made.cluster.owner_of.items():
                _pin(made, other, node)
            for move in range(MOVES):
                people.go_to([site])
                _pin(made, site, NODES[(move + 1) % len(NODES)])
                plan = json.loads(_flex(made, "plan", "-o", "json"))["id"]
                _flex(made, "apply", plan)
            return _figures(made, site)


def _more(folder: Path) -> str:
    """Every hundredth file changes when all is copied."""
    change = folder / "change"
    change.write_text(
        'cd "$1" && for name in */*00.html; do printf x >> "$name"; done\n', encoding="ascii"
    )
    return (
        "[move.ready]\ncheck = true\nscheme = 'http'\n"
        "[[move.hook]]\nstage = 'copy'\nname = 'changes'\n"
        f"command = ['sh', '{change}', '{folder}/{{from}}/www/{{site}}']\n"
    )


def _fill(root: Path) -> None:
    text = os.urandom(BYTES // FILES // 2).hex()
    for number in range(FILES):
        folder = root / f"{number // _TOGETHER}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number:07}.html").write_text(text, encoding="ascii")


def _pin(made: Hosting, site: str, node: str) -> None:
    made.cluster.store.put_pin(Pin(site, nodes=(node,), author="bench"))


def _flex(made: Hosting, *words: str) -> str:
    said = made.cluster.folder / "said"
    with said.open("wb") as file:
        code = start("--config", str(made.settings), *words, said=file).wait()
    text = said.read_text(errors="replace")
    assert not code, (words, code, text[-2000:])
    return text


def _figures(made: Hosting, site: str) -> Figures:
    store = made.cluster.store
    waited, took = list[float](), defaultdict[str, list[float]](list)
    for move in store.site_moves(site=site):
        runs = store.stage_runs([move.id])
        if (seconds := seconds_waited(runs)) is not None:
            waited.append(seconds)
            for run in _within(runs):
                assert run.ended
                took[f"{run.stage} {run.hook}"].append((run.ended - run.begun).total_seconds())
    waited.sort()
    return {
        "moves": MOVES,
        "files": FILES,
        "bytes": BYTES,
        "load_average": os.getloadavg()[0],
        "moved": len(waited),
        "pause_s": median(waited or [0.0]),
        "pause_s_p99": waited[int(len(waited) * 0.99)] if waited else 0.0,
        "pause_s_max": max(waited, default=0.0),
        "stages_s": json.dumps({name: round(median(each), 3) for name, each in took.items()}),
    }


def _within(runs: Sequence[StageRun]) -> list[StageRun]:
    held = next(run.begun for run in runs if run.stage == "hold")
    return [run for run in runs if run.begun >= held and run.ended]
