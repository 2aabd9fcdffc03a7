"""The house rules as tests, so that nobody has to remember them.

They read the files of this checkout, never the git history: an unpacked source distribution obeys
them too.
"""

from __future__ import annotations

import ast
import configparser
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bench import promises
from flex import errors
from flex.errors import FlexError
from flex_api.cli import EXIT_CODES

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "flex": ROOT / "flex",
    "flex_api": ROOT / "api/flex_api",
    "flex_solver": ROOT / "solver/flex_solver",
    "flex_dns": ROOT / "dns/flex_dns",
    "flex_logs_ingest": ROOT / "logs_ingest/flex_logs_ingest",
}
# What tools leave in a checkout; the same names as in .gitignore.
GENERATED = {
    ".git",
    ".venv",
    ".cache",
    "__pycache__",
    "target",
    "results",
    "build",
    "dist",
    "demo",
    "artefacts",
}


def walk(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name not in GENERATED and not name.endswith("_cache")
        )
        folders[:] = [name for name in folders if name != ".hypothesis"]
        # In a second work tree of one repository `.git` is a file.
        yield from (Path(here, name) for name in sorted(files) if name not in GENERATED)


FILES = [path for path in walk(ROOT) if path.name != "Cargo.lock"]
MODULES = [path for path in FILES if path.suffix == ".py"]
SHIPPED = [
    path for path in MODULES if any(path.is_relative_to(folder) for folder in PACKAGES.values())
]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=name_of(path))


