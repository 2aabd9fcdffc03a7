"""The settings file: what is wrong in it is named, with what would do."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from flex.errors import BadSetting
from flex_api import check_files_in_settings
from flex_api.settings import explain_bad_settings
from flex_api.settings import file as settings
from flex_api.settings.file import Settings
from flex_dns.wire.key import make_key

MINIMAL = """
[[node]]
name = "n1"
addresses = ["192.0.2.1"]
ram = "1 GiB"
"""
SOURCE = MINIMAL + "[[ingest.source]]\nglob = 'x'\nnode = 'n1'\n"


def load(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "flex.toml"
    path.write_text(text, encoding="utf-8")
    return settings.load(path)


def test_everything_but_the_nodes_has_a_default(tmp_path: Path) -> None:
    loaded = load(tmp_path, MINIMAL)
    assert loaded.cluster.mode == "review"
    assert loaded.nodes()[0].ram == 2**30


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[cluster]\nnmae = 'x'", "did you mean 'name'"),
        ("[clutser]\nname = 'x'", "did you mean 'cluster'"),
        (
            "[[node]]\nname = 'n1'\naddresses = ['192.0.2.1']\nram = '1 GiB'\ncapactiy = 2",
            "did you mean 'capacity'",
        ),
        ("[cluster]\nmode = 'yolo'", "cluster.mode = 'yolo'"),
        ("[profile]\nwindow = '36h'", "whole days"),
        ("[profile]\nmax_age = 7", "such as '7d'"),
        ("[[node]]\nname = 'n1'\naddresses = ['192.0.2.300']\nram = 1", "192.0.2.300"),
        ("[[node]]\nname = 'n1'\naddresses = ['192.0.2.1']\nram = '12 GiX'", "such as '12 GiB'"),
        (
            "[[node]]\nname = 'n1'\naddresses = ['192.0.2.1']",
            "[[node]], number 1: `ram` is missing",
        ),
        (MINIMAL + MINIMAL, "the node 'n1' is there twice"),
        (MINIMAL + "[[ingest.source]]\nglob = 'x'\nnode = 'n7'", "names the node 'n7'"),
        (SOURCE + "site_pattern = '(?P<site>.+'", "this is no regular expression"),
        (SOURCE + "site_pattern = '(.+)[.]log'", "it has no group (?P<site>...)"),
        (SOURCE + "site_pattern = '(?P<site>.+)'\nsite = 'a.example'", "leave one of them out"),
        ("[solver]\ntolerance = 0.2", "must not be over safety.trigger_imbalance"),
        ("[solver]\ntolerance = 2", "solver.tolerance = 2"),
        ("[cluster]\ntimezone = 'Mars/Olympus'", "such as 'Europe/Berlin'"),
        ("[api]\nlisten = '8080'", "api.listen = '8080'"),
        (
            "[[node]]\nname = 'n1'\naddresses = ['192.0.2.1']\nram = '1 GiB'\ncapacity = nan",
            "node.0.capacity",
        ),
        ("schema = 2", "schema = 2"),
        ("[dns]\nmoving_ttl = 30", "moving_ttl does nothing without make_before_break"),
        ("[dns]\nwaves = []", "waves does nothing without make_before_break"),
        (
            "[dns]\nmake_before_break = true\nwarm_or_stop = true",
            "warm_or_stop does nothing without warm_command",
        ),
        (
            "[dns]\nmake_before_break = true\nmoving_ttl = 300",
            "moving_ttl = 300 does nothing: it is not below ttl",
        ),
        ("[dns]\nmake_before_break = true\nwaves = [1.5]", "dns.waves.0 = 1.5"),
        (
            "[dns]\nzones = ['a.example']\n[[dns.primary]]\nzones = ['A.example.']",
            "a.example. is there twice",
        ),
        ("[profile]\nwindow = '99999999999d'", "longer than 3660d"),
        ("[profile]\nwindow = '400d'", "366d at most"),
        ("[profile]\nmax_age = '9" + "9" * 400 + "d'", "such as '7d'"),
        ("[dns]\ntimeout = '0s'", "dns.timeout"),
        ("[dns]\nttl = true", "wanted a whole number"),
        ("node = 3", "node = 3: wanted a section, as in [[section]]"),
        ("[dns]\nzones = 'a.example'", "wanted a list, as in ['one', 'two']"),
        ("[[node]]\nname = 'n1'\naddresses = ['192.0.2.1']\nram = 0", "node.0.ram = 0"),
        ("[[node]]\nname = 'n1'\naddresses = ['192.0.2.1']\nram = true", "node.0.ram = True"),
        (
            "[[node]]\nname = 'n1'\naddresses = ['192.0.2.1']\nram = '" + "9" * 400 + " TiB'",
            "such as '12 GiB'",
        ),
        (MINIMAL + "capacity = 1e308", "node.0.capacity"),
        (MINIMAL + "capacity = 1e-308", "node.0.capacity"),
        ("[cluster", "this is not TOML"),
        ("[dns]\nzones = ['ho sting..example']", "no name of a zone"),
        ("[dns]\nzones = ['']", "no name of a zone"),
        ("[dns]\nverify = ['127.0.0.1:99999999']", "wanted 'host' or 'host:port'"),
        ("[solver]\nengine = 'autp'", "did you mean 'auto'"),
        (SOURCE + "format = 'combind'", "did you mean 'combined'"),
        (SOURCE + "format = '%v %{%T}t %r %>s %b'", "does not say the day"),
        (MINIMAL.replace("192.0.2.1", "0.0.0.0"), "no address that visitors could reach"),
        (MINIMAL.replace("192.0.2.1", "fe80::1%eth0"), "no address that visitors could reach"),
        (MINIMAL + MINIMAL.replace("n1", "n2"), "two nodes have the address 192.0.2.1"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_do(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadSetting) as caught:
        load(tmp_path, text)
    assert said in str(caught.value)


def test_a_list_is_not_too_short_where_what_is_in_it_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "flex.toml"
    wrong = {"[1, 2]": ["addresses.0 = 1", "addresses.1 = 2"], "[]": ["at least 1"]}
    for given, said in wrong.items():
        file.write_text(MINIMAL.replace('["192.0.2.1"]', given))
        problems = settings.problems(file)
        assert len(problems) == len(said)
        assert all(one in problem for one, problem in zip(said, problems, strict=True))


WRONG = [
    1,
    -1,
    1.5,
    "x",
    True,
    [],
    ["x"],
    [1],
    {},
    {"a": 1},
    [{}],
    float("nan"),
    10**30,
    "",
    [["x"]],
    "x" * 5000,
]


def _settings_with_wrong_values(
    path: tuple[str, ...], model: type[BaseModel]
) -> Iterator[dict[str, object]]:
    for name, field in model.model_fields.items():
        here = (*path, field.alias or name)
        for wrong in WRONG:
            yield _nested(here, wrong)
        for section in explain_bad_settings._models(field.annotation):
            inside = (*here, "[]") if "tuple" in str(field.annotation) else here
            yield from _settings_with_wrong_values(inside, section)


def _nested(path: tuple[str, ...], value: object) -> dict[str, object]:
    for part in reversed(path):
        value = [value] if part == "[]" else {part: value}
    assert isinstance(value, dict)
    return value


def test_no_setting_of_a_wrong_type_is_answered_with_a_sentence_of_pydantics() -> None:
    seen = set()
    for values in _settings_with_wrong_values((), Settings):
        try:
            Settings.model_validate(values)
        except ValidationError as error:
            problems = error.errors()
            seen |= {problem["type"] for problem in problems}
            ours = ("value_error", "missing", "extra_forbidden")
            theirs = [one["msg"] for one in problems if one["type"] not in ours]
            lines = explain_bad_settings.explain(error, Settings)
            # Of a list with wrong parts it is not said that it is too short.
            named = [one for one in theirs if "at least" not in one]
            assert len(problems) - len(lines) <= len(theirs) - len(named)
            for said in lines:
                assert "\n" not in said
                assert len(said) < 700, said
                assert not re.search(
                    "Input|String should|Tuple|List should|Unable to|valid dict|pathlib", said
                ), said
                assert not any(one in said for one in theirs)
            assert sum("wanted" in said for said in lines) >= len(named)
    assert len(seen) > 20
    assert {
        *explain_bad_settings._WANTED,
        "value_error",
        "missing",
        "extra_forbidden",
        "string_pattern_mismatch",
    } >= seen


def test_a_zone_that_is_named_twice_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(BadSetting) as raised:
        load(tmp_path, "[dns]\nttl = 60\nzones = ['a.example', 'b.example', 'a.example.']")
    assert str(raised.value).endswith(
        "dns: the zone a.example. is there twice: nobody could tell which primary takes its updates"
    )


def test_a_key_without_end_is_quoted_in_part(tmp_path: Path) -> None:
    with pytest.raises(BadSetting) as raised:
        load(tmp_path, f"{'x' * 100_000} = 1")
    assert len(str(raised.value)) < 800


def test_files_that_settings_name_are_looked_for(tmp_path: Path) -> None:
    text = (
        (
            SOURCE + "[ingest]\nsites_file = 'sites.txt'\n[ingest.aliases]\n'www.b.example' "
            "= 'b.example'\n"
            "[dns]\nkey_file = 'flex.key'\ntransfer_key_file = '${CREDENTIALS_DIRECTORY}/tsig'\n"
            "[[dns.primary]]\nkey_file = 'other.key'\n[[notify.webhook]]\nurl_file = 'url'\n"
        )
        .replace("[[ingest.source]]", "[ingest]\nsites_file = 'sites.txt'\n[[ingest.source]]")
        .replace("[ingest]\nsites_file = 'sites.txt'\n[ingest.aliases]", "[ingest.aliases]")
    )
    loaded, path = load(tmp_path, text), tmp_path / "flex.toml"
    hidden = settings.names_without_credentials(path)
    assert hidden == {"dns.transfer_key_file"}
    found = "\n".join(check_files_in_settings.problems(loaded, hidden))
    for named in (
        "sites.txt",
        "dns.key_file",
        "dns.primary[0].key_file",
        "notify.webhook[0].url_file",
    ):
        assert named in found
    assert "transfer_key_file" not in found
    (tmp_path / "url").touch()
    for name in ("flex.key", "other.key"):
        (tmp_path / name).touch(mode=0o600)
        (tmp_path / name).write_text(make_key("flex").clause(), encoding="ascii")
    (tmp_path / "sites.txt").write_text("a.example\n")
    assert list(check_files_in_settings.problems(loaded, hidden)) == []
    remarks = list(check_files_in_settings.remarks(loaded, hidden))
    assert len(remarks) == 3
    assert any("nothing matches" in remark for remark in remarks)
    assert any("b.example" in remark for remark in remarks)


def _list_of_sites(folder: Path, content: bytes) -> str:
    (folder / "sites").write_bytes(content)
    return "[ingest]\nsites_file = 'sites'\n"


def _key(folder: Path, mode: int, text: str = "") -> str:
    (folder / "flex.key").touch(mode=0o600)
    (folder / "flex.key").write_text(text or make_key("flex").clause(), encoding="ascii")
    (folder / "flex.key").chmod(mode)
    return "[dns]\nzones = ['example.org']\nkey_file = 'flex.key'\n"


def _file_for_folder(folder: Path, setting: str) -> str:
    (folder / "file").touch()
    return setting


UNUSABLE: dict[str, tuple[Callable[[Path], str], str]] = {
    "no key": (lambda at: _key(at, 0o600, "a.example\n"), "holds no key at all"),
    "a secret that is not base64": (
        lambda at: _key(at, 0o600, 'key "flex" { algorithm hmac-sha256; secret "!?"; };'),
        "its secret is not base64",
    ),
    "a key for all": (lambda at: _key(at, 0o644), "its mode 644 lets other users"),
    "no key file": (
        lambda _: "[dns]\nzones = ['example.org']\nkey_file = 'none'\n",
        "No such file",
    ),
    "another database": (
        lambda _: "[database]\nurl = 'mysql://x'\n",
        "mysql is none of sqlite, postgresql",
    ),
    "no folder for metrics": (
        lambda _: "[metrics]\ntextfile = 'none/flex.prom'\n",
        "metrics.textfile",
    ),
    "a file for reports": (
        lambda at: _file_for_folder(at, "[report]\ndir = 'file'\n"),
        "report.dir",
    ),
    "a file for readings": (
        lambda at: _file_for_folder(at, "[ingest]\ndirectory = 'file'\n"),
        "ingest.directory",
    ),
    "an empty list": (lambda at: _list_of_sites(at, b"# none yet\n"), "lists no site"),
    "a line without a name": (
        lambda at: _list_of_sites(at, b"a.example\nfoo bar baz/;\n"),
        "line 2 is no name of a site: 'foo bar baz/;'",
    ),
    "a list in another encoding": (
        lambda at: _list_of_sites(at, b"a.example\n\xfc.example\n"),
        "line 2 is not UTF-8: it has the byte 0xfc",
    ),
    "a folder for a list": (lambda _: "[ingest]\nsites_file = '.'\n", "is a directory"),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_nothing_that_cannot_be_used_is_called_good(tmp_path: Path, what: str) -> None:
    make, said = UNUSABLE[what]
    text = SOURCE.replace("[[ingest.source]]", make(tmp_path) + "[[ingest.source]]")
    loaded = load(tmp_path, text)
    (found,) = check_files_in_settings.problems(loaded, ())
    assert said in found
    assert "Errno" not in found
    assert "codec" not in found


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that every user may look into."""
    with tempfile.TemporaryDirectory() as found:
        Path(found).chmod(0o755)
        yield Path(found)


