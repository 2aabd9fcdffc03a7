"""Which commands of the settings are run for a site, and what they are told.

Takes settings, and a move. Returns hooks, and commands as they are to be run. Does not run them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flex.errors import BadSetting
from flex.model.site_moves import SiteMove, Stage
from flex.model.wish import Pin
from flex_api.moving.run_hook import fill
from flex_api.settings.file import Settings
from flex_api.settings.move_commands import Hook
from flex_api.wiring import World


@dataclass(frozen=True, slots=True, eq=False)
class HooksOfSites:
    """Which hooks are for which site, as settings and pins say it at one moment."""

    hooks: tuple[Hook, ...]
    class_of: Mapping[str, str]

    def hooks_of_site(self, site: str) -> tuple[Hook, ...]:
        """In the order of the settings."""
        its_class = self.class_of.get(site, "")
        return tuple(
            hook
            for hook in self.hooks
            if (not hook.sites and not hook.classes)
            or site in hook.sites
            or (its_class and its_class in hook.classes)
        )

    def site_hooks_in(self, site: str, stages: Collection[Stage]) -> list[Hook]:
        return [hook for hook in self.hooks_of_site(site) if hook.stage in stages]


def hooks_of_sites(settings: Settings, pins: Callable[[], Sequence[Pin]]) -> HooksOfSites:
    """What a pin says of a site's class comes before the settings. Pins are read only where a hook
    is for a class.
    """
    hooks, classes = settings.move.hook, settings.solver.classes
    if not any(hook.classes for hook in hooks):
        return HooksOfSites(hooks, {})
    site_classes = {site: name for name, each in classes.items() for site in each.sites}
    site_classes |= {pin.site: pin.sla for pin in pins() if pin.sla in classes}
    return HooksOfSites(hooks, site_classes)


def hooks_now(world: World) -> HooksOfSites:
    return hooks_of_sites(world.settings, lambda: world.pins)


def hooks_of_stage(hooks: Sequence[Hook], stage: Stage) -> list[Hook]:
    return [hook for hook in hooks if hook.stage == stage]


def command(world: World, words: Sequence[str], move: SiteMove, names: Sequence[str]) -> list[str]:
    """`names` are the other names of its site."""
    addresses = {node.name: node.addresses for node in world.nodes}
    return fill(
        words,
        {
            "{site}": move.site,
            "{names}": ",".join([move.site, *names]),
            "{from}": move.source,
            "{to}": move.target,
            "{from_address}": _first(addresses, move.source),
            "{to_address}": _first(addresses, move.target),
            "{move}": move.id,
        },
    )


def _first(addresses: Mapping[str, Sequence[str]], node: str) -> str:
    return next(iter(addresses.get(node, ())), "")


def refuse_unusable(hooks: Collection[Hook], doing: str) -> None:
    """Raises BadSetting, before anything is done, for a command that is not there or may not be
    run.
    """
    for hook in hooks:
        for trouble in troubles(hook):
            raise BadSetting(
                doing,
                f"the hook {hook.shown_name!r} of {hook.stage}: {trouble}",
                advice="correct [[move.hook]], or make the file executable; `flex doctor` "
                "names every hook that cannot be run",
            )


def troubles(hook: Hook) -> Iterator[str]:
    for words in filter(None, (hook.command, hook.undo)):
        # A command that is itself a mark is known only when it is run.
        if "{" in words[0]:
            continue
        path = shutil.which(words[0])
        if path is None:
            yield f"{words[0]} is not there, or is not executable"
        elif trouble := _trouble_of_program(path):
            yield f"{words[0]} {trouble}"


def _trouble_of_program(path: str) -> str:
    """Why the system would not run the file, "" where it would. What may be run and not read is
    believed.
    """
    try:
        with Path(path).open("rb") as file:
            first = file.readline(4096)
    except OSError:
        return ""
    if first.startswith(b"\x7fELF"):
        return ""
    if not first.startswith(b"#!"):
        return "is no program: it begins neither with #! nor as a compiled one"
    # As the system reads it: what ends a line elsewhere is part of the name.
    words = first[2:].lstrip(b" \t").replace(b"\t", b" ").rstrip(b"\n")
    interpreter = os.fsdecode(words.partition(b" ")[0])
    if os.access(interpreter, os.X_OK) and Path(interpreter).is_absolute():
        return ""
    name = interpreter if interpreter.isprintable() else repr(interpreter)
    return f"needs {name or 'a program behind #!'}, which is not there"
