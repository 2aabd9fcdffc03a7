"""The report as a file that is written whole, and its colours."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from flex.errors import NotWritten
from flex_api.report import page as report
from flex_api.report.page import ReportData

NIGHT: TypeAdapter[ReportData] = TypeAdapter(ReportData)
DATA = Path(__file__).resolve().parents[1] / "data/report"


def night() -> ReportData:
    """An ordinary night: four nodes, a hundred sites, two of which move."""
    return NIGHT.validate_json((DATA / "night.json").read_bytes())


def colours(theme: int) -> dict[str, tuple[float, ...]]:
    """The colours of light or of dark."""
    found = re.findall(
        r"--(\w+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)", report.html(night())
    )
    assert len(found) >= 10
    return {
        name: tuple(int(pair[theme][at : at + 2], 16) / 255 for at in (0, 2, 4))
        for name, *pair in found
    }


def luminance(colour: tuple[float, ...]) -> float:
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """As WCAG 2 defines it."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_paper_is_light_whatever_the_screen_is() -> None:
    assert re.search(r"@media print \{\s*:root \{ color-scheme: light; \}", report.html(night()))


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_what_it_stands_on(theme: int) -> None:
    of = colours(theme)
    for text in ("text", "quiet", "accent", "alarm", "good"):
        for ground in ("ground", "raised"):
            assert contrast(of[text], of[ground]) >= 4.5, (text, ground)
    assert contrast(of["quiet"], of["band"]) >= 4.5, "the small figures over the grey band"
    assert contrast(of["mild"], of["ground"]) >= 2.5


def test_a_report_is_written_whole_and_for_its_group(tmp_path: Path) -> None:
    path = tmp_path / "reports/latest.html"
    report.write(night(), path)
    report.write(night(), path)
    assert path.read_text(encoding="utf-8") == report.html(night())
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o007 == 0
    assert [each.name for each in path.parent.iterdir()] == ["latest.html"]


def test_the_same_night_gives_the_same_report() -> None:
    assert report.html(night()) == report.html(night())


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    old = tmp_path / "latest.html"
    old.mkdir()
    (old / "kept").write_text("kept")
    with pytest.raises(NotWritten) as caught:
        report.write(night(), old)
    assert str(old) in caught.value.asked
    assert caught.value.advice
    assert (old / "kept").read_text() == "kept"
    assert [each.name for each in tmp_path.iterdir()] == ["latest.html"]


def test_a_folder_that_cannot_be_made_is_an_error_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(NotWritten):
        report.write(night(), tmp_path / "file/reports/latest.html")
