"""The tables: the migrations make exactly what the code declares, from anywhere, in one step."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text

from flex.errors import BadInput, FlexError, StoreError
from flex.model.audit_chain import BEGIN, Head
from flex.model.log_reading import BadLine, Stream
from flex.model.wish import Pin
from flex.store import migrate, migration_files, open_store, schema
from flex.store.database_by_url import Database
from flex_api.verify_audit_log import verify_record
from flex_logs_ingest.reading.log_identity import place


def path_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def declared(connection: Connection) -> list[str]:
    """The statements that made the tables of an SQLite database, without layout and quotation
    marks.
    """
    wanted = "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'alembic%' AND sql IS NOT NULL"
    return sorted(
        " ".join(statement.replace('"', "").split())
        for statement in connection.scalars(text(wanted))
    )


def test_the_migrations_make_the_declared_tables(url: str) -> None:
    database = Database(url)
    with database.reading() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, schema.metadata) == []
    database.close()


def test_names_and_checks_of_the_tables_are_the_declared_ones(sqlite_template: Path) -> None:
    made, wanted = (create_engine(f"sqlite:///{sqlite_template}"), create_engine("sqlite://"))
    with made.connect() as ours, wanted.begin() as theirs:
        schema.metadata.create_all(theirs)
        assert parts(declared(ours)) == parts(declared(theirs))
    made.dispose()
    wanted.dispose()


def parts(statements: list[str]) -> list[list[str]]:
    """The order of a table's constraints means nothing."""
    return [
        sorted(statement.replace("(", ",").replace(")", ",").split(",")) for statement in statements
    ]


@pytest.mark.real
def test_text_is_compared_by_code_point_whatever_the_locale(postgresql_url: str) -> None:
    database = Database(postgresql_url)
    with database.reading() as connection:
        looked_at = inspect(connection)
        collations = {
            f"{table}.{column['name']}": getattr(column["type"], "collation", "C")
            for table in schema.metadata.tables
            for column in looked_at.get_columns(table)
        }
    database.close()
    assert {
        name: collation for name, collation in collations.items() if collation not in ("C", None)
    } == {}
    assert collations["cycles.id"] == "C"


def test_an_empty_database_has_no_revision_until_it_is_upgraded(empty_url: str) -> None:
    current, head = migrate.revision(empty_url)
    assert (current, bool(head)) == ("", True)
    migrate.upgrade(empty_url)
    assert migrate.revision(empty_url) == (head, head)
    with open_store(empty_url) as store:
        assert store.pins() == ()


def test_asking_for_the_revision_makes_no_file(tmp_path: Path) -> None:
    migrate.revision(f"sqlite:///{tmp_path}/flex.db")
    assert list(tmp_path.iterdir()) == []


def test_upgrading_again_keeps_everything(url: str) -> None:
    with open_store(url) as store:
        store.put_pin(Pin("a.example.org"))
    migrate.upgrade(url)
    with open_store(url) as store:
        assert store.pins() == (Pin("a.example.org"),)


def test_readings_from_before_reasons_and_hours_were_kept_get_the_best_known(
    empty_url: str,
) -> None:
    migrate.upgrade(empty_url, "0001")
    database = Database(empty_url)
    with database.writing() as connection:
        connection.execute(text(FIRST_SEGMENT))
    database.close()
    migrate.upgrade(empty_url)
    with open_store(empty_url) as store:
        (found,) = store.segments(0, 99)
    assert found.hours == ((1, 5), (2, 5))
    assert found.samples == (BadLine(112, "", "half\na line"),)
    assert (found.reasons, found.read_at) == ((), 7300)


# Ten answers from 01:00:00 to 02:01:40 on the first day of 1970, as revision 0001 kept them.
FIRST_SEGMENT = """
INSERT INTO segments (id, source, node, path, format, first_byte, last_byte, first_day,
last_day, first_time, last_time,
    lines, samples)
VALUES ('s', 'web', 'n1', 'a.log', 'combined', 100, 900, 0, 0, 3600, 7300,
    '[["counted", 7], ["other_status", 3], ["malformed", 1]]', '["byte 12: half\\na line"]')
"""


