"""Puts off loading what takes much time and memory until somebody uses it: most verbs never do.

Reading logs has to fit into little memory beside it, and taking a dead node out of DNS cannot wait
for it. The import of such a module gives a placeholder. The first use of an attribute fills it.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SWAPPING = Lock()


class _Later(ModuleType):
    def __getattr__(self, attribute: str) -> object:
        if attribute == "__file__" and (file := _file_of(self.__name__)):
            # Tools ask it of every module that there is.
            return file
        return ModuleType.__getattribute__(_load(self), attribute)


class _CameAlong(Loader):
    """Loads nothing a second time."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


class _Filling(Loader):
    """Loads into the placeholder: who has it has the module. Other threads that ask it meanwhile
    wait for the import.
    """

    def __init__(self, later: _Later, loader: Loader) -> None:
        self.later, self.loader = later, loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        # Python looks whether these are there, and must not be led to load the module for that.
        vars(self.later).update(
            __loader__=self.loader,
            __package__=spec.parent,
            __path__=spec.submodule_search_locations,
            __file__=spec.origin,
            __cached__=spec.cached,
        )
        return self.later

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__
        module.__spec__.loader = self.loader
        if module.__spec__.submodule_search_locations is None:
            del module.__path__
        self.loader.exec_module(module)
        if type(module) is _Later:
            module.__class__ = ModuleType  # type: ignore[assignment]


class _PutOff(Loader):
    """Finds modules of these names and packages before anybody else does, and gives placeholders
    until somebody uses them.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.packages: set[str] = set()
        self.used: dict[str, _Later] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in sys.modules and target is None:
            # It came along just now, with its package that was put off: `import numpy.linalg`.
            return ModuleSpec(name, _CameAlong(sys.modules[name]))
        if later := self.used.get(name):
            spec = PathFinder.find_spec(name, path)
            if spec and spec.loader:
                spec.loader = _Filling(later, spec.loader)
            return spec
        package, _, part = name.rpartition(".")
        if name in self.names or (package in self.packages and part != "__main__"):
            # What imports need of a loader it has.
            return ModuleSpec(name, self)
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """A plain module: what is asked of it before it is ready loads nothing."""

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _Later


def _file_of(name: str) -> str | None:
    package = name.rpartition(".")[0]
    # Of a package that is put off itself it would be loaded for that.
    path = vars(sys.modules[package]).get("__path__") if package else None
    if package and path is None:
        return None
    spec = PathFinder.find_spec(name, path)
    return spec.origin if spec else None


_PUT_OFF = _PutOff()


def put_off(*names: str) -> None:
    """Modules of these names, as far as they are not loaded yet. One that is not there is missed
    where it is used: a node has no more than nodes need.
    """
    _PUT_OFF.names.update(names)
    if _PUT_OFF not in sys.meta_path:
        sys.meta_path.insert(0, _PUT_OFF)


def put_off_modules_of(*packages: str) -> None:
    """Each module in the folders of these packages. `from package import module` then loads
    nothing, and `from package.module import name` loads the module at once.
    """
    _PUT_OFF.packages.update(packages)
    put_off()


def _load(later: _Later) -> ModuleType:
    name = later.__name__
    # Not while it is imported: that has locks of its own, and waits for other threads.
    with _SWAPPING:
        if name not in _PUT_OFF.used:
            _PUT_OFF.used[name] = later
            if sys.modules.get(name) is later:
                del sys.modules[name]
    # So that `python -X importtime` shows it.
    __import__(name)
    return sys.modules[name]
