"""The sockets of HAProxy: nothing that a name holds becomes a command, and no answer is too strange
to read.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.errors import Away, BadInput
from flex.routing.haproxy_socket import (
    BackendServer,
    Master,
    Socket,
    Target,
    command_bytes,
    has_master_and_worker,
    master,
    parse_map_value,
    parse_node_name,
    parse_stat,
    targets,
)
from flex.routing.member_pools import is_host

TABLE = """# table: b, type: integer, size:204800, used:1
0x55558badfb80: key=1747067496 use=0 exp=1798838 gpt0=3 gpt1=17 gpc0=2"""
STAT = """# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,status,weight,
b,s1,2,0,5,0,,99,0,UP,100,
b,BACKEND,0,0,5,1,998,1,83,UP,100,"""
INFO = "Name: HAProxy\nnode: n1\nPid: 7"
MAP = 'type=str, case=sensitive, found=yes, idx=tree, key=":version", value="ab12", type="str"'
PROC = """#<PID>          <type>          <reloads>       <uptime>        <version>
22849           master          2 [failed: 1]   0d00h00m09s     2.6.12-1+deb12u4
# workers
22864           worker          1               0d00h00m04s     2.6.12-1+deb12u4"""


def test_what_haproxy_says_is_read() -> None:
    assert list(targets(TABLE)) == [Target("1747067496", 3, 17, 2)]
    assert parse_stat(STAT)[0] == BackendServer("b", "s1", "UP", 5, 2, 99, 100)
    assert master(PROC) == Master(2, 1, 4)
    assert parse_node_name(INFO) == "n1"
    assert parse_map_value(MAP) == "ab12"


def test_a_master_has_begun_once_it_names_its_worker() -> None:
    assert has_master_and_worker(PROC)
    begins = PROC.index("22864")
    for length in (0, 10, PROC.index("22849"), begins, begins + 10):
        assert not has_master_and_worker(PROC[:length])


@given(st.text())
def test_no_answer_is_too_strange(answer: str) -> None:
    for text in (
        answer,
        TABLE + answer,
        STAT + answer,
        STAT + "\n" + answer,
        PROC.replace("2", answer),
    ):
        list(targets(text))
        parse_stat(text)
        master(text)
        has_master_and_worker(text)
        parse_node_name(INFO.replace("n1", answer))
        parse_map_value(MAP + answer)


@given(st.data())
def test_no_answer_cut_or_bent_anywhere_is(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([TABLE, STAT, PROC]))
    cut, end = sorted(data.draw(st.tuples(st.integers(0, len(whole)), st.integers(0, len(whole)))))
    text = whole[:cut] + data.draw(st.text(max_size=10)) + whole[end:]
    assert all(target.set >= 0 for target in targets(text))
    assert all(each.served >= 0 for each in parse_stat(text))
    master(text)


@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=5))
def test_words_stay_words(words: list[str]) -> None:
    try:
        command = command_bytes(tuple(words))
    except BadInput:
        return
    assert command.endswith(b"\n")
    assert command.count(b"\n") == 1
    assert command.decode().split() == words
    assert not set(b";<\\\"'#") & set(command)


@pytest.mark.parametrize(
    "word",
    ["", "a b", "x\nshow stat", "x;shutdown", "x\\", "<<", "a\0b", "ä", "#1", "x" * 301, "x\r"],
)
def test_what_is_no_word_is_refused(word: str) -> None:
    with pytest.raises(BadInput, match="one word"):
        command_bytes(("set", "map", "/m", "key", word))


def test_an_answer_of_haproxy_that_trickles_has_one_time_for_all_of_it(tmp_path: Path) -> None:
    over = threading.Event()

    def trickles(listening: socket.socket) -> None:
        with listening.accept()[0] as asked, suppress(BrokenPipeError):
            while not over.wait(0.02):
                asked.sendall(b"x")

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        thread = threading.Thread(target=trickles, args=(listening,))
        thread.start()
        with pytest.raises(Away, match=r"does not end|timed out"):
            Socket(str(tmp_path / "s"), patience=0.2).ask("show", "info")
        over.set()
        thread.join()


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("shop.example", True), ("a", True), ("x" * 63 + ".example", True),
        (".".join(["a" * 63] * 3 + ["b" * 61]), True),
        ("a..b", False), ("x" * 64 + ".example", False), (".a", False), ("a.", False),
        ("-a", False), ("a-", False),
        (".".join(["a" * 63] * 4), False), ("", False), ("a b", False), ("a\n", False),
    ],
)  # fmt: skip
def test_a_host_is_what_dns_could_have(name: str, is_one: bool) -> None:
    assert is_host(name) == is_one
