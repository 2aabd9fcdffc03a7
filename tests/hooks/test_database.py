"""The database of a site goes to its new node with all that belongs to it, over real servers."""

from __future__ import annotations

import json
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hooks.servers import Database, client
from tests.hooks.two_nodes import NEVER, NOT_NOW, SITE, TwoNodes

pytestmark = pytest.mark.real

# A name of each kind: what stands for any letter in a grant, and what only quotes let be.
NAMES = ("shop", "the_shop", "a-shop.1")
Bases = dict[str, Database]


@dataclass(eq=False)
class Shop:
    """Two nodes with servers of their own, and a database at the old one."""

    nodes: TwoNodes
    bases: Bases
    name: str

    def fill(self) -> None:
        self.clear()
        self.ask("n1", f"CREATE DATABASE `{self.name}` CHARACTER SET latin1")
        self.use(
            "n1",
            "CREATE TABLE kind (id INT PRIMARY KEY, what VARCHAR(99) CHARACTER SET utf8mb4,"
            " raw BLOB) ENGINE=InnoDB;"
            "CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, kind INT,"
            " FOREIGN KEY (kind) REFERENCES kind (id)) ENGINE=InnoDB;"
            "CREATE VIEW shown AS SELECT what FROM kind;"
            "CREATE TRIGGER counted BEFORE INSERT ON orders FOR EACH ROW"
            " SET NEW.kind = COALESCE(NEW.kind, 1);"
            "INSERT INTO kind VALUES (1, 'br\u00f6d \U0001f35e \\'\"`\\\\ ;\\n-- x',"
            " x'00ff0a0d1a27');"
            "INSERT INTO orders (kind) VALUES (1), (NULL);",
        )

    def clear(self) -> None:
        for node in ("n1", "n2"):
            self.ask(
                node,
                f"DROP DATABASE IF EXISTS `{self.name}`; DROP DATABASE IF EXISTS flex_hooks;"
                "DROP USER IF EXISTS keeper@localhost",
            )

    def ask(self, node: str, words: str) -> list[list[str]]:
        return self.bases[node].ask(words)

    def use(self, node: str, words: str) -> list[list[str]]:
        return self.ask(node, f"USE `{self.name}`; {words}")

    def content(self, node: str) -> str:
        """What a dump of it says, and nothing else that a dump says."""
        tables = ("kind", "orders", "shown")
        rows = {one: self.use(node, f"SELECT * FROM {one}") for one in tables}
        made = [self.use(node, f"SHOW CREATE TABLE {one}") for one in tables]
        triggers = self.use(node, "SHOW TRIGGERS")
        base = self.ask(node, f"SHOW CREATE DATABASE `{self.name}`")
        return json.dumps([rows, made, [one[:5] for one in triggers], base])

    def has(self, node: str) -> bool:
        return [self.name] in self.ask(node, "SHOW DATABASES")


def settings_of(nodes: TwoNodes, bases: Bases, name: str) -> None:
    sockets = " ".join(f"[{node}]={base.socket}" for node, base in bases.items())
    nodes.set(
        f"declare -A sockets=({sockets})\n"
        "mariadb_on() {\n    local node=$1 program=$2\n    shift 2\n"
        '    run_on "$node" "$program" --no-defaults "--socket=${sockets[$node]}" \\\n'
        '        --user=root "$@"\n}\n'
    )
    (nodes.folder / "hooks/databases").write_text(f"other.example x\n{SITE} {name}\n")


@pytest.fixture(
    params=[*(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[:-1]), NAMES[-1]]
)
def shop(request: pytest.FixtureRequest, mounted: TwoNodes, databases: Bases) -> Shop:
    settings_of(mounted, databases, request.param)
    made = Shop(mounted, databases, request.param)
    made.fill()
    return made


@pytest.fixture
def large(shop: Shop) -> Shop:
    shop.nodes.set("is_large() { true; }\n")
    return shop


def test_a_database_is_brought_whole_again_and_again(shop: Shop) -> None:
    shop.nodes.ends(0, "database", "load", SITE, "n1", "n2")
    # Small ones are brought while requests wait.
    assert not shop.has("n2")
    for number in range(2):
        shop.use("n1", "INSERT INTO orders (kind) VALUES (1); DELETE FROM orders LIMIT 1")
        shop.nodes.ends(0, "database", "final", SITE, "n1", "n2")
        assert shop.content("n2") == shop.content("n1"), number


