"""What systemd says of the units of the packages: they are whole, and expose little."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from deploy.packages import trees
from deploy.packages.kinds import CONTROLLER
from deploy.packages.sources import CHECKOUT, Sources

# Of 10, as `systemd-analyze security` counts.
MOST_EXPOSED = 2.0
SERVICES = [unit for unit in CONTROLLER.units if unit.endswith(".service")]
ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(not ANALYZE, reason="systemd-analyze is not installed")


@pytest.fixture
def units(tmp_path: Path) -> Path:
    trees._units(tmp_path, CONTROLLER, Sources(CHECKOUT, "1.0", 0))
    folder = tmp_path / "usr/lib/systemd/system"
    for path in folder.iterdir():
        # The program need not be here for the unit to be looked at.
        path.write_text(path.read_text().replace("/usr/sbin/flex", "/bin/true"))
    return folder


@needs_systemd
@pytest.mark.parametrize("unit", SERVICES)
def test_a_unit_exposes_less_than_two_of_ten(units: Path, unit: str) -> None:
    said = subprocess.run(
        [str(ANALYZE), "security", "--offline=true", str(units / unit)],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    (found,) = re.findall(r"Overall exposure level for \S+: ([0-9.]+)", said)
    assert float(found) < MOST_EXPOSED, said


@needs_systemd
def test_systemd_finds_nothing_wrong_with_the_units(units: Path) -> None:
    files = [str(path) for path in sorted(units.iterdir())]
    said = subprocess.run(
        [str(ANALYZE), "verify", *files], capture_output=True, text=True, check=False
    ).stderr
    assert "flex-" not in said, said


@pytest.mark.parametrize("unit", SERVICES)
def test_a_unit_gets_its_secrets_from_systemd(units: Path, unit: str) -> None:
    lines = (units / unit).read_text().splitlines()
    assert any(line.startswith("LoadCredential=") for line in lines)


@pytest.mark.parametrize("unit", ["flex-api.service", "flex-follow.service"])
def test_a_unit_that_goes_on_is_watched(units: Path, unit: str) -> None:
    lines = (units / unit).read_text().splitlines()
    assert "Type=notify" in lines
    assert any(re.fullmatch(r"WatchdogSec=\d+min", line) for line in lines)
    assert any(line.startswith("Restart=") for line in lines)