def test_logs_read_before_their_columns_were_kept_are_looked_at_again(empty_url: str) -> None:
    migrate.upgrade(empty_url, "0002")
    database = Database(empty_url)
    with database.writing() as connection:
        columns = '"source", "head", "head_size", "offset", "tail", "path"'
        connection.execute(
            text(f"INSERT INTO streams ({columns}) VALUES ('web', 'h', 4, 9, 't', 'a.log')")
        )
    database.close()
    migrate.upgrade(empty_url)
    with open_store(empty_url) as store:
        assert store.streams_of(["web"]) == (Stream("web", "h", 4, 9, "t", "a.log", format=""),)


def test_logs_read_before_places_had_names_go_on_without_a_hole(empty_url: str) -> None:
    migrate.upgrade(empty_url, "0001")
    database = Database(empty_url)
    read_to = Stream("web:a.example", "head", 4096, 900, "tail", "renamed.log")
    with database.writing() as connection:
        connection.execute(text(FIRST_SEGMENT))
        columns = '"source", "head", "head_size", "offset", "tail", "path"'
        values = "'web:a.example', 'head', 4096, 900, 'tail', 'renamed.log'"
        connection.execute(text(f"INSERT INTO streams ({columns}) VALUES ({values})"))
    database.close()
    migrate.upgrade(empty_url)
    with open_store(empty_url) as store:
        assert store.places_where_readings_ended([place(read_to)]) == {place(read_to)}


def test_what_is_older_than_the_record_is_told_by_its_first_entry(empty_url: str) -> None:
    migrate.upgrade(empty_url, "0010")
    database = Database(empty_url)
    columns = (
        "site, nodes, min_replicas, reason, author, not_on, max_replicas, "
        "together, apart, weight, sla, excluded"
    )
    with database.writing() as connection:
        connection.execute(
            text(
                f"INSERT INTO pins ({columns}) "
                "VALUES ('a.example', '[]', 2, '', '', '[]', 0, '[]', '[]', 1, '', (1 = 0))"
            )
        )
    database.close()
    migrate.upgrade(empty_url)
    with open_store(empty_url) as store:
        (found,) = store.entries()
        assert (found.action, json.loads(found.after)) == (BEGIN, {"pin.put": ["a.example"]})
        assert verify_record(store) == Head(1, found.hash)


def test_an_upgrade_that_fails_leaves_nothing_behind(empty_url: str) -> None:
    """A foreign table is in the way of the last of ours."""
    database = Database(empty_url)
    database.kind.create(database.url)
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE lease (foreign_column INTEGER)"))
    with pytest.raises(StoreError, match="lease"):
        migrate.upgrade(empty_url)
    with database.reading() as connection:
        assert inspect(connection).get_table_names() == ["lease"]
    database.close()


def test_a_database_of_a_newer_flex_is_left_alone(url: str) -> None:
    database = Database(url)
    with database.writing() as connection:
        before = connection.scalar(text("SELECT version_num FROM alembic_version"))
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(BadInput, match="9999"):
        migrate.upgrade(url)
    assert migrate.revision(url)[0] == "9999"
    with pytest.raises(BadInput, match="9999"):
        open_store(url)
    with database.writing() as connection:
        connection.execute(
            text("UPDATE alembic_version SET version_num = :before"), {"before": before}
        )
    database.close()


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "flex.db"
    migrate.upgrade(f"sqlite:///{path}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_missing_folder_is_named_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no-such-folder does not exist"):
        migrate.upgrade(f"sqlite:///{tmp_path}/no-such-folder/flex.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_migrations_are_found_whatever_the_current_folder_is(tmp_path: Path) -> None:
    script = "import sys; from flex.store import migrate; migrate.upgrade(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", script, "sqlite:///here.db"], cwd=tmp_path, check=True, timeout=300
    )
    assert migrate.revision(f"sqlite:///{tmp_path}/here.db")[0]


def test_a_backup_is_one_file_that_can_be_used_in_place(
    tmp_path: Path, sqlite_template: Path
) -> None:
    url, copy = (
        f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'flex.db')}",
        tmp_path / "copy.db",
    )
    with open_store(url) as store:
        store.put_pin(Pin("a.example.org"))
        # While the store is open: what its log still holds belongs to the copy too.
        migrate.backup(url, copy)
        store.drop_pin("a.example.org")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "flex.db"]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with open_store(f"sqlite:///{copy}") as store:
        assert store.pins() == (Pin("a.example.org"),)


