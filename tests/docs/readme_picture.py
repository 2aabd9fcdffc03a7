"""The picture of the README: who serves what in the demo, after its second night, and what moved.

Takes the output of `flex plan show` and `flex sites list`. Returns one SVG that stands by itself,
light or dark as its reader is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from flex_api.pictures.partition_geometry import ABOVE, BAR, ROW, WIDE, Partition
from flex_api.report import partition_pictures
from flex_api.schemas.sites_and_wishes import SiteRow
from flex_api.schemas.verbs_output import PlanOutput

# Pixels.
LEFT, PLOT, RIGHT, BELOW = 40, 700, 110, 30
# Pixels that a letter of a name takes, with what is beside the name.
LETTER = 8
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.soft { fill: #59636e }
.stays { fill: #9ec5e8 } .small { fill: #c7d3de } .came { fill: #f0b36b }
.left { fill: none; stroke: #8c959f; stroke-dasharray: 3 2 }
.band { fill: #f0b36b; opacity: .45 } .fair { stroke: #1f2328; stroke-width: 1.5 }
.label { font-size: 12px }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .soft { fill: #9198a1 } .label { fill: #1f2328 }
  .stays { fill: #6f9fc8 } .small { fill: #8795a3 } .fair { stroke: #e6edf3 }
}
"""


def of_demo(plan: PlanOutput, sites: Sequence[SiteRow]) -> str:
    part = partition_pictures.part(
        partition_pictures.plan_to_draw(plan, {}),
        partition_pictures.asked_by_rows(sites, {}),
        partition_pictures.partition_of_rows(sites),
        frozenset(),
        {},
    )
    assert part
    _, picture = part.pictures
    height = picture.height + BELOW
    size = f"{LEFT + PLOT + RIGHT} {height}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img">'
    lines = [head, f"<title>{escape(picture.desc)}</title>", f"<style>{STYLE}</style>"]
    return "\n".join([*lines, *_lines(picture), "</svg>", ""])


def _lines(picture: Partition) -> Iterator[str]:
    for band in picture.bands:
        scale = f"translate({LEFT}) scale({PLOT / WIDE:g} 1)"
        yield f'<path class="band" transform="{scale}" d="{band.path}"/>'
    for row in picture.rows:
        yield f'<text x="0" y="{row.top + ROW // 2 + 5}">{escape(row.label)}</text>'
        for segment in row.segments:
            x, width = LEFT + segment.x / 100 * PLOT, segment.width / 100 * PLOT
            at = f'x="{x:.1f}" y="{row.top + ABOVE}" width="{max(width - 1, 1):.1f}"'
            yield f'<rect class="{segment.kind}" {at} height="{BAR}"/>'
            label = escape(segment.site.partition(".")[0])
            if label and LETTER * len(label) < width:
                y = row.top + ROW // 2 + 4
                yield f'<text class="label" x="{x + 4:.1f}" y="{y}">{label}</text>'
        if row.fair is not None:
            fair = f"{LEFT + row.fair / 100 * PLOT:.1f}"
            ends = f'x1="{fair}" x2="{fair}" y1="{row.top + 6}" y2="{row.top + ROW - 6}"'
            yield f'<line class="fair" {ends}/>'
        y = row.top + ROW // 2 + 5
        beside = f'x="{LEFT + PLOT + 10}" y="{y}"'
        yield f'<text class="soft" {beside}>{row.sites} sites</text>'
    said = "bytes sent in a day; orange came tonight; the line is a fair share"
    yield f'<text class="soft" x="{LEFT}" y="{picture.height + 20}">{said}</text>'
