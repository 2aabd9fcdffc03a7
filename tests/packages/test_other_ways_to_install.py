"""The container and the Ansible role: what they name is there, and their settings are good. Neither
is run here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]  # it ships no types

from flex_api.settings import file as config

ROOT = Path(__file__).parents[2]
CONTAINER = ROOT / "deploy/container"
ROLE = ROOT / "deploy/ansible/roles/flex"


def test_each_file_that_the_images_copy_is_there_or_is_a_package() -> None:
    for name in ("Dockerfile", "Dockerfile.bind"):
        for source in re.findall(r"^COPY (\S+)", (CONTAINER / name).read_text(), re.MULTILINE):
            assert source.startswith("dist/") or (ROOT / source).exists(), source


def test_the_cluster_of_containers_is_whole() -> None:
    said = yaml.safe_load((CONTAINER / "compose.yaml").read_text())
    assert {"flex", "named", "database"} <= said["services"].keys()
    named = {
        volume.partition(":")[0]
        for service in said["services"].values()
        for volume in service.get("volumes", [])
    }
    assert {one for one in named if one[0] not in "./$"} <= said["volumes"].keys()
    for service in said["services"].values():
        if "build" in service:
            assert (ROOT / service["build"]["dockerfile"]).exists()
        for needed in service.get("depends_on", {}):
            assert needed in said["services"]


def test_the_settings_of_the_containers_are_good(tmp_path: Path) -> None:
    shutil.copy(CONTAINER / "flex.toml", tmp_path)
    (tmp_path / "database.url").write_text("postgresql://flex:pass@database/flex")
    assert config.problems(tmp_path / "flex.toml") == ()
    settings = config.load(tmp_path / "flex.toml")
    zone = re.findall(r'^zone "(\S+)"', (CONTAINER / "named.conf").read_text(), re.MULTILINE)
    assert [*settings.dns.zones] == zone


@pytest.mark.skipif(not shutil.which("named-checkconf"), reason="BIND is not installed")
def test_bind_takes_the_configuration_of_its_container(tmp_path: Path) -> None:
    text = (CONTAINER / "named.conf").read_text()
    for name in ("update", "transfer"):
        key = tmp_path / f"{name}.key"
        key.write_text(f'key "flex-{name}" {{ algorithm hmac-sha256; secret "{"QUJD" * 8}"; }};\n')
        text = text.replace(f"/etc/bind/flex-{name}.key", str(key))
    text = text.replace("/var/cache/bind", str(tmp_path))
    text = text.replace("/var/lib/bind", str(CONTAINER))
    (tmp_path / "named.conf").write_text(text)
    subprocess.run(["named-checkconf", "-z", str(tmp_path / "named.conf")], check=True)


def test_what_the_role_asks_for_has_a_default() -> None:
    defaults = yaml.safe_load((ROLE / "defaults/main.yml").read_text())
    # Those that a task finds out.
    registered = {"flex_database_status"}
    for path in ROLE.rglob("*.yml"):
        text = path.read_text()
        assert yaml.safe_load(text)
        used = set(re.findall(r"\bflex_[a-z_]+\b", text)) - registered
        if path.parent.name in {"tasks", "handlers"}:
            assert used <= defaults.keys(), path.name


@pytest.mark.skipif(not shutil.which("ansible-playbook"), reason="Ansible is not installed")
def test_ansible_takes_the_role() -> None:
    subprocess.run(
        ["ansible-playbook", "--syntax-check", "-i", "localhost,", "site.yml"],
        cwd=ROLE.parents[1],
        check=True,
    )
