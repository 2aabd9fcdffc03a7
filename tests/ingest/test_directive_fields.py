"""Whatever of Apache's format strings or nginx's variables stands in a line, its needed fields are
found or refused.
"""

from __future__ import annotations

import pytest

from flex import native_or_python
from flex.errors import BadInput
from flex_logs_ingest.formats import layout_of
from flex_logs_ingest.formats.format_directive import from_apache, from_directive, from_nginx
from flex_logs_ingest.lines.field_cutter import Texts, extractor
from flex_logs_ingest.lines.field_meanings import seconds
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.site_rules import SiteRule

NATIVE: type[ReferenceScan] = getattr(native_or_python.NATIVE, "Scan", ReferenceScan)
TIME = "10/Oct/2000:13:55:36 -0700"
MOMENT = 971_211_336

# All of mod_log_config's and mod_logio's, with what they may write.
APACHE = {
    "%a": "192.0.2.1",
    "%{c}a": "2001:db8::1",
    "%A": "192.0.2.9",
    "%B": "5",
    "%b": "5",
    "%{id}C": "a b",
    "%D": "99",
    "%{X}e": "-",
    "%f": "/srv/my files/a.html",
    "%h": "a.example",
    "%{c}h": "b.example",
    "%H": "HTTP/2.0",
    "%^FB": "7",
    "%{Accept}i": "text/html, */*;q=0.8",
    "%{User-agent}i": "Mozilla/5.0 (X11; Linux)",
    "%{Referer}i": "http://a/",
    "%{X-Forwarded-For}i": "192.0.2.1, 192.0.2.2",
    "%{Via}i": "1.1 a, 1.1 b",
    "%{Cookie}i": "a=1; b=2",
    "%k": "0",
    "%l": "-",
    "%L": "WvcA",
    "%{Foobar}n": "-",
    "%{X-Cache}o": "MISS from a",
    "%p": "80",
    "%{remote}p": "40000",
    "%P": "1234",
    "%{tid}P": "139901",
    "%q": "?a=b",
    "%R": "proxy:http://a",
    "%<s": "200",
    "%>s": "200",
    "%T": "0",
    "%{ms}T": "12",
    "%{us}T": "12345",
    "%u": "a user",
    "%X": "+",
    "%{X}^ti": "-",
    "%{X}^to": "-",
    "%I": "1",
    "%O": "5",
    "%S": "400",
    "%{SSL_PROTOCOL}x": "TLSv1.3",
    "%{VERSION}c": "TLSv1.3",
    "%400,501{User-agent}i": "-",
    "%!200{X}i": "-",
    "%{Host}i": "example.org",
    "%v": "example.org",
    "%V": "example.org",
    "%%": "%",
    "%U": "/a b",
    "%m": "GET",
    "%r": "GET /a b HTTP/1.1",
    "%t": f"[{TIME}]",
    "%s": "200",
    "%{%s}t": f"{MOMENT}",
    "%{sec}t": f"{MOMENT}",
}
NGINX = {
    "remote_addr": "192.0.2.1",
    "remote_user": "a user",
    "remote_port": "40000",
    "connection": "7",
    "msec": "971211336.5",
    "time_local": TIME,
    "time_iso8601": "2000-10-10T13:55:36-07:00",
    "request": "GET /a b HTTP/1.1",
    "status": "200",
    "request_method": "GET",
    "request_uri": "/a?b=c d",
    "uri": "/a b",
    "document_uri": "/a b",
    "args": "a=b c",
    "query_string": "-",
    "is_args": "?",
    "bytes_sent": "5",
    "body_bytes_sent": "5",
    "request_length": "300",
    "request_time": "0.003",
    "server_protocol": "HTTP/1.1",
    "scheme": "https",
    "host": "example.org",
    "http_host": "example.org",
    "server_name": "example.org",
    "server_port": "443",
    "server_addr": "192.0.2.9",
    "http_referer": "http://a/",
    "http_user_agent": "Mozilla/5.0 (X11; Linux)",
    "http_cookie": "a=1; b=2",
    "pipe": ".",
    "http_x_forwarded_for": "192.0.2.1, 192.0.2.2",
    "proxy_add_x_forwarded_for": "192.0.2.1, 192.0.2.2",
    "upstream_addr": "192.0.2.1:80, 192.0.2.2:80 : unix:/a",
    "upstream_response_time": "0.1, 0.2 : 0.3",
    "upstream_status": "502, 200 : 200",
    "upstream_cache_status": "HIT",
    "upstream_http_x": "a b",
    "gzip_ratio": "3.1",
    "sent_http_content_type": "text/html; charset=utf-8",
    "cookie_id": "a",
    "arg_a": "b",
    "ssl_protocol": "TLSv1.3",
    "ssl_cipher": "AES128",
    "request_id": "0a1b",
    "request_completion": "OK",
    "hostname": "n1",
    "pid": "1234",
    "request_filename": "/srv/my files/a",
    "of_our_own_map": "x",
    "geoip2_data_country": "AT",
    "content_length": "-",
}


