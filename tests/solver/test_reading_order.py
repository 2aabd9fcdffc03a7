"""Whoever follows a problem through the solver opens no file more than twice.

Reads the source, and runs nothing. A reader begins where a problem comes in and follows the calls
as they stand. Each function is read once, where it is first called. To go to another file for
functions that are new is one entry of that file, however many of them the caller wants. A class is
read whole: where it is first made, or where a method or a property of it is first called. What has
fields alone is known without opening its file, and so are errors.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

import flex_solver

ROOT = Path(flex_solver.__file__).parent
# A module and a name in it.
Place = tuple[str, str]
# Where a problem comes in: the solvers of the register, and the frontier. Both ways at once, then
# each of them alone; then the rest.
BEGINNINGS = [
    ("flex_solver.auto", "place"),
    ("flex_solver.exact.fewest_moves", "place"),
    ("flex_solver.large", "place"),
    ("flex_solver.frontier", "points"),
    ("flex_solver.from_scratch", "place"),
    ("flex_solver.search.local_solver", "place"),
    ("flex_solver.rivals.fewest_moves_by_chance", "place"),
    ("flex_solver.rivals.cpsat", "place"),
    ("flex_solver.rivals.greedy", "greedy"),
    ("flex_solver.rivals.greedy", "keep"),
    ("flex_solver.rivals.hill_climbing", "place"),
    ("flex_solver.rivals.hacc_rival", "place"),
    ("flex_solver.rivals.round_robin", "place"),
]


@dataclass(slots=True)
class Reader:
    """`entries` are the callers for whose sake a file was opened, in order."""

    known: set[Place] = field(default_factory=set)
    entries: defaultdict[str, list[Place]] = field(default_factory=lambda: defaultdict(list))

    def read(self, place: Place, caller: Place) -> None:
        if place in self.known:
            return
        self.known.add(place)
        module, name = place
        node = definitions(module)[name]
        is_elsewhere = module != caller[0]
        if is_elsewhere and not is_type(node) and self.entries[module][-1:] != [caller]:
            self.entries[module].append(caller)
        self._follow(node, place, kinds_of_names(node, module))

    def _follow(self, node: ast.AST, caller: Place, kinds: dict[str, Place]) -> None:
        for part in in_order(node):
            found = meant(part, caller[0])
            if found is None:
                found = method(part, caller[0], kinds)
                self._follow(part, caller, kinds)
            if found is not None:
                self.read(found, caller)


@pytest.mark.slow("flex_solver.auto")
@pytest.mark.parametrize("beginning", BEGINNINGS, ids=lambda place: place[0])
def test_no_file_is_entered_more_than_twice(beginning: Place) -> None:
    reader = Reader()
    reader.read(beginning, beginning)
    assert reader.entries, "the reader lost the way"
    too_often = {
        module: [".".join(caller) for caller in callers]
        for module, callers in reader.entries.items()
        if len(callers) > 2
    }
    assert too_often == {}


@cache
def trees() -> dict[str, ast.Module]:
    return {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts): ast.parse(path.read_text())
        for path in ROOT.rglob("*.py")
    }


@cache
def definitions(module: str) -> dict[str, ast.stmt]:
    """Functions, classes, and loops that have a native engine."""
    found: dict[str, ast.stmt] = {}
    for node in trees()[module].body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign) and "native_or_python" in ast.unparse(node):
            found[ast.unparse(node.targets[0])] = node
    return found


@cache
def imported(module: str) -> dict[str, Place | str]:
    """What each name stands for: something in another module, or a module."""
    found: dict[str, Place | str] = {}
    for node in ast.walk(trees()[module]):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                here = alias.asname or alias.name
                found[here] = whole if whole in trees() else (node.module, alias.name)
    return found


def meant(node: ast.AST, module: str) -> Place | None:
    """The function or class of the solver that an expression names."""
    found: Place | str | None = None
    if isinstance(node, ast.Name):
        here = node.id in definitions(module)
        found = (module, node.id) if here else imported(module).get(node.id)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        of = imported(module).get(node.value.id)
        found = (of, node.attr) if isinstance(of, str) else None
    if not isinstance(found, tuple) or found[0] not in trees():
        return None
    return found if found[1] in definitions(found[0]) else None


def kinds_of_names(node: ast.stmt, module: str) -> dict[str, Place]:
    """The dataclasses of the solver that parameters and variables of a function are."""
    kinds: dict[str, Place] = {}
    for part in ast.walk(node):
        match part:
            case ast.arg(arg=name, annotation=ast.expr() as annotation):
                kind = named_kind(annotation, module)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                kind = kind_of(value, module, kinds)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                kind = kind_of(value, module, kinds)
            case (
                ast.For(target=ast.Name(id=name), iter=value)
                | ast.comprehension(target=ast.Name(id=name), iter=value)
            ):
                kind = kind_of(value, module, kinds)
            case _:
                continue
        if kind:
            kinds[name] = kind
    return kinds


def named_kind(annotation: ast.expr | None, module: str) -> Place | None:
    """The first dataclass of the solver that an annotation names; of `tuple[Node, ...]`, Node."""
    for part in ast.walk(annotation) if annotation else ():
        found = meant(part, module)
        if found and isinstance(definitions(found[0])[found[1]], ast.ClassDef):
            return found
    return None


def kind_of(value: ast.expr, module: str, kinds: dict[str, Place]) -> Place | None:
    match value:
        case ast.Name(id=name):
            return kinds.get(name)
        case ast.Subscript(value=inner):
            return kind_of(inner, module, kinds)
        case ast.Call(func=function):
            called = meant(function, module)
            node = definitions(called[0])[called[1]] if called else None
            if called and isinstance(node, ast.FunctionDef):
                return named_kind(node.returns, called[0])
            return called if isinstance(node, ast.ClassDef) else None
        case ast.Attribute(value=inner, attr=name):
            owner = kind_of(inner, module, kinds)
            node = definitions(owner[0])[owner[1]] if owner else None
            for one in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(one, ast.AnnAssign) and ast.unparse(one.target) == name:
                    return named_kind(one.annotation, owner[0] if owner else "")
    return None


def method(node: ast.AST, module: str, kinds: dict[str, Place]) -> Place | None:
    """The class whose method or property an expression names."""
    match node:
        case ast.Attribute(value=value, attr=name):
            owner = kind_of(value, module, kinds)
        case ast.Subscript(value=value):
            owner, name = kind_of(value, module, kinds), "__getitem__"
        case _:
            return None
    return owner if owner and name in methods(definitions(owner[0])[owner[1]]) else None


def methods(node: ast.stmt) -> set[str]:
    body = node.body if isinstance(node, ast.ClassDef) else []
    return {one.name for one in body if isinstance(one, ast.FunctionDef)}


def is_type(node: ast.stmt) -> bool:
    """What is known without reading more than its fields."""
    return isinstance(node, ast.ClassDef) and (
        any(ast.unparse(base) == "Exception" for base in node.bases)
        or (
            any("dataclass" in ast.unparse(one) for one in node.decorator_list)
            and not methods(node)
        )
    )


def in_order(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a piece of code as they are run. What is said of types is left out."""
    match node:
        case ast.FunctionDef():
            yield from node.body
        case ast.ClassDef():
            yield from node.body
        case ast.AnnAssign():
            yield from [node.value] if node.value else []
        case ast.DictComp():
            yield from [*node.generators, node.key, node.value]
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            yield from [*node.generators, node.elt]
        case ast.Call():
            yield from [*node.args, *node.keywords, node.func]
        case _:
            yield from ast.iter_child_nodes(node)