def imports(path: Path) -> set[str]:
    """The top-level packages that a module names anywhere in its imports."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def dotted(node: ast.AST) -> str:
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def lines_that_match(pattern: str, paths: list[Path]) -> list[str]:
    found = re.compile(pattern)
    return [
        f"{name_of(path)}:{number}: {line.strip()[:120]}"
        for path in paths
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if found.search(line)
    ]


@pytest.mark.parametrize("folder", ["dns", "alembic"])
def test_a_folder_named_like_a_third_party_package_is_not_a_package(folder: str) -> None:
    assert not (ROOT / folder / "__init__.py").exists()


def test_dnspython_and_alembic_are_not_hidden_by_our_folders() -> None:
    script = "import dns.resolver, alembic.command; print(dns.__file__); print(alembic.__file__)"
    # In the checkout's own folder, where Python looks first.
    answer = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not [line for line in answer.stdout.splitlines() if Path(line).parent.parent == ROOT]


@pytest.mark.slow
def test_only_the_command_line_prints() -> None:
    printing = [
        f"{name_of(path)}:{node.lineno}"
        for path in SHIPPED
        if not name_of(path).startswith("api/flex_api/cli")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and dotted(node.func)
        in {"print", "pprint", "typer.echo", "sys.stdout.write", "sys.stderr.write"}
    ]
    assert printing == []


def test_only_settings_read_the_environment() -> None:
    others = [path for path in SHIPPED if name_of(path) != "api/flex_api/settings/file.py"]
    assert (
        lines_that_match(r"\bos\.(environ|getenv)\b|from os import .*\b(environ|getenv)\b", others)
        == []
    )


@pytest.mark.slow
def test_every_module_says_what_it_is() -> None:
    assert [name_of(path) for path in MODULES if not ast.get_docstring(tree(path))] == []


def test_the_core_leans_on_the_standard_library_numpy_and_pandas_alone() -> None:
    allowed = sys.stdlib_module_names | {"flex", "numpy", "pandas"}
    edges = {"store", "sim", "routing"}
    core = [
        path
        for path in SHIPPED
        if path.parts[len(ROOT.parts)] == "flex" and path.parent.name not in edges
    ]
    foreign = {name_of(path): sorted(imports(path) - allowed) for path in core}
    assert {name: packages for name, packages in foreign.items() if packages} == {}


def test_every_core_module_has_its_layer() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    layered = set(
        re.findall(r"flex(?:\.\w+)?", contracts["importlinter:contract:layers"]["layers"])
    )
    core = {f"flex.{module.name}" for module in pkgutil.iter_modules([str(ROOT / "flex")])}
    assert core - layered == set()


def error_classes() -> dict[str, type[FlexError]]:
    """Every error that FLEX can raise, wherever it is defined."""
    for package, folder in PACKAGES.items():
        for module in pkgutil.walk_packages([str(folder)], f"{package}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    found: dict[str, type[FlexError]] = {}
    waiting: list[type[FlexError]] = [FlexError]
    while waiting:
        error = waiting.pop()
        found[error.__name__] = error
        waiting += error.__subclasses__()
    return found


def drawn_errors() -> dict[str, int | None]:
    """The names in the tree at the top of errors.py, with the exit code where one is written."""
    drawing = re.findall(r"── (\w+)(?:.*?\bexit (\d+))?", errors.__doc__ or "")
    return {name: int(code) if code else None for name, code in drawing}


def test_the_drawn_error_tree_names_every_error() -> None:
    assert set(drawn_errors()) == set(error_classes()) - {"FlexError"}


def test_every_error_ends_the_program_with_the_documented_code() -> None:
    drawn, classes = drawn_errors(), error_classes()
    documented = {
        name: next(drawn[base.__name__] for base in error.__mro__ if drawn.get(base.__name__))
        for name, error in classes.items()
        if name != "FlexError"
    }
    assert {name: classes[name].exit_code for name in documented} == documented


def test_every_exit_code_is_explained_where_people_look() -> None:
    codes = {str(error.exit_code) for error in error_classes().values()}
    page = (ROOT / "docs/reference/exit-codes.md").read_text()
    assert codes - set(re.findall(r"^\| (\d+) \|", page, re.MULTILINE)) == set()
    assert codes - set(re.findall(r"\b\d+\b", EXIT_CODES)) == set()


@pytest.mark.slow
def test_no_file_names_a_package_index_or_a_path_of_one_machine() -> None:
    index = r"py[p]i\.org|pythonh[o]sted|crates[.]io/|npm[j]s\.|index-u[r]l\s*="
    machine = r"(?<![\w.~])/(w[o]rk|r[o]ot|h[o]me)/|(?<!\w)/tm[p]/"
    paths = [
        path
        for path in FILES
        if not path.is_relative_to(ROOT / "tests/data") and path.suffix != ".parquet"
    ]
    assert lines_that_match(f"{index}|{machine}", paths) == []


def test_nothing_is_left_for_later() -> None:
    paths = [
        path for path in FILES if path.suffix in {".py", ".rs", ".sh", ".md", ".toml", ".html", ""}
    ]
    assert lines_that_match(r"\b(TO[D]O|FIX[M]E|XX[X])\b", paths) == []


def test_every_invariant_names_tests_that_exist() -> None:
    tests = promises.tests_of_promises()
    bullets = re.findall(r"^- ", promises.PAGE.read_text(), re.MULTILINE)
    assert 0 < len(bullets) == len(tests), "each has a first test of its own"
    broken = []
    for test in [each for named in tests.values() for each in named]:
        file, _, function = test.partition("::")
        path = ROOT / file
        if not path.is_file() or not re.search(
            rf"^\s*def {function}\(", path.read_text(), re.MULTILINE
        ):
            broken.append(test)
    assert broken == []


def test_there_is_a_change_that_breaks_each_invariant() -> None:
    """It would no longer be tried where what it changes was written anew, and it was not."""
    changes = promises.changes()
    assert [
        str(each) for each in changes if (ROOT / each.file).read_text().count(each.takes) != 1
    ] == []
    assert {each.tests[0] for each in changes} == set(promises.tests_of_promises())


@pytest.mark.slow
def test_each_invariant_has_a_test_that_is_not_slow() -> None:
    tests = promises.tests_of_promises()
    collect = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-n", "0"]
    quick = subprocess.run(
        [
            *collect,
            "-m",
            "not slow and not torture",
            *{each for named in tests.values() for each in named},
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = {line.partition("[")[0] for line in quick.stdout.splitlines()}
    assert [first for first, named in tests.items() if not found & {*named}] == []


# Folders of the API that stand beside each other, each a way in to the same resources: the command
# line and what does its verbs, here and on a server; routes; pages; what is answered. Who looks for
# plans finds them in each of them as `plans.py`. So a name may stand once in each of these folders,
# and then nowhere else in the package.
WAYS_IN = {"cli", "cli/on_a_server", "cli/on_this_machine", "pages", "routes", "schemas"}


def folders_of_files(package: str) -> dict[str, list[str]]:
    """The folders in which a file of this name stands."""
    found: dict[str, list[str]] = {}
    for path in SHIPPED:
        if path.is_relative_to(PACKAGES[package]) and not path.name.startswith("__"):
            folder = str(path.parent.relative_to(PACKAGES[package]))
            found.setdefault(path.name, []).append(folder)
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_no_file_name_stands_twice_in_a_package(package: str) -> None:
    twice = {
        name: folders
        for name, folders in folders_of_files(package).items()
        if len(folders) > 1 and not (package == "flex_api" and set(folders) <= WAYS_IN)
    }
    assert twice == {}


# Participles that do not end in -ed. Those that are imperatives, too (cut, put, read, run, set,
# split), are not among them.
IRREGULAR = re.compile(
    "begun|bent|born|bought|bound|broken|brought|built|caught|chosen|dealt|done|drawn|driven|eaten|"
    "fallen|fed|felt|forbidden|forgotten|found|frozen|given|gone|grown|heard|held|hidden|kept|"
    "known|laid|led|left|lent|lost|made|meant|met|overtaken|paid|proven|rebuilt|retold|rewritten|"
    "said|seen|sent|shown|shut|sold|sought|spelled|spent|spoken|stolen|stood|stuck|taken|taught|"
    "thought|thrown|told|torn|undone|understood|unknown|unseen|unsent|unwritten|withdrawn|"
    "withheld|won|worn|woven|written"
)
# Words in -ed that are none.
NOT_PARTICIPLES = {"feed", "need", "seed", "speed"}
# Those that may stay. None is ever added: a function is named by what it does or computes.
LONE_PARTICIPLES = {
    # How many record sets were checked: the field of a verdict, which `-o json` prints.
    "flex/planning/which_servers_agree.py: checked"
}


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions, methods, and functions inside of others."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_lone_participle(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A participle is right for what is true or false."""
    name = function.name.strip("_")
    returned = ast.unparse(function.returns) if function.returns else ""
    ends = name.endswith("ed") and name not in NOT_PARTICIPLES
    return (
        "_" not in name and returned != "bool" and (ends or IRREGULAR.fullmatch(name) is not None)
    )