def test_a_database_whose_events_run_stays(large: Shop) -> None:
    """Those would write at both nodes, however still the site is."""
    large.use("n1", "CREATE EVENT tick ON SCHEDULE EVERY 1 DAY DO DELETE FROM orders WHERE id < 0")
    for node in ("n1", "n2"):
        large.ask(node, "SET GLOBAL event_scheduler = ON")
        try:
            for verb in ("load", "final"):
                said = large.nodes.ends(NEVER, "database", verb, SITE, "n1", "n2")
                assert "events of MariaDB that are on (1)" in said
            assert not large.has("n2")
        finally:
            large.ask(node, "SET GLOBAL event_scheduler = OFF")
    for verb in ("load", "final"):
        large.nodes.ends(0, "database", verb, SITE, "n1", "n2")
    large.use("n1", "ALTER EVENT tick DISABLE")
    large.ask("n1", "SET GLOBAL event_scheduler = ON")
    try:
        for verb in ("load", "final"):
            large.nodes.ends(0, "database", verb, SITE, "n1", "n2")
    finally:
        large.ask("n1", "SET GLOBAL event_scheduler = OFF")
    assert large.content("n2") == large.content("n1")


@pytest.mark.slow
def test_it_is_brought_by_ssh(by_ssh: str, mounted: TwoNodes, databases: Bases) -> None:
    mounted.reached = by_ssh
    settings_of(mounted, databases, "shop")
    made = Shop(mounted, databases, "shop")
    made.fill()
    mounted.ends(0, "database", "final", SITE, "n1", "n2")
    assert made.content("n2") == made.content("n1")
    mounted.ends(0, "database", "remove", SITE, "n2", "n1")
    assert (made.has("n1"), made.has("n2")) == (True, False)


def test_accounts_go_along_with_their_rights_for_this_database_alone(shop: Shop) -> None:
    escaped = shop.name.replace("_", "\\_")
    shop.ask(
        "n1",
        "CREATE USER keeper@localhost IDENTIFIED BY 'se''cret';"
        f"GRANT SELECT, INSERT ON `{escaped}`.* TO keeper@localhost;"
        "CREATE DATABASE IF NOT EXISTS foreign_one;"
        "GRANT ALL ON `foreign\\_one`.* TO keeper@localhost",
    )
    shop.nodes.ends(0, "database", "final", SITE, "n1", "n2")
    (grants,) = zip(*shop.ask("n2", "SHOW GRANTS FOR keeper@localhost"), strict=True)
    assert [one for one in grants if "SELECT, INSERT" in one]
    assert not [one for one in grants if "foreign" in one]
    (old,), (new,) = (
        shop.ask(node, "SELECT authentication_string FROM mysql.user WHERE User = 'keeper'")
        for node in ("n1", "n2")
    )
    assert new == old


def test_a_large_one_gets_what_changed_since_it_was_loaded(large: Shop) -> None:
    large.nodes.ends(0, "database", "load", SITE, "n1", "n2")
    assert large.content("n2") == large.content("n1")
    large.use(
        "n1",
        "INSERT INTO orders (kind) VALUES (1), (1); UPDATE kind SET what = 'r\u00f6ll';"
        "DELETE FROM orders WHERE id = 1; ALTER TABLE kind ADD COLUMN more INT DEFAULT 7;"
        "INSERT INTO kind VALUES (2, 'x', NULL, 8)",
    )
    # What others wrote, and a new file of the log.
    large.ask("n1", "CREATE DATABASE IF NOT EXISTS foreign_one; FLUSH BINARY LOGS;")
    large.ask(
        "n1", "CREATE OR REPLACE TABLE foreign_one.t (a INT); INSERT INTO foreign_one.t VALUES (1)"
    )
    large.use("n1", "INSERT INTO orders (kind) VALUES (2)")
    large.nodes.ends(0, "database", "final", SITE, "n1", "n2")
    assert large.content("n2") == large.content("n1")
    assert large.ask("n2", "SHOW DATABASES LIKE 'foreign_one'") != [["foreign_one"]]


@pytest.mark.parametrize(
    "words", ["TRUNCATE `{}`.orders", "ALTER TABLE `{}`.orders\n ADD COLUMN b INT"]
)
def test_what_changed_a_large_one_from_within_another_is_not_left_out(
    large: Shop, words: str
) -> None:
    large.ask("n1", "CREATE DATABASE IF NOT EXISTS foreign_one")
    large.nodes.ends(0, "database", "load", SITE, "n1", "n2")
    large.ask("n1", f"USE foreign_one; {words.format(large.name)}")
    said = large.nodes.ends(NOT_NOW, "database", "final", SITE, "n1", "n2")
    assert "from within another database" in said
    large.nodes.ends(0, "database", "load", SITE, "n1", "n2")
    large.nodes.ends(0, "database", "final", SITE, "n1", "n2")
    assert large.content("n2") == large.content("n1")


def test_what_changed_is_never_brought_twice(large: Shop) -> None:
    large.nodes.ends(0, "database", "load", SITE, "n1", "n2")
    large.use("n1", "INSERT INTO orders (kind) VALUES (1)")
    large.nodes.ends(0, "database", "final", SITE, "n1", "n2")
    said = large.nodes.ends(NOT_NOW, "database", "final", SITE, "n1", "n2")
    assert "has to be loaded again" in said
    assert large.content("n2") == large.content("n1")


