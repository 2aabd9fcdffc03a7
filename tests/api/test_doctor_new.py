"""What doctor says of an installation where nothing has run yet, and of a node whose logs nobody
read.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from flex.model.log_reading import Segment, Stream
from flex.store import migrate, open_store
from flex_api import doctor
from flex_api.settings import file as config
from flex_api.settings.file import Settings

NOW = datetime(2026, 3, 2, 2, tzinfo=UTC)
NODES = "".join(
    f"[[node]]\nname = 'n{n}'\naddresses = ['192.0.2.{n}']\nram = '1 GiB'\n" for n in (1, 2, 3)
)
SOURCES = (
    "[[ingest.source]]\nglob = 'logs/n1/*'\nnode = 'n1'\n"
    "[[ingest.source]]\nglob = 'logs/n2/*'\nnode = 'n2'\n"
    "[[ingest.source]]\nshipped = true\nnode = 'n3'\n"
)


def installation(folder: Path, text: str = NODES + SOURCES) -> Settings:
    path = folder / "flex.toml"
    path.write_text(text)
    return config.load(path)


def test_every_check_that_fires_on_a_new_installation_says_what_to_do(tmp_path: Path) -> None:
    for text in ("", NODES, NODES + SOURCES):
        settings = installation(tmp_path, text)
        for _ in range(2):
            found = [check for check in doctor.checks(settings, NOW) if check.state != "ok"]
            assert found
            assert all(check.advice for check in found), [
                check for check in found if not check.advice
            ]
            assert not any("no line of" in check.detail for check in found)
            migrate.upgrade(settings.database.url)


def test_counts_that_nobody_made_are_one_line_that_says_how(tmp_path: Path) -> None:
    settings = installation(tmp_path)
    migrate.upgrade(settings.database.url)
    (counts,) = [check for check in doctor.checks(settings, NOW) if check.name.startswith("counts")]
    assert (counts.name, counts.detail) == ("counts", "no log was read yet")
    assert "run `flex ingest`" in counts.advice
    assert "flex import" in counts.advice


def test_a_watch_of_moves_that_watches_nothing_is_told(tmp_path: Path) -> None:
    doors = "[routing]\non = true\ndoors = 'all'\n"
    here = SOURCES.replace("shipped = true", "glob = 'logs/n3/*'")
    for more, names in (
        ("", ["watch of moves"]),
        (SOURCES, ["watch of moves"]),
        (doors, []),
        (here, []),
    ):
        settings = installation(tmp_path, f"[move]\nwatch = '1h'\n{more}{NODES}")
        found = [check for check in doctor.checks(settings, NOW) if "watch" in check.name]
        assert [check.name for check in found if check.state == "warn"] == names


def test_a_node_whose_logs_nobody_read_is_told_so(tmp_path: Path) -> None:
    settings = installation(tmp_path)
    migrate.upgrade(settings.database.url)
    day = int(NOW.timestamp()) // 86400
    with open_store(settings.database.url) as store:
        read = Segment(
            "1",
            "n1",
            "n1",
            "p",
            "combined",
            0,
            9,
            day - 1,
            day - 1,
            0,
            0,
            (),
            read_at=int(NOW.timestamp()),
        )
        store.record(read, Stream("n1", "h", 1, 9, "t", "p"), None)
    checks = {check.name: check for check in doctor.checks(settings, NOW)}
    assert "none of its logs was read yet" in checks["counts of n2"].detail
    assert checks["counts of n2"].advice == "run `flex ingest`"
    assert checks["counts of n3"].advice.startswith("`flex import`")
    assert "none of its logs" not in checks["counts of n1"].detail
