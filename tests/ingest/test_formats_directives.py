"""What a server's own configuration says about its log is enough to read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flex.errors import BadInput, Unknown
from flex_logs_ingest.formats import layout_of
from flex_logs_ingest.formats.format_directive import from_apache, from_nginx
from flex_logs_ingest.lines.field_cutter import Texts, extractor

FOUND = (b"example.org", b"10/Oct/2000:13:55:36 -0700", b"GET /x?y HTTP/1.1", b"200", b"5")
MAIN = (
    '$host $remote_addr - $remote_user [$time_local] "$request" $status '
    '$body_bytes_sent "$http_referer"'
)
JSON = (
    '{"host":"$host","time":"$time_local","request":"$request",'
    '"status":$status,"bytes":$bytes_sent}'
)
LINE = b'example.org 192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /x?y HTTP/1.1" 200 5 "-"'
JSON_LINE = (
    b'{"host":"example.org","time":"10/Oct/2000:13:55:36 '
    b'-0700","request":"GET /x?y HTTP/1.1","status":200,"bytes":5}'
)

NGINX_CONF = rf"""
http {{
    # log_format old '$remote_addr';
    log_format main '$host $remote_addr - $remote_user [$time_local] "$request" '
                    '$status $body_bytes_sent "$http_referer"';
    log_format json escape=json '{JSON}';
    log_format quoted "$host [$time_local] \"$request\" $status $bytes_sent";
    log_format short '$remote_addr $status';
    access_log /var/log/nginx/access.log main;
}}
"""
APACHE_CONF = r"""
# LogFormat "%h" old
LogFormat "%v %h %l %u %t \"%r\" %>s %O" vhost
  logformat '%v %t "%r" \
%>s %b' Wrapped
CustomLog logs/access_log vhost
"""


def read(directive: str, line: bytes) -> Texts | None:
    return extractor(layout_of(directive))(line)


@pytest.mark.parametrize(
    ("directive", "line"),
    [
        pytest.param(MAIN, LINE, id="bare"),
        pytest.param(
            "'$host $remote_addr - ' \n '- [$time_local] \"$request\" ' '$status $bytes_sent';",
            LINE,
            id="parts",
        ),
        pytest.param(JSON, JSON_LINE, id="JSON"),
        pytest.param(
            "$http_host:$server_port|${time_local}|$request_method|$uri$is_args$args|$status|$bytes_sent",
            b"example.org|10/Oct/2000:13:55:36 -0700|GET|/x?y|200|5",
            id="pairs are one field",
        ),
    ],
)
def test_an_nginx_directive_says_where_the_fields_are(directive: str, line: bytes) -> None:
    assert read(directive, line) == FOUND


def test_a_quotation_mark_that_nginx_escaped_ends_no_field() -> None:
    found = read(JSON, JSON_LINE.replace(b"/x", rb"/\"x"))
    assert found is not None
    assert found[2] == rb"GET /\"x?y HTTP/1.1"


@pytest.mark.parametrize(
    ("directive", "why"),
    [
        ("$remote_addr $status", "does not give time, request"),
        ("$time_local|$request|$status", "does not give bytes"),
        ("[$time_local] $request $status$bytes_sent", "nothing between them"),
    ],
)
def test_an_nginx_directive_that_does_not_say_enough_is_refused(directive: str, why: str) -> None:
    with pytest.raises(BadInput) as refused:
        layout_of(directive)
    assert why in refused.value.answer


@pytest.fixture
def nginx(tmp_path: Path) -> Path:
    path = tmp_path / "nginx.conf"
    path.write_text(NGINX_CONF)
    return path


@pytest.fixture
def apache(tmp_path: Path) -> Path:
    path = tmp_path / "httpd.conf"
    path.write_text(APACHE_CONF)
    return path


def test_a_format_is_read_out_of_nginx_s_own_file(nginx: Path) -> None:
    assert layout_of(f"{nginx}:main") == from_nginx(MAIN)
    assert layout_of(f"{nginx}:json") == from_nginx(JSON)
    assert layout_of(f"{nginx}:quoted") == from_nginx(
        '$host [$time_local] "$request" $status $bytes_sent'
    )


def test_a_format_is_read_out_of_apache_s_own_file(apache: Path) -> None:
    assert layout_of(f"{apache}:vhost") == from_apache(r"%v %h %l %u %t \"%r\" %>s %O")
    assert layout_of(f"{apache}:Wrapped") == from_apache('%v %t "%r"  %>s %b')


@pytest.mark.parametrize("name", [":old", ":mian", ""])
def test_a_name_that_the_file_does_not_hold_is_refused_with_those_it_holds(
    nginx: Path, name: str
) -> None:
    with pytest.raises(Unknown, match="json, main, quoted, short"):
        layout_of(f"{nginx}{name}")


def test_both_servers_count_the_first_field_of_a_kind() -> None:
    line = b"a.example|b.example|10/Oct/2000:13:55:36 -0700|GET / HTTP/1.1|200|7|5"
    found = read(
        "$host|$server_name|$time_local|$request|$status|$bytes_sent|$body_bytes_sent", line
    )
    assert found is not None
    assert (found[0], found[4]) == (b"a.example", b"7")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        layout_of(f"{tmp_path}/none.conf:main")
