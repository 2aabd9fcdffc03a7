"""How much there is to carry in one's head: files, lines, and names that say nothing.

Counts what git keeps of a checkout: this one, or that of TREE, to set one beside the other. A local
variable counts once for each place that binds it, a function by its first word.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figures

TREE = Path(os.environ.get("TREE", Path(__file__).parents[1]))
PRODUCT = ("flex", "api", "dns", "solver", "logs_ingest")
LONG_NAME = 24
# A file that one other file of its folder needs, and that is shorter, belongs into that one.
SHORT_FILE = 90
SAY_NOTHING = {"found", "one", "asked", "made", "said"}
# Conversions (`as_`, `to_`, `from_`) are named so in Python.
PREPOSITION = re.compile(
    "_*(above|across|after|against|along|among|around|at|before|behind|below|beside|between|beyond|by|"
    "during|for|in|into|of|off|on|out|over|per|since|than|through|under|until|up|via|with|within|"
    "without)(_|$)"
)


def measure() -> Figures:
    product, tests = [list(_files(*folders)) for folders in (PRODUCT, ("tests",))]
    trees = {path: ast.parse(path.read_text()) for path in product}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    functions = [n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    bound = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return {
        "product_files": len(product),
        "product_lines": _lines(product),
        "product_functions": len(functions),
        "product_classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
        "test_files": len(tests),
        "test_lines": _lines(tests),
        "long_file_names": sum(len(path.stem) > LONG_NAME for path in product),
        "short_files_of_one_importer": sum(1 for _ in _short_files_of_one_importer(trees)),
        "locals_that_say_nothing": sum(name in SAY_NOTHING for name in bound),
        "parameters_that_say_nothing": sum(
            node.arg in SAY_NOTHING for node in nodes if isinstance(node, ast.arg)
        ),
        "functions_named_by_a_preposition": sum(
            PREPOSITION.match(name) is not None for name in functions
        ),
    }


def _files(*folders: str) -> Iterator[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", *folders], cwd=TREE, check=True, capture_output=True, text=True
    )
    names = listed.stdout.split("\0")
    yield from (TREE / name for name in names if name.endswith(".py") and (TREE / name).exists())


def _lines(paths: list[Path]) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


def _short_files_of_one_importer(trees: dict[Path, ast.Module]) -> Iterator[Path]:
    importers: dict[str, set[Path]] = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                importers.setdefault(node.module, set()).add(path)
                for alias in node.names:
                    importers.setdefault(f"{node.module}.{alias.name}", set()).add(path)
    for path in trees:
        sole = importers.get(_module(path), set()) - {path}
        if path.stem != "__init__" and len(sole) == 1 and _lines([path]) < SHORT_FILE:
            importer = sole.pop()
            # What the folder itself lists is one of a kind: a format, a policy, a page.
            if importer.parent == path.parent and importer.stem != "__init__":
                yield path


def _module(path: Path) -> str:
    parts = path.relative_to(TREE).with_suffix("").parts
    return ".".join(parts if parts[0] == "flex" else parts[1:])
