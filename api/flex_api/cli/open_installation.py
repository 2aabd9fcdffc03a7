"""The installation that the settings name, for as long as a verb takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from flex_api import wiring
from flex_api.cli.common import Context, author, moment_in_range, now

if TYPE_CHECKING:
    from flex_logs_ingest.reading.run_state import Progress


@contextmanager
def open_world(
    context: Context, as_of: datetime | None = None, *, reason: str = ""
) -> Iterator[wiring.World]:
    """The settings' world, with a progress bar where a person watches."""
    from flex.model.audit_chain import Author

    moment = as_of and moment_in_range("--as-of", as_of)
    clock = (lambda: moment) if moment else now
    with _follow(context) as told:
        here = wiring.world(
            context.settings, clock, say=context.say, progress=told, author=Author(author(), reason)
        )
        with closing(here):
            yield here


@contextmanager
def _follow(context: Context) -> Iterator[Progress]:
    if context.progress is None:
        yield wiring.silent
        return
    # The bar and the reader that it follows: hardly any verb reads logs.
    from flex_api.cli.progress_bar import following

    with following(context.progress) as told:
        yield told
