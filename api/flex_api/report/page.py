"""The report of one night as a single HTML file that opens anywhere, and the first page of the web.

Takes a ReportData. Returns HTML with its styles and pictures inside, without scripts; it loads
nothing. Does not say what is in the report (content.py) or where things stand in a picture
(chart_geometry.py).
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote

import jinja2

import flex
from flex.errors import NotWritten
from flex.refuse_root import refuse_root
from flex_api.in_words import amounts, grouped_moves_text, site_moves_text, text_safe_for_html
from flex_api.pictures import label_widths
from flex_api.report.content import ReportData, content

__all__ = ["ReportData", "html", "page", "write"]

# A page holds this many rows of a kind, and says how many more there are.
MOST = {
    "moves": 200,
    "nodes": 300,
    "zones": 20,
    "notices": 12,
    "verdicts": 50,
    "wrong": 5,
    "foreign": 50,
    "story": 200,
}


def html(data: ReportData) -> str:
    """The whole page as one text."""
    return page(
        "report.html",
        data=data,
        plan=data.plan,
        page=content(data),
        most=MOST,
        words=site_moves_text,
        version=flex.__version__,
    )


def page(template: str, /, **values: object) -> str:
    """A page from its template. Raises nothing a reader could mend: a name the template misses is a
    bug.
    """
    return TEMPLATES.get_template(template).render(values)


def write(data: ReportData, path: Path) -> None:
    put(html(data), path)


def put(report: str | bytes, path: Path) -> None:
    """The report at `path`, whole or not at all. Raises NotWritten; an older file of that name then
    stays.
    """
    refuse_root(path.parent)
    try:
        path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        _replace(path, report.encode() if isinstance(report, str) else report)
    except OSError as error:
        raise NotWritten(
            f"writing the report {path}",
            error.strerror or str(error),
            kept="the plan and its results are kept; an older report of that name stays as it was",
            advice="make room or fix the rights, then write it again with `flex report`",
        ) from error


def _replace(path: Path, content: bytes) -> None:
    """Written beside its place, on disk before it gets its name, so that nobody ever opens half a
    report.
    """
    descriptor, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part"
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if not os.geteuid():
                # What root writes where the services do is theirs.
                there = path.parent.stat()
                os.fchown(file.fileno(), there.st_uid, there.st_gid)
            # mkstemp lets only its owner read. A report names paths and sites: for its group.
            os.fchmod(file.fileno(), 0o640)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("flex_api"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=text_safe_for_html.anything,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "name": text_safe_for_html.name,
        "sentence": text_safe_for_html.sentence,
        "short": text_safe_for_html.short,
        "whole": text_safe_for_html.whole,
        "advice": text_safe_for_html.advice,
        "size": amounts.size,
        "seconds": amounts.seconds,
        "memory": amounts.memory,
        "share": amounts.share,
        "signed": amounts.signed_share,
        "rate": amounts.rate,
        "count": amounts.count,
        "span": amounts.span,
        "when": amounts.when,
        "day": "{:%Y-%m-%d}".format,
        "ago": text_safe_for_html.ago,
        "age": amounts.ago,
        "number": "{:,}".format,
        "grouped": grouped_moves_text.group,
        "path": partial(quote, safe=""),
    }
    style = environment.get_template("style.css").render(
        step=label_widths.STEP, steps=label_widths.STEPS
    )
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    # The text between <style> and </style> of every page that brings its own, and what its policy
    # allows it by.
    environment.globals |= {"style": style, "style_digest": f"sha256-{digest}"}
    return environment


TEMPLATES = _environment()
STYLE_DIGEST = str(TEMPLATES.globals["style_digest"])
