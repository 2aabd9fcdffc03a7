"""Keys are read only from files that nobody else can read, and never shown."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path

import pytest

from flex.errors import BadSetting
from flex_dns.wire.key import Key, make_key, read_key, read_keys

# With two slashes, which start a comment anywhere else; thirty-two bytes.
SECRET = "AB//CDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm/o="


def file(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "flex.key"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_key_that_was_made_is_read_back(tmp_path: Path) -> None:
    made = make_key("flex-eu1")
    assert read_key(file(tmp_path, made.clause())) == made


def test_no_two_keys_that_are_made_are_the_same() -> None:
    assert make_key("flex") != make_key("flex")


def test_a_file_can_hold_two_keys_while_one_takes_the_place_of_the_other(tmp_path: Path) -> None:
    old, new = make_key("flex-2026"), make_key("flex-2027")
    assert read_keys(file(tmp_path, new.clause() + old.clause())) == (new, old)
    with pytest.raises(BadSetting, match="no key at all"):
        read_keys(file(tmp_path, "// none\n"))


def test_comments_and_layout_do_not_matter(tmp_path: Path) -> None:
    text = f"""// for the controller
        # made by hand
        key Flex.Example. {{ secret {SECRET}; /* key "no" {{ }} */
        algorithm HMAC-SHA512; }};"""
    assert read_key(file(tmp_path, text)) == Key("flex.example", SECRET, "hmac-sha512")


def test_a_file_can_hold_nothing_but_the_secret(tmp_path: Path) -> None:
    assert read_key(file(tmp_path, f"{SECRET}\n"), "flex") == Key("flex", SECRET)


def test_a_bare_secret_needs_a_name(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="no key at all"):
        read_key(file(tmp_path, f"{SECRET}\n"))


def test_of_several_keys_the_named_one_is_taken(tmp_path: Path) -> None:
    one, other = make_key("one"), make_key("other")
    path = file(tmp_path, one.clause() + other.clause())
    assert read_key(path, "other") == other
    for name in ("", "third"):
        with pytest.raises(BadSetting, match="the file holds one, other"):
            read_key(path, name)


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602, 0o601, 0o660, 0o620])
def test_a_file_that_others_can_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(BadSetting, match=f"mode {mode:o}") as refused:
        read_key(file(tmp_path, make_key("flex").clause(), mode))
    assert "chmod 640" in refused.value.advice


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o640])
def test_a_file_for_its_owner_and_group_is_read(tmp_path: Path, mode: int) -> None:
    assert read_key(file(tmp_path, make_key("flex").clause(), mode)).name == "flex"


@pytest.mark.parametrize(
    "algorithm", ["hmac-md5", "hmac-sha1", "hmac-md5.sig-alg.reg.int", "gss-tsig", ""]
)
def test_a_broken_hash_is_refused(algorithm: str) -> None:
    with pytest.raises(BadSetting, match="is not one of"):
        Key("flex", SECRET, algorithm)


@pytest.mark.parametrize("secret", ["", "c2hvcnQ=", "AAAAAAAAAAAAAAAAAAAA"])
def test_a_short_secret_is_refused(secret: str) -> None:
    with pytest.raises(BadSetting, match="shorter than 16 bytes"):
        Key("flex", secret)


def test_a_secret_that_is_not_base64_is_refused_without_showing_it() -> None:
    with pytest.raises(BadSetting, match="not base64") as refused:
        Key("flex", SECRET[:-1] + "?")
    assert SECRET[:10] not in "".join(traceback.format_exception(refused.value))


def test_a_name_cannot_bring_configuration_with_it() -> None:
    with pytest.raises(BadSetting, match="letters, digits"):
        Key('a"; }; zone "b', SECRET)


def test_a_file_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="No such file"):
        read_key(tmp_path / "none.key")


def test_a_file_that_is_no_text_is_a_clear_error(tmp_path: Path) -> None:
    path = file(tmp_path, "")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadSetting, match="not a text file"):
        read_key(path)


def test_the_secret_is_in_no_text_of_the_key() -> None:
    key = Key("flex", SECRET)
    for text in (repr(key), str(key), f"{key}", repr(key.signer()), repr([key]), f"{key.signer()}"):
        assert SECRET[:10] not in text
    assert pickle.loads(pickle.dumps(key)) == key