def read(directive: str, line: str) -> Texts:
    found = extractor(layout_of(directive))(line.encode())
    assert found is not None, line
    return found


def counted(scan: type[ReferenceScan], directive: str, line: str) -> object:
    loop = scan(layout_of(directive), SiteRule(), 10)
    loop.feed(line.encode() + b"\n")
    found = loop.finish()
    return (found["lines"], found["sites"], found["first_time"], found["tables"].columns()["text"])


@pytest.mark.parametrize("written", APACHE)
@pytest.mark.parametrize(
    ("rest", "line"),
    [
        ("%V %t %m %U %H %>s %O", f"example.org [{TIME}] GET /a b HTTP/1.1 200 5"),
        ('%V %t "%r" %>s %O', f'example.org [{TIME}] "GET /a b HTTP/1.1" 200 5'),
        ("%V,%t,%r,%>s,%O", f"example.org,[{TIME}],GET /a b HTTP/1.1,200,5"),
    ],
)
def test_every_format_string_of_apache_may_stand_before_what_is_needed(
    written: str, rest: str, line: str
) -> None:
    parted = " " if "," not in line else ","
    directive, whole = f"{written}{parted}{rest}", f"{APACHE[written]}{parted}{line}"
    vhost, time, request, status, sent = read(directive, whole)
    assert (vhost, status, sent) == (b"example.org", b"200", b"5")
    assert seconds(time) == MOMENT
    assert request.startswith(b"GET /a b")
    assert counted(NATIVE, directive, whole) == counted(ReferenceScan, directive, whole)


@pytest.mark.parametrize("name", NGINX)
@pytest.mark.parametrize(
    ("rest", "line"),
    [
        (
            "$host $time_iso8601 $request_method $uri $server_protocol $status $bytes_sent",
            "example.org 2000-10-10T13:55:36-07:00 GET /a b HTTP/1.1 200 5",
        ),
        (
            "$host $time_local $request $status $bytes_sent",
            f"example.org {TIME} GET /a b HTTP/1.1 200 5",
        ),
        (
            "$host [$time_local] $request_method $request_uri $status $bytes_sent",
            f"example.org [{TIME}] GET /a b 200 5",
        ),
    ],
)
def test_every_variable_of_nginx_may_stand_before_what_is_needed(
    name: str, rest: str, line: str
) -> None:
    directive, whole = f"${name} {rest}", f"{NGINX[name]} {line}"
    vhost, time, request, status, sent = read(directive, whole)
    assert (vhost, status, sent) == (b"example.org", b"200", b"5")
    assert seconds(time) == MOMENT
    assert request.startswith(b"GET /a")
    assert counted(NATIVE, directive, whole) == counted(ReferenceScan, directive, whole)


