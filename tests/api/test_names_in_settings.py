"""Other names of sites come from the settings, from a file and from virtual hosts. Each leads to
one site, wherever it is written, or it is said where it is not so.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.errors import BadSetting
from flex_api import check_files_in_settings, doctor
from flex_api.facts.other_names_to_route import other_names
from flex_api.other_names_in_settings import names_in_settings
from flex_api.settings import file as settings_file
from flex_api.settings.file import Settings
from flex_api.settings.whole_settings import Ingest
from flex_api.wiring import site_names, sources

SOURCE = """[[ingest.source]]
glob = "none"
node = "n1"
[[node]]
name = "n1"
addresses = ["192.0.2.1"]
ram = "1GiB"
"""


def written(folder: Path, *, extra: str = "", **files: str) -> Settings:
    """Settings with these files beside them; "hosts" are virtual hosts."""
    text = "[ingest]\n"
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
        text += 'vhosts = ["hosts*"]\n' if name == "hosts" else f"{name}_file = '{name}'\n"
    path = folder / "flex.toml"
    path.write_text(f"{text}{extra}{SOURCE}", encoding="utf-8")
    return settings_file.load(path)


def nginx(*blocks: str) -> str:
    return "".join(f"server {{ server_name {names}; }}\n" for names in blocks)


def aliases(settings: Settings) -> dict[str, str]:
    return dict(site_names(settings).aliases)


def refusal(settings: Settings) -> str:
    """What every reader of names is told, and what `flex config check` and doctor say."""
    with pytest.raises(BadSetting) as caught:
        site_names(settings)
    with pytest.raises(BadSetting):
        sources(settings)
    (said,) = check_files_in_settings.problems(settings, ())
    assert str(caught.value) in said
    (row,) = doctor._names_in_files(settings)
    assert row.state == "fail"
    assert row.detail == str(caught.value)
    return str(caught.value)


def test_a_file_has_a_name_and_its_site_on_each_line(tmp_path: Path) -> None:
    text = "# ours\nWWW.Bücher.example.  bücher.example # new\n\nshop@docker a.example\n"
    found = written(tmp_path, aliases=text, extra="aliases = {'old.example' = 'a.example'}\n")
    assert aliases(found) == {
        "old.example": "a.example",
        "www.xn--bcher-kva.example": "xn--bcher-kva.example",
        "shop%40docker": "a.example",
    }
    naming = sources(found)[0].site.naming()
    assert naming(b"old.example:443") == "a.example"
    assert naming("www.bücher.example".encode()) == "xn--bcher-kva.example"
    found_names = other_names(found, ["a.example", "xn--bcher-kva.example"])
    assert {"old.example", "www.a.example"} <= set(found_names["a.example"])
    assert found_names["xn--bcher-kva.example"] == ["www.xn--bcher-kva.example"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("www.a.example", "line 2 is not a name and its site: 'www.a.example'"),
        ("a b c", "line 2 is not"),
        ("straße.example a.example", "line 2: the site 'straße.example'"),
        ("- a.example", "line 2: '-' can be no name"),
        ("x.example b.example", "line 2) and of a.example"),
        ("a.example c.example", "and a site itself, which x.example is another name of"),
        ("listed.example a.example", "line 2), and a site itself (ingest.sites_file)"),
    ],
)
def test_a_line_that_means_nothing_or_too_much_is_named(
    line: str, why: str, tmp_path: Path
) -> None:
    text = f"# names\n{line}\nx.example a.example\n"
    found = written(tmp_path, aliases=text, sites="listed.example\n")
    assert why in refusal(found)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    found = written(tmp_path, aliases="")
    (tmp_path / "aliases").write_bytes(b"a\n\xff")
    assert "line 2 is not UTF-8" in refusal(found)
    (tmp_path / "aliases").unlink()
    assert "no such file" in refusal(found)


def test_two_places_that_give_one_name_to_two_sites_are_named(tmp_path: Path) -> None:
    extra = "aliases = {'X.example' = 'b.example'}\n"
    found = written(tmp_path, aliases="x.example a.example", extra=extra)
    said = refusal(found)
    assert "of two sites: of b.example (ingest.aliases)" in said
    assert "aliases, line 1" in said
    found = written(tmp_path, aliases="", hosts=nginx("a.example x.example", "c.example x.example"))
    said = refusal(found)
    assert "of two sites" in said
    assert "line 2" in said


# One name as people write it in different places.
SPELLINGS = ["x.bücher.example", "X.Bücher.Example.", "x.XN--bcher-kva.example"]
SOURCES = ("settings", "aliases", "hosts")


def claims(source: str, site: str, spelling: str) -> dict[str, str]:
    """What makes the name another one of the site, by the file that says so."""
    if source == "settings":
        return {"extra": f"{spelling!r} = {site!r}\n"}
    if source == "aliases":
        return {"aliases": f"{spelling} {site}\n"}
    return {"hosts": nginx(f"{site} {spelling}")}


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("first", SOURCES)
@pytest.mark.parametrize("second", SOURCES)
def test_two_sites_that_claim_one_name_are_named_with_both_places(
    first: str, second: str, listed: bool, tmp_path: Path
) -> None:
    parts: dict[str, str] = {"sites": "a.example\nb.example\n"} if listed else {}
    for number, (source, site) in enumerate([(first, "a.example"), (second, "b.example")]):
        for name, text in claims(source, site, SPELLINGS[number]).items():
            parts[name] = parts.get(name, "") + text
    extra = "[ingest.aliases]\n'w.example' = 'a.example'\n'v.example' = 'b.example'\n"
    found = written(tmp_path, extra=extra + parts.pop("extra", ""), **parts)
    said = refusal(found)
    assert said.startswith("the name 'x.xn--bcher-kva.example'")
    for source, site in ((first, "a.example"), (second, "b.example")):
        place = "ingest.aliases" if source == "settings" else f"{tmp_path}/{source}"
        assert f"of {site} ({place}" in said
    assert "the same is wrong" not in said


@pytest.mark.parametrize("first", SOURCES)
@pytest.mark.parametrize("second", SOURCES)
def test_one_site_that_claims_a_name_twice_has_it(first: str, second: str, tmp_path: Path) -> None:
    parts: dict[str, str] = {"sites": "a.example\n"}
    for number, source in enumerate((first, second)):
        for name, text in claims(source, "a.example", SPELLINGS[number]).items():
            parts[name] = parts.get(name, "") + text
    extra = "[ingest.aliases]\n" + parts.pop("extra", "")
    found = written(tmp_path, extra=extra, **parts)
    naming = site_names(found).naming()
    assert {naming(name.encode()) for name in SPELLINGS} == {"a.example"}


def test_all_names_that_are_wrong_are_counted(tmp_path: Path) -> None:
    names = [f"n{number}.example" for number in range(8)]
    hosts = nginx(f"a.example {' '.join(names)}", f"b.example {' '.join(names)}")
    said = refusal(written(tmp_path, hosts=hosts))
    assert "the same is wrong with n1.example, n2.example" in said
    assert said.endswith("and 2 more")


def test_a_virtual_host_for_many_sites_claims_none_of_their_names(tmp_path: Path) -> None:
    """Such hosts lead the names of all sites to https, or hold several sites."""
    found = written(
        tmp_path,
        sites="a.example\nb.example\nc.example\n",
        aliases="shop.example b.example\n",
        hosts=nginx(
            "www.a.example www.b.example shop.example",
            "a.example b.example www.a.example www.b.example shop.example",
            "a.example www.c.example",
        ),
    )
    naming = site_names(found).naming()
    assert naming(b"www.b.example") == naming(b"shop.example") == "b.example"
    assert naming(b"www.c.example") == "c.example"


def test_a_name_with_www_that_hosts_of_two_sites_have_is_said(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        sites="a.example\nb.example\n",
        hosts=nginx("b.example www.b.example", "a.example www.b.example"),
    )
    assert "of b.example" in refusal(found)


def test_files_that_are_as_they_were_are_not_read_again(tmp_path: Path) -> None:
    found = written(tmp_path, aliases="x.example a.example\n")
    first = names_in_settings(found.ingest, frozenset())
    assert names_in_settings(found.ingest, frozenset()) is first
    assert names_in_settings(found.ingest, frozenset({"b.example"})) is not first
    (tmp_path / "aliases").write_text("x.example a.example\ny.example a.example\n")
    assert "y.example" in names_in_settings(found.ingest, frozenset()).aliases


def test_the_first_name_of_a_virtual_host_is_the_site(tmp_path: Path) -> None:
    found = written(tmp_path, hosts=nginx("a.example s.example *.a.example", "b.example", "_"))
    assert aliases(found) == {"s.example": "a.example"}
    (remark,) = (one for one in check_files_in_settings.remarks(found, ()) if "vhosts" in one)
    assert "'*.a.example'" in remark
    assert "hosts, line 1" in remark
    (row,) = doctor._names_in_files(found)
    assert (row.state, row.detail) == ("ok", "1 other name of 1 site; 2 virtual hosts in 1 file")


def test_a_site_of_the_list_is_the_site_of_its_virtual_host(tmp_path: Path) -> None:
    hosts = nginx(
        "static.a.example www.a.example img.a.example",
        "a.example b.example c.example",
        "stranger.example www.stranger.example",
        "s.old.example old.example",
    )
    found = written(
        tmp_path, aliases="old.example b.example", hosts=hosts, sites="a.example\nb.example\n"
    )
    assert aliases(found) == {
        "old.example": "b.example",
        "static.a.example": "a.example",
        "img.a.example": "a.example",
        "c.example": "a.example",
        "s.old.example": "b.example",
    }


def test_a_changed_added_or_removed_virtual_host_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "x.conf").write_text("")
    found = written(tmp_path, hosts=nginx("a.example b.example; include x.conf"))
    assert aliases(found) == {"b.example": "a.example"}
    (tmp_path / "x.conf").write_text("server_name c.example;")
    assert aliases(found) == {"b.example": "a.example", "c.example": "a.example"}
    (tmp_path / "hosts2").write_text(nginx("d.example e.example"))
    assert aliases(found)["e.example"] == "d.example"
    (tmp_path / "hosts").unlink()
    assert aliases(found) == {"e.example": "d.example"}


def test_where_no_file_is_named_names_are_those_of_the_settings() -> None:
    ingest = Ingest(aliases={"x": "a.example", "a.example": "b.example"})
    found = names_in_settings(ingest, frozenset({"x"}))
    assert found.aliases is ingest.aliases


names = st.sampled_from([f"{letter}.example" for letter in "abcdef"])
files = st.lists(st.tuples(names, names), max_size=5)
blocks = st.lists(st.lists(names, min_size=1, max_size=4), max_size=4)


@given(rows=files, hosts=blocks, settings=files, listed=st.sets(names, max_size=3))
def test_each_name_is_a_site_or_leads_to_one_or_it_is_said(
    rows: list[tuple[str, str]],
    hosts: list[list[str]],
    settings: list[tuple[str, str]],
    listed: set[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("names")
    (folder / "aliases").write_text("\n".join(map(" ".join, rows)))
    (folder / "hosts").write_text(nginx(*map(" ".join, hosts)))
    ingest = Ingest(
        aliases=dict(settings), aliases_file=folder / "aliases", vhosts=(str(folder / "hosts"),)
    )
    try:
        found = names_in_settings(ingest, listed)
    except BadSetting:
        return
    of_files = {claim.name: claim.site for claim in found.claims if not claim.is_known}
    assert dict(found.aliases) == ingest.aliases | of_files
    assert all(found.aliases[name] == site for name, site in rows if name != site)
    for name, site in of_files.items():
        assert name != site
        assert name not in listed
        assert site not in found.aliases or site == found.aliases[site]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_settings_say_of_a_site_is_said_of_the_name_that_flex_knows(spelling: str) -> None:
    text = (
        f"[[move.hook]]\nstage = 'copy'\ncommand = ['/bin/true']\nsites = ['{spelling}']\n"
        f"[[move.site]]\nname = '{spelling}'\n[[dns.site]]\nname = '{spelling}'\n"
        f"[[routing.site]]\nname = '{spelling}'\n[solver]\ncontent_routed = ['{spelling}']\n"
        f"[solver.classes.gold]\nheadroom = 0.2\nsites = ['{spelling}']\n"
    )
    made = settings_file.parse(tomllib.loads(text), Path("flex.toml"))
    (hook,), (moved,) = made.move.hook, made.move.site
    (leaning,), (routed,) = made.dns.site, made.routing.site
    named = [*hook.sites, moved.name, leaning.name, routed.name, *made.solver.content_routed]
    assert {*named, *made.solver.classes["gold"].sites} == {"x.xn--bcher-kva.example"}
