"""The names of virtual hosts are read from the files of nginx and Apache as these servers read
them, and nothing that stands in such a file breaks the reading.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.errors import BadSetting
from flex_logs_ingest.scan.site_rules import is_host
from flex_logs_ingest.vhosts import read_vhosts as reading
from flex_logs_ingest.vhosts.apache_steps import apache_steps
from flex_logs_ingest.vhosts.nginx_steps import nginx_steps
from flex_logs_ingest.vhosts.read_vhosts import Vhosts

NGINX = r"""
# server { server_name commented.example; }
map $http_host $x { default 0; "server_name in.map;" 1; }
server {
    listen 80 default_server;
    listen [::]:443 ssl;
    server_name _;
}
server {
    server_name A.Example. www.a.example
        'b.a.example' "c.a.example"   # behind it
        *.a.example .d.example ~^(?<sub>[a-z]+)\.re\.example$ $hostname
        "~^quoted{2}\.example$" localhost 192.0.2.7 [2001:db8::1]:80 bücher.example;
    location ~ \.php$ { if ($host = x) { return 444; } }
    content_by_lua_block { local s = "}" -- don't
        if a then b = { server_name = 1 } end }
    server_name late.a.example;
}
stream { server { server_name none.example; } }
upstream back { server 192.0.2.9:80; }
"""
APACHE = r"""
ServerName machine.example
# ServerAlias commented.example
<IfModule mod_ssl.c>
<virtualhost *:443 [2001:db8::1]:443>
    serveralias "www.a.example" *.a.example \
        b.a.example:8080 ${SITE}.example
    SERVERNAME https://A.example:443
    <Directory "/srv/a">
       Options -Indexes
    </Directory>
</VirtualHost>
</IfModule>
<VirtualHost _default_:80>
    DocumentRoot /srv
</VirtualHost>
"""


def names(found: Vhosts) -> list[tuple[str, ...]]:
    return [host.names for host in found.hosts]


def read(folder: Path, **files: str) -> Vhosts:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return reading.read_vhosts([f"{folder}/sites/*"], "ingest.vhosts")


def test_names_of_nginx_are_those_of_each_server_in_order(tmp_path: Path) -> None:
    found = read(tmp_path, sites__a=NGINX)
    assert names(found) == [
        (
            "a.example",
            "www.a.example",
            "b.a.example",
            "c.a.example",
            "d.example",
            "xn--bcher-kva.example",
            "late.a.example",
        )
    ]
    assert [one.text for one in found.not_taken] == [
        "*.a.example",
        "*.d.example",
        r"~^(?<sub>[a-z]+)\.re\.example$",
        r"~^quoted{2}\.example$",
    ]
    assert found.hosts[0].line == NGINX.splitlines().index("server {", 5) + 1


def test_names_of_apache_begin_with_the_servername(tmp_path: Path) -> None:
    found = read(tmp_path, sites__a=APACHE.replace("\n", "\r\n"))
    assert names(found) == [("a.example", "www.a.example", "b.a.example")]
    assert [one.text for one in found.not_taken] == ["*.a.example", "${SITE}.example"]


@pytest.mark.parametrize(
    ("host", "included"),
    [
        ("server {{ server_name a.example; include {0}; }}", "server_name b.example;"),
        (
            "<VirtualHost *>\nServerName a.example\nInclude {0}\n</VirtualHost>",
            "ServerAlias b.example",
        ),
    ],
)
def test_what_a_host_includes_belongs_to_it(host: str, included: str, tmp_path: Path) -> None:
    for named in ("snippets/x.conf", str(tmp_path / "snippets/*.conf")):
        found = read(tmp_path, sites__a=host.format(named), snippets__x_conf="")
        (tmp_path / "snippets/x.conf").write_text(included)
        found = reading.read_vhosts([f"{tmp_path}/sites"], "ingest.vhosts")
        assert names(found) == [("a.example", "b.example")]
        assert len(found.files) == 2


def test_a_file_that_is_included_and_cannot_be_read_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    text = "server { server_name a.example; include pipe; include none; }"
    found = read(tmp_path, sites__a=text)
    assert names(found) == [("a.example",)]
    (said,) = found.unread
    assert "pipe" in said
    assert "not a regular file" in said


def test_files_that_include_one_another_without_end_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="without end"):
        read(tmp_path, sites__a="include sites/b;", sites__b="include sites/a;")


@pytest.mark.torture
def test_files_that_include_ever_more_files_are_refused_soon(tmp_path: Path) -> None:
    files = {f"sites__f{n}": f"include sites/f{n + 1};" * 40 for n in range(8)}
    begun = time.process_time()
    with pytest.raises(BadSetting, match="without end"):
        read(tmp_path, **files, sites__f8="server_name a.example;")
    assert time.process_time() - begun < 120


def test_a_file_that_is_too_large_or_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites/log").write_bytes(b"x" * (reading.LARGEST_FILE + 1))
    with pytest.raises(BadSetting, match="4 MiB"):
        read(tmp_path)
    assert reading.read_vhosts(["/none/*", "["], "x") == Vhosts(empty=("/none/*", "["))


pieces = st.sampled_from(
    [
        "server", "server_name", "{", "}", ";", "\n", " ", '"', "'", "\\", "#", "${", "$",
        "include *;", "include", "a.example", "*.b", "~", ".", ":", "[", "x_by_lua_block {",
        "<VirtualHost *>", "</VirtualHost>", "ServerName ", "ServerAlias ", "Include ", "\r",
        "\0", "\ufeff", "--", "ß.example", "stream {", "\ud800",
    ]
)  # fmt: skip
texts = st.one_of(st.text(), st.lists(pieces | st.text(max_size=3), max_size=60).map("".join))


@given(text=texts)
def test_whatever_a_file_holds_there_are_host_names_or_nothing(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    steps = [*nginx_steps(text), *apache_steps(text)]
    assert len(steps) <= 2 * len(text)
    folder = tmp_path_factory.mktemp("vhosts")
    (folder / "a").write_bytes(text.encode(errors="surrogatepass"))
    # It may include itself.
    with suppress(BadSetting):
        found = reading.read_vhosts([f"{folder}/*"], "ingest.vhosts")
        _are_names(found, len(text))


def _are_names(found: Vhosts, length: int) -> None:
    assert all(is_host(name) for host in found.hosts for name in host.names)
    assert len(found.hosts) + len(found.not_taken) <= length


@pytest.mark.parametrize(
    "piece", ['"', "'", "\\", "${", "{", "a{", "\\\n", "x_by_lua_block {", '"\\"']
)
def test_a_file_takes_time_by_its_length_alone(piece: str) -> None:
    def seconds(length: int) -> float:
        begun = time.process_time()
        for steps in (nginx_steps, apache_steps):
            sum(1 for _ in steps(piece * length))
        return time.process_time() - begun

    assert seconds(64_000) < 16 * seconds(8_000) + 1