@pytest.mark.parametrize(
    ("format_", "text"),
    [
        *(
            ("%d/%b/%Y:%H:%M:%S %z", TIME),
            ("%FT%T%z", "2000-10-10T13:55:36-0700"),
            ("%F %T", "2000-10-10 20:55:36"),
        ),
        *(("%Y/%m/%d %T", "2000/10/10 20:55:36"), ("%d.%m.%Y %H:%M:%S", "10.10.2000 20:55:36")),
        *(
            ("%e-%h-%y %T %z", "10-Oct-00 13:55:36 -0700"),
            ("%a %b %e %T %Y", "Tue Oct 10 20:55:36 2000"),
        ),
        *(
            ("%c", "Tue Oct 10 20:55:36 2000"),
            ("%D %T", "10/10/00 20:55:36"),
            ("%Y%m%d%H%M%S", "20001010205536"),
        ),
        *(
            ("%s", "971211336"),
            ("sec", "971211336"),
            ("begin:%s", "971211336"),
            ("end:%F %T", "2000-10-10 20:55:36"),
        ),
    ],
)
@pytest.mark.parametrize("around", ["%{", "[%{"])
def test_a_time_in_any_format_that_says_when_is_read(format_: str, text: str, around: str) -> None:
    bracket = "]" * around.startswith("[")
    directive = f'%v {around}{format_}}}t{bracket} "%r" %>s %b'
    line = f'example.org {"[" * bool(bracket)}{text}{bracket} "GET / HTTP/1.1" 200 5'
    assert seconds(read(directive, line)[1]) == MOMENT
    assert counted(NATIVE, directive, line) == counted(ReferenceScan, directive, line)


def test_days_of_one_digit_may_begin_with_a_blank() -> None:
    assert read('%{%c}t %v "%r" %s %b', 'Tue Oct  3 20:55:36 2000 a.example "-" 400 0')[
        1
    ].startswith(b"03/Oct/2000:20")


@pytest.mark.parametrize("unit", ["msec", "usec"])
def test_times_may_be_in_parts_of_seconds(unit: str) -> None:
    digits = "1388002658123" + "456" * (unit == "usec")
    assert (
        seconds(read(f'%{{{unit}}}t %v "%r" %s %b', f'{digits} a.example "-" 400 0')[1])
        == 1_388_002_658
    )


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ("[%{%d/%b/%Y:%T}t.%{msec_frac}t %{%z}t]", "[10/Oct/2000:13:55:36.123 -0700]"),
        ("%{%Y-%m-%d}t %{%T}t.%{usec_frac}t", "2000-10-10 20:55:36.123456"),
        ("%{sec}t.%{msec_frac}t", "971211336.123"),
        ("%t %{msec_frac}t", f"[{TIME}] 123"),
        ("%{begin:%F %T}t %{end:%F %T}t", "2000-10-10 20:55:36 2000-10-10 20:55:38"),
    ],
)
def test_a_time_may_be_in_pieces(pieces: str, text: str) -> None:
    found = read(f'{pieces} %v "%r" %>s %b', f'{text} example.org "GET / HTTP/1.1" 200 5')
    assert (found[0], seconds(found[1])) == (b"example.org", MOMENT)


@pytest.mark.parametrize(
    "format_", ["%T", "%F", "%d/%b %T", "%A %T", "%F %T %Z", "%F %I:%M:%S %p", "nonsense", ""]
)
def test_a_time_that_does_not_say_when_is_refused(format_: str) -> None:
    with pytest.raises(BadInput, match="does not say the day"):
        from_apache(f'%v %{{{format_}}}t "%r" %>s %b')


