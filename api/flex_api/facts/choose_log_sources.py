"""Which log sources an operator means: all of the settings, one of them, or files named on the
command line.

Takes the sources of the settings and what the operator asked for. Returns the sources to read, or
raises BadInput that says what to name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flex.errors import BadInput
from flex_api.wiring import source_name
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.files.pipes import STANDARD_INPUT
from flex_logs_ingest.formats import layout_of
from flex_logs_ingest.scan.site_rules import SiteRule


@dataclass(frozen=True, slots=True)
class AskedSources:
    """What the command line says. `source` is of the settings; `node`, `site` and `format` are for
    files.
    """

    files: tuple[str, ...] = ()
    source: str = ""
    node: str = ""
    site: str = ""
    format: str = ""


def choose(request: AskedSources, sources: Sequence[Source]) -> tuple[Source, ...]:
    if request.node or request.site or request.format:
        raise _bad(
            "--node, --site and --format",
            "they say what given files are",
            "name the files, or leave them out",
        )
    read_here = tuple(source for source in sources if source.globs)
    named = tuple(source for source in read_here if source.name == request.source)
    if request.source and not named:
        raise _unknown_source(request.source, read_here)
    return named if request.source else read_here


def source_of_files(request: AskedSources, sources: Sequence[Source], names: SiteRule) -> Source:
    """The one source that the files belong to; `names` is how sites are named.

    Its own name is the one that their glob would give it: what was read counts once.
    """
    files = tuple(
        path if path == STANDARD_INPUT else str(Path(path).absolute()) for path in request.files
    )
    if request.node:
        if request.source:
            raise _bad(
                "--source and --node", "both say whose files these are", "leave one of them out"
            )
        rule = replace(names, fixed=request.site or None)
        if request.format not in ("", "auto"):
            # Also where nothing is new in the files, so that none would ask for it.
            layout_of(request.format)
        return Source(
            source_name(request.node, request.site),
            (),
            request.node,
            rule,
            request.format or "auto",
            files=files,
        )
    source = _like(request.source, sources)
    if request.site or request.format:
        raise _bad(
            "--site and --format",
            f"the settings say what the files of {source.name} are",
            "use --node instead",
        )
    return replace(source, globs=(), files=files)


def _like(name: str, sources: Sequence[Source]) -> Source:
    """Files are read as those of that source are, where there is only one way."""
    candidates = [source for source in sources if not name or source.name == name]
    kinds = {
        (
            source.name,
            source.format,
            source.site.pattern,
            "by directory" if source.site.directory else "",
            source.document_root,
        )
        for source in candidates
    }
    if not candidates:
        raise _unknown_source(name, sources)
    if len(kinds) > 1:
        raise _bad(
            f"--source {name}" if name else "files without a source",
            f"they could be of {', '.join(sorted(' '.join(filter(None, kind)) for kind in kinds))}",
            "say what they are with --node, and --site and --format where needed",
        )
    return candidates[0]


def _unknown_source(name: str, sources: Sequence[Source]) -> BadInput:
    known = sorted({source.name for source in sources})
    return _bad(
        f"the source {name!r}" if name else "files without a source",
        f"the settings have {', '.join(known) or 'none'}",
        "name one of them, or say whose files these are with --node",
    )


def _bad(subject: str, answer: str, advice: str) -> BadInput:
    return BadInput(subject, answer, kept="nothing was read", advice=advice)