def test_a_backup_takes_no_other_files_place(tmp_path: Path, sqlite_template: Path) -> None:
    there = tmp_path / "there.txt"
    there.write_text("precious")
    with pytest.raises(StoreError, match="exists already"):
        migrate.backup(f"sqlite:///{sqlite_template}", there)
    assert there.read_text() == "precious"


@pytest.mark.parametrize("place", ["no-such-folder/copy.db", "flex.db/copy.db"])
def test_a_backup_that_cannot_be_written_says_so(
    tmp_path: Path, sqlite_template: Path, place: str
) -> None:
    (tmp_path / "flex.db").write_bytes(sqlite_template.read_bytes())
    with pytest.raises(FlexError) as refused:
        migrate.backup(f"sqlite:///{tmp_path}/flex.db", tmp_path / place)
    assert "as they were" in refused.value.kept


def test_a_backup_of_nothing_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        migrate.backup(f"sqlite:///{tmp_path}/flex.db", tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def test_postgresql_is_copied_by_its_own_tool(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        migrate.backup("postgresql://flex:secret@db.example.org/flex", tmp_path / "copy")
    assert "pg_dump" in refused.value.advice
    assert "secret" not in f"{refused.value} {refused.value.advice}"


def test_plans_that_were_there_get_their_author_and_keep_their_placements(empty_url: str) -> None:
    migrate.upgrade(empty_url, "0016")
    database = Database(empty_url)
    with database.writing() as connection:
        for plan, body in (("p1", '[{"author": "token:anna"}]'), ("p2", "[{}]")):
            connection.execute(
                text(
                    "INSERT INTO cycles (id, created, state, digest, base, body, "
                    "sites, moves, scratch_moves, worst)"
                    " VALUES (:plan, '2026-03-01 00:00:00', 'applied', '', '', :body, 1, 0, 0, 0.0)"
                ),
                {"plan": plan, "body": body},
            )
        placed = (
            "INSERT INTO placements (cycle, position, site, node) VALUES ('p1', "
            "0, 'a.example', 'n1')"
        )
        connection.execute(text(placed))
    database.close()
    migrate.upgrade(empty_url)
    with open_store(empty_url) as store:
        assert {one.id: one.author for one in store.headlines()} == {"p1": "token:anna", "p2": ""}
        assert store.placement_of("p1")["node"].tolist() == ["n1"]


def test_tables_that_are_made_anew_keep_what_points_to_their_rows(empty_url: str) -> None:
    body = '[{"moves": [], "after": {"worst": 0.25}, "sites": 1, "scratch_moves": 0}]'
    migrate.upgrade(empty_url, "0007")
    database = Database(empty_url)
    with database.writing() as connection:
        plan = (
            "INSERT INTO cycles (id, created, state, digest, base, body) VALUES "
            "('p1', :time, 'applied', '', '', :body)"
        )
        connection.execute(text(plan), {"time": "2026-03-01 00:00:00", "body": body})
        placed = (
            "INSERT INTO placements (cycle, position, site, node) VALUES ('p1', "
            "0, 'a.example', 'n1')"
        )
        connection.execute(text(placed))
    database.close()
    migrate.upgrade(empty_url)
    with open_store(empty_url) as store:
        assert [(one.id, one.worst) for one in store.headlines()] == [("p1", 0.25)]
        assert store.placement_of("p1")["node"].tolist() == ["n1"]


def test_an_upgrade_that_would_leave_rows_pointing_to_nothing_changes_nothing(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/flex.db"
    migrate.upgrade(url, "0016")
    with closing(sqlite3.connect(path_of(url))) as connection:
        connection.execute(
            "INSERT INTO placements (cycle, position, site, node) VALUES ('none', 0, "
            "'a.example', 'n1')"
        )
        connection.commit()
    with pytest.raises(StoreError, match="placements to cycles"):
        migrate.upgrade(url)
    assert migrate.revision(url)[0] == "0016"


def test_the_newest_file_is_the_newest_revision() -> None:
    place = Path(migrate.__file__).parents[2] / "alembic"
    assert migration_files.head() == ScriptDirectory(str(place)).get_current_head()
