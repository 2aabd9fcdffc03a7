"""Reference pages that are made from the program itself: every setting, every verb.

Takes the model of the settings and the command line. Returns Markdown.
Does not write: test_generated.py does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from flex_api.cli import application
from flex_api.cli.common import Context
from flex_api.cli.verb_groups import GROUPS
from flex_api.schemas.outputs_by_verb import OUTPUTS
from flex_api.settings.file import Settings

if TYPE_CHECKING:
    from typer._click.core import Command
    from typer._click.core import Context as Parsing

# A part of a JSON Schema: objects, lists and plain values in each other.
Schema = Mapping[str, object]

# What pydantic calls a kind of value, as a reader would.
KINDS = {
    "array": "list",
    "boolean": "true or false",
    "integer": "whole number",
    "number": "number",
    "object": "table",
    "string": "text",
}
NOTE = (
    "This page is made from the program. `FLEX_UPDATE=1 pytest tests/docs/test_generated.py`"
    " writes it again."
)


def settings() -> str:
    """docs/reference/settings.md."""
    schema = Settings.model_json_schema()
    lines = [
        "# Settings",
        "",
        "Every key of `flex.toml`, with its kind, its default and what it is for.",
        "`flex config show` prints the values in force, `flex config check` finds mistakes,",
        "`flex config schema` prints the same as JSON Schema.",
        'Sizes take a unit (`"12 GiB"`), and so do durations (`"30s"`, `"10m"`, `"36h"`, `"3d"`).',
        "",
        NOTE,
        "",
    ]
    lines += _section("", schema, schema)
    return "\n".join(lines).rstrip() + "\n"


def _section(name: str, section: Schema, schema: Schema) -> Iterator[str]:
    """The keys of one table, then the tables in it."""
    keys: list[str] = []
    tables: list[tuple[str, Schema]] = []
    for key, value in _mapping(section.get("properties")).items():
        field = _mapping(value)
        inner, brackets = _table(field, schema)
        if inner is not None:
            path = f"{name}.{key}" if name else key
            tables.append((brackets.format(path), inner))
        else:
            keys.append(_row(key, field, key in _sequence(section.get("required")), schema))
    if keys:
        yield f"## {_title(name)}"
        yield ""
        said = str(section.get("description", ""))
        if name and said:
            yield _in_a_cell(said)
            yield ""
        yield "| key | kind | default | what it is for |"
        yield "| --- | --- | --- | --- |"
        yield from keys
        yield ""
    for title, inner in tables:
        yield from _section(title, inner, schema)


def _title(name: str) -> str:
    if not name:
        return "At the top of the file"
    if name.endswith("[]"):
        return f"`[[{name.removesuffix('[]').replace('[]', '')}]]`"
    return f"`[{name.replace('[]', '')}]`"


def _table(field: Schema, schema: Schema) -> tuple[Schema | None, str]:
    """The table that a field holds, if it holds one, and how its path is written."""
    found = _resolved(field, schema)
    if "properties" in found:
        return found, "{}"
    items = _resolved(_mapping(found.get("items")), schema)
    if "properties" in items:
        return items, "{}[]"
    more = _resolved(_mapping(found.get("additionalProperties")), schema)
    if "properties" in more:
        return more, "{}.NAME"
    return None, ""


def _row(key: str, field: Schema, required: bool, schema: Schema) -> str:
    default = "needed" if required else _shown(_as_written(field, schema))
    said = str(field.get("description") or _resolved(field, schema).get("description") or "")
    return f"| `{key}` | {_kind(field, schema)} | {default} | {_in_a_cell(said)} |"


def _kind(field: Schema, schema: Schema) -> str:
    found = _resolved(field, schema)
    if "enum" in found:
        return ", ".join(_shown(one) for one in _sequence(found["enum"]))
    if "const" in found:
        return _shown(found["const"])
    if "anyOf" in found:
        kinds = [_kind(_mapping(one), schema) for one in _sequence(found["anyOf"])]
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null"))
    kind = KINDS.get(str(found.get("type")), str(found.get("type", "text")))
    if found.get("format") == "duration":
        kind = "duration"
    if kind == "list" and "items" in found:
        kind = f"list of {_kind(_mapping(found['items']), schema)}"
    return kind + _range(found)


def _range(found: Schema) -> str:
    least = found.get("minimum", found.get("exclusiveMinimum"))
    most = found.get("maximum", found.get("exclusiveMaximum"))
    # Bounds that only keep a database from overflowing tell a reader nothing.
    most = None if isinstance(most, int | float) and most > 10**12 else most
    if least is not None and most is not None:
        return f", {least} to {most}"
    if least is not None:
        return f", at least {least}"
    return f", at most {most}" if most is not None else ""


def _as_written(field: Schema, schema: Schema) -> object:
    """The default as a person writes it: `36h`, where the schema says P1DT12H."""
    default = field.get("default")
    if not isinstance(default, str) or not _kind(field, schema).startswith("duration"):
        return default
    seconds = int(TypeAdapter(timedelta).validate_python(default).total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _shown(value: object) -> str:
    if value in (None, "", [], {}):
        return "none"
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def _resolved(field: Schema, schema: Schema) -> Schema:
    """A field with what its reference leads to."""
    only = _sequence(field.get("allOf"))
    reference = field.get("$ref") or (_mapping(only[0]).get("$ref") if len(only) == 1 else None)
    if not isinstance(reference, str):
        return field
    found = _mapping(_mapping(schema.get("$defs")).get(reference.rpartition("/")[2]))
    return {**found, **{key: value for key, value in field.items() if key != "$ref"}}


def _mapping(value: object) -> Schema:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _in_a_cell(text: str) -> str:
    """On one line, with nothing that Markdown takes for the end of a cell or for a tag. What stands
    between backticks can be copied as it is.
    """
    parts = re.sub(r"\s+", " ", text).strip().replace("|", "\\|").split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)


def schemas() -> str:
    """docs/reference/schemas.md."""
    lines = [
        "# JSON schemas",
        "",
        "Every verb takes `-o json`. What it then prints follows a JSON Schema. The output is",
        "`null` if there is no result, for example of `flex apply --resume` with nothing to",
        "finish.",
        "",
        NOTE,
        "",
    ]
    for verb in sorted(OUTPUTS):
        file = f"{verb.replace(' ', '-')}.json"
        lines.append(
            f"- [flex {verb}](../schemas/{file})"
            if verb != "error"
            else f"- [every error](../schemas/{file})"
        )
    return "\n".join(lines) + "\n"


def verbs() -> str:
    """docs/reference/verbs.md."""
    here = application()
    lines = [
        "# Verbs",
        "",
        "Every verb of the command line with its arguments and options, as `flex VERB --help`",
        "shows them, in the groups of the program's own help.",
        "",
        "A FLEX server does the same verbs for you, with the same options:",
        "`flex --server URL --token-file FILE VERB`. A verb or an option that works only on its",
        "own machine says so here. With `--server` it is refused, and nothing happens.",
        "",
        NOTE,
        "",
        "## Options of every verb",
        "",
        "These stand before the verb; `-o json` may stand behind it too.",
        "",
        *_parameters(here, _context(here, ())),
    ]
    verbs: Mapping[str, Command] = getattr(here, "commands", {})
    for heading, names in GROUPS.items():
        lines += [f"## {heading}", ""]
        for name in names:
            lines += _verb((name,), verbs[name])
            for path, verb in _below(verbs[name], (name,)):
                lines += _verb(path, verb)
    return "\n".join(lines).rstrip() + "\n"


def _below(group: Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Command]]:
    commands: Mapping[str, Command] = getattr(group, "commands", {})
    for name, verb in commands.items():
        if not verb.hidden:
            yield (*path, name), verb
            yield from _below(verb, (*path, name))


def _context(verb: Command, path: tuple[str, ...]) -> Parsing:
    made: Callable[..., Parsing] = verb.context_class
    return made(verb, info_name=" ".join(("flex", *path)), obj=Context(), terminal_width=100)


def _verb(path: tuple[str, ...], verb: Command) -> Iterator[str]:
    context = _context(verb, path)
    yield f"{'#' * min(len(path) + 2, 4)} flex {' '.join(path)}"
    yield ""
    yield "```text"
    yield " ".join(("flex", *path, *verb.collect_usage_pieces(context)))
    yield "```"
    yield ""
    for paragraph in re.split(r"\n\s*\n", verb.help or ""):
        yield _in_a_cell(paragraph)
        yield ""
    yield from _parameters(verb, context)


def _parameters(verb: Command, context: Parsing) -> Iterator[str]:
    rows = []
    for parameter in verb.get_params(context):
        record = parameter.get_help_record(context)
        if record and record[0] != "--help" and "output" not in _name(parameter, verb):
            rows.append(f"| `{_in_code(record[0])}` | {_in_a_cell(record[1])} |")
    if rows:
        yield "| argument or option | what it does |"
        yield "| --- | --- |"
        yield from rows
        yield ""


def _name(parameter: object, verb: Command) -> str:
    """Empty at the top, where the options of every verb are shown once."""
    return str(getattr(parameter, "name", "")) if verb.name != "flex" else ""


def _in_code(text: str) -> str:
    # A moment may be written in five ways, which would take the width of the page.
    return re.sub(r"<%Y[^>]*>", "TIME", text).replace("|", "\\|")