@pytest.mark.slow
def test_functions_are_named_by_what_they_do_or_compute() -> None:
    lone = {
        f"{name_of(path)}: {function.name}"
        for path in SHIPPED
        for function in functions(path)
        if is_lone_participle(function)
    }
    assert lone == LONE_PARTICIPLES


def rust_modules(source: Path) -> dict[str, str]:
    """The text of each module of a crate by its path; that of the crate is empty."""
    found = {}
    for path in sorted(source.rglob("*.rs")):
        parts = list(path.relative_to(source).with_suffix("").parts)
        if parts[-1] in {"mod", "lib"}:
            parts.pop()
        text = path.read_text()
        found["::".join(parts)] = re.sub(r"//[^\n]*", "", text)
    return found


def spelled_out(tree: str) -> list[str]:
    """`a::{b, c::{d, e}}` as a::b, a::c::d and a::c::e."""
    begin, brace, inside = tree.partition("{")
    if not brace:
        return [tree.partition(" as ")[0].strip()]
    found, depth, start = [], 0, 0
    inside = inside.rpartition("}")[0] + ","
    for at, letter in enumerate(inside):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            found += spelled_out(inside[start:at].strip())
            start = at + 1
    return [f"{begin.strip()}{rest}" for rest in found if rest]


def rust_uses(module: str, text: str, modules: dict[str, str]) -> set[str]:
    """The modules that one names in what it uses, and those of its own folder that it calls by
    name.
    """
    named = []
    for use in re.findall(r"(?:^|\n)\s*(?:pub(?:\([^)]*\))? )?use ([^;]+);", text):
        named += spelled_out(use)
    named += re.findall(r"\b(?:crate|super)(?:::\w+)+", text)
    children = [name for name in modules if name and name.rpartition("::")[0] == module]
    named += re.findall(
        rf"\b(?:{'|'.join(name.rpartition('::')[2] for name in children) or '0'})::\w+", text
    )
    found = set()
    for name in named:
        parts, here = name.split("::"), module.split("::") if module else []
        while parts and parts[0] == "super":
            parts, here = parts[1:], here[:-1]
        parts = parts[1:] if parts[:1] == ["crate"] else [*here, *parts]
        # The longest beginning that is a module; what follows is inside of it.
        while parts and "::".join(parts) not in modules:
            parts.pop()
        found.add("::".join(parts))
    return found - {module, ""}


@pytest.mark.parametrize("source", ["native/core/src", "native/src"])
def test_no_two_rust_modules_need_each_other_not_even_in_a_circle(source: str) -> None:
    modules = rust_modules(ROOT / source)
    needs = {name: rust_uses(name, text, modules) for name, text in modules.items()}
    assert sum(map(len, needs.values())) > len(modules) / 2
    left = dict(needs)
    while free := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in free:
            del left[name]
    assert left == {}


@pytest.mark.slow
def test_no_docstring_begins_with_of() -> None:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    beginning = [
        f"{name_of(path)}:{getattr(node, 'lineno', 1)}"
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, documented) and (ast.get_docstring(node) or "").startswith("Of ")
    ]
    assert beginning == []
