"""Puts off loading packages that take much time and memory until somebody uses them: most verbs
never do.

Reading logs has to fit into little memory beside them, and taking a dead node out of DNS cannot
wait for them. The import of such a package gives a placeholder. The first use of an attribute loads
the package.
"""

from __future__ import annotations

import sys
from importlib import import_module
from threading import RLock
from types import ModuleType

_LOADING = RLock()


class _Later(ModuleType):
    def __getattr__(self, attribute: str) -> object:
        package = _load(self)
        self.__dict__.update(package.__dict__)
        return getattr(package, attribute)


def put_off(*names: str) -> None:
    """Those of them that are not loaded yet. A module is named with its package, which is loaded at
    once. One that is not there is missed where it is used: a node has no more than nodes need.
    """
    for name in names:
        if name not in sys.modules:
            package, _, module = name.rpartition(".")
            within = import_module(package) if package else None
            later = sys.modules[name] = _Later(name)
            if within:
                setattr(within, module, later)


def _load(later: _Later) -> ModuleType:
    name = later.__name__
    with _LOADING:
        if sys.modules.get(name) is later:
            del sys.modules[name]
        return import_module(name)