def test_while_a_large_one_is_loaded_others_write(large: Shop) -> None:
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            large.use("n1", "INSERT INTO orders (kind) VALUES (1)")

    writing = threading.Thread(target=write)
    writing.start()
    try:
        large.nodes.ends(0, "database", "load", SITE, "n1", "n2")
    finally:
        over.set()
        writing.join()
    large.nodes.ends(0, "database", "final", SITE, "n1", "n2")
    assert large.content("n2") == large.content("n1")


def test_a_large_one_of_other_tables_is_refused_with_the_reason(large: Shop) -> None:
    large.use("n1", "CREATE TABLE old (a INT) ENGINE=Aria")
    said = large.nodes.ends(NEVER, "database", "load", SITE, "n1", "n2")
    assert "tables that are not InnoDB" in said


def test_a_large_one_needs_a_binary_log(large: Shop) -> None:
    large.ask("n2", f"CREATE DATABASE `{large.name}`")
    said = large.nodes.ends(NEVER, "database", "load", SITE, "n2", "n1")
    assert "no binary log by rows" in said
    assert large.content("n1")


def test_it_is_removed_at_one_node_alone_and_again(shop: Shop) -> None:
    shop.nodes.ends(0, "database", "final", SITE, "n1", "n2")
    for _ in range(2):
        shop.nodes.ends(0, "database", "remove", SITE, "n2", "n1")
        assert (shop.has("n1"), shop.has("n2")) == (True, False)


@pytest.mark.parametrize("does", ["final", "remove"])
def test_a_server_that_both_nodes_share_loses_nothing(
    mounted: TwoNodes, databases: Bases, does: str
) -> None:
    shared = {"n1": databases["n1"], "n2": databases["n1"]}
    settings_of(mounted, shared, "shop")
    made = Shop(mounted, databases, "shop")
    made.fill()
    before = made.content("n1")
    assert "one database server" in mounted.ends(NEVER, "database", does, SITE, "n1", "n2")
    assert made.content("n1") == before


@pytest.mark.parametrize("words", [("final", "n1", "n2"), ("remove", "n2", "n1")])
def test_a_server_that_is_away_is_not_now_and_nothing_is_removed(
    shop: Shop, words: tuple[str, str, str], tmp_path: Path
) -> None:
    shop.nodes.ends(0, "database", "final", SITE, "n1", "n2")
    verb, one, other = words
    for away in ("n1", "n2"):
        sockets = dict(shop.bases)
        sockets[away] = Database(tmp_path / "nobody")
        settings_of(shop.nodes, sockets, shop.name)
        assert "does not answer" in shop.nodes.ends(NOT_NOW, "database", verb, SITE, one, other)
    assert shop.has("n1")
    assert shop.has("n2")


def test_a_site_without_a_database_needs_none(shop: Shop) -> None:
    for words in (("load", "n1", "n2"), ("final", "n1", "n2"), ("remove", "n1", "n2")):
        shop.nodes.ends(0, "database", words[0], "plain.example", *words[1:])
    assert shop.has("n1")
    assert not shop.has("n2")


def test_a_database_that_is_not_there_is_told_and_leaves_the_other_one_alone(shop: Shop) -> None:
    shop.nodes.ends(0, "database", "final", SITE, "n1", "n2")
    shop.ask("n1", f"DROP DATABASE `{shop.name}`")
    said = shop.nodes.ends(NOT_NOW, "database", "final", SITE, "n1", "n2")
    assert f"no database {shop.name} on n1" in said
    assert shop.has("n2")


@pytest.mark.parametrize("name", ["mysql", "MySQL", "sys", "flex_hooks", "a`b", "x y", "-e"])
def test_a_name_that_no_site_can_have_is_refused(shop: Shop, name: str) -> None:
    settings_of(shop.nodes, shop.bases, f"'{name}'")
    shop.nodes.set(f"database_of() {{ printf '%s' '{name}'; }}\n")
    for verb in ("load", "final", "remove"):
        shop.nodes.ends(NEVER, "database", verb, SITE, "n1", "n2")


def test_while_another_command_is_at_work_on_it_none_begins(shop: Shop) -> None:
    """As what a node goes on with after the connection to it broke."""
    hooks = shop.nodes.folder / "hooks/database"
    hooks.write_text(hooks.read_text().replace("PATIENCE=10", "PATIENCE=0"))
    with subprocess.Popen(
        [*client(shop.bases["n2"].socket), "-N", "-B", "--unbuffered"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdin
        assert other.stdout
        other.stdin.write(f"SELECT GET_LOCK(CONCAT('flex ', MD5('{shop.name}')), 0);\n")
        other.stdin.flush()
        assert other.stdout.readline() == "1\n"
        said = shop.nodes.ends(1, "database", "final", SITE, "n1", "n2")
        assert "another command is at work" in said
        assert not shop.has("n2")
        other.stdin.close()
    shop.nodes.ends(0, "database", "final", SITE, "n1", "n2")