def as_another_user(look: Callable[[], Sequence[str]]) -> list[str]:
    """What somebody finds who is not root: root may write anywhere."""
    to_read, to_write = os.pipe()
    if not (child := os.fork()):
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        os.write(to_write, json.dumps(list(look())).encode())
        os._exit(0)
    os.close(to_write)
    with os.fdopen(to_read) as pipe:
        found: list[str] = json.load(pipe)
    os.waitpid(child, 0)
    return found


@pytest.mark.parametrize(
    "where",
    ["ingest.directory", "report.dir", "metrics.textfile", "database.url", "routing.deliver"],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_a_folder_that_may_not_be_written_to_is_not_called_good(
    open_to_all: Path, where: str, *, is_there: bool
) -> None:
    closed, free = open_to_all / "closed", open_to_all / "open"
    free.mkdir(mode=0o777)
    free.chmod(0o777)
    closed.mkdir(mode=0o555)
    inner = closed if is_there or where == "metrics.textfile" else closed / "not" / "yet"

    def at(name: str) -> Path:
        return inner if name == where else free

    text = SOURCE.replace(
        "[[ingest.source]]",
        f"[database]\nurl = 'sqlite:///{at('database.url')}/flex.db'\n"
        f"[report]\ndir = '{at('report.dir')}'\n"
        f"[metrics]\ntextfile = '{at('metrics.textfile')}/flex.prom'\n"
        f"[routing]\ndeliver = '{at('routing.deliver')}/{{node}}'\n"
        f"[ingest]\ndirectory = '{at('ingest.directory')}'\n[[ingest.source]]",
    )
    loaded = load(open_to_all, text)
    (said,) = as_another_user(lambda: list(check_files_in_settings.problems(loaded, ())))
    assert said.startswith(where)
    assert "may not write" in said
    assert str(closed) in said
    closed.chmod(0o777)
    assert not as_another_user(lambda: list(check_files_in_settings.problems(loaded, ())))


def test_settings_that_can_be_used_have_no_problem(tmp_path: Path) -> None:
    text = SOURCE.replace(
        "[[ingest.source]]",
        _key(tmp_path, 0o640)
        + _list_of_sites(tmp_path, "b\u00fccher.example # ours\n/a/\nx.example".encode())
        + "[[ingest.source]]",
    )
    assert not list(check_files_in_settings.problems(load(tmp_path, text), ()))


def test_each_pattern_that_matches_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "n1.log").touch()
    loaded = load(tmp_path, SOURCE.replace("glob = 'x'", "glob = ['*.log', '*.gz']"))
    said = list(check_files_in_settings.remarks(loaded, ()))
    assert said == [f"the logs of n1: nothing matches {tmp_path}/*.gz"]


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(BadSetting) as caught:
        settings.load(tmp_path / "none.toml")
    assert "flex init" in caught.value.advice


