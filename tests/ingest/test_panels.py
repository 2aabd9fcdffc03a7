"""What a machine hosts is read from the files of every panel, whatever else stands there.

Nothing of them is executed, no secret is read, no link leads out, and what cannot be read hides
nothing else.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex_logs_ingest.panels.configuration_files import Tree
from flex_logs_ingest.panels.cpanel import margin
from flex_logs_ingest.panels.hosted_site_values import host_name
from flex_logs_ingest.panels.read_hosting import PANELS as READERS
from flex_logs_ingest.panels.read_hosting import VHOSTS, Hosting, read_hosting
from flex_logs_ingest.scan.site_rules import is_host
from tests.panel_trees import EVERY, HOMES, PANELS, SECRET, Hosted, put, some_sites
from tests.thorough import times

SERVICES = ("mail.", "ipv4.")


def names_of(found: Hosting) -> dict[str, set[str]]:
    """Without those that panels add by themselves."""
    return {
        site.name: {name for name in site.names if not name.startswith(SERVICES)}
        for site in found.sites
    }


@pytest.mark.parametrize("panel", EVERY)
def test_every_site_is_found_with_its_names_root_and_log(panel: str, tmp_path: Path) -> None:
    sites = [
        *some_sites(5),
        Hosted("shop.example", "shop", ("www.shop.example", "laden.example")),
        Hosted("xn--bcher-kva.example", "books", ("www.xn--bcher-kva.example",)),
    ]
    logs = EVERY[panel](tmp_path, sites)
    found = read_hosting(tmp_path)
    assert found.found_by == ((panel,) if panel in PANELS else (VHOSTS,))
    assert not found.unread
    assert not found.left_alone
    expected = {one.name: {one.name, *one.others} for one in sites}
    if panel == "DirectAdmin":
        # Every pointer has its own www.
        expected["shop.example"].add("www.laden.example")
    assert names_of(found) == expected
    for site in found.sites:
        assert site.root.startswith("/")
        written = "/" + str(logs[site.name].relative_to(tmp_path))
        assert written.replace("20260302-", "") in site.logs


def test_a_subdomain_of_directadmin_has_a_log_with_its_parts_the_other_way_round(
    tmp_path: Path,
) -> None:
    sites = [Hosted("a.example", "u"), Hosted("shop.a.example", "u")]
    EVERY["DirectAdmin"](tmp_path, sites)
    logs = {site.name: site.logs for site in read_hosting(tmp_path).sites}
    assert logs["shop.a.example"] == ("/var/log/httpd/domains/a.example.shop.log",)


def test_where_plesk_keeps_counted_lines_elsewhere_they_are_read_there_and_once(
    tmp_path: Path,
) -> None:
    logs = EVERY["Plesk"](tmp_path, some_sites(2))
    counted = logs["s0.hosting.example"].with_name("proxy_access_ssl_log.processed")
    counted.write_text("", encoding="utf-8")
    for site in read_hosting(tmp_path).sites:
        assert [Path(log).suffix for log in site.logs] == [".processed"]


@pytest.mark.parametrize("panel", EVERY)
def test_no_secret_is_among_what_is_read(panel: str, tmp_path: Path) -> None:
    EVERY[panel](tmp_path, some_sites(3))
    assert SECRET not in repr(read_hosting(tmp_path))


def unreadable(path: Path) -> None:
    """For root, too, who may read every file: a pipe where it should be."""
    path.unlink()
    os.mkfifo(path)


CONFIGURATION = {
    "cPanel": "var/cpanel/userdata",
    "Plesk": "var/www/vhosts/system",
    "ISPConfig": "etc/apache2/sites-available",
    "DirectAdmin": "usr/local/directadmin/data/users",
    "HestiaCP": "usr/local/hestia/data/users",
    "nginx": "etc/nginx/sites-available",
}


def files_of(root: Path, name: str) -> list[Path]:
    return sorted(
        path
        for path in (root / CONFIGURATION[name]).rglob("*")
        if path.is_file() and not path.is_symlink()
    )


@pytest.mark.parametrize("panel", CONFIGURATION)
def test_half_a_tree_gives_the_sites_of_that_half_and_says_what_is_missing(
    panel: str, tmp_path: Path
) -> None:
    EVERY[panel](tmp_path, some_sites(8))
    whole = names_of(read_hosting(tmp_path))
    spoilt = [
        path for path in files_of(tmp_path, panel) if f"s{4}." in str(path) or "/u4/" in str(path)
    ]
    for path in spoilt:
        unreadable(path)
    found = read_hosting(tmp_path)
    assert set(whole) - set(names_of(found)) <= {"s4.hosting.example"}
    assert found.unread
    assert all(str(tmp_path) not in path for path in found.unread)


@pytest.mark.parametrize("panel", CONFIGURATION)
def test_a_link_out_of_the_folders_of_configuration_is_not_followed_and_said(
    panel: str, tmp_path: Path
) -> None:
    """A customer could have made it."""
    EVERY[panel](tmp_path, some_sites(4))
    outside = put(
        tmp_path,
        f"{HOMES}/u1/conf",
        "server { server_name stolen.example; }\nDOMAIN='stolen.example'\nservername: "
        "stolen.example\n<VirtualHost *:80>\nServerName stolen.example\n</VirtualHost>\n",
    )
    chosen = [
        path for path in files_of(tmp_path, panel) if "s1." in str(path) or "/u1/" in str(path)
    ]
    for path in chosen:
        path.unlink()
        path.symlink_to(f"{HOMES}/u1/conf")
    found = read_hosting(tmp_path)
    assert "stolen.example" not in repr(found.sites)
    assert any("not followed" in why for why in found.left_alone.values())
    assert outside.exists()
    assert "s2.hosting.example" in names_of(found)


@pytest.mark.parametrize("beside", ["/etc/nginx-private", "/etc/nginx.d"])
def test_a_link_to_a_folder_whose_name_only_begins_like_theirs_is_not_followed(
    beside: str, tmp_path: Path
) -> None:
    EVERY["nginx"](tmp_path, some_sites(2))
    put(tmp_path, f"{beside}/conf", "server { server_name stolen.example; }\n")
    link = next((tmp_path / "etc/nginx/sites-enabled").iterdir())
    link.unlink()
    link.symlink_to(f"{beside}/conf")
    found = read_hosting(tmp_path)
    assert "stolen.example" not in repr(found.sites)
    assert len(found.sites) == 1
    assert any("not followed" in why for why in found.left_alone.values())


def test_absolute_links_of_a_copy_are_links_in_the_copy(tmp_path: Path) -> None:
    """Nothing of this machine is read."""
    EVERY["nginx"](tmp_path, some_sites(2))
    enabled = tmp_path / "etc/nginx/sites-enabled"
    for link in list(enabled.iterdir()):
        link.unlink()
        link.symlink_to(f"/etc/nginx/sites-available/{link.name}")
    assert len(read_hosting(tmp_path).sites) == 2
    (enabled / "loop").symlink_to("/etc/nginx/sites-enabled/loop")
    (enabled / "up").symlink_to("../../../../../../../../etc/hostname")
    found = read_hosting(tmp_path)
    assert len(found.sites) == 2
    assert "circle" in found.unread["/etc/nginx/sites-enabled/loop"]
    assert "not followed" in found.left_alone["/etc/nginx/sites-enabled/up"]


def test_what_may_be_a_secret_is_not_read_even_if_a_file_includes_it(tmp_path: Path) -> None:
    EVERY["nginx"](tmp_path, some_sites(1))
    put(tmp_path, "/etc/nginx/ssl/privkey.pem", "server { server_name a.example; }")
    put(tmp_path, "/etc/shadow", "server { server_name b.example; }")
    put(
        tmp_path,
        "/etc/nginx/conf.d/x.conf",
        "include /etc/nginx/ssl/privkey.pem;\ninclude /etc/shadow;\n",
    )
    found = read_hosting(tmp_path)
    assert [site.name for site in found.sites] == ["s0.hosting.example"]
    assert "secret" in found.left_alone["/etc/nginx/ssl/privkey.pem"]
    assert "/etc/shadow" in found.left_alone


def test_pipes_devices_and_large_files_keep_nobody_waiting(tmp_path: Path) -> None:
    EVERY["nginx"](tmp_path, some_sites(2))
    folder = tmp_path / "etc/nginx/conf.d"
    folder.mkdir()
    os.mkfifo(folder / "pipe.conf")
    with (folder / "large.conf").open("wb") as file:
        file.truncate(2**33)
    found = read_hosting(tmp_path)
    assert len(found.sites) == 2
    assert "regular" in found.unread["/etc/nginx/conf.d/pipe.conf"]
    assert "MiB" in found.unread["/etc/nginx/conf.d/large.conf"]


def test_names_of_files_that_are_no_text_are_shown_as_text(tmp_path: Path) -> None:
    EVERY["nginx"](tmp_path, some_sites(1))
    folder = tmp_path / "etc/nginx/sites-enabled"
    for name in (b"a\nb", b"\xff\xfe", b"\x1b[31mred", b"x" * 255):
        (folder / os.fsdecode(name)).symlink_to("/etc/hostname")
    found = read_hosting(tmp_path)
    assert len(found.sites) == 1
    assert len(found.left_alone) == 4
    assert all(path.isprintable() for path in (*found.left_alone, *found.unread))


def test_nothing_that_lies_there_is_executed(tmp_path: Path) -> None:
    EVERY["HestiaCP"](tmp_path, some_sites(1))
    mark = tmp_path / "executed"
    evil = f"$(touch {mark}) `touch {mark}`; touch {mark}"
    put(
        tmp_path,
        "/usr/local/hestia/data/users/evil/web.conf",
        f"DOMAIN='{evil}' ALIAS='e.example'\nDOMAIN='x.example' ALIAS='{evil}'\n",
    )
    script = put(tmp_path, "/usr/local/hestia/data/users/evil/web.sh", f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(stat.S_IRWXU)
    assert "x.example" in names_of(read_hosting(tmp_path))
    assert not mark.exists()


def test_names_that_stand_for_several_are_said_and_are_no_site(tmp_path: Path) -> None:
    EVERY["nginx"](tmp_path, [Hosted("a.example", "a", ("*.a.example", "~^b\\d$"))])
    found = read_hosting(tmp_path)
    assert names_of(found) == {"a.example": {"a.example"}}
    assert "*.a.example" in found.patterns


def test_a_name_is_of_one_site_alone(tmp_path: Path) -> None:
    EVERY["HestiaCP"](
        tmp_path,
        [
            Hosted("a.example", "a", ("b.example", "c.example")),
            Hosted("b.example", "b", ("c.example", "a.example")),
        ],
    )
    assert names_of(read_hosting(tmp_path)) == {
        "a.example": {"a.example", "c.example"},
        "b.example": {"b.example"},
    }


# Texts as such files have them, whole and torn, and any others.
WORDS = st.sampled_from(
    [
        "server", "{", "}", ";", "server_name", "access_log", "root", "include", "*", "..",
        "<VirtualHost *:80>", "</VirtualHost>", "ServerName", "ServerAlias", "CustomLog",
        "DocumentRoot", "Include", "DOMAIN='", "ALIAS='", "'", '"', "\n", " ", "\t", "\\", "=",
        "servername:", "serveralias:", "customlog:", "-", "target:", "format:", "/", "a.example",
        "/var/log/x.log", "$host", "${APACHE_LOG_DIR}/a.log", "\0", "\x1b", "é", "\u202e", ":",
        "|/bin/sh", "%{Host}i", "a" * 300 + ".example", "xn--", "*.a.example", "192.0.2.1",
    ]
)  # fmt: skip
HOSTILE = st.one_of(st.lists(WORDS, max_size=60).map("".join), st.text(max_size=200))


def every_name_is_one(found: Hosting) -> None:
    every = [name for site in found.sites for name in site.names]
    assert len(every) == len(set(every))
    assert all(is_host(name) and "." in name for name in every)
    paths = [path for site in found.sites for path in (site.root, *site.logs) if path]
    assert all(path.startswith("/") and path.isprintable() for path in paths)


PLACES: dict[str, Iterable[str]] = {
    "cPanel": ["/var/cpanel/userdata/u/{name}", "/var/cpanel/userdata/u/main"],
    "Plesk": [
        "/var/www/vhosts/system/{name}/conf/httpd.conf",
        "/var/www/vhosts/system/{name}/conf/nginx.conf",
    ],
    "ISPConfig": ["/etc/apache2/sites-enabled/100-{name}.vhost", "/usr/local/ispconfig/x"],
    "DirectAdmin": [
        "/usr/local/directadmin/data/users/u/domains.list",
        "/usr/local/directadmin/data/users/u/domains/{name}.conf",
        "/usr/local/directadmin/data/users/u/domains/{name}.pointers",
        "/usr/local/directadmin/data/users/u/domains/{name}.subdomains",
    ],
    "HestiaCP": ["/usr/local/hestia/data/users/u/web.conf", "/usr/local/hestia/conf/hestia.conf"],
    VHOSTS: ["/etc/nginx/nginx.conf", "/etc/apache2/sites-enabled/{name}"],
}  # fmt: skip


@pytest.mark.parametrize("panel", PLACES)
@settings(max_examples=times(60), deadline=None)
@given(data=st.data())
def test_whatever_stands_in_the_files_ends_in_sites_that_can_be(
    panel: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for place in PLACES[panel]:
        path = place.format(name="a.example")
        put(root, path, data.draw(HOSTILE).replace("\ud800", ""))
    found = read_hosting(root)
    assert panel in found.found_by
    every_name_is_one(found)


def test_each_reader_reads_only_below_its_places() -> None:
    for panel in READERS.values():
        assert all(place.count("/") >= 2 for place in panel.places)
        assert not any(place.startswith("/home") for place in panel.places)


@given(st.text(max_size=80))
def test_a_name_is_spelled_as_dns_has_it_or_is_none(text: str) -> None:
    found = host_name(text)
    assert not found or (is_host(found) and found == host_name(found))


@given(HOSTILE)
def test_margins_of_any_text_are_found(text: str) -> None:
    assert all(isinstance(lines, list) for lines in margin(text).values())


@given(st.lists(st.sampled_from(["..", ".", "a", "l", "m", "", "etc"]), max_size=12))
def test_no_path_leads_out_of_the_tree(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    (root / "etc/a").mkdir(parents=True)
    (root / "etc/l").symlink_to("../../../..")
    (root / "etc/m").symlink_to("/")
    tree = Tree(str(root), ("/etc",))
    path = "/etc/" + "/".join(parts)
    where: Callable[[str], str] = tree._resolve
    assert ".." not in where(path).split("/")
    assert where(path).startswith("/") or not where(path)