@pytest.mark.parametrize(
    ("directive", "line", "request_"),
    [
        ("$scheme://$host$request_uri", "https://example.org/a?b", b"GET /a?b HTTP/1.1"),
        (
            "$scheme://$http_host:$server_port$request_uri",
            "https://example.org:443/a",
            b"GET /a HTTP/1.1",
        ),
        (
            '"$request_method $scheme://$host$uri $server_protocol"',
            '"GET http://example.org/a b HTTP/1.1"',
            b"GET /a b HTTP/1.1",
        ),
        ("$scheme://$host$request_uri", "https://example.org*", b"GET * HTTP/1.1"),
        ("$scheme://$host$request_uri", "http://example.org", b"GET  HTTP/1.1"),
        ("$request_method $host$uri?$args", "HEAD example.org/a?b", b"HEAD /a HTTP/1.1"),
        ("%m %v%U%q", "POST example.org/a?b", b"POST /a?b HTTP/1.1"),
    ],
)
def test_a_url_says_the_site_and_the_path(directive: str, line: str, request_: bytes) -> None:
    apache = "%" in directive
    directive = (
        f"{directive} %t %>s %O" if apache else f"{directive} [$time_local] $status $bytes_sent"
    )
    vhost, _, request, status, sent = read(directive, f"{line} [{TIME}] 200 5")
    assert (vhost.partition(b":")[0], request, status, sent) == (
        b"example.org",
        request_,
        b"200",
        b"5",
    )
    assert counted(NATIVE, directive, f"{line} [{TIME}] 200 5") == counted(
        ReferenceScan, directive, f"{line} [{TIME}] 200 5"
    )


@pytest.mark.parametrize(
    "request_",
    [
        "GET /a|b HTTP/1.1",
        "GET / 200 HTTP/1.1",
        "GET /a 5",
        "-",
        "",
        "\\x16\\x03 a b",
        "OPTIONS * HTTP/1.0",
    ],
)
@pytest.mark.parametrize("parted", [" ", "|", ","])
def test_a_request_without_quotation_marks_ends_where_the_status_is(
    request_: str, parted: str
) -> None:
    directive = parted.join(["%v", "%t", "%r", "%>s", "%b"])
    line = parted.join(["example.org", f"[{TIME}]", request_, "404", "1234"])
    assert read(directive, line)[2:] == (request_.encode(), b"404", b"1234")
    assert counted(NATIVE, directive, line) == counted(ReferenceScan, directive, line)


def test_what_is_not_needed_may_stand_between_a_request_and_its_status() -> None:
    directive = "$host $time_local $request $http_referer $request_time $status $body_bytes_sent"
    line = f"example.org {TIME} GET /a b HTTP/1.1 - 0.003 200 5"
    assert read(directive, line)[2:] == (b"GET /a b HTTP/1.1", b"200", b"5")
    assert counted(NATIVE, directive, line) == counted(ReferenceScan, directive, line)


@pytest.mark.parametrize(
    "directive",
    [
        "%t %v %>s %b %r %{Referer}i",
        '%{User-Agent}i %v %{Referer}i %t "%r" %>s %b',
        "$time_local $host $status $body_bytes_sent $request $of_our_own_map",
    ],
)
def test_a_text_of_which_nothing_tells_where_it_ends_is_refused(directive: str) -> None:
    with pytest.raises(BadInput, match="put it in quotation marks"):
        from_directive(directive)


def test_a_line_with_thousands_of_ends_is_malformed_and_takes_no_longer() -> None:
    for line in ("a " * 2**19, "a, " * 2**18, "200 5 " * 2**17 + "x"):
        directive = "$http_x_forwarded_for $time_local $host $request $status $bytes_sent"
        assert counted(NATIVE, directive, line) == counted(ReferenceScan, directive, line)
        assert counted(ReferenceScan, directive, line)[0] == [0, 0, 0, 1]  # type: ignore[index] # of any object


def test_what_stands_first_of_a_kind_is_the_field() -> None:
    found = from_nginx(
        "$msec $time_iso8601 $status $upstream_status $bytes_sent $body_bytes_sent $request"
    )
    assert [op.field for op in found.ops] == [
        "time",
        None,
        "status",
        None,
        "bytes",
        None,
        "request",
    ]