def test_every_problem_of_a_file_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "flex.toml"
    path.write_text("[cluster]\nmode = 'x'\n[solver]\nengin = 'y'\n", encoding="utf-8")
    assert len(settings.problems(path)) == 2


def test_sizes_and_spans_are_read_as_people_write_them(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        "[safety]\nmax_moved_working_set = '1.5 GB'\n[profile]\nmax_age = '90m'\nwindow = '7d'",
    )
    assert loaded.safety.max_moved_working_set == 1_500_000_000
    assert loaded.profile.max_age == timedelta(minutes=90)
    assert loaded.profile.window.days == 7


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        MINIMAL + "[[ingest.source]]\nglob = 'logs/*.log'\nnode = 'n1'\n[dns]\nkey_file = 'k'",
    )
    assert loaded.ingest.source[0].globs == (str(tmp_path / "logs/*.log"),)
    assert loaded.dns.key_file == tmp_path / "k"
    assert loaded.database.url == f"sqlite:///{tmp_path.resolve()}/flex.db"


def test_a_password_in_the_database_url_is_never_shown(tmp_path: Path) -> None:
    loaded = load(tmp_path, "[database]\nurl = 'postgresql://flex:hunter2@db.example.net/flex'")
    assert "hunter2" not in str(settings.mask_secrets(loaded))


