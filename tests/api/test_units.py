"""The systemd units that `flex init` writes run the FLEX that wrote them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flex_api import first_files, paths_in_systemd_units

HOME = paths_in_systemd_units.HOMES[0] / "anna"
ETC = Path("/etc/flex/flex.toml")
UNITS = ("flex-nightly.service", "flex-api.service")
# Runs on a node, where there are no settings.
FOLLOW = "flex-follow.service"


def exec_start(unit: Path) -> str:
    return next(
        line
        for line in unit.read_text(encoding="utf-8").splitlines()
        if line.startswith("ExecStart=")
    )


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "place", ["venv/bin/flex", "pipx/shared bin/flex", "usr/local/bin/100%/flex"]
)
def test_the_units_name_the_program_that_wrote_them_and_its_settings(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flex = program(tmp_path / place)
    monkeypatch.setattr(sys, "argv", [str(flex), "init"])
    first_files.write(tmp_path / "etc")
    for unit in UNITS:
        said = exec_start(tmp_path / "etc" / unit)
        assert str(flex).replace("%", "%%") in said
        assert f"--config {tmp_path}/etc/flex.toml" in said
        assert "@" not in said
    followed = exec_start(tmp_path / "etc" / FOLLOW)
    assert str(flex).replace("%", "%%") in followed
    assert "--config" not in followed
    if analyze := shutil.which("systemd-analyze"):
        files = [str(tmp_path / "etc" / unit) for unit in (*UNITS, FOLLOW, "flex-nightly.timer")]
        found = subprocess.run(
            [analyze, "verify", *files], capture_output=True, text=True, check=False
        )
        assert "flex-" not in found.stderr, found.stderr


def test_a_link_stays_what_it_is_for_pipx_makes_what_it_leads_to_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "bin/flex"
    link.parent.mkdir()
    link.symlink_to(program(tmp_path / "venvs/flex-1/bin/flex"))
    monkeypatch.setenv("PATH", str(link.parent))
    monkeypatch.setattr(sys, "argv", ["flex", "init"])
    assert paths_in_systemd_units.program() == link


def test_units_may_write_where_flex_writes_and_see_where_it_is() -> None:
    usual = paths_in_systemd_units.words(Path("/usr/local/bin/flex"), ETC, first_files.STATE)
    assert (usual["@HOME@"], usual["@WRITABLE@"]) == ("yes", "")
    beside = paths_in_systemd_units.words(
        Path("/usr/local/bin/flex"), Path("/srv/my flex/flex.toml"), ""
    )
    assert beside["@WRITABLE@"] == 'ReadWritePaths="/srv/my flex"\n'
    pipx = HOME / ".local/bin/flex"
    assert paths_in_systemd_units.words(pipx, ETC, first_files.STATE)["@HOME@"] == "read-only"
    assert str(pipx) in paths_in_systemd_units.trouble(pipx, ETC)
    assert "do not run" in paths_in_systemd_units.trouble(
        paths_in_systemd_units.PRIVATE[0] / "venv/bin/flex", ETC
    )
    assert paths_in_systemd_units.trouble(Path("/opt/flex/bin/flex"), ETC) == ""
    assert f"read {HOME}" in paths_in_systemd_units.trouble(
        Path("/opt/flex/bin/flex"), ETC, HOME / "python"
    )
