"""Puts off loading packages that take much time and memory until somebody uses them: most verbs
never do.

Reading logs has to fit into little memory beside them, and taking a dead node out of DNS cannot
wait for them. The import of such a package gives a placeholder. The first use of an attribute loads
the package.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import ModuleType

_LOADING = RLock()


class _Later(ModuleType):
    def __getattr__(self, attribute: str) -> object:
        package = _load(self)
        self.__dict__.update(package.__dict__)
        return getattr(package, attribute)


def put_off(*names: str) -> None:
    """Those of them that are there and not loaded yet. A module is named with its package, which is
    loaded at once.
    """
    for name in names:
        if name not in sys.modules and find_spec(name):
            later = sys.modules[name] = _Later(name)
            package, _, module = name.rpartition(".")
            if package:
                setattr(sys.modules[package], module, later)


def _load(later: _Later) -> ModuleType:
    name = later.__name__
    with _LOADING:
        if sys.modules.get(name) is later:
            del sys.modules[name]
        return import_module(name)
