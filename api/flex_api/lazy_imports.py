"""Puts off loading what takes much time and memory until somebody uses it: most verbs never do.

Reading logs has to fit into little memory beside it, and taking a dead node out of DNS cannot wait
for it. The import of such a module gives a placeholder. The first use of an attribute loads the
module.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from threading import Lock
from types import ModuleType

_SWAPPING = Lock()


class _Later(ModuleType):
    def __getattr__(self, attribute: str) -> object:
        module = _load(self)
        self.__dict__.update(module.__dict__)
        return getattr(module, attribute)


class _CameAlong:
    """Loads nothing a second time."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


class _PutOff:
    """Finds modules of these names and packages before anybody else does, and gives placeholders
    until they are loaded.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.packages: set[str] = set()
        self.loaded: set[str] = set()

    def find_spec(
        self, name: str, _: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in sys.modules and target is None:
            # It came along just now, with its package that was put off: `import numpy.linalg`.
            return ModuleSpec(name, _CameAlong(sys.modules[name]))  # type: ignore[arg-type]
        if name in self.loaded or not (
            name in self.names or name.rpartition(".")[0] in self.packages
        ):
            return None
        # What imports need of a loader it has.
        return ModuleSpec(name, self)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """A plain module: what is asked of it before it is ready loads nothing."""

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _Later


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
    nothing, and `from package.module import name` loads the module at once, as it did before.
    """
    _PUT_OFF.packages.update(packages)
    put_off()


def _load(later: _Later) -> ModuleType:
    name = later.__name__
    # Not while it is imported: that has locks of its own, and waits for other threads.
    with _SWAPPING:
        _PUT_OFF.loaded.add(name)
        if sys.modules.get(name) is later:
            del sys.modules[name]
    # So that `python -X importtime` shows it.
    __import__(name)
    return sys.modules[name]