def test_the_database_s_url_may_stand_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "database.url").write_text(
        "postgresql://flex:hunter2@db.example.net/flex\n", encoding="utf-8"
    )
    loaded = load(tmp_path, "[database]\nurl_file = 'database.url'")
    assert loaded.database.url == "postgresql://flex:hunter2@db.example.net/flex"
    assert "hunter2" not in str(settings.mask_secrets(loaded))
    (tmp_path / "database.url").write_text("sqlite:///beside.db", encoding="utf-8")
    beside = load(tmp_path, "[database]\nurl_file = 'database.url'").database.url
    assert beside == f"sqlite:///{tmp_path.resolve()}/beside.db"


@pytest.mark.parametrize("content", [None, b"", b"two\nlines", b"\xff\xfe"], ids=str)
def test_a_file_without_the_database_s_url_is_named(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "database.url").write_bytes(content)
    with pytest.raises(BadSetting, match=r"database\.url_file"):
        load(tmp_path, "[database]\nurl_file = 'database.url'")


def test_a_database_has_one_url(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="either url or url_file"):
        load(tmp_path, "[database]\nurl = 'sqlite:///flex.db'\nurl_file = 'database.url'")


def test_the_starter_settings_are_good(tmp_path: Path) -> None:
    from flex_api import first_files

    first_files.write(tmp_path)
    assert settings.problems(tmp_path / "flex.toml") == ()
    assert [node.name for node in settings.load(tmp_path / "flex.toml").node] == ["n1", "n2"]
